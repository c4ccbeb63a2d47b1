#!/bin/sh
# Enumerates the closure of the start position, without castling rights and with them, each in memory and in as little
# as `tesla enumerate` takes, where most goes to files. Prints a table: time by the clock and of the processors,
# the most memory that was resident, the most that lay in files. Ends with an error when a total is wrong.
#
#     benches/scripts/enumerate.sh TESLA FOLDER
#
# FOLDER holds the files (4 GB at most, deleted after each run) and what the program printed. ROUNDS (1), IN_MEMORY
# ("1024 6144") and IN_FILES ("128 128"), the bounds in MiB without rights and with them, can be set in the environment.
# Memory is that of GNU time, which Debian has as package "time"; without it /proc is looked at five times a second.
set -eu

program=$1
folder=$2
in_memory=${IN_MEMORY:-1024 6144}
in_files=${IN_FILES:-128 128}
mkdir -p "$folder"
if [ -e "$folder/run" ]; then
    echo "enumerate.sh: $folder/run is there already; name another folder" >&2
    exit 2
fi

# Waits for process $1; five times a second writes the most memory it had to $2, the files' size if it is a new maximum to $3.
watch() {
    : > "$2"
    most=0
    while kill -0 "$1" 2> /dev/null; do
        awk '/^VmHWM/ { print int($2 / 1024) }' "/proc/$1/status" > "$2.new" 2> /dev/null || true
        if [ -s "$2.new" ]; then mv "$2.new" "$2"; fi
        now=$(du -sm "$folder/run" 2> /dev/null | cut -f 1)
        if [ "${now:-0}" -gt "$most" ]; then most=$now; fi
        echo "$most" > "$3"
        sleep 0.2
    done
}

# The number that a row of the table begins with $1.
row() {
    sed -n "s/^$1[^|]*| \([0-9']*\).*/\1/p" "$folder/table.txt" | tr -d "'"
}

# One run: name, bound, known totals (positions, moves, most, fewest, roots), then the program's options.
measure() {
    name=$1
    bound=$2
    known=$3
    shift 3
    set -- enumerate "$@" --memory "$bound"
    began=$(date +%s.%N)
    if [ -x /usr/bin/time ]; then
        /usr/bin/time -f %M -o "$folder/peak.txt" "$program" "$@" > "$folder/table.txt" 2> "$folder/errors.txt" &
    else
        "$program" "$@" > "$folder/table.txt" 2> "$folder/errors.txt" &
    fi
    job=$!
    watch $job "$folder/seen.txt" "$folder/disk.txt"
    if ! wait $job; then
        cat "$folder/errors.txt" >&2
        exit 1
    fi
    seconds=$(echo "$began $(date +%s.%N)" | awk '{ printf "%.1f", $2 - $1 }')
    if [ -x /usr/bin/time ]; then peak=$(awk '{ print int($1 / 1024) }' "$folder/peak.txt"); else peak=$(cat "$folder/seen.txt"); fi
    cpu=$(awk '/^- (user|sys)/ { split($3, part, /[ms]/); sum += 60 * part[1] + part[2] } END { printf "%.1f", sum }' \
        "$folder/table.txt")
    found="$(sed -n "s/^Positions with the first one: \([0-9']*\),.*/\1/p" "$folder/table.txt" | tr -d "'")"
    found="$found $(row Legal) $(row Maximum) $(row Minimum) $(row 'Number of new roots')"
    if [ "$found" != "$known" ]; then
        echo "WRONG: $name: $found instead of $known" >&2
        exit 1
    fi
    echo "| $name | $bound | $seconds | $cpu | $peak | $(cat "$folder/disk.txt") |"
    rm -rf "$folder/run"
}

without="5027596 114783512 34 2 68409899"
with="25452174 582408371 34 2 345282223"
echo "| castling rights | bound, MiB | seconds | of processors | resident, MiB | files, MB |"
echo "|---|---|---|---|---|---|"
round=0
while [ $round -lt "${ROUNDS:-1}" ]; do
    round=$((round + 1))
    measure "without" "${in_memory% *}" "$without" --no-castling
    measure "without, with files" "${in_files% *}" "$without" --no-castling --dir "$folder/run"
    measure "with" "${in_memory#* }" "$with"
    measure "with, with files" "${in_files#* }" "$with" --dir "$folder/run"
done
