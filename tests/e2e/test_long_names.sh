#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Keys and qualifiers whose encoded names are longer than 230 bytes: chains of chunk directories.

. "$(dirname "$0")/lib.sh"

f=$m/t/row/f

# The model's functions for names and rows, for `call` and `python`.
modelled='
sys.path.insert(0, a.pop(0))
from model import *
def names(kind, data): return components(encode(kind, data, ["f", "g"]))
def row(key): return row_components(key, ["f", "g"])
'

# long_call CODE ARGUMENT…: `call` with the model.
long_call() {
	call "$modelled$1" "$LIB_DIR" "${@:2}" | tail -n 1 | cut -c -300
}

# repeat TEXT TIMES
repeat() {
	local blanks
	printf -v blanks '%*s' "$2" ''
	printf %s "${blanks// /$1}"
}

make_store "$TMP/s" '{"version":1,"tables":{"t":{"families":{"f":{},"g":{}}}}}'

# The rows to load, and the tree that the mount must show of them.
PYTHONPATH=$LIB_DIR "$python" -S - "$TMP" <<'PYTHON' >"$TMP/rows" || die "making rows"
import random, sys
from model import *

random.seed(11)
e, kanji, face = "\u00e9".encode(), "\u65e5".encode(), "\U0001F600".encode()
long = [b"a" * n for n in (229, 230, 231, 232, 254, 255, 256, 459, 460, 461, 690, 691, 1000)]
# An escape or a character that lies on the edge of a chunk.
for edge in (b"/", b"%", b"\n", b"\xff", e, kanji, face, e[:1], kanji[:2], face[:3], b".."):
    long += [b"b" * n + edge + b"c" * 230 for n in range(226, 231)]
    long += [b"b" * n + edge + b"c" * rest for n in range(226, 231) for rest in (0, 1, 4)]
long += [b"d" * 230 + b"." * dots for dots in (1, 2, 3)] # the last chunk is not called "." or ".."
long += [b"." + b"d" * 230, b"d" * 229 + b"@", b"d" * 230 + b"@", b"d" * 231 + b"@@", b"%" * 100,
         b"\x00" * 77, e * 115, e * 116, kanji * 300, bytes(range(256)) * 2, b"." * 300, b"@" * 300]
long += [bytes(random.choice(b"a/%.@\n\xff\xc3\xa9") for _ in range(random.randint(120, 300)))
         for _ in range(30)]
rows = {}
for qualifier in long + [b"short", b"q" * 16384, b"/" * 16384, kanji * 5461, b"a" * 4096]:
    rows.setdefault(b"qualifiers", {}).setdefault("f", {})[qualifier] = b"value of it"
for segment in long:
    if b"#" not in segment:
        rows.setdefault(b"k#" + segment, {}).setdefault("f", {})[b"q"] = segment
        rows.setdefault(b"k#" + segment + b"#x", {}).setdefault("g", {})[segment] = b"1"
for key in (b"k" * 4096, b"/" * 4096, b"#" * 300, b"a#" * 500, (b"s" * 240 + b"#") * 16, b"." * 4000):
    rows.setdefault(key, {}).setdefault("f", {})[b"q"] = b"4096"
rows[b"/" * 4096]["f"][b"/" * 16384] = b"the longest"
print(json.dumps({"table": "t"}))
every = []
for key, families in rows.items():
    families = {family: {q: {ts: value if value.isascii() else b"x" for ts in (2000, 1000)}
                         for q, value in columns.items()} for family, columns in families.items()}
    print(row_line(key, families))
    every += [(key, family, q, ts) + describe(value) for family, columns in families.items()
              for q, cells in columns.items() for ts, value in cells.items()]
for name, cells in ("expect", every), ("newest", [cell for cell in every if cell[3] == 2000]):
    with open(sys.argv[1] + "/" + name, "w") as file:
        file.write(lines(cells))
with open(sys.argv[1] + "/names", "w", encoding="utf-8") as file:
    for q in rows[b"qualifiers"]["f"]:
        file.write("/".join(components(encode("qualifier", q))) + "\n")
PYTHON
"$BUILD/rowfs-load" "$TMP/s" "$TMP/rows" >"$TMP/load" 2>&1 || die "loading: $(cat "$TMP/load")"
mount_store "$TMP/s" "$m"

# ---- Listings --------------------------------------------------------------------------------

check "/.versions has every cell under the name that the model gives it" \
	diff "$TMP/expect" <(model tree "$m/.versions/t" f g)
check "the plain tree has the newest" diff "$TMP/newest" <(model tree "$m/t" f g)
check "each column is spelled as the model spells it" diff <(sort "$TMP/names") \
	<(find "$m/t/qualifiers/f" -type f -printf '%P\n' | sort)
