#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Policies in a mount: hidden cells are in no view from the moment of hiding on, also where the
# kernel keeps names; and the collector, as /.rowfs/gc shows it. The order of ls -U is that of the
# filesystem, which this test checks; names are digits.
# shellcheck disable=SC2012

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cells.sh"

F=$m/t/r/f

# seen NAME EXPECTED: the versions of column f/q of row r, in each view that there is of them.
seen() {
	local name=$1 expected=$2
	check_eq "$name, its history" "$expected" "$(ls -U "$F/q@" 2>/dev/null | paste -sd' ')"
	check_eq "$name, below .versions" "$expected" \
		"$(ls -U "$m/.versions/t/r/f/q@" 2>/dev/null | paste -sd' ')"
	check_eq "$name, in .row" "$expected" \
		"$(jq -r '.families.f.q // [] | map(.ts) | join(" ")' "$m/t/r/.row")"
	check_eq "$name, in .rows" "$expected" \
		"$(jq -r '.families.f.q // [] | map(.ts) | join(" ")' "$m/t/.rows")"
	check_eq "$name, in a dump" "$expected" \
		"$("$BUILD/rowfs-dump" "$m/t" | jq -r '.families.f.q // empty | map(.ts) | join(" ")')"
}

policy() {
	echo "$1" >"$m/t/.families/f/gc"
}

touch -d @1 "$TMP/old"
new_mount '{"version":1,"tables":{"t":{"families":{"f":{}}}}}' -o gcinterval=0
column "$F/q" 10= 20= 30= 40=
seen "without a policy" "40 30 20 10"

# ---- By rank
check "a policy is set" policy 'maxversions=2'
seen "two versions" "40 30"
check_eq "the policy is printed" maxversions=2 "$(cat "$m/t/.families/f/gc")"
fail_with "a hidden version cannot be read" 1 'No such file' cat "$F/q@/20"
fail_with "a hidden version cannot be removed" 1 'No such file' rm "$F/q@/20"
check "another policy brings it back" policy 'maxversions=3'
seen "three versions" "40 30 20"
check "the newest is removed" rm "$F/q@/40"
seen "what was hidden does not come back" "30 20"
policy never
seen "and is gone" "30 20"

# ---- By age. The kernel caches the names, as far as it may, before the cells expire.

# outlive: waits until all cells that were written are older than the age.
outlive() {
	local end=$((${EPOCHREALTIME/./} + age * 1000000))
	until ((${EPOCHREALTIME/./} > end)); do
		# A cell may expire between two looks; then it must be gone for the next ones.
		read -r _ 2>/dev/null <"$F/q"
		sleep 0.05
	done
}

# young COMMAND: runs a command that writes cells and reads them before they expire. If it took longer than the age,
# young doubles the age, waits until all cells expired, and runs the command again.
young() {
	local began
	while
		began=${EPOCHREALTIME/./}
		"$1"
		((${EPOCHREALTIME/./} >= began + age * 1000000))
	do
		policy "maxage=$((age *= 2))s"
		outlive
	done
}

age=3
policy "maxage=${age}s"
seen "old versions" ""
check_eq "a row of them is not there" "" "$(cat "$m/t/.keys")"
write_new() {
	echo new >"$F/q"
	exec 4<"$F/q"
	value=$(cat "$F/q")
	found=$(stat -c %n "$F/q" "$m/t/r")
}
young write_new
check_eq "a new version is seen" new "$value"
check_eq "its name is looked up" "$F/q"$'\n'"$m/t/r" "$found"
outlive
fail_with "at its age it cannot be read" 1 'No such file' cat "$F/q"
seen "at its age" ""
check_eq "no key is left" "" "$(cat "$m/t/.keys")"
check_eq "who has it open keeps it" new "$(cat <&4)"
exec 4<&-
append_more() {
	echo more >>"$F/q"
	value=$(cat "$F/q")
	printf '%s\n' '{"if":{"f":{"q":"more\n"}},"families":{"f":{"p":["1"]}}}' >"$m/t/r/.row"
	other=$(cat "$F/p")
}
young append_more
check_eq "an append starts anew" more "$value"
check_eq "a condition sees what is there" 1 "$other"
outlive
write_where_none_is() {
	echo '{"if":{"f":{"q":null}},"families":{"f":{"p":["2"]}}}' >"$m/t/r/.row"
	status=$?
	other=$(cat "$F/p")
}
young write_where_none_is
check_eq "a condition does not see what was, and it was applied" "0 2" "$status $other"

