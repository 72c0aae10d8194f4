#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs each fuzz target on its committed corpus: what it found once stays mended.

set -u
cd "$(dirname "$0")" || exit 1

log=$(mktemp) || exit 1
trap 'rm -f -- "$log"' EXIT

for main in fuzz_*.c; do
	name=${main%.c}
	target=${name#fuzz_}
	if "$BUILD/fuzz/$name" "corpus/$target" >"$log" 2>&1; then
		echo "ok $target: $(tail -n 1 "$log")"
	else
		echo "not ok $target: exit $?"
		tail -n 40 "$log"
	fi
done
