#!/usr/bin/env bash
# Runs the browser tests, or another script of package.json, against a server of its own; see with_server.sh.
set -euo pipefail
cd "$(dirname "$(realpath "$0")")"

if [[ ! node_modules/.package-lock.json -nt package-lock.json ]]; then
  npm ci
  touch node_modules/.package-lock.json
fi
../with_server.sh npm run --silent "${1:-test}"
