#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Control files: the schema by .families, .delimiter and schema.json, the version, and the errors.

. "$(dirname "$0")/lib.sh"

t=$m/t
r=$m/.rowfs

# refused NAME REGEX PATH TEXT: writing the line fails, with that error.
refused() {
	fail_with "$1" - "$2" put "$3" "$4"
}

new_mount '{"version":1,"tables":{
	"t":{"families":{"f":{},"g":{"gc":"maxversions=3"},".h":{"type":"bytes"}}},
	"fam":{"families":{"f":{}}},
	"colon":{"delimiter":":"}}}'

# ---- .families -------------------------------------------------------------------------------

check_eq ".families has a directory per family" $'%2Eh\nf\ng' "$(sorted "$t/.families")"
check_eq "each with its policy, its type and its drop" $'drop\ngc\ntype' "$(sorted "$t/.families/f")"
check_eq "gc is the policy" "never" "$(cat "$t/.families/f/gc")"
check_eq "and another's" "maxversions=3" "$(cat "$t/.families/g/gc")"
check_eq "type is the type" bytes "$(cat "$t/.families/f/type")"
check_eq "of a family with a leading dot" bytes "$(cat "$t/.families/%2Eh/type")"
u=$m/fam
check "mkdir makes a family" mkdir "$u/.families/new"
check_eq "of bytes, never collected" "never bytes" \
	"$(cat "$u/.families/new/gc" "$u/.families/new/type" | paste -sd ' ')"
check "which takes cells at once" bash -c "mkdir -p '$u/r/new' && echo x >'$u/r/new/q'"
fail_with "a family that holds a cell stays" - 'not empty' rmdir "$u/.families/new"
rm "$u/r/new/q"
check "an empty one goes" rmdir "$u/.families/new"
fail_with "then it is no family" - 'No such file' stat "$u/.families/new"
fail_with "nor can its cells be made" - 'Operation not permitted|No such file' put "$u/r/new/q" x
yields "rm -r of a row that was in it leaves nothing" "" 'sorted "$u"' rm -r "$u/r"
rm -rf "$u/r"
mkdir "$u/.families/new"
mkdir -p "$u/r/new/x@" "$u/r/f/q@" "$u/%6E%65%77/new"
check "what is listed in a row can be looked up" ls -lR "$u"
rmdir "$u/.families/new"
check "also when its family went" ls -lR "$u"
check_eq "rows that had it stay, once each, with their other families" "./new ./r ./r/f" \
	"$(cd "$u" && find . -mindepth 1 | sort | paste -sd ' ')"
rm -r "$u/new" "$u/r"
fail_with "a family twice" - 'File exists' mkdir "$t/.families/f"
for name in 'a b' é 'a#' a@ "$(printf '%065d' 0)" .x %61; do
	fail_with "no family is called '$name'" - 'Invalid argument|Operation not permitted' \
		mkdir "$t/.families/$name"
done
check "a name of 64 bytes" mkdir "$t/.families/$(printf '%064d' 0)"
check "and with a dot, spelled as a family is" mkdir "$t/.families/%2Ex"
check "is a family" grep -q '"\.x"' "$r/schema.json"
rmdir "$t/.families/%2Ex" "$t/.families/$(printf '%064d' 0)"

check "a policy is set" put "$t/.families/f/gc" "maxage=24h"
check_eq "and read back" "maxage=1d|maxage=24h" \
	"$(sed 's/^maxage=\(1d\|24h\)$/maxage=1d|maxage=24h/' "$t/.families/f/gc")"
check "a longer one" put "$t/.families/f/gc" "(maxversions=2 and maxage=1h) or maxversions=10"
canonical=$(cat "$t/.families/f/gc")
check "what is read can be written" put "$t/.families/f/gc" "$canonical"
check_eq "and means the same" "$canonical" "$(cat "$t/.families/f/gc")"
for policy in maxversion=3 maxversions= maxversions=0x3 maxage=5w 'maxage=1h and' '(never' \
	'maxversions=1 maxage=1h' 'maxversions=-1'; do
	refused "no policy is '$policy'" 'Invalid argument' "$t/.families/f/gc" "$policy"
