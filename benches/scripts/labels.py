#!/usr/bin/env python3
"""How far a teacher's scores are off, by its last exact score and by its last score, a bound or not.

    tesla-train inspect valid.games.zst --samples 1000 > positions.txt
    benches/scripts/labels.py positions.txt REFERENCE NODES TEACHER NODES [TEACHER NODES ...]

REFERENCE and TEACHER are UCI engines; each position is searched from an empty hash of 16 MiB. Prints, for each
teacher, the share of positions whose last line is a bound, bias and root mean square error of both scores against
the reference's last exact one, in points of expected score, and how often the best moves agree.
"""
import math
import re
import subprocess
import sys

LOG_ODDS_PER_CENTIPAWN = 0.00368208  # tesla_nn::evaluator
MATE = 32_000


def score(line):
    """Centipawns, or ±(32,000 − n) for a mate in n."""
    words = line.split()
    kind, number = words[words.index("score") + 1 :][:2]
    number = int(number)
    return math.copysign(MATE - abs(number), number) if kind == "mate" else number


def points(centipawns):
    if abs(centipawns) > 20_000:
        return 100.0 if centipawns > 0 else 0.0
    return 100 / (1 + math.exp(-LOG_ODDS_PER_CENTIPAWN * centipawns))


def ask(engine, nodes, fens):
    """Of each position: the last exact score, the last score, the best move, whether a bound came last."""
    process = subprocess.Popen([engine], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def until(word):
        lines = []
        while not lines or not lines[-1].startswith(word):
            line = process.stdout.readline()
            if not line:
                sys.exit(f"{engine} ended before it said {word}")
            lines.append(line.strip())
        return lines

    process.stdin.write("uci\nsetoption name Hash value 16\n")
    until("uciok")
    answers = []
    for fen in fens:
        process.stdin.write(f"ucinewgame\nposition fen {fen}\ngo nodes {nodes}\n")
        lines = until("bestmove")
        scored = [line for line in lines if " score " in line]
        exact = [line for line in scored if "bound" not in line] or scored
        answers.append((score(exact[-1]), score(scored[-1]), lines[-1].split()[1], "bound" in scored[-1]))
    process.stdin.write("quit\n")
    process.wait()
    return answers


def error(answers, which, reference):
    errors = [points(one[which]) - points(other[0]) for one, other in zip(answers, reference)]
    mean_square = sum(error * error for error in errors) / len(errors)
    return f"{sum(errors) / len(errors):+.2f} {math.sqrt(mean_square):.2f}"


def main():
    file, *engines = sys.argv[1:]
    with open(file) as lines:
        fens = [line.strip() for line in lines if re.search(r"/.* [wb] ", line)]
    if not fens or len(engines) < 4 or len(engines) % 2:
        sys.exit(__doc__)
    pairs = list(zip(engines[::2], engines[1::2]))
    reference = ask(*pairs[0], fens)
    for engine, nodes in pairs[1:]:
        answers = ask(engine, nodes, fens)
        bounds = sum(one[3] for one in answers) / len(answers)
        same = sum(one[2] == other[2] for one, other in zip(answers, reference)) / len(answers)
        exact, last = error(answers, 0, reference), error(answers, 1, reference)
        print(f"{engine} {nodes}: bounds {bounds:.3f}; exact {exact}; last {last}; same best move {same:.3f}", flush=True)


if __name__ == "__main__":
    main()
