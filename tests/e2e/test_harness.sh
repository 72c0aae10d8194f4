#!/bin/bash
# SPDX-License-Identifier: MIT
# The runner of the tests can itself fail, and leaves nothing behind.

. "$(dirname "$0")/lib.sh"

ROOT=$(cd "$LIB_DIR/../.." && pwd)
RUN=$ROOT/scripts/run_tests.sh
mkdir "$TMP/in" "$TMP/bin" "$TMP/build"
ln -s "$BUILD"/*rowfs "$TMP/build/" # the runner remembers names in the directory of the programs
export S=1000.$$ # seconds that nobody else sleeps, with a digit behind them

# program NAME: makes a test out of stdin.
program() {
	{
		echo '#!/bin/bash'
		cat
	} >"$TMP/in/$1"
	chmod +x "$TMP/in/$1"
}

# runs NAME RESULT TEST: standard input as a test has this result.
runs() {
	program "$3"
	check_eq "$1" "$2" "$(run "$3")"
}

# lib_test NAME: the same as program for one that sources lib.sh; lib_runs: as runs.
lib_runs() {
	lib_test "$3"
	check_eq "$1" "$2" "$(run "$3")"
}
lib_test() {
	{
		printf '. %q\n' "$LIB_DIR/lib.sh"
		cat
	} | program "$1"
}

# run TEST…: runs these with the runner; its last line, and in $TMP/run all that it said.
run() {
	local tests=("${@/#/$TMP/in/}")
	TMPDIR=$TMP "$RUN" -b "${STAND_IN:-$TMP/build}" -j "${JOBS:-1}" -t "${LIMIT:-60}" "${tests[@]}" >"$TMP/run" 2>&1
	echo "$? $(tail -n 1 "$TMP/run")"
}

said() {
	grep -qE -- "$1" "$TMP/run" || { cat "$TMP/run" && return 1; }
}

# Does no such sleep run, and is nothing below our directory mounted or forgotten?
nothing_left() {
	! pgrep -f "^sleep $S$1\$" && ! grep -F "$TMP/rowfs" /proc/self/mounts &&
		! find "$TMP" -mindepth 1 -maxdepth 1 -name 'rowfs-*' | grep .
}

# ---- The runner ----------------------------------------------------------------------------

runs "counts what passes" "0 2 passed, 0 failed" pass.sh <<<'echo ok a; echo ok b'
runs "counts what fails" "1 1 passed, 1 failed" fail.sh <<<'echo ok a; echo "not ok b: why"; exit 1'
check "shows what fails" said 'not ok b: why'

runs "a failed check fails whatever the status" "1 1 passed, 1 failed" forgets.sh <<<'echo ok a; echo "not ok b: why"; exit 0'
runs "a status without a failed check is a failure" "1 1 passed, 1 failed" dies.sh <<<'echo ok a; exit 3'
runs "no check is a failure" "1 0 passed, 1 failed" mute.sh <<<'exit 0'
check_eq "no test is a failure" "1 0 passed, 0 failed" "$(run)"
check_eq "a test that is not there is a failure" "1 0 passed, 1 failed" "$(run absent.sh)"

program skip.sh <<<'echo "skip: no such thing"; exit 77'
check_eq "counts what is skipped" "0 2 passed, 0 failed, 1 skipped" "$(run skip.sh pass.sh)"
check "says why" said 'no such thing'
check_eq "all skipped is not passed" "1 0 passed, 0 failed, 1 skipped" "$(run skip.sh)"

# The limit is one of processor time: a test that sleeps beyond it passes.
LIMIT=1 runs "a test that waits has no limit" "0 1 passed, 0 failed" slow.sh <<<'sleep 3; echo ok a'
program busy.sh <<<'echo ok a; trap "sleep ${S}1" TERM; sleep ${S}1 & while :; do :; done'
check_eq "a test is ended at its limit" "1 1 passed, 1 failed" "$(LIMIT=1 run busy.sh)"
check "which is named" said 'took more than 1 s of processor time'
check "its processes are ended" nothing_left 1
program daemon.sh <<'END'
echo ok a
(setsid bash -c 'while :; do :; done' >/dev/null 2>&1 &)
sleep ${S}1
END
check_eq "a daemon's time counts" "1 1 passed, 1 failed" "$(LIMIT=1 run daemon.sh)"
check "nothing of it is left" nothing_left 1
check_eq "nor it" "" "$(pgrep -f '^bash -c while :; do :; done$')"
program ended.sh <<<'echo ok a; for ((j = 0; j < 100; j++)); do bash -c "for ((i = 0; i < 100000; i++)); do :; done"; done'
check_eq "the time of ended processes counts" "1 1 passed, 1 failed" "$(LIMIT=1 run ended.sh)"
program spent.sh <<<'(setsid bash -c "for ((i = 0; i < 300000; i++)); do :; done" >/dev/null 2>&1 &); echo ok a'
check_eq "a process on its way out is none that is left" "0 1 passed, 0 failed" "$(run spent.sh)"
check "its seconds are shown" eval "! said ' 0[.]0 s of processor'"

runs "adds libcheck's summaries" "1 9 passed, 2 failed" unit <<<'echo "100%: Checks: 7, Failures: 0, Errors: 0"; echo "50%: Checks: 4, Failures: 1, Errors: 1"; exit 1'
runs "a crash is a failure" "1 0 passed, 1 failed" crash <<<'kill -SEGV $$'
runs "a process left is a failure" "1 1 passed, 1 failed" process.sh <<<'echo ok a; setsid sleep ${S}2 </dev/null >/dev/null 2>&1 &
until pgrep -f "^sleep ${S}2\$" >/dev/null; do :; done'
check "it is ended" nothing_left 2
check "it is named" said "left running: [0-9]+ sleep ${S}2"

runs "a file left is a failure" "1 1 passed, 1 failed" file.sh <<<'echo ok a; echo x >"$TMPDIR/x"'
check "it is named" said 'left behind: .*/x$'
check "it is removed" nothing_left 0
runs "many are one failure" "1 1 passed, 1 failed" files.sh <<<'echo ok a; touch "$TMPDIR"/{1..25}'
check_eq "of which 20 are named, and their number" "20 1" \
	"$(grep -c 'left behind: ' "$TMP/run") $(grep -c '^    and 5 more$' "$TMP/run")"

