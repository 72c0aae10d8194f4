# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Completion of rowfs and the programs beside it, for bash. It needs nothing but bash itself; where
# bash-completion is installed, that loads it when one of them is first completed.

# The operands that stand before the word to be completed; $1: the letters and words of options
# that take a value, which is no operand.
_rowfs_operands() {
	local i word
	_rowfs_before=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [[ " $1 " == *" $word "* ]]; then
			i=$((i + 1))
			while [[ ${COMP_WORDS[i + 1]-} == = ]]; do # bash cuts words at =
				i=$((i + 2))
			done
		elif [[ $word != -?* ]]; then
			_rowfs_before+=("$word")
		fi
	done
}

# Answers with the lines of its input, as names of files.
_rowfs_names() {
	mapfile -t COMPREPLY
	compopt -o filenames 2>/dev/null
}

# Those of the words that begin with $2. compgen expands the words as a command line: they are this
# file's, never names out of a store.
_rowfs_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

# The tables of the mount whose root $1 is. What has no table's name is left out: whatever a store
# holds, nothing of it is a word that bash would take for more than a word.
_rowfs_tables() {
	local root=$1 name
	root=${root/#\~\//$HOME/}
	root=${root//\\/}
	[ -e "$root/.rowfs/version" ] || return 0
	for name in "$root"/*; do
		name=${name##*/}
		if [[ $name == "$2"* && $name =~ ^[_a-zA-Z0-9][-_.a-zA-Z0-9]*$ ]]; then
			COMPREPLY+=("$name")
		fi
	done
}

# What stands behind -o: the last of a list with commas.
_rowfs_list() {
	local done="" word=$1
	if [[ $word == *,* ]]; then
		done=${word%,*},
		word=${word##*,}
	fi
	mapfile -t COMPREPLY < <(compgen -P "$done" -W "ro rw check table= uid= gid= umask= strict autodir sync cache= \
gcinterval= gcgrace= keyvis=off allow_other allow_root auto_unmount default_permissions max_read= nodev nosuid noexec \
noatime" -- "$word")
	if [[ ${#COMPREPLY[@]} == 1 ]]; then
		compopt -o nospace 2>/dev/null
	fi
}

_rowfs() {
	local word=${COMP_WORDS[COMP_CWORD]} at=$COMP_CWORD
	COMPREPLY=()
	while ((at > 2)); do # to the beginning of what bash cut at =
		if [[ ${COMP_WORDS[at]} == = ]]; then
			at=$((at - 1))
		elif [[ ${COMP_WORDS[at - 1]} == = ]]; then
			at=$((at - 2))
		else
			break
		fi
	done
	if [[ ${COMP_WORDS[at - 1]} == -o ]]; then
		if ((at == COMP_CWORD)) || [[ $word == *,* ]]; then
			_rowfs_list "$word"
		fi
	elif [[ $word == -* ]]; then
		_rowfs_words "-f -d -o -h -V --status --help --version" "$word"
	else
		_rowfs_operands -o
		((${#_rowfs_before[@]} > 1)) || _rowfs_names < <(compgen -d -- "$word")
	fi
}

_rowfs_mkfs() {
	local word=${COMP_WORDS[COMP_CWORD]}
	COMPREPLY=()
	if [[ ${COMP_WORDS[COMP_CWORD - 1]} == --schema ]]; then
		_rowfs_names < <(compgen -f -- "$word")
	elif [[ $word == -* ]]; then
		_rowfs_words "--schema --force --foreign -h -V --help --version" "$word"
	else
		_rowfs_operands --schema
		((${#_rowfs_before[@]} > 0)) || _rowfs_names < <(compgen -d -- "$word")
	fi
}

_rowfs_fsck() {
	local word=${COMP_WORDS[COMP_CWORD]}
	COMPREPLY=()
	if [[ $word == -* ]]; then
		_rowfs_words "-n -y --foreign -h -V --help --version" "$word"
	else
		_rowfs_operands ""
		((${#_rowfs_before[@]} > 0)) || _rowfs_names < <(compgen -d -- "$word")
	fi
}

_rowfs_dump() {
	local word=${COMP_WORDS[COMP_CWORD]}
	COMPREPLY=()
	if [[ $word == -* ]]; then
		_rowfs_words "--view --csv --family --timestamps --header --foreign -h -V --help --version" "$word"
	elif [[ ! ${COMP_WORDS[COMP_CWORD - 1]} =~ ^--(family|view)$ ]]; then
		_rowfs_operands "--family --view"
		case ${#_rowfs_before[@]} in
		0) _rowfs_names < <(compgen -d -- "$word") ;;
		1) _rowfs_tables "${_rowfs_before[0]}" "$word" ;;
		esac
	fi
}

_rowfs_load() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
	COMPREPLY=()
	if [[ $word == -* ]]; then
		_rowfs_words "--csv --tsv --delimiter --key --family --null --escape --create --timestamps --no-schema --skip-bad --quiet --foreign -h -V --help --version" "$word"
	elif [[ $before == --escape ]]; then
		_rowfs_words backslash "$word"
	elif [[ ! $before =~ ^--(csv|tsv|delimiter|key|family|null)$ ]]; then
		_rowfs_operands "--csv --tsv --delimiter --key --family --null --escape --skip-bad"
		case $before,${#_rowfs_before[@]} in
		--skip-bad,*) _rowfs_names < <(compgen -f -- "$word") ;;
		*,0) _rowfs_names < <(compgen -d -- "$word") ;;
		*,1) _rowfs_names < <(compgen -f -- "$word") ;;
		esac
	fi
}

_rowfs_advise() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
	COMPREPLY=()
	if [[ $word == -* ]]; then
		_rowfs_words "--json --whole --schema --table --csv --tsv --delimiter --key --family --null --escape --timestamps --foreign -h -V --help --version" "$word"
	elif [[ $before == --escape ]]; then
		_rowfs_words backslash "$word"
	elif [[ ! $before =~ ^--(table|csv|tsv|delimiter|key|family|null)$ ]]; then
		_rowfs_operands "--table --csv --tsv --delimiter --key --family --null --escape --schema"
		if ((${#_rowfs_before[@]} == 0)) || [[ $before == --schema ]]; then
			_rowfs_names < <(compgen -f -- "$word")
		fi
	fi
}

_rowfs_path() {
	local word=${COMP_WORDS[COMP_CWORD]}
	COMPREPLY=()
	case ${COMP_WORDS[COMP_CWORD - 1]} in
	--schema) _rowfs_names < <(compgen -f -- "$word") ;;
	--store) _rowfs_names < <(compgen -d -- "$word") ;;
	*) [[ $word != -* ]] || _rowfs_words "--schema --store --stored --key --foreign -h -V --help --version" "$word" ;;
	esac
}

# The names of the mount that holds the directory $1, from its help: views as .from/KEY or .reverse/, control files as
# .rows.
_rowfs_help() {
	local root line section="" words word
	_rowfs_forms=()
	root=$(df --output=target -- "$1" 2>/dev/null)
	root=${root##*$'\n'}/.rowfs/help
	[ -r "$root" ] || return 0
	while IFS= read -r line; do
		[[ $line == " "* ]] || section=$line
		read -ra words <<<"$line"
		case $section in
		Views*)
			for word in "${words[@]}"; do
				[[ $word == */* ]] || word=$word/
				[[ ! $word =~ ^[.][a-z]+/[^/]*$ ]] || _rowfs_forms+=("$word")
			done
			;;
		"In a "*) [[ ! ${words[0]} =~ ^[.][a-z]+/?$ ]] || _rowfs_forms+=("${words[0]}") ;;
		esac
	done <"$root"
}

_rowfs_former=() # words: a command, and the function that completed it before

# Completes T/. to the views and control files, a mount's root and a dot to .rowfs/ and .versions/, and shows the form
# of an argument behind T/.VIEW/ and of a policy behind T/.families/F/explain/, which is not listed. Any other word is
# completed as before. Only a table of a mount and directories in one have .splits; a name that takes no argument is
# looked up, since it may stand elsewhere only; .raw as .design, as a view in the wrong place is an error.
_rowfs_views() {
	local word=${COMP_WORDS[COMP_CWORD]} directory="" at name view form i
	COMPREPLY=()
	[[ $word != */* ]] || directory=${word%/*}/
	name=${word##*/}
	at=${directory/#\~\//$HOME/}
	at=${at//\\/}
	at=${at:-./}
	if [[ $name == .* ]] && [ -e "$at.rowfs/version" ]; then # a mount's root
		for form in .rowfs/ .versions/; do
			[[ $form != "$name"* ]] || COMPREPLY+=("${word%"$name"}$form")
		done
		compopt -o nospace 2>/dev/null
	fi
	if [[ $name == .* ]] && [ -e "$at.splits" ]; then
		_rowfs_help "$at"
		for form in "${_rowfs_forms[@]}"; do
			[[ $form == "$name"* ]] || continue
			[[ $form == */?* || -e $at${form/#.raw*/.design} ]] || continue
			[[ $form != */* ]] || form=${form%%/*}/
			[[ $form != */ && $1 == cd ]] || COMPREPLY+=("$directory$form")
		done
		compopt -o nospace 2>/dev/null
	elif [[ -z $name && $directory =~ (^|/)[.]([a-z]+)/$ && ${BASH_REMATCH[2]} != @(has|family) ]] &&
		[ -e "$at../.splits" ]; then
		view=${BASH_REMATCH[2]}
		_rowfs_help "$at.."
		for form in "${_rowfs_forms[@]}"; do
			[[ $form != ".$view"/?* ]] || COMPREPLY+=("${form#*/}")
		done
		# A second answer without a common beginning: the form is shown, not taken.
		[[ ${#COMPREPLY[@]} != 1 ]] || COMPREPLY+=(" ")
	elif [[ -n $name && explain == "$name"* && $directory =~ [.]families/[^/]+/$ ]] && [ -e "${at}gc" ]; then
		COMPREPLY=("${directory}explain/")
		compopt -o nospace 2>/dev/null
	elif [[ -z $name && $directory =~ [.]families/[^/]+/explain/$ ]] && [ -e "$at../gc" ]; then
		COMPREPLY=(never maxversions=N maxage=Nd)
	elif ((${#COMPREPLY[@]} == 0)); then
		for ((i = 0; i < ${#_rowfs_former[@]}; i += 2)); do
			[[ ${_rowfs_former[i]} != "$1" ]] || "${_rowfs_former[i + 1]}" "$@"
		done
	fi
}

_rowfs_take() {
	local command former
	for command; do
		former=$(complete -p "$command" 2>/dev/null | sed -n 's/.*-F \([^ ]*\) .*/\1/p')
		[[ -z $former || $former == _rowfs_views ]] || _rowfs_former+=("$command" "$former")
	done
}

_rowfs_take cd ls cat grep find diff
complete -o bashdefault -o dirnames -F _rowfs_views cd
complete -o bashdefault -o default -F _rowfs_views ls cat grep find diff
complete -F _rowfs rowfs
complete -F _rowfs_mkfs mkfs.rowfs
complete -F _rowfs_fsck fsck.rowfs
complete -F _rowfs_dump rowfs-dump
complete -F _rowfs_load rowfs-load
complete -F _rowfs_path rowfs-path
complete -F _rowfs_advise rowfs-advise
