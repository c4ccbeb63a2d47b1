#!/bin/sh
# Kills `tesla-train datagen` ten times at random moments, lets it finish, and compares its shards with those of an
# undisturbed run: every byte must be the same.
#
#     benches/scripts/kills.sh TESLA_TRAIN FOLDER [datagen's options]
#
# Without options: 300 games of Stockfish at 300 nodes, shards of 50. KILLS, SEED (of the moments) and CONCURRENCY
# can be set in the environment. Whole run and killed run stay in FOLDER.
set -eu

program=$1
folder=$2
shift 2
[ $# -gt 0 ] || set -- --teacher stockfish --option Hash=4 --nodes 300 --games 300 --shard-games 50
set -- "$@" --concurrency "${CONCURRENCY:-3}"
kills=${KILLS:-10}
mkdir -p "$folder"

# Names and hashes of the finished shards.
hashes() {
    (cd "$1" && sha256sum ./*.games.zst)
}

began=$(date +%s.%N)
"$program" datagen "$@" --out "$folder/whole" > "$folder/whole.txt" 2> "$folder/whole.err"
seconds=$(echo "$(date +%s.%N) - $began" | bc)
echo "undisturbed: $seconds s"

# Moments spread so that most of the run is reached, by a generator with a seed, as shells have none.
moments=$(awk -v seed="${SEED:-1}" -v n="$kills" -v t="$seconds" \
    'BEGIN { srand(seed); for (i = 0; i < n; i++) printf "%.3f ", 0.05 + rand() * t * 2 / (n + 1) }')
for moment in $moments; do
    "$program" datagen "$@" --out "$folder/killed" > /dev/null 2>> "$folder/killed.err" &
    job=$!
    sleep "$moment"
    if kill -9 $job 2> /dev/null; then how=killed; else how="over before"; fi
    wait $job 2> /dev/null || true
    shards=$(find "$folder/killed" -name '*.games.zst' | wc -l)
    lines=$(wc -l < "$folder/killed/games.jsonl" 2> /dev/null || echo 0)
    echo "$how after $moment s: $shards shards whole, $lines lines in the journal"
done
"$program" datagen "$@" --out "$folder/killed" > "$folder/killed.txt" 2>> "$folder/killed.err"

hashes "$folder/whole" > "$folder/whole.sha256"
hashes "$folder/killed" > "$folder/killed.sha256"
grep '^on disk' "$folder/whole.txt" "$folder/killed.txt"
if cmp "$folder/whole.sha256" "$folder/killed.sha256" &&
    cmp "$folder/whole/summary.json" "$folder/killed/summary.json"; then
    echo "the same: $(wc -l < "$folder/whole.sha256") shards"
else
    echo "NOT THE SAME" >&2
    exit 1
fi