# ---- A directory that was never made by itself goes with its last cell.
make_row() {
	echo '{"key":"gone#deep","families":{"f":{"x":["1"]}}}' >"$m/t/.rows"
	value=$(cat "$m/t/gone/deep/f/x")
}
young make_row
check_eq "a row made through .rows" 1 "$value"
outlive
check_eq "is not listed any more" "" "$(find "$m/t" -maxdepth 1 -name gone)"
fail_with "nor found" 2 'No such file' ls "$m/t/gone"

# ---- Written and hidden at once

told='table t, family f: a cell was written that its policy hides at once'
# says_so: how many lines of the errors say that a cell was hidden.
says_so() {
	grep -c " /: $told\$" "$m/.rowfs/errors"
}
# warns NAME COMMAND…: under a policy of which no cell was hidden yet, it succeeds, and the errors have one line more.
warns() {
	local before
	policy never
	policy 'maxage=1d'
	before=$(says_so)
	check "$@"
	check_eq "$1: the errors say so" $((before + 1)) "$(says_so)"
}

mkdir -p "$m/t/w/f/q@"
policy 'maxage=1d'
echo 1 >"$m/t/w/f/q"
check_eq "a new cell is not" 0 "$(says_so)"
warns "an old version" bash -c "echo old >'$m/t/w/f/q@/1000000'"
check_eq "shows nothing" 1 "$(entries "$m/t/w/f/q@" | wc -l)"
check "another one" bash -c "echo old >'$m/t/w/f/q@/1000000'"
check_eq "is hidden without a line of its own" 1 "$(says_so)"
warns "a new column copied with its old time" cp -p "$TMP/old" "$m/t/w/f/old"
fail_with "shows nothing, too" 2 'No such file' ls "$m/t/w/f/old"
warns "a touch with an old time" touch -d @1 "$m/t/w/f/q"
fail_with "hides it" 2 'No such file' ls "$m/t/w/f/q"
echo 2 >"$m/t/w/f/q"
warns "a rename to an old version" mv "$m/t/w/f/q@/$(entries "$m/t/w/f/q@" | tail -n 1)" "$m/t/w/f/q@/5"
warns "a row" bash -c "echo '{\"families\":{\"f\":{\"q\":[{\"ts\":7,\"value\":\"v\"}]}}}' >'$m/t/w/.row'"
check_eq "so does the log, without key and value" "5 rowfs: warning: $told" \
	"$(grep warning "$(mount_log "$m")" | uniq -c | sed 's/^ *//')"

# ---- The collector
policy 'maxversions=1'
column "$m/t/many/f/q" {1..9}=
before=$(jq .total.cells "$m/.rowfs/gc")
check "a pass" bash -c "echo run >'$m/.rowfs/gc'"
check "it deleted what is hidden" test "$(jq .total.cells "$m/.rowfs/gc")" -ge $((before + 8))
check_eq "and is idle, in no table" "idle null" "$(jq -r '"\(.state) \(.table)"' "$m/.rowfs/gc")"
policy never
check_eq "nothing of it is left" 9 "$(ls "$m/t/many/f/q@" | paste -sd' ')"
yields "it pauses, and says so" paused 'jq -r .state "$m/.rowfs/gc"' bash -c "echo pause >'$m/.rowfs/gc'"
check_eq "no pass comes by itself" null "$(jq .pending.next "$m/.rowfs/gc")"
check "it goes on" bash -c "echo resume >'$m/.rowfs/gc'"
fail_with "another word" 1 'Invalid argument' bash -c "echo stop >'$m/.rowfs/gc'"

# ---- Explained: what another policy would hide

