# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Shared by the tests of cells, to source after lib.sh: columns made of given cells, their history
# as text, and system calls that no shell has.
#
#   column "$f/q" 1000=old 2000=new
#   is "its cells" "$f/q" "2000=new 1000=old"
#   check_eq "renameat2" EEXIST "$(call 'renameat2(*a, NOREPLACE)' "$f/p" "$f/q")"
#
#   m   where the test mounts its store (lib.sh sets it)

CELLS_BEGAN=$(date +%s)

# put PATH TEXT: without a newline.
put() {
	printf %s "$2" >"$1"
}

# drafts: how many there are in the mount $m.
drafts() {
	# shellcheck disable=SC2154 # the test's
	sed -n 's/^rowfs_drafts //p' "$m/.rowfs/metrics"
}

# column PATH TS=VALUE…: makes the column anew, of these cells.
column() {
	local path=$1 cell
	shift
	rm -f "$path"
	mkdir -p "$path@"
	for cell; do
		put "$path@/${cell%%=*}" "${cell#*=}"
	done
}

# history PATH: its cells, newest first: TS=VALUE…
history() {
	local ts cells=()
	for ts in $(entries "$1@"); do
		cells+=("$ts=$(cat "$1@/$ts")")
	done
	echo "${cells[*]}"
}

# is NAME PATH HISTORY: these cells, newest first, and both trees list as many.
is() {
	check_eq "$1" "$3" "$(history "$2")"
	# shellcheck disable=SC2154 # the test's
	check_eq "$1: as many in /.versions" "$(wc -w <<<"$3")" \
		"$(entries "$m/.versions${2#"$m"}@" | wc -l)"
}

# newest_is NAME PATH VALUE OLDER: the newest cell has the value and the present as its timestamp,
# those below it are OLDER.
newest_is() {
	local all newest now
	all=$(history "$2")
	newest=${all%% *}
	now=$(date +%s)
	check_eq "$1" "$3 $4" "${newest#*=} $(cut -s -d ' ' -f 2- <<<"$all")"
	check "$1: it has the present as its timestamp" \
		test "${newest%%=*}" -ge "$CELLS_BEGAN"000000 -a "${newest%%=*}" -lt $((now + 60))000000
}

# gone NAME PATH: neither found nor listed, and without a history.
gone() {
	check_eq "$1" "no no 0" "$(stat "$2" >/dev/null 2>&1 && echo yes || echo no) $(
		entries "${2%/*}" | grep -qxF -- "${2##*/}" && echo yes || echo no) $(
		entries "$2@" | wc -l)"
}
