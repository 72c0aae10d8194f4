# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# For tests of control files, which source lib.sh and then this: a mount $m with the tables t, u and
# empty, and what is done with its files.

export m=$TMP/m
export t=$m/t

# Once: where python3 is a wrapper, that is slower than the program.
python=$(python3 -c 'import sys; print(sys.executable)') || die "there is no python3"

# put PATH TEXT: writes the text and a newline.
put() {
	printf '%s\n' "$2" >"$1"
}

# drop DIRECTORY PREFIX
drop() {
	printf '%s\n' "$2" >"$1/.drop"
}

last_error() {
	tail -n 1 "$m/.rowfs/errors"
}

# python SCRIPT [ARGUMENT…]
python() {
	"$python" -c "import os, sys, errno
a = sys.argv[1:]
def error(call, *args):
    try: call(*args)
    except OSError as e: return errno.errorcode[e.errno]
    return 'ok'
$1" "${@:2}" 2>&1
}

# rows PREFIX COUNT: lines of rows PREFIX#000000 and so on, of about 250 bytes.
rows() {
	python '
for i in range(int(a[1])):
    print("{\"key\":\"%s#%06d\",\"families\":{\"f\":{\"q\":[{\"ts\":%d,\"value\":\"%s\"}]}}}"
          % (a[0], i, i + 1, ("%06d " % i) * 28))' "$1" "$2"
}

# mount_tables: makes the store $TMP/s and mounts it.
mount_tables() {
	make_store "$TMP/s" '{"version":1,"tables":{
		"t":{"families":{"f":{},"g":{}}},"u":{"families":{"f":{}}},"empty":{}}}'
	mount_store "$TMP/s" "$m"
}
