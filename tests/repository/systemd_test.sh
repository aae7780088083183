#!/bin/sh
# The units in packaging/systemd: systemd accepts them without a warning, and finds little that they leave open.
set -eu
units=$(cd "$(dirname "$0")/../../packaging/systemd" && pwd)
command -v systemd-analyze > /dev/null || { echo "skipped: systemd-analyze is not installed"; exit 77; }
copies=$(mktemp -d)
trap 'rm -rf "$copies"' EXIT
# The program, the account and the manual page may not be installed here.
for unit in "$units"/*; do
  sed -e 's,/usr/bin/looseleaf,/bin/true,; s/^User=.*/User=daemon/; /^Documentation=/d' "$unit" > "$copies/${unit##*/}"
done
complaints=$(systemd-analyze verify --man=no "$copies"/*.service "$copies"/*.timer 2>&1 | grep "$copies" || true)
[ -z "$complaints" ] || { echo "$complaints"; exit 1; }
for unit in "$copies"/*.service; do
  # Tenths of the exposure level, which is 10 without any hardening.
  systemd-analyze security --offline=true --threshold=20 "$unit" > "$copies/report" || { cat "$copies/report"; exit 1; }
done
echo "systemd accepts $(ls "$units" | wc -l) units"
