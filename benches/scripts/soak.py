#!/usr/bin/env python3
"""Plays thousands of very fast games over all search modes and disturbs the engine all the while.

    python3 benches/scripts/soak.py TESLA --out FOLDER [--games 5000] [--concurrency 1]

TESLA plays both sides, one process each. During a share of the searches it gets `stop` at a random moment,
`ucinewgame`, options, another search mode, garbage, a second `go`, `quit` or the end of its input. The script
checks that moves are legal, the clock, the exit code, panics (also those that the engine caught), silence, and
measures the time from `stop` to `bestmove`.

Game N depends on the seed and N only, as far as time allows. A line per game goes to FOLDER/games.jsonl, faults
with the last lines of the conversation to FOLDER/faults.jsonl. The same command resumes after Ctrl-C or a crash.
The exit code is 1 if there were faults. Needs the package `chess`.

Time is measured where the lines arrive. On Linux the script also reads how long the engine's threads, and its
own, waited for a processor (/proc/PID/task/*/schedstat): a clock overrun by no more than these waits is the
machine's doing, counted as `starved` and no fault. Anything else is the engine's, so that on other systems at
most half as many games should be played at once as there are cores. `--margin` tolerates so many milliseconds.
"""

import argparse
import collections
import json
import multiprocessing
import os
import pathlib
import random
import signal
import sys
import time

import chess

from soak_engine import Engine, Fault

MODES = ["Tesla", "PUCT", "AlphaBeta", "Minimax", "ThreeState"]
OPTIONS = [("Hash", ["1", "4", "16"]), ("MultiPV", ["1", "3"]), ("UCI_ShowWDL", ["true", "false"]),
           ("VerboseMoveStats", ["true", "false"]), ("Clear Hash", None), ("BatchSize", ["0", "1", "64"]),
           ("MinimaxPruning", ["None", "AlphaBeta", "Ordered"]), ("Seed", ["1", "7"]), ("Ponder", ["true", "false"])]
EVENTS = ["stop", "infinite", "ponderhit", "ponder stop", "newgame", "option", "mode", "rubbish", "go", "quit", "end"]
LONGEST = 300  # plies of a game
STARVED = "starved"  # a clock overrun for want of a processor


class Player:
    """One side: its process, its search mode, its clock (ms)."""

    def __init__(self, arguments, dice):
        self.arguments, self.engine, self.clock = arguments, None, 0.0
        self.mode = dice.choice(arguments.modes)

    def start(self):
        if self.engine is None:
            self.engine = Engine(self.arguments.tesla)
            self.engine.send(f"setoption name Evaluator value {self.arguments.evaluator}")
            self.engine.send("setoption name Hash value 4")
            self.engine.send("setoption name KVCache value 16")
        self.engine.send(f"setoption name Search value {self.mode}")
        self.engine.ready()

    def end(self, how="quit"):
        engine, self.engine = self.engine, None
        if engine is not None:
            engine.end(how)

    def kill(self):
        if self.engine is not None:
            self.engine.kill()
            self.engine = None


def disturb(player, event, dice):
    """Something that a search must survive, after which it still answers by itself."""
    engine = player.engine
    if event == "newgame":
        engine.send("ucinewgame")
    elif event == "option":
        name, values = dice.choice(OPTIONS)
        engine.send(f"setoption name {name}" + (f" value {dice.choice(values)}" if values else ""))
    elif event == "mode":
        # Another one is loaded for the next search only.
        player.mode = dice.choice(player.arguments.modes)
        engine.send(f"setoption name Search value {player.mode}")
    elif event == "rubbish":
        engine.send("".join(chr(dice.randrange(1, 0x250)) for _ in range(dice.randrange(60))).replace("\n", " "))
    elif event == "go":
        engine.send("go depth 3")
    if event != "go" and dice.random() < 0.5:
        engine.send("isready")


