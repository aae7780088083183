#!/bin/bash
# shellcheck source=tests/runbooks/lib.sh
. "$(dirname "$0")/lib.sh"
start_cluster db1/looseleaf_0 db2/looseleaf_1
echo '{"shards": ["db2:3306/looseleaf_1", "db1:3306/looseleaf_0"], "user": "app"}' > looseleaf.json

runbook "Wrong cluster file"
follow 2
says "refused"
looseleaf init > /dev/null 2>&1 && fail "init accepted a wrong cluster file"
follow
says "$(tr a-f A-F < id)"
follow
says "consistent"
all_is_there first.jsonl
