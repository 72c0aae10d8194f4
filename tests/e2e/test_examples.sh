#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The runner of examples finds false statements in a page, and leaves nothing behind.

. "$(dirname "$0")/lib.sh"
need_fuse

# page: writes standard input, in which "|" stands for four spaces, as a page.
page() {
	sed 's/^|/    /' >"$TMP/page.md"
}

# examples: runs the page; its last line is its status.
examples() {
	"$python" -S "$LIB_DIR/examples.py" "$BUILD" "$TMP/page.md" 2>&1
	echo "$?"
}

# finds NAME REGEX: the page, from standard input, fails, and the message matches.
finds() {
	local said
	page
	said=$(examples)
	if [ "$(tail -n 1 <<<"$said")" = 1 ] && grep -qE "^not ok .*$2" <<<"$said"; then
		ok "$1"
	else
		not_ok "$1" "$said"
	fi
}

start="ok page.md:start it names the packages of its tools"
end=$'ok page.md:end it removes what it made\nok page.md:end what it mounted ends well'

page <<'END'
Text with $ in it.

|not run

More text.

|$ mkfs.rowfs fleet.db
|$ mkdir /mnt/fleet
|$ rowfs fleet.db /mnt/fleet && mkdir /mnt/fleet/t
|$ x=$(ls /mnt/fleet)
|$ rmdir /mnt/nothing
|rmdir: ... No such file or directory
|$ echo $?
|1

```
$ cat <<'EOF'
> a $x
> EOF
a $x
$ printf '%s\n' $x '' \
>     c
t

c

$ seq 5
1
...
5
$ mkdir /srv/b && ls /srv /mnt
/mnt:
fleet

/srv:
b
$ mkdir b a; ls
a  b  fleet.db
$ ls | head -n 1
a
$ umount /mnt/fleet; rm -r a b fleet.db /mnt/* /srv/*
```
END
check_eq "a page that is so" \
	"$start"$'\nok page.md:7 mkfs.rowfs fleet.db\nok page.md:17 cat <<\'EOF\'\n'"$end"$'\n0' "$(examples)"
check_eq "the commands can be listed" 13 \
	"$("$python" -S "$LIB_DIR/examples.py" --list "$TMP/page.md" | grep -c '^/.*page.md:[0-9]*: ')"

finds "a mount that is left" "left: /mnt/m" <<'END'
|$ mkfs.rowfs m.db && mkdir /mnt/m && rowfs m.db /mnt/m
END
finds "a file that is left" "left: .*/home/a" <<<'|$ : >a'
finds "a tool that is not named before its use" "attr, for getfattr" <<'END'
Attributes, with jq:

|$ jq . /dev/null; getfattr /

The package is attr.
END
finds "another output" "line 3, .*expected 'b', got 'a'" <<'END'
|$ echo b
|b
|$ echo a
|b
END
finds "output where none is shown" "expected '', got 'a'" <<<'|$ echo a'
finds "no output where some is shown" "expected 'a', got ''" <<<$'|$ true\n|a'
finds "a line too many" "got 'a.nb'" <<<$'|$ echo a; echo b\n|a'
finds "a line too few" "got 'a'" <<<$'|$ echo a\n|a\n|b'
finds "what ... does not stand for" "got 'abd'" <<<$'|$ echo abd\n|a...c'
finds "a command that fails" "exit 3" <<<'|$ (exit 3)'
finds "one that fails though it prints what is shown" "exit 1" <<<$'|$ echo a; false\n|a'
finds "a status other than the one shown" "expected '2', got '1'" <<<$'|$ false\n|$ echo $?\n|2'
finds "the end of the shell" "the shell ended" <<<$'|$ exit 0\n|$ true'
finds "a page without examples" "no examples" <<<'|true'
finds "an example that is none" "2 lines begin with '. ', but 1 are" <<<$'|$ true\n\n$ true'
finds "an example behind something else" "2 lines begin" <<<$'|$ true\n\ntext\n\n|text\n|$ true'
finds "a fenced block without an end" "does not end" <<<$'```\n$ true'
check_eq "a page that is not there" "not ok page.md" "$(rm "$TMP/page.md"
	examples | head -n 1 | cut -d : -f 1)"

cat >"$TMP/page.8" <<'END'
.Bd -literal
not run
.Ed
.Bd -literal -offset indent
$ printf \(aq%s\en\(aq \(ha\(ti .x
\(ha\(ti
\&.x
.Ed
.Bd -literal
$ echo \(gaecho a\(ga
b
.Ed
END
check_eq "a manual page" "${start/md/8}
ok page.8:5 printf '%s\\n' ^~ .x
not ok page.8:10 echo \`echo a\`: line 10, $ echo \`echo a\`: expected 'b', got 'a'
${end//md/8}" "$("$python" -S "$LIB_DIR/examples.py" "$BUILD" "$TMP/page.8" 2>&1)"
for wrong in '\(bu' '.Pp'; do
	printf '%s\n' .Bd\ -literal '$ true' "$wrong" .Ed >"$TMP/page.8"
	check_eq "what does not belong into a display: $wrong" 'not ok page.8:0' \
		"$("$python" -S "$LIB_DIR/examples.py" "$BUILD" "$TMP/page.8" 2>&1 | cut -d ' ' -f 1-3)"
done

page <<'END'
|$ mkfs.rowfs fleet.db && mkdir /mnt/fleet && rowfs fleet.db /mnt/fleet
|$ touch /srv/reached; sleep 1000
END
mkdir "$TMP/private" "$TMP/bin"
printf '#!/bin/sh\necho no namespaces >&2\nexit 1\n' >"$TMP/bin/unshare"
chmod +x "$TMP/bin/unshare"
fail_with "a shell that does not start" 1 'no namespaces' \
	env PATH="$TMP/bin:$PATH" TMPDIR="$TMP/private" "$python" -S "$LIB_DIR/examples.py" "$BUILD" "$TMP/page.md"
check_eq "leaves nothing" "" "$(ls -A "$TMP/private")"
TMPDIR=$TMP/private "$python" -S "$LIB_DIR/examples.py" "$BUILD" "$TMP/page.md" >"$TMP/out" 2>&1 &
runner=$!
track_pid "$runner"
check "a command is running" within compgen -G "$TMP/private/*/srv/reached"
kill -TERM "$runner"
wait "$runner"
check_eq "stopped by a signal it ends" 143 "$?"
check_eq "and leaves nothing" "" "$(ls -A "$TMP/private")$(grep "$TMP/private" /proc/self/mounts)"
is_over() {
	! grep -qsF "$TMP/private" /proc/[0-9]*/environ
}
check "nor a process, once the kernel has ended them" within is_over

finish
