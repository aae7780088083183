#!/bin/bash
# shellcheck source=tests/runbooks/lib.sh
. "$(dirname "$0")/lib.sh"
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
start_cluster db1/looseleaf_0 db2/looseleaf_1
mariadb -h db3 -e "SET GLOBAL read_only = 1; CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = $(cat port),
  MASTER_USER = 'root', MASTER_USE_GTID = slave_pos; START SLAVE"

runbook "Failover"
follow
[ "$(cat said)" = 0 ] || fail "the replica has not got everything"
looseleaf put --quiet --timeout 1 first.jsonl > /dev/null 2>&1 && fail "a server that was demoted was written"
follow
follow
says "consistent"
all_is_there first.jsonl
