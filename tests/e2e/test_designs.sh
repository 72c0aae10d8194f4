#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tables with a key design on a mount: names, keys as text, .raw, .design, salts. The expected names and stored keys
# are those of the contract, written by hand.
#
#   ROWFS_FULL=1    a larger table goes into another design (environment)

. "$(dirname "$0")/lib.sh"

# refused NAME REGEX PATH TEXT: a write fails with these words.
refused() {
	fail_with "$1" - "$2" bash -c 'printf "%s\n" "$1" >"$0"' "$3" "$4"
}

SEGMENTS='{"tables":{
	"page":{"families":{"f":{}},"keys":{"segments":[{"name":"host","codec":"reverse-domain"},
		{"name":"at","codec":"reverse-time"}]}},
	"day":{"families":{"f":{}},"keys":{"segments":["who",{"name":"at","codec":"time","unit":"s","width":10}]}},
	"ms":{"families":{"f":{}},"keys":{"segments":[{"name":"at","codec":"time","unit":"ms"},
		{"name":"back","codec":"reverse-time","unit":"s"}]}},
	"pad":{"families":{"f":{},"loc":{}},"keys":{"segments":[{"name":"n","codec":"pad","width":5},
		{"name":"id","codec":"reverse"}]}},
	"salt":{"families":{"f":{}},"keys":{"segments":["tenant",{"name":"n","codec":"pad","width":4}],
		"salt":{"buckets":16,"segments":1}}},
	"all":{"families":{"f":{}},"keys":{"salt":{"buckets":256}}},
	"plain":{"families":{"f":{}}}}}'
new_mount "$SEGMENTS"

# rows TABLE KEY…: makes rows of these shown keys, in JSON's text.
rows() {
	local table=$1
	shift
	printf '{"key":"%s","families":{"f":{"q":["x"]}}}\n' "$@" >"$m/$table/.rows"
}

# shows NAME TABLE KEY STORED PATH: a row of this shown key is stored so, has that path, and the same shown key.
shows() {
	local table=$m/$2
	rows "$2" "$3"
	check_eq "$1: stored" "$4" "$(cat "$table/.raw/.keys")"
	check_eq "$1: shown" "$3" "$(cat "$table/.keys")"
	check "$1: its path" test -f "$table/$5/f/q"
	check_eq "$1: is what find lists" "$5/f/q" "$(cd "$table" && find . -type f -printf '%P\n')"
	check_eq "$1: its row" "$3" "$(jq -r .key "$table/$5/.row")"
	echo "$2" >"$table/.drop"
}

# ---- Codecs ----------------------------------------------------------------------------------

shows "a domain and a reversed time" page 'maps.google.com#2026-11-22T21:00:00.000000Z' \
	com.google.maps#9221576655654775807 maps.google.com/2026-11-22T21:00:00.000000Z
shows "the newest possible time" page 'x#9999-12-31T23:59:59.999999Z' x#8969969736054775808 x/9999-12-31T23:59:59.999999Z
shows "the oldest possible time" page 'x#1970-01-01T00:00:00.000000Z' x#9223372036854775807 x/1970-01-01T00:00:00.000000Z
shows "labels without bytes" page '..a..' ..a.. '%2E.a..'
shows "seconds in ten digits" day 'me#2026-11-22T21:00:00Z' me#1795381200 me/2026-11-22T21:00:00Z
shows "milliseconds, and seconds back" ms '2026-11-22T21:00:00.123Z#1970-01-01T00:00:09Z' \
	0000001795381200123#9223372036854775798 2026-11-22T21:00:00.123Z/1970-01-01T00:00:09Z
