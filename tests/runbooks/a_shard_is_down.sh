#!/bin/bash
# shellcheck source=tests/runbooks/lib.sh
. "$(dirname "$0")/lib.sh"
start_cluster db1/looseleaf_0 db2/looseleaf_1
entities 41 60 > entries.jsonl
entities 61 80 > more.jsonl
kill_server db2

runbook "A shard is down"
follow 3
says " down"
follow 3
follow 3
says "failed"
[ -s again.jsonl ] || fail "nothing was rejected"
follow
says "buffered 20"
follow
says "stored 20 buffered writes"
says "consistent"
cat first.jsonl entries.jsonl more.jsonl > all.jsonl
all_is_there all.jsonl
