#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Completion of bash and zsh on the command lines of the programs. Bash: a line is cut into words as bash cuts
# them, its function is called, and its answers are compared. zsh: a terminal, its matches and its line.

. "$(dirname "$0")/lib.sh"
export COMPLETION=${COMPLETION:-$LIB_DIR/../../contrib/rowfs.bash}
# shellcheck source=contrib/rowfs.bash
. "$COMPLETION"

cd "$TMP" || exit 1
mkdir -p fleet.db fleet.old mnt "a b" other/below
: >schema.json
: >rows.json

# completed WORD…: the answers where these words stand on the line and the last is to be completed,
# sorted, with | between them.
completed() {
	local function
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	function=$(complete -p "$1" 2>/dev/null | sed -n 's/.*-F \([^ ]*\) .*/\1/p')
	COMPREPLY=(none)
	"${function:-false}" "$1" "${!#}" "${COMP_WORDS[COMP_CWORD - 1]}"
	printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd '|'
}

# is WANT WORD…: the last of the words is completed to these.
is() {
	local want=$1
	shift
	check_eq "$* …" "$want" "$(completed "$@")"
}

# words_of PROGRAM: the options in words that its help has, sorted, with | between them.
words_of() {
	"$BUILD/$1" --help | grep -oE -- '(^|[^-a-z])--[a-z][-a-z]*' | grep -oE -- '--.*' | sort -u | paste -sd '|'
}

for program in rowfs mkfs.rowfs fsck.rowfs rowfs-dump rowfs-load rowfs-path rowfs-advise; do
	is "--help" "$program" --hel
	is "--version" "$program" --ve
	is "$(words_of "$program")" "$program" -- # all of its help, and no other
done

is 'fleet.db|fleet.old' rowfs fl
is 'a b|fleet.db|fleet.old|mnt|other' rowfs ''
is 'mnt' rowfs fleet.db m
is 'other/below' rowfs fleet.db other/
is '' rowfs fleet.db mnt ''
is '-o' rowfs -o strict -o
is 'a b|fleet.db|fleet.old|mnt|other' rowfs -o strict ''
is 'mnt' rowfs -f -o strict fleet.db m
is 'mnt' rowfs -o umask = 022,ro fleet.db m
is '' rowfs -o umask = 022,ro fleet.db mnt ''

is 'strict' rowfs -o st
is 'ro|rw' rowfs -o r
is 'umask=' rowfs -o um
is 'ro,sync' rowfs -o ro,sy
is 'ro,strict,gcgrace=|ro,strict,gcinterval=' rowfs -o ro,strict,gc
is '022,table=' rowfs -o umask = 022,ta
is '0,gid=' rowfs fleet.db mnt -o uid = 0,gi
is '5,auto_unmount|5,autodir' rowfs -o uid = 0,gid = 5,auto
is '' rowfs -o umask =
is '' rowfs -o umask = 02
# Each option of -o that is completed is one that a mount knows; and all that the help names are completed.
for option in $(completed rowfs -o '' | tr '|' ' '); do
	case $option in
	uid= | gid= | cache= | max_read= | gc*=) value=1 ;;
	umask=) value=022 ;;
	*=) value=x ;;
	*) value= ;;
	esac
	fail_with "rowfs knows -o $option" 1 'nowhere: (No such|there is no such)' "$BUILD/rowfs" -o "$option$value" nowhere mnt
done
for option in $("$BUILD/rowfs" --help | sed -n '/^Options of -o/,/^and/s/^  \([a-z].*\)   .*/\1/p' |
	sed 's/   .*//; s/=[A-Z]*/=/g; s/,//g'); do
	is "$option" rowfs -o "$option"
done

is 'schema.json' mkfs.rowfs --schema sch
is 'fleet.db|fleet.old' mkfs.rowfs --schema schema.json fl
is '' mkfs.rowfs --schema schema.json fleet.db ''
is 'fleet.db|fleet.old' fsck.rowfs -n fl
is '' fsck.rowfs -n fleet.db ''
is '--schema' mkfs.rowfs --s

