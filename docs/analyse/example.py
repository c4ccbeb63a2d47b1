#!/usr/bin/env python3
"""Asks `tesla analyse` about every position of a game and prints what each move lost.

    python3 docs/analyse/example.py target/release/tesla --nodes 400
"""
import argparse
import json
import subprocess

GAME = "e2e4 e7e5 g1f3 d7d6 d2d4 c8g4 d4e5 g4f3 d1f3 d6e5 f1c4 g8f6 f3b3".split()


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("tesla", help="the program")
    arguments.add_argument("--nodes", type=int, default=400, help="evaluations a position")
    arguments.add_argument("--set", action="append", default=[], help="a UCI option, NAME=VALUE")
    given = arguments.parse_args()
    options = [word for pair in given.set for word in ("--set", pair)]
    query = {"id": "game", "moves": GAME, "turns": list(range(len(GAME) + 1)),
             "nodes": given.nodes, "multipv": 1}
    # All positions go in at once, so that they fill the device's batches together.
    done = subprocess.run([given.tesla, "analyse", *options], input=json.dumps(query) + "\n",
                          stdout=subprocess.PIPE, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    for answer in answers:
        if "error" in answer:
            raise SystemExit(f"{answer['field']}: {answer['error']}")
    answers.sort(key=lambda answer: answer["turn"])
    for before, after, played in zip(answers, answers[1:], GAME):
        best = before["root"]["moves"][0]
        # Each value is for the side to move there.
        value = 100 - after["root"]["moves"][0]["value"]
        lost = max(0.0, best["value"] - value)
        better = f", better {best['san']}" if lost >= 5 and best["uci"] != played else ""
        print(f"{before['turn'] + 1:2} {played} {value:5.1f} ± {best['error']:.1f}"
              f"  lost {lost:4.1f}{better}")


main()
