#!/bin/bash
# The manual pages: mandoc's linter finds nothing, there is one for each command, and they say what --help says: usage,
# summary, every option and its value. That of the cluster file has the keys that the program knows.
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
# The options, each with what stands for its value, of a page (--version aside) and of --help.
terms() {
  awk '/^[^ ]/ {on = $0 == "OPTIONS" || $0 == "COMMON OPTIONS"} on' |
    sed -nE 's/^ +(--[a-z-]+( [A-Za-z=]+)?)$/\1/p' | grep -v '^--version' | LC_ALL=C sort || true
}
help_terms() { sed -nE 's/^  (--[a-z-]+( [^ ]+)?)( .*)?$/\1/p' | LC_ALL=C sort; }
# Those of the commands in --help, with their summaries: a line each, though long ones go on in a further one there.
commands_in_help() { "$program" --help | perl -0pe 's/\n {5,}/ /g' | awk '/^commands:/ {on = 1; next} /^[^ ]/ {on = 0} on && NF'; }

# scdoc itself makes paragraph macros that do nothing, long lines and titles in lower case.
mandoc -T lint -W style "$pages"/*.[15] > "$work/lint" || true
grep -vE 'skipping paragraph macro|longer than 80 bytes|lower case character in document title' "$work/lint" >&2 &&
  fail "mandoc's linter complains"

commands=$(commands_in_help | awk '{print $1}')
[ "$(wc -w <<< "$commands")" -gt 5 ] || fail "--help lists no commands any more"
same "pages" "$(LC_ALL=C sort <<< "$commands")" \
  "$(cd "$pages" && printf '%s\n' looseleaf-*.1 | sed 's/^looseleaf-//; s/\.1$//' | LC_ALL=C sort)"
for command in $commands; do
  help=$("$program" "$command" --help)
  page=$(plain "looseleaf-$command.1")
  same "usage of $command" "$(sed -n '1s/^usage: //p' <<< "$help")" "$(section SYNOPSIS <<< "$page")"
  summary=$(sed -n '3s/\.$//p' <<< "$help")
  same "summary of $command" "looseleaf-$command - ${summary,}" "$(section NAME <<< "$page")"
  same "options of $command" "$(help_terms <<< "$help")" "$(terms <<< "$page")"
  grep -q . <<< "$(terms <<< "$page")" || fail "no option of $command is seen any more"
done
main=$(plain looseleaf.1)
same "commands" "$(commands_in_help | sed -nE 's/^  ([a-z-]+) {2,}(.*)/\1 \u\2./p')" \
  "$(section COMMANDS <<< "$main" | sed -n 's/^looseleaf-\(.*\)(1)$/\1/; N; s/\n/ /p')"
same "common options" "$("$program" --help | help_terms)" "$(terms <<< "$main")"

# An example that goes on in the next line says so, or who copies it runs something else.
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
