#!/usr/bin/env bash
# Runs the browser tests, or another script of package.json, against a server of its own; see with_server.sh.
set -euo pipefail
cd "$(dirname "$(realpath "$0")")"

# plaudit-client and the example app have packages of their own.
for folder in . ../../client ../../examples/your-app; do
  if [[ ! $folder/node_modules/.package-lock.json -nt $folder/package-lock.json ]]; then
    npm --prefix "$folder" ci
    touch "$folder/node_modules/.package-lock.json"
  fi
done
../with_server.sh npm run --silent "${1:-test}"
