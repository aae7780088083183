#!/bin/bash
# Full-text search: a trigger keeps an index of SQLite up to date, while a process, its command and a server are killed.
# At the end the index is compared with the store. Needs Debian's package sqlite3.
# usage: examples/search/run.sh [DIR]     see examples/start.sh
# shellcheck source=examples/start.sh disable=SC2016
. "$(dirname "$0")/../start.sh" "$@"
index=$sandbox.db
log=$sandbox.log
export kill_here=$sandbox.kill  # if this file exists, the next command is killed before it commits
export BEFORE_COMMIT='if rm "$kill_here" 2> /dev/null; then kill -9 $PPID; fi'

# The trigger.
start_process() {
  looseleaf trigger run search --batch 100 -- sqlite3 "$index" '.read apply.sql' 2>> "$log" &
  processes+=($!)
}
wait_until_all_is_delivered() {
  local try
  for ((try = 0; try < 600; try++)); do
    if looseleaf trigger list --output json 2> /dev/null | grep -q '"lag_changes":0,"shards":\[{"shard":0.*{"shard":1.*{"shard":2'; then return 0; fi
    sleep 0.1
  done
  cat "$log"
  return 1
}
search() { sqlite3 "$index" "SELECT title FROM search WHERE search MATCH '$1' ORDER BY rank"; }

# Entries 0 to 1999. In each round of writing, 50 are new, 20 older ones change, of which 5 were deleted, and 10 are
# deleted.
words=(guitar capo slide bottle string tuning chord strum amplifier drummer)
id_of() { printf '%08x000070008000%012x\n' $(($1 * 2654435761 % 4294967296)) "$1"; }
entries() {  # FROM TO REVISION
  local n
  for ((n = $1; n <= $2; n++)); do
    printf '{"id": "%s", "title": "Entry %d", "text": "%s, %s; revision %d"}\n' \
      "$(id_of "$n")" "$n" "${words[n % 10]}" "${words[n / 10 % 10]}" "$3"
  done
}
write() {
  local first n
  entries 0 99 1 | looseleaf put --quiet
  for ((first = 100; first < 2000; first += 50)); do
    { entries $first $((first + 49)) 1; entries $((first - 95)) $((first - 76)) 2; } | looseleaf put --quiet
    for ((n = first - 30; n < first - 20; n++)); do id_of $n; done | looseleaf delete --quiet -
    sleep 0.1
  done
}

kill_process() {  # PID; hides what the shell prints of it
  { kill -9 "$1"; wait "$1"; while [ -e "/proc/$1/exe" ]; do sleep 0.05; done; } 2> /dev/null || true
}
kill_server() { kill_process "$(cat "$sandbox/s$1.pid")"; }

# What is to be equal: id, title and text of all entries.
in_store() { looseleaf export 2> /dev/null | sed -E 's/\{"id": "(.*)", "title": "(.*)", "text": "(.*)"\}/\1|\2|\3/' | sort; }
in_index() { sqlite3 "$index" "SELECT id, title, text FROM search JOIN seen ON number = search.rowid ORDER BY id"; }

# An index of the cheap things alone.
update_cheap() {  # POSITION
  looseleaf changes --quiet --after "$1" --where 'text^=A cheap' > "$sandbox.cheap"
  sqlite3 "$index.cheap" '.read apply.sql' < "$sandbox.cheap"
}
cheap() { sqlite3 "$index.cheap" "SELECT title FROM search"; }

step "An empty index, and three processes that bring every change into it"
run 'sqlite3 "$index" < schema.sql'
run 'for n in 1 2 3; do start_process; done'

step "What is put can be found"
run 'looseleaf put --quiet entries.jsonl'
run 'wait_until_all_is_delivered'
run 'search guitar'
run 'search "bottle OR cap*"'

step "What changes is found as it is now, and what is deleted is not found"
run 'looseleaf changes --quiet > "$sandbox.old"'
run 'grep compared entries.jsonl | sed "s/bronze/a bronze guitar/" | looseleaf put --quiet'
run 'grep Slide entries.jsonl | member id | looseleaf delete --quiet -'
run 'wait_until_all_is_delivered'
run 'search guitar'

step "Many entries are put, changed and deleted, and meanwhile a process, a command and a server are killed"
run 'write 2>> "$log" & writer=$!'
run 'sleep 1; touch "$kill_here"; until grep "command was ended" "$log"; do sleep 0.1; done'
run 'kill_process "${processes[0]}"'
run 'kill_server 0; looseleaf sandbox start --quiet --shards 3 --dir "$sandbox" > /dev/null'
run 'wait "$writer"'
run 'wait_until_all_is_delivered'

step "The index has what the store has, even if old changes come late"
run 'sqlite3 "$index" ".read apply.sql" < "$sandbox.old"'
run 'diff <(in_store) <(in_index)'
run 'in_index | wc -l'
run 'search "amplifier AND drummer AND revision" | wc -l'

step "With --where, an entry that no longer matches leaves the index"
run 'sqlite3 "$index.cheap" < schema.sql'
run 'update_cheap beginning; cheap'
run 'sed -n "s/A cheap/An expensive/p" entries.jsonl | looseleaf put --quiet'
run 'update_cheap "$(tail -1 "$sandbox.cheap" | member position)"; cheap | wc -l'
