#!/bin/bash
# Installs what is needed, builds, and runs all tests.
# usage: tests/run.sh [--preset dev|release|asan|tsan] [--full] [arguments for ctest, such as -R NAME or -L server]
# --full runs the long forms of the proofs, which take hours, and writes their logs to docs/proof/.
# LOOSELEAF_TEST_SERVER names another MariaDB or MySQL for the tests: a program, or a folder that holds it in bin/.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=dev
full=OFF
while [ $# -gt 0 ]; do
  case $1 in
    --preset) preset=${2:?usage: tests/run.sh [--preset NAME] [--full] [arguments for ctest]}; shift 2 ;;
    --full) full=ON; export LOOSELEAF_FULL=1; mkdir -p docs/proof; shift ;;
    *) break ;;
  esac
done
jobs=$(nproc)
packaging/install-build-deps.sh --tests
cmake --preset "$preset" -DLOOSELEAF_FULL_TESTS=$full
cmake --build --preset "$preset" --parallel "$jobs"
# Tests that start servers wait for disks and locks more than they compute, but many at once run into time limits.
ctest --preset "$preset" --parallel 2 "$@"