check "and each history" diff <(sed 's/$/@/' "$TMP/names" | sort) \
	<(find "$m/.versions/t/qualifiers/f" -type d -name '*@' -printf '%P\n' | sort)
check "find walks it all without an error" \
	find "$m/t" "$m/.versions/t" -fprintf "$TMP/walk" '%i\t%f\t%p\n'
check_eq "no component is over 231 bytes, or 232 with the @ of a history" "" \
	"$(LC_ALL=C awk -F '\t' 'length($2) > 231 + ($2 ~ /@$/) { print $2 }' "$TMP/walk")"
check_eq "no name is listed twice in a directory" "" "$(cut -f 3 "$TMP/walk" | LC_ALL=C sort | uniq -d)"
check_eq "chunk directories are directories: 0755, 1 link" "755 d 1" \
	"$(find "$m/t/qualifiers/f" -mindepth 1 -type d -printf '%m %y %n\n' | sort -u)"
check_eq "every file and directory has an inode of its own" "" \
	"$(grep -F "	$m/t" "$TMP/walk" | cut -f 1 | sort | uniq -d)"
check_eq "every one is reached name by name" ok "$(long_call '
for line in open(a[1], encoding="utf-8"):
    *above, last = line.rstrip("\n").split("/")
    fd = enter(a[0], *above)
    assert read(fd, last) == b"value of it"
    assert read(enter(a[0], *above, last + "@"), "1000") == b"value of it"
    st = os.stat(last, dir_fd=fd)
    assert (st.st_mtime_ns, st.st_nlink, st.st_size) == (2000000, 2, 11)
    os.close(fd)' "$m/t/qualifiers/f" "$TMP/names")"
check_eq "the longest key and qualifier, by cd" "the longest" "$(long_call '
fd = enter(a[0], *row(b"/" * 4096), "f", *names("qualifier", b"/" * 16384)[:-1])
os.fchdir(fd)
print(open(names("qualifier", b"/" * 16384)[-1]).read(), end="")' "$m/t" | sed 's/ok$//')"
check "a shell gets there, too" bash -c 'cd "$0" && while read -r name; do cd "./$name" || exit; done
	' "$m/t" < <(python "$modelled"'print("\n".join(row(b"/" * 4096)))' "$LIB_DIR")

# ---- One spelling ----------------------------------------------------------------------------

a229=$(repeat a 229) a230=$(repeat a 230) a231=$(repeat a 231)
q=$m/t/qualifiers/f
check_eq "230 bytes are one name" "value of it" "$(cat "$q/$a230")"
check_eq "231 are two" "value of it" "$(cat "$q/$a230%/a")"
# tests/unit/test_names_chunks.c has other wrong spellings.
none "a chunk that is not full" "$q/$a229%/aa"
none "nor is its directory there" "$q/$a229%"
for length in 226 227 228 229; do
	none "nor is a segment's of $length bytes, where there are rows of longer chunks" \
		"$m/t/k/$(repeat a $length)%"
done
none "a chunk of another name" "$q/$(repeat z 230)%"
none "a chunk whose rest is not there" "$q/$a230%/zz"
check_eq "an escape does not lie over the edge" "value of it" \
	"$(cat "$q/$(repeat b 229)%/%2F$(repeat c 227)%/ccc")"
mkdir -p "$f"
# A chunk of 227 to 229 bytes may have an escape or a character behind it that did not fit.
fail_with "mkdir of a chunk that is not full" - 'Invalid argument' mkdir "$f/$(repeat a 226)%"
fail_with "of a segment's" - 'Invalid argument' mkdir "$m/t/$(repeat a 226)%"
fail_with "of one that is no chunk" - 'not permitted' mkdir "$f/$a230"
fail_with "of a long name that is none" - 'not permitted' mkdir "$f/$a231"
for length in 231 254 255; do
	long=$(repeat a $length)
	check_eq "$length bytes also resolve unsplit" "value of it" "$(cat "$q/$long")"
	check_eq "and are the same file" "$(stat -c %i "$q/$a230%/$(repeat a $((length - 230)))")" \
		"$(stat -c %i "$q/$long")"
	check_eq "not listed" "" "$(entries "$q" | grep -x "$long")"
