#!/bin/bash
# shellcheck source=tests/runbooks/lib.sh
. "$(dirname "$0")/lib.sh"
mysql=${LOOSELEAF_MYSQL:-$scripts/../../build/mysql}
start_cluster db1/looseleaf_0 db2/looseleaf_1
if grep -q '^flavour mariadb' "$box/looseleaf-sandbox"; then
  [ -x "$mysql/bin/mysqld" ] || skip "MySQL is not in $mysql (tests/support/fetch-mysql.sh)"
  vendor=MySQL server=$mysql
else
  vendor=MariaDB server=  # the installed one
fi
other=$work/other
trap '"$program" sandbox delete --quiet --dir "$other" || true; clean_up' EXIT
LOOSELEAF_TEST_SERVER=$server "$program" sandbox start --quiet --shards 1 --dir "$other" > /dev/null
grep -q "^flavour ${vendor,,}" "$other/looseleaf-sandbox" || skip "$vendor is not installed"
sockets[db3]=$other/s0.sock
mariadb -h db3 -e "CREATE USER app@localhost IDENTIFIED BY '';
  GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, LOCK TABLES ON *.* TO app@localhost"

runbook "Move to another vendor"
follow
says "the store has moved"
says "$vendor"
all_is_there first.jsonl
