#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Listings of random keys, full of bytes below and above the delimiter, compared with a plain model:
# each child once, in order, also through small buffers and while others write and delete. Large
# directories: listed whole, and quickly begun. And families that are made later than the segments of
# their name.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cells.sh"

cat >"$TMP/keys.py" <<'PYTHON'
import ctypes, errno, json, os, random, signal, struct, subprocess, sys, time

sys.path.insert(0, sys.argv[1])
from model import encode, enter, row_line

libc = ctypes.CDLL(None, use_errno=True)
DELIMITERS = b"# :a@f\x01\x7f"


def dirents(fd, size):
    """One getdents64: a list of (name, offset), empty at the end."""
    buffer = ctypes.create_string_buffer(size)
    got = libc.getdents64(fd, buffer, ctypes.c_size_t(size))
    if got < 0:
        raise OSError(ctypes.get_errno(), "getdents64")
    at, found = 0, []
    while at < got:
        _, offset, length, _ = struct.unpack_from("=QqHB", buffer.raw, at)
        name = buffer.raw[at + 19:at + length].split(b"\0")[0].decode()
        if name not in (".", ".."):
            found.append((name, offset))
        else:
            found.append((None, offset))
        at += length
    return found


def listing(fd, size):
    names = []
    os.lseek(fd, 0, os.SEEK_SET)
    while True:
        found = dirents(fd, size)
        if not found:
            return names
        names += [name for name, _ in found if name]


# ---- Random keys ---------------------------------------------------------------------------------

def keys(delimiter):
    around = [bytes([b]) for b in (delimiter - 1, delimiter, delimiter, delimiter, delimiter + 1)]
    others = [b"\0", b"\1", b" ", b"!", b"%", b"/", b".", b"@", b"f", b"a", b"~", b"\x7f", b"\xff",
              b"\xc3\xa9", b"\xc3", b"\xe2\x82\xac"]
    found = set()
    while len(found) < 90:
        found.add(b"".join(random.choice(random.choice((around, others)))
                           for _ in range(random.randint(1, 9))))
    return sorted(found)


def tables():
    random.seed(23)
    return {"t%02x" % d: (bytes([d]), keys(d)) for d in DELIMITERS}


def schema():
    all = {name: {"delimiter": d.decode(), "families": {"f": {}}} for name, (d, _) in tables().items()}
    for name in ("churn", "late", "many", "wide", "deep"):
        all[name] = {"families": {"f": {}}}
    print(json.dumps({"version": 1, "tables": all}))


def rows():
    for name, (_, all) in tables().items():
        print(json.dumps({"table": name}))
        for key in all:
            print(row_line(key, {"f": {b"q": {1: b"x"}}}))


def walk(fd, splits, has_row, size):
    """Compares a directory, whose rows below have these segments left, in the order of keys, and all below it."""
    children = list(dict.fromkeys(split[0] for split in splits)) # each at its first key
    want = [encode("segment", child, ["f"]) for child in children] + (["f"] if has_row else [])
    got = listing(fd, size)
    if got != want:
        raise SystemExit("%s: listed %r, not %r" % (os.readlink("/proc/self/fd/%d" % fd), got, want))
    for child in children:
        below = enter("/proc/self/fd/%d" % fd, encode("segment", child, ["f"]))
        walk(below, [s[1:] for s in splits if s[0] == child and len(s) > 1], [child] in splits, size)
        os.close(below)


def compare(mount, size):
    for name, (delimiter, all) in tables().items():
        fd = enter(mount + "/" + name)
        walk(fd, [key.split(delimiter) for key in all], False, int(size))
        os.close(fd)
    print("ok")


# ---- While others write --------------------------------------------------------------------------

def churn(directory, kind):
    """Makes and removes names around those that stay, for ever; two of them never meet."""
    os.chdir(directory)
    me = "%d" % os.getpid()
    while True:
        n = random.randrange(1000)
        if kind == "rows":
            path = "k%03d%s" % (n, me)
            os.makedirs(path + "/f")
            open(path + "/f/q", "w").close()
            open("k%03d/f/q" % n, "w").close()
            os.unlink(path + "/f/q")
            os.rmdir(path + "/f")
            os.rmdir(path)
        elif kind == "memory":
            os.mkdir("k%03d%s" % (n, me))
            os.rmdir("k%03d%s" % (n, me))
        elif kind == "columns":
            open("k%03d%s" % (n, me), "w").close()
            open("k%03d" % n, "w").close()
            os.unlink("k%03d%s" % (n, me))
        else:
            path = "%d%s" % (1000 + n, me)
            open(path, "w").close()
            open("%d" % (1000 + n), "w").close()
            os.unlink(path)


