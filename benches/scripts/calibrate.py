#!/usr/bin/env python3
"""Rates the levels of UCI_Elo from the games of calibrate.sh.

    python3 benches/scripts/calibrate.py OUT

The rating is a parabola of the place between the weakest and the strongest play, which rises: the most likely one if
the anchors (`SF-1350`) are worth what they are called. Next to it is the rating of each level's own games. Both have
95 % intervals from the curvature. The rows printed last are for SCALE in engine/src/search/handicap.rs.
Stockfish's numbers come from another time control and other opponents, so the result is Stockfish's scale, not
CCRL's. Needs the package numpy.
"""

import argparse
import json
import math
import pathlib
import sys

import numpy as np

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


def parabola(places):
    """The parts of any parabola of the places."""
    return np.stack([np.ones_like(places), places, places**2], axis=-1)


def risen(places):
    """The parts of a parabola whose top is at the strongest play."""
    return np.stack([np.ones_like(places), places - places**2 / 2.0], axis=-1)


def constant(places):
    """The part of one rating for all places."""
    return np.ones_like(places)[..., np.newaxis]


def fit(played, parts):
    """The most likely weights of the parts of a curve, from (place, anchor, points), and their covariance."""
    places, anchors, points = np.array(played).T
    powers = parts(places)
    found, scale = np.array([1500.0] + [0.0] * (powers.shape[1] - 1)), math.log(10.0) / 400.0
    for _ in range(60):
        chances = 1.0 / (1.0 + 10.0 ** ((anchors - powers @ found) / 400.0))
        slope = scale * powers.T @ (points - chances)
        information = scale**2 * (powers.T * (chances * (1.0 - chances))) @ powers
        step = np.linalg.solve(information, slope)
        # Far from the answer a whole step could go too far.
        found = found + step * min(1.0, 200.0 / max(np.abs(step).max(), 1e-9))
    return found, np.linalg.inv(information)


def interval(covariance, parts):
    """Half of the 95 % interval of the rating where the curve has these parts."""
    return 1.96 * math.sqrt(parts @ covariance @ parts)


def own(played):
    """What one level's games say by themselves; nothing where all were lost or all won."""
    score = sum(points for _, _, points in played)
    if not 0.0 < score < len(played):
        return "-"
    found, covariance = fit(played, constant)
    return f"{found[0]:.0f} ± {interval(covariance, np.ones(1)):.0f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="what calibrate.sh wrote")
    by_level = {}
    for level, anchor, points in games(parser.parse_args().folder):
        by_level.setdefault(level, []).append(((level - WEAKEST) / (STRONGEST - WEAKEST), anchor, points))
    played = [game for games in by_level.values() for game in games]
    if len(by_level) < 3:
        sys.exit("calibrate.py: a scale needs games of three levels or more")
    parts = parabola
    found, covariance = fit(played, parts)
    if found[1] <= 0.0:
        sys.exit("calibrate.py: the weakest level gains nothing by playing stronger: play more games")
    if found[1] + 2.0 * found[2] < 0.0:
        # Then the likeliest of those that do not fall has its top there.
        print("The likeliest parabola falls before the strongest play; this one does not.\n")
        parts = risen
        found, covariance = fit(played, parts)

    def rating(place):
        return found @ parts(np.array(place))

    print("| level | place | games | score | its own rating | the scale's |\n|---|---|---|---|---|---|")
    for level, games_of in sorted(by_level.items()):
        place, score = games_of[0][0], sum(points for _, _, points in games_of)
        whole = f"{rating(place):.0f} ± {interval(covariance, parts(np.array(place))):.0f}"
        print(f"| {level} | {place:.3f} | {len(games_of)} | {score:g} | {own(games_of)} | {whole} |")
    # What the ends are worth is known to fifty points at best: no more than that is told.
    ends = [(round(rating(place) / 50) * 50, place) for place in (0.0, 1.0)]
    rows = [ends[0]]
    for elo in range(ends[0][0] // 100 * 100 + 100, ends[1][0], 100):
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = (low + high) / 2.0
            low, high = (middle, high) if rating(middle) < elo else (low, middle)
        if rows[-1][1] < low < 1.0:
            rows.append((elo, low))
    rows.append(ends[1])
    print(f"\nconst SCALE: [(u64, f64); {len(rows)}] = [")
    for elo, place in rows:
        print(f"    ({elo}, {place:.3f}),")
    print("];")


if __name__ == "__main__":
    main()
