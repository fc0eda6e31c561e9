#!/usr/bin/env bash
# Runs the browser tests against a server of their own; see with_server.sh.
set -euo pipefail
cd "$(dirname "$(realpath "$0")")"

if [[ ! node_modules/.package-lock.json -nt package-lock.json ]]; then
  npm ci
  touch node_modules/.package-lock.json
fi
../with_server.sh npm test --silent
