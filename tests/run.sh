#!/bin/bash
# Installs what is needed, builds, and runs all tests.
# usage: tests/run.sh [--preset dev|release|asan|tsan] [arguments for ctest, such as -R NAME or -L server]
# LOOSELEAF_TEST_SERVER names another MariaDB or MySQL for the tests: a program, or a folder that holds it in bin/.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=dev
if [ "${1:-}" = --preset ]; then
  preset=${2:?usage: tests/run.sh [--preset NAME] [arguments for ctest]}
  shift 2
fi
jobs=$(nproc)
packaging/install-build-deps.sh --tests
cmake --preset "$preset"
cmake --build --preset "$preset" --parallel "$jobs"
# Tests that start servers wait for disks and locks more than they compute, but many at once run into time limits.
ctest --preset "$preset" --parallel 2 "$@"
