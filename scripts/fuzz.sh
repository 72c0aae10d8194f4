#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs the fuzz targets with libFuzzer, one after the other, for some seconds altogether, and closes
# with one line: "N passed, N failed". An input that fails is kept, and its path printed.
#
#   scripts/fuzz.sh BUILD SECONDS [TARGET…]
#
# A target starts from its committed corpus and from what earlier runs found, which BUILD keeps. One
# input has a net of 30 minutes on the clock.

set -u
cd "$(dirname "$0")/.." || exit 1

if (($# < 2)); then
	sed -n 's/^#   \(scripts.*\)/usage: \1/p' "$0" >&2
	exit 2
fi
build=$1
seconds=$2
shift 2
if (($# == 0)); then
	mapfile -t targets < <(find tests/fuzz -name 'fuzz_*.c' -printf '%f\n' |
		sed 's/^fuzz_//; s/\.c$//' | sort)
	set -- "${targets[@]}"
fi

passed=0
failed=0
each=$((seconds / $# > 1 ? seconds / $# : 1))
# The targets of whole stores write files; in memory where there is such a place.
scratch=/dev/shm
[ -w "$scratch" ] || scratch=${TMPDIR:-/tmp}
work=$(mktemp -d "$scratch/rowfs-fuzz.XXXXXX") || exit 1
trap 'rm -rf -- "$work"' EXIT
mkdir -p "$build/crashes"

for target in "$@"; do
	mkdir -p "$build/corpus/$target" "tests/fuzz/corpus/$target"
	options=(-max_total_time="$each" -artifact_prefix="$build/crashes/$target-"
		-timeout=1800 -rss_limit_mb=3000 -max_len=4096 -print_final_stats=1)
	[ -f "tests/fuzz/$target.dict" ] && options+=(-dict="tests/fuzz/$target.dict")
	if TMPDIR=$work "$build/fuzz/fuzz_$target" "${options[@]}" "$build/corpus/$target" \
		"tests/fuzz/corpus/$target" >"$work/log" 2>&1 </dev/null; then
		passed=$((passed + 1))
		printf 'PASS %-12s %s inputs in %s s\n' "$target" \
			"$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/log")" "$each"
	else
		failed=$((failed + 1))
		printf 'FAIL %s\n' "$target"
		tail -n 60 "$work/log" | sed 's/^/    /'
		sed -n 's/.*Test unit written to /    kept: /p' "$work/log"
	fi
done

echo "$passed passed, $failed failed"
((failed == 0))
