#!/bin/bash
# The manual pages: mandoc's linter finds nothing, every template was filled, other pages that they name exist, and no
# example is cut in two. looseleaf.json(5) has the keys that the program knows. What the pages say of commands and
# options needs no test: it comes from the program's registry.
# usage: manual_test.sh PROGRAM PAGES     PAGES is the folder with the pages that were built
set -euo pipefail
program=$(realpath "${1:?usage: manual_test.sh PROGRAM PAGES}")
pages=$(realpath "${2:?usage: manual_test.sh PROGRAM PAGES}")
for tool in scdoc mandoc; do
  if ! command -v $tool > /dev/null; then
    echo "skipped: $tool is not installed"
    [ -z "${CI:-}" ] || exit 1
    exit 77
  fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

failures=0
fail() {
  echo "manual_test: $*" >&2
  failures=$((failures + 1))
}
same() {  # WHAT HELP MANUAL
  diff <(printf '%s\n' "$2") <(printf '%s\n' "$3") > "$work/diff" || { fail "$1: --help < > manual"; cat "$work/diff" >&2; }
}

# A page as plain text without line breaks in its paragraphs.
plain() { mandoc -T utf8 -O width=1000 "$pages/$1" | sed 's/.\x08//g'; }
section() { awk -v title="$1" '/^[^ ]/ {on = $0 == title; next} on && NF {sub(/^ */, ""); print}'; }

# scdoc itself makes paragraph macros that do nothing, long lines and titles in lower case.
mandoc -T lint -W style "$pages"/*.[15] > "$work/lint" || true
grep -vE 'skipping paragraph macro|longer than 80 bytes|lower case character in document title' "$work/lint" >&2 &&
  fail "mandoc's linter complains"

for page in "$pages"/looseleaf*.[15]; do
  name=$(basename "$page")
  text=$(plain "$name")
  ! grep -E '@[A-Z_]+@' <<< "$text" >&2 || fail "$name: something was not filled in"
  for other in $(grep -oE '\blooseleaf[a-z.-]*\([15]\)' <<< "$text" | tr '(' . | tr -d ')' | sort -u); do
    [ -e "$pages/$other" ] || fail "$name names a page that does not exist: $other"
  done
  [[ $name == *.5 ]] || grep -q -e '--quiet' <<< "$(section 'COMMON OPTIONS' <<< "$text")" || fail "$name has no common options"
  [[ $name != looseleaf-* ]] || grep -q "looseleaf ${name:10:-2}" <<< "$(section EXAMPLES <<< "$text")" ||
    fail "$name has no example of its command"
done
[ "$(find "$pages" -name 'looseleaf-*.1' | wc -l)" -gt 5 ] || fail "the commands have no pages"

# An example that continues on the next line must say so, else a copy of it runs something else.
for page in "$pages"/*.1; do
  plain "$(basename "$page")" | awk '/^[^ ]/ {on = $0 == "EXAMPLES"}
    on && /^            / && before !~ /[\\|]$/ {print before; bad = 1} {before = $0} END {exit bad}' >&2 ||
    fail "$(basename "$page"): an example is cut in two"
done

keys_known() {  # CLUSTER-FILE: the keys that the program names when it refuses an unknown one
  printf '%s' "$1" > "$work/cluster.json"
  { "$program" status --cluster "$work/cluster.json" 2>&1 || true; } |
    sed -n 's/^hint: use one of the keys //p' | tr -d ' ' | tr ',' '\n' | LC_ALL=C sort
}
keys_described() { grep -E '^[$a-z_]+(, [$a-z_]+)*$' | tr -d ' ' | tr ',' '\n' | LC_ALL=C sort; }
file=$(plain looseleaf.json.5)
same "keys" "$(keys_known '{"qqqqqqqq": 1}')" "$(section KEYS <<< "$file" | keys_described)"
same "keys of a shard" "$(keys_known '{"shards": [{"qqqqqqqq": 1}]}')" \
  "$(section 'KEYS OF A SHARD' <<< "$file" | keys_described)"
[ -n "$(keys_known '{"qqqqqqqq": 1}')" ] || fail "the program names no keys any more"
[ "$failures" -eq 0 ]
