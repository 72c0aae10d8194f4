#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The manual pages are true: their examples run, and they name the options that there are, the
# control files that there are, and pages that there are. --help of each program fits a screen.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/examples.sh"

source=$LIB_DIR/../..
man=$source/man

# section PAGE REGEX: the lines of the section, or subsection, with such a heading.
section() {
	awk -v heading="$2" '/^[.]S[hs] /{ inside = $0 ~ "^[.]S[hs] (" heading ")$" } inside' "$man/$1"
}

# words: the words of standard input, sorted, on one line.
words() {
	tr -s ' \n' '\n' | sort -u | grep . | tr '\n' ' '
}

# ---- Examples --------------------------------------------------------------------------------

for page in "$man"/*; do
	run_page "$page"
done

# ---- Options ---------------------------------------------------------------------------------

# of_code FILE: the options in the file's array for message_getopt or program_options.
of_code() {
	grep -oE '"[a-z-]+", \.(flag|text)' "$1" | sed 's/"\([a-z-]*\)".*/--\1/'
	grep -q 'program_options(' "$1" && echo --foreign --help --version -h -V
	grep -oE '"[a-z-]+", (no|required)_argument' "$1" | sed 's/"\([a-z-]*\)".*/--\1/'
	grep -oE 'message_getopt\(argc, argv, "[^"]*"' "$1" | cut -d '"' -f 2 | tr -d '+:' | sed 's/./-&\n/g'
	grep -q PROGRAM_OPTIONS "$1" && echo --help --version
	grep -q PROGRAM_FOREIGN "$1" && echo --foreign
	grep -q '^[[:space:]]*CSV_OPTIONS(' "$1" && of_code "$source/mkfs/text/csv_options.h"
}
of_help() {
	"$BUILD/$1" --help | grep -E '^  -' | grep -oE '(^|[ ,])-{1,2}[a-zA-Z-]+' | tr -d ,
	[ "$1" != rowfs ] || echo -o # which stands above its options
}
of_page() {
	sed -n 's/^[.]It Fl //p' "$1" | sed 's/ Ar .*//' | tr ' ' '\n' | grep -E '^(-[a-z-]+|[a-zA-Z])$' | sed 's/^/-/'
}

while read -r program page file; do
	check_eq "$program: --help has the options that there are" "$(of_code "$source/$file" | words)" \
		"$(of_help "$program" | words)"
	check_eq "$page has the options that there are" "$(of_code "$source/$file" | words)" \
		"$(of_page "$man/$page" | words)"
	"$BUILD/$program" --help >"$TMP/help" 2>"$TMP/err"
	check_eq "$program --help succeeds" 0 "$?"
	check_eq "$program --help says nothing on stderr" "" "$(cat "$TMP/err")"
	check_eq "$program --help starts with the usage" "Usage: $program " \
		"$(head -c $((8 + ${#program})) "$TMP/help")"
	check_eq "$program --help fits 24 lines of 80 columns" "" \
		"$(awk 'NR > 24 || length > 80 || /\t/' "$TMP/help")"
	check_eq "$program -h is the same" "$(cat "$TMP/help")" "$("$BUILD/$program" -h)"
	check_eq "$program -V is --version" "$("$BUILD/$program" --version)" "$("$BUILD/$program" -V)"
	check "$program --version names it" grep -qE "^$program( \(rowfs\))? [0-9]+[.][0-9]" <("$BUILD/$program" --version)
	for option in --help --version; do
		fail_with "$program $option where nothing fits" "$([ "$program" = fsck.rowfs ] && echo 8 || echo 1)" \
			"^$program: standard output: No space" bash -c "'$BUILD/$program' $option >/dev/full"
	done
	check "$program is described in $page" grep -qxF ".Nm $program" "$man/$page"
	for heading in NAME SYNOPSIS DESCRIPTION "EXIT STATUS" EXAMPLES DIAGNOSTICS "SEE ALSO"; do
		check "$page: $heading" grep -qxF ".Sh $heading" "$man/$page"
	done
done <<'END'
rowfs rowfs.8 fs/options.c
mkfs.rowfs mkfs.rowfs.8 mkfs/mkfs_rowfs.c
fsck.rowfs fsck.rowfs.8 mkfs/fsck_rowfs.c
rowfs-dump rowfs-dump.1 mkfs/rowfs_dump.c
rowfs-load rowfs-load.1 mkfs/rowfs_load.c
rowfs-path rowfs-path.1 mkfs/rowfs_path.c
rowfs-advise rowfs-advise.1 mkfs/rowfs_advise.c
END

# Of -o: its own, and libfuse's, which it hands on.
of_list() {
	sed -n 's/^[.]It Cm //p' | tr -d , | sed 's/ Ns = Ns Ar [a-zA-Z]*//g; s/ Cm / /g'
}
own=$(section rowfs.8 "Options of rowfs" | of_list | words)
handed_on=$(section rowfs.8 "Options of libfuse" | of_list | words)
others=$(section rowfs.8 "Options of mount and fstab" | of_list | words)
check_eq "rowfs.8 has the mount options of --help" "$own" \
	"$("$BUILD/rowfs" --help | sed -n '/^Options of -o/,/^and/s/^  //p' | grep -oE '^([a-z]+(=[A-Z]+)?(, )?)+' |
		sed 's/=[A-Z]*//g' | tr , ' ' | words)"
check_eq "and all that the program looks for" "" \
	"$(grep -oE '(value_of|strcmp)\(option, "[a-z_]+"' "$source/fs/options.c" | cut -d '"' -f 2 |
		grep -vxF -f <(tr ' ' '\n' <<<"$own$handed_on$others"))"
