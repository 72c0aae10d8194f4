#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The sizes of control files, and programs that believe st_size: a program reads a short control file
# and a stream as docs/programs.md says. PROGRAMS=all prints that page's table, of all programs that
# are installed.

. "$(dirname "$0")/lib.sh"

t=$m/t
page=$LIB_DIR/../../docs/programs.md

new_mount '{"version":1,"tables":{"t":{"families":{"f":{},"n":{"type":"intsum","gc":"maxversions=1"}}},"empty":{}}}'
awk 'BEGIN { for (i = 0; i < 20000; i++)
	printf "{\"key\":\"r#%05d\",\"families\":{\"f\":{\"q\":[{\"ts\":%d,\"value\":\"value %d\"}]}}}\n", i, i + 1, i }' >"$t/.rows"
echo '{"families":{"f":{"a":[{"ts":1,"value":"one"}],"b":[{"ts":2,"value":"two"}]}}}' >"$t/r/00001/.row"

# ---- Sizes -----------------------------------------------------------------------------------

# All short control files. Those that tell of the mount itself differ from one moment to the next.
short=("$t/r/00001/.row" "$t/r/.row" "$t/none/.row" "$t/.from/r/r/00001/.row")
for dir in "$t" "$t/r" "$m/empty" "$t/.from/r" "$t/.newest/1/r"; do
	short+=("$dir/.count" "$dir/.splits")
done
short+=("$t/.drop" "$t/r/.drop" "$m/empty/.drop" "$t/.design" "$t/.delimiter" "$t/.protected"
	"$t"/.families/*/{gc,type,drop} "$m"/.rowfs/{schema.json,errors,version,help})
moving=("$m"/.rowfs/{metrics,gc,engine})
mkdir "$t/none" "$t/new" "$t/threads.none" "$t/threads.O_TRUNC" "$t/large65000" "$t/large66000"

# sizes still|moving NAME FILE…: the size by name, the size of an open file and the bytes are the same, also for a
# second reader of the same moment.
sizes() {
	check_eq "$2" "" "$(python '
for path in a[1:]:
    by_name = os.stat(path).st_size
    first, second = os.open(path, os.O_RDONLY), os.open(path, os.O_RDONLY)
    whole = [os.pread(f, 1 << 20, 0) for f in (first, second)]
    sizes = [os.fstat(f).st_size for f in (first, second)]
    if sizes != [len(w) for w in whole] or a[0] == "still" and by_name != sizes[0]:
        print(path, by_name, sizes, [len(w) for w in whole])
    os.close(first); os.close(second)' "$1" "${@:3}")"
}
sizes still "short files have their size" "${short[@]}"
sizes moving "so have those that tell of the mount" "${moving[@]}"
check_eq "none of these is empty that has a text" "" \
	"$(find "$t/r/00001/.row" "$t/.design" "$t/.delimiter" "$t/.protected" "$t/.count" "$m/empty/.drop" "${moving[@]}" -size 0)"
check_eq "a count's size is the same whatever it counts" "$(stat -c %s "$m/empty/.count")" "$(stat -c %s "$t/.count")"
check_eq "it is an object, blanks and a newline" "{*} *" \
	"$(sed -E 's/^\{"rows":20000,"cells":20002,"bytes":[0-9]+\} +$/{*} */' "$t/.count")"
echo '{"increment":{"n":{"hits":12345}}}' >"$t/r/00001/.row"
echo maxversions=3 >"$t/.families/f/gc"
echo 1 >"$t/.protected"
echo bad 2>/dev/null >"$t/.rows"
sizes still "after changes they have the new one" "${short[@]}"
check_eq "each change of a row by another path is seen at once" "" "$(python '
row, cell = a[0] + "/.row", a[0] + "/f/a"
for i in range(300):
    with open(cell, "w") as f:
        f.write("x" * (i * 7 % 400))
    size, text = os.stat(row).st_size, open(row, "rb").read()
    if size != len(text) or b"x" * (i * 7 % 400) + b"\"" not in text:
        print(i, size, len(text))' "$t/r/00001")"
check_eq "a reader keeps its text and its size, while others get the new ones" "ok" "$(python '
row = a[0] + "/.row"
old = os.open(row, os.O_RDONLY)
size = os.fstat(old).st_size
with open(a[0] + "/f/a", "w") as f:
    f.write("y" * 1000)
new = os.open(row, os.O_RDONLY)
assert os.fstat(new).st_size == len(os.pread(new, 1 << 20, 0)) == os.stat(row).st_size > size
assert os.fstat(old).st_size == len(os.pread(old, 1 << 20, 0)) == size
print("ok")' "$t/r/00001")"
check_eq "an inode that is opened without a lookup shows the newest text" "ok ok ok" "$(python '
row = a[0] + "/.row"
held = os.open(row, os.O_PATH)
for i in range(3):
    with open(a[0] + "/f/a", "w") as f:
        f.write("z" * (100 + i))
    again = os.open("/proc/self/fd/%d" % held, os.O_RDONLY)
    text = os.pread(again, 1 << 20, 0)
    assert b"\"" + b"z" * (100 + i) + b"\"" in text, text
    assert os.fstat(again).st_size == len(text), (os.fstat(again).st_size, len(text))
    os.close(again)
    print("ok", end=" " if i < 2 else "")' "$t/r/00001")"
check_eq "a handle that wrote reads the row as it left it" 7 "$(
	exec 3<>"$t/new/.row"
	echo '{"increment":{"n":{"hits":7}}}' >&3
	jq .families.n.hits[0].value <&3)"
