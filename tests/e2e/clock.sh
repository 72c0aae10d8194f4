# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What the tests share that set the clock of rowfs. libfaketime gives it one of its own; nobody else's
# clock is touched.

# fake_clock: rowfs has, from the next mount on, the clock that set_clock sets. The store is $TMP/s.
fake_clock() {
	local library
	library=$(find /usr/lib /usr/local/lib -name libfaketimeMT.so.1 2>/dev/null | head -n 1)
	[ -n "$library" ] || die "there is no libfaketime"
	mkdir "$TMP/programs"
	cat >"$TMP/programs/rowfs" <<END
#!/bin/sh
export LD_PRELOAD=$library FAKETIME_TIMESTAMP_FILE=$TMP/s/clock FAKETIME_NO_CACHE=1
export FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1
export ASAN_OPTIONS="\${ASAN_OPTIONS:+\$ASAN_OPTIONS:}verify_asan_link_order=0"
exec "$BUILD/rowfs" "\$@"
END
	chmod +x "$TMP/programs/rowfs"
	BUILD=$TMP/programs
}

# set_clock TIME: as libfaketime takes it, "YYYY-MM-DD hh:mm:ss" or +2d.
set_clock() {
	echo "$1" >"$TMP/clock.new"
	mv "$TMP/clock.new" "$TMP/s/clock"
}