is 'a b|fleet.db|fleet.old|mnt|other' rowfs-dump ''
is '' rowfs-dump --csv --family ''
is 'mnt' rowfs-dump --csv --family loc m
is '' rowfs-dump fleet.db ''
is '' rowfs-load --csv ''
is '' rowfs-load --tsv t --key ''
is 'rows.json' rowfs-load --csv t --delimiter x --null N --escape backslash fleet.db r
is 'rows.json' rowfs-load --csv t --skip-bad r
is 'fleet.db|fleet.old' rowfs-load --csv t --skip-bad rows.json fl
is 'backslash' rowfs-load --tsv t --escape b
is 'rows.json' rowfs-load --tsv t --key id --family f fleet.db r
is 'fleet.db|fleet.old' rowfs-load --csv t fleet
is 'rows.json' rowfs-load fleet.db r
is '' rowfs-path t ''
is '--foreign|--help|--key|--schema|--store|--stored|--version' rowfs-path --
is 'schema.json' rowfs-path --schema sch
is 'fleet.db|fleet.old' rowfs-path --store fl
is '' rowfs-path --store fleet.db ''
is '--no-schema' rowfs-load --no
is '--table|--timestamps|--tsv' rowfs-advise --t
is 'fleet.db|fleet.old' rowfs-advise --json fl
is 'rows.json' rowfs-advise --table t r
is 'schema.json' rowfs-advise --schema sch
is '' rowfs-advise --csv ''
is '' rowfs-advise fleet.db ''

# ---- Tables of a mount -------------------------------------------------------------------------

make_store s '{"version":1,"tables":{"vehicles":{"families":{"f":{}}},"visits":{},"stops":{}}}'
mount_store s "a b/m n"
is 'stops|vehicles|visits' rowfs-dump 'a\ b/m\ n' ''
is 'vehicles|visits' rowfs-dump 'a\ b/m\ n' v
is 'visits' rowfs-dump --csv 'a\ b/m\ n/' vi
is '' rowfs-dump 'a\ b/m\ n' vehicles ''
mkdir -p "a b/m n/vehicles/STC/1/f"
echo 1 >"a b/m n/vehicles/STC/1/f/q"
# Views, in a table, a directory of segments and another view; elsewhere names as ever.
t='a\ b/m\ n/vehicles'
for command in cd ls cat grep find diff; do
	is "$t/.families/|$t/.family/|$t/.first/|$t/.from/" "$command" "$t/.f"
done
is "$t/.key/|$t/.keys" cat "$t/.k"
is "$t/.key/" cd "$t/.k"
is "$t/STC/.where/" ls "$t/STC/.w"
is "$t/.reverse/.last/" ls "$t/.reverse/.l"
is "$t/.raw/|$t/.reverse/|$t/.rows" cat "$t/.r"
is "$t/.delimiter|$t/.design|$t/.drop" cat "$t/.d"
is '' cd "$t/.d"
is "$t/STC/.reverse/|$t/STC/.row|$t/STC/.rows" cat "$t/STC/.r" # .raw stands in a table only, .row below it
is "$t/.raw/.reverse/|$t/.raw/.rows" cat "$t/.raw/.r"
for place in .raw .newest/1 STC/.first/2 .first/2/STC; do
	while read -r name; do
		check "$name is there" test -e "${name//\\/}"
	done < <(completed cat "$t/$place/." | tr '|' '\n')
done
is '' cat "$t/.raw/"
is ' |TIME' ls "$t/.since/"
is ' |KEY' cat "$t/STC/.from/"
is '' ls "$t/.has/" # which lists the families
is '' ls "$t/.since/1"
is "$t/.families/f/explain/" cat "$t/.families/f/ex" # is not listed
is 'maxage=Nd|maxversions=N|never' cat "$t/.families/f/explain/"
is '' cat "$t/.families/f/explain/never"
is '' cat "a b/.families/f/ex"
is '' ls 'a\ b/m\ n/.f'
for command in cd ls cat; do
	is 'a\ b/m\ n/.rowfs/|a\ b/m\ n/.versions/' "$command" 'a\ b/m\ n/.'
	is 'a\ b/m\ n/.versions/' "$command" 'a\ b/m\ n/.ver'
done
is '' ls './.r'
is '' ls 'a\ b/.r'
check_eq "in the root itself" .rowfs/ "$(cd "a b/m n" && completed ls .r)"
is '' ls './.f'
# shellcheck disable=SC2016 # awk's
check_eq "the completion has the views of the page, and no other" \
	"$(sed -n 's/^[.]It Pa \([.][a-z]*\).* Ta .*/\1/p' "$LIB_DIR/../../man/rowfs.5" | sort)" \
	"$(completed cd "$t/." | tr '|' '\n' | grep -v families | sed 's,.*/\([.][a-z]*\)/$,\1,' | sort)"

