#!/bin/bash
# SPDX-License-Identifier: MIT
#
# .changes: its lines, readers that come and go under load, mirrors that end equal, drops, lost lines.
#
#   ROWFS_FULL=1   twice as many changes while a mirror follows (environment)

. "$(dirname "$0")/lib.sh"

# Freed memory must not distort the measurement below.
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:quarantine_size_mb=1

live() {
	"$python" -S "$LIB_DIR/live.py" "$@"
}

families='"f":{},"n":"maxversions=2","i":{"type":"intsum"},"h":{"type":"inthll"}'
keys='"keys":{"segments":["a",{"name":"n","codec":"pad","width":5}],"salt":{"buckets":8}}'
new_mount "{\"version\":1,\"tables\":{\"t\":{\"families\":{$families}},\"o\":{\"families\":{$families}},
	\"salted\":{$keys,\"families\":{$families}},\"u\":{\"families\":{$families}}}}" -o autodir

# ---- Lines -------------------------------------------------------------------------------------

# changes_of DIRECTORY COMMAND…: the lines of its .changes that the command makes, without ts.
changes_of() {
	local dir=$1 fd
	shift
	exec {fd}<"$dir/.changes"
	"$@"
	put "$m/t/.rows" '{"key":"z","families":{"f":{"end":[{"ts":1,"value":""}]}}}'
	put "$m/t/a/.rows" '{"key":"a#z","families":{"f":{"end":[{"ts":1,"value":""}]}}}'
	# shellcheck disable=SC2016 # jq's
	jq -nc --unbuffered 'label $out | inputs | if .families.f.end then break $out else del(.ts) end' <&"$fd"
	exec {fd}<&-
}

put "$m/t/.rows" '{"key":"a#b","families":{"f":{"q":[{"ts":5,"value":"five"},{"ts":4,"value":"four"}]}}}'
for case in \
	"touch|touch -d @0.000009 $m/t/a/b/f/q|$(
		)"'{"key":"a#b","delete":{"f":{"q":[5]}},"families":{"f":{"q":[{"ts":9,"value":"five"}]}}}' \
	"mv|mv $m/t/a/b/f/q $m/t/a/b/f/r|$(
		)"'{"key":"a#b","delete":{"f":{"q":[9,4]}},"families":{"f":{"r":[{"ts":9,"value":"five"},{"ts":4,"value":"four"}]}}}' \
	"rm of a version|rm $m/t/a/b/f/r@/4|"'{"key":"a#b","delete":{"f":{"r":[4]}}}' \
	"a write of a version|put $m/t/a/b/f/r@/7 v|$(
		)"'{"key":"a#b","families":{"f":{"r":[{"ts":7,"value":"v\n"}]}}}' \
	"rm|rm $m/t/a/b/f/r|"'{"key":"a#b","delete":{"f":{"r":true}}}' \
	"a look|test -e $m/t/new|" \
	"a refused line|fail_with refused - . put $m/t/.row {}|" \
	"another table|put $m/o/a/f/q v|"; do
	IFS='|' read -r name command line <<<"$case"
	# shellcheck disable=SC2086 # words
	check_eq "$name" "$line" "$(changes_of "$m/t" $command 2>&1 | grep -v '^ok ' |
		jq -c 'if .delete.f.q then .delete.f.q |= (if type == "array" then sort | reverse else . end) else . end')"
done
check_eq "ts is the time of the commit" true "$(
	exec {fd}<"$m/t/.changes"
	from=$(date +%s%6N)
	put "$m/t/x/f/q" v
	read -r line <&"$fd"
	jq "$from <= .ts and .ts <= $(date +%s%6N)" <<<"$line")"
check_eq "a prefix has its own" '{"key":"a#c","families":{"f":{"q":[{"ts":1,"value":"v"}]}}}' "$(
	rows() {
		put "$m/t/.rows" '{"key":"ab","families":{"f":{"q":[{"ts":1,"value":"v"}]}}}'
		put "$m/t/.rows" '{"key":"a#c","families":{"f":{"q":[{"ts":1,"value":"v"}]}}}'
		put "$m/t/.rows" '{"key":"b","families":{"f":{"q":[{"ts":1,"value":"v"}]}}}'
	}
	changes_of "$m/t/a" rows)"
check_eq "so has a range" '"b" "bc"' "$(
	exec {fd}<"$m/t/.from/b/.to/c/.changes" {other}<"$m/t/.prefix/x/.changes"
	for key in a b bc c d; do
		put "$m/t/.rows" "{\"key\":\"$key\",\"families\":{\"f\":{\"q\":[{\"ts\":1,\"value\":\"v\"}]}}}"
	done
	{ head -n 2 <&"$fd"; timeout 0.5 cat <&"$fd"; timeout 0.1 cat <&"$other"; } | jq .key | xargs -d '\n')"
for view in .reverse .newest/1 .first/3 .at/now .has/f; do
	fail_with "$view has none" - 'Invalid argument' head -c 1 "$m/t/$view/.changes"
	error "it says why" 'range of keys'
done
fail_with "it cannot be written" - 'not permitted' put "$m/t/.changes" x
for path in "$m/t/.changes" "$m/t/a/.changes"; do
	check_eq "${path#"$m/"}: mode and size" "600 0" "$(stat -c '%a %s' "$path")"
done
for path in "$m/t/a/b/f/.changes" "$m/.changes" "$m/.versions/t/.changes"; do
	none "${path#"$m/"} is no name" "$path"
done

check_eq "another delimiter: a prefix is another one, a table is not" 'ESTALE a|b' "$(
	mkdir "$m/w"
	mkdir "$m/w/.families/f"
	python '