runs "a test has a HOME of its own" "0 3 passed, 0 failed" home.sh <<END
echo ok a
touch "\$HOME/.viminfo" && echo ok b
[[ \$HOME != "$HOME" && \$HOME != "\$TMPDIR"* ]] && [ -z "\$XDG_CACHE_HOME" ] && echo ok c
END
check "which is removed" nothing_left 0

if [ "$(id -u)" = 0 ]; then
	runs "a mount left is a failure" "1 1 passed, 1 failed" mount.sh <<<'mkdir "$TMPDIR/m m"; mount -t tmpfs none "$TMPDIR/m m" && echo ok a'
	check "it is named" said 'left mounted: .*/m m$'
	check "it is undone" nothing_left 0
fi

# Two that wait for each other end only side by side.
for name in one two; do
	program "$name.sh" <<-END
		mkdir "$TMP/meet-$name"
		until [ -d "$TMP/meet-one" ] && [ -d "$TMP/meet-two" ]; do sleep 0.1; done
		echo ok they meet
	END
done
check_eq "runs tests side by side" "0 2 passed, 0 failed" "$(JOBS=2 run one.sh two.sh)"
check_eq "adds what they count" "1 6 passed, 2 failed, 1 skipped" \
	"$(JOBS=3 run pass.sh fail.sh dies.sh pass.sh skip.sh)"
for JOBS in 1 2; do
	run fail.sh pass.sh >"$TMP/last"
	check_eq "shows a failure once, a line of others, and the second run: $JOBS at a time" \
		"AGAIN fail.sh|    not ok b: why|    ok a|FAIL fail.sh" \
		"$(sed 's|/.*/\([^ ]*\) .*|\1|' "$TMP/run" | sed 's/  *fail/ fail/' | grep -E '^FAIL|^AGAIN|ok' | paste -sd '|')"
done
unset JOBS
check_eq "and one alone" "0 2 passed, 0 failed" "$(JOBS=2 run pass.sh)"
program ends_lane.sh <<<'kill -KILL $(($(ps -o ppid= -p $PPID))); echo ok a'
check_eq "a lane that is killed is a failure" 1 "$(JOBS=2 run ends_lane.sh ends_lane.sh | cut -c 1)"

# ---- Scripts that failed run once more -----------------------------------------------------

# flaky NAME…: tests that fail once, in their check b. calm NAME: as if it had failed already.
flaky() {
	local name
	for name in "$@"; do
		rm -f "$TMP/ran-$name.sh"
		lib_test "$name.sh" <<-END
			check a true
			echo run >>"$TMP/ran-$name.sh"
			${BEFORE-}
			check_eq b 2 "\$(grep -c . "$TMP/ran-$name.sh")"
			finish
		END
	done
}
calm() {
	echo run >"$TMP/ran-$1.sh"
}
# runs_of NAME: how often it ran.
runs_of() {
	grep -c . "$TMP/ran-$1.sh"
}

