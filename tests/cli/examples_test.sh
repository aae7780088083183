#!/bin/bash
# Runs an example on a sandbox of its own. What it prints must be what its README.md shows, and it leaves nothing behind.
# usage: examples_test.sh PROGRAM EXAMPLE
set -euo pipefail
program=$(realpath "$1")
folder=$(cd "$(dirname "$0")/../../examples/$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tmp"

status=0
LOOSELEAF_BIN=$program TMPDIR=$work/tmp "$folder/run.sh" > "$work/printed" 2>&1 || status=$?
if [ "$status" -ne 0 ]; then
  cat "$work/printed"
  echo "examples_test: the example ended with status $status" >&2
  exit 1
fi
diff <(sed -n 's/^    //p' "$folder/README.md") <(grep -v '^$' "$work/printed")
[ -z "$(ls -A "$work/tmp")" ] || { echo "examples_test: the example left something behind" >&2; exit 1; }
