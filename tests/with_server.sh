#!/usr/bin/env bash
# with_server.sh COMMAND…: starts a server of its own with demo data on a free port of the loopback address,
# runs the command in the present directory with PLAUDIT_URL, PLAUDIT_TOKEN (a user's) and PLAUDIT_BIN (for
# servers of their own), and stops the server. PLAUDIT_BIN names its binary; without it, the debug build.
set -euo pipefail

here=$(dirname "$(realpath "$0")")
bin=$(realpath "${PLAUDIT_BIN:-$here/../target/debug/plaudit}")
start_seconds=240
stop_seconds=120

# Settings meant for another server, such as its database, do not belong to this one.
for name in "${!PLAUDIT_@}"; do
  unset "$name"
done

dir=$(mktemp -d)
chmod 755 "$dir" # a server run by root starts its PostgreSQL as another user, who must get in here

finish() {
  status=$?
  if [[ -n ${server:-} ]]; then
    kill -TERM "$server" 2>/dev/null || true
    if ! timeout "$stop_seconds" tail --pid="$server" -f /dev/null; then
      echo "the server did not stop within $stop_seconds s" >&2
      kill -KILL "$server"
      status=1
    fi
  fi
  if ((status != 0)); then
    echo "the server's last lines:" >&2
    tail -n 40 "$dir/stdout" "$dir/stderr" >&2 || true
  fi
  rm -rf "$dir"
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

touch "$dir/stdout" # read below, perhaps before the server has opened it
"$bin" serve --listen 127.0.0.1:0 --data-dir "$dir/data" >"$dir/stdout" 2>"$dir/stderr" &
server=$!

deadline=$((SECONDS + start_seconds))
while url=$(sed -n 's/^listening on //p' "$dir/stdout") && [[ -z $url ]]; do
  if ! kill -0 "$server" 2>/dev/null || ((SECONDS > deadline)); then
    echo "the server did not start" >&2
    exit 1
  fi
  sleep 0.1
done

"$bin" seed --data-dir "$dir/data"
token=$("$bin" token --data-dir "$dir/data" --user client.tester)
PLAUDIT_URL=$url PLAUDIT_TOKEN=$token PLAUDIT_BIN=$bin "$@"
