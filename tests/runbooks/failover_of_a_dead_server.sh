#!/bin/bash
# shellcheck source=tests/runbooks/lib.sh
. "$(dirname "$0")/lib.sh"
start_replicating_servers
start_cluster db1/looseleaf_0 db2/looseleaf_1
replicate
# What the replica never gets: new entities, and other values of old ones.
wait_for_replica
mariadb -h db3 -e 'STOP SLAVE'
cp first.jsonl entries.jsonl
entities 41 60 bob >> entries.jsonl
sed -i '1,9s/ann/bob/' entries.jsonl
looseleaf put --quiet entries.jsonl > /dev/null
kill_server db2

runbook "Failover of a dead server"
follow
follow
says "entities repaired"
says "consistent"
looseleaf query by_user user=bob --ids > before
[ "$(wc -l < before)" -lt 49 ] || fail "nothing was lost with the server"
looseleaf put --quiet entries.jsonl > /dev/null
all_is_there entries.jsonl
