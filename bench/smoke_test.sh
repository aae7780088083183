#!/bin/bash
# bench/run.sh runs to its end, every ratio is there, and so is every plot.
# usage: bench/smoke_test.sh BUILD
set -euo pipefail
build=$1
command -v gnuplot > /dev/null || { echo "skipped: gnuplot is not installed"; exit 77; }
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
"$(dirname "$0")/run.sh" --build "$build" --entities 2000 --runs 1 --out "$results/bench.json" --plots "$results/plots" \
  > "$results/table"

"$build/bench/bench_report" names | while IFS= read -r name; do
  grep -qE "^\| ${name//\`/.} \| [0-9.]+ \(" "$results/table" || { echo "no value for: $name"; cat "$results/table"; exit 1; }
done
for plot in put backfill verify single-put query process memory costs; do
  grep -q '</svg>' "$results/plots/$plot.svg" || { echo "no plot: $plot"; exit 1; }
done
echo "$(grep -c ' | [≥≤] ' "$results/table") goals were compared"
