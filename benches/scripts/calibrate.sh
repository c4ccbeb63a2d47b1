#!/usr/bin/env bash
# Plays the levels of UCI_Elo against Stockfish's own, to rate them.
#
#     benches/scripts/calibrate.sh BOOK OUT [LEVEL ...]
#     python3 benches/scripts/calibrate.py OUT
#
# Every level (800, 1000, ... 2400 if none is named) plays GAMES games against each of the ANCHORS, which are
# Stockfish with UCI_LimitStrength, as ELO:DEPTH. It calibrates a place between the weakest and the strongest play, so run it
# while SCALE in engine/src/search/handicap.rs is the straight line [(800, 0.0), (2400, 1.0)]. The same command
# resumes after a stop. Needs `cargo build --release --workspace`.
#
# No limit is a time, so the machine may be busy. Stockfish chooses its weak move at depth 1 + level (15.1:
# level = ((Elo - 1346.6) / 143.4) ^ 1.241), so more time changes nothing; the depths below are beyond that.
# Tesla's nodes are those of its level, at most 8,000.
set -euo pipefail

trainer=${TRAINER:-target/release/tesla-train}
tesla=${TESLA:-target/release/tesla}
stockfish=${STOCKFISH:-stockfish}
games=${GAMES:-20}
concurrency=${CONCURRENCY:-2}
book=${1:?name a book of openings: built-in, or an .epd file}
out=${2:?name a folder for the games}
shift 2

anchors=()
for anchor in ${ANCHORS:-1350:3 1650:5 1950:8 2250:12 2550:16}; do
    elo=${anchor%:*}
    anchors+=(--side "name=SF-$elo" "cmd=$stockfish" "depth=${anchor#*:}" option.Hash=16
        option.UCI_LimitStrength=true "option.UCI_Elo=$elo")
done
for level in "${@:-800 1000 1200 1400 1600 1800 2000 2200 2400}"; do
    # The default above is one word.
    for level in $level; do
        "$trainer" match --tournament gauntlet --games "$games" --seed "$level" --openings "$book" \
            --concurrency "$concurrency" --resign movecount=4,score=900,twosided=true \
            --draw movenumber=60,movecount=8,score=8 --out "$out/$level" \
            --side "name=Tesla-$level" "cmd=$tesla" nodes=8000 option.Hash=64 ${OPTIONS:-} \
            option.UCI_LimitStrength=true "option.UCI_Elo=$level" "${anchors[@]}"
    done
done
