# For the scripts in this folder to source: private servers db1, db2 and db3, a cluster of two shards with an index and 40
# entities, and the commands of a section of docs/runbooks.md, which run as they stand there.
# LOOSELEAF_BIN names the program. Status 77: skipped.
# shellcheck shell=bash
set -euo pipefail
program=$(realpath "${LOOSELEAF_BIN:?names the program}")
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
runbooks=$(realpath "$scripts/../../docs/runbooks.md")
work=$(mktemp -d "${TMPDIR:-/tmp}/ll-XXXXXX")
disk=$work/disk  # a folder that a script may mount something on
box=$disk/box
relay=
trap clean_up EXIT
clean_up() {
  if [ "$relay" ]; then kill "$relay" || true; fi
  "$program" sandbox delete --quiet --dir "$box" || true
  if mountpoint -q "$disk"; then umount -l "$disk"; fi
  cd / && rm -rf "$work"
}
cd "$work"
mkdir "$disk"

fail() {
  echo "runbooks: $*" >&2
  exit 1
}
skip() {
  echo "skipped: $*"
  exit 77
}

# What the runbooks call, led to the private servers.
declare -A sockets=([db1]=$box/s0.sock [db2]=$box/s1.sock [db3]=$box/s2.sock)  # by host
at_server() {  # PROGRAM -h HOST ...
  [ "$2" = -h ] || fail "$1 without a host"
  command "$1" --no-defaults -u root -S "${sockets[$3]}" "${@:4}"
}
mariadb() { at_server mariadb "$@"; }
mariadb-dump() { at_server mariadb-dump "$@"; }
ssh() {
  [ "${*:2}" = "systemctl start mariadb" ] || fail "ssh is not known to run ${*:2}"
  [ "${sockets[$1]}" ]
  start_servers
}
private() {  # FILE: prints the name of a cluster file that names the private servers
  local host file=private-$BASHPID-$1 script="s#\"user\"#\"defaults_file\": \"$work/empty.cnf\", &#;"
  for host in db1 db2 db3; do
    script+="s#\"$host:3306/(\\w+)\"#{\"socket\": \"${sockets[$host]}\", \"database\": \"\\1\"}#g;"
  done
  sed -E "$script" "$1" > "$file"
  echo "$file"
}
looseleaf() {
  local argument arguments=()
  for argument; do
    if [[ $argument == *.json && -e $argument && $(< "$argument") == *'"shards"'* ]]; then argument=$(private "$argument"); fi
    arguments+=("$argument")
  done
  [[ " $* " == *" --cluster "* ]] || arguments+=(--cluster "$(private looseleaf.json)")
  "$program" "${arguments[@]}"
}

start_servers() { "$program" sandbox start --quiet --shards 3 --dir "$box" > /dev/null; }
# db3 is a replica of db2: start_replicating_servers, then start_cluster, then replicate.
start_replicating_servers() {
  start_servers
  grep -q '^flavour mariadb' "$box/looseleaf-sandbox" || skip "the runbook has the statements of MariaDB"
  "$program" sandbox stop --quiet --dir "$box"
  printf 'arg %s\n' --log-bin=binlog --binlog-format=ROW --log-slave-updates=1 >> "$box/looseleaf-sandbox"
  "$scripts/port.py" "$box/s1.sock" port &
  relay=$!
  while [ ! -s port ]; do
    kill -0 $relay
    sleep 0.05
  done
}
replicate() {
  mariadb -h db3 -e "SET GLOBAL read_only = 1; CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = $(cat port),
    MASTER_USER = 'root', MASTER_USE_GTID = slave_pos; START SLAVE"
}
wait_for_replica() {
  [ "$(mariadb -h db3 -NBe "SELECT MASTER_GTID_WAIT('$(mariadb -h db2 -NBe 'SELECT @@gtid_binlog_pos')', 30)")" = 0 ]
}
kill_server() {  # HOST: as if the machine had lost power
  local pid
  pid=$(cat "$box/s$((${1#db} - 1)).pid")
  kill -9 "$pid"
  while [ -e "/proc/$pid/exe" ]; do sleep 0.05; done
}
entities() {  # FROM TO [USER]
  local n
  for ((n = $1; n <= $2; n++)); do
    printf '{"id": "%08x0000700080000000000000%02x", "user": "%s", "n": %d}\n' $((n * 100000007 % 4294967296)) "$n" "${3:-ann}" "$n"
  done
}
start_cluster() {  # DATABASE-OF-SHARD-0 DATABASE-OF-SHARD-1, each HOST/NAME
  local host
  : > empty.cnf
  start_servers
  for host in db1 db2 db3; do
    mariadb -h $host -e "SET sql_log_bin = 0; CREATE USER app@localhost;
      GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, LOCK TABLES ON *.* TO app@localhost"
  done
  printf '{"shards": ["%s", "%s"], "user": "app"}\n' "${1/\//:3306/}" "${2/\//:3306/}" > looseleaf.json
  echo '{"table": "by_user", "shard_on": "user", "properties": [{"name": "user", "type": "string", "max_length": 20}]}' \
    > by_user.json
  looseleaf init --quiet > id
  looseleaf create-index --quiet by_user.json
  { entities 1 20; entities 21 40 bob; } > first.jsonl
  looseleaf put --quiet first.jsonl > /dev/null
}

# The blocks of commands of a section, each run when its time has come.
section=
runbook() {  # HEADING
  section=$1
  mkdir steps
  awk -v heading="## $1" '/^#/ {on = $0 == heading; next}
    on && /^    / {if (!code) ++n; code = 1; print substr($0, 5) > ("steps/" n); next}
    {code = 0}' "$runbooks"
  next=1
  [ -e steps/1 ] || fail "$runbooks has no commands under: $1"
}
follow() {  # [STATUS]: runs the next block, which must end with that status (0)
  local status=0
  [ -e "steps/$next" ] || fail "$section: there is no block $next"
  sed 's/^/$ /' "steps/$next"
  set +e
  (set -e; . "steps/$next") > said 2>&1
  status=$?
  set -e
  cat said
  [ "$status" = "${1:-0}" ] || fail "$section: block $next ended with status $status, not ${1:-0}"
  next=$((next + 1))
}
says() { grep -qF -e "$1" said || fail "$section: block $((next - 1)) does not say: $1"; }
all_is_there() {  # FILE: every entity of it is stored, is found, and is all that is found; nothing of the runbook is left
  [ ! -e "steps/$next" ] || fail "$section: block $next was not run"
  grep -o '"id": "[0-9a-f]*"' "$1" | cut -d'"' -f4 | looseleaf get - > got
  diff "$1" got
  diff <(sort "$1") <({ looseleaf query by_user user=ann; looseleaf query by_user user=bob; } | sort)
  looseleaf verify --quiet --grace 0
}
