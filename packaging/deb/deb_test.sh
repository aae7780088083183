#!/bin/bash
# Two tests of the Debian packages. `build` builds them and looks at them: lintian, what they depend on, that they are
# hardened, name no folder of this machine and come out the same again; and a user's program is built from them. `install`
# installs those that `build` left in a fresh Debian and tries them there, which needs root, debootstrap and the mirror
# that apt is configured with. Each looks first whether it has what it needs; if not, it says so and counts as skipped.
# usage: packaging/deb/deb_test.sh build|install BUILD-DIR
set -eEuo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
part=${1:?usage: deb_test.sh build|install BUILD-DIR}
build=${2:?usage: deb_test.sh build|install BUILD-DIR}
[ -n "${LOOSELEAF_FULL:-}" ] || export DEB_BUILD_OPTIONS=noopt
skip() { echo "skipped: $*"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

check_packages() {
  local version package
  version=$(sed -nE 's/^project\(looseleaf VERSION ([0-9.]+) .*/\1-1/p' "$source/CMakeLists.txt")
  for package in "${packages[@]}"; do
    [ "$(dpkg-deb -f "$package" Version)" = "$version" ] || { echo "deb_test: $package has another version" >&2; exit 1; }
  done
  grep -qF "liblooseleaf0 (= $version)" <<< "$(dpkg-deb -f "$build"/packages/looseleaf_*.deb Depends)"
  grep -qF "liblooseleaf0 (= $version)" <<< "$(dpkg-deb -f "$build"/packages/liblooseleaf-dev_*.deb Depends)"
  grep -qE 'libdeflate.*libisal.*libmysqlcppconn' <<< "$(dpkg-deb -f "$build"/packages/liblooseleaf0_*.deb Depends)"
  # Not for Debian's archive, so no bug of its tracker asks for them; and CPack cannot be kept from writing scripts that
  # call ldconfig beside the trigger that does so.
  lintian --allow-root --fail-on error,warning \
    --suppress-tags initial-upload-closes-no-bugs,maintscript-calls-ldconfig "${packages[@]}"
}

check_files() {  # what the packages hold, unpacked into a folder
  local tree=$work/tree
  for package in "${packages[@]}"; do
    dpkg-deb -x "$package" "$tree"
  done
  library=$(find "$tree" -name 'liblooseleaf.so.0')
  "$source/tests/repository/hardening_test.sh" --fortified "$tree/usr/bin/looseleaf" "$library"
  if grep -rlaF -e "$source" -e "$build" "$tree"; then
    echo "deb_test: these files name a folder of the machine that built them" >&2
    exit 1
  fi
  # A user's program, by pkg-config and by CMake.
  PKG_CONFIG_PATH=$(dirname "$library")/pkgconfig
  export PKG_CONFIG_PATH
  # shellcheck disable=SC2046
  g++ -std=c++20 "$source/examples/library/feed.cpp" $(pkg-config --cflags --libs looseleaf) -o "$work/feed"
  cmake -S "$source/examples/library" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$tree/usr" \
    -DCMAKE_LIBRARY_ARCHITECTURE="$(basename "$(dirname "$library")")" > /dev/null
  cmake --build "$work/cmake" > /dev/null
  for program in "$work/feed" "$work/cmake/feed"; do
    { LD_LIBRARY_PATH=$(dirname "$library") "$program" /nonexistent 2>&1 || true; } | grep -q 'cannot be read'
  done
}

check_same_again() {
  local before
  before=$(sha256sum "${packages[@]}")
  "$source/packaging/deb/build.sh" "$build" > /dev/null 2> "$work/log" || { cat "$work/log"; exit 1; }
  diff <(echo "$before") <(sha256sum "${packages[@]}")
}

# The mirror that apt is configured with for the release that runs here.
find_mirror() {
  codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  mirror=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
    awk -v codename="$codename" '$1 == codename {print $2; exit}')
  local proxy=
  eval "$(apt-config shell proxy Acquire::http::Proxy)"
  [ -z "$proxy" ] || export http_proxy=$proxy
  [ -n "$mirror" ] || skip "apt is configured with no mirror of $codename"
  wget -q --timeout=20 --tries=2 -O /dev/null "${mirror%/}/dists/$codename/Release" || skip "the mirror of $codename does not answer"
}

try_in_fresh_debian() {
  local root=$work/root
  debootstrap --variant=minbase --exclude=e2fsprogs "$codename" "$root" "$mirror" > "$work/log" 2>&1 ||
    { tail -20 "$work/log"; skip "debootstrap could not set up a Debian here, see above"; }
  cp "${packages[@]}" "$source/packaging/deb/smoke.sh" "$root/root"
  # A process name space of its own: whatever was started in it ends with it.
  unshare --mount --pid --fork --kill-child chroot "$root" /bin/sh /root/smoke.sh
}

expect_three() { [ ${#packages[@]} -eq 3 ] || { echo "deb_test: there are ${#packages[@]} packages, not 3" >&2; exit 1; }; }

# Where a check fails without a word, the line says which.
trap 'echo "deb_test: failed at line $LINENO" >&2' ERR
case $part in
  build)
    for tool in dpkg-shlibdeps lintian scdoc; do
      command -v "$tool" > /dev/null || skip "$tool is not installed"
    done
    # Minutes of compiling must not hold up the tests beside it.
    mapfile -t packages < <(nice "$source/packaging/deb/build.sh" "$build" 2> "$work/log" || { tail -30 "$work/log" >&2; })
    expect_three
    check_packages
    check_files
    check_same_again
    echo "deb_test: ${#packages[@]} packages are as they should be"
    ;;
  install)
    [ "$(id -u)" = 0 ] || skip "a fresh Debian needs root"
    command -v debootstrap > /dev/null || skip "debootstrap is not installed"
    unshare --mount --pid --fork true 2> /dev/null || skip "this system lets nobody have a name space of their own"
    mapfile -t packages < <(ls -d "$build"/packages/*.deb 2> /dev/null)
    [ ${#packages[@]} -gt 0 ] || skip "no packages were built, see the test deb"
    expect_three
    find_mirror
    try_in_fresh_debian
    echo "deb_test: ${#packages[@]} packages work in a fresh Debian"
    ;;
  *) sed -n '6s/^# //p' "$0" >&2; exit 2 ;;
esac
