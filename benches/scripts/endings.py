"""Endings that White should win, played by a program against itself: how many end in mate, and in how many plies.

    python3 benches/scripts/endings.py [--nodes 400] [--option Name=value ...] ENDING[,ENDING ...] PROGRAM [PROGRAM ...]

An ending is a file of positions (EPD), or White's pieces beside the king against a bare king (`Q`, `R`, `BB`, `BN`):
then positions are drawn at random, always the same ones. Of either, sixteen are played in which White is to move and
no check is given; a third repetition, fifty moves or 200 plies are no win. Needs the Python package chess.
"""

import argparse
import os
import random

import chess
import chess.engine

POSITIONS, PLIES, SEED = 16, 200, 7


def drawn(pieces):
    """Positions with these pieces; no piece can be taken, and two bishops are of both colours."""
    draw = random.Random(SEED)
    while True:
        board = chess.Board(None)
        squares = draw.sample(range(64), 2 + len(pieces))
        kinds = [chess.Piece(chess.KING, chess.WHITE), chess.Piece(chess.KING, chess.BLACK)]
        kinds += [chess.Piece.from_symbol(piece) for piece in pieces]
        for square, piece in zip(squares, kinds):
            board.set_piece_at(square, piece)
        board.turn = chess.WHITE
        hangs = (board.is_attacked_by(chess.BLACK, at) and not board.is_attacked_by(chess.WHITE, at) for at in squares[2:])
        bishops = board.pieces(chess.BISHOP, chess.WHITE)
        if len(bishops) > 1 and (not bishops & chess.BB_LIGHT_SQUARES or not bishops & chess.BB_DARK_SQUARES):
            continue
        if board.is_valid() and not board.is_check() and not any(hangs):
            yield board


def positions(ending):
    """The positions to play, with their clocks at zero."""
    if not os.path.exists(ending):
        source = drawn(ending)
        return [next(source) for _ in range(POSITIONS)]
    boards = [chess.Board(" ".join(line.split()[:4]) + " 0 1") for line in open(ending) if line.strip()]
    fit = [board for board in boards if board.is_valid() and board.turn == chess.WHITE and not board.is_check()]
    return fit[:: max(1, len(fit) // POSITIONS)][:POSITIONS]


def played(program, start, nodes, options):
    """The last position of a game from this one."""
    board = start.copy()
    with chess.engine.SimpleEngine.popen_uci([program]) as engine:
        engine.configure({"Threads": 1, "Hash": 64, **options})
        while not (board.is_game_over() or board.is_repetition(3) or board.halfmove_clock >= 100) and board.ply() < PLIES:
            board.push(engine.play(board, chess.engine.Limit(nodes=nodes)).move)
    return board


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--nodes", type=int, default=400)
    words.add_argument("--option", action="append", default=[], help="Name=value of a UCI option")
    words.add_argument("endings")
    words.add_argument("programs", nargs="+")
    given = words.parse_args()
    options = dict(option.split("=", 1) for option in given.option)
    for ending in given.endings.split(","):
        starts = positions(ending)
        for program in given.programs:
            ends = [played(program, start, given.nodes, options) for start in starts]
            mates = [end for end in ends if end.is_checkmate()]
            repeated = sum(end.is_repetition(3) for end in ends)
            plies = sum(end.ply() for end in mates) / max(1, len(mates))
            print(
                f"{ending}, {given.nodes} nodes, {program}: {len(mates)} of {len(starts)} mates, {plies:.0f} plies each;"
                f" {repeated} repetitions",
                flush=True,
            )


main()
