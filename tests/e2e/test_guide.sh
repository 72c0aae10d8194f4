#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What README and the guides in docs/ show is what happens, and links between pages lead somewhere.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/examples.sh
. "$(dirname "$0")/examples.sh"

repository=$LIB_DIR/../..

for page in README.md docs/row-keys.md docs/operations.md; do
	run_page "$repository/$page"
done

links=0
for page in "$repository"/*.md "$repository"/docs/*.md; do
	while read -r link; do
		links=$((links + 1))
		check "${page##*/} links to what is there: $link" test -e "${page%/*}/$link"
	done < <(grep -oE '\]\([^):]+\)' "$page" | sed -E 's/^..(.*).$/\1/; s/#.*//')
done
check "there are links" test "$links" -gt 5

finish
