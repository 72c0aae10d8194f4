#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The examples of README and of the guides in docs/ run as shown, and links between pages lead
# somewhere.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/examples.sh"

repository=$LIB_DIR/../..

for page in README.md docs/row-keys.md docs/queries.md docs/operations.md; do
	run_page "$repository/$page"
done

# made PAGE: its stores and mountpoints.
made() {
	"$python" -S "$LIB_DIR/examples.py" --list "$1" | grep -oE '[a-z]+[.]db|/mnt/[a-z]+' | sort -u
}
check_eq "no two pages make the same store or mountpoint" "" "$(
	for page in "$repository"/README.md "$repository"/docs/{row-keys,queries,operations}.md "$repository"/man/*; do
		made "$page"
	done | sort | uniq -d)"
check_eq "what a page makes is found" "/mnt/fleet /mnt/hits fleet.db hits.db" "$(made "$repository/README.md" | xargs)"

check_eq "README's terminal session is the one that the programs give (make docs-pictures)" "" \
	"$("$repository/scripts/session.py" "$BUILD" | diff "$repository/docs/pictures/session.svg" -)"

# Debian's sections, as its policy lists them.
sections="admin cli-mono comm database debug devel doc editors education electronics embedded fonts games gnome
gnu-r gnustep graphics hamradio haskell httpd interpreters introspection java javascript kde kernel libdevel libs
lisp localization mail math metapackages misc net news ocaml oldlibs otherosfs perl php python ruby rust science
shells sound tasks tex text utils vcs video web x11 xfce zope"
for section in $sections; do
	printf 'Package: p\nVersion: 1\nSection: %s\nDepends: q\nDescription: s\n\n' "$section"
done | LC_ALL=C awk -f "$repository/demo/packages.awk" >"$TMP/packages.jsonl"
check "the demo's schema" "$BUILD/mkfs.rowfs" --schema "$repository/demo/schema.json" "$TMP/packages.db"
check "takes the demo's rows" "$BUILD/rowfs-load" "$TMP/packages.db" "$TMP/packages.jsonl"
mkdir "$TMP/m"
mount_store "$TMP/packages.db" "$TMP/m"
check_eq "no section of the demo is spelled as a family's name" "$(xargs -n 1 <<<"$sections")" \
	"$(ls "$TMP/m/packages")"
cat >"$TMP/dpkg.log" <<'EOF'
2026-11-22 08:00:00 startup archives unpack
2026-11-22 08:00:01 install a:amd64 <none> 1.0-1
2026-11-22 08:00:01 status half-installed a:amd64 1.0-1
2026-11-22 08:00:02 configure a:amd64 1.0-1 <none>
2026-11-23 00:30:00 upgrade a:amd64 1.0-1 1.1-1
2026-11-23 00:30:00 upgrade b:all 1:2~rc1 1:2
2026-11-24 08:00:00 remove a:amd64 1.1-1 <none>
2026-11-24 08:00:00 remove x:"amd64 1.1-1 <none>
cut off 08:00:00 purge
EOF
TZ=XST-1 LC_ALL=C awk -f "$repository/demo/log.awk" "$TMP/dpkg.log" >"$TMP/log.jsonl"
check "the demo's log of packages" "$BUILD/rowfs-load" "$TMP/m" "$TMP/log.jsonl"
check_eq "is shown newest first, in UTC" \
	$'2026-11-24T07:00:00Z\n2026-11-22T23:30:00Z\n2026-11-22T07:00:01Z' "$(entries "$TMP/m/log")"
check_eq "with each package of a moment" \
	$'2026-11-22T23:30:00Z/a:amd64/change/upgrade:1.0-1 -> 1.1-1\n2026-11-22T23:30:00Z/b:all/change/upgrade:1:2~rc1 -> 1:2' \
	"$(cd "$TMP/m/log" && grep -r . 2026-11-22T23:30:00Z)"
check_eq "at its time" 1795390200.000000 "$(stat -c %.6Y "$TMP/m/log/2026-11-22T23:30:00Z/b:all/change/upgrade")"
unmount_store "$TMP/m"

# quietly COMMAND: `make demo` runs it; prints both streams and the status.
quietly() {
	"$repository/demo/quietly.sh" "$TMP/demo/log" "Working" bash -c "$1" 2>&1
	echo "exit $?"
}
working="# Working (its output: $TMP/demo/log)"
check_eq "a step of the demo prints only its name and new packages" "$working"$'\ndeps: installing gcc\nexit 0' \
	"$(quietly 'echo CC; echo deps: installing gcc; echo unpacking >&2')"
check_eq "and keeps its output" $'CC\ndeps: installing gcc\nunpacking' "$(cat "$TMP/demo/log")"
check_eq "one that fails prints all of its output" "$working
CC
wrong
demo: this failed, see above: bash -c echo CC; echo wrong >&2; exit 3
exit 3" "$(quietly 'echo CC; echo wrong >&2; exit 3')"

links=0
for page in "$repository"/*.md "$repository"/docs/*.md; do
	while read -r link; do
		links=$((links + 1))
		check "${page##*/} links to what is there: $link" test -e "${page%/*}/$link"
	done < <(grep -oE '\]\([^):]+\)' "$page" | sed -E 's/^..(.*).$/\1/; s/#.*//')
done
check "there are links" test "$links" -gt 5

finish