def stays(directory, kind):
    """Makes what stays, and returns it in the order of a listing."""
    os.makedirs(directory)
    if kind == "cells":
        names = ["%d" % n for n in range(1999, 999, -1)]
    else:
        names = ["k%03d" % n for n in range(1000)]
    for name in names:
        path = directory + "/" + name
        if kind in ("rows", "memory"):
            os.mkdir(path)
        if kind == "rows":
            os.mkdir(path + "/f")
            path += "/f/q"
        if kind != "memory":
            open(path, "w").close()
    return names


def follow(fd, names, size, changed):
    """Lists, going back to offsets of before and to the start now and then."""
    place = {name: i for i, name in enumerate(names)}
    recent, next, goes_back = [], 0, 12
    changed[0] += 1
    while True:
        found = dirents(fd, size)
        if not found:
            break
        for name, offset in found:
            if name in place:
                if place[name] != next:
                    raise SystemExit("after %r came %r" % (names[next - 1], name))
                next += 1
            elif name:
                changed[1] += 1
            recent = recent[-60:] + [(offset, next)]
        if goes_back and random.random() < 0.15:
            goes_back -= 1
            offset, next = random.choice(recent) if goes_back % 6 else (0, 0)
            os.lseek(fd, offset, os.SEEK_SET)
            recent = [(offset, next)]
    if next != len(names):
        raise SystemExit("the listing ended after %r" % names[next - 1])


def others(directory, kind):
    random.seed(5)
    names = stays(directory, kind)
    others = [subprocess.Popen([sys.executable, "-S"] + sys.argv[:2] + ["churn", directory, kind])
              for _ in range(2)]
    changed = [0, 0]
    try:
        fd = os.open(directory, os.O_RDONLY)
        while changed[0] < 6 or changed[1] < 20:
            os.lseek(fd, 0, os.SEEK_SET)
            follow(fd, names, random.choice((64, 512, 512, 4096, 32768)), changed)
            for other in others:
                if other.poll() is not None:
                    raise SystemExit("who writes ended: %d" % other.returncode)
    finally:
        for other in others:
            other.kill()
            other.wait()
    print("ok")


def small(directory):
    """A buffer that no name fits is EINVAL, and loses nothing."""
    fd = os.open(directory, os.O_RDONLY)
    try:
        dirents(fd, 16)
    except OSError as error:
        print(errno.errorcode[error.errno], len(listing(fd, 512)))


def scans(mount, segments):
    """Listings go on with the scans that they left, or by key where one is not kept, or too old."""
    with open(segments, encoding="utf-8") as text:
        want = text.read().splitlines()
    fds = [os.open(mount + "/many/p", os.O_RDONLY) for _ in range(70)]
    begun = [dirents(fd, 4096) for fd in fds]

    def kept():
        with open(mount + "/.rowfs/metrics", encoding="utf-8") as text:
            return int(text.read().split("\nrowfs_listing_scans ")[1].split("\n")[0])

    def whole(i):
        found = begun[i]
        while more := dirents(fds[i], 4096):
            found += more
        return [name for name, _ in found if name] == want

    first = "kept %d, at once %s %s" % (kept(), whole(0), whole(69))
    while kept():
        time.sleep(0.1)
    print("%s, later %d %s" % (first, kept(), whole(1)))


globals()[sys.argv[2]](*sys.argv[3:])
PYTHON

# keys COMMAND ARGUMENT…
keys() {
	"$python" -S "$TMP/keys.py" "$LIB_DIR" "$@" 2>&1 | tail -n 1
}

