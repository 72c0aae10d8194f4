#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Makes a store of this machine's package index and package log, mounts it, shows a short tour and leaves it
# mounted. Run by `make demo`, when the programs are built; a second run starts afresh.

set -euo pipefail
export LC_ALL=C.UTF-8

cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=${BUILD:-build}
store=$build/demo/packages.db
rows=$build/demo/packages.jsonl
log=$build/demo/log.jsonl
mnt=$build/demo/mnt

fail() {
	printf 'demo: %s\n' "$1" >&2
	exit 1
}

say() {
	echo
	printf '# %s\n' "$@"
}

# Prints a command as one would type it, and runs it where the tour is.
show() {
	printf '$ %s\n' "$1"
	(cd "${2:-.}" && bash -c "$1") || fail "this command failed: $1"
}

# seconds_of COMMAND…: runs it and sets seconds.
seconds_of() {
	local start=${EPOCHREALTIME/./} end
	"$@"
	end=${EPOCHREALTIME/./}
	seconds=$(printf '%d.%d' $(((end - start) / 1000000)) $(((end - start) / 100000 % 10)))
}

is_mounted() {
	local place
	while read -r _ place _; do
		[ "$(printf '%b' "$place")" = "$1" ] && return 0
	done </proc/self/mounts
	return 1
}

unmount_previous() {
	local place
	place=$(realpath -sm "$mnt")
	is_mounted "$place" || return 0
	say "The previous demo is still mounted: unmounting it"
	printf '$ %s\n' "fusermount3 -u $mnt"
	fusermount3 -u "$mnt" || fail "something still works in $mnt, perhaps a shell whose \
directory it is: leave it and run this again"
}

# The programs of a mount end a moment after it.
make_store() {
	local _
	for _ in {1..50}; do
		"$build/mkfs.rowfs" --schema demo/schema.json --force "$store" 2>"$build/demo/.error" && return
		grep -q 'in use' "$build/demo/.error" || break
		sleep 0.1
	done
	cat "$build/demo/.error" >&2
	fail "$store could not be made"
}

rows_of() {
	"$@" 2>/dev/null | LC_ALL=C awk -f demo/packages.awk >"$rows"
}

# All packages that apt knows; where it knows none, those that are installed.
write_rows() {
	rows_of apt-cache dumpavail || true
	(($(wc -l <"$rows") > 1)) || rows_of dpkg-query --status
}

load() {
	show "$build/rowfs-load $store $1"
}

# The changes in the log of dpkg, and in the one before it. Sets changes to their number: 0 where
# there is no log, or an empty one.
write_log() {
	cat /var/log/dpkg.log.1 /var/log/dpkg.log 2>/dev/null | LC_ALL=C awk -f demo/log.awk >"$log" || true
	changes=$(($(wc -l <"$log") - 1))
}

# Who called sudo is to see the mount too.
mount_options() {
	local options=()
	if [ "$(id -u)" -eq 0 ] && [ -n "${SUDO_UID:-}" ]; then
		options+=(allow_other "uid=$SUDO_UID" "gid=${SUDO_GID:-$SUDO_UID}")
	fi
	local IFS=,
	[ ${#options[@]} -eq 0 ] || printf -- '-o %s ' "${options[*]}"
}

prepare() {
	local program
	for program in rowfs mkfs.rowfs rowfs-load; do
		[ -x "$build/$program" ] || fail "$build/$program is missing: run 'make' first"
	done
	[ -e /dev/fuse ] || modprobe fuse 2>/dev/null || true
	[ -e /dev/fuse ] || fail "there is no /dev/fuse, so nothing can be mounted here: load the \
kernel's module fuse, or give the container that device (docker run --device /dev/fuse \
--cap-add SYS_ADMIN)"
	mkdir -p "$build/demo"
	unmount_previous
	mkdir -p "$mnt"
}

fill() {
	local count
	say "The index of Debian's packages, as one line of JSON for each package"
	seconds_of write_rows
	count=$(($(wc -l <"$rows") - 1))
	((count > 0)) || fail "neither apt-cache nor dpkg-query knows a package"
	echo "$rows: $count packages, $(($(stat -c %s "$rows") >> 20)) MiB, in $seconds s"

	say "An empty store with two tables, packages and log"
	printf '$ %s\n' "$build/mkfs.rowfs --schema demo/schema.json --force $store"
	make_store

	say "All packages into the store: keys are section#package#version"
	seconds_of load "$rows"
	echo "$count rows in $seconds s"

	say "The log of package changes: keys are time#package"
	write_log
	if ((changes > 0)); then
		load "$log"
	else
		echo "/var/log/dpkg.log is missing or has no changes: the table stays empty"
	fi

	say "The store as a directory"
	seconds_of show "$build/rowfs $(mount_options)$store $mnt"
	echo "mounted in $seconds s"
}

# head ends early and breaks the pipe of what feeds it: no failure, as pipefail is not set there.
tour() {
	local package note
	package=$(cd "$mnt/packages" && printf '%s\n' */coreutils/* | head -n 1)
	[ -d "$mnt/packages/$package" ] || fail "there is no package coreutils in $mnt"
	note=packages/$package/meta/note

	say "Tables are directories, and so are the parts of the keys between '#'"
	printf '$ cd %s\n' "$mnt"
	show "ls" "$mnt"
	show "ls packages | head -n 8" "$mnt"
	show "ls packages/${package%%/*} | wc -l" "$mnt"

	say "A row is a directory of column families, a family one of columns, a column a file"
	show "ls packages/$package packages/$package/meta" "$mnt"
	show "cat packages/$package/desc/summary; echo" "$mnt"
	show "ls -l packages/$package/meta/maintainer" "$mnt"

	say "So the tools that you know work"
	show "find packages/${package%%/*} -path '*/core*' -name summary | head -n 4" "$mnt"
	show "grep -ri gnu packages/$package | cut -c 1-90" "$mnt"

	say "Writing makes a new version of a cell; NAME@ holds them all, by microseconds since 1970"
	show "echo 'to be looked at' > $note" "$mnt"
	show "echo 'looked at, fine' > $note" "$mnt"
	show "cat $note" "$mnt"
	show "ls $note@" "$mnt"
	show "grep . $note@/*" "$mnt"

	say "A question is a path as well: views are directories with fewer rows or cells"
	show "cat packages/.last/3/.keys" "$mnt"
	show "cat 'packages/.key/.*#coreutils#.*/.keys'" "$mnt"
	show "cat packages/.has/meta:note/.columns/meta:note/.newest/1/.rows" "$mnt"

	if ((changes > 0)); then
		say "A key design: times that people read, stored newest first and spread over 4 buckets"
		show "cat log/.design" "$mnt"
		show "ls -U log | head -n 3" "$mnt"
		show "cat log/.first/3/.rows" "$mnt"
		show "cat log/.raw/.first/3/.keys" "$mnt"
	fi

	say "The schema, with how many versions each family keeps"
	show "jq -c '.tables.packages.families | map_values(.gc)' .rowfs/schema.json" "$mnt"
}

prepare
fill
tour
say "It stays mounted at $mnt: look around." "To unmount:  fusermount3 -u $mnt" \
	"To remove it then:  rm -r $build/demo"
