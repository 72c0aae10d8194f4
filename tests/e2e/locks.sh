# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Shared by the tests of locks, sourced behind lib.sh: a mount with columns to lock, and the reports
# of processes about them (locks.py).
#
#   m, f     the mount, and a family in it with the columns q, r and lock
#   plain    a directory that is not of the mount

export TMP
m=$TMP/m
f=$m/t/row/f
plain=$TMP/plain

# run CODE PATH: see locks.py.
run() {
	rm -f "$TMP"/gate.*
	# shellcheck disable=SC2154 # of lib.sh
	timeout 100 "$python" "$LIB_DIR/locks.py" "$1" "$2" 2>&1 | paste -sd ' '
}

# says NAME EXPECTED CODE [PATH]
says() {
	check_eq "$1" "$2" "$(run "$3" "${4:-$f/q}")"
}

# same NAME EXPECTED CODE: an ordinary file gives the expected result, too.
same() {
	rm -f "$plain"/*
	echo 0 >"$plain/q"
	check_eq "$1 (ordinary file)" "$2" "$(run "$3" "$plain/q")"
	says "$@"
}

# lock_mount: makes the store and mounts it.
lock_mount() {
	mkdir "$plain"
	new_mount '{"version":1,"tables":{"t":{"families":{"f":{},"g":{}}}}}'
	mkdir -p "$f" "$m/t/row/g"
	for column in q r lock; do echo 0 >"$f/$column"; done
	echo 0 >"$m/t/row/g/q"
}

# waits HOW: the effects of both kinds of locks on processes that wait for one.
waits() {
	same "who waits gets it when it is free ($1)" "waited" "how = $1"'
fd = held(how, LOCK_EX)
child = waits(how, writer, LOCK_EX)
child.open_gate()
how(fd, LOCK_UN)
print(child.result())'
	same "who waits can be killed ($1)" "signal 9 ok" "how = $1"'
fd = held(how, LOCK_EX)
child = waits(how, writer, LOCK_EX)
child.send(signal.SIGKILL)
print(child.result())
how(fd, LOCK_UN)
print(other(lambda: said(lambda: how(os.open(q, RW), LOCK_EX | LOCK_NB))))'
	same "who waits can be interrupted ($1)" "EINTR ok" "how = $1"'
def stop(*_): raise OSError(errno.EINTR, "")
signal.signal(signal.SIGUSR1, stop)
fd = held(how, LOCK_EX)
child = waits(how, writer, LOCK_EX)
child.send(signal.SIGUSR1)
print(child.result())
how(fd, LOCK_UN)
print(other(lambda: said(lambda: how(os.open(q, RW), LOCK_EX | LOCK_NB))))'
	same "a signal that is handled does not end it ($1)" "waited" "how = $1"'
signal.signal(signal.SIGUSR1, lambda *_: None)
signal.siginterrupt(signal.SIGUSR1, False)
fd = held(how, LOCK_EX)
child = waits(how, writer, LOCK_EX)
for _ in range(20): child.send(signal.SIGUSR1); time.sleep(0.005)
child.open_gate()
how(fd, LOCK_UN)
print(child.result())'
}
