#!/bin/bash
# Measures the program beside its yardsticks, on private servers with durable settings: builds the release preset, runs
# the measuring programs one after the other, and prints a table of ratios. Only ratios within one run mean anything.
# usage: bench/run.sh [OPTION…]
#   --entities N    how many (1000000)
#   --runs N        how often each work is measured (5)
#   --pool SIZE     each server's buffer pool (512M)
#   --redo SIZE     each server's redo log (96M)
#   --only WORK     put, point, order, cells, scan, latency, feed, process, memory, shards or distance, or growth, which is
#                   not part of a whole run; may be repeated
#   --debian        measure put of this machine's whole Debian package list too
#   --out FILE      all results as JSON (build/bench.json)
#   --plots DIR     draw what was measured there, as SVG; needs gnuplot
#   --docs          put the tables into docs/performance.md
#   --build DIR     take the programs built there, and build nothing
set -euo pipefail
cd "$(dirname "$0")/.."

command="bench/run.sh${*:+ $*}"
works=() build='' out=build/bench.json plots='' docs=no debian=no settings=()
while [ $# -gt 0 ]; do
  case $1 in
    --entities | --runs | --pool | --redo) settings+=("$1" "${2:?$1 needs a value}"); shift ;;
    --only) works+=("${2:?--only needs a value}"); shift ;;
    --out) out=${2:?--out needs a value}; shift ;;
    --plots) plots=${2:?--plots needs a value}; shift ;;
    --build) build=${2:?--build needs a value}; shift ;;
    --debian) debian=yes ;;
    --docs) docs=yes ;;
    *) sed -n '2,/^set/s/^# \?//p' "$0" >&2; exit 2 ;;
  esac
  shift
done
[ ${#works[@]} -gt 0 ] || works=(put point order cells scan latency feed process memory shards distance)

if [ -z "$build" ]; then
  build=build/release
  cmake --preset release -DLOOSELEAF_TESTS=ON > /dev/null
  cmake --build "$build" --target looseleaf_cli bench/all >&2
fi
LOOSELEAF_BIN=$(realpath "$build/cli/looseleaf")
export LOOSELEAF_BIN
for work in "${works[@]}"; do
  [ -x "$build/bench/bench_$work" ] || { echo "bench/run.sh: no such work: $work" >&2; exit 2; }
done

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
if [ $debian = yes ]; then
  # A package that comes from two places is in the list twice.
  apt-cache dumpavail | examples/debian_packages.pl | awk -F'"' '!seen[$4]++' > "$temporary/debian"
fi
for work in "${works[@]}"; do
  more=()
  if [ $debian = yes ] && [ "$work" = put ]; then more=(--debian "$temporary/debian"); fi
  "$build/bench/bench_$work" "${settings[@]}" "${more[@]}" >> "$temporary/records"
done

commit=$(git rev-parse --short HEAD 2> /dev/null || echo unknown)
git diff --quiet HEAD 2> /dev/null || commit+=" with changes"
mkdir -p "$(dirname "$out")"
"$build/bench/bench_report" collect --commit "$commit" --command "$command" < "$temporary/records" > "$out"
status=0
"$build/bench/bench_report" table "$out" > "$temporary/table" || status=$?
cat "$temporary/table"
if [ -n "$plots" ]; then
  mkdir -p "$plots"
  "$build/bench/bench_report" plots "$out" "$plots" | gnuplot
fi
if [ $docs = yes ]; then
  awk -v table="$temporary/table" '
    /^<!-- results: end/ { inside = 0 }
    !inside
    /^<!-- results: begin/ { inside = 1; while ((getline line < table) > 0) print line }' docs/performance.md \
    > "$temporary/performance.md"
  cp "$temporary/performance.md" docs/performance.md
fi
exit $status