mkdir "$TMP/none" "$TMP/m"
for option in $handed_on; do
	[ "$option" != max_read ] || option=max_read=65536
	fail_with "libfuse takes $option" 1 'not a rowfs store' "$BUILD/rowfs" -o "$option" "$TMP/none" "$TMP/m"
done
fail_with "and not what there is not" 2 'unknown option.*nonsense' \
	"$BUILD/rowfs" -o nonsense "$TMP/none" "$TMP/m"

# ---- Control files ---------------------------------------------------------------------------

make_store "$TMP/s" '{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
mount_store "$TMP/s" "$TMP/m"
of_section() {
	section rowfs.5 "CONTROL FILES" | sed -n 's/^[.]It Pa //p'
}
check_eq "rowfs.5 has the control files of /.rowfs/help" \
	"$(sed -n '/^A row is/q; s/^  \([.a-z][^ ]*\)\(  .*\)*$/\1/p' "$TMP/m/.rowfs/help" | words)" "$(of_section | words)"
check_eq "and those that are listed" \
	"$( (cd "$TMP/m/t" && ls -p ../.rowfs && printf '%s\n' .families/f/* | sed 's,/f/,/F/,') | words)" \
	"$(of_section | grep -v -e '^[.][a-z]*/*$' -e /explain/ -e '^trace$' | words)"
mkdir -p "$TMP/m/t/a/f"
for name in $(of_section | grep '^[.]' | sed 's/F/f/; s/POLICY/never/'); do
	check "$name is there" test -e "$TMP/m/t/$([ "$name" != .row ] || echo a)/$name"
done
check_eq "it has the members of row JSON" \
	"$(sed -n 's/^  "\([a-z]*\)" .*/\1/p' "$TMP/m/.rowfs/help" | words)" \
	"$(section rowfs.5 "ROWS AS JSON" | sed -n 's/^[.]It Li \\(dq\([a-z]*\)\\(dq.*/\1/p' | words)"

# ---- Diagnostics -----------------------------------------------------------------------------

# Words in capitals, and parts that pages leave out (...), stand for anything.
cat >"$TMP/diagnostics.py" <<'PYTHON'
import glob, re, sys

source, pages = sys.argv[1], sys.argv[2:]
code = ""
for pattern in ("fs/**/*.[ch]", "mkfs/**/*.[ch]", "store/**/*.[ch]", "lib/**/*.[ch]"):
    for name in glob.glob(f"{source}/{pattern}", recursive=True):
        code += open(name, encoding="utf-8").read()
code = re.sub(r'"\s*DIRECTORY_(MARKER|DATA)\s*"', lambda m: {"MARKER": "ROWFS", "DATA": "data"}[m[1]], code)
code = re.sub(r'"\s*"', "", code)
for page in pages:
    text = open(page, encoding="utf-8").read()
    for display in re.findall(r"^\.Bl -diag$(.*?)^\.El$", text, re.M | re.S):
        for said in re.findall(r'^\.It "(.*)"$', display, re.M):
            said = said.replace(r"\(dq", r'\"')
            for part in re.split(r"\b[A-Z]{1,20}(?:\.[A-Z])*\b|[.]{3}|%", said):
                part = part.strip(" :;/(")
                if len(part) > 6 and part not in code:
                    print(f"{page}: {part}")
PYTHON
check_eq "no page explains an error that there is not" "" \
	"$("$python" -S "$TMP/diagnostics.py" "$source" "$man"/* 2>&1)"

# ---- Other pages, and installing -------------------------------------------------------------

check_eq "pages of ours that are referred to are there" "" \
	"$(sed -n 's/^[.]Xr \([^ ]*rowfs[^ ]*\) \([158]\).*/\1.\2/p' "$man"/* | sort -u |
		while read -r page; do [ -e "$man/$page" ] || echo "$page"; done)"
check "make install" make -s -C "$source" -o all BUILD="$BUILD" DESTDIR="$TMP/root" PREFIX=/usr install
check_eq "installs the pages" "$(cd "$man" && echo *)" \
	"$(cd "$TMP/root/usr/share/man" && find . -type f -printf '%f %h\n' |
		sed 's,^\(.*[.]\([158]\)\) ./man\2$,\1,' | sort | xargs)"
check_eq "and each program where an ordinary user's PATH finds it" \
	"$({ basename -as .1 "$man"/*.1 && basename -as .8 "$man"/*.8; } | sort)" "$(ls "$TMP/root/usr/bin")"
version=$("$BUILD/rowfs" --version)
check_eq "with the version" 8 "$(grep -rxF ".Os $version" "$TMP/root/usr/share/man" | wc -l)"
check "make uninstall" make -s -C "$source" BUILD="$BUILD" DESTDIR="$TMP/root" PREFIX=/usr uninstall
check_eq "removes all of it" "" "$(find "$TMP/root" ! -type d)"

# built ARGUMENT…: makes something in a directory of its own.
built() {
	env --unset=MAKEFLAGS make --no-print-directory -C "$source" BUILD="$TMP/built" "$@"
}
fail_with "make without the libraries refers to make deps" 2 '"make deps" installs them' built PKG_CONFIG=false
check_eq "make prints a short line a file" "CC lib/names.c" "$(built "$TMP/built/obj/lib/names.o")"
check "make V=1 prints commands" grep -- ' -c -o .* lib/names.c$' <(built V=1 -B "$TMP/built/obj/lib/names.o")

finish
