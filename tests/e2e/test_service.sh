#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The unit rowfs@.service: systemd takes it, and this test does its steps as systemd does them: its
# command with the variables of its file, with the privileges that it leaves, SIGTERM to stop, and
# the same command again after a crash.

. "$(dirname "$0")/lib.sh"

need_fuse
cd "$TMP" || exit 1
mkdir -p p/bin "etc" "the mount"
ln -s "$BUILD/rowfs" p/bin/rowfs
make_store "a store" '{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
check "the unit is installed" make -s -C "$LIB_DIR/../.." BUILD="$BUILD" PREFIX="$TMP/p" DESTDIR= install-contrib
unit=$TMP/p/lib/systemd/system/rowfs@.service

check_eq "systemd-analyze verify has nothing to say" "exit 0: " \
	"$(systemd-analyze verify --man=no "$unit" >verified 2>&1; echo "exit $?: $(cat verified)")"
sed 's/^Type=.*/Type=wrong/' "$unit" >"wrong@.service"
check "it would say something" grep -q 'service type' <(systemd-analyze verify --man=no ./wrong@.service 2>&1)

mkdir -p root/etc/systemd/system && cp "$unit" root/etc/systemd/system/
check "its exposure is 3.6 of 10 at most" \
	systemd-analyze security --offline=true --threshold=36 --root="$TMP/root" rowfs@x.service
rm -r root

# setting NAME: the unit's last value of it.
setting() {
	sed -n "s/^$1=//p" "$unit" | tail -n 1
}

# All that gives a service mounts of its own, as systemd.exec(5) says.
check_eq "the mount is in the mount namespace of all" "" "$(grep -E '^(Private(Tmp|Devices|Users|IPC)|'\
'Protect(System|Home|Proc|KernelTunables|KernelModules|KernelLogs|ControlGroups)|ProcSubset|ReadWritePaths|'\
'ReadOnlyPaths|InaccessiblePaths|ExecPaths|NoExecPaths|TemporaryFileSystem|Bind(ReadOnly)?Paths|Root[A-Z].*|'\
'DynamicUser|MountAPIVFS|(Runtime|State|Cache|Logs|Configuration)Directory|MountFlags)=' "$unit")"
check_eq "a network of its own brings no mounts" "yes no" "$(setting PrivateNetwork) $(setting PrivateMounts)"
check_eq "it is started when it serves" forking "$(setting Type)"
check_eq "it is started again when it crashes" on-failure "$(setting Restart)"
check_eq "but not with a wrong command line" 2 "$(setting RestartPreventExitStatus)"
check_eq "SIGTERM stops it, and all that it left" "" "$(setting KillSignal)$(setting KillMode)$(setting ExecStop)"
check_eq "its file is in /etc/rowfs" "/etc/rowfs/%i.conf" "$(setting EnvironmentFile)"

# The privileges that it leaves; only root has any.
confined=()
if [ "$(id -u)" = 0 ]; then
	confined=(setpriv --inh-caps=-all --bounding-set "-all$(setting CapabilityBoundingSet |
		tr ' ' '\n' | sed 's/^CAP_/,+/' | tr -d '\n' | tr '[:upper:]' '[:lower:]')")
	[ "$(setting NoNewPrivileges)" != yes ] || confined+=(--no-new-privs)
	[ "$(setting PrivateNetwork)" != yes ] || confined=(unshare --net -- "${confined[@]}")
fi

# configure OPTIONS: writes the file of the instance.
configure() {
	printf 'STORE="%s"\nMOUNTPOINT="%s"\n%s\n' "$TMP/a store" "$TMP/the mount" "$1" >etc/fleet.conf
}

# start: the unit's command, each ${NAME} in it one word with the value of the file's last NAME=.
start() {
	local word words=() name
	for word in $(setting ExecStart); do
		if [[ $word == '${'*'}' ]]; then
			name=${word:2:-1}
			word=$(sed -n "s/^$name=//p" etc/fleet.conf | tail -n 1 | sed 's/^"\(.*\)"$/\1/')
		fi
		words+=("$word")
	done
	(umask "$(setting UMask)" && exec env -i PATH="$PATH" LC_ALL=C.UTF-8 ${ASAN_OPTIONS+ASAN_OPTIONS="$ASAN_OPTIONS"} \
		${ROWFS_TEST_RUN+ROWFS_TEST_RUN="$ROWFS_TEST_RUN"} "${confined[@]}" "${words[@]}")
}

# main: the process that systemd takes for the service's: the one whose parent has gone.
main() {
	serving "^$TMP/p/bin/rowfs -o "
}

track_mount "the mount"
q="the mount/t/row/f/q"
for options in "" "OPTIONS=umask=077,uid=12"; do
	configure "$options"
	check "it starts, with '$options'" start
	check "and serves when the command returns" test -d "the mount/t"
	check_eq "its files are of its user alone" 600 "$(find "a store/data" -name '*.log' -exec stat -c %a {} +)"
	check_eq "with these options" "${options:+700 12}" "${options:+$(stat -c '%a %u' "the mount/t")}"
	mkdir -p "the mount/t/row/f"
	echo "one $options" >"$q"
	pid=$(main)
	check_eq "one process is the service's" 1 "$(wc -w <<<"$pid")"
	kill -KILL "$pid"
	within ended "$pid"
	fail_with "killed, it leaves a dead mount" - 'endpoint is not connected|connection abort' ls "the mount"
	yields "it is started again with what was written" "one $options" 'cat "$q"' start
	check_eq "there is one mount" 1 "$(lib_mount_table | grep -cxF "$TMP/the mount")"
	exec 3>"$TMP/the mount/t/row/f/open"
	echo uncommitted >&3
	pid=$(main)
	kill -TERM "$pid"
	check "it stops, also while a file is open" within ended "$pid"
	check "nothing is mounted then" not_mounted "the mount"
	exec 3>&-
	check_eq "nothing runs then" "" "$(pgrep -f "^$TMP/p/bin/rowfs")"
done

configure "OPTIONS=wrong"
fail_with "a wrong option is no reason to start it again" 2 'unknown option.*wrong' start
configure ""
sed -i "s|^STORE=.*|STORE=$TMP/nowhere|" etc/fleet.conf
fail_with "a store that is missing is told" 1 'nowhere: (No such file|there is no such directory)' start
check "nothing is mounted then" not_mounted "the mount"

check "the unit is uninstalled" make -s -C "$LIB_DIR/../.." BUILD="$BUILD" PREFIX="$TMP/p" DESTDIR= uninstall-contrib
check_eq "with all that came with it" "$TMP/p/bin/rowfs" "$(find "$TMP/p" ! -type d)"
finish
