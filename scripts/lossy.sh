#!/bin/sh
# Runs a command in a network of its own, whose loopback loses packets: `scripts/lossy.sh PERCENT COMMAND…`, as root.
# For schedules of faults; the servers that the command starts are in this network, too.
set -eu
command -v nft >/dev/null || { echo "nft is needed: apt-get install nftables" >&2; exit 1; }
percent=$1
shift
rules="table inet lossy { chain input { type filter hook input priority 0;
    meta l4proto tcp numgen random mod 100 < $percent drop; }; }"
exec unshare --net sh -c 'ip link set lo up && nft "$1" && shift && exec "$@"' sh "$rules" "$@"
