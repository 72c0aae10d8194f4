#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Checks what a compiler does not: layout, common faults, shell scripts, and who may include what.
# Closes with one line: "N passed, N failed".
#
#   scripts/lint.sh OBJECTS COMPILER-FLAG…     OBJECTS: where the programs' object files are

set -u
cd "$(dirname "$0")/.." || exit 1

passed=0
failed=0
work=$(mktemp -d "${TMPDIR:-/tmp}/rowfs-lint.XXXXXX") || exit 1
trap 'rm -rf -- "$work"' EXIT

objects=$1
shift
read -ra packages < <(pkg-config --cflags fuse3 jansson check)
flags=(-std=c11 "$@" "${packages[@]}")
mapfile -t sources < <(find lib store fs mkfs tests -name '*.c' | sort)
mapfile -t headers < <(find lib store fs mkfs tests -name '*.h' | sort)
pages=(man/*.?)
mkdir "$work/wide"
mapfile -t scripts < <(grep -rlIE '^#!.*sh$|^# shellcheck shell=' scripts tests demo .ci | sort)

# lint NAME COMMAND…: one check, which succeeds and prints nothing, or else prints what is wrong.
lint() {
	local name=$1
	shift
	if "$@" >"$work/out" 2>&1; then
		passed=$((passed + 1))
		printf 'ok   %s\n' "$name"
	else
		failed=$((failed + 1))
		printf 'FAIL %s\n' "$name"
		sed 's/^/    /' "$work/out"
	fi
}

layout() {
	local file status=0
	for file in "${sources[@]}" "${headers[@]}"; do
		clang-format "$file" | cmp -s - "$file" && continue
		echo "$file: needs clang-format -i"
		status=1
	done
	return "$status"
}

# The configuration is .clang-tidy.
faults() {
	clang-tidy --version >/dev/null || return
	printf '%s\0' "${sources[@]}" | xargs -0 -I '{}' -P "$(nproc)" \
		clang-tidy --quiet '{}' -- "${flags[@]}" >"$work/tidy" 2>/dev/null
	grep -E ': (warning|error):' "$work/tidy" && return 1
	return 0
}

shell() {
	shellcheck -x "${scripts[@]}" contrib/*.bash
}

# Which pages of other programs there are to refer to is this machine's matter.
manual() {
	! mandoc -T lint "${pages[@]}" 2>&1 |
		grep -vE 'referenced manual not found|outdated mandoc[.]db'
}

# Pages as man shows them at 80 columns, and the help of the programs.
columns() {
	local file status=0
	for file in "${pages[@]}"; do
		mandoc -T ascii -O width=78 "$file" | sed 's/.\x08//g' >"$work/wide/${file##*/}"
	done
	for file in "${objects%/*}"/{rowfs,*.rowfs,rowfs-*}; do
		[ ! -f "$file" ] || "$file" --help >"$work/wide/${file##*/} --help" || status=1
	done
	for file in "$work/wide"/*; do
		awk -v file="${file##*/}" 'length > 80 { print file ": " length " columns: " $0; bad = 1 } END { exit bad }' \
			"$file" || status=1
	done
	return "$status"
}

headers_alone() {
	local header status=0
	for header in "${headers[@]}"; do
		"${CC:-gcc}" "${flags[@]}" -Wall -Wextra -Werror -fsyntax-only -include "$header" \
			-x c /dev/null || status=1
	done
	return "$status"
}

licences() {
	local file status=0
	for file in "${sources[@]}" "${headers[@]}" "${scripts[@]}" "${pages[@]}" contrib/* debian/rules \
		Makefile; do
		head -n 3 "$file" | grep -q 'SPDX-License-Identifier: MIT' && continue
		echo "$file: no SPDX line"
		status=1
	done
	return "$status"
}

one_version() {
	local version file status=0
	version=$(sed -n 's/^VERSION := //p' Makefile)
	for file in debian/changelog CHANGELOG.md; do
		grep -m 1 -E '^(## |rowfs \()' "$file" | grep -wF -- "$version" >/dev/null && continue
		echo "$file: its newest entry is not of version $version, as Makefile is"
		status=1
	done
	return "$status"
}

# Prints "file:line:header" for each #include.
includes() {
	grep -nE '^[[:space:]]*#[[:space:]]*include' "$@" /dev/null |
		sed -E 's/^([^:]*:[0-9]+):[^<"]*[<"]([^>"]*)[>"].*/\1:\2/'
}

