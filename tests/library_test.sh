#!/bin/bash
# Installs what is built, then builds examples/library against that as its users would, with CMake and with pkg-config,
# and runs it on a sandbox.
# usage: library_test.sh BUILD-DIR
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
build=$1
work=$(mktemp -d)
export DESTDIR=
looseleaf=$work/prefix/bin/looseleaf
end() {
  "$looseleaf" sandbox delete --dir "$work/box" > /dev/null 2>&1 || true
  rm -rf "$work"
}
trap end EXIT

cmake --install "$build" --prefix "$work/prefix" > /dev/null
cmake -S "$source/examples/library" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$work/prefix" > /dev/null
cmake --build "$work/cmake" > /dev/null
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name looseleaf.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
g++ -std=c++20 "$source/examples/library/feed.cpp" $(pkg-config --cflags --libs looseleaf) -o "$work/feed"

LD_LIBRARY_PATH=$(pkg-config --variable=libdir looseleaf)
export LD_LIBRARY_PATH
cluster=$("$looseleaf" sandbox start --shards 2 --dir "$work/box" --quiet)
for program in "$work/cmake/feed" "$work/feed"; do
  answer=$("$program" "$cluster")
  grep -q '^get: found$' <<< "$answer"
  grep -q 'We just launched a new backend system' <<< "$answer"
done
grep -qx '3 entities' <<< "$answer"  # the second run replaced one and added one
echo "library_test: both programs work"
