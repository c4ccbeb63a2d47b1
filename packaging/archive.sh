#!/usr/bin/env bash
# Makes a release archive of this checkout, with a file of its SHA-256 beside it.
#
#     packaging/archive.sh cpu|gpu [FOLDER]
#
# `cpu` leaves out the GPU stack. FOLDER (target/archives) gets tesla-VERSION-SYSTEM-KIND.tar.gz with both
# programs, the licence and the pages. Built from Cargo.lock as it stands; nothing else is downloaded.
set -euo pipefail
cd "$(dirname "$0")/.."

kind=${1:?say cpu or gpu}
folder=${2:-target/archives}
case $kind in
    cpu) features=(--no-default-features --features tesla-engine/net,tesla-engine/view) ;;
    gpu) features=() ;;
    *) echo "packaging/archive.sh: there is no kind '$kind'; say cpu or gpu" >&2; exit 2 ;;
esac

cargo build --release --locked --package tesla-engine --package tesla-training "${features[@]}"

version=$(target/release/tesla -V | cut -d' ' -f2)
system=$(rustc -vV | sed -n 's/^host: //p')
name=tesla-$version-$system-$kind
mkdir -p "$folder"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir "$stage/$name"
cp target/release/tesla target/release/tesla-train LICENSE README.md CHANGELOG.md "$stage/$name"
cp -r docs "$stage/$name"
# The same files in the same order give the same archive.
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct)" \
    -C "$stage" -c "$name" | gzip -n -9 > "$folder/$name.tar.gz"
(cd "$folder" && sha256sum "$name.tar.gz" > "$name.tar.gz.sha256")
du -h "$folder/$name.tar.gz"
