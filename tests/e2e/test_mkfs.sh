#!/bin/bash
# SPDX-License-Identifier: MIT
#
# mkfs.rowfs: the stores that it makes, its refusals and their messages, and that it leaves nothing
# behind.

. "$(dirname "$0")/lib.sh"

mkfs=$BUILD/mkfs.rowfs
cd "$TMP" || exit 1

# no NAME PATH: there is nothing at PATH.
no() {
	check "$1" test ! -e "$2"
}

# ---- Usage -----------------------------------------------------------------------------------

fail_with "no store named" 2 '^mkfs.rowfs: STORE is missing' "$mkfs"
fail_with "two stores named" 2 '^mkfs.rowfs: b: ' "$mkfs" a b
fail_with "an unknown option" 2 '^mkfs.rowfs: ' "$mkfs" --wrong a
fail_with "an option without its argument" 2 '^mkfs.rowfs: ' "$mkfs" --schema
no "wrong usage makes nothing" a

# ---- Making ----------------------------------------------------------------------------------

check "makes a store" "$mkfs" s1
check "which rowfs-load can open" "$BUILD/rowfs-load" s1 /dev/null
mkdir empty
check "makes one in an empty directory" "$mkfs" empty
check "which rowfs-load can open" "$BUILD/rowfs-load" empty /dev/null
check "or in empty/" bash -c "mkdir slash && '$mkfs' slash/ && '$BUILD/rowfs-load' slash /dev/null && rm -r slash"
for len in 247 254 255; do
	long=$(printf '%*s' "$len" '' | tr ' ' n)
	check "of a name of $len bytes" "$mkfs" "$long"
	check "which rowfs-load can open" "$BUILD/rowfs-load" "$long" /dev/null
	rm -r "$long"
done
mkdir full && touch full/file
# test_messages.sh has the refusals without --force.
fail_with "refuses a directory that is not empty with --force, when it is no store" 1 '^mkfs.rowfs: .*full' "$mkfs" --force full
check_eq "and leaves it as it was" file "$(ls -A full)"
mkdir -p foreign/sub && touch foreign/file foreign/sub/y && echo 'rows for the file server' >foreign/ROWFS
fail_with "a file called ROWFS makes no store: --force refuses it" 1 '^mkfs.rowfs: .*foreign' \
	"$mkfs" --force foreign
check_eq "and wipes nothing" "ROWFS file sub sub/y" "$(cd foreign && find -- * | sort | xargs)"
cp -r s1 mixed && touch mixed/notes
fail_with "--force spares a store with other files in it" 1 '^mkfs.rowfs: .*mixed/notes: not a file of a rowfs store' \
	"$mkfs" --force mixed
check_eq "and leaves them" "LOCK ROWFS TABLES data notes" "$(cd mixed && echo *)"
rm -r foreign mixed

# spared NAME FILE MAKE…: MAKE makes FILE in s1; --force then refuses s1, names the file, and all
# stays.
spared() {
	local name=$1 file=$2 before
	shift 2
	"$@" || die "$name: cannot be made"
	before=$(find s1 -type f -exec sha256sum {} + | sort && find s1 | sort)
	fail_with "--force spares $name, and names it" 1 "^mkfs.rowfs: $TMP/s1/$file: .*move it away" "$mkfs" --force s1
	check_eq "and all stays as it was" "$before" "$(find s1 -type f -exec sha256sum {} + | sort && find s1 | sort)"
	rm -r "s1/$file"
}
precious() {
	mkdir -p "${1%/*}" && echo precious >"$1"
}
spared "a directory among the engine's files" data/dir precious s1/data/dir/x
spared "a file among them" data/notes precious s1/data/notes
spared "what only looks like one of them" data/000012.ldb.bak precious s1/data/000012.ldb.bak
spared "a directory with such a name" data/000012.ldb precious s1/data/000012.ldb/x
spared "a link with such a name" data/000013.log ln -s /etc/passwd s1/data/000013.log
spared "a FIFO with such a name" data/000099.ldb mkfifo s1/data/000099.ldb
spared "a file in what a repair left" data.new/notes precious s1/data.new/notes
rm -r s1/data.new
spared "a directory with the name of what was cut from a log" torn-x precious s1/torn-x/y
for file in LOG.old 000012.ldb 000013.sst 000001.log 000015.dbtmp MANIFEST-000099; do
	echo leftover >"s1/data/$file"
