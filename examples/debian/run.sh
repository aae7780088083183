#!/bin/bash
# A list of Debian packages: by maintainer, by section and installed size, and by tag. packages.txt holds a few records
# of `apt-cache dumpavail`; with PACKAGES=all this machine's whole list is taken.
# usage: examples/debian/run.sh [DIR]     see examples/start.sh
# shellcheck source=examples/start.sh disable=SC2016
. "$(dirname "$0")/../start.sh" "$@"
records() { if [ "${PACKAGES:-}" = all ]; then apt-cache dumpavail; else cat packages.txt; fi; }

step "Records become entities: an id from the package's checksum, numbers as numbers, tags as an array"
run 'records | ../debian_packages.pl | sed -n 1p'
run 'looseleaf create-index --quiet definitions/*.json'
run 'records | ../debian_packages.pl | looseleaf put --quiet'

step "By maintainer: all whose name begins so"
run 'looseleaf query index_maintainer "maintainer^=Debian Zsh Maintainers" | member package'

step "By section and installed size (KiB): the largest shells, and the editors of less than a MiB"
run 'looseleaf query index_section section=shells --desc --limit 3 --output json | member package'
run 'looseleaf query index_section section=editors "installed_size<1024" | member package'

step "By tag, of which a package has many: the smallest with it, and how many have any of two"
run 'looseleaf query index_tags tags=implemented-in::c --limit 3 --output json | member package'
run 'looseleaf query index_tags tags=use::editing tags=use::login --count'

step "What no index has is a filter"
run 'looseleaf query index_tags tags=suite::gnu --where section=editors | member package'
