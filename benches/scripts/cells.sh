#!/usr/bin/env bash
# Plays Tesla against PUCT at equal evaluations, cell by cell, and batches of 128 against single ones.
#
#     benches/scripts/cells.sh BOOK OUT [CELL ...]
#
# Without names it plays all cells, one after the other. The same command resumes after a stop. Each cell's tables are in OUT/CELL/report.md. Needs `cargo build --release --workspace`; on two cores
# about 13 games a minute at 800 evaluations, 40 at 200, 3 at 3,200.
set -euo pipefail

trainer=${TRAINER:-target/release/tesla-train}
book=${1:?name a book of openings: built-in, or an .epd file}
out=${2:?name a folder for the cells}
shift 2

# Evaluations, games of each pairing, seed of the openings, batch size of a cell of Tesla against PUCT as it
# ships and PUCT with lc0's constants; then options of all.
against_puct() {
    local nodes=$1 games=$2 seed=$3 batch=$4
    shift 4
    play "$nodes" "$games" "$seed" --side name=Tesla "option.BatchSize=$batch" "$@" \
        --side name=PUCT option.Search=PUCT "option.BatchSize=$batch" "$@" \
        --side name=lc0 preset=lc0 option.Search=PUCT "option.BatchSize=$batch" "$@"
}

# A search in batches of 128 against itself in batches of one; `fixed_cost` as of a GPU.
batches() {
    local seed=$1
    shift
    play 800 600 "$seed" --side name=b128 "$@" option.BatchSize=128 option.fixed_cost=500 \
        --side name=b1 "$@" option.BatchSize=1 option.fixed_cost=500
}

play() {
    local nodes=$1 games=$2 seed=$3
    shift 3
    "$trainer" match --tournament gauntlet --nodes "$nodes" --games "$games" --seed "$seed" --openings "$book" \
        --concurrency 24 --resign movecount=3,score=600 --draw movenumber=40,movecount=8,score=10 \
        --out "$out/$cell" "$@"
}

for cell in "${@:-800-64 b128-tesla 200-1 b128-puct 3200-64 800-1 200-64 800-64-gpu 800-256-gpu}"; do
    # The default above is one word.
    for cell in $cell; do
        case $cell in
            200-64) against_puct 200 400 201 64 ;;
            800-64) against_puct 800 400 202 64 ;;
            200-1) against_puct 200 400 205 1 ;;
            800-1) against_puct 800 400 206 1 ;;
            3200-64) against_puct 3200 200 207 64 ;;
            # Batches as on a GPU, whose fixed cost is that of 500 evaluations.
            800-64-gpu) against_puct 800 400 208 64 option.fixed_cost=500 ;;
            800-256-gpu) against_puct 800 400 209 256 option.fixed_cost=500 ;;
            b128-tesla) batches 203 ;;
            b128-puct) batches 204 option.Search=PUCT ;;
            *) echo "cells.sh: there is no cell $cell; see the script for their names" >&2; exit 2 ;;
        esac
    done
done
