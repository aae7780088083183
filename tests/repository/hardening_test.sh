#!/bin/bash
# What is built is hardened: position-independent, relocations read-only from the start, no executable stack, stack
# protector, control-flow protection on x86 and, where it is optimised as shipped, checked string functions.
# usage: hardening_test.sh [--fortified] FILE…      programs and shared libraries
set -euo pipefail
command -v objdump > /dev/null || { echo "skipped: binutils is not installed"; exit 77; }
fortified=no
[ "${1:-}" != --fortified ] || { fortified=yes; shift; }
[ $# -gt 0 ]

failures=0
expect() {  # PATTERN TEXT WHAT
  grep -qE -e "$1" <<< "$2" || { echo "hardening_test: $file: no $3" >&2; failures=$((failures + 1)); }
}
for file in "$@"; do
  headers=$(readelf -hlW "$file") dynamic=$(readelf -dW "$file") symbols=$(readelf --dyn-syms -W "$file")
  expect 'Type: +DYN' "$headers" "position-independent code"
  expect 'GNU_RELRO' "$headers" "read-only relocations"
  expect 'FLAGS.*(BIND_NOW|NOW)' "$dynamic" "binding of all symbols at the start"
  expect 'GNU_STACK .* RW ' "$headers" "stack without execution"
  expect '__stack_chk_fail' "$symbols" "stack protector"
  # Not by the file's property note, which Debian 12's start-up code lacks. That code has a few landing pads of its own.
  [ "$(uname -m)" != x86_64 ] || [ "$(objdump -d "$file" | grep -c endbr64)" -gt 50 ] || expect '^$' no "control-flow protection"
  [ $fortified = no ] || expect '__[a-z]+_chk' "$(grep -v __stack_chk <<< "$symbols")" "checked string functions"
done
[ "$failures" -eq 0 ]
