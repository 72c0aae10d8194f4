#!/bin/bash
# SPDX-License-Identifier: MIT
#
# rowfs-path: keys as paths and stored keys, and paths as keys. keys.py has the expected results for
# random keys of tables with key designs: ROWFS_KEYS of each (environment; default: 1,000).

. "$(dirname "$0")/lib.sh"

path=$BUILD/rowfs-path
cd "$TMP" || exit 1

# ---- Usage -----------------------------------------------------------------------------------

fail_with "an unknown option" 2 '^rowfs-path: ' "$path" --wrong a b
fail_with "no table" 2 '^rowfs-path: TABLE is missing' "$path"
fail_with "no key" 2 '^rowfs-path: KEY is missing' "$path" t
fail_with "no path" 2 '^rowfs-path: PATH is missing' "$path" --key
fail_with "a schema and a store" 2 '^rowfs-path: --schema or --store, not both' \
	"$path" --schema a --store b t k
fail_with "a table's name that is none" 1 '^rowfs-path: a/b: not a table' "$path" a/b c
fail_with "an empty key" 1 '^rowfs-path: : a row key has 1 to 4096 bytes$' "$path" t a ''
check_eq "where one key is none, nothing is printed" "" "$("$path" t a '' 2>/dev/null)"
fail_with "an escape that is none" 1 '^rowfs-path: a%0a: a % has two upper-case hex digits behind it$' \
	"$path" t a%0a
fail_with "a full disk" 1 '^rowfs-path: standard output: No space' bash -c "'$path' t a >/dev/full"
fail_with "a schema that is missing" 1 '^rowfs-path: none: No such file' "$path" --schema none t a
fail_with "a store that is missing" 1 '^rowfs-path: none: No such file' "$path" --store none t a
echo '{"tables":{"t":{"x":1}}}' >wrong
fail_with "a schema that is none" 1 '^rowfs-path: wrong:1: tables.t.x: ' "$path" --schema wrong t a

# ---- Plain tables ----------------------------------------------------------------------------

check_eq "paths" 't/a
t/a/b
t/a/%/b
t/%/a
t/a/%
t/%2E/%2E.
t/a%2Fb
t/%25
t/%00%0A
t/%FF
t/é
t/--help' "$("$path" t a 'a#b' 'a##b' '#a' 'a#' '.#..' a/b %25 "%00$(printf '\n.')" %FF é --help |
	sed 's/%0A\.$/%0A/')"
long=$(printf '%300s' '' | tr ' ' a)
check_eq "long names are cut into chunks" "t/${long:0:230}%/${long:230}/b" "$("$path" t "$long#b")"
check_eq "paths as keys" $'a#b\na##b\n#a\n.#..\na/b\n%25%00%FFé\na' "$("$path" --key t/a/b t/a/%/b t/%/a \
	t/%2E/%2E. t/a%2Fb t/%25%00%FFé t/a/)"
check_eq "and as stored keys" $'a##b\n/%00' "$("$path" --key --stored t/a/%/b t/%2F%00)"
check_eq "the chunks of long names are joined" "$long#b" "$("$path" --key "t/${long:0:230}%/${long:230}/b")"

# refused NAME MESSAGE PATH: one whose words these are.
refused() {
	fail_with "$1" 1 "^rowfs-path: $2" "$path" --key "$3"
}
refused "a table alone" 't: not TABLE/PATH' t
refused "no segment" 't/: a row key has 1 to' t/
refused "an empty name" "t/a//b: : not the name of a segment" t/a//b
refused "a control file" "t/a/.row: .row: not the name of a segment" t/a/.row
refused "a byte that needs no escape" "t/%61: %61: not the name of a segment" t/%61
refused "an escape that is none" "t/%6: %6: not the name of a segment" t/%6
refused "%= in a plain table" "t/%=a: %=a: not the name of a segment" t/%=a
refused "a long name in one" "t/$long: $long: no name has more than 255 bytes" "t/$long"
refused "a shorter one" "t/${long:0:240}: this row's path is t/${long:0:230}%/${long:0:10}\$" "t/${long:0:240}"
refused "one that is cut elsewhere" "t/${long:0:228}%/aaa: aaa: not the name" "t/${long:0:228}%/aaa"
fail_with "one that is cut within a character" 1 ": this row's path is t/${long:0:229}%/é\$" \
	"$path" --key "t/${long:0:229}$(printf '\303')%/$(printf '\251')"