# ---- zsh -----------------------------------------------------------------------------------------

# An interactive zsh completes each line of its arguments, and prints the matches, sorted, with | between them,
# a tab, and the line that it made. In messages it has no match.
cat >zcompleted.py <<'PYTHON'
import os, pty, sys
setup = r"""
fpath=('%s' $fpath); autoload -Uz compinit; compinit -u -D; zstyle ':completion:*:descriptions' format '<%%d>'
unsetopt prompt_cr prompt_sp beep; setopt no_list_ambiguous; LISTMAX=0; PS1= PS2= RPS1=
compadd() {
	if ((${@[(I)-[OAD]]})); then builtin compadd "$@"; return; fi
	local -a hits; builtin compadd -O hits "$@"; found+=("${hits[@]}")
	[[ ${@[(I)-x]} -eq 0 ]] || found+=("${@[$@[(I)-x]+1]}")
	builtin compadd "$@"
}
show() {
	local -aU sorted=("${(@o)found}")
	print -r -- "${(j:|:)sorted}"$'\t'"$BUFFER" >>matches; found=(); zle kill-buffer; zle -M 'sho''wn'
}
zle -N show; bindkey '^I' complete-word; bindkey '^Xs' show; print rea''dy
""" % sys.argv[1]
with open("setup.zsh", "w") as file:
    file.write(setup)
open("matches", "w").close()
pid, fd = pty.fork()
if pid == 0:
    os.environ.update(TERM="vt100", LINES="100", COLUMNS="200", ZDOTDIR="/nonexistent")
    os.execvp("zsh", ["zsh", "-f", "-i"])
def until(text):
    seen = b""
    while text not in seen:
        seen += os.read(fd, 4096)
os.write(fd, b". ./setup.zsh\n")
until(b"ready")
for line in sys.argv[2:]:
    os.write(fd, line.encode() + b"\t\x18s")
    until(b"shown")
os.write(fd, b"exit\n")
os.waitpid(pid, 0)
print(open("matches").read(), end="")
PYTHON
zsh=() want=()

# zsh_is MATCHES LINE WORDS: zsh completes WORDS to these matches, and makes of them LINE.
zsh_is() {
	want+=("$1	$2")
	zsh+=("$3")
}
T='a\ b/m\ n'
for program in rowfs mkfs.rowfs fsck.rowfs rowfs-dump rowfs-load rowfs-path rowfs-advise; do
	matches=$(words_of "$program")
	[ "$program" != rowfs-path ] || matches+='|<table>' # whose first operand may begin so
	zsh_is "$matches" "$program --" "$program --"
done
zsh_is 'fleet.db|fleet.old' 'rowfs fleet.' 'rowfs fl'
zsh_is 'mnt' 'rowfs fleet.db mnt/' 'rowfs fleet.db m'
zsh_is 'umask' 'rowfs -o umask=' 'rowfs -o um'
zsh_is 'strict' 'rowfs -o ro,strict,' 'rowfs -o ro,str'
zsh_is 'schema.json' 'mkfs.rowfs --schema schema.json ' 'mkfs.rowfs --schema sch'
zsh_is 'visits' "rowfs-dump $T visits " "rowfs-dump $T vi"
zsh_is 'rows.json' 'rowfs-load --tsv t --key id --family f fleet.db rows.json ' 'rowfs-load --tsv t --key id --family f fleet.db r'
zsh_is 'fleet.db' 'rowfs-path --store fleet.db/' 'rowfs-path --store fleet.d'
zsh_is '.rowfs/|.versions/' "ls $T/." "ls $T/."
zsh_is '.versions/' "cd $T/.versions/" "cd $T/.v"
zsh_is "$(sed -n 's/^[.]It Pa \([.][a-z]*\).* Ta .*/\1\//p' "$LIB_DIR/../../man/rowfs.5" | sed '$a .families/' | LC_ALL=C sort | paste -sd '|')" \
	"cd $T/vehicles/." "cd $T/vehicles/."