E=$m/t/.families/f/explain
echo t >"$m/t/.drop"
policy 'maxversions=4'
column "$m/t/x/f/q" {1..5}=12
column "$m/t/x/f/%FF" 1= 2=
mkdir -p "$m/t/y/f"
echo new >"$m/t/y/f/q"
check_eq "explain is not listed" $'drop\ngc\ntype' "$(sorted "$m/t/.families/f")"
check_eq "nor are policies in it" "" "$(sorted "$E")"
check_eq "the counts, and the cells" \
	'{"table":"t","family":"f","present":"maxversions=4","policy":"maxversions=3 or maxage=1d","rows":1,"cells":6,"bytes":8,"examples":[{"key":"x","qualifier":"q","ts":5,"bytes":2},{"key":"x","qualifier":"q","ts":4,"bytes":2},{"key":"x","qualifier":"q","ts":3,"bytes":2},{"key":"x","qualifier":"q","ts":2,"bytes":2},{"key":"x","qualifier":"%FF","ts":2,"bytes":0},{"key":"x","qualifier":"%FF","ts":1,"bytes":0}]}' \
	"$(jq -c . "$E/maxversions=3||(maxage=24h)")"
check_eq "a looser policy hides nothing more" '[0,0,0,[]]' "$(jq -c '[.rows, .cells, .bytes, .examples]' "$E/maxversions=5")"
check_eq "nothing changes by that" maxversions=4 "$(cat "$m/t/.families/f/gc")"
fail_with "a wrong policy" 1 'Invalid argument' cat "$E/maxversions=1x"
error "and why" '/t/.families/f/explain/maxversions=1x: expected .*, at character 14$'
fail_with "also if it is to be made" 1 'Invalid argument' touch "$E/forever"
fail_with "a policy cannot be written" 1 'Operation not permitted' bash -c "echo run >'$E/never'"
fail_with "or removed" 1 'Operation not permitted' rm -f "$E/never"
fail_with "or moved" 1 'Operation not permitted' mv "$E/never" "$m/t/x/f/"
fail_with "nor explain" 1 'Operation not permitted' rmdir "$E"
fail_with "nothing is made in it" 1 'File exists' mkdir "$E/never"
check_eq "its files look like others" "-r--r--r-- 0 ok" "$(stat -c '%A %s' "$E/never") $(call 'os.close(os.open(q, os.O_RDONLY))' "$E/never")"
seq -f '{"key":"many%02.0f","families":{"f":{"q":[{"ts":1,"value":"x"}]}}}' 30 >"$m/t/.rows"
check_eq "no more than 20 examples" "31 20 many01 many20" \
	"$(jq -r '[.rows, (.examples | length), .examples[0].key, .examples[-1].key] | join(" ")' "$E/maxage=1d and (maxversions=9 or maxage=2h)")"
before=$(jq .total.cells "$m/.rowfs/gc")
counted=$(jq .cells "$E/maxversions=2")
policy 'maxversions=2'
check_eq "the policy set, nothing is left to hide" 0 "$(jq .cells "$E/maxversions=2")"
check "the next pass" bash -c "echo run >'$m/.rowfs/gc'"
# One cell was hidden by the policy before, too.
check_eq "deletes the cells that were counted" $((counted + 1)) $(($(jq .total.cells "$m/.rowfs/gc") - before))
mkdir "$m/keys" "$m/keys/.families/f"
echo '{"segments":[{"name":"n","codec":"pad","width":4}]}' >"$m/keys/.design"
echo '{"key":"7","families":{"f":{"q":[{"ts":1,"value":"v"}]}}}' >"$m/keys/.rows"
check_eq "keys are those that are shown" '{"key":"7","qualifier":"q","ts":1,"bytes":1}' \
	"$(jq -c '.examples[]' "$m/keys/.families/f/explain/maxage=1d")"
echo 'table keys' >"$m/keys/.drop"
echo t >"$m/t/.drop"
policy never

# ---- By itself, but not in the grace