refused "one that has no end" ".*: it ends within the chunks of a long name" "t/${long:0:230}%"
refused "a key that is too long" ".*: a row key has 1 to 4096 bytes" "t$(printf "/${long:0:200}%.0s" {1..21})"

# ---- Designs ---------------------------------------------------------------------------------

cat >schema.json <<'JSON'
{"tables": {
  "web": {"families": {"loc": {}}, "keys": {
    "segments": ["tenant", {"name": "host", "codec": "reverse-domain"}, {"name": "at", "codec": "reverse-time"}],
    "salt": {"buckets": 16, "segments": 2}}},
  "ids": {"delimiter": "|", "keys": {"segments": [{"name": "id", "codec": "reverse"},
    {"name": "n", "codec": "pad", "width": 4}, {"name": "s", "codec": "time", "unit": "s"}]}},
  "plain": {"delimiter": ":", "families": {"loc": {}}}}}
JSON
make_store s "$(cat schema.json)"

# converts SHOWN PATH STORED: a table's key in its three forms, by the schema and by the store.
converts() {
	local table=${2%%/*} from
	for from in "--schema schema.json" "--store s"; do
		# shellcheck disable=SC2086 # an option and its argument
		check_eq "$1 ($from)" "$2 $3 $1" "$("$path" $from "$table" "$1") $("$path" $from --stored "$table" "$1") $(
			"$path" $from --key "$2")"
	done
}
# 9221576655654775807 is INT64_MAX - 1795381200000000; the salts are those of Design.stored in keys.py.
converts 'acme#maps.google.com#2026-11-22T21:00:00.000000Z' \
	web/acme/maps.google.com/2026-11-22T21:00:00.000000Z 02#acme#com.google.maps#9221576655654775807
converts '%25#%=#%=abc' web/%25/%=%/%=abc '0e#%25##abc'
converts 'a#loc#%=loc#loc' web/a/%6C%6F%63/%=loc/%6C%6F%63 '04#a#loc#loc#loc'
converts '321|7|2001-09-09T01:46:40Z|x' 'ids/321/7/2001-09-09T01:46:40Z/x' '123|0007|0000000001000000000|x'
converts 'a:b:loc' plain/a/b/%6C%6F%63 a:b:loc
check_eq "KEY may have any form of a time, and leading zeros" "$(printf '%s\n' \
	web/a/b/2020-01-01T00:00:00.000000Z web/a/b/2019-12-31T23:00:00.500000Z web/a/b/1970-01-01T00:00:00.000017Z)
ids/a/7" "$("$path" --store s web 'a#b#2020-01-01' 'a#b#2020-01-01T00:00:00.5+01:00' 'a#b#17'
	"$path" --store s ids 'a|007')"
check_eq "a number that may be of another unit is asked about" \
	"rowfs-path: a#b#17: at: 17 is microseconds, 1970-01-01T00:00:00.000017Z: are seconds (add 000000) or milliseconds (add 000) meant?" \
	"$("$path" --store s web 'a#b#17' 'a#b#1700000000000000' 2>&1 >/dev/null)"
check_eq "and any bytes behind %=" ids/321/7 "$("$path" --store s ids '%=123|%=0007')"
now=$(date +%s)
ago=$("$path" --store s web 'a#b#1h')
ago=$(date -d "${ago##*/}" +%s)
check "a span before now" test $((ago + 3600)) -ge "$now" -a $((ago + 3600)) -le "$(date +%s)"

# refuses NAME MESSAGE ARGUMENT…: by these words.
refuses() {
	local name=$1 words=$2
	shift 2
	fail_with "$name" 1 "^rowfs-path: $words" "$path" --store s "$@"
}
refuses "a table that is missing" 'table none: there is none of that name$' none a
refuses "a shown form that is none" 'a|x: n: under pad it is a number of up to 4 digits' ids 'a|x'
refuses "no time" 'a|1|yesterday: s: under time it is a time like' ids 'a|1|yesterday'
refuses "an empty segment" 'a||: n: ' ids 'a||'
refuses "a number that is spelled otherwise" "ids/a/07: 07: n: its canonical form is 7" --key ids/a/07
refuses "a time that is" "web/a/b/2020-01-01: 2020-01-01: at: its canonical form is 2020-01-01T00:00:00.000000Z" \
	--key web/a/b/2020-01-01
refuses "%= before bytes that have a shown form" "ids/%=123: %=123: its name is 321" --key ids/%=123
refuses "a family" "web/a/loc/lat: loc: a family of the table" --key web/a/loc/lat
refuses "a long name without %=" ".*: a name of more than 230 bytes must be written as %= and the stored bytes" \
	--key "ids/${long:0:231}"
most=$(printf '%4093s' '' | tr ' ' a)
refuses "a key that is too long with its salt" ".*: a row key has 1 to 4093 bytes behind its salt" web "${most}a"
check_eq "the longest" 4097 "$("$path" --store s --stored web "$most" | wc -c)"
check_eq "without a salt" 4097 "$("$path" --store s --stored plain "${most}aaa" | wc -c)"

# Random keys, full of bytes that have no shown form, and of times at the limits.
mkdir random
"$python" -S "$LIB_DIR/keys.py" random 21 "${ROWFS_KEYS:-1000}" random || die "no model"
for table in plain web times ids; do
	for form in path stored; do
		option=--$form
		[ $form = stored ] || option=
		# shellcheck disable=SC2086 # none, or an option
		check "random keys of $table: each $form" bash -c "xargs -d '\n' '$path' --schema random/schema.json $option \
			$table <random/$table.shown | cmp - random/$table.$form"
	done
	check "and their paths back" bash -c "xargs -d '\n' '$path' --schema random/schema.json --key <random/$table.path |
		cmp - random/$table.shown"
	[ $table = plain ] || check "some have no shown form" grep -q %= random/$table.shown
done

# ---- The tree agrees -------------------------------------------------------------------------

row() {
	printf '{"key":"%s","families":{"loc":{"q":["v"]}}}\n' "$1"
}
plain=('a::b' '.x%0A:%FF' "$long:..")
web=('acme#maps.google.com#2026-11-22T21:00:00.000000Z' '%25#%=#%=abc' "a#$long#%=loc#loc")
{
	echo '{"table":"plain"}'
	for key in "${plain[@]}"; do row "$key"; done
	echo '{"table":"web"}'
	for key in "${web[@]}"; do row "$key"; done
} >rows
"$BUILD/rowfs-load" s rows 2>/dev/null || die "no rows"
mkdir mnt
mount_store s mnt
for table in plain web; do
	declare -n keys=$table
	for key in "${keys[@]}"; do
		check_eq "there is a row ${key:0:20}" v "$(cat "mnt/$("$path" --store mnt $table "$key")/loc/q")"
	done
	check_eq "find has the paths" "$("$path" --store mnt $table "${keys[@]}" | sort)" \
		"$(cd mnt && find $table -name q -printf '%h\n' | sed 's,/loc$,,' | sort)"
	check_eq ".keys has the keys" "$(printf '%s\n' "${keys[@]}" | sort)" "$(sort mnt/$table/.keys)"
done

finish
