#!/usr/bin/env python3
"""Plays paired games between two UCI engines and reports score, Elo and every kind of failure.

    python3 benches/scripts/play.py --openings OPENINGS.epd --games 60 --tc 1+0.02 \\
        --a "name=Tesla cmd=target/release/tesla" \\
        --b "name=SF50 cmd=stockfish nodes=50" [--pgn out.pgn] [--jobs 1]

A side is words of the form key=value: name, cmd, nodes, movetime (ms), and any UCI option as
option.NAME=VALUE (underscores in NAME stand for spaces). Needs the package `chess` (python-chess).
A stopgap until `tesla-train match`.
"""

import argparse
import concurrent.futures
import math
import random
import shlex
import time

import chess
import chess.engine
import chess.pgn


def side(text):
    words = dict(word.split("=", 1) for word in shlex.split(text))
    options = {k[7:].replace("_", " "): v for k, v in words.items() if k.startswith("option.")}
    return words, options


class Player:
    def __init__(self, text):
        self.words, self.options = side(text)
        self.name = self.words["name"]
        self.engine = chess.engine.SimpleEngine.popen_uci(shlex.split(self.words["cmd"]), timeout=60)
        self.engine.configure(self.options)
        self.engine.ping()  # whatever an engine loads is not its opponent's gain
        self.nodes = int(self.words["nodes"]) if "nodes" in self.words else None
        self.movetime = float(self.words["movetime"]) / 1000 if "movetime" in self.words else None

    def limit(self, clocks, increment):
        if self.nodes:
            return chess.engine.Limit(nodes=self.nodes)
        if self.movetime:
            return chess.engine.Limit(time=self.movetime)
        return chess.engine.Limit(
            white_clock=clocks[chess.WHITE], black_clock=clocks[chess.BLACK],
            white_inc=increment, black_inc=increment)


def play(players, fen, base, increment, margin):
    """players: (white, black). Answers (result for White, reason, game)."""
    board = chess.Board(fen)
    game = chess.pgn.Game()
    game.setup(board)
    game.headers["White"], game.headers["Black"] = players[0].name, players[1].name
    node = game
    clocks = {chess.WHITE: base, chess.BLACK: base}
    identity = object()
    while True:
        outcome = board.outcome(claim_draw=True)
        if outcome or board.ply() > 600:
            result = outcome.result() if outcome else "1/2-1/2"
            reason = outcome.termination.name.lower() if outcome else "600 plies"
            break
        mover = board.turn
        player = players[0] if mover == chess.WHITE else players[1]
        started = time.monotonic()
        try:
            answer = player.engine.play(board, player.limit(clocks, increment), game=identity)
            move = answer.move
        except chess.engine.EngineTerminatedError:
            result, reason = ("0-1" if mover else "1-0"), f"CRASH {player.name}"
            break
        except chess.engine.EngineError as error:
            result, reason = ("0-1" if mover else "1-0"), f"ILLEGAL {player.name}: {error}"
            break
        spent = time.monotonic() - started
        if not player.nodes and not player.movetime:
            clocks[mover] -= spent
            if clocks[mover] < -margin:
                result, reason = ("0-1" if mover else "1-0"), f"TIME {player.name}"
                break
            clocks[mover] = max(clocks[mover], 0.001) + increment
        node = node.add_variation(move)
        board.push(move)
    game.headers["Result"] = result
    game.headers["Termination"] = reason
    return result, reason, game


def elo(score):
    score = min(max(score, 1e-6), 1 - 1e-6)
    return -400 * math.log10(1 / score - 1)


def pair(job):
    args, fen = job
    base, increment = (float(x) for x in args.tc.split("+"))
    a, b = Player(args.a), Player(args.b)
    played = []
    try:
        for first in (True, False):
            players = (a, b) if first else (b, a)
            result, reason, game = play(players, fen, base, increment, args.margin)
            points = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}[result]
            played.append((points if first else 1 - points, reason, str(game)))
            if reason.startswith("CRASH"):
                a.engine.close(), b.engine.close()
                a, b = Player(args.a), Player(args.b)
    finally:
        a.engine.close(), b.engine.close()
    return played


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--a", required=True)
    parser.add_argument("--b", required=True)
    parser.add_argument("--openings", required=True)
    parser.add_argument("--games", type=int, default=60)
    parser.add_argument("--tc", default="1+0.02")
    parser.add_argument("--margin", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--pgn")
    args = parser.parse_args()
    fens = []
    for line in open(args.openings):
        words = line.split()
        if len(words) >= 4:
            numbers = words[4:6] if len(words) >= 6 and words[4].isdigit() else ["0", "1"]
            fens.append(" ".join(words[:4] + numbers))
    random.Random(args.seed).shuffle(fens)
    jobs = [(args, fen) for fen in fens[: args.games // 2]]
    points, pairs, failures, reasons = [], [], [], {}
    pgn = open(args.pgn, "w") if args.pgn else None
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for played in pool.map(pair, jobs):
            for score, reason, text in played:
                points.append(score)
                word = reason.split(":")[0]
                reasons[word] = reasons.get(word, 0) + 1
                if reason.split()[0] in ("CRASH", "ILLEGAL", "TIME"):
                    failures.append(reason)
                if pgn:
                    print(text, file=pgn, end="\n\n", flush=True)
            pairs.append(sum(score for score, _, _ in played) / 2)
            n = len(points)
            print(f"\r{n} games, {sum(points) / n:.3f}", end="", flush=True)
    n, mean = len(pairs), sum(points) / len(points)
    deviation = math.sqrt(sum((p - mean) ** 2 for p in pairs) / max(n - 1, 1) / n)
    low, high = elo(mean - 1.96 * deviation), elo(mean + 1.96 * deviation)
    wins, draws = points.count(1.0), points.count(0.5)
    print(f"\n{side(args.a)[0]['name']} against {side(args.b)[0]['name']}: +{wins} ={draws} "
          f"-{len(points) - wins - draws}, score {mean:.3f}, Elo {elo(mean):+.0f} "
          f"[{low:+.0f}, {high:+.0f}] (95 %, pairs); endings {reasons}; failures {len(failures)}")
    for failure in failures:
        print("  ", failure)


if __name__ == "__main__":
    main()