def searched(player, board, clocks, event, dice, stops):
    """The engine's move. Times from stop to bestmove (ms) are added to `stops`."""
    position = f"position fen {board.root().fen()}"
    if board.move_stack:
        position += " moves " + " ".join(move.uci() for move in board.move_stack)
    pause = dice.uniform(0, 0.03)
    times = "wtime {:.0f} btime {:.0f} winc {inc} binc {inc}".format(*clocks, inc=player.arguments.inc)
    if event in ("quit", "end"):
        player.engine.send(position)
        player.engine.send(dice.choice(["go " + times, "go infinite", "go depth 50", "go ponder " + times]))
        time.sleep(pause)
        player.end(event)
        player.start()
        event = None
    engine = player.engine
    engine.send(position)
    engine.look()
    is_free = event in ("infinite", "ponder stop")
    kind = {"infinite": "infinite", "ponder stop": "ponder " + times, "ponderhit": "ponder " + times}.get(event, times)
    began = engine.send("go " + kind)
    if event == "ponderhit":
        time.sleep(pause)
        engine.look()
        began = engine.send("ponderhit")
    elif event in ("stop", "infinite", "ponder stop"):
        answer = engine.bestmove(pause) if not is_free else time.sleep(pause)
        if answer is None:
            asked = engine.send("stop")
            answer = engine.bestmove()
            stops.append(round((answer[1] - asked) * 1000, 3))
        return answer[0], 0.0 if is_free else (answer[1] - began) * 1000
    elif event is not None:
        answer = engine.bestmove(pause)
        if answer is not None:
            return answer[0], (answer[1] - began) * 1000
        disturb(player, event, dice)
    move, at = engine.bestmove()
    if event == "go":
        # Where the first search had just ended, that was another one.
        engine.send("stop")
        engine.ready()
    return move, (at - began) * 1000


def opening(dice):
    """A few random moves from the start position."""
    while True:
        board = chess.Board()
        for _ in range(dice.randrange(4, 10)):
            board.push(dice.choice(list(board.legal_moves)))
            if board.is_game_over():
                break
        else:
            return chess.Board(board.fen())


def is_over(board):
    return board.is_game_over() or board.halfmove_clock >= 100 or board.is_repetition(3)


def is_starved(took, over, waited):
    """Whether a clock was overrun for want of a processor.

    One thread's waits are one after the other. Those of several may be at the same time or in turns, when one
    waits for the other; they were in turns where for as long as the clock was overrun none of them ran.
    """
    longest, of_all = (waited[which] + waited["script"] for which in ("longest", "all"))
    return longest >= over or of_all >= over and took - waited["ran"] >= over


