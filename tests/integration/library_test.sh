#!/bin/bash
# Installs what is built, then builds examples/library against that as its users would, with CMake and with pkg-config,
# and runs it on a sandbox.
# usage: library_test.sh BUILD-DIR
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
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
entries=1  # each run replaces one of the user's, and adds one
for program in "$work/cmake/feed" "$work/feed"; do
  answer=$("$program" "$cluster")
  entries=$((entries + 1))
  expected=("put: 10 of 10" "get: found" "get_all: $entries" query:{9,8,7} "page: 3" query:{6,5} "page: 2" "remove: 10"
    "verify: consistent")
  diff <(printf '%s\n' "${expected[@]}") \
    <(sed -E '/^put: [0-9a-f]{32}$/d; s/^query: .*"published": ([0-9]+)\}$/query:\1/' <<< "$answer")
done
echo "library_test: both programs work"