done
error "errors says where, and what" ' /?t/.families/f/gc.*'
check_eq "a wrong one changes nothing" "$canonical" "$(cat "$t/.families/f/gc")"
check "a policy without its newline is set by close" \
	perl -e 'open my $f, ">", $ARGV[0]; print $f "maxversions=7"; close $f or die' "$t/.families/f/gc"
check_eq "and read back" "maxversions=7" "$(cat "$t/.families/f/gc")"
check ">> sets it as well" bash -c "echo never >>'$t/.families/f/gc'"
check_eq "and read back" never "$(cat "$t/.families/f/gc")"
# killed TEXT: writes it to the policy, and is killed with the file open.
killed() {
	(perl -e 'open my $f, ">", $ARGV[0] or die; syswrite $f, $ARGV[1]; kill "KILL", $$; sleep 9' \
		"$t/.families/f/gc" "$1"; :) 2>/dev/null
}
killed maxversions=9
check_eq "a line that a killed process left unfinished is not applied" never \
	"$(cat "$t/.families/f/gc")"
killed $'maxversions=8\nmaxvers'
check_eq "but those before it are" maxversions=8 "$(cat "$t/.families/f/gc")"
put "$t/.families/f/gc" never
fail_with "a write behind a bad line fails as well" - 'Invalid argument' \
	bash -c "{ echo bad; echo maxversions=7; } >'$t/.families/f/gc'"
check_eq "and is not applied" never "$(cat "$t/.families/f/gc")"
check "nor are those behind, and close says so" perl -e 'open my $f, ">", $ARGV[0] or die;
	syswrite($f, "bad\n") and die; syswrite($f, "maxversions") and die; close $f and die' \
	"$t/.families/f/gc"
check_eq "nor at the last close" never "$(cat "$t/.families/f/gc")"
check "the next open file starts anew" put "$t/.families/f/gc" maxversions=2
fail_with "a line with a NUL byte is refused" - 'Invalid argument' \
	perl -e 'open my $f, ">", $ARGV[0]; syswrite($f, "never\0junk\n") or die "$!\n"' \
	"$t/.families/f/gc"
error "errors says that it has one" 'families/f/gc:1: .*NUL'
check_eq "it changes nothing" maxversions=2 "$(cat "$t/.families/f/gc")"
put "$t/.families/f/gc" never
check "a type is set while the family is empty" put "$t/.families/f/type" intsum
check_eq "and read back" intsum "$(cat "$t/.families/f/type")"
put "$t/.families/f/type" bytes
refused "an unknown type" 'Invalid argument' "$t/.families/f/type" integer
mkdir -p "$t/r/f"
echo x >"$t/r/f/q"
refused "a type with cells there" 'not empty|Invalid argument|busy' "$t/.families/f/type" intsum
check_eq "stays" bytes "$(cat "$t/.families/f/type")"

# ---- .delimiter ------------------------------------------------------------------------------

check_eq ".delimiter is the byte" "#" "$(cat "$t/.delimiter")"
check_eq "of another table" ":" "$(cat "$m/colon/.delimiter")"
refused "it stays while there are rows" 'not empty' "$t/.delimiter" ":"
rm -r "$t/r"
yields "it is set while the table is empty, and read back" ":" 'cat "$t/.delimiter"' put "$t/.delimiter" ":"
mkdir -p "$t/a#b/c/f"
echo x >"$t/a#b/c/f/q"
check_eq "it splits keys from now on" "a#b" "$(sorted "$t")"
rm -r "$t/a#b"
for byte in / . % ab é; do
	refused "no delimiter is '$byte'" 'Invalid argument' "$t/.delimiter" "$byte"
done
check_eq "it is as before" ":" "$(cat "$t/.delimiter")"
mkdir "$t/a#b"
refused "it stays while there are empty directories" 'not empty' "$t/.delimiter" "#"
error "errors says why" '/?t/.delimiter:1: .*directories'
yields "but may be set to what it is: they are listed as they were" "a#b" 'sorted "$t"' put "$t/.delimiter" ":"
check "and can be removed" rmdir "$t/a#b"
check "it cannot be a newline in between" bash -c "! printf '\n\n' >'$t/.delimiter' ||
	test \"\$(cat '$t/.delimiter')\" = :"
check "back again" put "$t/.delimiter" "#"

