#!/usr/bin/env bash
# Runs another revision beside the present source, on the same stores and under likes, in both orders: the one that REV
# names, else the last tag, else the newest one with another program and equal migrations. Builds it in a worktree of its
# own, target/upgrade/source. With --which it only prints the commit.
# Until 0.1.0 migrations are edited in place, so a revision with others is refused at its start ("its tables are of another
# version of Plaudit").
set -euo pipefail
cd "$(dirname "$0")/.."

# What the program is made of.
program=(src lua crates Cargo.toml Cargo.lock)

newest_with_equal_migrations() {
  local revision
  for revision in $(git rev-list HEAD -- "${program[@]}"); do
    if git diff --quiet "$revision" -- migrations && ! git diff --quiet "$revision" -- "${program[@]}"; then
      echo "$revision"
      return
    fi
  done
}

rev=${REV:-$(git describe --tags --abbrev=0 2>/dev/null || newest_with_equal_migrations)}
if [[ -z $rev ]]; then
  echo "no revision has these migrations and another program: name one, as in REV=main~20 make test-upgrade" >&2
  exit 1
fi
commit=$(git rev-parse --verify --quiet "$rev^{commit}") || { echo "there is no revision $rev" >&2; exit 1; }
if [[ ${1:-} == --which ]]; then
  echo "$commit"
  exit
fi

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
OTHER_PLAUDIT=$other cargo test --features otlp,fail/failpoints --test integration two_releases_side_by_side -- --ignored --nocapture
