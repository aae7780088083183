#!/bin/bash
# shellcheck source=tests/runbooks/lib.sh
. "$(dirname "$0")/lib.sh"
start_cluster db1/looseleaf_0 db2/looseleaf_1
cp first.jsonl entries.jsonl
entities 41 60 bob >> entries.jsonl
deliver_until() {  # LINES: runs the trigger until its command has got so many changes
  local trigger
  "$program" trigger run search --quiet --cluster "$(private looseleaf.json)" -- sh -c "cat >> '$work/taken'" &
  trigger=$!
  for ((i = 0; i < 600 && $(wc -l < taken) < $1; i++)); do sleep 0.05; done
  kill -INT $trigger
  wait $trigger || [ $? = 130 ]
  [ "$(wc -l < taken)" = "$1" ] || fail "the trigger delivered $(wc -l < taken) changes, not $1"
}
: > taken
deliver_until 40
sed '1s/ann/bob/' entries.jsonl > newest  # the first entity was changed after the files had been written
head -1 newest | looseleaf put --quiet > /dev/null
for copy in 01900000000070008000000000000007 01900000000070008000000000000008; do
  mariadb -h db2 looseleaf_1 -e "INSERT INTO looseleaf_progress SET job = 'copied_to', table_name = '$copy', generation = 1, token = 0, holder = '', since = NOW(6), heartbeat = NOW(6)"
done

runbook "After a restore"
follow 1
says "text: different"
follow
says "search"
deliver_until 100  # it began again with all entities
follow
[ "$(mariadb -h db2 looseleaf_1 -NBe "SELECT table_name FROM looseleaf_progress WHERE job = 'copied_to'")" = \
  01900000000070008000000000000008 ] || fail "it must forget the one copy, and no other"
all_is_there newest
