#!/bin/bash
# Runs a doctest program whose test cases mostly wait, in several processes at once, each with a part of the cases.
# usage: in_parts.sh PARTS PROGRAM [ARGUMENT…]
# Ends with status 1 if a part fails.
set -uo pipefail
parts=$1
shift
cases=$("$@" --count | grep -oE '[0-9]+$')
if [ "${cases:-0}" -eq 0 ]; then
  echo "in_parts: $1 has no test cases, or cannot be run" >&2
  exit 1
fi
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
each=$(((cases + parts - 1) / parts)) processes=() status=0
for ((first = 1; first <= cases; first += each)); do
  "$@" --first="$first" --last="$((first + each - 1))" > "$logs/$first" 2>&1 &
  processes+=("$!")
done
for process in "${processes[@]}"; do
  wait "$process" || status=1
done
cat "$logs"/*
exit $status
