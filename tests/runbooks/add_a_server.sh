#!/bin/bash
# shellcheck source=tests/runbooks/lib.sh
. "$(dirname "$0")/lib.sh"
start_cluster db1/looseleaf_0 db1/looseleaf_1
cp looseleaf.json old.json

runbook "Add a server"
follow
looseleaf put --quiet --timeout 4 first.jsonl > /dev/null 2> said && fail "a server that is read-only was written"
says "the server is read-only"
follow
follow
follow
says "consistent"
entities 41 45 > more.jsonl
cp looseleaf.json new.json
cp old.json looseleaf.json
looseleaf put --quiet --timeout 1 more.jsonl > /dev/null 2>&1 && fail "an old cluster file was written with"
cp new.json looseleaf.json
looseleaf put --quiet more.jsonl > /dev/null
cat first.jsonl more.jsonl > all.jsonl
all_is_there all.jsonl
