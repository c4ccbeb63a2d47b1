#!/usr/bin/env bash
# Makes a release archive of this checkout, with a file of its SHA-256 beside it.
#
#     packaging/archive.sh cpu|gpu [FOLDER]
#
# `cpu` leaves out the GPU stack. FOLDER (target/archives) gets tesla-VERSION-SYSTEM-KIND.tar.gz with both
# programs, the licences and the pages. Built from Cargo.lock as it stands. Runs on Linux, macOS (with
# GNU tar as gtar) and Windows (in Git's bash); needs cargo-about for the list of licences.
set -euo pipefail
cd "$(dirname "$0")/.."

kind=${1:?say cpu or gpu}
target=${CARGO_TARGET_DIR:-target}
folder=${2:-$target/archives}
case $kind in
    cpu) features=(--no-default-features --features tesla-engine/net,tesla-engine/view) ;;
    gpu) features=() ;;
    *) echo "packaging/archive.sh: there is no kind '$kind'; say cpu or gpu" >&2; exit 2 ;;
esac
if ! command -v cargo-about >/dev/null; then
    echo 'packaging/archive.sh: the list of licences needs cargo-about:' \
        'cargo install cargo-about --locked --features cli' >&2
    exit 2
fi
suffix=
case $(uname -s) in MINGW* | MSYS* | CYGWIN*) suffix=.exe ;; esac
tar=tar
if command -v gtar >/dev/null; then tar=gtar; fi

cargo build --release --locked --workspace --bin tesla --bin tesla-train "${features[@]+"${features[@]}"}"

version=$("$target/release/tesla$suffix" -V | cut -d' ' -f2)
system=$(rustc -vV | sed -n 's/^host: //p')
name=tesla-$version-$system-$kind
mkdir -p "$folder"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir "$stage/$name"
cp "$target/release/tesla$suffix" "$target/release/tesla-train$suffix" LICENSE ./*.md \
    "$stage/$name"
cp -r docs "$stage/$name"
mkdir -p "$stage/$name/models" "$stage/$name/benches"
cp models/README.md models/*.svg "$stage/$name/models"
cp -r benches/results "$stage/$name/benches"
# The texts are those in the crates, so that the list depends on nothing but Cargo.lock.
cargo fetch --locked
cargo about generate --frozen --fail --workspace --target "$system" "${features[@]+"${features[@]}"}" \
    --config packaging/about.toml --output-file "$stage/$name/LICENCES.md" packaging/licences.hbs
# The same files in the same order give the same archive.
"$tar" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct)" \
    -C "$stage" -c "$name" | gzip -n -9 > "$folder/$name.tar.gz"
sum=(sha256sum)
if ! command -v sha256sum >/dev/null; then sum=(shasum -a 256); fi
(cd "$folder" && "${sum[@]}" "$name.tar.gz" > "$name.tar.gz.sha256")
du -h "$folder/$name.tar.gz"
