#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Bash completion on the command lines of the programs: a line is cut into words as bash cuts them,
# its function is called, and its answers are compared.

. "$(dirname "$0")/lib.sh"
# shellcheck source=contrib/rowfs.bash
. "${COMPLETION:-$LIB_DIR/../../contrib/rowfs.bash}"

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

for program in rowfs mkfs.rowfs fsck.rowfs rowfs-dump rowfs-load rowfs-path rowfs-advise; do
	is "--help" "$program" --h
	is "--version" "$program" --ve
	# Each option that is completed is one that the program's help has.
	for option in $(completed "$program" - | tr '|' ' '); do
		check "$program has $option" grep -qE -- "(^|[^a-z])$option([^a-z]|\$)" <("$BUILD/$program" --help)
	done
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
	is "$t/.family/|$t/.first/|$t/.from/" "$command" "$t/.f"
done
is "$t/.key/|$t/.keys" cat "$t/.k"
is "$t/.key/" cd "$t/.k"
is "$t/STC/.where/" ls "$t/STC/.w"
is "$t/.reverse/.last/" ls "$t/.reverse/.l"
is "$t/.raw/|$t/.reverse/|$t/.rows" cat "$t/.r"
is "$t/.design" cat "$t/.d"
is '' cd "$t/.d"
is "$t/STC/.reverse/|$t/STC/.rows" cat "$t/STC/.r" # .raw stands in a table only
is "$t/.raw/.reverse/|$t/.raw/.rows" cat "$t/.raw/.r"
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
is '' ls './.f'
# shellcheck disable=SC2016 # awk's
check_eq "the completion has the views of the page, and no other" \
	"$(sed -n 's/^[.]It Pa \([.][a-z]*\).* Ta .*/\1/p' "$LIB_DIR/../../man/rowfs.5" | sort)" \
	"$(completed cd "$t/." | tr '|' '\n' | sed 's,.*/\([.][a-z]*\)/$,\1,' | sort)"
is '' rowfs-dump 'a\ b/m\ n/vehicles' ''
rm -r "a b/m n/vehicles/STC"
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
export COMPLETION=${COMPLETION:-$LIB_DIR/../../contrib/rowfs.bash}
check_eq "a name that needs a backslash" "<a b/>" "$(typed 'rowfs a')"
check_eq "an option within a list" "<-o><umask=022,strict>" "$(typed 'rowfs -o umask=022,str')"
check_eq "an option that takes a value has no blank behind it" "<-o><ro,table=>" "$(typed 'rowfs -o ro,tab')"
check_eq "a directory has a slash behind it" "<fleet.db><mnt/>" "$(typed 'rowfs fleet.db mn')"

finish
