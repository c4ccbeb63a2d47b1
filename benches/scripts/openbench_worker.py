#!/usr/bin/env python3
"""Does what an OpenBench worker does with this repository, without a server.

The steps are those of the client's published source (Client/ of AndyGrant/OpenBench; read as version
39): the source as an archive without .git, `make -j EXE= CC= EVALFILE=`, several benches at once,
genfens, the options of a tune, two games, and the PGN as the server keeps it. Nothing is copied from
there. Every step prints what it found; the first that fails ends the script with exit code 1.

    benches/scripts/openbench_worker.py --out DIR [--network FILE] [--train tesla-train]

CARGO_TARGET_DIR is passed on, so that a warm target folder is used. Every build and game can be put
under another command with --under, such as "nice".
"""

import argparse
import bz2
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Seconds that the worker waits for all benches, and for the next opening.
BENCH_SECONDS = 60
OPENING_SECONDS = 15

# What the server takes in a preset, for both sides or for one.
SIDED = ["branch", "bench", "network", "options", "time_control"]
PRESET = ["book_name", "upload_pgns", "priority", "throughput", "workload_size", "syzygy_wdl",
          "syzygy_adj", "win_adj", "draw_adj"]
OWN = {
    "test_presets": ["test_bounds", "test_confidence", "test_max_games"],
    "tune_presets": ["spsa_reporting_type", "spsa_distribution_type", "spsa_alpha", "spsa_gamma",
                     "spsa_A_ratio", "spsa_iterations", "spsa_pairs_per"],
    "datagen_presets": ["datagen_custom_genfens", "datagen_play_reverses", "datagen_max_games"],
}


class Failed(Exception):
    """What does not fit, in a sentence."""


def expect(is_so, sentence):
    if not is_so:
        raise Failed(sentence)


def say(step, text):
    print(f"{step:<9} {text}", flush=True)


def run(command, folder, **others):
    """stdout and stderr together, as the worker reads them."""
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, **others)


def check_config(path):
    """benches/openbench.json, as the server checks it at its start."""
    config = json.loads(path.read_text())
    kinds = {"private": bool, "nps": int, "source": str, "build": dict}
    for key, kind in kinds.items():
        expect(type(config.get(key)) is kind, f"{key} is no {kind.__name__}")
    expect(config["nps"] > 0, "nps is not positive")
    for key in ["compilers", "cpuflags", "systems"]:
        words = config["build"].get(key)
        expect(isinstance(words, list) and all(isinstance(w, str) for w in words), f"build.{key}")
    expect(isinstance(config["build"].get("path"), str), "build.path is no text")
    sided = [f"{side}_{key}" for side in ["both", "dev", "base"] for key in SIDED]
    for kind, own in OWN.items():
        for name, preset in config[kind].items():
            strange = set(preset) - set(sided + PRESET + own)
            expect(not strange, f"{kind} / {name} has keys that the server refuses: {strange}")
            for key in [key for key in preset if key.endswith("_options")]:
                for option in ["Threads=", "Hash="]:
                    expect(option in preset[key], f"{kind} / {name} / {key} has no {option}")
    say("json", f"{path.name}: {', '.join(config)}")
    return config


def check_compiler(config):
    """The first compiler of the list that says a version that is new enough."""
    for entry in config["build"]["compilers"]:
        name, _, least = entry.partition(">=")
        said = run([name, "--version"], ROOT).stdout.decode()
        found = re.search(r"\d+\.\d+(\.\d+)?", said)
        numbers = [tuple(map(int, text.split("."))) for text in [found.group(), least or "0"]]
        if numbers[0] >= numbers[1]:
            say("compiler", f"{name} {found.group()}, wanted {entry}")
            return name
    raise Failed(f"no compiler of {config['build']['compilers']} is new enough")