shows "a number and an id" pad '42#1234' 00042#4321 42/1234
shows "zero" pad '0#a' 00000#a 0/a
shows "fewer segments" pad 7 00007 7
shows "further segments are text" pad '7#ab#cd#' 00007#ba#cd# 7/ab/cd/%
shows "any bytes of an id" pad '7#%25%00%FFä' 00007#%A4%C3%FF%00%25 '7/%25%00%FFä'
shows "an id like a family" pad '7#loc' 00007#col '7/%6C%6F%63'
shows "stored bytes that are no number" pad '%=x' x '%=x'
shows "digits of another width" pad '%=042#1' 042#1 '%=042/1'
shows "an empty number" pad '%=#%=' '#' '%=%/%=%'
shows "a time after the year 9999" day 'me#%=9999999999999' me#9999999999999 'me/%=9999999999999'
shows "stored bytes with escapes" pad '%=%FF%25' %FF%25 '%=%FF%25'
shows "a leading dot behind %=" pad '%=.a' .a '%=%2Ea'
long=$(printf '%0300d' 0)
rows pad "1#$long"
check_eq "a long id has its shown form in JSON" "1#$long" "$(cat "$m/pad/.keys")"
path=1/%=$(printf '%0228d' 0)%/$(printf '%072d' 0)
check_eq "its name is that of its stored bytes" "$path/f/q" "$(cd "$m/pad" && find . -type f -printf '%P\n')"
check_eq "which leads to it" "1#$long" "$(jq -r .key "$m/pad/$path/.row")"
none "its shown form does not" "$m/pad/1/${long:0:229}%"
echo pad >"$m/pad/.drop"
rows pad '%=00042#%=4321' '42#5'
check_eq "%= before what the codec shows means these bytes" $'42#1234\n42#5' "$(cat "$m/pad/.keys")"
check_eq "it has one name" 42 "$(entries "$m/pad")"
none "and not the other" "$m/pad/%=00042"
rows plain '%=a#%=b'
check_eq "%= is taken in plain tables, too" 'a#b' "$(cat "$m/plain/.keys")"

# ---- Order -----------------------------------------------------------------------------------

echo pad >"$m/pad/.drop"
rows pad 9 10 1 '%=x' '%=#a' 100
check_eq "a listing has the order of the stored keys" $'%=%\n1\n9\n10\n100\n%=x' "$(entries "$m/pad")"
check_eq "and so has a stream" $'%=#a\n1\n9\n10\n100\n%=x' "$(cat "$m/pad/.keys")"
check_eq "and a view in reverse" $'%=x\n100\n10' "$(cat "$m/pad/.reverse/.first/3/.keys")"
rows page 'www.example.com#2026-01-01T00:00:00.000000Z' 'www.example.com#2027-01-01T00:00:00.000000Z' \
	'mail.example.com' 'www.example.org'
check_eq "domains stand beside their relatives" $'mail.example.com\nwww.example.com\nwww.example.org' "$(entries "$m/page")"
check_eq "the newest time comes first" $'2027-01-01T00:00:00.000000Z\n2026-01-01T00:00:00.000000Z' \
	"$(entries "$m/page/www.example.com")"

# ---- Names that a codec does not take --------------------------------------------------------

mkdir "$m/page/x"
while read -r table name words; do
	none "$table: no name is $name" "$m/$table/$name"
	fail_with "$table: $name cannot be made" 1 'Invalid argument' mkdir "$m/$table/$name"
	error "$table: $name: the errors say why" "$words"
done <<'EOF'
pad abc number
pad 007 7
pad 100000 5
pad -1 number
pad %=00007 7
page/x 2026-11-22 2026-11-22T00:00:00.000000Z
page/x 2026-11-22T21:00:00Z 2026-11-22T21:00:00.000000Z
page/x 2026-02-30T00:00:00.000000Z time
page/x 2026-11-22T21:00:00.000000+01:00 2026-11-22T20:00:00.000000Z
page/x yesterday time
page/x 1700000000 28:20.000000Z; of seconds it is 2023-11-14T22:13:20.000000Z; of milliseconds it is 1970-01-20T16:13:20.000000Z$
page/x 1700000000000000 2023-11-14T22:13:20.000000Z$
EOF
check "a directory that the codec takes can be made" mkdir -p "$m/pad/8/x"
check "and holds a row" bash -c "mkdir '$m/pad/8/x/f' && echo 1 >'$m/pad/8/x/f/q'"
check_eq "which is stored as it says" '00008#x' "$(grep 00008 "$m/pad/.raw/.keys")"
refused "a number with zeros in row JSON" 'Invalid argument' "$m/pad/.rows" '{"key":"007","families":{"f":{"q":["x"]}}}'
error "has the canonical form in the errors" 'key: .*\b7\b'

# ---- KEY and views ---------------------------------------------------------------------------

rows day 'me#2026-11-21T00:00:00Z' 'me#2026-11-22T00:00:00Z' 'me#2026-11-23T12:00:00Z'
check_eq "a KEY takes each form of TIME" $'me#2026-11-22T00:00:00Z\nme#2026-11-23T12:00:00Z' \
	"$(cat "$m/day/.from/me#2026-11-22/.keys")"
check_eq "microseconds, too" $'me#2026-11-23T12:00:00Z' "$(cat "$m/day/me/.from/1795392000000000/.keys")"
for place in .from/me%23 me/.to/ .prefix/me%23; do
	check "a number of seconds, too: $place" stat "$m/day/${place}1795392000"
	error "but the errors ask for its unit" \
		"/day/${place}1795392000: at: 1795392000 is microseconds, 1970-01-01T00:29:55.392000Z: are seconds .* or milliseconds .* meant\?$"
