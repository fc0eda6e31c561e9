#!/usr/bin/env bash
# Runs the tests of a federated graph: Hive Gateway from npm (some 500 MB), Plaudit, and a subgraph of an app.
set -euo pipefail
cd "$(dirname "$(realpath "$0")")"

if [[ ! node_modules/.package-lock.json -nt package-lock.json ]]; then
  npm ci
  touch node_modules/.package-lock.json
fi
PLAUDIT_BIN=$(realpath "${PLAUDIT_BIN:-../../target/debug/plaudit}") npm test --silent
