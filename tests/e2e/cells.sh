# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What tests of cells share, to source after lib.sh: columns made of given cells, their history as
# text, and system calls that no shell has.
#
#   column "$f/q" 1000=old 2000=new
#   is "its cells" "$f/q" "2000=new 1000=old"
#   check_eq "renameat2" EEXIST "$(call 'renameat2(*a, NOREPLACE)' "$f/p" "$f/q")"
#
#   m   where the test mounts its store (the test sets it)

# Once: where python3 is a wrapper, that is slower than the program.
python=$(python3 -c 'import sys; print(sys.executable)') || die "there is no python3"
export PYTHONDONTWRITEBYTECODE=1

CELLS_PRELUDE='
import ctypes, errno, fcntl, os, sys, tempfile
from os import close, fsync, rename, replace, write
libc = ctypes.CDLL(None, use_errno=True)
NOREPLACE, EXCHANGE = 1, 2
def renameat2(old, new, flags):
    if libc.renameat2(-100, os.fsencode(old), -100, os.fsencode(new), flags):
        raise OSError(ctypes.get_errno(), "renameat2")
def put(path, text):
    with open(path, "w") as file: file.write(text)
def stamp(file, us): os.utime(file, ns=(us * 1000, us * 1000))
def opened(flags=os.O_WRONLY | os.O_CREAT | os.O_TRUNC): return os.open(q, flags, 0o600)
a = sys.argv[2:]
q = a[0] if a else None
us = int(a[1]) if len(a) > 1 and a[1].lstrip("-").isdigit() else None
try:
    exec(sys.argv[1])
    print("ok")
except OSError as error:
    print(errno.errorcode[error.errno])
'

# call CODE ARGUMENT…: runs Python with the arguments as the list a, the first one as q, the second
# as the number us; prints "ok" or the name of the errno.
call() {
	"$python" -c "$CELLS_PRELUDE" "$@" 2>&1
}

# entries DIRECTORY: what it lists, in its own order.
entries() {
	find "$1" -mindepth 1 -maxdepth 1 -printf '%f\n' 2>/dev/null
}

# put PATH TEXT: without a newline.
put() {
	printf %s "$2" >"$1"
}

# column PATH TS=VALUE…: makes the column anew, of these cells.
column() {
	local path=$1 cell
	shift
	rm -f "$path"
	mkdir -p "$path@"
	for cell; do
		put "$path@/${cell%%=*}" "${cell#*=}"
	done
}

# history PATH: its cells, newest first: TS=VALUE…
history() {
	local ts cells=()
	for ts in $(entries "$1@"); do
		cells+=("$ts=$(cat "$1@/$ts")")
	done
	echo "${cells[*]}"
}

# is NAME PATH HISTORY: these cells, newest first, and both trees list as many.
is() {
	check_eq "$1" "$3" "$(history "$2")"
	# shellcheck disable=SC2154 # the test's
	check_eq "$1: as many in /.versions" "$(wc -w <<<"$3")" \
		"$(entries "$m/.versions${2#"$m"}@" | wc -l)"
}

# newest_is NAME PATH VALUE OLDER: the newest cell has the value and the present as its timestamp,
# those below it are OLDER.
newest_is() {
	local all newest now
	all=$(history "$2")
	newest=${all%% *}
	now=$(date +%s)
	check_eq "$1" "$3 $4" "${newest#*=} $(cut -s -d ' ' -f 2- <<<"$all")"
	check "$1: it has the present as its timestamp" \
		test "${newest%%=*}" -gt $((now - 60))000000 -a "${newest%%=*}" -lt $((now + 60))000000
}

# gone NAME PATH: neither found nor listed, and without a history.
gone() {
	check_eq "$1" "no no 0" "$(stat "$2" >/dev/null 2>&1 && echo yes || echo no) $(
		entries "${2%/*}" | grep -qxF -- "${2##*/}" && echo yes || echo no) $(
		entries "$2@" | wc -l)"
}