part, whole = os.open(a[0] + "/a/.changes", os.O_RDONLY), os.open(a[0] + "/.changes", os.O_RDONLY)
put(a[0] + "/.delimiter", "|")
put(a[0] + "/.rows", json.dumps({"key": "a|b", "families": {"f": {"q": "v"}}}))
print(error(os.read, part, 100), json.loads(os.read(whole, 1000))["key"])' "$m/w")"

# ---- Restarts ----------------------------------------------------------------------------------

check_eq "readers restarted under 8 writers" ok "$(live restarts "$m/t" 5)"
check_eq "killed ones leave no open file" 0 "$(
	no_files_open
	echo $?)"
check_eq "a reader that is too late learns how many lines it lost" ok "$(live lost "$m/u")"

# ---- Mirrors -----------------------------------------------------------------------------------

# same TABLE OTHER DIRECTORY: they have the same cells.
same() {
	cmp -s "$m/$1/$3.rows" "$m/$2/$3.rows"
}

# mirror NAME TABLE OTHER DIRECTORY: as docs/operations.md starts one, while processes write.
mirror() {
	local fd pid writers line
	put "$m/$3/.drop" "$3"
	exec {fd}<"$m/$2/.changes"
	live change "$m/$2" "$(rounds 150 300)" >"$TMP/change" 2>&1 &
	writers=$!
	for _ in {1..20}; do read -r line <&"$fd"; done
	exec {fd}<&-
	exec {fd}<"$m/$2/$4.changes"
	cat "$m/$2/$4.rows" >"$m/$3/.rows"
	cat <&"$fd" >"$m/$3/.rows" 2>"$TMP/mirror" &
	pid=$!
	track_pid "$pid"
	exec {fd}<&-
	wait "$writers"
	check_eq "$1: the writers" ok "$(cat "$TMP/change")"
	check "$1: it ends equal" within same "$2" "$3" "$4"
	check_eq "$1: it goes on" "" "$(ended "$pid" && cat "$TMP/mirror" && echo ended)"
	MIRROR=$pid
}

mirror "a mirror" t o ""
head -c 24000000 /dev/urandom >"$TMP/large"
memory() {
	awk -v "name=$1:" '$1 == name { print $2 }' "/proc/$(mount_pid "$m")/status"
}
exec {fd}<"$m/t/large/.changes"
check "a large value" cp "$TMP/large" "$m/t/large/f/q"
check "reaches the mirror" within cmp -s "$TMP/large" "$m/o/large/f/q"
echo 5 >"/proc/$(mount_pid "$m")/clear_refs"
before=$(memory VmRSS)
check_eq "its line is whole" 24000000 "$(python '
import base64
print(len(base64.b64decode(json.loads(sys.stdin.readline())["families"]["f"]["q"][0]["base64"])))' <&"$fd")"
# A sanitizer's own memory is beyond any limit.
[ -n "${ASAN_OPTIONS:-}${TSAN_OPTIONS:-}" ] ||
	check "and read in little memory" test "$(($(memory VmHWM) - before))" -lt 16384
exec {fd}<&-

# The mirror of a table ends with a drop in it, and says why.
check "a drop in the table" put "$m/t/a/.drop" a
check "ends the mirror" within ended "$MIRROR"
check_eq "with an error" 'Invalid argument' "$(grep -o 'Invalid argument' "$TMP/mirror" | uniq)"
check_eq "that has a reason" 1 "$(tail -n 1 "$m/.rowfs/errors" | grep -c 'gap here; copy the table anew')"

mirror "a mirror of a prefix" t o a/
kill "$MIRROR"
mirror "a mirror of a table with codecs and salt" salted o ""
kill "$MIRROR"
check_eq "drops: lines for who reads of these rows" 't {"dropped":"a#b"}
a {"dropped":"a#b"}
a/b/c {"dropped":"a#b"}
range {"dropped":"a#b"}' "$(
	pids=()
	no_files_open
	for dir in t a a/b/c b range other; do
		case $dir in
		t) path=$m/t ;;
		range) path=$m/t/.from/a/.to/b ;;
		other) path=$m/t/.from/b ;;
		*) path=$m/t/$dir ;;
		esac
		head -n 1 "$path/.changes" >"$TMP/drop.${#pids[@]}.${dir//\//_}" &
		pids+=($!)
	done
	files_open 6
	put "$m/t/a/b/.drop" 'a#b'
	wait "${pids[@]:0:3}" "${pids[4]}"
	kill "${pids[3]}" "${pids[5]}" # those of other rows
	for file in "$TMP"/drop.*; do
		dir=${file##*/drop.?.}
		sed "s|^|${dir//_//} |" "$file"
	done)"
check_eq "a family, the table, the table with its families" '{"dropped":"","family":"i"}
{"dropped":""}
{"dropped":""}
end' "$(
	no_files_open
	{
		cat "$m/u/.changes"
		echo end
	} &
	files_open 1
	put "$m/u/.families/i/drop" i
	put "$m/u/.drop" u
	put "$m/u/.drop" 'table u'
	wait)"

# ---- Ends --------------------------------------------------------------------------------------

check_eq "many blocked readers" ok "$(live wait "$m/t/.changes" 200)"
no_files_open
cat "$m/t/.changes" >"$TMP/rest" &
reader=$!
track_pid "$reader"
files_open 1
put "$m/t/a/f/q" last
fail_with "the mount is busy" - 'busy' fusermount3 -u "$m"
kill "$(mount_pid "$m")"
check "readers end with the mount" within ended "$reader"
check_eq "and have all lines" 1 "$(grep -c '"last\\n"' "$TMP/rest")"
unmount_store "$m"
finish
