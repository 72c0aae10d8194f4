# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# For tests of control files, which source lib.sh and then this: a mount $m with the tables t, u and
# empty, and the calls on its files.

export m=$TMP/m
export t=$m/t

# drop DIRECTORY PREFIX
drop() {
	printf '%s\n' "$2" >"$1/.drop"
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
	new_mount '{"version":1,"tables":{
		"t":{"families":{"f":{},"g":{}}},"u":{"families":{"f":{}}},"empty":{}}}'
}
