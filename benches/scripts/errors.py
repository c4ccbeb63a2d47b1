#!/usr/bin/env python3
"""Draws how far values of root moves still moved, against what the error model said.

    tesla-benches roots --nodes 200 --positions FILE --take 300 > shallow.csv
    tesla-benches roots --nodes 12800 --positions FILE --take 300 > deep.csv
    python3 benches/scripts/errors.py shallow.csv deep.csv --out docs/errors.svg

Moves count that were looked at in the shallow search and had at least 16 times as much work in the deep
one. Left: their changes by missing depth, with the law of the tunables and the law that fits them. Right:
the share of changes beyond z error scales, with each family at the scale that fits it best (maximum
likelihood). Needs the packages `matplotlib`, `numpy` and `scipy`.
"""

import argparse
import csv
import math
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np
from scipy import optimize, stats

# The tunables' defaults.
ERROR_SCALE, ERROR_GROWTH, ERROR_DECAY, BRANCHING, HORIZON, MISSING_MIN = 0.02, 0.7, 0.25, 2.2, 1.0, 0.3
FAMILIES = {
    "Student t, 2 degrees": lambda scale: stats.t(2, scale=scale),
    "normal": lambda scale: stats.norm(scale=scale),
    "logistic": lambda scale: stats.logistic(scale=scale),
    "Laplace": lambda scale: stats.laplace(scale=scale),
}


def read(path):
    try:
        with open(path, newline="") as file:
            return {(row["position"], row["move"]): row for row in csv.DictReader(file)}
    except OSError as error:
        sys.exit(f"errors.py: cannot read {path} ({error.strerror})")


def depth(work):
    return math.log(1 + (BRANCHING - 1) * (work - 1)) / math.log(BRANCHING)


def likelihood(family, data):
    best = optimize.minimize_scalar(
        lambda log_scale: -family(math.exp(log_scale)).logpdf(data).sum(), bounds=(-9, 4), method="bounded")
    return math.exp(best.x), -best.fun / len(data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shallow")
    parser.add_argument("deep")
    parser.add_argument("--out", default="errors.svg")
    args = parser.parse_args()
    shallow, deep = read(args.shallow), read(args.deep)
    root = {}
    for (position, _), row in shallow.items():
        root[position] = root.get(position, 1) + int(row["work"])
    missing, change, ratio, decay = [], [], [], []
    for key, row in shallow.items():
        work, later = int(row["work"]), int(deep[key]["work"]) if key in deep else 0
        if work == 0 or later < 16 * work or float(row["error"]) == 0 or float(deep[key]["error"]) == 0:
            continue
        moved = float(deep[key]["value"]) - float(row["value"])
        missing.append(max(depth(root[key[0]]) + HORIZON - 1 - depth(work), MISSING_MIN))
        change.append(moved)
        ratio.append(moved / float(row["error"]))
        decay.append((root[key[0]] / 100) ** -ERROR_DECAY)
    if len(change) < 100:
        sys.exit(f"errors.py: only {len(change)} moves in both files had 16 times the work; search more positions")
    missing, change, ratio, decay = map(np.array, (missing, change, ratio, decay))

    plt.rcParams.update({"svg.hashsalt": "tesla", "font.size": 9})
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8))
    # The scale of a Student t with two degrees of freedom that fits, bin by bin.
    edges = np.quantile(missing, np.linspace(0, 1, 9))
    middles, fitted = [], []
    for low, high in zip(edges, edges[1:]):
        here = (missing >= low) & (missing <= high)
        if here.sum() >= 20:
            middles.append(np.median(missing[here]))
            fitted.append(100 * likelihood(FAMILIES["Student t, 2 degrees"], change[here])[0])
    left.plot(middles, fitted, "o", label="fitted to the changes, by eighths")
    grid = np.linspace(MISSING_MIN, max(middles) * 1.1, 100)
    typical = np.median(decay)
    left.plot(grid, 100 * ERROR_SCALE * typical * grid**ERROR_GROWTH, label=f"tunables: {ERROR_SCALE}·m^{ERROR_GROWTH}·decay")
    power, log_scale = np.polyfit(np.log(middles), np.log(fitted), 1)
    left.plot(grid, math.exp(log_scale) * grid**power, "--", label=f"fit: {math.exp(log_scale) / 100:.3f}·m^{power:.2f}")
    left.set(xlabel="missing depth m, plies", ylabel="error scale, points", ylim=(0, 9))
    left.legend(loc="upper left")
    grid = np.linspace(0, 12, 200)
    bins = np.linspace(0, 12, 25)
    right.semilogy(bins, [(np.abs(ratio) > z).mean() for z in bins], "ko", markersize=3, label="measured")
    for name, family in FAMILIES.items():
        scale, nats = likelihood(family, ratio)
        right.semilogy(grid, 2 * family(scale).sf(grid), label=f"{name}: scale {scale:.2f}, {nats:.3f} nats")
        print(f"{name}: scale {scale:.3f}, log likelihood {nats:.4f} a move")
    right.set(xlabel="|change| / predicted error scale", ylabel="share beyond", ylim=(1e-5, 1.2))
    right.legend(loc="lower left", framealpha=1)
    figure.suptitle(f"{len(change)} root moves, {len(root)} positions; mean change {100 * change.mean():+.2f} points", fontsize=9)
    figure.tight_layout()
    figure.savefig(args.out, metadata={"Date": None})
    print(f"{len(change)} moves; scale fits {math.exp(log_scale) / 100:.4f}·m^{power:.2f}; written to {args.out}")


if __name__ == "__main__":
    main()
