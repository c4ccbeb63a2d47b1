#!/bin/sh
# Kills `tesla enumerate` (SIGKILL) at random moments, lets it finish, and compares its table with an undisturbed run's:
# every number must be the same. Memory is so little that most goes to files.
#
#     benches/scripts/enumerate_kills.sh TESLA FOLDER [enumerate's options]
#
# Without options: the start position without castling rights, with its edges. KILLS (20) and SEED (of the moments)
# can be set in the environment. Both runs stay in FOLDER.
set -eu

program=$1
folder=$2
shift 2
[ $# -gt 0 ] || set -- --no-castling --edges
set -- enumerate "$@" --memory 128 --checkpoint 0.5
kills=${KILLS:-20}
mkdir -p "$folder"
if [ -e "$folder/killed" ] || [ -e "$folder/whole" ]; then
    echo "enumerate_kills.sh: $folder holds runs already; name another folder" >&2
    exit 2
fi

began=$(date +%s.%N)
"$program" "$@" --dir "$folder/whole" > "$folder/whole.txt"
seconds=$(echo "$began $(date +%s.%N)" | awk '{ print $2 - $1 }')
echo "undisturbed: $seconds s"

# Spread so that most of the run is reached.
moments=$(awk -v seed="${SEED:-1}" -v n="$kills" -v t="$seconds" \
    'BEGIN { srand(seed); for (i = 0; i < n; i++) printf "%.3f ", rand() * t * 2 / n }')
killed=0
for moment in $moments; do
    "$program" "$@" --dir "$folder/killed" > "$folder/killed.txt" 2> "$folder/errors.txt" &
    job=$!
    sleep "$moment"
    if kill -9 $job 2> /dev/null; then
        killed=$((killed + 1))
        echo "killed after $moment s: $(du -sm "$folder/killed" 2> /dev/null | cut -f 1) MB of files"
    else
        echo "over before $moment s"
    fi
    if wait $job 2> /dev/null; then code=0; else code=$?; fi
    if [ $code -ne 0 ] && [ $code -ne 137 ]; then
        cat "$folder/errors.txt" >&2
        exit 1
    fi
done
"$program" "$@" --dir "$folder/killed" > "$folder/killed.txt"

# All but the times, which are those of all runs together.
for which in whole killed; do grep -v '^- ' "$folder/$which.txt" > "$folder/$which.numbers.txt"; done
if cmp "$folder/whole.numbers.txt" "$folder/killed.numbers.txt"; then
    echo "the same after $killed kills"
else
    echo "NOT THE SAME" >&2
    exit 1
fi