# ---- schema.json -----------------------------------------------------------------------------

check_eq "/.rowfs lists what is in it" $'errors\nschema.json\nversion' \
	"$(sorted "$r" | grep -E '^(errors|schema.json|version)$')"
check "schema.json is a schema" bash -c "cp '$r/schema.json' '$TMP/schema.json' && test -s '$TMP/schema.json' ||
	cat '$r/schema.json' >'$TMP/schema.json'"
check "which mkfs.rowfs takes" "$BUILD/mkfs.rowfs" --schema "$TMP/schema.json" "$TMP/s2"
mount_store "$TMP/s2" "$TMP/m2"
check "and makes the same of" cmp "$TMP/schema.json" <(cat "$TMP/m2/.rowfs/schema.json")
unmount_store "$TMP/m2"
check "it takes itself" bash -c "cat '$TMP/schema.json' >'$r/schema.json'"
check "without a change" cmp "$TMP/schema.json" <(cat "$r/schema.json")
cat >"$TMP/more.json" <<'END'
{
  "version": 1,
  "tables": {
    "t": {"families": {"g": {"gc": "maxversions=5"}, "more": "maxage=1h"}},
    "added": {"delimiter": "/x", "families": {}}
  }
}
END
fail_with "a wrong schema is refused" - 'Invalid argument' cp "$TMP/more.json" "$r/schema.json"
error "errors has line and member" 'schema.json.*\b5\b.*tables.added.delimiter'
check_eq "it changes nothing" "maxversions=3" "$(cat "$t/.families/g/gc")"
fail_with "and adds nothing" - 'No such file' stat "$m/added"
sed -i 's,"/x",";",' "$TMP/more.json"
check "a right one is taken" bash -c "cat '$TMP/more.json' >'$r/schema.json'"
check_eq "it sets policies" "maxversions=5" "$(cat "$t/.families/g/gc")"
check_eq "it adds families" $'%2Eh\nf\ng\nmore' "$(sorted "$t/.families")"
check_eq "and tables" ";" "$(cat "$m/added/.delimiter")"
check_eq "and removes nothing" $'added\ncolon\nfam\nt' "$(sorted "$m")"
check "in a single line without newline" perl -e 'open my $f, ">", $ARGV[0] or die;
	print $f q({"tables":{"single":{}}}); close $f or die' "$r/schema.json"
check "is taken as well" test -d "$m/single"
fail_with "what is not JSON" - 'Invalid argument' put "$r/schema.json" '{"tables":}'
for rest in x '{}' '{"tables":{"behind":{}}}' ']'; do
	refused "text behind the closing brace: $rest" 'Invalid argument' "$r/schema.json" \
		'{"tables":{"before":{}}} '"$rest"
	error "errors says what is wrong" 'schema.json:1: not JSON: text behind the closing brace'
done
fail_with "nothing of it is applied" - 'No such file' stat "$m/before"
fail_with "nor of what stands behind" - 'No such file' stat "$m/behind"
check "blanks behind it are none" bash -c "printf '{\"tables\":{\"blanks\":{}}} \n\t\r\n\n' >'$r/schema.json'"
check "it is applied" rmdir "$m/blanks"

# A line has one object, in whatever writes it comes: the pieces between ^, @ is a newline, + closes a copy
# of the descriptor, which ends the line.
while IFS='|' read -r file result text; do
	mkdir "$m/doc"
	for pieces in "$text" "${text//^/}"; do
		check_eq "$file, written as $pieces" "$result" "$(call 'fd = os.open(q, os.O_WRONLY)
for line in a[1].split("+"):
    for piece in line.split("^"):
        write(fd, piece.replace("@", "\n").encode())
    close(os.dup(fd))
close(fd)' "$m/$file" "$pieces")"
		[ "$result" = ok ] || error "and errors says why" "$file:1: .*text behind"
	done
	rmdir "$m/doc"
