#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs each fuzz target on its committed corpus: what it found once stays mended. The targets that are
# quick also run on random inputs, made of the corpus and the target's dictionary.

set -u
cd "$(dirname "$0")" || exit 1

log=$(mktemp) || exit 1
trap 'rm -f -- "$log"' EXIT

# run TARGET ARGUMENT…: one check of that target.
run() {
	local target=$1
	shift
	if "$BUILD/fuzz/fuzz_$target" "$@" >"$log" 2>&1; then
		echo "ok $target: $(tail -n 1 "$log")"
	else
		echo "not ok $target $*: exit $?"
		tail -n 40 "$log"
	fi
}

for main in fuzz_*.c; do
	target=${main%.c}
	target=${target#fuzz_}
	run "$target" "corpus/$target"
	case $target in
	files | ops | stores) ;;
	*)
		count=30000
		files=("corpus/$target")
		[ ! -e "$target.dict" ] || files+=("$target.dict")
		run "$target" --random "$count" 1 "${files[@]}"
		;;
	esac
done
