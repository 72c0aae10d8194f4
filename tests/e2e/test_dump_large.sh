#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A row of more text than a line of rowfs-dump has: rowfs-load takes its dump, of a store and of a
# mount, into a store. large_rows.py makes the row: a value of 22 MiB whose every byte takes six,
# then a column of two versions of 49 MiB, which are base64, and two small ones, then another
# column.
#
#   ROWFS_FULL=1   the first value has 43 MiB, more than a mount takes in a line (environment)

. "$(dirname "$0")/lib.sh"
FINAL=data

dump=$BUILD/rowfs-dump
load=$BUILD/rowfs-load
model() {
	"$python" -S "$LIB_DIR/large_rows.py" "$@"
}
cd "$TMP" || exit 1

make_store s '{"tables":{"t":{"families":{"f":{},"g":{}}}}}'
mkdir m
mount_store s m
model make m/t || die "the mount does not take the cells"
check "a mount can be dumped" bash -c "'$dump' m >dumped"
check_eq "the lines of a row together are its cells" 'a:1 r:3 z:1' "$(model check dumped)"
check_eq ".row is one line all the same" 1 "$(wc -l <m/t/r/.row)"
# Its last line begins with older cells of a column, of which CSV has the newest.
check "a row of several lines is one record of CSV" bash -c "
	'$dump' --csv m t | tr -d '\"' | cmp - <('$python' -S '$LIB_DIR/large_rows.py' csv)"
fail_with "a mount takes lines up to 256 MiB, and says what takes longer ones" 1 \
	'input:1: the line is longer than 256 MiB; a store that is not mounted takes up to 1024 MiB' \
	bash -c "head -c 270000000 /dev/zero | tr '\0' ' ' | '$load' m/t"
unmount_store m

check "the store gives the same lines" bash -c "'$dump' s | cmp - dumped"
check "and the same record" bash -c "
	'$dump' --csv s t | tr -d '\"' | cmp - <('$python' -S '$LIB_DIR/large_rows.py' csv)"
rm -r s
make_store copy
check "what is dumped can be loaded" "$load" copy dumped
check "and is the same rows" bash -c "'$dump' copy | cmp - dumped"

finish
