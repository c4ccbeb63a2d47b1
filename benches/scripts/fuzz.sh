#!/bin/sh
# Runs the fuzz targets one after the other; what they find stays in benches/fuzz/artifacts, and the exit code is 1.
#
#     benches/scripts/fuzz.sh SECONDS [TARGET ...]
#
# Without names, all targets that need no network; weights, games and suites, which need burn, are run by name only.
# Dead code stays out: with some versions of rustc that of pulp does not compile.
# Needs a nightly toolchain and cargo-fuzz (`cargo install cargo-fuzz`).
set -eu
seconds=${1:?"say for how many seconds each target is to run, for example 600"}
shift
[ $# -gt 0 ] || set -- uci_line uci_session queries requests fen options experience
cd "$(dirname "$0")/.."
# What targets write is of no use afterwards, and need not reach a disk.
TMPDIR=$(if [ -d /dev/shm ]; then mktemp -d -p /dev/shm; else mktemp -d; fi)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 130' INT TERM
# What is tried is what ships, down to the versions of the packages.
[ fuzz/Cargo.lock -nt ../Cargo.lock ] || cp ../Cargo.lock fuzz/Cargo.lock
found=0
for target in "$@"; do
    features=
    case $target in weights | games | suites) features='--features data' ;; requests) features='--features view' ;; esac
    mkdir -p "fuzz/corpus/$target"
    # shellcheck disable=SC2086  # two words or none
    cargo +nightly fuzz run --strip-dead-code=true $features "$target" "fuzz/corpus/$target" "fuzz/seeds/$target" -- \
        "-max_total_time=$seconds" -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 || found=1
done
exit $found
