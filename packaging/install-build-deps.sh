#!/bin/bash
# Installs the Debian packages that building Looseleaf needs, and with --tests or --servers those for testing or trying
# it as well. Does nothing, and needs no rights, where they are all there.
# usage: install-build-deps.sh [--tests] [--servers] [--list]
set -euo pipefail

packages=(g++ cmake ninja-build pkg-config libcli11-dev libdeflate-dev libfmt-dev libisal-dev libmysqlcppconn-dev
          libsimdjson-dev nlohmann-json3-dev uuid-dev zlib1g-dev)
tests=(clang debootstrap doctest-dev dpkg-dev fish gnuplot-nox libclang-rt-dev libmariadb-dev lintian mandoc
       mariadb-client openssl python3-jsonschema python3-yaml scdoc spin sqlite3 tcc tmux zsh)
servers=(mariadb-server-core mariadb-client-core)
list=no
for option in "$@"; do
  case $option in
    --tests) packages+=("${tests[@]}" "${servers[@]}") ;;
    --servers) packages+=("${servers[@]}") ;;
    --list) list=yes ;;
    *) sed -n '2,4s/^# //p' "$0" >&2; exit 2 ;;
  esac
done
if [ $list = yes ]; then
  printf '%s\n' "${packages[@]}" | sort -u
  exit
fi
if ! command -v dpkg-query > /dev/null; then
  echo "install-build-deps: not a Debian system; have these or their likes installed: ${packages[*]}" >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  case $(dpkg-query -W -f '${Status}' "$package" 2> /dev/null || true) in
    *' installed') ;;
    *) missing+=("$package") ;;
  esac
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo > /dev/null || {
    echo "install-build-deps: run as root: apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  }
  as_root=(sudo)
fi
echo "install-build-deps: installing ${missing[*]}" >&2
install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}")
# Package lists may be absent (a fresh container) or out of date; then they are fetched and it is tried once more.
if ! "${install[@]}" > /dev/null 2>&1; then
  "${as_root[@]}" apt-get update -qq >&2
  "${install[@]}" >&2
fi
