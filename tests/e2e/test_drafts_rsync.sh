#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Drafts of programs that make a file under a temporary name: rsync's, which are no column's name,
# and cells too old for their family.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cells.sh"

f=$m/t/row/f

make_store "$TMP/s" '{"version":1,"tables":{"t":{"families":{"f":{},"a":{"gc":"maxage=4s"},"s":{"type":"intsum","gc":"maxage=1h"},"hour":{"gc":"maxage=1h"}}}}}'
mount_store "$TMP/s" "$m"
mkdir -p "$f"

# ---- Names that rsync makes in a family ----------------------------------------------------------

for name in % %2E %2E%2E x%40 %40 .%40; do
	rm -f "$f/$name"
	draft=$f/.${name#.}.AbC12z
	check "the temporary name of $name can be made" put "$draft" new
	check_eq "it is listed nowhere" "" "$(entries "$f" | grep AbC12z)"
	touch -d @1234567890 "$draft"
	makes "mv to the column makes it, at its time" "$f/$name" "1234567890000000=new" -- mv "$draft" "$f/$name"
	gone "the draft goes" "$draft"
	put "$draft" newer
	touch -d @1234567891 "$draft"
	mv "$draft" "$f/$name"
	is "over a column it is the newest version" "$f/$name" "1234567891000000=newer 1234567890000000=new"
	put "$draft" older
	touch -d @1234567000 "$draft"
	mv "$draft" "$f/$name"
	check_eq "an older one gets a fresh time" "older 3" "$(cat "$f/$name") $(entries "$f/$name@" | wc -l)"
	check "it has the present" test "$(stat -c %Y "$f/$name")" -gt 1600000000
	put "$draft" x
	check_eq "RENAME_NOREPLACE over a column" EEXIST "$(call 'renameat2(*a, 1)' "$draft" "$f/$name")"
	loses "rm of the draft takes it away" "$draft" -- rm "$draft"
	check_eq "written, renamed, then closed" "ok last 4" "$(call '
with open(a[0], "w") as w:
    w.write("last"); w.flush()
    os.rename(a[0], a[1])' "$draft" "$f/$name") $(cat "$f/$name") $(entries "$f/$name@" | wc -l)"
	rm "$f/$name"
done
for name in .%.AbC12 .%.AbC1234 .%.AbC12- .%41.AbC12z .%4.AbC12z ..%.AbC12z%; do
	fail_with "'$name' is nothing" - 'Invalid argument' bash -c "echo x >'$f/$name'"
done
check "'.foo.AbC12z' is a column as any" put "$f/.foo.AbC12z" x
check_eq "and listed" .foo.AbC12z "$(entries "$f" | grep AbC12z)"
rm "$f/.foo.AbC12z"
fail_with "there are none in /.versions" - 'Invalid argument' \
	bash -c "echo x >'$m/.versions/t/row/f/.%.AbC12z'"
column "$f/q" 1000=one
check_eq "a column does not become one" EXDEV "$(call 'os.rename(*a)' "$f/q" "$f/.%.AbC12z")"

# ---- rsync --delay-updates, which renames from a directory beside the files at its end ------------

mkdir -p "$TMP/delayed"
for name in a b 7; do
	printf %s "$name" >"$TMP/delayed/$name"
	touch -d @1234567890 "$TMP/delayed/$name"
done
d=$m/t/delayed/f
before=$(drafts)
check "rsync --delay-updates into a family" rsync -a --mkpath --delay-updates "$TMP/delayed/" "$d/"
check_eq "delivers" "7 a b" "$(entries "$d" | sort | paste -sd ' ')"
is "each at its time" "$d/a" "1234567890000000=a"
printf newer >"$TMP/delayed/a"
check "again, over a column" rsync -a --delay-updates "$TMP/delayed/" "$d/"
check_eq "delivers a version" "newer 2" "$(cat "$d/a") $(entries "$d/a@" | wc -l)"
check_eq "the third time there is nothing to do" "" "$(rsync -ai --delay-updates "$TMP/delayed/" "$d/" | grep -v '/$')"
cp -a "$m/.versions/t/delayed" "$TMP/all"
rm -r "$m/t/delayed"
check "into histories" rsync -a --delay-updates "$TMP/all/" "$m/.versions/t/delayed/"
check "delivers each version" diff -r "$TMP/all" "$m/.versions/t/delayed"
check_eq "no draft is left" "$before" "$(drafts)"
for dir in "$d" "$d/a@"; do
	gone "nor the directory" "$dir/.~tmp~"
	check "mkdir makes it" mkdir "$dir/.~tmp~"
	check_eq "listed nowhere" "" "$(entries "$dir" | grep tmp)$(entries "$m/.versions${dir#"$m"}" | grep tmp)"
	fail_with "not twice" 1 'exists' mkdir "$dir/.~tmp~"
	yields "it holds drafts of any name" text 'cat "$dir/.~tmp~/any name"' put "$dir/.~tmp~/any name" text
	fail_with "rmdir of it with one" 1 'not empty' rmdir "$dir/.~tmp~"
	check_eq "they are renamed beside it only" EXDEV "$(call 'os.rename(*a)' "$dir/.~tmp~/any name" "$f/x")"
	fail_with "no directory is in it" 1 'not permitted' mkdir "$dir/.~tmp~/dir"
	yields "as a column or version, which is then there" text 'cat "$dir/9"' mv "$dir/.~tmp~/any name" "$dir/9"
	loses "rmdir takes it" "$dir/.~tmp~" -- rmdir "$dir/.~tmp~"
	mkdir "$dir/.~tmp~"
	put "$dir/.~tmp~/left" text
done
yields "a directory above goes with it, and its drafts" "$before" 'drafts' rm -r "$m/t/delayed"
loses "it is not back" "$d/.~tmp~" -- mkdir -p "$d"
check "a column may have its name" put "$d/.~tmp~" x
is "as any" "$d/.~tmp~" "$(entries "$d/.~tmp~@")=x"
fail_with "then there is no such directory" 1 'exists' mkdir "$d/.~tmp~"
rm -r "$m/t/delayed"

# ---- Drafts of a column that grows too old ----------------------------------------------------------

for tree in "$m" "$m/.versions"; do
	old=$tree/t/old/a
	# By a row of JSON, so that no mkdir made a directory of it.
	printf '{"key":"old","families":{"a":{"v":[{"ts":%s,"value":"one"}]}}}\n' \
		"$(date +%s%6N)" >"$m/t/.rows"
	put "$old/v@/.draft" two
	put "$old/v@/.other" three
	yields "its last cell grows too old, the draft stays" two 'cat "$old/v@/.draft"' within test ! -e "$m/t/old/a/v"
	check_eq "in a directory that lists nothing" "" "$(entries "$old/v@")"
	check "it is renamed" mv "$old/v@/.draft" "$old/v@/.draft2"
	yields "over another, and stays" two 'cat "$old/v@/.other"' mv "$old/v@/.draft2" "$old/v@/.other"
	loses "mv to a timestamp of long ago shows nothing" "$m/t/old/a/v" -- mv "$old/v@/.other" "$old/v@/1"
	check "the emptied history is left" test -d "$old/v@"
	put "$old/v@/.draft" four
	now=$(date +%s%6N)
	yields "mv to one of now makes the cell" four 'cat "$m/t/old/a/v"' mv "$old/v@/.draft" "$old/v@/$now"
	put "$old/v@/.draft" five
	check "rm of all" rm "$m/t/old/a/v" "$old/v@/.draft"
	loses "rm -r takes the row, which goes" "$m/t/old" -- rm -r "$m/t/old"
done

# ---- rsync of cells too old for their family -----------------------------------------------------------

before=$(drafts)
for family in hour s; do
	aged=$m/t/aged/$family
	mkdir -p "$aged"
	printf '5\n' >"$TMP/of"
	touch -d @1234567890 "$TMP/of"
	check "rsync -a of a file that $family hides at once" rsync -a "$TMP/of" "$aged/"
	check_eq "shows nothing" "" "$(ls -A "$aged")"
	check_eq "and leaves no draft" "$before" "$(drafts)"
	echo 7 >"$aged/of"
	check "rsync over a newer one" rsync -a "$TMP/of" "$aged/"
	check_eq "is its newest version" "5 2" "$(cat "$aged/of") $(entries "$aged/of@" | wc -l)"
	check "with the present as its time" test "$(stat -c %Y "$aged/of")" -gt 1600000000
	echo 9 >"$aged/.rs.abcdef"
	check_eq "the temporary name is a column's, too" .rs.abcdef "$(entries "$aged" | grep rs)"
	check "until a time would hide it" touch -d @1 "$aged/.rs.abcdef"
	check_eq "then it is a draft" "$((before + 1)) 9" "$(drafts) $(cat "$aged/.rs.abcdef")"
	check_eq "of that time" 1 "$(stat -c %Y "$aged/.rs.abcdef")"
	check_eq "listed nowhere" of "$(entries "$aged")"
	yields "mv to a column shows nothing" of 'entries "$aged"' mv "$aged/.rs.abcdef" "$aged/new"
	gone "the draft goes" "$aged/.rs.abcdef"
	echo 9 >"$aged/.rs.abcdef"
	touch -d @1 "$aged/.rs.abcdef"
	loses "rm of it takes it away" "$aged/.rs.abcdef" -- rm "$aged/.rs.abcdef"
	echo 9 >"$aged/.rs.abcdef"
	touch -d @1 "$aged/.rs.abcdef"
	echo 10 >"$aged/.rs.abcdef"
	check_eq "it is written to as a draft" "$((before + 1)) 10" "$(drafts) $(cat "$aged/.rs.abcdef")"
	rm "$aged/.rs.abcdef"
	column "$aged/.rs.abcdef" "$(date +%s%6N)=1" "$(date +%s%6N)=2"
	touch "$aged/.rs.abcdef"
	check_eq "a column of that name that a time leaves seen stays one" "$before 2" \
		"$(drafts) $(cat "$aged/.rs.abcdef")"
	rm -r "$m/t/aged"
done

finish
