#!/bin/bash
# shellcheck source=tests/runbooks/lib.sh
. "$(dirname "$0")/lib.sh"
start_cluster db1/looseleaf_0 db2/looseleaf_1
cp first.jsonl entries.jsonl

runbook "Restore from a backup"
follow
# What shard 1 loses: new entities, another value of an old one, and a deletion.
entities 41 60 bob >> entries.jsonl
sed -i '1,9s/ann/bob/' entries.jsonl
looseleaf put --quiet entries.jsonl > /dev/null
looseleaf delete --quiet "$(grep -om 1 '[0-9a-f]\{32\}' first.jsonl)" > /dev/null
mariadb -h db2 -e 'DROP DATABASE looseleaf_1'
looseleaf status > said && fail "a shard without a database is said to be up"
follow
says " up "
follow
looseleaf verify --quiet --grace 0 > /dev/null && fail "the backup lost nothing"
follow
says "entities repaired"
says "consistent"
looseleaf query by_user user=bob --ids > before
[ "$(wc -l < before)" -lt 49 ] || fail "nothing was lost with the shard"
looseleaf put --quiet entries.jsonl > /dev/null
all_is_there entries.jsonl
