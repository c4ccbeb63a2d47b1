"""Endings that White should win, played by a program against itself: how many end in mate.

    python3 benches/scripts/endings.py FILE.epd PROGRAM [PROGRAM ...]

Sixteen positions, spread evenly over those of the file where White is to move and no check is given, at 400 nodes a
move; a third repetition, fifty moves or 200 plies are no win. Needs the Python package chess.
"""

import sys

import chess
import chess.engine

POSITIONS, NODES, PLIES = 16, 400, 200


def positions(path):
    """The positions to play, with their clocks at zero."""
    boards = [chess.Board(" ".join(line.split()[:4]) + " 0 1") for line in open(path) if line.strip()]
    fit = [board for board in boards if board.is_valid() and board.turn == chess.WHITE and not board.is_check()]
    return fit[:: max(1, len(fit) // POSITIONS)][:POSITIONS]


def won(program, start):
    """Whether the program mates itself from this position."""
    board = start.copy()
    with chess.engine.SimpleEngine.popen_uci([program]) as engine:
        engine.configure({"Threads": 1, "Hash": 64, "KVCache": 64})
        while not board.is_game_over() and not board.is_repetition(3) and board.ply() < PLIES:
            board.push(engine.play(board, chess.engine.Limit(nodes=NODES)).move)
            if board.halfmove_clock >= 100:
                break
    return board.is_checkmate()


def main():
    path, *programs = sys.argv[1:]
    starts = positions(path)
    for program in programs:
        print(f"{program}: {sum(won(program, start) for start in starts)} of {len(starts)}", flush=True)


main()
