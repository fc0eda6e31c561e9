#!/bin/sh
# Runs schedules of faults in a network of its own, whose loopback loses packets while users act:
# `scripts/lossy.sh PERCENT COMMAND…`, as root. The command finds the percentage in LOSSY_PERCENT, and begins and ends the
# loss itself (tests/faults/packet_loss.rs), so that what it starts and compares does not suffer from it.
set -eu
command -v nft >/dev/null || { echo "nft is needed: apt-get install nftables" >&2; exit 1; }
export LOSSY_PERCENT="$1"
shift
exec unshare --net sh -c 'ip link set lo up && exec "$@"' sh "$@"
