#!/usr/bin/env bash
# Unpacks a Linux archive where there is nothing but the C library and the compiler's runtime, and plays there.
#
#     packaging/try_archive.sh ARCHIVE.tar.gz
#
# Needs user namespaces (unshare). Fails if a program needs any library beside glibc's own, or does not play.
set -euo pipefail

archive=${1:?name an archive of packaging/archive.sh}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
tar -xzf "$archive" -C "$root" --strip-components=1
mkdir "$root/tmp"

# glibc's, and the compiler's runtime, which every system with glibc has.
for program in tesla tesla-train; do
    ldd "$root/$program" | grep -o '/[^ ]*' | sort -u | while read -r library; do
        case $(basename "$library") in
            libc.so.6 | libm.so.6 | libgcc_s.so.1 | libdl.so.2 | libpthread.so.0 | librt.so.1 | ld-linux*) ;;
            *) echo "$program needs $library, which an empty system does not have" >&2; exit 1 ;;
        esac
        mkdir -p "$root$(dirname "$library")"
        cp -L "$library" "$root$library"
    done
done

inside() { unshare --user --map-root-user chroot "$root" "$@"; }

answers=$(printf '%s\n' isready 'position startpos moves e2e4' 'go nodes 64' | { cat; sleep 10; } | inside /tesla)
printf '%s\n' "$answers" | grep -E '^(info string network|bestmove)'
printf '%s\n' "$answers" | grep -q '^bestmove [a-h]'
inside /tesla-train match --out /match --games 2 --nodes 16 --max-moves 20 \
    --side name=Tesla --side name=AlphaBeta option.Search=AlphaBeta option.Evaluator=Classical |
    grep -E '^\| Tesla - AlphaBeta'
echo "$archive plays in an empty root"
