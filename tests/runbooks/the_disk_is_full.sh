#!/bin/bash
# shellcheck source=tests/runbooks/lib.sh
. "$(dirname "$0")/lib.sh"
mount -t tmpfs -o size=600m tmpfs "$disk" 2> /dev/null || skip "mounting a file system is not permitted here"
start_cluster db1/looseleaf_0 db2/looseleaf_1
free=$(df --output=avail -B 1 "$disk" | tail -n 1)
# A server may take more meanwhile: then the file has found no room, and gives some back. With less room than 4 MiB, the
# first batch of the put does not fit, and MariaDB 10.11 was seen to end and to fail an assertion in its recovery.
head -c $((free - (4 << 20))) /dev/zero > "$disk/ballast" 2> /dev/null || truncate -s -4M "$disk/ballast"
for n in {41..100}; do
  fill=$(head -c 60000 /dev/urandom | base64 -w 0)
  entities "$n" "$n" | sed "s|}|, \"fill\": \"$fill\"}|"
done > entries.jsonl

runbook "The disk is full"
follow 3
[ -s again.jsonl ] || fail "nothing was rejected"
rm "$disk/ballast"
# MySQL 9.7 was seen to end at a full disk and to fail an assertion of its own in its recovery.
if ! start_servers; then
  grep -q '^flavour mysql' "$box/looseleaf-sandbox" || fail "a server does not start any more since its disk was full"
  skip "this server does not start any more since its disk was full: the end of its log is above"
fi
follow
says "consistent"
cat first.jsonl entries.jsonl > all.jsonl
all_is_there all.jsonl