N=20000
make_store "$TMP/s" "$("$python" -S "$TMP/keys.py" "$LIB_DIR" schema)"
"$python" -S "$TMP/keys.py" "$LIB_DIR" rows >"$TMP/rows"
awk -v n=$N 'BEGIN {
	print "{\"table\":\"many\"}"
	for (i = 0; i < n; i++)
		printf "{\"key\":\"p#k%05d\",\"families\":{\"f\":{\"q\":[{\"ts\":1,\"value\":\"%d\"}]}}}\n", i, i
	printf "{\"table\":\"wide\"}\n{\"key\":\"r\",\"families\":{\"f\":{"
	for (i = 0; i < n; i++)
		printf "%s\"q%05d\":[{\"ts\":1,\"value\":\"%d\"}]", i ? "," : "", i, i
	printf ",\"h\":["
	for (i = n; i > 0; i--)
		printf "%s{\"ts\":%d,\"value\":\"%d\"}", i < n ? "," : "", i, i
	print "]}}}"
	print "{\"table\":\"deep\"}"
	for (i = 0; i < 3; i++)
		for (j = 0; j < 20000; j++)
			printf "{\"key\":\"%c#%05d\",\"families\":{\"f\":{\"q\":[\"x\"]}}}\n", 97 + i, j
}' >>"$TMP/rows"
"$BUILD/rowfs-load" "$TMP/s" "$TMP/rows" 2>"$TMP/load" || die "loading: $(cat "$TMP/load")"
mount_store "$TMP/s" "$m"

# ---- Random keys -------------------------------------------------------------------------------

check_eq "every directory of random keys of eight delimiters, through buffers of 512 bytes" \
	ok "$(keys compare "$m" 512)"
check_eq "and of 64" ok "$(keys compare "$m" 64)"
check_eq "/.versions lists the same" ok "$(keys compare "$m/.versions" 512)"
check_eq "a buffer without room for a name is EINVAL, and the listing goes on" \
	"EINVAL $(find "$m/t23" -mindepth 1 -maxdepth 1 | wc -l)" "$(keys small "$m/t23")"

# ---- While others write and delete -------------------------------------------------------------

for kind in rows memory columns cells; do
	case $kind in
	columns) place=$m/churn/row/f ;;
	cells) place=$m/churn/history/f/q@ ;;
	*) place=$m/churn/$kind ;;
	esac
	check_eq "each of 1,000 $kind once, with seeks back and rewinds, while others come and go" \
		ok "$(keys others "$place" $kind)"
done

# ---- Whole -----------------------------------------------------------------------------------

seq -f 'k%05g' 0 $((N - 1)) >"$TMP/segments"
seq -f 'q%05g' 0 $((N - 1)) >"$TMP/columns"
sed "1i h" "$TMP/columns" >"$TMP/all_columns"
check "ls -U of $N rows: each once, in order" cmp "$TMP/segments" <(entries "$m/many/p")
check "ls -f too" cmp <(cat - "$TMP/segments" <<<$'.\n..') <(ls -f "$m/many/p")
check "$N columns" cmp "$TMP/all_columns" <(entries "$m/wide/r/f")
check "$N columns, with their attributes" cmp <(sed 's/^/-rw-r--r-- /' "$TMP/all_columns") \
	<(find "$m/wide/r/f" -type f -printf '%M %f\n' | sort -k 2)
check "$N cells of one column, newest first" cmp <(seq $N -1 1) <(entries "$m/wide/r/f/h@")
check_eq "globs meet each, and the values are the right ones" 20000,39998000 "$(cd "$m/wide/r/f" &&
	perl -e 'my @all = glob "q*"; $n += do { open my $f, "<", $_; <$f> } for glob "q?[45]*"; print @all . ",$n"')"
check "/.versions lists as many" cmp "$TMP/segments" <(entries "$m/.versions/many/p")
check "and of columns" cmp <(sed 's/$/@/' "$TMP/all_columns") <(entries "$m/.versions/wide/r/f")
check_eq "find meets each file below 2,000 rows" 2000 "$(find "$m/many/p"/k18* "$m/many/p"/k19* \
	-type f | wc -l)"

# ---- Quickly ---------------------------------------------------------------------------------

check_eq "a directory shows its children, not the rows below them" $'a\nb\nc' "$(ls "$m/deep")"
check "no compaction is left" within eval "jq -e '.state == \"idle\" and .pending.compactions == 0' '$m/.rowfs/gc' >'$TMP/idle'"
# ticks COMMAND…: processor time that the server takes for ten of it, in ticks of 10 ms: the least of three measurements.
ticks() {
	local before
	for _ in 1 2 3; do
		before=$(ticks_now)
		for _ in {1..10}; do "$@" >/dev/null 2>&1; done
		echo $(($(ticks_now) - before))
	done | sort -n | head -n 1
}
ticks_now() {
	awk '{ print $14 + $15 }' "/proc/$(mount_pid "$m")/stat"
}
whole=$(ticks ls -U "$m/many/p")
check "its cost is not theirs, of which there are more" test "$(ticks ls "$m/deep")" -lt $((whole / 2))
check "ls -f | head ends early" test "$(ticks bash -c "ls -f '$m/many/p' | head -n 3")" -lt "$whole"
check_eq "with the first entries" k00000 "$(entries "$m/many/p" | head -n 1)"
check "eight listings at once" bash -c "seq 8 | xargs -P 8 -I '{}' bash -c '
	ls -U \"$m/many/p\" | cmp - \"$TMP/segments\"'"