# passed: how many passes went through; to start jq for each look took a third of this test's time.
passed() {
	local passes='"total":\{"passes":([0-9]+)'
	[[ $(<"$m/.rowfs/gc") =~ $passes ]]
	echo "${BASH_REMATCH[1]}"
}

# passes MORE: waits until so many passes more went through.
passes() {
	local until
	until=$(($(passed) + $1))
	within eval "((\$(passed) >= $until))"
}

# place FILTER: waits until jq's filter of /.rowfs/gc is true.
place() {
	within eval "jq -e '$1' '$m/.rowfs/gc' >'$TMP/place'"
}

remount -o gcinterval=1,gcgrace=0
check "the next pass is told" place '.pending.next | strings'
mkdir "$m/t/.families/g1"
echo 'maxversions=1' >"$m/t/.families/g1/gc"
# A pass that no look meets is followed by another one over many hidden cells.
check_eq "a pass under way tells the row where it is" ok "$(python '
import re
rows = "".join("{\"key\":\"place-%06d\",\"families\":{\"g1\":{\"q\":[\"a\",\"b\",\"c\"]}}}\n" % i for i in range(30000))
def look():
    with open(a[0] + "/.rowfs/gc") as file:
        return json.load(file)
met, end = None, time.monotonic() + int(os.environ["LIB_PATIENCE"])
while not met and time.monotonic() < end:
    with open(a[0] + "/t/.rows", "w") as file:
        file.write(rows)
    now = look()
    last = now["total"]["passes"] + 2
    while not met and now["total"]["passes"] < last and time.monotonic() < end:
        time.sleep(0.002) # a pass takes longer
        now = look()
        met = now["row"]
print("ok" if re.fullmatch("place-[0-9]{6}", met or "") else met)' "$m")"
check "no compaction is left in the end" place '.state == "idle" and .pending.compactions == 0'
echo t >"$m/t/.drop"
rmdir "$m/t/.families/g1"
remount -o gcinterval=1,gcgrace=3600
column "$m/t/own/f/q" 1= 2= 3=
policy 'maxversions=1'
check "it passes by itself" passes 2
check_eq "leaving alone what a changed policy hides" 1 "$(jq .last.families_in_grace "$m/.rowfs/gc")"
policy never
check_eq "which comes back" "3 2 1" "$(ls -U "$m/t/own/f/q@" | paste -sd' ')"
policy 'maxversions=1'
check "meanwhile who touches, renames or edits it" bash -ec "cd '$m/t/own/f'
	touch -d 2020-01-01 q; mv q p; echo v >o; mv o p; sed -i s/v/w/ p; echo x >'$TMP/p'; rsync -a '$TMP/p' .; mv p q"
policy never
check_eq "takes nothing of that along" "1577836800000000 2 1" "$(ls -U "$m/t/own/f/q@" | tail -3 | paste -sd' ')"
rm -r "$m/t/own/f/q@"
column "$m/t/own/f/q" 1= 2= 3=
policy 'maxversions=1'
remount -o gcinterval=1,gcgrace=0
check "without a grace it passes, too" passes 2
policy never
check_eq "and deletes" 3 "$(ls -U "$m/t/own/f/q@" | paste -sd' ')"
policy 'maxversions=1'
echo pause >"$m/.rowfs/gc"
place '.state == "paused"'
before=$(passed)
column "$m/t/own/f/q" 1= 2=
echo run >"$m/.rowfs/gc"
check_eq "paused it passes when it is asked to, and only then" $((before + 1)) "$(passed)"
policy never
check_eq "and deletes" 2 "$(ls -U "$m/t/own/f/q@" | paste -sd' ')"
policy 'maxversions=1'
column "$m/t/own/f/q" 1= 2=
echo resume >"$m/.rowfs/gc"
check "resumed it passes by itself" passes 2
policy never
check_eq "and deletes again" 2 "$(ls -U "$m/t/own/f/q@" | paste -sd' ')"

remount -o gcinterval=0,table=t
check_eq "a mount of one table explains, too" "t f never maxversions=1" \
	"$(jq -r '[.table, .family, .present, .policy] | join(" ")' "$m/.families/f/explain/maxversions=1")"

finish
