#!/usr/bin/env bash
# Builds target/package/*.deb; arguments go to cargo deb. Needs `cargo install cargo-deb`.
# PROFILE=quick builds faster, and what is not for others.
set -euo pipefail
cd "$(dirname "$0")/.."

# `plaudit --version` names the commit; a tree with changes is none.
revision=$(git describe --always --dirty --abbrev=12 --exclude '*' 2>/dev/null || true)
export BUILD_REVISION=${BUILD_REVISION-$revision}
profile=${PROFILE:-release}
cargo build --locked --profile "$profile" -p plaudit --features otlp
directory=$profile
if [[ $profile == dev ]]; then directory=debug; fi
target=${CARGO_TARGET_DIR:-target}
plaudit=$target/$directory/plaudit

mkdir -p target/package
"$plaudit" docs man >target/package/plaudit.1
"$plaudit" docs bash >target/package/plaudit.bash
"$plaudit" docs zsh >target/package/_plaudit
"$plaudit" docs fish >target/package/plaudit.fish
scripts/licenses.mjs --sbom >target/package/plaudit.cdx.json
cargo deb -p plaudit --no-build --locked --strip --profile "$profile" --output target/package/ "$@"
