#!/bin/sh
# rustc with Clippy's lints, if the toolchain has Clippy; else rustc alone. Cargo calls it for the packages of this
# repository, with the path of rustc and its arguments.
if clippy-driver --version >/dev/null 2>&1; then exec clippy-driver "$@"; fi
exec "$@"
