#!/bin/bash
# The completions in real shells: lines are typed at bash and zsh on terminals of their own and fish is asked, on a sandbox.
# usage: completions_test.sh PROGRAM
set -euo pipefail
program=$(realpath "${1:?usage: completions_test.sh PROGRAM}")
source=$(cd "$(dirname "$0")/../.." && pwd)
for shell in zsh fish; do
  if ! command -v $shell > /dev/null; then
    echo "skipped: $shell is not installed"
    [ -z "${CI:-}" ] || exit 1
    exit 77
  fi
done
work=$(mktemp -d)
end() {
  "$program" sandbox delete --dir "$work/box" > /dev/null 2>&1 || true
  rm -rf "$work"
}
trap end EXIT

LOOSELEAF_CLUSTER=$("$program" sandbox start --shards 2 --dir "$work/box" --quiet)
export LOOSELEAF_CLUSTER LOOSELEAF_COMPLETION_TIMEOUT=20 PATH=$work/bin:$PATH HOME=$work TERM=dumb
mkdir -p "$work/bin" "$work/here/folder"
ln -s "$program" "$work/bin/looseleaf"
cd "$work/here"
touch definition.json
cat > "$work/feed.json" << 'FEED'
{"table": "by_feed", "properties": [{"name": "feed", "type": "int"}, {"name": "published", "type": "int"}]}
FEED
looseleaf init --quiet > "$work/id"
looseleaf create-index --quiet "$source/schemas/friendfeed/index_user_id.json" "$work/feed.json"
commands=$(looseleaf --help | perl -0pe 's/\n {5,}/ /g' |
  awk '/^commands:/ {on = 1; next} /^[^ ]/ {on = 0} on && NF {printf "%s%s", sep, $1; sep = " "}')
[ "$(wc -w <<< "$commands")" -gt 5 ]

# What is typed before TAB, a tab, and what bash and zsh then have in the line; with a * in front, with all candidates.
cases=$'looseleaf que\tlooseleaf query '
cases+=$'\n*looseleaf \tlooseleaf '$commands
cases+='
*looseleaf query 	looseleaf query by_feed index_user_id
looseleaf query index	looseleaf query index_user_id 
looseleaf query by_feed pu	looseleaf query by_feed published=
*looseleaf query by_feed 	looseleaf query by_feed feed= published=
*looseleaf drop-index by_feed 	looseleaf drop-index by_feed index_user_id
looseleaf query by_feed published=	looseleaf query by_feed published=
looseleaf query by_feed --lim	looseleaf query by_feed --limit 
*looseleaf status --output 	looseleaf status --output text json
looseleaf status --output=js	looseleaf status --output=json 
looseleaf put de	looseleaf put definition.json 
looseleaf create-index ~/fe	looseleaf create-index ~/feed.json 
looseleaf --cluster=de	looseleaf --cluster=definition.json 
looseleaf verify --definitions f	looseleaf verify --definitions folder/
looseleaf verify --definitions d	looseleaf verify --definitions d
looseleaf verify --report j	looseleaf verify --report junit=
looseleaf verify --report junit=de	looseleaf verify --report junit=definition.json 
looseleaf get - < de	looseleaf get - < definition.json 
*looseleaf sandbox 	looseleaf sandbox start stop status delete
true; looseleaf stat	true; looseleaf status 
~/bin/looseleaf stat	~/bin/looseleaf status 
looseleaf --cluster ~/no.json query ind	looseleaf --cluster ~/no.json query ind
looseleaf nonsense in	looseleaf nonsense in'
cut -f 1 <<< "$cases" > "$work/typed"
tr -s ' ' < <(cut -f 2 <<< "$cases") > "$work/expected"
for file in looseleaf.bash _looseleaf; do
  shell=zsh
  [ $file = _looseleaf ] || shell=bash
  zsh -f "$source/tests/cli/completions_pty.zsh" $shell "$source/completions/$file" < "$work/typed" | tr -s ' ' > "$work/got"
  diff "$work/expected" "$work/got" || { echo "completions_test: so not in $shell" >&2; exit 1; }
done

# fish says what it would offer.
offered() { fish --no-config -c "source '$source/completions/looseleaf.fish'; complete --do-complete '$1'" | cut -f 1 | xargs; }
while IFS=$'\t' read -r typed expected; do
  [ "$(offered "$typed")" = "$expected" ] ||
    { echo "completions_test: fish offers '$(offered "$typed")' after '$typed', not '$expected'" >&2; exit 1; }
done << CASES
looseleaf que	query
looseleaf 	$(xargs <<< "$commands")
looseleaf query 	by_feed index_user_id
looseleaf query by_feed 	feed= published=
looseleaf query by_feed --lim	--limit
looseleaf status --output 	text json
looseleaf status --output=js	--output=json
looseleaf put de	definition.json
looseleaf --cluster=de	--cluster=definition.json
looseleaf verify --definitions f	folder/
looseleaf verify --definitions d	
looseleaf verify --report junit=de	junit=definition.json
looseleaf sandbox sto	stop
looseleaf nonsense in	
CASES
echo "completions_test: bash, zsh and fish offer what they should"
