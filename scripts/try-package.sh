#!/usr/bin/env bash
# Installs, checks, starts, watches a failure, restores a backup, upgrades, removes and purges packages, as an operator does:
# under a systemd of its own, on this system below a layer that is thrown away. Needs root, systemd, Redis, PostgreSQL and
# Prometheus, and two packages, the older one first, as `make test-package` builds them.
set -euo pipefail

if [[ ${1:-} != inside ]]; then
  layer=$(mktemp -d)
  trap 'rmdir "$layer"' EXIT
  here=$(dirname "$(realpath "$0")")
  unshare --mount --pid --ipc --uts --cgroup --fork bash -euo pipefail -c '
    layer=$1
    mount -t tmpfs -o size=4g none "$layer"
    mkdir "$layer"/{upper,work,root}
    mount -t overlay overlay -o "lowerdir=/,upperdir=$layer/upper,workdir=$layer/work" "$layer/root"
    cd "$layer/root"
    mount -t proc none proc
    mount -t sysfs -o ro none sys
    mount --rbind /sys/fs/cgroup sys/fs/cgroup
    for directory in run tmp dev srv; do mount -t tmpfs -o mode=1777 none $directory; done
    mkdir dev/shm dev/pts
    mount -t tmpfs none dev/shm
    mount -t devpts -o newinstance none dev/pts
    ln -s pts/ptmx dev/ptmx
    for device in null zero full random urandom tty; do touch dev/$device; mount --bind /dev/$device dev/$device; done
    touch dev/console; mount --bind /dev/null dev/console
    cp "$2" srv/try-package.sh
    cp "$3" srv/first.deb
    cp "$4" srv/second.deb
    cp "$5" srv/alerts.yaml
    rm -f usr/sbin/policy-rc.d # in an image it keeps packages from starting services
    : >etc/machine-id
    cat >etc/systemd/system/try.service <<EOF
[Unit]
Requires=basic.target
After=basic.target
[Service]
Type=oneshot
ExecStart=/bin/bash /srv/try-package.sh inside
ExecStopPost=/bin/sh -c "systemctl exit \$\${EXIT_STATUS}"
StandardOutput=file:/srv/out
StandardError=inherit
EOF
    : >srv/out
    mkdir srv/outside
    pivot_root . srv/outside
    cd /
    umount --lazy srv/outside
    tail -f srv/out &
    exec env -i container=other PATH="$PATH" /lib/systemd/systemd --system --unit=try.service
  ' try "$layer" "$(realpath "$0")" "$(realpath "$1")" "$(realpath "$2")" "$here/../ops/alerts.yaml"
  exit
fi

cd /
export LC_ALL=C.UTF-8
step() { echo "== $*"; }
fail() { echo "failed: $*" >&2; exit 1; }
as_plaudit=(setpriv --reuid=plaudit --regid=plaudit --clear-groups env -C /var/lib/plaudit HOME=/var/lib/plaudit)
unit_env=(PLAUDIT_CONFIG=/etc/plaudit/plaudit.toml PLAUDIT_DATA_DIR=/var/lib/plaudit)
run() { "${as_plaudit[@]}" "${unit_env[@]}" plaudit "$@"; }
until_ok() { for _ in $(seq 600); do if "$@" >/dev/null 2>&1; then return; fi; sleep 0.1; done; fail "$*"; }
property() { systemctl show --property="$1" --value plaudit; }
port=18080
is_ready() { curl --fail --silent "http://127.0.0.1:$port/status"; }
trap '(($? == 0)) || journalctl --unit plaudit --lines 40 --no-pager --output cat' EXIT

step "install"
dpkg --install /srv/first.deb
getent passwd plaudit >/dev/null || fail "no user plaudit"
[[ $(stat -c '%U:%G %a' /etc/plaudit/plaudit.toml) == "root:plaudit 640" ]] || fail "rights of the settings"
[[ -f /lib/systemd/system/plaudit.service || -f /usr/lib/systemd/system/plaudit.service ]] || fail "no unit"
systemctl is-enabled plaudit 2>/dev/null | grep -qx enabled && fail "enabled without settings"
man --warnings -l /usr/share/man/man1/plaudit.1.gz >/dev/null || fail "the man page"
bash -n /usr/share/bash-completion/completions/plaudit || fail "the completions"
exposure=$(systemd-analyze security --no-pager plaudit | sed -n 's/.*Overall exposure level for plaudit.service: \([0-9.]*\) .*/\1/p')
awk "BEGIN { exit !($exposure < 2.0) }" || fail "systemd-analyze security: $exposure"
echo "exposure level: $exposure"
mkdir -p /var/lib/plaudit && chown plaudit: /var/lib/plaudit && chmod 700 /var/lib/plaudit # as StateDirectory= does

step "check: the secret is missing"
if run check --offline; then fail "a check without keys of tokens"; fi
sed -i "s|^#jwt_secret = \"\"|jwt_secret = \"$(openssl rand -hex 32)\"|; s|127.0.0.1:8080|127.0.0.1:$port|; s|:6379|:16379|" \
  /etc/plaudit/plaudit.toml
step "check --offline passes while the stores are away, and check does not"
run check --offline
if run check; then fail "a check without stores"; fi

