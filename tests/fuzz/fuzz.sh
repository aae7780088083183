#!/bin/bash
# Builds the fuzz targets, or runs one: its seeds first, then for a minute (an hour if LOOSELEAF_FULL is 1, which also
# renews docs/proof/fuzz.md). Exit status 77: skipped, because clang++ or its fuzzer runtime is missing.
# usage: fuzz.sh build | fuzz.sh run TARGET
set -euo pipefail
cd "$(dirname "$0")/../.."
build=build/fuzz
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm  # temporary files are what some targets spend their time on

have_fuzzer() {
  command -v clang++ > /dev/null || { echo "skipped: clang++ is not installed"; return 1; }
  local source='#include <cstddef>
extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, std::size_t) { return 0; }'
  clang++ -fsanitize=fuzzer,address -x c++ - -o /dev/null <<< "$source" 2> /dev/null ||
    { echo "skipped: clang++ has no fuzzer runtime (on Debian: libclang-rt-dev)"; return 1; }
}

build_targets() {
  mkdir -p "$build"
  exec 9> "$build/lock"
  flock 9
  cmake --preset fuzz > "$build/configure.log" || { cat "$build/configure.log"; return 1; }
  cmake --build --preset fuzz
}

# One line of libFuzzer's final statistics, or of its last report.
statistic() { sed -nE "s/^stat::$2: +//p" "$1"; }
coverage() { sed -nE 's/^#[0-9]+\s+DONE\s+cov: ([0-9]+) ft: ([0-9]+) .*/\1 edges, \2 features/p' "$1"; }

# Writes the log of a full run from the results of all targets so far.
write_log() {
  local log=docs/proof/fuzz.md
  {
    echo "# fuzz"
    echo
    echo "| target | date | commit | seconds | executions | coverage | result |"
    echo "|---|---|---|---|---|---|---|"
    sort "$build"/results/*
  } > "$log"
}

run_target() {
  local name=$1 target=$build/tests/fuzz/fuzz_$1 seeds=tests/fuzz/seeds/$1 seconds=60
  [ "${LOOSELEAF_FULL:-}" != 1 ] || seconds=3600
  local crashes=$build/crashes/$name
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  mkdir -p "$scratch/corpus" "$crashes" "$build/results"
  local options=(-dict=tests/fuzz/looseleaf.dict -max_len=4096 -timeout=60 -rss_limit_mb=2048
                 "-artifact_prefix=$crashes/" -print_final_stats=1)
  local result=clean status=0
  "$target" "${options[@]}" "$seeds"/* > "$scratch/log" 2>&1 || status=$?
  if [ $status = 0 ]; then
    "$target" "${options[@]}" -max_total_time=$seconds "$scratch/corpus" "$seeds" > "$scratch/log" 2>&1 || status=$?
  fi
  if [ $status != 0 ]; then
    tail -n 60 "$scratch/log"
    result="failed: $(sed -nE 's/^(fuzz: .*|SUMMARY: .*)/\1/p' "$scratch/log" | head -n 1)"
    echo "to repeat: $target FILE, with FILE that of 'Test unit written to' or the last seed 'Running:' above"
    echo "once it is mended, add FILE to $seeds"
  fi
  local executions covered
  executions=$(statistic "$scratch/log" number_of_executed_units) covered=$(coverage "$scratch/log")
  echo "fuzz_$name: ${executions:-?} executions, ${covered:-?}, $result"
  if [ "${LOOSELEAF_FULL:-}" = 1 ]; then
    echo "| $name | $(date -u +%F) | $(git describe --always --dirty --abbrev=12) | $seconds | ${executions:-?} |" \
      "${covered:-?} | $result |" > "$build/results/$name"
    write_log
  fi
  [ $status = 0 ]  # libFuzzer's own status after a crash is 77
}

case "${1:-}" in
  build) have_fuzzer || exit 77; build_targets ;;
  run) have_fuzzer || exit 77; run_target "${2:?usage: fuzz.sh run TARGET}" ;;
  *) sed -n '2,5s/^# //p' "$0" >&2; exit 2 ;;
esac
