#!/usr/bin/env bash
# Runs the fuzz targets one after the other. FOR: seconds for each (60); TARGETS: some of them (all).
set -euo pipefail
cd "$(dirname "$0")/.."

if ! rustup toolchain list 2>/dev/null | grep -q '^nightly'; then
  echo "fuzzing needs a nightly toolchain: rustup toolchain install nightly" >&2
  exit 1
fi
if ! cargo fuzz --version >/dev/null 2>&1; then
  echo "fuzzing needs cargo-fuzz: cargo install cargo-fuzz" >&2
  exit 1
fi

for target in ${TARGETS:-$(cargo +nightly fuzz list)}; do
  found="fuzz/target/corpus/$target"
  mkdir -p "$found"
  # cargo-fuzz writes new inputs to the first folder and only reads the second. No sanitizer: there is no unsafe code here.
  cargo +nightly fuzz run -s none "$target" "$found" "fuzz/corpus/$target" -- \
    -max_total_time="${FOR:-60}" -timeout=5 -rss_limit_mb=2048 -print_final_stats=1
done
