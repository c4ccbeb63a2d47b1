"""Start positions for `datagen --openings`: close positions of labelled games, of all phases.

    python benches/scripts/starts.py train-0*.games.zst > starts.epd

Games from an opening book are decided before they reach the middle game, and three in five of their
positions are beyond three pawns. From these starts they begin where neither side is ahead. Of each
game positions are drawn whose score is within BOUND centipawns, at least GAP plies apart, each with
the share of its number of pieces; every position is printed once. Needs the Python packages chess
and zstandard.
"""

import random
import struct
import sys

import chess
import zstandard

BOUND = 150
GAP = 6
# Pieces on the board from which on a share holds, and the share that is drawn.
SHARES = [(26, 0.09), (16, 0.25), (9, 0.09), (3, 0.02)]


def games(path):
    """The FEN of the start and the records (played, best, score) of every game of a file."""
    data = zstandard.ZstdDecompressor().decompressobj().decompress(open(path, "rb").read())
    at = 0
    while at < len(data):
        length = data[at]
        fen = data[at + 1 : at + 1 + length].decode()
        _, plies = struct.unpack_from("<BH", data, at + 1 + length)
        at += length + 4
        yield fen, [struct.unpack_from("<HHh", data, at + 6 * ply) for ply in range(plies)]
        at += 6 * plies


def main():
    draw = random.Random(1)
    seen = set()
    for path in sys.argv[1:]:
        for fen, records in games(path):
            board = chess.Board(fen)
            next_ply = 0
            for ply, (played, _, score) in enumerate(records):
                if abs(score) <= BOUND and ply >= next_ply:
                    pieces = chess.popcount(board.occupied)
                    share = next((share for least, share in SHARES if pieces >= least), 0)
                    if draw.random() < share:
                        next_ply = ply + GAP
                        epd = board.epd()
                        if epd not in seen:
                            seen.add(epd)
                            print(epd)
                promotion = played >> 12
                board.push(
                    chess.Move(
                        played & 63,
                        played >> 6 & 63,
                        promotion + 1 if promotion else None,
                    )
                )


main()
