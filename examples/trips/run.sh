#!/bin/bash
# Trips, as in Uber's article "Designing Schemaless": cells that never change, found by (row key, column, ref key); an
# index; and a trigger that bills each trip, although it is killed.
# usage: examples/trips/run.sh [DIR]     see examples/start.sh
# shellcheck source=examples/start.sh disable=SC2016
. "$(dirname "$0")/../start.sh" "$@"
export charges=$sandbox.charges    # the payment provider
export kill_here=$sandbox.kill     # if this file exists, billing is killed between the charge and the STATUS
log=$sandbox.log
mkdir -p "$charges"

put_cell() { looseleaf put --if-absent --key trip,column,ref; }
bill() { looseleaf trigger run billing --where column=BASE -- ./bill.sh 2>> "$log" & }
wait_until_billed() {  # TRIPS
  local try
  for ((try = 0; try < 600; try++)); do
    if [ "$(looseleaf query cells --where column=STATUS --count 2>> "$log")" = "$1" ]; then return 0; fi
    sleep 0.1
  done
  cat "$log"
  return 1
}
wait_until_killed() { wait $! 2> /dev/null || [ ! -e "$kill_here" ]; }
trip=6f1c2a900001400080000000000000a1
client=c11e0000000040008000000000000001

step "Two indexes: the cells of a trip, and the trips of a client"
run 'looseleaf create-index --quiet definitions/*.json'

step "A cell is an entity, and its id is made of its trip, column and ref"
run 'looseleaf put --quiet --if-absent --key trip,column,ref cells.jsonl'
run 'looseleaf get --key trip=$trip,column=NOTES,ref=1'

step "A cell never changes"
run 'sed -n "s/umbrella/hat/; 4p" cells.jsonl | put_cell || echo "status $?"'

step "The latest version of a column, all cells of a trip, and the trips of a client"
run 'looseleaf query cells trip=$trip column=NOTES --desc --limit 1 --quiet | member text'
run 'looseleaf query cells trip=$trip --fields column,ref --output csv'
run 'looseleaf query client_trip_index client=$client --desc | member trip'

step "Billing is a trigger on BASE cells; it is killed between a charge and the STATUS cell"
run 'touch "$kill_here"; bill; wait_until_killed'
run 'bill; wait_until_billed 3'
run 'looseleaf query cells trip=$trip column=STATUS --fields charged'
run 'cat "$charges"/*'

step "A new trip is billed at once"
run 'sed -n "1s/a1\"/a4\"/p" cells.jsonl | put_cell'
run 'wait_until_billed 4'
run 'looseleaf verify --grace 1 2>&1 | tail -1'
