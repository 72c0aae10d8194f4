#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Installs, from Debian's packages, what is missing for some purposes, and says what it installs.
#
#   scripts/deps.sh build|demo|test|programs|browser|lint|fuzz|deb|deb-test|fresh-test…
#
# Asks first, and touches nothing where everything is there: a package counts as there when dpkg
# has it, or when what it is needed for works. Needs root, directly or through sudo.

set -u

missing=()

# need PACKAGE PROBE…: the package is needed, unless the probe succeeds.
need() {
	local package=$1
	shift
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] && return
	"$@" >/dev/null 2>&1 || missing+=("$package")
}

header() {
	printf '#include <%s>\n' "$1" | "${CC:-gcc}" -E -
}

links() {
	echo 'int main(void) { return 0; }' | "${CC:-gcc}" -x c - -o /dev/null "-l$1"
}

build() {
	need gcc command -v "${CC:-gcc}"
	need libc6-dev header stdlib.h
	need pkg-config command -v pkg-config
	need libfuse3-dev pkg-config --exists fuse3
	need fuse3 command -v fusermount3
	need libleveldb-dev header leveldb/c.h
	need libsnappy-dev links snappy # as LevelDB's static library
	need g++ links stdc++
	need libpcre2-dev pkg-config --exists libpcre2-8
	need libjansson-dev pkg-config --exists jansson
}

demo() {
	need jq command -v jq
	need attr command -v getfattr
	need kmod command -v modprobe
}

tests() {
	demo
	need check pkg-config --exists check
	need rsync command -v rsync
	need procps command -v ps
	need python3 python3 -c 'import ctypes, sqlite3'
	need binutils command -v nm
	need ed command -v ed
	need less command -v less
	need vim command -v vim
	need xxd command -v xxd
	need fio command -v fio
	need stress-ng command -v stress-ng
	need faketime command -v faketime
	need sqlite3 command -v sqlite3
	need e2fsprogs command -v mkfs.ext4
	need systemd command -v systemd-analyze
	need libxml2-utils command -v xmllint
	need tidy command -v tidy
	need xz-utils command -v xz # for tests/fixtures/
	need zsh command -v zsh
}

# The programs of docs/programs.md that the other purposes do not install.
programs() {
	need busybox command -v busybox
	need rust-coreutils command -v rust-coreutils
	need nodejs command -v node
	need bindfs command -v bindfs
	need sshfs command -v sshfs
	need openssh-server command -v sshd
	need samba command -v smbd
	need smbclient command -v smbclient
	need curl command -v curl
	need cpio command -v cpio
	need zstd command -v zstd
}

browser() {
	need chromium command -v chromium
	need chromium-driver command -v chromedriver
}

lint() {
	need clang-format command -v clang-format
	need clang-tidy command -v clang-tidy
	need shellcheck command -v shellcheck
	need mandoc command -v mandoc
	need shfmt command -v shfmt
}

fuzzer() {
	echo 'int LLVMFuzzerTestOneInput(void); int LLVMFuzzerTestOneInput(void) { return 0; }' |
		clang -fsanitize=fuzzer,address -x c -o /dev/null -
}

fuzz() {
	need clang command -v clang
	need libclang-rt-dev fuzzer
}

deb() {
	need build-essential false # dpkg-buildpackage asks for the package
	need dpkg-dev command -v dpkg-buildpackage
	need debhelper command -v dh
}

deb_test() {
	need lintian command -v lintian
	need mmdebstrap command -v mmdebstrap
}

fresh_test() {
	need git command -v git
	need mmdebstrap command -v mmdebstrap
}

fail() {
	echo "deps: $1" >&2
	echo "deps: please install: ${missing[*]}" >&2
	exit 1
}

install() {
	local as_root=()
	command -v apt-get >/dev/null || fail "this system has no apt-get to install packages with"
	if [ "$(id -u)" != 0 ]; then
		command -v sudo >/dev/null || fail "installing needs root, and there is no sudo"
		as_root=(sudo)
	fi
	as_root+=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
	echo "deps: installing from Debian's packages: ${missing[*]}"
	"${as_root[@]}" update || echo "deps: the package lists could not be updated" >&2
	"${as_root[@]}" install -y --no-install-recommends "${missing[@]}" ||
		fail "apt-get could not install them"
}

for purpose in "$@"; do
	case $purpose in
	build) build ;;
	demo) demo ;;
	test) tests ;;
	programs) programs ;;
	browser) browser ;;
	lint) lint ;;
	fuzz) fuzz ;;
	deb) deb ;;
	deb-test) deb_test ;;
	fresh-test) fresh_test ;;
	*)
		echo "usage: deps.sh build|demo|test|programs|browser|lint|fuzz|deb|deb-test|fresh-test…" >&2
		exit 2
		;;
	esac
done
((${#missing[@]} == 0)) || install
