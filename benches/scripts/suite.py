#!/usr/bin/env python3
"""Runs a test suite (EPD with bm or am, or mates with dm) on a UCI engine and counts what is solved.

    python3 benches/scripts/suite.py SUITE.epd --cmd target/release/tesla --nodes 2000 [--first 200]
        [--option Search=AlphaBeta] [--mates]

With --mates, a position is solved when the move played keeps a mate in the stated number of moves,
checked by Stockfish (`--judge`), or when the engine announces that mate. Needs python-chess.
A stopgap until `tesla-train suite`.
"""

import argparse
import math
import shlex
import sys

import chess
import chess.engine


def wilson(solved, asked):
    if not asked:
        return 0, 0
    z, p = 1.96, solved / asked
    centre = (p + z * z / (2 * asked)) / (1 + z * z / asked)
    half = z * math.sqrt(p * (1 - p) / asked + z * z / (4 * asked**2)) / (1 + z * z / asked)
    return centre - half, centre + half


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite")
    parser.add_argument("--cmd", required=True)
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--movetime", type=int)
    parser.add_argument("--first", type=int, default=10**9)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--mates", type=int, default=0, help="mate in this many moves")
    parser.add_argument("--judge", default="stockfish")
    parser.add_argument("--failed", action="store_true", help="print what was not solved")
    args = parser.parse_args()
    engine = chess.engine.SimpleEngine.popen_uci(shlex.split(args.cmd), timeout=60)
    options = dict(option.split("=", 1) for option in args.option)
    engine.configure({name.replace("_", " "): value for name, value in options.items()})
    judge = chess.engine.SimpleEngine.popen_uci(args.judge) if args.mates else None
    limit = (chess.engine.Limit(nodes=args.nodes) if args.nodes
             else chess.engine.Limit(time=args.movetime / 1000))
    asked = solved = 0
    for number, line in enumerate(open(args.suite)):
        if number >= args.first * args.every or number % args.every or not line.strip():
            continue
        try:
            board, operations = chess.Board.from_epd(line.strip())
        except ValueError:
            continue
        best, avoid = operations.get("bm"), operations.get("am")
        if not args.mates and not best and not avoid:
            continue
        asked += 1
        answer = engine.play(board, limit, game=object(), info=chess.engine.INFO_SCORE)
        move = answer.move
        if args.mates:
            score = answer.info.get("score")
            mate = score.relative.mate() if score else None
            right = mate is not None and 0 < mate <= args.mates
            if not right:
                after = board.copy()
                after.push(move)
                right = after.is_checkmate()
                if not right and not after.is_game_over():
                    told = judge.analyse(after, chess.engine.Limit(depth=2 * args.mates + 2))
                    mate = told["score"].relative.mate()
                    right = mate is not None and -args.mates < mate < 0
        else:
            right = (move in best) if best else (move not in avoid)
        solved += right
        if args.failed and not right:
            print(f"{board.fen()} played {board.san(move)}")
        if sys.stdout.isatty():
            print(f"\r{solved} of {asked}", end="", flush=True)
    low, high = wilson(solved, asked)
    print(f"\r{solved} of {asked} = {100 * solved / max(asked, 1):.1f} % "
          f"[{100 * low:.1f}, {100 * high:.1f}] (95 %)")
    engine.close()
    if judge:
        judge.close()


if __name__ == "__main__":
    main()
