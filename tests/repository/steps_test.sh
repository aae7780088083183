#!/bin/bash
# The steps of the protocol have the same names in the code, in docs/protocol.md and in the model, and every one is used in
# the code.
# usage: steps_test.sh               check the source tree
#        steps_test.sh --self-test   prove that differences are found
set -euo pipefail
cd "$(dirname "$0")/../.."
files='\.(cpp|hpp|sh|md|pml)$'

# Prints what is wrong in the source tree $1.
complaints() (
  cd "$1"
  steps=lib/src/shard/steps.hpp
  in_code=$(grep -oE '"[a-z]+\.[a-z_]+"' $steps | tr -d '"' | sort -u)
  in_docs=$(grep -oE '`[a-z]+\.[a-z_]+`' docs/protocol.md | tr -d '`' | grep -vE "$files" | sort -u)
  # A comment of the model holds the name of a step, or several, or says that it is not modelled.
  in_model=$(grep -hoE '/\* (not modelled: )?[a-z]+\.[a-z_]+\b' -i tests/model/*.pml | grep -oE '[a-z]+\.[a-z_]+$' |
    grep -vE "$files" | sort -u)
  for other in docs/protocol.md tests/model; do
    names=$([ $other = tests/model ] && echo "$in_model" || echo "$in_docs")
    if [ "$in_code" != "$names" ]; then
      echo "steps_test: $steps (<) and $other (>) name different steps:"
      diff <(echo "$in_code") <(echo "$names") | grep '^[<>]' || true
    fi
  done
  for name in $in_code; do
    if ! grep -rqE "steps::${name/./_}\b" lib/src --include='*.cpp'; then
      echo "steps_test: no code passes $name"
    fi
  done
)

self_test() {
  tree=$(mktemp -d)
  trap 'rm -rf "$tree"' EXIT
  fresh() {
    rm -rf "${tree:?}"/*
    mkdir -p "$tree"/lib/src/shard "$tree"/docs "$tree"/tests/model
    cp lib/src/shard/steps.hpp "$tree"/lib/src/shard/
    cp -r lib/src/. "$tree"/lib/src/
    cp docs/protocol.md "$tree"/docs/
    cp tests/model/*.pml "$tree"/tests/model/
  }
  expect() {  # COMPLAINT, a pattern; none: no complaint
    local found
    found=$(complaints "$tree")
    if [ -z "$1" ] && [ -n "$found" ] || ! grep -q "$1" <<< "$found"; then
      echo "steps_test: expected '$1', found: $found" >&2
      exit 1
    fi
  }
  fresh
  expect ''
  sed -i 's/`put\.commit`/put, commit/' "$tree"/docs/protocol.md
  expect '^< put.commit'
  fresh
  echo '`put.forget`' >> "$tree"/docs/protocol.md
  expect '^> put.forget'
  fresh
  sed -i 's,/\* put\.commit \*/,,' "$tree"/tests/model/*.pml
  expect '^< put.commit'
  fresh
  echo '/* drop.forget */' >> "$tree"/tests/model/lifecycle.pml
  expect '^> drop.forget'
  fresh
  sed -i 's/steps::put_commit\b/steps::put_fence/' "$tree"/lib/src/write/*.cpp
  expect 'no code passes put.commit'
  echo "steps_test: finds every kind of difference and nothing else"
}

if [ "${1:-}" = --self-test ]; then
  self_test
  exit
fi
found=$(complaints .)
if [ -n "$found" ]; then
  echo "$found"
  exit 1
fi
