#!/bin/bash
# The version has one place, the project() of CMakeLists.txt, and whatever names it agrees.
# usage: version_test.sh PROGRAM LIBRARY PKG-CONFIG-FILE
set -euo pipefail
program=$1 library=$2 pc=$3
cd "$(dirname "$0")/../.."
version=$(sed -nE 's/^project\(looseleaf VERSION ([0-9.]+) .*/\1/p' CMakeLists.txt)
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || { echo "version_test: CMakeLists.txt names no version" >&2; exit 1; }

failures=0
same() {  # WHAT EXPECTED FOUND
  [ "$2" = "$3" ] || { echo "version_test: $1 has $3, not $2" >&2; failures=$((failures + 1)); }
}
same "--version" "looseleaf $version" "$("$program" --version)"
same "the library's name" "liblooseleaf.so.$version" "$(basename "$(realpath "$library")")"
same "the library's soname" "liblooseleaf.so.${version%%.*}" \
  "$(objdump -p "$library" | awk '$1 == "SONAME" {print $2}')"
same "pkg-config's file" "$version" "$(sed -n 's/^Version: //p' "$pc")"
# Either the version is being worked on, and is announced, or it is the newest that was released.
same "CHANGELOG.md" "$version" "$(sed -nE 's/^To become ([0-9]+\.[0-9]+\.[0-9]+).*/\1/p; s/^## \[([0-9.]+)\].*/\1/p' CHANGELOG.md | head -1)"
[ "$failures" -eq 0 ]
