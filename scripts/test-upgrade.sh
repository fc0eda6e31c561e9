#!/usr/bin/env bash
# Runs the last release beside the present source, on the same stores and under likes, in both orders. Builds it in a
# worktree of its own, target/upgrade/source. REV names another revision than the last tag; while there is none, it must.
# Its migrations must be those of the present source, or older ones: until 0.1.0 they are edited in place, so an older
# revision may be refused at its start ("its tables are of another version of Plaudit").
set -euo pipefail
cd "$(dirname "$0")/.."

rev=${REV:-$(git describe --tags --abbrev=0 2>/dev/null || true)}
if [[ -z $rev ]]; then
  echo "there is no tag yet: name the revision to run beside this one, as in REV=main~20 make test-upgrade" >&2
  exit 1
fi
commit=$(git rev-parse --verify --quiet "$rev^{commit}") || { echo "there is no revision $rev" >&2; exit 1; }

work=$PWD/target/upgrade
source=$work/source
other=$work/plaudit-$commit
remove() { git worktree remove --force "$source" 2>/dev/null || true; }
if [[ ! -x $other ]]; then
  mkdir -p "$work"
  remove
  trap remove EXIT
  git worktree add --quiet --detach "$source" "$commit"
  # Its pages are of no concern here, and are in the program.
  mkdir -p "$source/web-demo"
  cp -r web-demo/dist "$source/web-demo/dist"
  CARGO_TARGET_DIR=$work/build cargo build --locked --manifest-path "$source/Cargo.toml" -p plaudit
  cp "$work/build/debug/plaudit" "$other"
fi
echo "beside $rev ($commit): $("$other" --version)"
OTHER_PLAUDIT=$other cargo test --features otlp --test integration two_releases_side_by_side -- --ignored --nocapture
