#!/usr/bin/env bash
# Kills a training run at ten random moments, resumes it each time, and compares its end with that of an
# undisturbed run: the same weights, bit by bit, and the same loss.csv but for times.
#
#   benches/scripts/kill_train.sh DATA [STEPS] [KILLS]
#
# DATA is a .games.zst file; TRAIN names the binary (default target/release/tesla-train), SEED the moments.
set -euo pipefail

data=${1:?name a .games.zst file}
steps=${2:-600}
kills=${3:-10}
train=${TRAIN:-target/release/tesla-train}
RANDOM=${SEED:-$$}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

options=(--data "$data" --shape tiny --steps "$steps" --warm-up 20 --batch 4 --window 5 --checkpoint-steps 10)

# The weights of the last checkpoint and of the file to ship.
hashes() {
    (cd "$1" && sha256sum checkpoint/*.safetensors tesla-*.safetensors)
}

# loss.csv without positions_per_second and idle.
curve() {
    cut -d, -f1-9,11,13- "$1/loss.csv"
}

# Milliseconds that the undisturbed run takes to its end; the second time it has nothing to do but to read.
straight() {
    local began
    began=$(date +%s%N)
    "$train" train "${options[@]}" --out "$folder/straight" 2>>"$folder/straight.log"
    echo $((($(date +%s%N) - began) / 1000000))
}

whole=$(straight)
reading=$(straight)
steady=$((whole > reading ? whole - reading : 1))
echo "undisturbed: $steps steps in $whole ms, of which $reading ms for reading"

killed=0
while [ "$killed" -lt "$kills" ]; do
    "$train" train "${options[@]}" --out "$folder/killed" 2>>"$folder/killed.log" &
    run=$!
    # While it reads, or somewhere in the next part of the run.
    pause=$((reading * 3 / 4 + RANDOM * RANDOM % (reading / 4 + steady / kills + 1)))
    sleep "$(printf '%d.%03d' $((pause / 1000)) $((pause % 1000)))"
    if ! kill -9 "$run" 2>/dev/null; then
        echo "the run ended before it was killed $kills times; ask for more steps" >&2
        exit 1
    fi
    wait "$run" 2>/dev/null || true
    killed=$((killed + 1))
    step=$(sed -E 's/.*"step":([0-9]+).*/\1/' "$folder/killed/checkpoint/progress.json" 2>/dev/null || echo none)
    echo "kill $killed after $pause ms: checkpoint of step $step, $(wc -l 2>/dev/null <"$folder/killed/loss.csv" || echo 0) lines"
done
"$train" train "${options[@]}" --out "$folder/killed" 2>>"$folder/killed.log"

if grep -n panicked "$folder"/*.log; then
    exit 1
fi
hashes "$folder/straight" >"$folder/straight.sums"
hashes "$folder/killed" >"$folder/killed.sums"
diff "$folder/straight.sums" "$folder/killed.sums"
diff <(curve "$folder/straight") <(curve "$folder/killed")
cat "$folder/killed.sums"
echo "equal weights and equal loss.csv ($(($(wc -l <"$folder/killed/loss.csv") - 1)) lines) after $kills kills"
