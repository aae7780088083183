#!/bin/bash
# The steps of the protocol have the same names in the code and in docs/protocol.md, and every one is used in the code.
set -euo pipefail
cd "$(dirname "$0")/.."
steps=lib/src/store/steps.hpp
in_code=$(grep -oE '"[a-z]+\.[a-z_]+"' $steps | tr -d '"' | sort -u)
in_docs=$(grep -oE '`[a-z]+\.[a-z_]+`' docs/protocol.md | tr -d '`' | grep -vE '\.(cpp|hpp|sh|md)$' | sort -u)
failed=0
if ! diff <(echo "$in_code") <(echo "$in_docs") > /dev/null; then
  echo "steps_test: $steps (<) and docs/protocol.md (>) name different steps:"
  diff <(echo "$in_code") <(echo "$in_docs") | grep '^[<>]'
  failed=1
fi
for name in $in_code; do
  if ! grep -rqE "steps::${name/./_}\b" lib/src --include='*.cpp'; then
    echo "steps_test: no code passes $name"
    failed=1
  fi
done
exit $failed
