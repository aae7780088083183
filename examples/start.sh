# For the example scripts to source: finds the program, starts private servers, and shows each command that it runs.
# LOOSELEAF_BIN names the program; else it is the one that is installed, else the one that was built last.
# With a folder as the script's argument the servers' data go there and stay; else they go when the script ends.
# shellcheck shell=bash
set -euo pipefail
[ $# -eq 0 ] || sandbox=$(realpath -m "$1")
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
program=${LOOSELEAF_BIN:-$(type -P looseleaf || ls -t "$project"/build/*/cli/looseleaf)}
program=$(realpath "${program%%$'\n'*}")
cd "$(dirname "$0")"

PATH=$(dirname "$program"):$PATH
step() { printf '\n# %s\n' "$*"; }
run() {  # COMMAND: as one would type it
  printf '$ %s\n' "$1"
  eval "$1"
}
member() { sed -nE 's/.*"'"$1"'": ?("([^"]*)"|([0-9]+)).*/\2\3/p'; }  # NAME: of entities, one a line

temporary=
if [ $# -eq 0 ]; then
  temporary=$(mktemp -d)
  sandbox=$temporary/sandbox
fi
end() {
  jobs -p | xargs -r kill 2> /dev/null || true
  wait
  [ -z "$temporary" ] || { looseleaf sandbox delete --quiet --dir "$sandbox" && rm -r "$temporary"; }
}
trap end EXIT
LOOSELEAF_CLUSTER=$(looseleaf sandbox start --quiet --shards 3 --dir "$sandbox")
export LOOSELEAF_CLUSTER
looseleaf init --quiet > /dev/null
