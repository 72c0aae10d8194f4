#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The heat map's page in Chromium, from the mount and from a copy: pointing, copying, zoom, keyboard,
# light and dark, names for screen readers; no errors, and no requests for other files. SHOTS, a
# directory, gets screenshots.

. "$(dirname "$0")/../e2e/lib.sh"

"$BUILD/e2e/keyvis" hot-row "$TMP/s" || die "there is no store"
mount_store "$TMP/s" "$m"
heat=$m/.rowfs/keyvis/demo

chromedriver --port=0 >"$TMP/driver.log" 2>&1 &
track_pid $!
within grep -q 'successfully on port' "$TMP/driver.log" || die "chromedriver does not start: $(cat "$TMP/driver.log")"
port=$(sed -n 's/.*successfully on port \([0-9]*\).*/\1/p' "$TMP/driver.log")

# page NAME FILE JSON [CHECK…]: uses the page, whose map is that of the JSON; all checks of page.py, or these.
page() {
	local check result any=
	while IFS=$'\t' read -r check result; do
		check_eq "$1: $check" ok "$result"
		any=yes
	done < <(HOME=$TMP "$python" "$(dirname "$0")/page.py" "$port" "$TMP/profile" "file://$2" "${@:3}" 2>"$TMP/page.err")
	check "$1: the page was used: $(tail -n 1 "$TMP/page.err")" [ "$any" ]
}

cp "$heat/ops.html" "$TMP/copy.html"
cp "$heat/ops.json" "$TMP/ops.json"
check "its paths work from the mountpoint" sh -c 'cd "$0" && xargs ls -d' "$m" \
	< <(sed -n '/id="data">/,/<\/script>/{s/.*id="data">//;s/<.*//;p}' "$TMP/copy.html" | jq -r '.paths[]' | sort -u)
page copy "$TMP/copy.html" "$TMP/ops.json"
# The server makes the copy and the page of the mount alike. These checks use the beginning, the middle and the end of the
# page in the mount.
page mount "$heat/ops.html" "$heat/ops.json" title_and_words pointing hot_list buttons quiet

# Keys of another user, whose first segments are in the directory where root pastes their paths.
make_store "$TMP/hostile" '{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
mount_store "$TMP/hostile" "$TMP/h" -o table=t
# shellcheck disable=SC2016
printf '{"key":"%s","families":{"f":{"q":"1"}}}\n' 'r#$(touch pwn)' "q'#;touch pwn;'" '-rf#`touch pwn`' '~root#x y' >"$TMP/rows"
for _ in {1..30}; do cat "$TMP/rows" >"$TMP/h/.rows"; done
mkdir "$TMP/paste" && ln -s "$TMP/h"/* "$TMP/paste"
cp "$TMP/h/.rowfs/keyvis/t/"ops.{html,json} "$TMP"
PASTE=$TMP/paste page hostile "$TMP/ops.html" "$TMP/ops.json" pasted_paths
check_eq "hostile: no pasted path ran a command" "$(ls "$TMP/h")" "$(ls -A "$TMP/paste")"

finish
