#!/bin/bash
# Fails on an #include that goes against the layers of the project, or brings a library in where it does not belong.
# usage: check_layers.sh [ROOT]        check the source tree (default: the one this script is in)
#        check_layers.sh --self-test   prove that violations are found
set -euo pipefail

# What each folder may include. Standard and system headers are free everywhere but in the public headers.
rules='
lib/include/looseleaf  looseleaf/
lib/src/base           looseleaf/ base/ fmt/
lib/src/codec          looseleaf/ base/ codec/ fmt/ libdeflate.h isa-l/
lib/src/model          looseleaf/ base/ model/ fmt/ nlohmann/ simdjson.h
lib/src/sql            looseleaf/ base/ sql/ fmt/ cppconn/ mysql/ mysql_driver.h mysql_connection.h
lib/src/store          looseleaf/ base/ model/ codec/ sql/ store/ fmt/
lib/src/ops            looseleaf/ base/ model/ codec/ sql/ store/ ops/ fmt/ nlohmann/
cli                    looseleaf/ base/nearest.hpp cli/ fmt/ nlohmann/ CLI/
'

# Prints one line for each include in $1 that is not allowed.
violations() {
  local root=$1 folder allowed
  while read -r folder allowed; do
    if [ -z "$folder" ] || [ ! -d "$root/$folder" ]; then continue; fi
    (cd "$root" && find "$folder" \( -name '*.hpp' -o -name '*.cpp' \) -exec grep -nHE '^[[:space:]]*#[[:space:]]*include' {} +) |
      awk -v allowed="$allowed" -v public="$([ "$folder" = lib/include/looseleaf ] && echo 1 || echo 0)" '
        BEGIN { count = split(allowed, prefix, " ") }
        {
          if (!match($0, /[<"][^>"]+[>"]/)) next
          header = substr($0, RSTART + 1, RLENGTH - 2)
          quoted = substr($0, RSTART, 1) == "\""
          for (i = 1; i <= count; ++i) if (index(header, prefix[i]) == 1) next
          if (!quoted && header ~ /^[a-z_0-9]+$/) next
          if (!quoted && !public && header ~ /^((sys|netinet|arpa|linux)\/)?[a-z_0-9]+\.h$/ && header !~ /^(zlib|libdeflate|isa-l|simdjson|mysql)/) next
          print "check_layers: not allowed here: " $0
        }'
  done <<< "$rules"
}

self_test() {
  local folder header expected=0
  root=$(mktemp -d)
  trap 'rm -rf "$root"' EXIT
  add() {  # FOLDER INCLUDE
    mkdir -p "$root/$1"
    printf '#include %s\n' "$2" >> "$root/$1/file.cpp"
  }
  while read -r folder header; do
    add "$folder" "$header"
    expected=$((expected + 1))
  done << 'CASES'
lib/include/looseleaf <fmt/format.h>
lib/include/looseleaf <unistd.h>
lib/include/looseleaf "base/hex.hpp"
lib/src/base "model/entity.hpp"
lib/src/codec "sql/connection.hpp"
lib/src/codec "model/entity.hpp"
lib/src/model "codec/body.hpp"
lib/src/model <libdeflate.h>
lib/src/codec <zlib.h>
lib/src/sql "model/entity.hpp"
lib/src/store <cppconn/driver.h>
lib/src/store "ops/put.hpp"
lib/src/ops <CLI/CLI.hpp>
lib/src/ops <mysql/jdbc.h>
cli "store/catalog.hpp"
cli "base/hex.hpp"
cli <mysql.h>
CASES
  if [ "$(violations "$root" | wc -l)" -ne "$expected" ]; then
    echo "check_layers: of $expected violations these were found:" >&2
    violations "$root" >&2
    return 1
  fi
  rm -rf "${root:?}"/*
  add lib/include/looseleaf '<looseleaf/uuid.hpp>'
  add lib/include/looseleaf '<string>'
  add lib/src/sql '<cppconn/driver.h>'
  add lib/src/ops '"store/catalog.hpp"'
  add lib/src/base '<sys/types.h>'
  add cli '<CLI/CLI.hpp>'
  add cli '"base/nearest.hpp"'
  if [ -n "$(violations "$root")" ]; then
    echo "check_layers: found violations where there are none:" >&2
    violations "$root" >&2
    return 1
  fi
  echo "check_layers: finds all $expected kinds of violation and nothing else"
}

if [ "${1:-}" = --self-test ]; then
  self_test
  exit
fi
found=$(violations "${1:-$(dirname "$0")/..}")
if [ -n "$found" ]; then
  echo "$found" >&2
  exit 1
fi
