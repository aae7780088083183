#!/bin/bash
# Looseleaf from nothing on Debian 12: installs what it needs, builds, starts a private two-shard sandbox, stores real
# entities, indexes them while they are there, and asks for them again. May be run again at any time.
# usage: examples/quickstart.sh [DIR]     DIR is where the sandbox goes, .sandbox in the project unless given
# LOOSELEAF_BIN names a program that is built already.
set -euo pipefail
[ $# -eq 0 ] || sandbox=$(realpath -m "$1")
cd "$(dirname "$0")/.."
: "${sandbox:=$PWD/.sandbox}"
if [ ${#sandbox} -gt 90 ]; then  # sockets have short names
  sandbox=${TMPDIR:-/tmp}/looseleaf-$(id -u)
fi

step() { printf '\n== %s\n' "$*"; }
looseleaf() {  # shows the command as one would type it, and runs it
  printf '$ looseleaf%s\n' "$(printf ' %q' "$@")"
  "$program" "$@"
}

step "Installing what is needed"
packaging/install-build-deps.sh --servers

program=${LOOSELEAF_BIN:-}
if [ -z "$program" ]; then
  step "Building"
  program=$PWD/build/quickstart/bin/looseleaf
  cmake -S . -B build/quickstart -G Ninja -DCMAKE_BUILD_TYPE=Release -DLOOSELEAF_TESTS=OFF \
    -DCMAKE_RUNTIME_OUTPUT_DIRECTORY="$PWD/build/quickstart/bin"
  cmake --build build/quickstart
fi

step "Starting two private servers, one for each shard"
LOOSELEAF_CLUSTER=$("$program" sandbox start --shards 2 --dir "$sandbox")
export LOOSELEAF_CLUSTER
echo "cluster file: $LOOSELEAF_CLUSTER"
looseleaf init

step "Storing the entry of the FriendFeed article"
entry='{
  "id": "71f0c4d2291844cca2df6f486e96e37c",
  "user_id": "f48b0440ca0c4f66991c4d5f6a078eaf",
  "feed_id": "f48b0440ca0c4f66991c4d5f6a078eaf",
  "title": "We just launched a new backend system for FriendFeed!",
  "link": "http://friendfeed.com/e/71f0c4d2-2918-44cc-a2df-6f486e96e37c",
  "published": 1235697046,
  "updated": 1235697046
}'
looseleaf put <<< "$entry"

step "Storing this machine's list of Debian packages"
packages=$(mktemp)
trap 'rm -f "$packages"' EXIT
apt-cache dumpavail | examples/debian_packages.pl > "$packages"
count=$(wc -l < "$packages")
echo "$count packages"
looseleaf put --quiet < "$packages"

step "Creating three indexes and filling them from what is stored"
looseleaf create-index schemas/friendfeed/index_user_id.json schemas/debian/index_{maintainer,section}.json
looseleaf backfill

step "Asking"
looseleaf query index_user_id user_id=f48b0440ca0c4f66991c4d5f6a078eaf
looseleaf query index_maintainer 'maintainer^=Debian Games Team' --count
looseleaf query index_section section=shells 'installed_size<1000' --ids --limit 3

step "Proving that indexes and entities agree"
looseleaf verify
looseleaf status

cat << END

== Done
Two servers run in $sandbox. They hold the article's entry and $count packages, found by user, by maintainer and by
section and size. What to type next:

  export LOOSELEAF_CLUSTER=$(printf %q "$LOOSELEAF_CLUSTER")
  alias looseleaf=$(printf %q "$program")
  looseleaf query index_section section=games 'installed_size>1000000' --desc --limit 1
  looseleaf put <<< '{"title": "anything", "user_id": "f48b0440ca0c4f66991c4d5f6a078eaf"}'
  looseleaf query index_user_id user_id=f48b0440ca0c4f66991c4d5f6a078eaf
  looseleaf create-index --backfill schemas/friendfeed/index_link.json
  looseleaf --help

  looseleaf sandbox stop --dir $sandbox       stops the servers and keeps the data
  looseleaf sandbox delete --dir $sandbox     removes everything
END