# In the moment in which another opens the file with O_TRUNC the kernel shows size 0 (docs/programs.md): the next fstat
# must show the right one.
for flags in none O_TRUNC; do
	check_eq "many threads write and read one row, flags $flags: sizes and texts agree" "" "$(python '
import threading
row, truncate, wrong = a[0] + "/.row", os.O_TRUNC if a[1] == "O_TRUNC" else 0, []
def write(name):
    for i in range(150):
        f = os.open(row, os.O_WRONLY | truncate)
        os.write(f, b"{\"families\":{\"f\":{\"%s\":\"%s\"}}}\n" % (name, b"v" * (i * 13 % 200)))
        os.close(f)
def read():
    for i in range(300):
        f = os.open(row, os.O_RDONLY)
        size, text = os.fstat(f).st_size, os.pread(f, 1 << 20, 0)
        if size == 0 and truncate: size = os.fstat(f).st_size
        if len(text) != size: wrong.append((size, len(text)))
        os.close(f)
threads = [threading.Thread(target=write, args=(n,)) for n in (b"a", b"b")] + [threading.Thread(target=read) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
if wrong: print(wrong[:5], len(wrong))' "$t/threads.$flags" "$flags")"
done

for bytes in 65000 66000; do
	python 'open(a[0], "w").write("{\"families\":{\"f\":{\"q\":[{\"ts\":1,\"value\":\"%s\"}]}}}\n" % ("v" * int(a[1])))' \
		"$t/large$bytes/.row" "$bytes"
	cat "$t/large$bytes/.row" >"$TMP/large"
	size=$(wc -c <"$TMP/large")
	check_eq "a row of $size bytes is read whole" "$bytes" "$(jq -r '.families.f.q[0].value | length' "$TMP/large")"
	check_eq "up to 64 KiB it has its size, above it is a stream" "$((size <= 65536 ? size : 0))" \
		"$(stat -c %s "$t/large$bytes/.row")"
done
head -c 3000000 /dev/zero | tr '\0' v >"$t/large66000/f/huge"
check_eq "a row with a large value is a stream, too, and is read whole" "0 3000000" \
	"$(stat -c %s "$t/large66000/.row") $(jq -r '.families.f.huge[0].value | length' "$t/large66000/.row")"
rm "$t/large66000/f/"{q,huge}
sizes still "and a short row again has its size" "$t/large66000/.row"
check_eq "streams have size 0" 0 "$(stat -c %s "$t"/.rows "$t"/.keys "$t"/r/.rows "$t"/.changes "$m/.rowfs/trace" \
	"$t/.families/f/explain/maxversions=1" "$m/.rowfs/advice" | sort -u)"
cat "$m/.rowfs/advice" >"$TMP/advice"
check_eq "advice has the size of the text that was read last" "$(wc -c <"$TMP/advice")" "$(stat -c %s "$m/.rowfs/advice")"

# ---- Programs that believe st_size -----------------------------------------------------------

# A program a line: its name, yes if scripts/deps.sh installs it (below: with a stream of less than 1 MiB),
# and a command that reads $f to its output. Where the command ends in "| PROGRAM…", that is what reads; $f stands for the file then.
list='
GNU cat|yes|cat "$f"
GNU cp|yes|cp "$f" "$o"; cat "$o"
GNU head -n|yes|head -n 3 "$f"
GNU head -c -N|yes|head -c -5 "$f"
GNU tail -n|yes|tail -n 3 "$f"
GNU wc -l|yes|wc -l <"$f"
GNU wc -c|yes|wc -c <"$f"
GNU sort|yes|sort "$f"
GNU tac|yes|tac "$f"
GNU tac, below 1 MiB|below|tac "$f"
GNU split|yes|(cd "$d" && split -n 3 "$f" && cat xaa xab xac)
GNU sha256sum|yes|sha256sum <"$f"
GNU dd|yes|dd if="$f" bs=64k status=none
GNU od|yes|od -c "$f"
GNU tee|yes|tee "$o" <"$f"
cmp|yes|cat "$f" >"$o"; cmp "$f" "$o" && cat "$o"
cmp -s|yes|cat "$f" >"$o"; cmp -s "$f" "$o" && cat "$o"
diff|yes|cat "$f" >"$o"; diff "$f" "$o" && cat "$o"
grep|yes|grep value "$f"
sed|yes|sed s/value/x/ "$f"
awk|yes|awk "{ print NR, \$0 }" "$f"
jq|yes|jq -c .key "$f"
bash $(<FILE)|yes|text=$(<"$f"); printf "%s\n" "$text"
bash mapfile|yes|mapfile -t all <"$f"; printf "%s\n" "${all[@]}"
perl slurp|yes|perl -0777 -ne print "$f"
Python read|yes|py "sys.stdout.write(open(f).read())"
Python pathlib|yes|py "sys.stdout.write(pathlib.Path(f).read_text())"
Python shutil.copy|yes|py "shutil.copy(f, o)"; cat "$o"
Python tarfile|yes|py "t = tarfile.open(o, \"w\"); t.add(f, \"x\"); t.close(); sys.stdout.buffer.write(tarfile.open(o).extractfile(\"x\").read())"
Python mmap|yes|py "g = open(f, \"rb\"); sys.stdout.buffer.write(mmap.mmap(g.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ)[:])"
rsync|yes|rsync "$f" "$o" && cat "$o"
GNU tar|yes|tar cf - -C "${f%/*}" "${f##*/}" | tar xOf -
vim|yes|vim -Nu NONE -i NONE -es -c "w! $o" -c q "$f"; cat "$o"
less|yes|less "$f" | cat
gzip|yes|gzip -c "$f" >"$o" && gzip -dc "$o"
zstd|no|zstd -qc "$f" >"$o" && zstd -qdc "$o"
curl file:|no|curl -s "file://$f"
cpio|no|(cd "${f%/*}" && echo "${f##*/}" | cpio -o --quiet -H newc) | (cd "$d" && cpio -i --quiet && cat "${f##*/}")
busybox cat|no|busybox cat "$f"
busybox cp|no|busybox cp "$f" "$o"; cat "$o"
busybox head|no|busybox head -n 3 "$f"
busybox tail|no|busybox tail -n 3 "$f"
busybox wc|no|busybox wc <"$f"
busybox sort|no|busybox sort "$f"
uutils cat|no|rust-coreutils cat "$f"
uutils cp|no|rust-coreutils cp "$f" "$o"; cat "$o"
uutils head|no|rust-coreutils head -n 3 "$f"
uutils tail|no|rust-coreutils tail -n 3 "$f"
uutils wc -c|no|rust-coreutils wc -c <"$f"
uutils sort|no|rust-coreutils sort "$f"
node readFile|no|node -e "process.stdout.write(fs.readFileSync(process.argv[1]))" "$f"
node createReadStream|no|node -e "fs.createReadStream(process.argv[1]).pipe(process.stdout)" "$f"
node copyFile|no|node -e "fs.copyFileSync(process.argv[1], process.argv[2])" "$f" "$o"; cat "$o"
bindfs|no|cat "$TMP/bindfs${f#"$m"}"
sshfs|no|cat "$TMP/sshfs${f#"$m"}"
smbclient|no|smbclient //127.0.0.1/rowfs -p "$smb_port" -N -c "get \"${f#"$m"/}\" \"$o\"" >"$d/log" 2>&1; cat "$o"
'

# py CODE: Python with the paths f and o.
py() {
	"$python" -S -c "import mmap, pathlib, shutil, sys, tarfile; f, o = sys.argv[1:]; $1" "$f" "$o"
}

# The form that always works: the file comes through a pipe. Programs that name files get a copy.
# result FILE COMMAND RIGHT: prints whole; nothing: an empty result, with exit status 0; wrong: other bytes, with exit
# status 0; or fails: another exit status. RIGHT is the command for a copy of the file.
result() {
	local f=$1 d o status=0
	d=$(mktemp -d "$TMP/program.XXXXXX")
	o=$d/o
	(eval "$2") >"$d/got" 2>"$d/errors" || status=$?
	f=$TMP/copies${f#"$m"} d=$(mktemp -d "$d/right.XXXXXX") o=$d/o
	(eval "$3") >"$d/right" 2>/dev/null
	if cmp -s "$d/right" "${d%/*}/got"; then
		echo whole
	elif ((status != 0)); then
		echo fails
	elif [ -s "${d%/*}/got" ] && ! cmp -s "${d%/*}/got" <(f=/dev/null; eval "$3" 2>/dev/null); then
		echo wrong
	else
		echo nothing
	fi
	rm -rf "${d%/*}"
}

mkdir -p "$TMP/copies/t/r/00002" "$m/t/few" "$TMP/copies/t/few"
for ((i = 0; i < 2000; i++)); do
	printf '{"key":"few#%d","families":{"f":{"q":"%0200d"}}}\n' $i $i
done >"$t/few/.rows"
for path in t/r/00002/.row t/.rows t/few/.rows; do
	cat "$m/$path" >"$TMP/copies/$path"
done
all=${PROGRAMS-}
smb_port=$((20000 + $$ % 20000))
if [ -n "$all" ]; then
	mkdir "$TMP/bindfs" "$TMP/sshfs" "$TMP/samba"
	bindfs "$m" "$TMP/bindfs"
	printf '#!/bin/sh\nexec /usr/lib/openssh/sftp-server\n' >"$TMP/ssh"
	chmod +x "$TMP/ssh"
	sshfs -o ssh_command="$TMP/ssh" "host:$m" "$TMP/sshfs"
	printf '[global]\nsmb ports = %s\nprivate dir = %s\nlock directory = %s\nstate directory = %s\ncache directory = %s\npid directory = %s\nncalrpc dir = %s\nlog file = %s/log\nmap to guest = Bad User\nguest account = root\n[rowfs]\npath = %s\nguest ok = yes\n' \
		"$smb_port" "$TMP"/samba{,,,,,/ncalrpc,} "$m" >"$TMP/smb.conf"
	smbd -F --no-process-group -s "$TMP/smb.conf" </dev/null >/dev/null 2>&1 &
	smbd=$!
	within smbclient //127.0.0.1/rowfs -p "$smb_port" -N -c ls >/dev/null 2>&1
	printf '| program | short file | stream |\n|---|---|---|\n'
fi
while IFS='|' read -r name deps command; do
	stream=$m/t/.rows
	case $deps in
	yes) ;;
	below) stream=$m/t/few/.rows ;;
	no) [ -n "$all" ] || continue ;;
	*) continue ;;
	esac
	right=$command
	case $name in bindfs | sshfs | smbclient) right='cat "$f"' ;; esac
	row="| $name | $(result "$m/t/r/00002/.row" "$command" "$right") | $(result "$stream" "$command" "$right") |"
	if [ -n "$all" ]; then
		echo "$row"
	else
		check "docs/programs.md: $row" grep -qxF "$row" "$page"
	fi
done <<<"$list"
if [ -n "$all" ]; then
	fusermount3 -u "$TMP/bindfs"
	fusermount3 -u "$TMP/sshfs"
	kill "$smbd"
fi

finish