def build(args, compiler, network, is_tune):
    """One make in a fresh copy of the commit, and the path of what came out."""
    folder = args.out / "source"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE,
                             check=True).stdout
    subprocess.run(["tar", "-x"], cwd=folder, input=archive, check=True)
    if is_tune:
        makefile = folder / "Makefile"
        text = makefile.read_text()
        expect("SHOW_HIDDEN ?= 0" in text, "the Makefile has no line SHOW_HIDDEN ?= 0")
        makefile.write_text(text.replace("SHOW_HIDDEN ?= 0", "SHOW_HIDDEN ?= 1"))
    sha = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE,
                         check=True).stdout.decode().strip().upper()[:8]
    name = f"Tesla{'Tune' if is_tune else ''}-{sha}"
    command = args.under + ["make", "-j", f"EXE={name}", f"CC={compiler}"]
    if network:
        name += f"-{hashlib.sha256(network.read_bytes()).hexdigest()[:8].upper()}"
        command[-2] = f"EXE={name}"
        command.append(f"EVALFILE={network.resolve()}")
    start = time.monotonic()
    made = run(command, folder)
    expect(made.returncode == 0, f"make failed:\n{made.stdout.decode()[-2000:]}")
    expect((folder / name).is_file(), f"make ended well, but there is no file {name}")
    engines = args.out / "Engines"
    engines.mkdir(exist_ok=True)
    shutil.move(folder / name, engines / name)
    say("make", f"{' '.join(command[-4:])}: {time.monotonic() - start:.0f} s")
    return engines / name


def bench_of(stream):
    """Nodes and speed: of each the last that a line of the output says."""
    nodes = speed = None
    for line in reversed(stream.decode("ascii").strip().split("\n")):
        words = " ".join(re.findall(r"[a-z0-9]+", line.lower()))
        found = re.search(r"(\d+) nps\b|\bnps (\d+)|nodes second (\d+)", words)
        speed = speed or found and int(next(filter(None, found.groups())))
        found = re.search(r"(\d+) nodes|nodes (\d+)|nodes searched (\d+)", words)
        nodes = nodes or found and int(next(filter(None, found.groups())))
    return nodes, speed


def check_bench(engine, threads):
    start = time.monotonic()
    command = [f"./{engine.name}", "bench"]
    started = [subprocess.Popen(command, cwd=engine.parent, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT) for _ in range(threads)]
    found = [bench_of(process.communicate()[0]) for process in started]
    took = time.monotonic() - start
    expect(len({nodes for nodes, _ in found}) == 1, f"the benches differ: {found}")
    expect(all(nodes and speed for nodes, speed in found), f"a bench cannot be read: {found}")
    expect(took < BENCH_SECONDS, f"{took:.0f} s, and the worker waits {BENCH_SECONDS}")
    speed = sum(speed for _, speed in found) // threads
    say("bench", f"{engine.name}: {threads} at once, {found[0][0]} nodes, {speed} a second each, "
        f"{took:.0f} s")