done
mkdir s1/data.new && echo leftover >s1/data.new/CURRENT && echo leftover >s1/torn-000014.log-7
yields "--force takes what is the engine's, and it is gone" "LOCK ROWFS TABLES data" 'cd s1 && echo *' "$mkfs" --force s1
long=$(printf '%0255d' 7)
check "makes one whose name has 255 bytes" "$mkfs" "$long"
check "and replaces it" "$mkfs" --force "$long"
rm -r -- "$long"
fail_with "no short options: -f" 2 '^mkfs.rowfs: ' "$mkfs" -f s1
fail_with "no short options: -s" 2 '^mkfs.rowfs: ' "$mkfs" -s plain s1
touch plain
fail_with "refuses a file with --force" 1 '^mkfs.rowfs: .*plain' "$mkfs" --force plain
fail_with "a directory above that is missing" 1 '^mkfs.rowfs: .*(No such|not exist)' \
	"$mkfs" no/such/s
no "nothing was made for it" no

# ---- Schemas ---------------------------------------------------------------------------------

cat >good.json <<'END'
{"version": 1, "tables": {
  "vehicles": {"delimiter": ":", "families": {
    "loc": {"gc": "maxage=24h or maxversions=3", "type": "bytes"},
    "meta": "never"
  }},
  "plain": {}
}}
END
check "takes a schema" "$mkfs" --schema good.json s2
echo '{"table":"vehicles"}
{"key":"a","families":{"loc":{"q":["x"]},"meta":{"q":["x"]}}}
{"table":"plain"}' >rows
check "the tables and families are there" "$BUILD/rowfs-load" s2 rows
check "--force replaces a store" "$mkfs" --force s2
fail_with "the old tables are gone" 1 'table vehicles' "$BUILD/rowfs-load" s2 rows

cat >bad.json <<'END'
{"version": 1, "tables": {
  "vehicles": {"families": {
    "meta": "never",
    "loc": {
      "gc": "maxage\u003d5w"
    }
  }}
}}
END
for command in "mkfs.rowfs --schema bad.json s3" "rowfs-path --schema bad.json vehicles a" "rowfs-advise --schema bad.json rows"; do
	# shellcheck disable=SC2086 # a program and its arguments
	fail_with "$command, of a wrong policy: file, line, member and place" 1 \
		"^${command%% *}: bad.json:5: tables.vehicles.families.loc.gc: a unit must follow the number: ms, s, m, h or d, at character 27\$" \
		"$BUILD"/$command
done
no "makes nothing then" s3
# tests/unit/test_schema_json.c has other faults.
printf '{"version":1\0,\n"tables":{"t":{}}}' >nul.json
fail_with "a NUL behind a number" 1 '^mkfs.rowfs: nul.json:1: not JSON: a NUL byte, at character 13$' \
	"$mkfs" --schema nul.json s3
fail_with "a schema that is missing" 1 '^mkfs.rowfs: none.json: No such file' \
	"$mkfs" --schema none.json s3
fail_with "a schema that is a directory" 1 '^mkfs.rowfs: full: Is a directory' \
	"$mkfs" --schema full s3
no "none of them makes anything" s3
check "what was there stays with a wrong schema and --force" \
	bash -c "! '$mkfs' --schema bad.json --force s1 && '$BUILD/rowfs-load' s1 /dev/null"
# A signal while it works: the store is whole or not there, and nothing is beside it.
mkdir signals
for signal in TERM HUP INT; do
	for delay in 0.002 0.005 0.01 0.02 0.04; do
		timeout -s "$signal" "$delay" "$mkfs" --schema good.json \
			"signals/s.$signal.$delay"
	done
done
check_eq "a signal leaves nothing beside the place" "" \
	"$(find signals -mindepth 1 -maxdepth 1 ! -name 's.*')"
for store in signals/s.*; do
	[ -e "$store" ] && check "a store is whole after a signal" "$BUILD/rowfs-load" "$store" /dev/null
done
rm -r signals

check_eq "nothing else is left behind" "$(printf '%s\n' bad.json empty full good.json nul.json \
	plain rows s1 s2)" "$(ls)"

finish
