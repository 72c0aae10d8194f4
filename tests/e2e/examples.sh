# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Runs the examples of pages as checks of a test, which has sourced lib.sh.

# run_page PAGE: each block of its examples is a check.
run_page() {
	local line status=0 checks=$CHECKS failed=$FAILED
	need_fuse
	# shellcheck disable=SC2154 # lib.sh sets it
	"$python" -S "$LIB_DIR/examples.py" "$BUILD" "$1" >"$TMP/.page" 2>"$TMP/.check" &
	track_pid $!
	wait $! || status=$?
	while IFS= read -r line; do
		case $line in
		"ok "*) ok "${line#ok }" ;;
		"not ok "*) CHECKS=$((CHECKS + 1)) FAILED=$((FAILED + 1)) && printf '%s\n' "$line" ;;
		*) not_ok "$1" "it printed $(lib_quote "$line")" ;;
		esac
	done <"$TMP/.page"
	((CHECKS > checks + 1)) || not_ok "$1" "no example ran: $(lib_tail "$TMP/.check")"
	((status == 0 || FAILED > failed)) || not_ok "$1" "exit $status: $(lib_tail "$TMP/.check")"
}
