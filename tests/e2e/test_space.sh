#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The space of removed cells is given back: at rest, disk use falls to at most 1.3 times the live
# data and 64 MiB, for all kinds of removal in any order and rhythm, also across mounts.
# ROWFS_SOAK in the environment is the duration in seconds of the soak's load, with 4 GB of disk,
# instead of 150 MiB in each round, with 0.5 GB; ROWFS_SEED chooses it.

. "$(dirname "$0")/lib.sh"

s=$TMP/s
seconds=${ROWFS_SOAK:-0}
seed=${ROWFS_SEED:-$RANDOM}
disk=$((${ROWFS_SOAK:-0} > 0 ? 3600 << 20 : 400 << 20))
options=(-o 'gcinterval=3,gcgrace=0')

# excess LIVE: MiB of disk use beyond 1.3 times the live data.
excess() {
	echo $((($(du -s --block-size=1 "$s" | cut -f 1) * 10 - $1 * 13) / 10 >> 20))
}

pending() {
	jq '.pending.bytes // 0' "$m/.rowfs/gc"
}

# given_back NAME: disk use comes below the bound.
given_back() {
	local start=$SECONDS live
	live=$(jq .bytes "$m/t/.count")
	check "$1" within eval '(($(excess "$live") <= 64))'
	echo "$1: $(excess "$live") MiB beside $((live >> 20)), $(pending) bytes pending, after $((SECONDS - start)) s"
}

# kill_store: the mount's process is killed.
kill_store() {
	local pid
	pid=$(mount_pid "$m")
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	lib_unmount_anyway "$m"
	within not_mounted "$m" || die "the dead mount stays"
	lib_forget "$(realpath -ms "$m")"
}

echo "ROWFS_SEED=$seed ROWFS_SOAK=$seconds"
make_store "$s" '{"version":1,"tables":{"t":{"families":{"f":{},"g":{"gc":"maxversions=2"}}}}}'
mount_store "$s" "$m" "${options[@]}"

# ---- Values that go one by one, with pauses: no batch of them is worth a compaction
mkdir -p "$m/t/one/f"
head -c 10M /dev/urandom >"$TMP/value"
for ((i = 0; i < 20; i++)); do cat "$TMP/value" >"$m/t/one/f/$i"; done
rm "$TMP/value"
told=0
for ((i = 0; i < 20; i++)); do
	rm "$m/t/one/f/$i"
	sleep 0.1
	now=$(pending)
	((now <= told)) || told=$now
done
check "the bytes to be freed are told" test "$told" -ge $((20 << 20))
check_eq "a metric tells them" 1 "$(grep -cE '^rowfs_store_pending_bytes [0-9]+$' "$m/.rowfs/metrics")"
given_back "values removed one by one"

# ---- Versions that garbage collection removes, a few of them in each pass
mkdir -p "$m/t/gc/g"
python 'value = os.urandom(200 << 10)
for i in range(15 * 40):
    put("%s/%d" % (q, i % 40), value)' "$m/t/gc/g"
given_back "versions removed by garbage collection"

# ---- A soak, with mounts that end in both ways
rounds=$((seconds > 120 ? seconds / 60 : 2))
least=("$((seconds / rounds))" 0)
((seconds > 0)) || least=(0 150)
for ((round = 1; round <= rounds; round++)); do
	check "round $round: values of all sizes come and go" \
		"$python" -S "$LIB_DIR/space.py" "$s" "$m" "${least[@]}" "$disk" $((seed + round))
	cat "$TMP/.check"
	if ((round % 2)); then
		unmount_store "$m"
	else
		kill_store
	fi
	mount_store "$s" "$m" "${options[@]}"
	given_back "round $round: across a mount that $( ((round % 2)) && echo ended || echo was killed)"
done
echo t >"$m/t/.drop"
given_back "all of it"
unmount_store "$m"

finish
