#!/bin/bash
# A blog, as in the article "WTF is a SuperColumn?" on Cassandra's data model: authors, entries, tags and comments. There
# it took five column families that the application keeps in step; here it is entities, and three indexes.
# usage: examples/blog/run.sh [DIR]     see examples/start.sh
# shellcheck source=examples/start.sh disable=SC2016
. "$(dirname "$0")/../start.sh" "$@"

# The UUIDv5 (RFC 9562) of a name, in the name space of URLs: the same key gives the same id, so what has a natural key
# is found by `get`, without an index, and a second put of a key replaces the first.
id_of() {
  local hash
  hash=$(printf '\x6b\xa7\xb8\x11\x9d\xad\x11\xd1\x80\xb4\x00\xc0\x4f\xd4\x30\xc8%s' "$1" | sha1sum)
  printf '%s5%s%x%s\n' "${hash:0:12}" "${hash:13:3}" $((0x${hash:16:1} & 3 | 8)) "${hash:17:15}"
}
with_ids() {  # lines that begin with a key
  local line key
  while IFS= read -r line; do
    key=${line#'{"key": "'}
    printf '{"id": "%s", %s\n' "$(id_of "${key%%\"*}")" "${line#'{'}"
  done
}
author_ids() { while IFS= read -r author; do id_of "author/$author"; done; }

step "Everything is an entity; its type is a property like any other"
run 'with_ids < authors.jsonl | looseleaf put --quiet'
run 'with_ids < entries.jsonl | looseleaf put --quiet'
run 'with_ids < comments.jsonl | looseleaf put --quiet'
run 'looseleaf create-index --quiet --backfill definitions/*.json'

step "An author, and an entry, by key"
run 'id_of author/arin | looseleaf get -'
run 'id_of entry/first-gig | looseleaf get -'

step "The 10 newest entries tagged guitar, and the page after them"
run 'page=$(looseleaf query entries_by_tag tags=guitar --desc --limit 10 --output json)'
run 'member title <<< "$page"'
run 'next=$(member next <<< "$page")'
run 'looseleaf query entries_by_tag tags=guitar --desc --limit 10 --after "$next" | member title'

step "The 10 newest of all, with a tag or without"
run 'looseleaf query entries_by_time --desc --limit 10 --output json | member title'

step "The comments of an entry, in order of time"
run 'looseleaf query comments_by_entry slug=second-gig'

step "The front page: what one query gives is what the next one asks for; get answers in the order asked"
run 'page=$(looseleaf query entries_by_time --desc --limit 5 --output json)'
run 'member author <<< "$page" | author_ids | looseleaf get - | member name | paste - <(member title <<< "$page")'
