#!/usr/bin/env python3
"""Draws the learning curve of a training run, or of runs that started from each other.

    python3 benches/scripts/curve.py RUN [RUN ...] --out curve.svg

A RUN is a folder given to `tesla-train train --out`. Every point is the mean over 50 steps, on
the training data: unseen positions only within a first epoch. The line is an exponentially weighted
mean, red lines are the starts of later runs. Needs the package `matplotlib`.
"""

import argparse
import csv
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

COLUMNS = ["step", "positions", "rate", "value", "policy", "action", "error", "rmse_points", "norm",
           "positions_per_second", "consistency", "idle", "skipped"]  # the last three since 2026-11-22
SMOOTHING = 20


def read(folder):
    path = pathlib.Path(folder) / "loss.csv"
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        sys.exit(f"curve.py: cannot read {path} ({error.strerror}); name the folders of runs")
    rows = csv.DictReader((line for line in lines if not line.startswith("step")), COLUMNS)
    return [{key: float(value) for key, value in row.items() if value} for row in rows]


def smooth(values):
    keep, total, weight, out = 1 - 1 / SMOOTHING, 0.0, 0.0, []
    for value in values:
        total, weight = total * keep + value, weight * keep + 1
        out.append(total / weight)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--out", default="curve.svg")
    args = parser.parse_args()
    plt.rcParams.update({"svg.hashsalt": "tesla", "font.size": 9})
    figure, panels = plt.subplots(3, 1, sharex=True, figsize=(8, 6.5), height_ratios=[2, 2, 1])
    before, starts, runs = 0.0, [], []
    for folder in args.runs:
        run = read(folder)
        starts.append(before / 1e6)
        runs.append(([(before + row["positions"]) / 1e6 for row in run], run))
        before += run[-1]["positions"] if run else 0.0
    if not any(run for _, run in runs):
        sys.exit("curve.py: the runs hold no lines yet; the first comes after 50 steps")
    for panel, key, title in [
        (panels[0], "rmse_points", "value RMSE, points"),
        (panels[1], "policy", "policy cross-entropy, nats"),
        (panels[2], "rate", "learning rate"),
    ]:
        values = sorted(row[key] for _, run in runs for row in run)
        for x, run in runs:
            y = [row[key] for row in run]
            if key != "rate":
                panel.plot(x, y, color="tab:blue", alpha=0.25, linewidth=0.8)
                y = smooth(y)
            panel.plot(x, y, color="tab:blue")
        if key != "rate":
            calm = values[: int(len(values) * 0.97)]  # the first steps would flatten the rest
            margin = 0.05 * (calm[-1] - calm[0])
            panel.set_ylim(calm[0] - margin, calm[-1] + margin)
        for start in starts[1:]:
            panel.axvline(start, color="tab:red", linewidth=0.8)
        panel.set_ylabel(title)
        panel.grid(alpha=0.3)
    panels[2].set_xlabel("million positions")
    panels[0].set_xlim(0, before / 1e6)
    figure.align_ylabels()
    figure.tight_layout()
    figure.savefig(args.out, metadata={"Date": None})


if __name__ == "__main__":
    main()
