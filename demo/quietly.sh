#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs a command with its output in a file, for `make demo`. Prints the file if the command fails.
#
#   demo/quietly.sh FILE WORDS COMMAND…     WORDS name the step
#
# Lines "deps: …" are printed at once: they name the packages that scripts/deps.sh installs.

set -u

log=$1
words=$2
shift 2
mkdir -p "$(dirname "$log")" || exit
echo "# $words (its output: $log)"
"$@" 2>&1 </dev/null | tee "$log" | sed -un '/^deps: /p'
status=${PIPESTATUS[0]}
if ((status != 0)); then
	cat "$log" >&2
	echo "demo: this failed, see above: $*" >&2
fi
exit "$status"