flaky f1 f2 f3
check_eq "a script that passes then counts as passed" "0 4 passed, 0 failed" "$(run f1.sh pass.sh)"
check "it is named, with its check" said '^UNSTABLE .*/f1[.]sh: b: expected 2, got 1$'
check_eq "it runs after the others" "AGAIN f1.sh|PASS pass.sh|PASS f1.sh" \
	"$(sed -nE 's|^([A-Z]+) .*/([^ ]*) .*|\1 \2|p' "$TMP/run" | grep -v UNSTABLE | paste -sd '|')"
flaky f1
check_eq "unstable in two successive runs is a failure" "1 2 passed, 1 failed" "$(run f1.sh)"
check "which is said" said 'it was unstable in its last run too'
calm f1
check_eq "a run of another test changes nothing" "0 2 passed, 0 failed" "$(run pass.sh)"
check_eq "a good run" "0 2 passed, 0 failed" "$(run f1.sh)"
flaky f1
check_eq "and the next counts as the first" "0 2 passed, 0 failed" "$(run f1.sh)"
for JOBS in 1 2; do
	rm "$TMP/build/unstable"
	flaky f1 f2
	check_eq "two in a run are none: $JOBS at a time" "0 6 passed, 0 failed" "$(run f1.sh f2.sh pass.sh)"
	rm "$TMP/build/unstable"
	flaky f1 f2 f3
	check_eq "three in a run are a failure: $JOBS at a time" "1 8 passed, 1 failed" "$(run f1.sh pass.sh f2.sh f3.sh)"
	check_eq "all are named: $JOBS at a time" 3 "$(grep -c ^UNSTABLE "$TMP/run")"
done
unset JOBS
check "which is said" said 'more than two are unstable'

# final_is NAME RESULT: a test that failed so has no second run.
final_is() {
	check_eq "$1 is final" "$2, once" "$(run f4.sh), $(if [ "$(runs_of f4)" = 1 ]; then echo once; else echo again; fi)"
}
BEFORE='FINAL=data' flaky f4
final_is "a failed check of data" "1 1 passed, 1 failed"
BEFORE='FINAL=leak check_eq c 1 2' flaky f4
final_is "one such check" "1 1 passed, 2 failed"
BEFORE='FINAL=data check c true' flaky f4
check_eq "a check behind it is not" "0 3 passed, 0 failed" "$(run f4.sh)"
BEFORE='echo "==1==ERROR: LeakSanitizer: z"' flaky f4
final_is "a sanitizer's report" "1 1 passed, 1 failed"
BEFORE='touch "$TMPDIR/x"' flaky f4
final_is "a file left" "1 1 passed, 2 failed"

# ---- Signals -------------------------------------------------------------------------------

program wait.sh <<<'echo ok a; setsid sleep ${S}3 & sleep ${S}3'
for jobs in 1 2; do
	TMPDIR=$TMP "$RUN" -b "$TMP/build" -j $jobs "$TMP/in/wait.sh" "$TMP/in/wait.sh" >"$TMP/run" 2>&1 &
	runner=$!
	within eval "((\$(pgrep -fc '^sleep ${S}3\$') == 2 * jobs))"
	kill -TERM "$runner"
	status=0
	wait "$runner" || status=$?
	check_eq "a signal ends the run, of $jobs at a time" 143 "$status"
	check "a signal leaves nothing, of $jobs at a time" within nothing_left 3
done

# ---- The parts of CI -----------------------------------------------------------------------

cat >"$TMP/parts.mk" <<END
good:
	@echo "3 passed, 0 failed"; echo "UNSTABLE x: y"
bad:
	@echo "FAIL x"; echo "2 passed, 1 failed, 1 skipped"; exit 1
mute:
	@exit 0
dies:
	@echo "1 passed, 0 failed"; exit 1
hangs:
	@echo begun; sleep ${S}4
meets:
	@mkdir "$TMP/part-\$(A)"; until [ -d "$TMP/part-\$(B)" ]; do sleep 0.1; done; echo "1 passed, 0 failed"
long:
	@seq -f "\$(A) %.0f" 200000; mkdir "$TMP/long-\$(A)"
END

# parts NAME RESULT TARGET…: the parts have this result, within $LIMIT seconds if that is set.
parts() {
	local targets=() target
	for target in "${@:3}"; do
		[ "$target" = -- ] || target="$target -s -f '$TMP/parts.mk'"
		targets+=("$target")
	done
	TMPDIR=$TMP "$ROOT/scripts/parts.sh" ${LIMIT+-t "$LIMIT"} "${targets[@]}" >"$TMP/run" 2>&1
	check_eq "$1" "$2" "$? $(tail -n 1 "$TMP/run")"
}

