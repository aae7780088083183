#!/bin/bash
# Unpacks Oracle MySQL from Debian's unstable suite, with the libraries it needs, into a folder, for tests.
# usage: fetch-mysql.sh DEST     then: LOOSELEAF_TEST_SERVER=DEST tests/run.sh
# Touches nothing outside DEST: a private apt root downloads, dpkg-deb unpacks, and DEST/bin/ gets wrappers that run
# the programs through the libraries unpacked beside them. Does nothing if DEST holds a server that works.
set -euo pipefail
dest=$(realpath -m "${1:?usage: fetch-mysql.sh DEST}")
packages=(mysql-server-core mysql-client-core)

if [ -x "$dest/bin/mysqld" ] && "$dest/bin/mysqld" --no-defaults --version > /dev/null 2>&1; then
  exit 0
fi
for program in apt-get dpkg dpkg-deb; do
  command -v $program > /dev/null || { echo "fetch-mysql: needs $program" >&2; exit 1; }
done
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -r $keyring ] || { echo "fetch-mysql: needs the package debian-archive-keyring" >&2; exit 1; }
# Whatever mirror this machine uses already.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -E '/debian/?$' | sort -u | head -n 1 || true)
[ -n "$mirror" ] || { echo "fetch-mysql: no Debian mirror is configured; run apt-get update first" >&2; exit 1; }

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/etc/apt/{apt.conf.d,preferences.d,sources.list.d} "$root"/{state/lists,cache/archives}/partial "$dest/bin"
: > "$root/state/status"
echo "deb [signed-by=$keyring] $mirror sid main" > "$root/etc/apt/sources.list"
architecture=$(dpkg --print-architecture)
cat > "$root/apt.conf" << CONF
Dir "$root";
Dir::Etc "$root/etc/apt";
Dir::State "$root/state";
Dir::State::status "$root/state/status";
Dir::Cache "$root/cache";
APT::Architecture "$architecture";
APT::Architectures { "$architecture"; };
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::Check-Valid-Until "false";
CONF
# (A mirror may be a snapshot of another day; signatures are checked all the same.)
# What the machine's own configuration says about proxies holds here too.
apt-config dump | grep -E '^Acquire::(http|https)::(Proxy|CAInfo)' >> "$root/apt.conf" || true
export APT_CONFIG=$root/apt.conf
apt-get -qq update
apt-get -qq install -y --no-install-recommends --download-only "${packages[@]}" > /dev/null
for deb in "$root"/cache/archives/*.deb; do
  case $deb in
    */perl* | */libperl*) ;;  # for scripts that are not used here, and large
    *) dpkg-deb -x "$deb" "$dest" ;;
  esac
done

loader=$(find "$dest" -name 'ld-linux*.so.*' | sort | head -n 1)
libraries=$(dirname "$(find "$dest" -name 'libc.so.6' | sort | head -n 1)")
libraries=$libraries:$(dirname "$(find "$dest" -name 'libstdc++.so.6' | sort | head -n 1)")
wrap() {  # NAME PROGRAM [FIXED ARGUMENT…]: a wrapper that puts fixed arguments after its first, which is --no-defaults
  local name=$1 program=$2
  shift 2
  {
    echo '#!/bin/sh'
    [ $# -eq 0 ] || echo 'first=$1; shift'
    printf 'exec %q --argv0 %q --library-path %q %q' "$loader" "$program" "$libraries" "$program"
    [ $# -eq 0 ] || { printf ' "$first"'; printf ' %q' "$@"; }
    echo ' "$@"'
  } > "$dest/bin/$name"
  chmod +x "$dest/bin/$name"
}
wrap mysql "$dest/usr/bin/mysql"
wrap mysqld "$dest/usr/sbin/mysqld" --basedir="$dest/usr" --lc-messages-dir="$dest/usr/share/mysql" \
  --plugin-dir="$dest/usr/lib/mysql/plugin"
"$dest/bin/mysqld" --no-defaults --version >&2
