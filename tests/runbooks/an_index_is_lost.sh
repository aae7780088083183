#!/bin/bash
# shellcheck source=tests/runbooks/lib.sh
. "$(dirname "$0")/lib.sh"
start_cluster db1/looseleaf_0 db2/looseleaf_1
mariadb -h db1 -e 'DROP TABLE looseleaf_0.by_user'

runbook "An index is lost"
follow 1
says "table_differs"
follow
says "consistent"
all_is_there first.jsonl