zsh_is '.key/|.keys' "cat $T/vehicles/.key" "cat $T/vehicles/.k"
zsh_is '.reverse/|.row|.rows' "grep x $T/vehicles/STC/.r" "grep x $T/vehicles/STC/.r"
zsh_is '.last/' "ls $T/vehicles/.raw/.last/" "ls $T/vehicles/.raw/.l"
zsh_is '<TIME>' "ls $T/vehicles/.since/" "ls $T/vehicles/.since/"
zsh_is 'f' "ls $T/vehicles/.has/f/" "ls $T/vehicles/.has/"
zsh_is 'STC' "cat $T/vehicles/.first/9/STC/" "cat $T/vehicles/.first/9/S"
zsh_is 'errors' "cat $T/.rowfs/errors" "cat $T/.rowfs/err"
zsh_is 'explain' "cat $T/vehicles/.families/f/explain/" "cat $T/vehicles/.families/f/ex"
zsh_is '<never maxversions=N maxage=Nd>' "cat $T/vehicles/.families/f/explain/" "cat $T/vehicles/.families/f/explain/"
zsh_is '.reverse/|.rows' "cat $T/vehicles/.newest/1/.r" "cat $T/vehicles/.newest/1/.r"
zsh_is 'STC' "find $T/vehicles/STC/" "find $T/vehicles/S"
zsh_is 'fleet.db|fleet.old' 'ls fleet.' 'ls fl'
mapfile -t got < <("$python" -S zcompleted.py "$(dirname "$COMPLETION")" "${zsh[@]}")
for i in "${!zsh[@]}"; do
	check_eq "zsh: ${zsh[i]}" "${want[i]}" "${got[i]-}"
done

is '' rowfs-dump 'a\ b/m\ n/vehicles' ''
rm -r "a b/m n/vehicles/STC" zcompleted.py setup.zsh matches
unmount_store "a b/m n"

# ---- Names that bash would run -------------------------------------------------------------------

# shellcheck disable=SC2016 # they are not to be expanded here, either
evil=('$(touch ran)' '`touch ran`' 'vans;touch ran' '$HOME' 'v"' "v'" $'v\ntouch ran' 'v ans' '-v')
mkdir -p fake/.rowfs
: >fake/.rowfs/version
for name in "${evil[@]}" vans; do
	: >"fake/$name"
done
is 'vans' rowfs-dump fake ''
is 'vans' rowfs-dump fake v
# shellcheck disable=SC2016
is '' rowfs-dump fake '$('
mount_store s mnt -o table=vehicles
is 'mnt/.raw/|mnt/.reverse/|mnt/.rowfs/|mnt/.rows' ls mnt/.r
for name in "${evil[@]}" vans; do
	mkdir -p "mnt/${name//$'\n'/%0A}/f" || not_ok "a row for $(lib_quote "$name")" "cannot be made"
done
is 'vans' rowfs-dump mnt ''
is 'vans' rowfs-dump mnt v
unmount_store mnt
check_eq "none of them was run" "" "$(find . -name ran)"

# ---- As bash itself does it --------------------------------------------------------------------

# typed LINE: the line that an interactive bash makes of LINE and the key Tab.
typed() {
	"$python" -S - "$1" <<'PYTHON'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.environ.update(PS1="$ ", TERM="dumb", INPUTRC="/dev/null", HISTFILE="")
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
def until(what):
    seen = b""
    while what not in seen:
        seen += os.read(fd, 4096)
    return seen
os.write(fd, b". '%s'; rowfs() { printf '<%%s>' \"$@\"; echo '[en''d]'; }; stty -echo; PS1=; echo rea''dy\n" % os.environ["COMPLETION"].encode())
until(b"ready")
os.write(fd, sys.argv[1].encode() + b"\t\n")
line = until(b"[end]").decode().splitlines()
print([part for part in line if part.endswith("[end]")][-1][:-5])
os.write(fd, b"exit\n")
os.waitpid(pid, 0)
PYTHON
}
check_eq "a name that needs a backslash" "<a b/>" "$(typed 'rowfs a')"
check_eq "an option within a list" "<-o><umask=022,strict>" "$(typed 'rowfs -o umask=022,str')"
check_eq "an option that takes a value has no blank behind it" "<-o><ro,table=>" "$(typed 'rowfs -o ro,tab')"
check_eq "a directory has a slash behind it" "<fleet.db><mnt/>" "$(typed 'rowfs fleet.db mn')"

finish