done
lines=$(wc -l <"$m/.rowfs/errors")
check "other forms are found" stat "$m/day/.from/me#1795392000000000" "$m/day/me/.from/2026-11-22" "$m/day/me/.from/now" "$m/day/.from/17"
check_eq "and add no line" "$lines" "$(wc -l <"$m/.rowfs/errors")"
refused "in row JSON only the canonical form" 'Invalid argument' "$m/day/.rows" '{"key":"me#1795392000","families":{"f":{"q":["x"]}}}'
error "and the errors have that of each unit" \
	'canonical form is 1970-01-01T00:29:55Z; of seconds it is 2026-11-23T00:00:00Z; of milliseconds it is 1970-01-21T18:43:12Z '
rows day "soon#$(date -u -d '+2 seconds' +%FT%TZ)" "late#$(date -u -d '+1 day' +%FT%TZ)"
check_eq "and now" "$(cat "$m/day/late/.keys")" "$(cat "$m/day/late/.from/now/.keys")"
check "which is another one at each lookup" within eval '[ -n "$(cat "$m/day/soon/.to/now/.keys")" ]'
check_eq "a span ends at the present" "$(cat "$m/day/soon/.keys")" "$(cat "$m/day/soon/.from/1d/.keys")"
check_eq "the later time is .from where times are reversed" 'www.example.com#2026-01-01T00:00:00.000000Z' \
	"$(cat "$m/page/www.example.com/.from/2026-06-01/.to/%=99/.keys")"
check_eq "half a domain is a prefix" $'mail.example.com\nwww.example.com' "$(entries "$m/page/.prefix/.example.com")"
check_eq ".key matches the shown key" 'www.example.org' "$(cat "$m/page/.key/www.*org/.keys")"
check_eq "and the shown form of a time" 1 "$(wc -l <"$m/day/.key/.*T12:00:00Z/.keys")"
fail_with "a wrong KEY" - 'Invalid argument' ls "$m/pad/.from/abc"
error "has its reason" '\.from/abc: .*number'

# ---- .raw ------------------------------------------------------------------------------------

check_eq ".raw has the stored names" $'com.example.mail\ncom.example.www\norg.example.www' "$(entries "$m/page/.raw")"
check_eq "and values" x "$(cat "$m/page/.raw/org.example.www/f/q")"
none ".raw is the first view alone" "$m/page/.first/1/.raw"
none "and stands in the table" "$m/page/www.example.com/.raw"
check_eq "views stand in it" 'org.example.www' "$(cat "$m/page/.raw/.last/1/.keys")"
fail_with "it is read-only" - 'Read-only' mkdir "$m/page/.raw/x"
check_eq "a plain table has it, too" $'a#b' "$(cat "$m/plain/.raw/.keys")"

# ---- Salt ------------------------------------------------------------------------------------

# hash TEXT BUCKETS: the two digits, by the contract: FNV-1a of 64 bits, its upper half XORed into its lower half.
hash() {
	salted "$2" "$1" | cut -c -2
}
# salted BUCKETS KEY…: the keys, each with the hash of its first segment before it.
salted() {
	"$python" -S -c 'import sys
for key in sys.argv[2:]:
    h = 0xcbf29ce484222325
    for b in key.split("#")[0].encode(): h = (h ^ b) * 0x100000001b3 % 2**64
    print("%02x#%s" % (((h >> 32) ^ h) % 2**32 % int(sys.argv[1]), key))' "$@"
}
rows salt 'acme#1' 'acme#20' 'zeta#3' 'beta#4' acme
check_eq "a salted table is listed as others" $'acme\nbeta\nzeta' "$(entries "$m/salt")"
check_eq "and streams in the order of the keys" $'acme\nacme#1\nacme#20\nbeta#4\nzeta#3' "$(cat "$m/salt/.keys")"
check_eq "backwards" $'zeta#3\nbeta#4\nacme#20\nacme#1\nacme' "$(cat "$m/salt/.reverse/.keys")"
check_eq "its stored keys begin with the hash of the first segment" \
	"$(salted 16 acme acme#0001 acme#0020 beta#0004 zeta#0003 | sort)" \
	"$(cat "$m/salt/.raw/.keys")"
