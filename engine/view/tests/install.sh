#!/usr/bin/env bash
# Fetches what the test of the page needs besides node and a Chromium: playwright-core drives the
# browser, axe-core checks accessibility. Neither goes into the program.
set -euo pipefail
folder="$(cd "$(dirname "$0")/../../.." && pwd)/target/view-tests"
mkdir -p "$folder"
npm install --silent --no-save --no-audit --no-fund --prefix "$folder" \
    playwright-core@1.65.1 axe-core@4.14.1