def play(number, arguments, players):
    """A game's line in games.jsonl."""
    dice = random.Random(f"{arguments.seed} {number}")
    board = opening(dice)
    events, stops, modes = collections.Counter(), [], []
    clocks = [float(arguments.base), float(arguments.base)]
    for index, player in enumerate(players):
        player.mode = arguments.modes[(number + index * (1 + number // len(arguments.modes))) % len(arguments.modes)]
        modes.append(player.mode)
        player.start()
        player.engine.send("ucinewgame")
        player.engine.ready()
    late = []
    while not is_over(board) and len(board.move_stack) < LONGEST:
        side = 0 if board.turn == chess.WHITE else 1
        player = players[side]
        event = dice.choice(EVENTS) if dice.random() < arguments.disturbed else None
        events[event or "none"] += 1
        mode = player.mode
        timed = []
        move, took = searched(player, board, clocks, event, dice, timed)
        stops += [[mode, ms] for ms in timed]
        clocks[side] -= took
        if clocks[side] < -arguments.margin:
            waited, over = player.engine.starved(), -clocks[side]
            late.append({"mode": mode, "event": event, "ply": len(board.move_stack), "took": round(took, 3),
                         "over": round(over, 3), **waited, "is_starved": is_starved(took, over, waited),
                         "talk": list(player.engine.talk)[-20:]})
            break
        clocks[side] += arguments.inc
        try:
            board.push_uci(move)
        except ValueError:
            raise Fault("illegal move", f"{move} in {board.fen()}", player.engine) from None
    return {"game": number, "modes": modes, "plies": len(board.move_stack), "result": board.result(),
            "events": events, "stops": stops, "late": late}


def work(arguments, numbers, results, stop):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        work_through(arguments, numbers, results, stop)
    finally:
        results.put(None)  # or main would wait for ever


def work_through(arguments, numbers, results, stop):
    parent = os.getppid()
    dice = random.Random(arguments.seed)
    players = [Player(arguments, dice), Player(arguments, dice)]
    while not stop.is_set() and os.getppid() == parent:
        number = numbers.get()
        if number is None:
            break
        try:
            line = play(number, arguments, players)
            results.put((line, [{"game": number, "fault": loss_kind(loss), **loss} for loss in line["late"]]))
        except Fault as fault:
            line = {"game": number, "fault": fault.kind}
            modes = [player.mode for player in players]
            results.put((line, [{"game": number, "fault": fault.kind, "what": fault.what, "modes": modes,
                                 "talk": fault.talk}]))
            for player in players:
                player.kill()
    for player in players:
        player.kill()


def loss_kind(loss):
    """Whose fault an overrun clock is."""
    return STARVED if loss["is_starved"] else "time loss"


def summary(lines):
    """What all games together say."""
    faults, events, stops = collections.Counter(), collections.Counter(), collections.defaultdict(list)
    for line in lines:
        faults.update([line["fault"]] if "fault" in line else map(loss_kind, line["late"]))
        events.update(line.get("events", {}))
        for mode, took in line.get("stops", []):
            stops[mode].append(took)
            stops["all"].append(took)
    starved = faults.pop(STARVED, 0)
    print(f"{len(lines)} games, {sum(line.get('plies', 0) for line in lines)} plies; faults: {dict(faults) or 'none'};"
          f" clocks overrun for want of a processor: {starved}")
    print("searches:", ", ".join(f"{count} {event}" for event, count in sorted(events.items())))
    for mode, times in sorted(stops.items()):
        times.sort()
        at = [times[min(len(times) - 1, int(len(times) * share))] for share in (0.5, 0.99)]
        print(f"stop -> bestmove, {mode}: median {at[0]:.1f} ms, p99 {at[1]:.1f} ms, most {times[-1]:.1f} ms"
              f" ({len(times)})")
    return bool(faults)


def read(path):
    """The games that are finished; half a line at the end is dropped."""
    if not path.exists():
        return []
    text = path.read_bytes()
    whole = text[:text.rfind(b"\n") + 1]
    if whole != text:
        path.write_bytes(whole)
    return [json.loads(line) for line in whole.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tesla")
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--games", type=int, default=5000)
    parser.add_argument("--concurrency", type=int, default=1)
    parser.add_argument("--base", type=int, default=100, help="ms for the game")
    parser.add_argument("--inc", type=int, default=1, help="ms a move")
    parser.add_argument("--margin", type=float, default=0, help="ms by which a clock may be overrun")
    parser.add_argument("--disturbed", type=float, default=0.2, help="share of the searches")
    parser.add_argument("--evaluator", default="Classical", help="Transformer needs a build with the network")
    parser.add_argument("--modes", nargs="+", default=MODES)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if not os.access(arguments.tesla, os.X_OK):
        parser.error(f"{arguments.tesla} is no program; build it, or name another")
    arguments.out.mkdir(parents=True, exist_ok=True)
    lines = read(arguments.out / "games.jsonl")
    done = {line["game"] for line in lines}
    numbers, results, stop = multiprocessing.Queue(), multiprocessing.Queue(), multiprocessing.Event()
    for number in range(arguments.games):
        if number not in done:
            numbers.put(number)
    for _ in range(arguments.concurrency):
        numbers.put(None)
    workers = [multiprocessing.Process(target=work, args=(arguments, numbers, results, stop))
               for _ in range(arguments.concurrency)]
    for worker in workers:
        worker.start()
    left, wrong, began = len(workers), 0, time.monotonic()
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    with open(arguments.out / "games.jsonl", "a") as games, open(arguments.out / "faults.jsonl", "a") as faults:
        while left:
            result = results.get()
            if result is None:
                left -= 1
                continue
            line, found = result
            for fault in found:
                faults.write(json.dumps(fault) + "\n")
            faults.flush()
            games.write(json.dumps(line) + "\n")
            games.flush()
            lines.append(line)
            wrong += sum(fault["fault"] != STARVED for fault in found)
            minutes = (time.monotonic() - began) / 60
            print(f"\r{len(lines)} of {arguments.games} games, {wrong} faults, {minutes:.1f} min ", end="", file=sys.stderr)
    print(file=sys.stderr)
    numbers.cancel_join_thread()
    return summary(lines)


if __name__ == "__main__":
    sys.exit(main())