# ---- Offsets ---------------------------------------------------------------------------------

check_eq "telldir and seekdir: each entry follows its offset again" "" "$(perl -e '
	opendir my $dir, $ARGV[0] or die; my (@place, @name);
	for (;;) { push @place, telldir $dir; my $name = readdir $dir; last unless defined $name; push @name, $name }
	for my $i (map { int $_ * $#name / 200 } reverse 0 .. 200) {
		seekdir $dir, $place[$i]; my $name = readdir $dir;
		print "$i: $name, not $name[$i]\n" if $name ne $name[$i];
	}
	print scalar(@name), " names\n" if @name != 20002;' "$m/many/p" | head -n 5)"
check_eq "from an offset on the rest follows" "" "$(perl -e '
	opendir my $dir, $ARGV[0] or die; readdir $dir for 1 .. 10000; my $place = telldir $dir;
	my @rest = readdir $dir; seekdir $dir, $place; my @again = readdir $dir;
	print "differs" if "@rest" ne "@again" || @rest != 10002' "$m/many/p")"
check_eq "rewinddir sees what is new" "1 0" "$(perl -e '
	opendir my $dir, $ARGV[0] or die; my @all = readdir $dir; mkdir "$ARGV[0]/a-new"; rewinddir $dir;
	print scalar grep { $_ eq "a-new" } readdir $dir; rmdir "$ARGV[0]/a-new"; rewinddir $dir;
	print " ", scalar grep { $_ eq "a-new" } readdir $dir' "$m/many/p")"

check_eq "a directory keeps its scan for a while, if there are not many" \
	"kept 64, at once True True, later 0 True" "$(keys scans "$m" "$TMP/segments")"

# back COUNT FIRST CHANGE SEEK: the entries behind the offset of the entry p SEEK, in a directory of
# COUNT columns of which FIRST were read, when one has CHANGEd it and read anew from the start; once
# with the attributes of each, and once without.
back() {
	local dir=$m/wide/back/f
	mkdir -p "$dir"
	perl -e 'my ($dir, $count, $first, $change, $seek) = @ARGV; my @out;
		my $name = "p%0" . length($count - 1) . "d";
		for my $attributes (0, 1) {
			for (0 .. $count - 1) { open my $f, ">", "$dir/" . sprintf $name, $_ or die }
			opendir my $d, $dir or die; my (%after, %again);
			my $read = sub { my $x = readdir $d; lstat "$dir/$x" if $attributes && defined $x; $x };
			for (1 .. $first + 2) { my $x = $read->(); last unless defined $x; $after{$x} = telldir $d }
			$change eq "rm" ? unlink "$dir/" . sprintf $name, 2
				: do { for ("a", "b") { open my $f, ">", "$dir/" . sprintf($name, 1) . $_ or die } };
			for my $more (20, 40) {
				rewinddir $d; for (1 .. $more) { my $x = $read->(); last unless defined $x; $again{$x} = telldir $d }
				seekdir $d, $after{sprintf $name, $seek}; push @out, $read->();
				seekdir $d, $again{sprintf $name, 4}; push @out, $read->();
			}
			unlink glob "$dir/*";
		}
		print "@out"' "$dir" "$@"
}
check_eq "an offset keeps its place when a look back meets new names" "p6 p5 p6 p5 p6 p5 p6 p5" \
	"$(back 10 10 new 5)"
check_eq "or misses one" "p6 p5 p6 p5 p6 p5 p6 p5" "$(back 10 10 rm 5)"
check_eq "and in the middle of a listing" \
	"p1041 p0005 p1041 p0005 p1041 p0005 p1041 p0005" "$(back 1500 1100 new 1040)"
rm -r "$m/wide/back"

# between CHANGE SEEK: the entries behind SEEK, in a directory of ab, ab!00 to ab!99 and ab#d, of which
# 40 were read before CHANGE. A seek into the middle of a reply makes the listing resume by key.
between() {
	rm -rf "$m/wide/between" && mkdir -p "$m/wide/between"
	(
		cd "$m/wide/between" && mkdir -p ab/d/f ab/f || exit
		[ "$1" = put ] || : >ab/f/q
		: >ab/d/f/q && seq -f 'ab!%02g/f' 0 99 | xargs mkdir -p && seq -f 'ab!%02g/f/q' 0 99 | xargs touch
	)
	perl -e '
		chdir $ARGV[0] or die; opendir my $d, "." or die; my %after;
		for (1 .. 40) { my $x = readdir $d; $after{$x} = telldir $d }
		if ($ARGV[1] eq "rm") { unlink "ab/f/q" or die } else { open my $f, ">", "ab/f/q" or die; close $f }
		seekdir $d, $after{$ARGV[2]}; my @rest = readdir $d;
		print scalar(@rest), " entries, ", scalar(grep { $_ eq "ab" } @rest), " ab"' "$m/wide/between" "$@"
}
check_eq "behind a row that was removed its neighbours follow" "100 entries, 0 ab" "$(between rm ab)"
check_eq "and behind those it does not come again" "89 entries, 0 ab" "$(between rm 'ab!10')"
check_eq "a directory that gets a row is not missed" "90 entries, 1 ab" "$(between put 'ab!10')"
rm -r "$m/wide/between"

# ---- Removed -----------------------------------------------------------------------------------

mkdir -p "$m/wide/busy/f"
(cd "$m/wide/busy/f" && head -n 1500 "$TMP/columns" | perl -ne 'chomp; open my $f, ">", $_ or die; print $f $_')
yields "rm -r of a row with 1,500 columns leaves the other" r 'entries "$m/wide"' rm -r "$m/wide/busy"
check "rm -r of 1,000 rows" bash -c "cd '$m/deep/a' && rm -r 00*"
check_eq "leaves the others" 19000 "$(entries "$m/deep/a" | wc -l)"

# ---- Families that are made later --------------------------------------------------------------

l=$m/late
mkdir -p "$l/x/kind/f" "$l/x/kind/kind/f" "$l/kind/y/f" "$l/x/f" "$l/plain/f"
for row in x/kind x/kind/kind kind/y x plain; do
	echo "$row" >"$l/$row/f/q"
done
inode=$(stat -c %i "$l/x/kind/f/q")
exec 3<"$l/x/kind/f/q"
check "a family can be made of a segment's name" mkdir "$l/.families/kind"
escaped=%6B%69%6E%64
check_eq "the segment is listed with all its bytes escaped" "$escaped f" "$(entries "$l/x" | paste -sd ' ')"
check_eq "at any depth" "$escaped f" "$(entries "$l/x/$escaped" | paste -sd ' ')"
check_eq "and directly below the table" "$escaped plain x" "$(entries "$l" | paste -sd ' ')"
fail_with "its old name is not found" - 'No such file' stat "$l/x/kind"
fail_with "nor what was below it" - 'No such file' stat "$l/x/kind/f/q"
fail_with "nor directly below the table" - 'No such file' cat "$l/kind/y/f/q"
check_eq "the rows are the same by the new one" $'x/kind\nx/kind/kind\nkind/y' \
	"$(cat "$l/x/$escaped/f/q" "$l/x/$escaped/$escaped/f/q" "$l/$escaped/y/f/q")"
check_eq "with their inodes" "$inode" "$(stat -c %i "$l/x/$escaped/f/q")"
check_eq "who had one open reads on" x/kind "$(cat <&3)"
exec 3<&-
check_eq "/.versions has them so" "$escaped f" "$(entries "$m/.versions/late/x" | paste -sd ' ')"
check "the name is a family of the row now" bash -c 'mkdir "$0/x/kind" && echo cell >"$0/x/kind/q"' "$l"
check_eq "of that row alone" "$escaped f kind" "$(entries "$l/x" | paste -sd ' ')"
fail_with "it stays while it holds a cell" - 'not empty' rmdir "$l/.families/kind"
check "a row is made below the segment" mkdir -p "$l/x/$escaped/deep/f"
check "rm -r of the family's cells" rm -r "$l/x/kind"
check "and it goes" rmdir "$l/.families/kind"
check_eq "the segment has its own name again" "f kind" "$(entries "$l/x" | sort | paste -sd ' ')"
check_eq "with its rows" $'x/kind\nx/kind/kind\nkind/y' \
	"$(cat "$l/x/kind/f/q" "$l/x/kind/kind/f/q" "$l/kind/y/f/q")"
fail_with "and not the escaped one" - 'No such file' stat "$l/x/$escaped"

finish
