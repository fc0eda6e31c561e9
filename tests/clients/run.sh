#!/usr/bin/env bash
# Runs the tests with real clients from npm against a server of their own; see with_server.sh.
set -euo pipefail
cd "$(dirname "$(realpath "$0")")"

if [[ ! node_modules/.package-lock.json -nt package-lock.json ]]; then
  npm ci
  touch node_modules/.package-lock.json
fi
if [[ ! -f ../../client/dist/index.js ]]; then
  echo "plaudit-client is not built: run make web" >&2
  exit 1
fi
../with_server.sh npm test --silent
