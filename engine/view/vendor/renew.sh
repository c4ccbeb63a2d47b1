#!/usr/bin/env bash
# Fetches the vendored files of the page anew from npm, at the versions below, and writes LIST.tsv.
# Needs npm, tar and sha256sum; building Tesla needs none of them. To take a newer release, change
# its version here, run this, look at the page and run its tests.
set -euo pipefail
cd "$(dirname "$0")"

# package, version, licence, then pairs FILE_IN_PACKAGE=NAME_HERE
PACKAGES=(
    "@lichess-org/chessground 10.4.1 GPL-3.0-or-later
        dist/chessground.min.js=chessground.js
        assets/chessground.base.css=chessground.css
        assets/chessground.cburnett.css=pieces.css"
    "uplot 1.6.32 MIT
        dist/uPlot.iife.min.js=uplot.js
        dist/uPlot.min.css=uplot.css
        LICENSE=uplot.LICENSE"
    "@fontsource-variable/inter 5.3.0 OFL-1.1
        files/inter-latin-wght-normal.woff2=inter.woff2
        LICENSE=inter.LICENSE"
    "@fontsource-variable/newsreader 5.3.0 OFL-1.1
        files/newsreader-latin-wght-normal.woff2=newsreader.woff2
        LICENSE=newsreader.LICENSE"
)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf 'file\tpackage\tversion\tlicence\tsha256\n' >LIST.tsv
for package in "${PACKAGES[@]}"; do
    read -r name version licence files <<<"$(tr '\n' ' ' <<<"$package")"
    rm -rf "$work/package"
    archive=$(npm pack --silent --pack-destination "$work" "$name@$version" 2>/dev/null | tail -n 1)
    tar -xzf "$work/$archive" -C "$work"
    for pair in $files; do
        cp "$work/package/${pair%%=*}" "${pair##*=}"
        chmod 644 "${pair##*=}"
        sum=$(sha256sum "${pair##*=}" | cut -d ' ' -f 1)
        printf '%s\t%s\t%s\t%s\t%s\n' "${pair##*=}" "$name" "$version" "$licence" "$sum" >>LIST.tsv
    done
done
