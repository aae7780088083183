#!/bin/bash
# Builds looseleaf's Debian packages for the system that it runs on and prints their paths. The same sources give the
# same packages, byte for byte: their time is that of the last commit unless SOURCE_DATE_EPOCH says otherwise.
# With DEB_BUILD_OPTIONS=noopt they are optimised little, and built sooner: a test of packages is none of their speed.
# usage: packaging/deb/build.sh [BUILD-DIR]      (build/deb; the packages are then in BUILD-DIR/packages)
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "${1:-$source/build/deb}"
build=$(cd "${1:-$source/build/deb}" && pwd)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$source" log -1 --format=%ct 2> /dev/null ||
  stat -c %Y "$source/CHANGELOG.md")}
export SOURCE_DATE_EPOCH

optimised=-O3
[[ " ${DEB_BUILD_OPTIONS:-} " != *" noopt "* ]] || optimised=-O1  # -O0 cannot be fortified

umask 022
cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="$optimised -DNDEBUG" \
  -DLOOSELEAF_TESTS=OFF -DLOOSELEAF_DEB=ON \
  -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR="lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)" \
  -DCMAKE_SKIP_INSTALL_RPATH=ON -DLOOSELEAF_ZSH_COMPLETIONS=share/zsh/vendor-completions >&2
cmake --build "$build" --parallel "$(nproc)" >&2
rm -rf "$build/packages"
cd "$build"
cpack -G DEB >&2
ls -d "$build"/packages/*.deb