done
none "but not a wrong spelling of 231 bytes" "$q/$(repeat a 228)%41"
mkdir -p "$m/t/u$a229%/a/f" "$m/t/$a230%/${a230}%/aa"
printf x >"$m/t/u$a229%/a/f/q"
none "nor a directory unsplit, which would have two names: a segment's" "$m/t/u$a230"
none "a history's" "$q/$a231@"
none "a segment's behind a chunk" "$m/t/$a230%/${a230}aa"
(cd "$m/t" && rmdir "$a230%/${a230}%/aa" "$a230%/${a230}%" && rmdir --ignore-fail-on-non-empty "$a230%")
fail_with "mkdir of a segment of 231 bytes" - 'Invalid argument' mkdir "$m/t/new$a230"
check "errors says why" bash -c 'tail -n 1 "$0" | grep -q "more than 230 bytes is split"' "$m/.rowfs/errors"
fail_with "of a history" - 'Invalid argument' mkdir "$f/new$a230@"
check_eq "a directory stays where one has gone into it" "$m/t/u$a229%/a/f" \
	"$(cd "$m/t/u$a229%/a/f" && stat "$m/t/u$a230/f" "$m/t/u$a229%/a/f" >/dev/null 2>&1; ls ../../../row >/dev/null; /bin/pwd)"
fail_with "256 bytes are too many" - 'too long' stat "$q/$(repeat a 256)"

# ---- Making ----------------------------------------------------------------------------------

x=$(repeat x 230)
check "mkdir of a chunk" mkdir "$f/$x%"
check_eq "it is listed, empty" "$x% " "$(entries "$f" | grep x) $(entries "$f/$x%")"
yields "a column in it is there" one 'cat "$f/$x%/y"' bash -c 'printf one >"$0"' "$f/$x%/y"
check_eq "and unsplit" one "$(cat "$f/${x}y")"
check "its history" test "$(entries "$f/$x%/y@" | wc -l)" = 1
printf two >"$f/$x%/y"
check_eq "has each version" "2 two" "$(entries "$f/$x%/y@" | wc -l) $(cat "$f/${x}y")"
check "mkdir of a history in a chunk" mkdir "$f/$x%/z@"
check "takes a cell" bash -c 'printf z >"$0"' "$f/$x%/z@/77"
check_eq "which is its newest" "z 0.000077" "$(cat "$f/$x%/z") $(stat -c %.6Y "$f/$x%/z")"
fail_with "mkdir in a chunk of anything else" - 'not permitted' mkdir "$f/$x%/dir"
yields "a column written unsplit is the split one" u 'cat "$f/$x%/unsplit"' bash -c 'printf u >"$0"' "$f/${x}unsplit"
check "mkdir -p of chunks of a key" mkdir -p "$m/t/$x%/$x%/end/f"
check "a row there" bash -c 'printf row >"$0"' "$m/t/$x%/$x%/end/f/q"
check_eq "has the key of all" row "$(long_call 'fd = enter(a[0], *row(b"x" * 460 + b"end"), "f")
print(read(fd, "q").decode(), end=" ")' "$m/t" | sed 's/ ok//;s/ok//')"
check "a name in a chunk directory that decodes by itself is still a chunk's" \
	test ! -e "$m/t/end"
fail_with "a file in a chunk of a key" - 'not permitted' cp "$TMP/load" "$m/t/$x%/file"
check_eq "the longest key can be made" ok "$(long_call '
fd = enter(a[0], *row(b"%" * 4096), "f", *names("qualifier", b"%" * 16384)[:-1], make=True)
write(fd, names("qualifier", b"%" * 16384)[-1], b"made")
assert read(enter(a[0], *row(b"%" * 4096), "f", *names("qualifier", b"%" * 16384)[:-1]),
    names("qualifier", b"%" * 16384)[-1]) == b"made"' "$m/t")"
for place in "$f" "$m/t/bare/f" "$m/t"; do
	mkdir -p "$place"
	check_eq "chunks that are only made in ${place#"$m/"} are listed, each in the one above" "ok" "$(long_call '
chunk = "n" * 230 + "%"
enter(a[0], *[chunk] * 15, make=True)
fd = enter(a[0])
for depth in range(15):
    assert [name for name in os.listdir(fd) if name.startswith("n")] == [chunk], depth
    fd = os.open(chunk, os.O_RDONLY, dir_fd=fd)
assert os.listdir(fd) == []' "$place")"
	check "rm -r takes them" bash -c 'rm -r "$0"/nnn*' "$place"
done
rm -r "$m/t/bare"
check "a key of 4,097 bytes cannot" test ok != "$(long_call '
fd = enter(a[0], *row(b"%" * 4097), "f", make=True)
write(fd, "q", b"made")' "$m/t")"
check_eq "nor a qualifier of 16,385" ENAMETOOLONG "$(long_call '
fd = enter(a[0], *names("qualifier", b"q" * 16385)[:-1], make=True)
write(fd, names("qualifier", b"q" * 16385)[-1], b"made")' "$f")"