step "stores, as an operator has them"
mkdir /tmp/redis /tmp/pg && chown postgres /tmp/pg && mkdir -p /var/run/postgresql && chown postgres /var/run/postgresql
start_redis() {
  redis-server --port 16379 --dir /tmp/redis --appendonly yes --set-max-intset-entries 8192 --daemonize yes >/dev/null
}
start_redis
bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)
pg() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
pg "$bin/initdb" -D /tmp/pg --auth-local=peer --no-sync >/dev/null
pg "$bin/pg_ctl" -D /tmp/pg -w -o "-c listen_addresses= -c unix_socket_directories=/var/run/postgresql" -l /tmp/pg/log start >/dev/null
pg createuser plaudit
pg createdb -O plaudit plaudit
run check

step "start, and use"
systemctl start plaudit # it returns once Plaudit says that it is ready
is_ready >/dev/null || fail "not ready after the start"
token=$(run token --user ann --name Ann)
bob=$(run token --user bob --name Bob)
graphql() {
  curl --fail --silent "http://127.0.0.1:$port/graphql" -H "authorization: Bearer $token" -H 'content-type: application/json' \
    --data "{\"query\":\"$1\"}"
}
id() { sed 's/.*"id":"\([^"]*\)".*/\1/'; }
new_note() { graphql 'mutation { createNote(input: { title: \"A\", body: \"B\" }) { note { id } } }' | id; }
note=$(new_note)
graphql "mutation { likeNote(input: { noteId: \\\"$note\\\" }) { note { likeCount } } }" | grep -q '"likeCount":1' || fail "a like"
bob_id=$(token=$bob graphql 'mutation { createNote(input: { title: \"A\", body: \"B\" }) { note { author { id } } } }' | id)
run check

step "an alert fires while Redis is away, and ends"
# The same rules, with shorter times.
sed 's/for: 1m/for: 2s/' /srv/alerts.yaml >/tmp/rules.yaml
cat >/tmp/prometheus.yml <<EOF
global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: [/tmp/rules.yaml]
scrape_configs: [{ job_name: plaudit, static_configs: [{ targets: ["127.0.0.1:$port"] }] }]
EOF
prometheus --config.file=/tmp/prometheus.yml --storage.tsdb.path=/tmp/prometheus --web.listen-address=127.0.0.1:19090 \
  >/tmp/prometheus.log 2>&1 &
prometheus=$!
alerts() { curl --fail --silent http://127.0.0.1:19090/api/v1/alerts; }
is_away() { alerts | grep -q '"alertname":"PlauditStoreAway".*"state":"firing"'; }
is_back() { alerts | grep -q '"alerts":\[' && ! alerts | grep -q PlauditStoreAway; }
until_ok is_back
redis-cli -p 16379 shutdown
until_ok is_away
if run check; then fail "a check while Redis is away"; fi
start_redis
until_ok is_back
until_ok is_ready
kill "$prometheus"

step "a start while Redis is away is repeated until it is back"
redis-cli -p 16379 shutdown
systemctl restart --no-block plaudit
is_repeated() { (($(property NRestarts) > 0)); }
until_ok is_repeated
start_redis
until_ok is_ready

step "a process that is silent for 30 s is killed and started again"
silent=$(property MainPID)
kill -STOP "$silent"
is_another() { [[ $(property MainPID) != "$silent" ]] && is_ready; }
until_ok is_another

step "a backup, and what happens after it"
pg pg_dump --format=custom plaudit >/tmp/plaudit.dump
late=$(new_note)
run erase "$bob_id" --yes
run export --erased >/tmp/erased.txt
[[ $(cat /tmp/erased.txt) == "$bob_id" ]] || fail "the list of erased users"

step "restore it"
systemctl stop plaudit
pg dropdb plaudit
pg createdb -O plaudit plaudit
"${as_plaudit[@]}" pg_restore --no-owner --exit-on-error --dbname='postgres:///plaudit?host=/var/run/postgresql' \
  </tmp/plaudit.dump
run erase --file /tmp/erased.txt --yes --no-wait |
  grep -qx "1 being erased, 0 erased before, 0 not in this database" || fail "the erasures"
systemctl start plaudit
# The leases in the dump must end first.
is_counted() { graphql "{ note(id: \\\"$note\\\") { likeCount } }" | grep -q '"likeCount":1'; }
until_ok is_counted
graphql "{ node(id: \\\"$late\\\") { id } }" | grep -q '"node":null' || fail "a note from after the backup"
graphql "{ user(id: \\\"$bob_id\\\") { id } }" | grep -q '"user":null' || fail "an erased user came back"
next=$(new_note)
[[ ${next#note_} -gt ${late#note_} ]] || fail "$next was given after $late"
run check | grep -q "^ok *timeline" || fail "a check does not tell the restore"
run reconcile

step "upgrade: it starts again, and settings stay, and what was counted"
before=$(md5sum /etc/plaudit/plaudit.toml)
older=$(property MainPID)
dpkg --install /srv/second.deb
[[ $(property MainPID) != "$older" ]] || fail "the upgrade did not start it again"
is_ready >/dev/null || fail "not ready after the upgrade"
[[ $(md5sum /etc/plaudit/plaudit.toml) == "$before" ]] || fail "the upgrade changed the settings"
graphql "{ note(id: \\\"$note\\\") { likeCount } }" | grep -q '"likeCount":1' || fail "the count after the upgrade"

step "remove ends it and keeps settings, purge does not"
dpkg --remove plaudit
is_ready && fail "it runs after its removal"
[[ ! -e /usr/bin/plaudit && -e /etc/plaudit/plaudit.toml ]] || fail "remove"
dpkg --purge plaudit
[[ ! -e /etc/plaudit && ! -e /var/lib/plaudit ]] || fail "purge"
pg "$bin/pg_ctl" -D /tmp/pg -m immediate stop >/dev/null
redis-cli -p 16379 shutdown nosave
step "all well"
