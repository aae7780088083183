#!/bin/bash
# shellcheck source=tests/runbooks/lib.sh
. "$(dirname "$0")/lib.sh"
start_cluster db1/looseleaf_0 db2/looseleaf_1

runbook "Make a staging copy"
follow
says "a store of its own"
entities 41 45 > more.jsonl
looseleaf put --quiet --cluster staging.json more.jsonl > /dev/null
entities 46 50 > other.jsonl
looseleaf put --quiet other.jsonl > /dev/null
follow
cat first.jsonl other.jsonl > all.jsonl
all_is_there all.jsonl
looseleaf verify --quiet --against staging.json
