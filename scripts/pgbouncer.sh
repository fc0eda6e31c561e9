#!/usr/bin/env bash
# Builds PgBouncer for the tests, into target/pgbouncer, where Debian's own package is older than 1.21: those lose prepared
# statements in transaction mode. Takes the source of a later Debian, whose signature apt checks, and half a minute.
set -euo pipefail
cd "$(dirname "$0")/.."

suite=trixie
target=$PWD/target/pgbouncer
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Beside apt's own lists and sources, which stay as they are.
mkdir -p "$work"/{sources,lists/partial,cache/archives/partial,source} "$target"
cat >"$work/sources/$suite.sources" <<EOF
Types: deb-src
URIs: http://deb.debian.org/debian
Suites: $suite
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
EOF
chmod -R a+rX "$work"
apt() {
  apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$work/sources" \
    -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" -o APT::Sandbox::User=root "$@"
}
apt update
(cd "$work/source" && apt source --download-only pgbouncer && dpkg-source --no-check --extract ./*.dsc built >/dev/null)
cd "$work/source/built"
./configure --without-cares >/dev/null
make --silent -j"$(nproc)" pgbouncer >/dev/null
cp pgbouncer "$target/"
echo "PgBouncer is in $target"
