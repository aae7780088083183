#!/bin/bash
# Checks the documentation against itself and the program: relative links and their anchors lead somewhere; the files,
# commands and long options that are named exist; docs/operations.md names every command and every option of each.
# usage: docs_test.sh PROGRAM [ROOT]     ROOT is the project (default: the one this script is in)
set -euo pipefail
program=$(realpath "${1:?usage: docs_test.sh PROGRAM [ROOT]}")
cd "${2:-$(dirname "$0")/../..}"

failures=0
fail() {
  echo "docs_test: $*" >&2
  failures=$((failures + 1))
}

has_line() { [[ $'\n'$1$'\n' == *$'\n'"$2"$'\n'* ]]; }  # TEXT LINE

# The anchors that a page's headings make.
declare -A anchors
read_anchors() {  # PAGE
  [ -n "${anchors[$1]+known}" ] ||
    anchors[$1]=$(sed -n 's/^##* //p' "$1" | tr 'A-Z ' 'a-z-' | sed 's/[^a-z0-9_-]//g')
}

check_links() {  # PAGE
  local link file anchor folder
  folder=$(dirname "$1")
  while read -r link; do
    file=${link%%#*} anchor=
    [[ $link != *'#'* ]] || anchor=${link#*#}
    file=${file:+$folder/$file}
    file=${file:-$1}
    if [ ! -e "$file" ]; then
      fail "$1: nothing is at $link"
    elif [ -n "$anchor" ]; then
      read_anchors "$file"
      has_line "${anchors[$file]}" "$anchor" || fail "$1: no heading makes the anchor of $link"
    fi
  done < <(grep -v '^    ' "$1" | grep -oE '\]\([^)]+\)' | sed 's/^](//; s/)$//' | grep -vE '^[a-z]+:' | sort -u || true)
}

all_files=$(find . -path ./build -prune -o -path ./.git -prune -o -print)$'\n'

# What stands in backticks and is a file of the source tree, by its whole path or the end of one. NAME stands for any.
check_files() {  # PAGE
  local name
  while read -r name; do
    if [[ $name != *\** ]]; then
      [[ $all_files == *"/$name"$'\n'* ]]
    else
      grep -qE -e "/${name//\*/[^/]*}$" <<< "$all_files"
    fi || fail "$1 names a file that is not there: $name"
  done < <(grep -v '^    ' "$1" | grep -oE '`[A-Za-z0-9_./*-]+`' | tr -d '`' | sed 's:/$::' | grep -v NAME |
    grep -E '^(bench|cli|cmake|completions|docs|examples|lib|packaging|schemas|tests)/|\.(cpp|hpp|pml|py|sh)$' | sort -u ||
    true)
}

options_in() { grep -oE -e '(^|[^A-Za-z0-9-])--[a-z][a-z-]+' | grep -oE -e '--[a-z][a-z-]+' | sort -u || true; }

# Examples and code spans that begin with the program's name, one per line, without it.
calls() {
  grep -ohE '`looseleaf [a-z][^`]*`|^    (\$ )?(.*[|;] *)?looseleaf [a-z].*' "$@" |
    sed -E 's/^.*looseleaf ([a-z])/\1/; s/`.*//'
}

help=$("$program" --help)
commands=$(perl -0pe 's/\n {5,}/ /g' <<< "$help" | awk '/^commands:/ {on = 1; next} /^[^ ]/ {on = 0} on && NF {print $1}')
[ "$(wc -w <<< "$commands")" -gt 5 ] || fail "--help lists no commands any more"
declare -A options
all_options=$(options_in <<< "$help")
for command in $commands; do
  options[$command]=$("$program" "$command" --help | options_in)
  all_options+=$'\n'${options[$command]}
done

pages=(README.md docs/*.md examples/*/README.md)
for page in "${pages[@]}" CONTRIBUTING.md CHANGELOG.md SECURITY.md; do
  check_links "$page"
  check_files "$page"
done
while read -r command rest; do
  if ! has_line "$commands" "$command"; then
    fail "the documentation names a command $command"
    continue
  fi
  [[ $rest == *--* ]] || continue
  for option in $(options_in <<< "$rest"); do
    has_line "${options[$command]}" "$option" || fail "the documentation gives $command the option $option"
  done
done < <(calls "${pages[@]}" | sort -u)
for option in $(grep -hvE 'cmake|pkg-config|mariadb-dump|tests/|bench/' "${pages[@]}" | options_in); do
  has_line "$all_options" "$option" || fail "the documentation names an option $option"
done

# The library's tour shows nothing but what the example program has, as it is there.
perl -0777 -e '
  my ($page, $code) = map { local @ARGV = ref $_ ? @$_ : $_; join "", <> } "docs/library.md", [glob "examples/library/*"];
  s/^ +//gm for $code;
  my $bad = 0;
  while ($page =~ /^((?:    [^\n]*\n)+)/gm) {
    (my $snippet = $1) =~ s/^ +//gm;
    if (index($code, $snippet) < 0) { print STDERR "docs_test: not in examples/library:\n$snippet"; $bad = 1; }
  }
  exit $bad' || fail "docs/library.md shows code that nobody compiles"

manual=docs/operations.md
in_manual=$(options_in < "$manual")
for command in $commands; do
  grep -qE "^### (.*, )?$command(,|$)" "$manual" || fail "$manual has no section on $command"
  for option in ${options[$command]}; do
    has_line "$in_manual" "$option" || fail "$manual does not name $option, an option of $command"
  done
done
# The numbers of errors that the program knows are those of the table.
known=$(sed '/constexpr auto quoting/,/});/d' lib/src/sql/errors.cpp | grep -oE '\b[1-4][0-9]{3}\b' | sort -u)
listed=$(sed -n '/^## Server errors/,/^No message holds/p' $manual | grep -oE '\b[1-4][0-9]{3}\b' | sort -u)
[ -n "$known" ] && [ "$known" = "$listed" ] ||
  fail "lib/src/sql/errors.cpp (<) and the table in $manual (>) have other numbers: $(diff <(echo "$known") <(echo "$listed") | grep '^[<>]' | tr '\n' ' ')"
[ "$failures" -eq 0 ]
