#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Makes the Debian package of this checkout, in a copy of it, so that nothing is left here.
#
#   scripts/deb.sh BUILD VERSION    puts rowfs_VERSION_ARCHITECTURE.deb, .changes and .buildinfo into BUILD

set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "$1"
build=$(realpath "$1")
version=$2

packaged=$(dpkg-parsechangelog -S Version)
if [ "$packaged" != "$version" ]; then
	echo "deb: debian/changelog is of version $packaged, and Makefile of $version" >&2
	exit 1
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/rowfs-deb.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
mkdir "$work/rowfs-$version"
# What is built may lie in the checkout, and somebody may have mounted something there.
tar -cf - --one-file-system --exclude=./.git --exclude=./build --exclude="./${build#"$PWD/"}" . |
	tar -xf - -C "$work/rowfs-$version"
rm -f "$build"/rowfs_*.deb "$build"/rowfs_*.changes "$build"/rowfs_*.buildinfo
# make runs this script, and the one that builds the package is to know nothing of that.
unset MAKEFLAGS MFLAGS MAKELEVEL BUILD PREFIX DESTDIR CC CFLAGS CPPFLAGS CXXFLAGS LDFLAGS SANITIZE WERROR
(
	cd "$work/rowfs-$version"
	DEB_BUILD_OPTIONS="noautodbgsym parallel=$(nproc)" dpkg-buildpackage -us -uc -b --no-pre-clean
)
cp "$work"/rowfs_*.deb "$work"/rowfs_*.changes "$work"/rowfs_*.buildinfo "$build"
echo "deb: made $(echo "$build"/rowfs_*.deb)"
