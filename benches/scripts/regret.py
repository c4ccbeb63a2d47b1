#!/usr/bin/env python3
"""Compares search rules by what their moves lose, on positions from games.

    tesla-train match --out runs/games ...
    python3 benches/scripts/regret.py runs/games/games.pgn --out runs/regret --nodes 400 \\
        --side name=shipped --side name="floor 0.1" option.policy_floor=0.1

Each side (as in `tesla-train suite --side`) searches the same positions, each from scratch. Where a side's move
differs from the first side's, Stockfish judges both with --judge-nodes nodes. The table shows how many
thousandths of the expected score a side's moves lose against the first side's: the mean over all positions with
its 95 % interval; negative = better. Answers and judgements are kept in the folder: the same command resumes
after a stop, and more sides may be added. Needs the package `chess`, Stockfish and a release build.
"""

import argparse
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import chess
import chess.engine
import chess.pgn

# Positions in which more centipawns are at stake say little: any move wins, or none does.
DECIDED = 500
# Expected score = 1 / (1 + exp(-SLOPE · centipawns)), as everywhere in Tesla.
SLOPE = 0.003_682_08
# What a mate counts, centipawns.
MATE = 10_000


def positions(path, count):
    """Positions of the games that are not decided by the score of the move before, in random order."""
    found = {}
    with open(path) as file:
        while game := chess.pgn.read_game(file):
            for node in game.mainline():
                score, board = node.eval(), node.board()
                if score is None:  # `{+0.35/12 0.521s n=800}`, from the mover's view
                    word = node.comment.split("/")[0]
                    try:
                        points = abs(float(word)) * 100
                    except ValueError:
                        continue  # of the book, or a mate
                else:
                    points = abs(score.relative.score(mate_score=100_000))
                if points <= DECIDED and board.legal_moves.count() > 1 and not board.is_game_over(claim_draw=True):
                    found[board.epd()] = board
    keys = sorted(found)
    random.Random(1).shuffle(keys)
    return [found[key] for key in keys[:count]]


def answers(args, folder, epd, words):
    """What a side plays, by position."""
    name = words[0].removeprefix("name=")
    out = folder / "".join(letter if letter.isalnum() else "-" for letter in name)
    print(f"{name}: asked", file=sys.stderr)
    command = [args.trainer, "suite", epd, "--out", out, "--judge", "moves", "--concurrency", "24"]
    command += ["--nodes", str(args.nodes), "--side", *words]
    if subprocess.run(command, stdout=subprocess.DEVNULL).returncode != 0:
        sys.exit(f"regret.py: the trainer could not ask {name}; see above")
    told = {}
    for file in out.glob("*.jsonl"):
        for line in file.read_text().splitlines():
            record = json.loads(line)
            if record.get("answers"):
                told[record["id"]] = record["answers"][0]["best"]
    return name, told


class Judge:
    """Stockfish's expected score of a move, kept in a file."""

    def __init__(self, args, path):
        self.args, self.path, self.known = args, path, {}
        self.local, self.lock, self.engines = threading.local(), threading.Lock(), []
        if path.exists():
            for line in path.read_text().splitlines():
                epd, move, value = json.loads(line)
                self.known[epd, move] = value

    def ask(self, key):
        """The mover's expected score in thousandths after the move."""
        epd, move = key
        if not hasattr(self.local, "engine"):
            self.local.engine = chess.engine.SimpleEngine.popen_uci(self.args.judge)
            self.local.engine.configure({"Hash": 16, "Threads": 1})
            self.engines.append(self.local.engine)
        board = chess.Board()
        board.set_epd(epd)
        board.push(chess.Move.from_uci(move))
        if board.is_game_over():
            points = MATE if board.is_checkmate() else 0
        else:
            limit = chess.engine.Limit(nodes=self.args.judge_nodes)
            told = self.local.engine.analyse(board, limit, game=object())
            points = -told["score"].relative.score(mate_score=MATE)
        value = 1000 / (1 + math.exp(-SLOPE * points))
        with self.lock:
            self.known[key] = value
            with open(self.path, "a") as file:
                file.write(json.dumps([epd, move, value]) + "\n")

    def all(self, keys):
        missing = [key for key in dict.fromkeys(keys) if key not in self.known]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for done, _ in enumerate(pool.map(self.ask, missing), 1):
                if done % 50 == 0 or done == len(missing):
                    print(f"\r{done} of {len(missing)} moves judged", end="", file=sys.stderr, flush=True)
        if missing:
            print(file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("games", help="games.pgn of a match")
    parser.add_argument("--out", required=True, help="folder for answers and judgements")
    parser.add_argument("--count", type=int, default=4000, help="positions")
    parser.add_argument("--nodes", type=int, default=400, help="evaluations for each")
    parser.add_argument("--judge", default="stockfish", help="Stockfish's command")
    parser.add_argument("--judge-nodes", type=int, default=50_000)
    parser.add_argument("--trainer", default="target/release/tesla-train")
    parser.add_argument("--side", action="append", nargs="+", required=True, help="first: name=...")
    args = parser.parse_args()
    folder = pathlib.Path(args.out)
    folder.mkdir(parents=True, exist_ok=True)
    epd = folder / "positions.epd"
    if not epd.exists():
        # The suite wants something to judge by.
        lines = [f"{board.epd()} bm {board.san(next(iter(board.legal_moves)))}; id \"{index}\";"
                 for index, board in enumerate(positions(args.games, args.count))]
        epd.write_text("\n".join(lines) + "\n")
    boards = [" ".join(line.split()[:4]) for line in epd.read_text().splitlines()]
    judge = Judge(args, folder / f"judged-{args.judge_nodes}.jsonl")
    base = None
    try:
        for words in args.side:
            name, told = answers(args, folder / str(args.nodes), epd, words)
            if base is None:
                base = told
                print(f"Against {name}, {len(told)} positions, {args.nodes} evaluations:\n\n| side | other move | regret |\n|---|---|---|")
                continue
            shared = sorted(base.keys() & told.keys(), key=int)
            differ = [index for index in shared if base[index] != told[index]]
            judge.all([(boards[int(index)], side[index]) for index in differ for side in (base, told)])
            lost = [0.0] * (len(shared) - len(differ))
            lost += [judge.known[boards[int(i)], base[i]] - judge.known[boards[int(i)], told[i]] for i in differ]
            mean = sum(lost) / len(lost)
            error = math.sqrt(sum((x - mean) ** 2 for x in lost) / (len(lost) - 1) / len(lost))
            print(f"| {name} | {len(differ) / len(shared):.1%} | {mean:+.2f} ± {1.96 * error:.2f} |", flush=True)
    finally:
        for engine in judge.engines:
            engine.close()


if __name__ == "__main__":
    main()
