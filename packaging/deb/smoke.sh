#!/bin/sh
# In a fresh Debian: installs the packages beside this script with what they depend on, and tries the program.
set -eu
mount -t proc proc /proc
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
cd /root
apt-get install -y -qq --no-install-recommends ./*.deb mariadb-server-core > log 2>&1 || { cat log; exit 1; }

LOOSELEAF_CLUSTER=$(looseleaf sandbox start --shards 2 --dir /tmp/box --quiet)
export LOOSELEAF_CLUSTER
looseleaf init > /dev/null
echo '{"table": "index_n", "properties": [{"name": "n", "type": "int"}]}' > index.json
looseleaf create-index index.json
for n in 1 2 3; do
  echo "{\"id\": \"0000000000000000000000000000000$n\", \"n\": $n}"
done | looseleaf put --quiet
[ "$(looseleaf query index_n 'n>1' --ids | wc -l)" -eq 2 ]
looseleaf verify
looseleaf sandbox delete --dir /tmp/box

apt-get purge -y -qq looseleaf liblooseleaf0 liblooseleaf-dev > log 2>&1 || { cat log; exit 1; }
left=$(find / -xdev -name '*looseleaf*' ! -path '/root/*' ! -path '/var/lib/apt/*' ! -path '/var/log/*' ! -path '/var/cache/*')
[ -z "$left" ] || { echo "left behind: $left"; exit 1; }