# no_include WHY REGEX FILE…: no file includes a header that matches.
no_include() {
	local why=$1 regex=$2
	shift 2
	(($# > 0)) || return 0
	! includes "$@" | grep -E ":($regex)\$" | sed "s|\$|: $why|" | grep .
}

only_where() {
	local why=$1 regex=$2
	shift 2
	mapfile -t files < <(find lib store fs mkfs tests -name '*.[ch]' "$@")
	no_include "$why" "$regex" "${files[@]}"
}

# An explicit snapshot of LevelDB's can bring deleted data back; an iterator is a view without one.
no_snapshots() {
	! grep -rnE 'leveldb_(create_snapshot|readoptions_set_snapshot)' store fs mkfs tests
}

# syntax NAME FILE: a line "NAME calls COMMAND", or defines, for each in the script in FILE.
syntax() {
	if ! shfmt -ln bash -tojson <"$2" >"$work/tree"; then
		echo "$1 calls (what shfmt cannot parse)"
		return
	fi
	jq -r -f scripts/commands.jq "$work/tree" >"$work/syntax"
	grep -v '^runs ' "$work/syntax" | sed "s|^|$1 |"
	sed -n 's/^runs //p' "$work/syntax" | jq -r >"$work/inner"
	[ ! -s "$work/inner" ] || syntax "$1" "$work/inner"
}

# What scripts, and the examples of pages, call and define.
commands_used() {
	local file
	for file in "${scripts[@]}" contrib/*.bash; do
		syntax "$file" "$file"
	done
	for file in README.md docs/*.md "${pages[@]}"; do
		grep -qE '^( {4,})?\$ ' "$file" || continue
		tests/e2e/examples.py --list "$file" | sed -E 's/^[^ ]*:[0-9]+: //' | syntax "$file" /dev/stdin
	done
}

# The commands that need no question: bash's, this project's, and those of the packages that every
# Debian has (make too, by README) and that scripts/deps.sh installs.
commands_known() {
	local packages
	compgen -b
	basename -as .1 man/*.1
	basename -as .8 man/*.8
	printf '%s\n' awk make
	awk '$1 == "need" { print $3; print $5 }' scripts/deps.sh
	mapfile -t packages < <(awk '$1 == "need" { print $2 }' scripts/deps.sh
		dpkg-query -W -f '${Package} ${Priority} ${Essential}\n' | awk '/ required | yes$/ { print $1 }')
	dpkg-query -L "${packages[@]}" 2>/dev/null | sed -n 's|.*/s\?bin/||p'
}

# A command by its path below here is a file of this project.
commands() {
	commands_used >"$work/used"
	{
		commands_known
		awk '$2 == "defines" { print $3 }' "$work/used"
	} >"$work/known"
	! sort -u "$work/used" | sed 's|calls /.*/|calls |' |
		awk 'NR == FNR { known[$0]; next } $2 == "calls" && !($3 in known) && $3 !~ "/" {
			print $1 ": " $3 ": no package of scripts/deps.sh has it" }' "$work/known" - | grep .
}

lint "layout: clang-format" layout
lint "faults: clang-tidy" faults
lint "shell scripts: shellcheck" shell
lint "commands: scripts/deps.sh installs what scripts and examples call" commands
lint "every header compiles alone" headers_alone
lint "every file names its licence" licences
lint "one version: Makefile, debian/changelog, CHANGELOG.md" one_version
lint "rooms: 5 to 15 files, each room in docs/architecture.md" scripts/rooms.py rooms
lint "includes: by layer, without a cycle among rooms" scripts/rooms.py includes
lint "calls: without a cycle among files or rooms" scripts/rooms.py calls "$objects"
lint "manual pages: mandoc" manual
lint "manual pages and --help: 80 columns" columns
lint "only fs includes FUSE" only_where "FUSE is fs's alone" \
	'fuse.*|linux/fuse[.]h' ! -path 'fs/*' ! -path tests/unit/test_metrics.c \
	! -path tests/bench/null.c
lint "only store/leveldb includes LevelDB" only_where "LevelDB is store/leveldb's alone" \
	'leveldb/c[.]h' ! -path 'store/leveldb/*'
lint "no explicit snapshots of LevelDB's" no_snapshots
lint "PCRE2 in one file" only_where "PCRE2 is store/chain/regex.c's alone" \
	'pcre2.*[.]h' ! -path store/chain/regex.c

echo "$passed passed, $failed failed"
((failed == 0))