def openings(engine, count, seed, book, extra):
    """EPD lines of genfens, and the longest wait for one."""
    order = f"genfens {count} seed {seed} book {book} {extra}"
    process = subprocess.Popen([f"./{engine.name}", order, "quit"], cwd=engine.parent,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines, last, longest = [], time.monotonic(), 0.0
    for line in process.stdout:
        text = line.decode().rstrip()
        if not text.startswith("info string genfens "):
            continue
        fields = text.removeprefix("info string genfens ").split()
        expect(len(fields) == 6, f"not a whole FEN: {text}")
        longest, last = max(longest, time.monotonic() - last), time.monotonic()
        lines.append(f"{' '.join(fields[:4])} hmvc {int(fields[4])}; fmvn {int(fields[5])};")
    process.wait()
    expect(len(lines) == count, f"{order}: {len(lines)} openings instead of {count}")
    expect(longest < OPENING_SECONDS, f"{order}: {longest:.0f} s for an opening")
    return lines, longest


def check_genfens(engine, folder, book_lines):
    """Without a book, with one, and with one as long as OpenBench's longest."""
    seeds = [random.randrange(2**31) for _ in range(2)]
    plain = [openings(engine, 16, seed, "None", "plies 8") for seed in seeds]
    again = openings(engine, 16, seeds[0], "None", "plies 8")
    expect(again[0] == plain[0][0], "the same seed gives other openings")
    expect(plain[0][0] != plain[1][0], "another seed gives the same openings")
    say("genfens", f"no book, seeds {seeds}: 16 each, longest wait {plain[0][1]:.1f} s")
    book = folder / "book.epd"
    book.write_text("\n".join(plain[0][0] + plain[1][0]) + "\n")
    lines, longest = openings(engine, 16, seeds[0], os.path.relpath(book, engine.parent), "")
    say("genfens", f"a book of 32 lines: 16, longest wait {longest:.1f} s")
    with book.open("w") as out:
        for index in range(book_lines):
            out.write(lines[index % len(lines)] + "\n")
    longest = openings(engine, 4, seeds[1], os.path.relpath(book, engine.parent), "")[1]
    say("genfens", f"a book of {book_lines} lines ({book.stat().st_size >> 20} MiB): 4, longest "
        f"wait {longest:.1f} s")
    book.unlink()


def talk(engine, lines):
    text = "".join(line + "\n" for line in lines)
    return run([f"./{engine.name}"], engine.parent, input=text.encode()).stdout.decode()


def check_options(engine, tune, config):
    """Every option that a preset sets is listed; so are tunables in the build for a tune."""
    names = re.findall(r"^option name (.+?) type ", talk(engine, ["uci", "quit"]), re.MULTILINE)
    presets = [preset for kind in OWN for preset in config[kind].values()]
    wanted = {"Threads", "Hash", "SyzygyPath", "SyzygyProbeLimit"}
    for preset in presets:
        for key in [key for key in preset if key.endswith("_options")]:
            wanted |= {word.split("=")[0] for word in preset[key].split()}
    expect(wanted <= set(names), f"not listed: {wanted - set(names)}")
    say("options", f"listed: {', '.join(sorted(wanted))}")
    said = talk(tune, ["uci", "quit"])
    hidden = re.findall(r"^option name (\S+) type string default ([\d.]+)$", said, re.MULTILINE)
    hidden = [(name, float(value)) for name, value in hidden if name not in names]
    expect(hidden, "the build for a tune lists no tunables")
    # As the server's arithmetic leaves them: many digits.
    lines = [f"setoption name {name} value {value * 1.0123456789}" for name, value in hidden]
    said = talk(tune, ["uci", *lines, "isready", "go nodes 50", "quit"])
    complaints = [line for line in said.split("\n")
                  if line.startswith("info string") and any(name in line for name, _ in hidden)]
    expect("readyok" in said and "bestmove" in said, "no answer after the tunables were set")
    expect(not complaints, f"tunables refused: {complaints}")
    say("options", f"{len(hidden)} tunables listed and set, {hidden[0][0]} first")


def play(args, engine, other):
    """Two games under fastchess as the worker starts it, or under our own runner."""
    pgn = args.out / "games.pgn"
    pgn.unlink(missing_ok=True)
    options = {"Threads": 1, "Hash": 16, "KVCache": 64}
    if fastchess := shutil.which("fastchess"):
        words = "-repeat -recover -variant standard -testEnv -concurrency 1 -games 2".split()
        for name, side in [("dev", engine), ("base", other)]:
            words += ["-engine", "dir=Engines/", f"cmd=./{side.name}", "proto=uci", "tc=inf",
                      "nodes=100", *(f"option.{key}={value}" for key, value in options.items()),
                      f"name=Tesla-{name}"]
        words += ["-pgnout", f"file={pgn.name}", "seldepth=true", "nodes=true"]
        done = run(args.under + [fastchess, *words], args.out)
        runner = "fastchess"
    else:
        words = ["match", "--out", "match", "--nodes", "100", "--games", "2"]
        shutil.rmtree(args.out / "match", ignore_errors=True)
        for name, side in [("dev", engine), ("base", other)]:
            words += ["--side", f"name={name}", f"cmd=./{side.name}", "dir=Engines",
                      *(f"option.{key}={value}" for key, value in options.items())]
        done = run(args.under + [args.train, *words], args.out)
        runner = "tesla-train match, comments put into fastchess' form"
    expect(done.returncode == 0, f"{runner} failed:\n{done.stdout.decode()[-2000:]}")
    if not fastchess:
        text = (args.out / "match" / "games.pgn").read_text()
        # Ours has no selective depth; the depth stands for it.
        text = re.sub(r"/(\d+)\s+([\d.]+s)\s+n=(\d+)", r"/\1 \2, n=\3, sd=\1", text)
        pgn.write_text(text)
    say("games", f"2 by {runner}")
    return pgn


def games_of(pgn):
    """Tags and moves of each game: two blocks of lines, each ended by an empty one."""
    blocks = [block for block in pgn.read_text().split("\n\n") if block.strip()]
    for tags, moves in zip(blocks[0::2], blocks[1::2]):
        yield dict(re.findall(r'^\[(\w+) "([^"]*)"\]$', tags, re.MULTILINE)), moves.replace("\n", " ")


def strip(pgn, is_compact):
    """What the server keeps: some tags, moves without numbers, of each comment the score alone or
    all figures."""
    figures = r"([+-]?M?\d+(?:\.\d+)?)/\d+ [\d.]+s, n=\d+, sd=\d+"
    kept, known, unknown = "", 0, 0
    for tags, moves in games_of(pgn):
        for tag in ["Event", "Site", "Date", "Round", "White", "Black", "Result", "FEN", "Variant"]:
            if tag in tags:
                kept += f'[{tag} "{tags[tag]}"]\n'
        kept += "\n"
        for san, comment in re.findall(r"([a-zA-Z][a-zA-Z0-9+=#-]*|O-O\S*) \{\s*([^}]*)\}", moves):
            found = re.search(figures, comment)
            known, unknown = known + bool(found), unknown + (not found and comment != "book")
            text = found.group(int(is_compact)) if found else "book" if comment == "book" else "unknown"
            kept += f"{san} {{{text}}} "
        kept += re.search(r"(1-0|0-1|1/2-1/2|\*)\s*$", moves).group(1) + "\n\n"
    return bz2.compress(kept.encode()), known, unknown


def check_pgn(args, pgn):
    """Both forms that the server keeps are training data for tesla-train."""
    for form in ["compact", "verbose"]:
        packed, known, unknown = strip(pgn, form == "compact")
        expect(known > 0, f"no comment of {pgn} has the figures that the client looks for")
        file = args.out / f"{form}.pgn"
        file.write_bytes(bz2.decompress(packed))
        data = args.out / f"data-{form}"
        shutil.rmtree(data, ignore_errors=True)
        done = run([args.train, "import", file.name, "--out", data.name], args.out)
        text = done.stdout.decode()
        expect(done.returncode == 0, f"import of {file} failed:\n{text[-2000:]}")
        last = [line.strip() for line in text.split("\n") if line.strip()][-1]
        say("pgn", f"{form}: {known} moves with figures, {unknown} without; import: {last}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for all it makes")
    parser.add_argument("--network", type=pathlib.Path, help="weights file for EVALFILE")
    parser.add_argument("--train", default="tesla-train", help="the program tesla-train")
    parser.add_argument("--threads", type=int, default=2, help="benches at once")
    parser.add_argument("--book-lines", type=int, default=2_632_036, help="of the longest book")
    parser.add_argument("--under", default="", help="words before make and the games, as nice")
    parser.add_argument("--keep", action="store_true", help="use the engines that are there")
    args = parser.parse_args()
    args.under = args.under.split()
    args.out = args.out.resolve()
    args.out.mkdir(parents=True, exist_ok=True)
    if found := shutil.which(args.train):
        args.train = str(pathlib.Path(found).resolve())
    try:
        config = check_config(ROOT / "benches" / "openbench.json")
        compiler = check_compiler(config)
        built = sorted((args.out / "Engines").glob("Tesla*")) if args.keep else []
        if len(built) == 3:
            plain, other, tune = built
        else:
            plain = build(args, compiler, None, False)
            other = build(args, compiler, args.network, False) if args.network else plain
            tune = build(args, compiler, None, True)
        for engine in {plain, other}:
            check_bench(engine, args.threads)
        check_genfens(plain, args.out, args.book_lines)
        check_options(plain, tune, config)
        check_pgn(args, play(args, plain, other))
    except Failed as fault:
        print(f"FAILED    {fault}")
        return 1
    print("all steps of the worker worked")
    return 0


if __name__ == "__main__":
    sys.exit(main())
