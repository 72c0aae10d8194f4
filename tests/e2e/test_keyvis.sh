#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Heat maps of five known patterns of traffic on real stores: every format is valid, names the
# pattern, and shows it, and rowfs-advise names the same. Then those of a mount whose keys are hostile.

. "$(dirname "$0")/lib.sh"

end=1795672800 # 2026-11-26 06:00 UTC
formats=(ops.txt ops.ansi ops.ansi24 ops.svg ops.html ops.json ops.tsv)

# pattern NAME: runs it, and leaves the files of its map in $d.
pattern() {
	d=$TMP/$1
	mkdir "$d"
	check "$1: its traffic is counted" "$BUILD/e2e/keyvis" "$1" "$TMP/$1.db" "$end" "$d" "${formats[@]}" "${@:2}"
}

# narrow FILE: no line has more than 100 characters besides its escape sequences.
narrow() {
	sed 's/\x1b\[[0-9;]*m//g' "$1" | awk 'length > 100 { print; wide = 1 } END { exit wide || NR < 10 }'
}

# document: a json has one row for each range, and one value in it for each column.
document() {
	jq -e '. as $map | (.endKeyStrings | length) as $ranges
		| (((.endTime | fromdate) - (.startTime | fromdate)) / .stepSeconds) as $columns
		| [.metrics[0].matrix.rows[].cols | length] == [range($ranges) | $columns]
		and .endKeyStrings[-1] == ""
		and .prefixNodes[0] == {word: $map.table, startIndex: 0, endIndex: ($ranges - 1), depth: 0, dataSourceNode: true}
		and all(.prefixNodes[]; .startIndex <= .endIndex and .endIndex < $ranges)
		and all(.metrics[0].indexedHotKeys[].sparseHotKeys[]; . < ($map.indexedKeys | length))
		and (.diagnosticMessages | length) > 0' "$1"
}

# plain FILE: no control character but newlines, tabs and an ANSI picture's own escapes, and only UTF-8.
plain() {
	cp "$1" "$TMP/plain"
	[[ $1 != *.ansi* ]] || sed -i 's/\x1b\[[0-9;]*m//g' "$TMP/plain"
	LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]' "$TMP/plain" && return 1
	iconv -f UTF-8 -t UTF-8 "$1" >"$TMP/utf8"
}

# valid NAME DIRECTORY: all formats.
valid() {
	local f
	for f in txt ansi ansi24; do
		check "$1: lines of $f have 100 characters at most" narrow "$2/ops.$f"
	done
	check "$1: svg is XML" xmllint --noout "$2/ops.svg"
	check_eq "$1: tidy finds nothing in html" "" "$(tidy -errors -quiet "$2/ops.html" 2>&1)"
	check "$1: json has the members, of one size" document "$2/ops.json"
	check_eq "$1: tsv has the sum of json" "$(jq '[.metrics[0].matrix.rows[].cols[]] | add' "$2/ops.json")" \
		"$(awk -F '\t' 'NR > 1 { for (i = 5; i <= NF; i++) sum += $i } END { print sum + 0 }' "$2/ops.tsv")"
	for f in txt ansi ansi24 svg html json tsv; do
		check "$1: $f has no control characters" plain "$2/ops.$f"
	done
}

# names NAME TEXT: each format with words has the diagnosis.
names() {
	local f
	for f in txt ansi ansi24 svg html json; do
		check "$1: $f names it" grep -qF "$2" <(tr '\n' ' ' <"$d/ops.$f" | tr -s ' ')
	done
}

# advises NAME FINDING: at the end of the traffic, rowfs-advise has that finding about it.
advises() {
	check_eq "$1: its advice" "$2" "$(at_time "$(date -d "@$end" '+%F %T')" "$BUILD/rowfs-advise" --json "$TMP/$1.db" |
		jq -r 'select(.rule | startswith("hot-")) | "\(.rule) \(.evidence.keys[0])"' | sed 's/^hot-end event#.*/hot-end event/')"
}

# ratio JQ-OF-RANGE: the median of the totals of the ranges whose end it selects, divided by that of
# the others, rounded down.
ratio() {
	jq "def median: sort | .[length / 2 | floor];
		[.endKeyStrings, [.metrics[0].matrix.rows[].cols | add]] | transpose
		| (map(select(.[0] | $1) | .[1]) | median) / ([map(select(.[0] | $1 | not) | .[1]) | median, 1] | max) | floor" "$d/ops.json"
}

# ---- The five patterns -------------------------------------------------------------------------

