#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Large directories: listed whole, and quickly begun. test_keys.sh lists them while others write and
# delete.

. "$(dirname "$0")/lib.sh"

N=20000

make_store "$TMP/s" '{"version":1,"tables":{
	"many":{"families":{"f":{}}},"wide":{"families":{"f":{}}},"deep":{"families":{"f":{}}}}}'
awk -v n=$N 'BEGIN {
	print "{\"table\":\"many\"}"
	for (i = 0; i < n; i++)
		printf "{\"key\":\"p#k%05d\",\"families\":{\"f\":{\"q\":[{\"ts\":1,\"value\":\"%d\"}]}}}\n", i, i
	printf "{\"table\":\"wide\"}\n{\"key\":\"r\",\"families\":{\"f\":{"
	for (i = 0; i < n; i++)
		printf "%s\"q%05d\":[{\"ts\":1,\"value\":\"%d\"}]", i ? "," : "", i, i
	printf ",\"h\":["
	for (i = n; i > 0; i--)
		printf "%s{\"ts\":%d,\"value\":\"%d\"}", i < n ? "," : "", i, i
	print "]}}}"
	print "{\"table\":\"deep\"}"
	for (i = 0; i < 3; i++)
		for (j = 0; j < 20000; j++)
			printf "{\"key\":\"%c#%05d\",\"families\":{\"f\":{\"q\":[\"x\"]}}}\n", 97 + i, j
}' >"$TMP/rows"
"$BUILD/rowfs-load" "$TMP/s" "$TMP/rows" 2>"$TMP/load" || die "loading: $(cat "$TMP/load")"
mount_store "$TMP/s" "$m"

# milliseconds COMMAND…: how long it takes.
milliseconds() {
	local start
	start=$(date +%s%N)
	"$@" >/dev/null 2>&1
	echo $((($(date +%s%N) - start) / 1000000))
}

# ---- Whole -----------------------------------------------------------------------------------

seq -f 'k%05g' 0 $((N - 1)) >"$TMP/segments"
seq -f 'q%05g' 0 $((N - 1)) >"$TMP/columns"
sed "1i h" "$TMP/columns" >"$TMP/all_columns"
check "ls -U of $N rows: each once, in order" cmp "$TMP/segments" <(entries "$m/many/p")
check "ls -f too" cmp <(cat - "$TMP/segments" <<<$'.\n..') <(ls -f "$m/many/p")
check "$N columns" cmp "$TMP/all_columns" <(entries "$m/wide/r/f")
check "$N columns, with their attributes" cmp <(sed 's/^/-rw-r--r-- /' "$TMP/all_columns") \
	<(find "$m/wide/r/f" -type f -printf '%M %f\n' | sort -k 2)
check "$N cells of one column, newest first" cmp <(seq $N -1 1) <(entries "$m/wide/r/f/h@")
check_eq "globs meet each, and the values are the right ones" 199990000 "$(cd "$m/wide/r/f" &&
	perl -e '$n += do { open my $f, "<", $_; <$f> } for glob "q*"; print $n')"
check "/.versions lists as many" cmp "$TMP/segments" <(entries "$m/.versions/many/p")
check "and of columns" cmp <(sed 's/$/@/' "$TMP/all_columns") <(entries "$m/.versions/wide/r/f")
check_eq "find meets each file below 2,000 rows" 2000 "$(find "$m/many/p"/k18* "$m/many/p"/k19* \
	-type f | wc -l)"

# ---- Quickly ---------------------------------------------------------------------------------

check_eq "a directory shows its children, not the rows below them" $'a\nb\nc' "$(ls "$m/deep")"
check "its cost is not theirs" test "$(milliseconds ls "$m/deep")" -lt 1000
whole=$(milliseconds ls -U "$m/many/p")
check "ls -f | head ends early" test "$(milliseconds bash -c "ls -f '$m/many/p' | head -n 3")" \
	-lt $((whole + 1000))
check_eq "with the first entries" k00000 "$(entries "$m/many/p" | head -n 1)"
check "eight listings at once" bash -c "seq 8 | xargs -P 8 -I '{}' bash -c '
	ls -U \"$m/many/p\" | cmp - \"$TMP/segments\"'"

# ---- Offsets ---------------------------------------------------------------------------------

check_eq "rewinddir sees what is new" "1 0" "$(perl -e '
	opendir my $dir, $ARGV[0] or die; my @all = readdir $dir; mkdir "$ARGV[0]/a-new"; rewinddir $dir;
	print scalar grep { $_ eq "a-new" } readdir $dir; rmdir "$ARGV[0]/a-new"; rewinddir $dir;
	print " ", scalar grep { $_ eq "a-new" } readdir $dir' "$m/many/p")"

# back COUNT FIRST CHANGE SEEK: the entries behind the offset of the entry p SEEK, in a directory of
# COUNT columns of which FIRST were read, when one has CHANGEd it and read anew from the start; once
# with the attributes of each, and once without.
back() {
	local dir=$m/wide/back/f
	mkdir -p "$dir"
	perl -e 'my ($dir, $count, $first, $change, $seek) = @ARGV; my @out;
		my $name = "p%0" . length($count - 1) . "d";
		for my $attributes (0, 1) {
			for (0 .. $count - 1) { open my $f, ">", "$dir/" . sprintf $name, $_ or die }
			opendir my $d, $dir or die; my (%after, %again);
			my $read = sub { my $x = readdir $d; lstat "$dir/$x" if $attributes && defined $x; $x };
			for (1 .. $first + 2) { my $x = $read->(); last unless defined $x; $after{$x} = telldir $d }
			$change eq "rm" ? unlink "$dir/" . sprintf $name, 2
				: do { for ("a", "b") { open my $f, ">", "$dir/" . sprintf($name, 1) . $_ or die } };
			for my $more (20, 40) {
				rewinddir $d; for (1 .. $more) { my $x = $read->(); last unless defined $x; $again{$x} = telldir $d }
				seekdir $d, $after{sprintf $name, $seek}; push @out, $read->();
				seekdir $d, $again{sprintf $name, 4}; push @out, $read->();
			}
			unlink glob "$dir/*";
		}
		print "@out"' "$dir" "$@"
}
check_eq "an offset keeps its place when a look back meets new names" "p6 p5 p6 p5 p6 p5 p6 p5" \
	"$(back 10 10 new 5)"
check_eq "or misses one" "p6 p5 p6 p5 p6 p5 p6 p5" "$(back 10 10 rm 5)"
check_eq "and in the middle of a listing" \
	"p1001 p0005 p1001 p0005 p1001 p0005 p1001 p0005" "$(back 3000 1500 new 1000)"
rm -r "$m/wide/back"

# ---- Removed -----------------------------------------------------------------------------------

mkdir -p "$m/wide/busy/f"
(cd "$m/wide/busy/f" && head -n 3000 "$TMP/columns" | perl -ne 'chomp; open my $f, ">", $_ or die; print $f $_')
yields "rm -r of a row with 3,000 columns leaves the other" r 'entries "$m/wide"' rm -r "$m/wide/busy"
check "rm -r of 1,000 rows" bash -c "cd '$m/deep/a' && rm -r 00*"
check_eq "leaves the others" 19000 "$(entries "$m/deep/a" | wc -l)"

finish
