#!/bin/bash
# shellcheck source=tests/runbooks/lib.sh
. "$(dirname "$0")/lib.sh"
start_replicating_servers
start_cluster db1/looseleaf_0 db2/looseleaf_1
replicate

runbook "Failover"
follow
[ "$(cat said)" = 0 ] || fail "the replica has not got everything"
looseleaf put --quiet --timeout 1 first.jsonl > /dev/null 2>&1 && fail "a server that was demoted was written"
follow
follow
says "consistent"
all_is_there first.jsonl
