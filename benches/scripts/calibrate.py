#!/usr/bin/env python3
"""Says what the levels of UCI_Elo are worth, from the games of calibrate.sh.

    python3 benches/scripts/calibrate.py OUT

Each level's rating is the most likely one where the anchors (`SF-1350`) are worth what they are called, a drawn game
against the one it came nearest to added, with a 95 % interval from the curvature. The levels are then made monotone (pool adjacent
violators, weighed by what is known of each), and the places of round ratings read off on straight lines. The rows
printed last are for SCALE in engine/src/handicap.rs. Stockfish's numbers are its own, of another time control and
other opponents: what comes out is Stockfish's scale, not CCRL's.
"""

import argparse
import json
import math
import pathlib
import sys

# How games end that say nothing of play.
FAULTS = {"time-forfeit", "illegal-move", "crash", "hang", "bad-uci"}
# Of SCALE while the games are played.
WEAKEST, STRONGEST = 800, 2400


def games(folder):
    """(level, anchor, points of the level) of every game."""
    files = sorted(pathlib.Path(folder).glob("*/results.jsonl"))
    if not files:
        sys.exit(f"calibrate.py: there is no results.jsonl below {folder}; run calibrate.sh first")
    for file in files:
        for line in file.read_text().splitlines()[1:]:
            game = json.loads(line)
            white, black = game["white"], game["black"]
            points = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}.get(game["ending"]["result"])
            if points is None or game["ending"]["termination"] in FAULTS:
                print(f"game {game['number']} of {file.parent.name} has no result on the board", file=sys.stderr)
                continue
            if black.startswith("Tesla-"):
                white, black, points = black, white, 1.0 - points
            yield int(white.removeprefix("Tesla-")), int(black.removeprefix("SF-")), points


def expected(rating, anchor):
    return 1.0 / (1.0 + 10.0 ** ((anchor - rating) / 400.0))


def rate(played):
    """The most likely rating and its standard error, from (anchor, points)."""
    points = {anchor: [got for other, got in played if other == anchor] for anchor, _ in played}
    mean = {anchor: sum(got) / len(got) for anchor, got in points.items()}
    # Of several that are as far from even: the weakest where all was lost, the strongest where all was won.
    nearest = min(mean, key=lambda anchor: (abs(mean[anchor] - 0.5), anchor if mean[anchor] < 0.5 else -anchor))
    played = [*played, (nearest, 0.5)]
    low, high = -2000.0, 5000.0
    for _ in range(60):
        middle = (low + high) / 2.0
        surplus = sum(points - expected(middle, anchor) for anchor, points in played)
        low, high = (middle, high) if surplus > 0.0 else (low, middle)
    chances = [expected(low, anchor) for anchor, _ in played]
    information = (math.log(10.0) / 400.0) ** 2 * sum(p * (1.0 - p) for p in chances)
    return low, 1.0 / math.sqrt(information)


def monotone(levels):
    """Pools neighbours that are the wrong way round: (place, rating) rising in both."""
    pools = []
    for place, rating, error in levels:
        pools.append([[place], rating, error**-2])
        while len(pools) > 1 and pools[-2][1] >= pools[-1][1]:
            places, rating, weight = pools.pop()
            before = pools[-1]
            before[1] = (before[1] * before[2] + rating * weight) / (before[2] + weight)
            before[0], before[2] = before[0] + places, before[2] + weight
    return [(sum(places) / len(places), rating) for places, rating, _ in pools]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="what calibrate.sh wrote")
    by_level = {}
    for level, anchor, points in games(parser.parse_args().folder):
        by_level.setdefault(level, []).append((anchor, points))
    print("| level | place | games | score | rating |\n|---|---|---|---|---|")
    levels = []
    for level, played in sorted(by_level.items()):
        (rating, error), place = rate(played), (level - WEAKEST) / (STRONGEST - WEAKEST)
        levels.append((place, rating, error))
        score = sum(points for _, points in played)
        print(f"| {level} | {place:.3f} | {len(played)} | {score:g} | {rating:.0f} ± {1.96 * error:.0f} |")
    curve = monotone(levels)
    if len(curve) < 2:
        sys.exit("calibrate.py: two levels of different strength are needed for a scale")
    ends = [(round(rating), place) for place, rating in (curve[0], curve[-1])]
    rows = []
    for (first, low), (last, high) in zip(curve, curve[1:]):
        for elo in range(math.ceil(low / 100) * 100, math.ceil(high / 100) * 100, 100):
            if ends[0][0] < elo < ends[1][0]:
                rows.append((elo, first + (last - first) * (elo - low) / (high - low)))
    rows = [ends[0], *rows, ends[1]]
    print(f"\nconst SCALE: [(u64, f64); {len(rows)}] = [")
    for elo, place in rows:
        print(f"    ({elo}, {place:.3f}),")
    print("];")


if __name__ == "__main__":
    main()
