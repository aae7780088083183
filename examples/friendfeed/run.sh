#!/bin/bash
# The store of the article "How FriendFeed uses MySQL to store schema-less data": entries, found by their user, by their
# feed in order of time, and by their link. The indexes are made while the entries are there already.
# usage: examples/friendfeed/run.sh [DIR]     see examples/start.sh
# shellcheck source=examples/start.sh disable=SC2016,SC2034
. "$(dirname "$0")/../start.sh" "$@"
user=f48b0440ca0c4f66991c4d5f6a078eaf

step "Entries need no declaration; what is different about one is just there"
run 'looseleaf put --quiet < entries.jsonl'
run 'looseleaf get 5c6d7e8f-901a-4b2c-8d3e-4f5061728394'

step "An index is a table of its own: nothing is done to the entries"
run 'looseleaf create-index --dry-run definitions/index_user_id.json | grep -A 4 -m 1 ^CREATE | cut -d = -f 1,2'
run 'looseleaf create-index --quiet --backfill definitions/*.json'

step "The entries of a user"
run 'looseleaf query index_user_id user_id=$user | member title'

step "What is new in the feed of that user, newest first, and what came in an hour"
run 'looseleaf query index_feed_id feed_id=$user --desc --limit 2 --output json | member title'
run 'looseleaf query index_feed_id feed_id=$user "published>=1235696400" "published<1235700000" | member title'

step "Who has linked this? And anything on that site?"
run 'looseleaf query index_link "link=http://photos.example.org/cat?size=large" --ids'
run 'looseleaf query index_link "link^=http://photos.example.org/" | member title'

step "A condition on what the index is sharded on asks one shard; without it all are asked"
run 'looseleaf query index_user_id user_id=$user --explain | grep -c ^shard'
run 'looseleaf query index_user_id --explain | grep -c ^shard'

step "Does every index agree with the entries?"
run 'looseleaf verify --quiet'
