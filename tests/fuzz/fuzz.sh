#!/bin/bash
# Builds the fuzz targets, or runs one: its seeds first, then for 10 s, or, if LOOSELEAF_FULL is 1, for an hour of the
# processor's time, which goes on from where it was interrupted and renews the target's line in build/proof/fuzz.md. Exit
# status 77: skipped, because clang++ or its fuzzer runtime is missing.
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
  nice cmake --build --preset fuzz
}

# One line of libFuzzer's final statistics, or of its last report.
statistic() { sed -nE "s/^stat::$2: +//p" "$1"; }
coverage() { sed -nE 's/^#[0-9]+\s+DONE\s+cov: ([0-9]+) ft: ([0-9]+) .*/\1 edges, \2 features/p' "$1"; }

commit() {
  git rev-parse --short=12 HEAD | tr -d '\n'
  git diff --quiet HEAD || echo -n ", with changes"
}

# Puts a target's line into the log of full runs, in the place of its former one.
write_log() {
  local name=$1 line=$2 log=build/proof/fuzz.md lines
  exec 8> "$build/log.lock"
  flock 8
  lines=$(grep -E '^\| [a-z_]+ \| [0-9]' "$log" 2> /dev/null | grep -v "^| $name |" || true)
  {
    echo "# fuzz"
    echo
    echo "Each target under ASan and UBSan; \`LOOSELEAF_FULL=1 tests/fuzz/fuzz.sh run TARGET\`. The time is the processor's."
    echo
    echo "| target | date | commit | seconds | executions | coverage | result |"
    echo "|---|---|---|---|---|---|---|"
    printf '%s\n' "$lines" "$line" | grep . | sort
  } > "$scratch/fuzz.md"
  mkdir -p "$(dirname "$log")"
  cp "$scratch/fuzz.md" "$log"
}

# Runs the target for SECONDS; adds to used (seconds of processor time) and executions.
fuzz_for() {
  local seconds=$1 status=0
  local TIMEFORMAT='%U %S'
  { time "$target" "${options[@]}" -max_total_time="$seconds" "$corpus" "$seeds" > "$scratch/log" 2>&1; } \
    2> "$scratch/time" || status=$?
  used=$(awk -v used="$used" '{ printf "%.0f", used + $1 + $2 }' "$scratch/time")
  executions=$((executions + $(statistic "$scratch/log" number_of_executed_units)))
  return $status
}

# An hour of the processor's time, so that it is one on a busy machine too. What an interrupted run of the same commit has
# done counts.
fuzz_for_an_hour() {
  local state=$build/full/$name begun
  if [ "$(cat "$state/commit" 2> /dev/null)" != "$(commit)" ]; then
    rm -rf "$state"
    mkdir -p "$state/corpus"
    commit > "$state/commit"
  fi
  corpus=$state/corpus
  if begun=$(cat "$state/done" 2> /dev/null); then read -r used executions <<< "$begun"; fi
  while [ $status = 0 ] && [ "$used" -lt 3600 ]; do
    fuzz_for 120 || status=$?
    echo "$used $executions" > "$state/done"
  done
  rm -rf "$state"
}

run_target() {
  local name=$1 target=$build/tests/fuzz/fuzz_$1 seeds=tests/fuzz/seeds/$1 used=0 executions=0 result=clean status=0
  local crashes=$build/crashes/$name corpus
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  corpus=$scratch/corpus
  mkdir -p "$corpus" "$crashes"
  local options=(-dict=tests/fuzz/looseleaf.dict -max_len=4096 -timeout=60 -rss_limit_mb=2048
                 "-artifact_prefix=$crashes/" -print_final_stats=1)
  "$target" "${options[@]}" "$seeds"/* > "$scratch/log" 2>&1 || status=$?
  if [ $status = 0 ] && [ "${LOOSELEAF_FULL:-}" = 1 ]; then
    fuzz_for_an_hour
  elif [ $status = 0 ]; then
    fuzz_for 10 || status=$?
  fi
  if [ $status != 0 ]; then
    tail -n 60 "$scratch/log"
    result="failed: $(sed -nE 's/^(fuzz: .*|SUMMARY: .*)/\1/p' "$scratch/log" | head -n 1)"
    echo "to repeat: $target FILE, with FILE that of 'Test unit written to' or the last seed 'Running:' above"
    echo "once it is mended, add FILE to $seeds"
  fi
  local covered
  covered=$(coverage "$scratch/log")
  echo "fuzz_$name: $executions executions, ${covered:-?}, $result"
  if [ "${LOOSELEAF_FULL:-}" = 1 ]; then
    write_log "$name" "| $name | $(date -u +%F) | $(commit) | $used | $executions |\
 ${covered:-?} | $result |"
  fi
  [ $status = 0 ]  # libFuzzer's own status after a crash is 77
}

case "${1:-}" in
  build) have_fuzzer || exit 77; build_targets ;;
  run) have_fuzzer || exit 77; run_target "${2:?usage: fuzz.sh run TARGET}" ;;
  *) sed -n '2,6s/^# //p' "$0" >&2; exit 2 ;;
esac
