#!/bin/bash
# shellcheck source=tests/runbooks/lib.sh
. "$(dirname "$0")/lib.sh"
start_cluster db1/looseleaf_0 db2/looseleaf_1

runbook "Change the number of shards"
follow
# A writer goes on all the time. It uses the new file once it is told that the store has moved.
# It is so slow that it has entities left until then.
cp looseleaf.json old.json
cp new.json moved.json
for n in $(seq 41 255); do
  entities "$n" "$n" bob > "one-$n.jsonl"
  until [ -e stop ]; do
    status=0
    looseleaf put --quiet --cluster "$(cat current 2> /dev/null || echo old.json)" "one-$n.jsonl" > /dev/null 2> put.err || status=$?
    case $status in
      0) cat "one-$n.jsonl" >> more.jsonl; sleep 0.2; break ;;
      2) if grep -q "the store has moved" put.err; then echo moved.json > current; else cp put.err failed; break 2; fi ;;
      *) cp put.err failed; break 2 ;;
    esac
  done
done &
writer=$!
until [ -s more.jsonl ]; do sleep 0.05; done
follow
says "the store has moved"
until [ -e current ] && [ "$(wc -l < more.jsonl)" -gt 3 ]; do [ ! -e failed ] || break; sleep 0.05; done
touch stop
wait "$writer"
[ ! -e failed ] || { cat failed; fail "a writer failed"; }
[ "$(cat current)" = moved.json ] || fail "the writer was never told that the store has moved"
follow
says "consistent"
cat first.jsonl more.jsonl > all.jsonl
follow
all_is_there all.jsonl
