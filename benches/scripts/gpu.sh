#!/usr/bin/env bash
# What only a GPU can show, in one go: a first measurement of a device, to be filed under benches/results.
#
#     cargo build --release --workspace
#     benches/scripts/gpu.sh OUT [DATA]
#
# Writes one text file for each step into OUT, which starts with its command, and goes on where a step fails:
#   doctor      adapters, drivers, memory, and what the programs think of them
#   benchmark   evaluations per second by size of the batch, on every device
#   host        what a batch costs the host's processor, and how far the answers are from the CPU's
#   search      evaluations per second of searches of NODES: with the cache, with whole encodes, and on the CPU
#   train       with DATA, labelled games: a run of CONFIG for TRAIN_SECONDS; its weights lie in OUT then
#   games       GAMES of each pairing at MOVETIME ms a move: the device against the CPU and against PUCT on the device
#
# Without GPU, DEVICE=software goes through the same steps on a software rasteriser, to see that they work.
set -uo pipefail

out=${1:?name a folder for the results}
data=${2:-}
bin=${BIN:-target/release}
device=${DEVICE:-gpu}
nodes=${NODES:-100000}
config=${CONFIG:-training/configs/base.toml}
train_seconds=${TRAIN_SECONDS:-300}
games=${GAMES:-40}
movetime=${MOVETIME:-100}
step_seconds=${STEP_SECONDS:-120}
mkdir -p "$out"

# step NAME SECONDS COMMAND...: its output goes into OUT/NAME.txt; it is asked to stop when the time is over.
step() {
    local name=$1 seconds=$2
    shift 2
    echo "== $name: $*"
    echo "$ $*" >> "$out/$name.txt"
    timeout --signal=INT --kill-after=120 "$seconds" "$@" >> "$out/$name.txt" 2>&1
    local ended=$?
    case $ended in
        0) ;;
        124) echo "stopped after $seconds s" | tee -a "$out/$name.txt" ;;
        *) echo "ended with $ended" | tee -a "$out/$name.txt" ;;
    esac
}

rm -f "$out"/{doctor,benchmark,host,search,train,games}.txt
step doctor "$step_seconds" "$bin/tesla" doctor
for which in "$device" cpu; do
    step benchmark "$step_seconds" "$bin/tesla" benchmark --device "$which"
done
for batch in 64 256 1024; do
    step host "$step_seconds" "$bin/tesla-benches" gpu --device "$device" --batch "$batch" --compare
done
step search "$((3 * step_seconds))" "$bin/tesla-benches" incremental --nodes "$nodes" \
    --way "Device=$device" --way "Device=$device,GPUKVCache=0" --way Device=cpu
if [ -n "$data" ]; then
    step train "$train_seconds" "$bin/tesla-train" train --data "$data" --out "$out/run" \
        --config "$config" --device "$device" --steps 1000000
    # The run was asked to stop: its weights are those of its checkpoint.
    weights=$out/run/checkpoint/weights.safetensors
    step train "$step_seconds" "$bin/tesla-train" export --weights "$weights" --out "$out"
fi
step games "$((10 * step_seconds))" "$bin/tesla-train" match --tournament gauntlet --games "$games" \
    --out "$out/match" --resign movecount=3,score=600,twosided=true \
    --side name=Tesla "option.Device=$device" "movetime=$movetime" \
    --side name=CPU option.Device=cpu "movetime=$movetime" \
    --side name=PUCT option.Search=PUCT "option.Device=$device" "movetime=$movetime"
