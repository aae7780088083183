#!/bin/bash
# Follows each of docs/runbooks.md's runbooks on private servers, by the script of its name in tests/runbooks/.
# usage: runbooks_test.sh PROGRAM
set -euo pipefail
LOOSELEAF_BIN=$(realpath "${1:?usage: runbooks_test.sh PROGRAM}")
export LOOSELEAF_BIN
cd "$(dirname "$0")/../.."

if ! command -v mariadb-dump > /dev/null; then
  [ -z "${CI:-}" ] || { echo "runbooks_test: mariadb-dump is not installed" >&2; exit 1; }
  echo "skipped: mariadb-dump is not installed"
  exit 77
fi
names=$(sed -n 's/^## //p' docs/runbooks.md | tr 'A-Z ' 'a-z_')
diff <(sort <<< "$names") <(cd tests/runbooks && printf '%s\n' *.sh | grep -vxE "(lib|runbooks_test).sh" | sed 's/\.sh$//' | sort) ||
  { echo "runbooks_test: each section of docs/runbooks.md has one script in tests/runbooks, and the reverse" >&2; exit 1; }

failures=0
for name in $names; do
  echo "== $name"
  status=0
  timeout 120 "tests/runbooks/$name.sh" 2>&1 || status=$?
  case $status in
    0 | 77) ;;
    *) echo "runbooks_test: $name ended with status $status" >&2; failures=$((failures + 1)) ;;
  esac
done
[ "$failures" -eq 0 ]
