#!/bin/sh
# Kills the engine at random moments while it plays games by Search = ThreeState, and checks after each kill that the
# experience file can be read and holds every move that was answered: as often as it was, and with the last move.
# Then kills `tesla experience learn`, which writes thousands of records a second and its file anew now and then, as
# often, and checks that the file can be read and never holds less than before.
#
#     benches/scripts/experience_kills.sh TESLA FOLDER
#
# The engine plays both sides and keeps one file through all kills. KILLS (50), SEED (of the moments) and LONGEST (of a
# session, in seconds) can be set in the environment. The file and what was answered stay in FOLDER.
set -eu
trap '' PIPE

program=$1
folder=$2
kills=${KILLS:-50}
mkdir -p "$folder"
file=$folder/kills.experience
if [ -e "$file" ]; then
    echo "experience_kills.sh: $file is there already; name another folder" >&2
    exit 2
fi
: > "$folder/answered.txt"

say() {
    printf '%s\n' "$1" >&3 2> /dev/null
}

# Plays until the engine dies; adds "move board side castling en-passant" of each answer to answered.txt.
play() {
    moves=
    plies=0
    say "setoption name Evaluator value Classical" || return 0
    say "setoption name UCI_Chess960 value true" || return 0
    say "setoption name ExperienceFile value $file" || return 0
    say "setoption name Search value ThreeState" || return 0
    while say "position startpos moves$moves" && say d && say "go nodes 300"; do
        position=
        answer=
        while read -r word first rest <&4; do
            case $word in
                Fen:) position="$first $rest" ;;
                bestmove)
                    answer=$first
                    break
                    ;;
            esac
        done
        [ -n "$answer" ] || return 0
        plies=$((plies + 1))
        if [ "$answer" = 0000 ] || [ $plies -gt 160 ]; then
            moves=
            plies=0
            say ucinewgame || return 0
        fi
        if [ "$answer" != 0000 ]; then
            echo "$answer $position" | cut -d ' ' -f 1-5 >> "$folder/answered.txt"
            [ $plies -eq 0 ] || moves="$moves $answer"
        fi
    done
}

# Every answered move is in the file; at most one more for each kill is.
check() {
    "$program" experience show "$file" --all > "$folder/all.txt"
    awk -v kills="$1" '
        { key = $(FNR == NR ? 2 : 7) " " $(FNR == NR ? 3 : 8) " " $(FNR == NR ? 4 : 9) " " $(FNR == NR ? 5 : 10) }
        FNR == NR { answered[key]++; last[key] = $1; all++; next }
        $1 ~ /^[0-9]+$/ { seen[key] = $1; move[key] = $2; kept += $1 }
        END {
            for (key in answered) {
                if (seen[key] < answered[key]) { print "LOST: " key; bad = 1 }
                if (seen[key] == answered[key] && move[key] != last[key]) { print "OTHER MOVE: " key; bad = 1 }
            }
            if (kept > all + kills) { print "MADE UP: " kept - all " moves"; bad = 1 }
            printf "%d answered, %d in the file\n", all, kept
            exit bad
        }' "$folder/answered.txt" "$folder/all.txt"
}

moments=$(awk -v seed="${SEED:-1}" -v n="$kills" -v t="${LONGEST:-2}" \
    'BEGIN { srand(seed); for (i = 0; i < n; i++) printf "%.3f ", 0.02 + rand() * t }')
number=0
for moment in $moments; do
    number=$((number + 1))
    rm -f "$folder/in" "$folder/out"
    mkfifo "$folder/in" "$folder/out"
    "$program" < "$folder/in" > "$folder/out" 2>> "$folder/errors.txt" &
    job=$!
    exec 3> "$folder/in" 4< "$folder/out"
    (sleep "$moment" && kill -9 $job) &
    killer=$!
    play
    exec 3>&- 4<&-
    wait $killer
    wait $job 2> /dev/null || true
    printf 'kill %d after %s s: ' "$number" "$moment"
    if [ -e "$file" ]; then check $number; else echo "before there was a file"; fi
done
rm -f "$folder/in" "$folder/out"
"$program" experience stats "$file" | head -5

# Games and moves in the file, and how often its positions were seen: every move counts once.
sums() {
    "$program" experience stats "$1" | awk '
        $1 == "seen" { seen = $2 }
        $1 == "moves" { moves = $2 + $4 + $6 }
        $1 == "games" && games == "" { games = $2 }
        END { print games, moves, seen; exit seen != moves }'
}

file=$folder/learn.experience
before="0 0 0"
number=0
for moment in $moments; do
    number=$((number + 1))
    "$program" experience learn "$file" --games 1000000 --opponent random 2>> "$folder/errors.txt" > /dev/null &
    job=$!
    sleep "$moment"
    kill -9 $job
    wait $job 2> /dev/null || true
    [ -e "$file" ] || continue
    now=$(sums "$file") || { echo "LOST: $now" >&2; exit 1; }
    echo "$before $now" | awk '{ exit $4 < $1 || $5 < $2 }' || { echo "LESS: $before, $now" >&2; exit 1; }
    echo "kill $number of learn after $moment s: games, moves, seen: $now"
    before=$now
done
grep -c . "$folder/errors.txt" > /dev/null && { echo "the engine complained:" >&2; cat "$folder/errors.txt" >&2; exit 1; }
echo "nothing lost in $kills kills of the engine and $kills of learn"