done <<'END'
doc/.design|EINVAL|{"segments":["a"]}^{"segments":["b","c"]}
doc/.design|EINVAL|{"segments":["a"]}^ {"segments":["b","c"]}@
doc/.design|EINVAL|{"segments":["a"]} ^}
doc/.design|ok|{"segments":["a"]}^@{"segments":["b","c"]}@
doc/.design|ok|{"segments":["a"]} @^@^{"segments":["b","c"]}
doc/.design|ok|{"segments":^["a"]} ^ @^
doc/.design|ok|{"segments":["a"]}+{"segments":["b","c"]}
doc/.design|EINVAL|{"segments":["a"]} +{"segments":["b"]}^{"segments":["c"]}
.rowfs/schema.json|EINVAL|{"tables":{"doc":{}}}^{"tables":{"doc":{}}}
.rowfs/schema.json|EINVAL|{"tables":{"doc":{}}^}^}
.rowfs/schema.json|ok|{"tables":{"doc":{}}}@^{"tables":{"doc":{}}}
END
refused "a delimiter that differs where there are rows" 'not empty|Invalid' "$r/schema.json" \
	"$(mkdir -p "$m/colon/.families/f" "$m/colon/r/f" && echo x >"$m/colon/r/f/q" &&
		echo '{"tables":{"colon":{"delimiter":"#"}}}')"
check_eq "stays" ":" "$(cat "$m/colon/.delimiter")"
mkdir "$m/added/a#b"
refused "nor where there are empty directories" 'not empty' "$r/schema.json" \
	'{"tables":{"added":{"delimiter":"#","families":{"none":"never"}}}}'
error "errors names the table" 'schema.json: table added: .*directories'
check_eq "it changes nothing" ";" "$(sorted "$m/added/.families")$(cat "$m/added/.delimiter")"
check "which can still be removed" rmdir "$m/added/a#b"
for value in 1 2; do
	mkdir -p "$t/v/f"
	echo $value >"$t/v/f/q"
done
mkdir "$m/zz" "$m/zz/.families/f"
mkdir -p "$m/zz/r/f"
echo x >"$m/zz/r/f/q"
cat "$r/schema.json" >"$TMP/schema.json"
bad='{"version":1,"tables":{"a_new":{"families":{"n":{}}},
	"t":{"families":{"f":"maxversions=1","g1":{}}},"zz":{"families":{"f":{"type":"intsum"}}}}}'
refused "a schema that the store cannot follow in its last table" 'not empty' "$r/schema.json" "$bad"
error "errors names the family" 'schema.json: table zz, family f: its type cannot change'
check "it changes nothing of the tables before" cmp "$TMP/schema.json" <(cat "$r/schema.json")
check_eq "nor the versions that it would have hidden" 2 "$(sorted "$t/v/f/q@" | wc -l)"
unmount_store "$m"
fail_with "a line of rowfs-load is refused as a whole, too" 1 'its type cannot change' \
	"$BUILD/rowfs-load" "$TMP/s" <(tr -d '\n' <<<"$bad")
mount_store "$TMP/s" "$m"
check "it changes nothing" cmp "$TMP/schema.json" <(cat "$r/schema.json")
rm -r "$t/v"
began=$(date +%s)
remount
mounted=$(date +%s)
check "the schema outlives the mount" cmp "$TMP/schema.json" <(cat "$r/schema.json")

# ---- version ---------------------------------------------------------------------------------

version=$("$BUILD/rowfs" --version | grep -oE '[0-9]+\.[0-9]+[.0-9]*' | head -n 1)
check "version has the program's" grep -qF "$version" <(cat "$r/version")
check "and the engine's" grep -qi leveldb <(cat "$r/version")

# ---- Short texts -----------------------------------------------------------------------------

for path in "$r/schema.json" "$r/version" "$t/.delimiter" "$t/.families/f/gc"; do
	check "${path#"$m/"} has the mount's time" test "$(stat -c %Y "$path")" -ge "$began" -a \
		"$(stat -c %Y "$path")" -le "$mounted"
	check_eq "${path#"$m/"} is read by head and tail" "$(cat "$path")" "$(head -n 1 "$path" && tail -n +2 "$path")"
	check_eq "${path#"$m/"} is read by while read" "$(cat "$path")" \
		"$(while IFS= read -r line; do echo "$line"; done <"$path")"
	fail_with "${path#"$m/"} cannot be removed" - 'Operation not permitted' rm -f "$path"
	fail_with "${path#"$m/"} cannot be resized" - 'Operation not permitted' truncate -s 5 "$path"
	[ "$path" = "$r/version" ] ||
		check "${path#"$m/"} can be opened with O_TRUNC" bash -c ": >'$path'"
	check "${path#"$m/"} still says something" grep -q . "$path"
