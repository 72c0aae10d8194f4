#!/bin/bash
# SPDX-License-Identifier: MIT
#
# No tool that is aimed at a control file changes a row beyond the lines that it writes: they cannot be
# removed, renamed, truncated, replaced or made.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/control.sh"

mount_tables
rows keep 20 >"$TMP/keep"
cp "$TMP/keep" "$t/.rows"
put "$t/.rows" '{"key":"keep","families":{"f":{"q":[{"ts":9,"value":"self"}]}}}'
cat "$t/.rows" >"$TMP/all"
echo '{"key":"keep#000001","delete":true}' >"$TMP/line"
echo text >"$TMP/text"
cp "$TMP/line" "$TMP/.rows"
cp "$TMP/line" "$TMP/.row"
cp "$TMP/text" "$TMP/.drop"
tar -C "$TMP" -cf "$TMP/control.tar" .rows .row .drop
# same NAME: every row is as it was.
same() {
	check "$1 changes no row" cmp "$TMP/all" "$t/.rows"
}
for name in .rows .row .drop .keys; do
	c=$t/keep/$name
	for command in 'rm -f' 'unlink' 'truncate -s 0' 'truncate -s 5' 'shred -u -n 0' \
		"mv $TMP/line" "mv $t/keep/000001/f/q" "mv $t/keep/000001" 'sed -i s/x/y/' \
		"install $TMP/line" "cp --remove-destination $TMP/line" "ln -f $TMP/line" \
		"ln -sf $TMP/line" "rsync -a $TMP/line" "rmdir" "mkdir" "mkfifo" "perl -pi -e s/x/y/"; do
		# shellcheck disable=SC2086 # words
		if timeout 20 $command "$c" >"$TMP/out" 2>&1 && [[ $command != perl* && $command != shred* ]]; then
			not_ok "$command $name" "succeeded: $(cat "$TMP/out")"
		fi
		check "$name is there after $command" test -f "$c"
	done
	cp "$TMP/line" "$TMP/moved"
	fail_with "mv $name away" - 'not permitted' mv "$c" "$TMP/away"
	fail_with "mv $name to another name" - 'not permitted' mv "$c" "$t/keep/x"
	fail_with "mv $name into a family" - 'not permitted|cross-device' mv -n "$c" "$t/keep/f/x"
	check "touch $name" touch "$c"
	check "chmod $name" chmod 600 "$c"
	same "what is aimed at $name"
done
fail_with "tar x onto them" - 'exist|not permitted' tar -C "$t/keep" -xf "$TMP/control.tar"
same "tar x"
fail_with "rm -r of a control file" - 'not permitted' rm -rf "$t/keep/.rows"
check "find -delete meets none" bash -c "! find '$t' -name '.row*' | grep ."
check "mktemp next to them fails" bash -c "! mktemp '$t/keep/.rows.XXXXXX' 2>/dev/null"
fail_with "cp of what is no row" - 'Invalid argument' cp "$TMP/text" "$t/keep/.rows"
fail_with "dd of what is no prefix" - 'Invalid argument' dd if="$TMP/text" of="$t/keep/.drop" status=none
fail_with "tee" - 'Invalid argument' tee "$t/keep/.row" <"$TMP/text"
fail_with "rsync --inplace of what is no row" - 'Invalid argument' rsync --inplace "$TMP/text" "$t/keep/.rows"
same "what is no row"
check "cp writes its lines and no more" cp "$TMP/line" "$t/keep/.rows"
check_eq "one row went" "$(grep -v 'keep#000001' "$TMP/all" | md5sum)" "$(md5sum <"$t/.rows")"
check_eq "/.rowfs/errors is not removed either" "not permitted" \
	"$(rm -f "$m/.rowfs/errors" 2>&1 | grep -o 'not permitted')"

finish
