#!/bin/bash
# shellcheck source=tests/runbooks/lib.sh
. "$(dirname "$0")/lib.sh"
start_cluster db1/looseleaf_0 db2/looseleaf_1
cp looseleaf.json old.json
echo '{"shards": ["db3:3306/new_0"], "user": "app"}' > new.json
looseleaf init --quiet --cluster new.json > /dev/null
looseleaf copy --quiet --to new.json --finish
mv new.json looseleaf.json
entities 41 45 > more.jsonl
looseleaf put --quiet more.jsonl > /dev/null

runbook "Go back after a move"
follow
says "the store has moved"
cat first.jsonl more.jsonl > all.jsonl
all_is_there all.jsonl
