#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs the commands of README's section "Two commands", on what is committed, in a Debian that has
# nothing but make: a chroot, in which / is no mount point, with processes and mounts of its own.
# Where there can be none, it runs `make test` in place. ROWFS_KINDS in the environment chooses the
# tests that make runs; the names of unstable ones stay in BUILD.

. "$(dirname "$0")/root.sh"

# inside COMMAND: a shell runs it there, in the checkout; its output goes to $TMP/log. The shell is
# process 1: with it everything ends that the command started.
inside() {
	local status=0
	# shellcheck disable=SC2016 # for the inner shell
	env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		CI="${CI-}" ROWFS_KINDS="${ROWFS_KINDS-}" ROWFS_TEST_RUN="${ROWFS_TEST_RUN-}" \
		"$LIB_DIR/own_mounts.sh" --pid --fork --kill-child \
		sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" bash -c "cd /rowfs; $1; exit"' "$root" "$1" \
		</dev/null >"$TMP/log" 2>&1 &
	track_pid $!
	wait $! || status=$?
	return "$status"
}

mapfile -t commands < <(sed -nE '/^    apt-get /{s/^ +//;h}; /^    make (demo|test)$/{G;s/^ +(.*)\n(.*)/\2 \&\& \1/p}' "$checkout/README.md")
check_eq "README has two commands" 2 "${#commands[@]}"

if make_root --variant=minbase --include=make; then
	mkdir -p "$root/rowfs/build"
	git -C "$checkout" -c safe.directory="$checkout" archive HEAD | tar -xf - -C "$root/rowfs" ||
		die "there is no commit of $checkout"
	mount --rbind /dev "$root/dev" || die "root cannot mount here"
	mount -t sysfs -o ro sysfs "$root/sys" || die "root cannot mount here"
	cp "$BUILD/unstable" "$root/rowfs/build" 2>"$TMP/.check"

	inside "${commands[0]} && ls build/demo/mnt/packages && grep -c . build/demo/mnt/log/.keys && fusermount3 -u build/demo/mnt"
	check_eq "${commands[0]}" 0 "$?"
	((FAILED == 0)) || cat "$TMP/log"

	inside "${commands[1]}"
	check_eq "${commands[1]}" 0 "$?"
	cp "$root/rowfs/build/unstable" "$BUILD" 2>"$TMP/.check"
else
	echo "in place, since $no_root"
	check "make test" eval 'make -C "$checkout" test </dev/null >"$TMP/log" 2>&1'
fi
while read -r word test counts; do
	case $word in
	PASS) ok "$test $counts" ;;
	FAIL | SKIP) not_ok "$test" "$word $counts" ;;
	UNSTABLE) echo "$word $test $counts" ;;
	esac
done <"$TMP/log"
((FAILED == 0)) || sed -n '/^\(AGAIN\|FAIL\|SKIP\) /,$p' "$TMP/log"
finish
