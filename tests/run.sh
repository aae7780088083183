#!/bin/bash
# Installs what is needed, builds, and runs the tests.
# usage: tests/run.sh [--preset dev|release|asan|tsan] [--quick | --all | --full] [--rounds N] [arguments for ctest, such
#        as -R NAME]
# --all also runs the tests that compile the program again: of the Debian packages and the fuzz targets. -R, -L and -LE
# choose among all tests.
# --quick is for daily work: it neither builds nor runs the proofs, the fuzz targets, the packages and the measurements.
# --full runs all, with the long forms of the proofs, which take hours, and writes their logs to build/proof/. --rounds
# sets the number of crash rounds: 12 by default, 1,000 in a full run.
# LOOSELEAF_TEST_SERVER names another MariaDB or MySQL for the tests: a program, or a folder that holds it in bin/.
set -euo pipefail
cd "$(dirname "$0")/.."

usage='usage: tests/run.sh [--preset NAME] [--quick | --all | --full] [--rounds N] [arguments for ctest]'
preset=dev
full=OFF
target=all
exclude='package|fuzz'
arguments=()
while [ $# -gt 0 ]; do
  case $1 in
    --preset) preset=${2:?$usage}; shift ;;
    --quick) target=quick_tests exclude='proof|package|bench' ;;
    --all) exclude='' ;;
    --full) full=ON exclude=''; export LOOSELEAF_FULL=1 ;;
    --rounds) export LOOSELEAF_ROUNDS=${2:?--rounds needs a number}; shift ;;
    -R | -L | -LE) [ $target = quick_tests ] || exclude=''; arguments+=("$1") ;;
    *) arguments+=("$1") ;;
  esac
  shift
done
# The servers of the tests wait for disks most of the time, and no test takes the power away: memory will do.
if [ -z "${TMPDIR:-}" ] && [ "$(df --output=avail --block-size=1G /dev/shm 2>/dev/null | tail -n 1)" -ge 12 ] &&
   [ "$(awk '/^MemAvailable:/ {print int($2 / 1048576)}' /proc/meminfo)" -ge 12 ]; then
  export TMPDIR=/dev/shm
fi
jobs=$(nproc)
packaging/install-build-deps.sh --tests
cmake --preset "$preset" -DLOOSELEAF_FULL_TESTS=$full
cmake --build --preset "$preset" --parallel "$jobs" --target "$target"
# Tests that start servers wait for disks and locks more than they compute. More at once run into time limits, and so do
# as many beside proofs and those that compile.
beside=5
[ $target = all ] || beside=6
[ -n "$exclude" ] || beside=2
ctest --preset "$preset" --parallel $((jobs + beside)) ${exclude:+-LE "$exclude"} "${arguments[@]}"