# ---- Renaming, removing ----------------------------------------------------------------------

check "mv within a chunk directory" mv "$f/$x%/y" "$f/$x%/v"
check_eq "moves the column" "2 two" "$(entries "$f/$x%/v@" | wc -l) $(cat "$f/$x%/v")"
none "from its old name" "$f/$x%/y"
check "mv of an unsplit name to a short one, as programs do with temporary names" \
	mv "$f/${x}v" "$f/v"
check_eq "is a rename, history and all" "2 two" "$(entries "$f/v@" | wc -l) $(cat "$f/v")"
yields "and back is one as well" "2 two" 'echo "$(entries "$f/$x%/v@" | wc -l) $(cat "$f/$x%/v")"' mv "$f/v" "$f/${x}v"
printf rsync >"$TMP/$x"
check "rsync of a name of 230 bytes, whose temporary name is longer" rsync -a "$TMP/$x" "$f/"
check_eq "sets the column" rsync "$(cat "$f/$x")"
check "sed -i" sed -i s/rsync/sed/ "$f/$x"
check_eq "keeps its history" "2 sed" "$(entries "$f/$x@" | wc -l) $(cat "$f/$x")"
check "vim" vim -Nu NONE -es +%s/sed/vim/ +wq "$f/$x" </dev/null
check_eq "too" "3 vim" "$(entries "$f/$x@" | wc -l) $(cat "$f/$x")"
check_eq "no temporary name is left" "" "$(entries "$f" | grep xxx | grep -v '^x*%\?$')"
fail_with "rmdir of a chunk directory with columns" - 'not empty' rmdir "$f/$x%"
fail_with "of one with rows below" - 'not empty' rmdir "$m/t/$x%"
fail_with "mv of a chunk directory" - . perl -e 'rename $ARGV[0], $ARGV[1] or die "$!\n"' \
	"$m/t/$x%" "$m/t/other"
check "rm of a column in one" rm "$f/$x%/v" "$f/$x%/z" "$f/$x%/unsplit"
check "leaves the directory" test -d "$f/$x%"
check "until rmdir" rmdir "$f/$x%"
none "then it is gone" "$f/$x%"
y=$(printf 'e%.0s' {1..229})
mkdir "$m/t/$y%" "$m/t/${y}f%" # a unit of three bytes does not fit behind the first one
check_eq "a chunk and a longer one that begins alike are both listed" "$y%"$'\n'"${y}f%" "$(entries "$m/t" | grep ^eee)"
check "rm -r finds both" bash -c 'cd "$0" && rm -r eee*%' "$m/t"
# An @ that ends a name is escaped, so it is behind the chunk; before another byte it is the chunk's last.
printf '{"key":"at","families":{"f":{"%s@":"1","%s@c":"2"}}}\n' "$y" "$y" >"$m/t/.rows"
check_eq "chunks with and without an @ at their end" "$y%/%40"$'\n'"$y@%/c" "$(cd "$m/t/at/f" && find . -type f | sed 's,^\./,,' | sort)"
check "rm -r finds both of them" rm -r "$m/t/at"
check "rm -r of chunks of a key" rm -r "$m/t/$x%"
none "takes them" "$m/t/$x%"
check "rm -r of the longest key" bash -c 'cd "$0" && rm -r %25*' "$m/t"
check_eq "nothing of it is left" "" "$(entries "$m/t" | grep '^%25')"

# ---- In the next mount -----------------------------------------------------------------------

inodes() {
	(cd "$m/t" && find . -printf '%i %p\n' 2>/dev/null | sort)
}
rm -r "$(dirname "$f")" # an emptied directory is in this mount's memory only
inodes >"$TMP/before"
remount
check "names and inodes are the same in the next mount" \
	diff "$TMP/before" <(inodes)
check "rm -r of it all" bash -c 'cd "$0" && rm -r -- *' "$m/t"
check_eq "nothing is left" "" "$(find "$m/t" -mindepth 1 2>&1)$(model tree "$m/.versions/t" f g)"

# ---- More than there can be ------------------------------------------------------------------

mkdir -p "$f"
check_eq "more chunks than the longest qualifier has are refused" ENAMETOOLONG \
	"$(long_call 'enter(a[0], *["o" * 230 + "%"] * 80, make=True)' "$f")"
check "which leaves the mount as it was" test -d "$f"
check_eq "also for a key" ENAMETOOLONG "$(long_call 'enter(a[0], *["o" * 230 + "%"] * 20, make=True)' "$m/t")"
check_eq "and where their bytes are escapes" ENAMETOOLONG \
	"$(long_call 'enter(a[0], *["%25" * 76 + "%"] * 300, make=True)' "$f")"

finish
