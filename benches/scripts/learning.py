#!/usr/bin/env python3
"""Draws how the three-state decider's random moves and score change with its experience.

    tesla experience learn r.experience --opponent random --csv random.csv
    tesla experience learn m.experience --opponent minimax-1 --csv minimax-1.csv
    python3 benches/scripts/learning.py random.csv minimax-1.csv --out docs/learning.svg

Left: the share of random moves, right: the score, both over games by tenfold. A point is the mean of the games since
the point before, ten points a decade. Each file is named by its opponent. Needs the package `matplotlib`.
"""

import argparse
import csv
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt


def read(path):
    try:
        with open(path, newline="") as file:
            return list(csv.DictReader(file))
    except OSError as error:
        sys.exit(f"learning.py: cannot read {path} ({error.strerror})")


def spans(count):
    """Beginnings and ends of the games of each point: 1, then ends ten to a decade."""
    ends = sorted({min(count, round(10 ** (step / 10))) for step in range(0, 60)})
    return list(zip([0, *ends], ends))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--out", default="learning.svg")
    args = parser.parse_args()
    plt.rcParams.update({"svg.hashsalt": "tesla", "font.size": 9})
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4))
    for path in args.files:
        games = read(path)
        if not games:
            sys.exit(f"learning.py: {path} holds no games")
        name = pathlib.Path(path).stem
        random, score, ends = [], [], []
        for first, last in spans(len(games)):
            part = games[first:last]
            moves = sum(int(game[key]) for game in part for key in ("confident", "random", "searched"))
            random.append(100 * sum(int(game["random"]) for game in part) / max(moves, 1))
            score.append(100 * sum(float(game["score"]) for game in part) / len(part))
            ends.append(last)
        left.semilogx(ends, random, "o-", markersize=3, label=f"against {name}")
        right.semilogx(ends, score, "o-", markersize=3, label=f"against {name}")
    left.set(xlabel="games", ylabel="random moves, %", ylim=(-3, 103))
    right.set(xlabel="games", ylabel="score, %", ylim=(-3, 103))
    left.legend(loc="lower left")
    figure.tight_layout()
    figure.savefig(args.out, metadata={"Date": None})
    print(f"written to {args.out}")


if __name__ == "__main__":
    main()
