#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Makes a store of this machine's package index and package log, mounts it, shows a short tour and leaves it
# mounted. Run by `make demo`, when the programs are built; a second run starts afresh.

set -euo pipefail
shopt -s extglob
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

# Prints a command as one would type it, and runs it in this shell.
show() {
	printf '$ %s\n' "$1"
	eval "$1" || fail "this command failed: $1"
}

# A command that fails, with its message.
show_refused() {
	printf '$ %s\n' "$1"
	if message=$(eval "$1" 2>&1); then
		fail "this command did not fail: $1"
	fi
	printf '%s\n' "${message/*line +([0-9]): /bash: }"
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
	local place pid
	place=$(realpath -sm "$mnt")
	is_mounted "$place" || return 0
	pid=$("$build/rowfs" --status | awk -F '\t' -v place="$place" '$2 == place { print $3 }')
	say "The previous demo is still mounted: unmounting it"
	printf '$ %s\n' "fusermount3 -u $mnt"
	fusermount3 -u "$mnt" || fail "something still works in $mnt, perhaps a shell whose \
directory it is: leave it and run this again"
	# Its process ends a moment after it.
	! [[ $pid =~ ^[0-9]+$ ]] || tail --pid="$pid" -s 0.1 -f /dev/null
}

make_store() {
	"$build/mkfs.rowfs" --schema demo/schema.json --force "$store" || fail "$store could not be made"
}

rows_of() {
	"$@" 2>/dev/null | LC_ALL=C awk -f demo/packages.awk >"$rows"
}

# All packages that apt knows; where it knows none, those that are installed.
write_rows() {
	rows_of apt-cache dumpavail || true
	(($(wc -l <"$rows") > 1)) || rows_of dpkg-query --status
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
	say "A store: tables packages (section#package#version) and log (time#package)"
	printf '$ %s\n' "$build/mkfs.rowfs --schema demo/schema.json --force $store"
	make_store

	say "Debian's package index and dpkg's log of changes, as one line of JSON for each row"
	seconds_of write_rows
	(($(wc -l <"$rows") > 1)) || fail "neither apt-cache nor dpkg-query knows a package"
	echo "$rows: $(($(stat -c %s "$rows") >> 20)) MiB, made in $seconds s"
	show "$build/rowfs-load $store $rows"
	write_log
	if ((changes > 0)); then
		show "$build/rowfs-load $store $log"
	else
		echo "/var/log/dpkg.log is missing or has no changes: the table log stays empty"
	fi

	say "The store as a directory"
	seconds_of show "$build/rowfs $(mount_options)$store $mnt"
	echo "mounted in $seconds s"
}

tour() {
	local row
	set +o pipefail # head ends before the command that feeds it
	show "cd $mnt"
	row=$(printf '%s\n' packages/*/coreutils/* | head -n 1)
	[ -d "$row" ] || fail "there is no package coreutils in $mnt"

	say "Tables are directories, and so are the parts of a key between '#'"
	show "ls"
	show "ls packages | head -n 3"
	show "ls packages/$(cut -d / -f 2 <<<"$row") | wc -l"

	say "A row is a directory of column families, a family one of columns, a column a file"
	show "row=$row"
	# shellcheck disable=SC2016 # the commands are shown as one would type them
	{
		show 'ls $row $row/desc'
		show 'cat $row/desc/summary; echo'
		show 'grep -ri gnu $row | cut -c 1-76'
		show 'find ${row%/*/*} -path "*/core*" -name summary | head -n 2'

		say "A write makes a new version of a cell; NAME@ holds all versions"
		show "echo 'to be looked at' >\$row/meta/note"
		show "echo 'looked at, fine' >\$row/meta/note"
		show 'cat $row/meta/note'
		show 'cat $row/meta/note@/*'

		say "A mistake has its reason in .rowfs/errors"
		show_refused 'echo 7 >$row/weight'
		show "tail -n 1 .rowfs/errors | cut -d ' ' -f 2-"

		say "A question is a path: views are directories with fewer rows or cells"
		show 'cat packages/.last/2/.keys'
		show "cat 'packages/.key/.*#coreutils#.*/.keys'"
		show 'cat packages/.has/meta:note/.keys'

		say "Two moments compared: here a script overwrites what it should not"
		show 'before=$(date -u +%FT%T.%6NZ)'
		show 'for column in maintainer priority; do echo oops >$row/meta/$column; done'
		show 'cat packages/.since/$before/.keys'
		show "diff -r packages/.at/\$before/\${row#*/} \$row | grep '^[<>]'"

		say "The change undone: its versions are deleted, and the values before it show again"
		show 'find .versions/$row -type f -newermt $before -delete'
		show 'grep . $row/meta/{maintainer,priority}'

		say "A watcher gets each change when it happens, as a line of JSON"
		show 'exec 3<packages/.changes'
		show 'echo watched >$row/meta/note'
		show "head -n 1 <&3 | jq -j '.key + \" \" + .families.meta.note[0].value'"
		exec 3<&-
	}

	((changes > 0)) || return 0
	say "A key design: times that people read, stored with the newest first, in 4 buckets"
	show "cat log/.design"
	show "ls -U log | head -n 2"
	show "cat log/.raw/.first/1/.keys"
}

next() {
	say "It stays mounted at $mnt. Next:"
	printf '#   %-40s %s\n' \
		"cat $mnt/.rowfs/help" "all hidden names" \
		"docs/queries.md" "more questions as paths" \
		"docs/row-keys.md" "how to choose row keys" \
		"$build/mkfs.rowfs --help" "a store of your own" \
		"$build/rowfs-load --help" "your own rows into it, from JSON or CSV" \
		"fusermount3 -u $mnt" "the end of this mount" \
		"rm -r $build/demo" "and of its store"
}

prepare
fill
tour
next