check_eq "rows are found by path" $'1\n20\nf' "$(sorted "$m/salt/acme")"
check_eq "counted" '{"rows":5,"cells":5,"bytes":5}' "$(jq -c . "$m/salt/.count")"
check_eq "also below a segment" 3 "$(jq .rows "$m/salt/acme/.count")"
check "written" bash -c "echo new >'$m/salt/zeta/3/f/r'"
check_eq "in one row" '["q","r"]' "$(jq -c '.families.f|keys' "$m/salt/zeta/3/.row")"
check "dropped" bash -c "echo acme >'$m/salt/acme/.drop'"
check_eq "and the others stay" $'beta#4\nzeta#3' "$(cat "$m/salt/.keys")"
rows all $(seq -f 'k%03g' 1 300)
check_eq "256 buckets" "$(seq -f 'k%03g' 1 300)" "$(cat "$m/all/.keys")"
check_eq "in a listing" "$(seq -f 'k%03g' 1 300)" "$(entries "$m/all")"
check_eq "each key has its salt" "$(salted 256 k{101..120} | sort)" \
	"$(grep -E '#k1(0[1-9]|1.|20)$' "$m/all/.raw/.keys")"
check_eq "first and last" $'k001\nk300' "$(cat "$m/all/.first/1/.keys" "$m/all/.last/1/.keys")"
check_eq "a range" $'k100\nk101' "$(cat "$m/all/.from/k100/.to/k102/.keys")"
check "all is dropped" bash -c "echo all >'$m/all/.drop'"
check_eq "nothing stays" "" "$(cat "$m/all/.raw/.keys")"
key=$(printf '%4093s' '' | tr ' ' k)
rows all "$key"
check_eq "a stored key may have 4,096 bytes" 1 "$(wc -l <"$m/all/.keys")"
refused "and no more" 'File name too long' "$m/all/.rows" "{\"key\":\"${key}k\",\"families\":{\"f\":{\"q\":[\"x\"]}}}"
check_eq "the plain table takes it" "" "$(rows plain "${key}k" 2>&1)"

# ---- .design ---------------------------------------------------------------------------------

mkdir "$m/new" "$m/new/.families/f"
check_eq "a new table has none" '{}' "$(cat "$m/new/.design")"
design='{"segments":["a",{"name":"n","codec":"pad","width":3}],"salt":{"buckets":4,"segments":1}}'
check "it is set while the table is empty" put "$m/new/.design" "$design"
check_eq "and read back" "$design" "$(cat "$m/new/.design")"
check_eq "it is in the schema" "$design" "$(jq -c .tables.new.keys "$m/.rowfs/schema.json")"
rows new 'x#7'
check_eq "and in force" "$(hash x 4)#x#007" "$(cat "$m/new/.raw/.keys")"
refused "it stays while there are rows" 'not empty' "$m/new/.design" '{}'
error "with the reason" 'new/.design:1: .*rows or directories; its design stays'
yields "but may be set to what it is" 'x#7' 'cat "$m/new/.keys"' put "$m/new/.design" "$design"
echo maxversions=1 >"$m/new/.families/f/gc"
echo pause >"$m/.rowfs/gc"
echo '{"key":"x#7","families":{"f":{"q":[{"ts":1,"value":"old"}]}}}' >"$m/new/.rows"
echo '{"key":"x#7","delete":{"f":{"q":true}}}' >"$m/new/.rows"
put "$m/new/.families/f/gc" 'maxage=1ms'
rows new 'y#8'
check "hidden cells count" within eval '[ -z "$(cat "$m/new/.keys")" ]'
refused "with EBUSY" 'busy' "$m/new/.design" '{}'
error "and the reason" 'write run to /.rowfs/gc'
refused "so for the delimiter" 'busy' "$m/new/.delimiter" ':'
echo resume >"$m/.rowfs/gc"
echo run >"$m/.rowfs/gc"
yields "then it changes" '{}' 'cat "$m/new/.design"' put "$m/new/.design" '{}'
put "$m/new/.families/f/gc" never
while IFS='|' read -r wrong words; do
	refused "wrong: $wrong" 'Invalid argument' "$m/new/.design" "$wrong"
	error "$wrong: why" "$words"
