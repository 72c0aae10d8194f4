#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Stores that earlier programs made (tests/fixtures/make.sh): each mounts and is whole, and its dump and
# stored keys are what they were, but for escapes of hostile characters.

. "$(dirname "$0")/lib.sh"

noon='2026-11-01 12:30:00' # half an hour after the traffic in "heat"
d=$m/.rowfs/keyvis/t/6h

# counted METRIC: the bounds and counts of the ranges in the heat map that have any.
counted() {
	jq -c '[.endKeyStrings, [.metrics[0].matrix.rows[].cols | add]] | transpose[] | select(.[1] > 0)' "$d/$1.json"
}

for fixture in "$LIB_DIR"/../fixtures/*/*.tar.xz; do
	name=${fixture##*/}
	name=$(basename "$(dirname "$fixture")")/${name%.tar.xz}
	mkdir "$TMP/f"
	tar -C "$TMP/f" -xf "$fixture" || die "$fixture cannot be read"
	cd "$TMP/f" || exit 1
	for lines in dump *.raw; do # versions to 0.1.0 wrote hostile characters as they are
		model harmless "$lines" >.new || die "$lines is not read"
		mv .new "$lines"
	done
	check "$name: fsck.rowfs -n finds nothing" "$BUILD/fsck.rowfs" -n store
	at_time "$noon" mount_store store "$m"
	if [ "${name##*/}" = heat ]; then # 40 rows were written, and one of them opened five times
		check_eq "$name: its heat map has the writes" "$(jq -c '[.key + "%00", 1]' t.raw)" "$(counted writes)"
		check_eq "$name: its heat map has the reads" '"row#07%00" true' \
			"$(counted reads | jq -r '"\(.[0] | tojson) \(.[1] >= 5)"')"
	fi
	check "$name: a mount's dump is what it was" cmp dump <("$BUILD/rowfs-dump" "$m")
	for raw in *.raw; do
		table=${raw%.raw}
		check "$name: .raw/.keys of $table are what they were" cmp <(jq -r .key "$raw") "$m/$table/.raw/.keys"
	done
	check_eq "$name: all salts are right" 0 "$(sed -n 's/^rowfs_rows_wrong_salt_total //p' "$m/.rowfs/metrics")"
	unmount_store "$m"
	check "$name: the store's dump is what it was" cmp dump <("$BUILD/rowfs-dump" store)
	for raw in *.raw; do
		check "$name: stored rows of ${raw%.raw} are what they were" cmp "$raw" \
			<("$BUILD/rowfs-dump" --view .raw store "${raw%.raw}" | grep '^{"key"')
	done
	check "$name: fsck.rowfs -n finds nothing afterwards" "$BUILD/fsck.rowfs" -n store
	cd "$TMP" || exit 1
	rm -r f
done

finish