done
check_eq "a stream is read twice by one open file" "$(cat "$r/schema.json" "$r/schema.json")" \
	"$(perl -e 'open my $f, "<", $ARGV[0]; print <$f>; seek $f, 0, 0 or die; print <$f>' "$r/schema.json")"
fail_with "no file is made in /.rowfs" - 'Operation not permitted' put "$r/other" x
fail_with "nor a directory" - 'Operation not permitted' mkdir "$r/directory"
fail_with "nor in .families" - 'Operation not permitted' put "$t/.families/file" x
fail_with "nor in a family there" - 'Operation not permitted' put "$t/.families/f/file" x
fail_with "nor touched" - 'Operation not permitted' touch "$t/.families/f/file"
fail_with "nor a directory there" - 'Operation not permitted' mkdir "$t/.families/f/directory"
fail_with "nor a node" - 'Operation not permitted' mknod "$t/.families/f/file" p
fail_with "/.rowfs stays" - 'Operation not permitted|not empty' rmdir "$r"
fail_with ".families stays" - 'Operation not permitted|not empty' rmdir "$t/.families"
check "diff of a stream" diff "$r/schema.json" <(cat "$r/schema.json")

# ---- errors ----------------------------------------------------------------------------------

fail_with "a file in a prefix directory" - 'Operation not permitted' \
	bash -c "mkdir -p '$t/row/none' && echo x >'$t/row/none/q'"
error "is named there with its path and the families" 't/row/none/q.*\bf\b.*\bg\b'
error "and the time" '^[^ ]*20[0-9][0-9]-[01][0-9]-[0-3][0-9].[0-2][0-9]:[0-5][0-9]:[0-5][0-9]'
lines=$(wc -l <"$r/errors")
fail_with "a directory below a name that is not there" - 'No such file' mkdir "$t/absent/typo"
error "is named there, with the families" 't/absent: no row or directory has that name.*: .*\bf\b.*\bg\b'
fail_with "a column below what is no family" - 'No such file' put "$t/row/typo/q" x
error "is, too" 't/row/typo: no row or directory has that name'
for ((i = 0; i < 10; i++)); do
	test -e "$t/row/probe$i"
done
check_eq "such names take one line at most" 1 "$(($(wc -l <"$r/errors") - lines))"
fail_with "an error behind it" - 'Operation not permitted' put "$t/row/file" x
check_eq "takes its place" "1 0" "$(($(wc -l <"$r/errors") - lines)) $(grep -c probe "$r/errors")"
mkdir -p "$t/row/made/deep"
check_eq "a directory that is made leaves none" "1 0" \
	"$(($(wc -l <"$r/errors") - lines)) $(grep -c made "$r/errors")"
rmdir "$t/row/made/deep" "$t/row/made"
for ((i = 0; i < 1100; i++)); do
	echo x >"$t/row/file$i"
done 2>/dev/null
check_eq "it has the last 1,000" 1000 "$(wc -l <"$r/errors")"
error "with the last one last" 'file1099'
check "and the first gone" grep -q 'file100:\?\b' <(head -n 1 "$r/errors")
perl -e 'mkdir "$ARGV[0]/a\nb"; open my $f, ">", "$ARGV[0]/new\nline\xFF"' "$t/row"
check_eq "an awkward name does not break its line" 1000 "$(wc -l <"$r/errors")"
check "and is valid text" perl -e 'while (<>) { utf8::decode($_) && !/[\x00-\x08\x0B-\x1F]/ or die }' "$r/errors"
long=$t/row/$(printf 'x%.0s' {1..200})/$(printf 'y%.0s' {1..200})/$(printf 'z%.0s' {1..200})
long=$long/$(printf 'x%.0s' {1..200})/$(printf 'y%.0s' {1..200})/$(printf 'z%.0s' {1..200})
mkdir -p "$long"
fail_with "a file with a long path" - 'Operation not permitted' put "$long/file" x
error "has its path, and its reason too" '/z+/file: .*\bf\b.*\bg\b'
remount
check_eq "errors starts empty with a mount" "" "$(cat "$r/errors")"

finish