pattern sequential
valid sequential "$d"
names sequential "Sequential keys"
names sequential " to event#07"
advises sequential "hot-end event"
# The hottest range of each of 60 columns is below that of the column before.
check_eq "sequential: a diagonal" 59 "$(grep '|' "$d/ops.txt" | cut -d '|' -f 2 | awk '
	{ for (c = 1; c <= length; c++) { s = index(" .:-=+*#%@", substr($0, c, 1)); if (s >= most[c]) { most[c] = s; at[c] = NR } } }
	END { for (c = 2; c in at; c++) down += at[c] >= at[c - 1]; print down }')"

pattern hot-row writes.txt reads.json bytes.json latency.txt
valid hot-row "$d"
names hot-row "Hot row user#1234:"
advises hot-row "hot-row user#1234"
check "hot-row: a line that is a hundred times as hot" [ "$(ratio '. == "user#1234%00"')" -ge 100 ]
check "hot-row: writes name it, too" grep -q "Hot row user#1234:" "$d/writes.txt"
check "hot-row: latency is a mean" grep -q "mean microseconds:" "$d/latency.txt"
check_eq "hot-row: eight bytes a write" \
	"$(jq '[.metrics[0].matrix.rows[].cols[]] | add' "$d/bytes.json")" \
	$((8 * ($(jq '[.metrics[0].matrix.rows[].cols[]] | add' "$d/ops.json") - \
	$(jq '[.metrics[0].matrix.rows[].cols[]] | add' "$d/reads.json"))))

pattern hot-prefix
valid hot-prefix "$d"
names hot-prefix "Hot prefix tenant17#order#*:"
advises hot-prefix "hot-prefix tenant17#order"
check "hot-prefix: a band of ranges that are ten times as hot" [ "$(ratio 'startswith("tenant17#")')" -ge 10 ]

pattern scans
valid scans "$d"
names scans "Periodic scans: 12 times, about every 30 minutes"
advises scans ""
check_eq "scans: twelve stripes, of more rows than the table has" 12 \
	"$(jq '[.metrics[0].matrix.rows | map(.cols) | transpose[] | add | select(. >= 2000)] | length' "$d/ops.json")"

end=$(date +%s)
pattern even
valid even "$d"
names even "Even load: the keys spread operations well"
advises even ""

# ---- A mount with hostile keys ------------------------------------------------------------------

new_mount '{"version":1,"tables":{"t":{"families":{"f":{}}},"empty":{}}}'
heat=$m/.rowfs/keyvis

# shellcheck disable=SC2016
printf '{"key":"%s","families":{"f":{"q":"1"}}}\n' '</script><script>alert(1)</script>' \
	'%1B]0;owned%07%1B[2J' 'c2\u009b31m' '\u202etxt' 'a#<b>&amp;\"'"'"'#%00%FF%FE' ']]>-->' '<svg onload=x>' '$(reboot)`x`' \
	'%0D%0A%09#x' "$(printf 'long%.0s' {1..900})" 'r#$(touch pwn)' "q#'\$(touch pwn)'" ';touch pwn;#\u00a0' '-rf#x y' \
	'~root' >"$TMP/hostile"
for _ in {1..30}; do cat "$TMP/hostile" >"$m/t/.rows"; done
mkdir "$TMP/ops"
cp "$heat/t/ops".* "$TMP/ops"
valid hostile "$TMP/ops"
for f in svg html; do
	check "hostile: no element of a key is in $f" [ "$(grep -ciE '<script>alert|<b>|<svg onload' "$TMP/ops/ops.$f")" = 0 ]
done
# A user who may write keys waits for an operator who pastes the path that the page copies behind a command.
# U+009B has the same bytes in a name of the tree, so a shell without $'...' does not find that one.
paste=$TMP/paste
mkdir "$paste" && ln -s "$m/t" "$paste/t"
sed -n '/id="data">/,/<\/script>/{s/.*id="data">//;s/<.*//;p}' "$TMP/ops/ops.html" | jq -r '.paths[]' | sort -u >"$TMP/paths"
check_eq "hostile: each key has a path that is pasted" 16 "$(grep -c ^ "$TMP/paths")"
check_eq "hostile: a path acts on no terminal" "" "$(LC_ALL=C grep -aP '[\x00-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80' "$TMP/paths")"
for shell in bash dash; do
	while read -r path; do
		[[ $shell = dash && $path = *"\$'"* ]] ||
			check "hostile: pasted into $shell: $path" env -C "$paste" "$shell" -c "stat -- $path"
	done <"$TMP/paths"
done
check_eq "hostile: none of them ran a command" t "$(ls -A "$paste")"
cd "$TMP" || exit 1
check_eq "hostile: a long key keeps lines short" 0 "$(awk 'length > 100' "$heat/t/4d/ops.txt" | wc -l)"
check "a table without traffic says so" grep -q "The map is empty: no operations were counted in this time." "$heat/empty/28d/ops.txt"
check "so does its html" grep -q "The map is empty" "$heat/empty/ops.html"
check "a short history is explained" grep -qE "Counting began at .* UTC, so the map has [0-9]+ minutes? instead of 6 hours." "$heat/t/ops.txt"

# ---- Memory: large control files together ----------------------------------------------------

# Families make a large text of the schema, which costs less than a map.
mkdir "$TMP/large"
others=()
[ "$(id -u)" != 0 ] || others=(-o allow_other)
mount_store "$TMP/even.db" "$TMP/large" "${others[@]}"
check_eq "open maps have 64 MiB at most, and a close gives them back" ok "$(python '
for table in range(8):
    os.mkdir(f"{q}/t{table}")
    for family in range(100):
        os.mkdir(f"{q}/t{table}/.families/f{family:063}")
map, schema = f"{q}/.rowfs/keyvis/demo/ops.html", f"{q}/.rowfs/schema.json"
size, small = len(get(map)), len(get(schema))
assert 1 << 16 < small < size < 1 << 23, (small, size)
def hold(path):
    files.append(os.open(path, os.O_RDONLY))
    os.pread(files[-1], 1, 0) # makes the text
for _ in range(2):
    files, held = [], 0
    while held < 60 << 20:
        hold(schema)
        held += small
    try:
        while held <= 64 << 20:
            hold(map)
            held += size
    except OSError as error:
        assert error.errno == errno.ENFILE, error
    assert (64 << 20) - size < held <= 64 << 20, (held, size)
    assert get(f"{q}/.rowfs/version")
    for file in files:
        os.close(file)
    while "\nrowfs_open_files 0\n" not in get(f"{q}/.rowfs/metrics"):
        time.sleep(0.05) # RELEASE is not waited for
print("ok")' "$TMP/large")"
check "its reason is known" grep -q 'too many control files are open' "$TMP/large/.rowfs/errors"

# Users 1001 to 1004, one after another, keep as many maps open as they can, or rows of 50 KB, or the schema and then maps.
[ "$(id -u)" != 0 ] || check_eq "each other user has 16 MiB of them, all others 48, and root the rest" ok "$(python '
os.chdir(q)
map, schema, row = ".rowfs/keyvis/demo/ops.html", ".rowfs/schema.json", "t0/r/.row"
os.makedirs("t0/r/f" + "0" * 63)
put("t0/r/f" + "0" * 63 + "/q", "x" * 50000)
sizes = {path: len(get(path)) for path in (map, schema, row)}
size = sizes[map]
def attack(user, paths):
    """Returns the bytes that the user holds, until end is closed."""
    told, tell = os.pipe()
    if os.fork() == 0:
        os.close(end[1])
        os.setgroups([]), os.setgid(user), os.setuid(user)
        files, held = [], 0
        for path in paths:
            try:
                while True:
                    files.append(os.open(path, os.O_RDONLY))
                    os.pread(files[-1], 1, 0)
                    held += sizes[path]
            except OSError as error:
                assert error.errno == errno.ENFILE, error
        os.write(tell, b"%d" % held)
        os.read(end[0], 1)
        os._exit(0)
    os.close(tell)
    return int(os.read(told, 99) or -1)
def as_user(user):
    child = os.fork()
    if child == 0:
        os.setuid(user)
        os._exit("</html>" not in get(map))
    return os.waitpid(child, 0)[1]
for paths in [map], [row], [schema, map]:
    end, all = os.pipe(), 0
    for user in 1001, 1002, 1003, 1004:
        assert user == 1004 or as_user(user) == 0 # beside the users before it
        held = attack(user, paths)
        all += held
        assert (16 << 20) - size < held <= 16 << 20 or user == 1004 and held < 3 * size, (user, held, size)
    assert (48 << 20) - size < all <= 48 << 20, (all, size)
    assert "</html>" in get(map) and get(schema)
    for fd in end:
        os.close(fd)
    for _ in range(4):
        os.wait()
    while "\nrowfs_open_files 0\n" not in get(".rowfs/metrics"):
        time.sleep(0.05)
print("ok")' "$TMP/large")"
unmount_store "$TMP/large"

finish