parts "adds the counts of parts, and goes on after a failed one" "1 5 passed, 1 failed, 1 skipped" bad good
check "names what is unstable" said '^UNSTABLE x: y$'
check "has the minutes of each" said '^ +0[.]0 min, +0[.]0 min of processor: make good .*: 3 passed, 0 failed$'
parts "a part without a closing line, or with a bad status, is a failure" "1 1 passed, 2 failed" mute dies
parts "runs two rows of parts side by side" "0 5 passed, 0 failed" "meets A=1 B=2" -- good "meets A=2 B=1"
check_eq "the output of two rows is not mixed" "1 1" "$(TMPDIR=$TMP "$ROOT/scripts/parts.sh" \
	"long A=a -s -f '$TMP/parts.mk'" -- "long A=b -s -f '$TMP/parts.mk'" 2>&1 | {
	until [ -d "$TMP/long-a" ] && [ -d "$TMP/long-b" ]; do sleep 0.1; done
	grep -oE '^[ab] ' | uniq | sort | uniq -c | awk '{ print $1 }' | paste -sd ' '
})"
LIMIT=2 parts "a part that is cut is a failure, and so is one that never begins" "1 0 passed, 2 failed" hangs good
check "nothing of it is left" nothing_left 4
TMPDIR=$TMP "$ROOT/scripts/parts.sh" "hangs -s -f '$TMP/parts.mk'" >"$TMP/run" 2>&1 &
runner=$!
within pgrep -f "^sleep ${S}4\$" >/dev/null
kill -TERM "$runner"
status=0
wait "$runner" || status=$?
check_eq "a signal ends the parts" 143 "$status"
check "a signal leaves nothing of them" nothing_left 4
check "which waits for the end of a part, and shows its output" said '^begun$'

# ---- lib.sh --------------------------------------------------------------------------------

lib_runs "bad checks fail" "1 0 passed, 7 failed" bad.sh <<'END'
check "false" false
check_eq "differs" "a" "a "
fail_with "does not fail" - '' true
fail_with "other status" 3 'No such' ls /nowhere
fail_with "other text" 2 'Permission' ls /nowhere
check "sanitizer" echo 'x.c:1:1: runtime error: y'
fail_with "sanitizer too" 1 'Address' sh -c 'echo "==1==ERROR: AddressSanitizer: z" >&2; exit 1'
finish
END
check "a difference shows both" said "differs: expected a, got a"

lib_runs "no check is a failure of lib.sh too" "1 0 passed, 1 failed" none.sh <<<'finish'
lib_runs "a failed check decides the status" "1 2 passed, 1 failed" late.sh <<<'check a true; not_ok b c; check d true; exit 0'
lib_runs "an unset variable is a failure" "1 1 passed, 1 failed" unset.sh <<<'check a true; echo "$no_such_variable"; finish'

# From here on on mounts, with programs that stand in for ours where a fault is needed.

need_fuse

lib_runs "a signal unmounts" "1 1 passed, 1 failed" interrupted.sh <<'END'
make_store "$TMP/s"
mount_store "$TMP/s" "$TMP/m"
echo ok mounted
kill -TERM $$
END
check "a signal leaves nothing behind" sh -c "! grep -E 'left ' '$TMP/run'"

lib_runs "a mount that stays busy is a failure" "1 0 passed, 2 failed" busy.sh <<'END'
make_store "$TMP/s"
mount_store "$TMP/s" "$TMP/m"
(cd "$TMP/m" && exec sleep ${S}5) &
track_pid $!
within eval '[ "$(readlink /proc/$!/cwd)" = "$TMP/m" ]'
LIB_PATIENCE=1
unmount_store "$TMP/m"
finish
END
check "and does not stay" nothing_left 5

lib_runs "what does not mount is a failure" "1 0 passed, 1 failed" nostore.sh <<<'mount_store "$TMP/nowhere" "$TMP/m"; finish'

# stand_in SCRIPT: a rowfs that runs the real one and then misbehaves.
STAND_IN=$TMP/bin
ln -s "$BUILD/mkfs.rowfs" "$STAND_IN/"
stand_in() {
	printf '#!/bin/bash\n%q "$@"\n%s\n' "$BUILD/rowfs" "$1" >"$STAND_IN/rowfs"
	chmod +x "$STAND_IN/rowfs"
}
lib_test mounted.sh <<'END'
make_store "$TMP/s"
mount_store "$TMP/s" "$TMP/m"
LIB_PATIENCE=${PATIENCE:-$LIB_PATIENCE}
ok mounted
finish
END
stand_in 'exit 5'
check_eq "its status counts" "1 1 passed, 1 failed" "$(run mounted.sh)"
stand_in 'echo "a.c:1: runtime error: b" >&2'
check_eq "a report in its log counts" "1 1 passed, 1 failed" "$(run mounted.sh)"
stand_in 'sleep ${S}6'
check_eq "not to end counts, and what is left too" "1 1 passed, 2 failed" "$(PATIENCE=1 run mounted.sh)"
check "and it is ended" nothing_left 6
finish