done <<'EOF'
{"segments":[{"name":"a","codec":"rot13"}]}|codec.*(text|reverse-domain)
{"segments":["a","a"]}|segments\[1\].*two segments have that name
{"segments":[{"name":"a","codec":"pad","width":0}]}|1 to 19
{"segments":[{"name":"a","codec":"pad","width":20}]}|1 to 19
{"segments":[{"name":"a","codec":"pad"}]}|width
{"segments":[{"name":"a","codec":"time","width":9}]}|10 to 19
{"segments":[{"name":"a","codec":"time","unit":"h"}]}|us.*ms.*s
{"segments":[{"name":"a","codec":"text","unit":"s"}]}|unit
{"segments":[{"codec":"pad","width":3}]}|name
{"segments":[1]}|segments
{"salt":{"buckets":1}}|2 to 256
{"salt":{"buckets":257}}|2 to 256
{"salt":{}}|buckets
{"more":1}|segments and salt
EOF
put "$m/new/.delimiter" :
refused "a codec that makes the delimiter" 'Invalid argument' "$m/new/.design" '{"segments":[{"name":"a","codec":"time"}]}'
error "is refused by name" 'time.*:|:.*time'
put "$m/new/.delimiter" a
refused "a salt that makes it" 'Invalid argument' "$m/new/.design" '{"salt":{"buckets":2}}'
put "$m/new/.delimiter" '#'
put "$m/new/.design" '{"segments":[{"name":"a","codec":"pad","width":2}]}'
refused "a delimiter that a codec makes" 'Invalid argument' "$m/new/.delimiter" 5
mkdir "$m/new/5"
refused "a design stays while there are directories" 'not empty' "$m/new/.design" '{}'
rmdir "$m/new/5"

# A process that was there before a change of the design.
rows new 5
cd "$m/new/5" || die "there is no row"
check_eq "an open file commits nothing any more" ESTALE "$(call 'import os
fd = os.open(a[0] + "/5/f/w", os.O_WRONLY | os.O_CREAT)
os.write(fd, b"x")
open(a[0] + "/.rows", "w").write("""{"key":"5","delete":true}""" + "\n")
open(a[0] + "/.design", "w").write("""{"segments":[{"name":"a","codec":"reverse"}]}""")
os.close(fd)' "$m/new")"
fail_with "a directory is stale" - 'Stale file handle' mkdir f
cd "$TMP" || exit
check_eq "and nothing is stored under another key" "" "$(cat "$m/new/.raw/.keys")"
check "the table takes rows under its new design" bash -c "mkdir -p '$m/new/52/f' && echo 1 >'$m/new/52/f/q'"
check_eq "and stores them so" 25 "$(cat "$m/new/.raw/.keys")"

# ---- Changing the design of a table with rows --------------------------------------------------

# Rows with histories, in random order.
echo pad >"$m/pad/.drop"
put "$m/pad/.design" '{"segments":[{"name":"n","codec":"pad","width":6},{"name":"at","codec":"time","unit":"s"}]}'
mkdir "$m/other" "$m/other/.families/f"
put "$m/other/.design" '{"segments":[{"name":"n","codec":"reverse"},{"name":"at","codec":"reverse-time","unit":"s"}],
	"salt":{"buckets":8,"segments":1}}'
"$python" -S - "$(rounds 20000 100000)" <<'EOF' >"$TMP/rows"
import random, sys
count = int(sys.argv[1])
for i in random.sample(range(count), count):
    print('{"key":"%d#2026-11-22T%02d:%02d:00Z","families":{"f":{"q":[{"ts":3,"value":"%d"},{"ts":2,"value":"b"}],'
          '"r":[{"ts":1,"value":"a"}]}}}' % (i // 1440, i % 1440 // 60, i % 60, i))
EOF
check "rows go into a table" cp "$TMP/rows" "$m/pad/.rows"
check "and from there into one with another design" bash -c "cat '$m/pad/.rows' >'$m/other/.rows'"
cat "$m/other/.rows" >"$TMP/got" # sort has a small buffer for a stream of size 0
check "with their keys and histories" cmp <(LC_ALL=C sort "$TMP/rows") <(LC_ALL=C sort "$TMP/got")
check_eq "in the order of its own" 0#2026-11-22T23:59:00Z "$(head -n 1 "$m/other/.keys")"

# ---- Pages -----------------------------------------------------------------------------------

for codec in text reverse-domain time reverse-time pad reverse; do
	check "/.rowfs/help has $codec" grep -qE "^ +$codec  " "$m/.rowfs/help"
	check "rowfs(5) has $codec" grep -qE "^\.It Cm $codec Ta" "$LIB_DIR/../../man/rowfs.5"
done

check "/.rowfs/help has what no codec shows" grep -qF "%=BYTES" "$m/.rowfs/help"
check "and the order of a listing" grep -qF "ls -U" "$m/.rowfs/help"

# ---- Mounted again ---------------------------------------------------------------------------

before=$(cat "$m/pad/.rows" "$m/salt/.rows" "$m/.rowfs/schema.json")
unmount_store "$m"
check "fsck finds nothing" "$BUILD/fsck.rowfs" -n "$TMP/s"
mount_store "$TMP/s" "$m"
check_eq "all is as it was" "$before" "$(cat "$m/pad/.rows" "$m/salt/.rows" "$m/.rowfs/schema.json")"

finish
