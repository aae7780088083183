#!/bin/bash
# The billing service: gets changes on standard input, charges the fare of each new trip, and stores the trip's STATUS.
# It may get a trip again. So it charges with the trip as the key of the charge, as one does with a payment provider,
# and stores the STATUS with --if-absent.
# $charges is a folder, and $kill_here a file of the example.
set -euo pipefail
charges=${charges:?} kill_here=${kill_here:?}
member() { sed -nE 's/.*"'"$1"'": ?("([^"]*)"|([0-9]+)).*/\2\3/p' <<< "$2"; }
charge() {  # TRIP CENTS: here, a file for each charge
  printf '%d\n' "$2" > "$charges/$1"
}
store() {  # CELL, which may be there already
  local said
  said=$(looseleaf put --output json --if-absent --key trip,column,ref <<< "$1") || grep -q '"status":"exists"' <<< "$said"
}
while IFS= read -r change; do
  trip=$(member trip "$change")
  [ -n "$trip" ] || continue  # a change of a cell that is no BASE cell comes without the cell
  charge "$trip" "$(member fare "$change")"
  if rm "$kill_here" 2> /dev/null; then kill -9 $PPID $$; fi  # only for the example
  store '{"trip": "'"$trip"'", "column": "STATUS", "ref": 1, "charged": true}'
done
