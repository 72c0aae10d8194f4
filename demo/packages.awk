# SPDX-License-Identifier: MIT
#
# Turns Debian's package descriptions (apt-cache dumpavail, dpkg-query --status) into lines for
# rowfs-load: table packages, keys section#package#version, families deps, desc and meta.
#
#   apt-cache dumpavail | LC_ALL=C awk -f packages.awk | rowfs-load packages.db
#
# Works on bytes, hence LC_ALL=C. Bytes that are not UTF-8 are taken as Latin-1, of which old
# descriptions were made. For any POSIX awk.

BEGIN {
	for (i = 1; i < 256; i++)
		code[sprintf("%c", i)] = i
	split("breaks built-using conflicts depends enhances pre-depends provides recommends " \
	      "replaces suggests", names, " ")
	for (i in names)
		is_dependency[names[i]] = 1
	# A character of more than one byte: no overlong form, no surrogate, none past U+10FFFF.
	character = "[\302-\337][\200-\277]|\340[\240-\277][\200-\277]" \
		"|[\341-\354\356\357][\200-\277][\200-\277]|\355[\200-\237][\200-\277]" \
		"|\360[\220-\277][\200-\277][\200-\277]" \
		"|[\361-\363][\200-\277][\200-\277][\200-\277]|\364[\200-\217][\200-\277][\200-\277]"
	print "{\"table\":\"packages\"}"
}

# What is left of the text byte by byte: control bytes and what is not UTF-8 become \u00XX.
function spell_bytes(text,    out, byte) {
	out = ""
	while (text != "") {
		if (match(text, "^(" character ")")) {
			out = out substr(text, 1, RLENGTH)
			text = substr(text, RLENGTH + 1)
			continue
		}
		byte = substr(text, 1, 1)
		text = substr(text, 2)
		if (code[byte] < 32 || code[byte] >= 127)
			byte = sprintf("\\u%04x", code[byte])
		out = out byte
	}
	return out
}

# A JSON string.
function json(text,    rest) {
	gsub(/["\\]/, "\\\\&", text)
	gsub(/\n/, "\\n", text)
	gsub(/\t/, "\\t", text)
	rest = text
	if (rest ~ /[\200-\377]/)
		gsub(character, "", rest)
	if (rest ~ /[\001-\037\177-\377]/)
		text = spell_bytes(text)
	return "\"" text "\""
}

# A row key or a column's name: there a % starts an escape.
function json_name(text) {
	gsub(/%/, "%25", text)
	return json(text)
}

function put(family, column, value) {
	cells[family] = cells[family] (cells[family] == "" ? "" : ",") \
		json_name(column) ":[" json(value) "]"
}

# The first line of a description is its summary.
function put_description(value,    end) {
	end = index(value, "\n")
	put("desc", "summary", end ? substr(value, 1, end - 1) : value)
	if (end)
		put("desc", "description", substr(value, end + 1) "\n")
}

function put_row(    i, name, key, out, family) {
	if (("package" in field) && ("version" in field)) {
		split("", cells)
		for (i = 1; i <= count; i++) {
			name = order[i]
			if (name == "description")
				put_description(field[name])
			else if (name in is_dependency)
				put("deps", name, field[name])
			else if (name != "package" && name != "section")
				put("meta", name, field[name])
		}
		key = (("section" in field) ? field["section"] : "unknown") "#" \
			field["package"] "#" field["version"]
		out = ""
		for (i = 1; i <= 3; i++) {
			family = substr("depsdescmeta", i * 4 - 3, 4)
			if (cells[family] != "")
				out = out (out == "" ? "" : ",") \
					"\"" family "\":{" cells[family] "}"
		}
		print "{\"key\":" json_name(key) ",\"families\":{" out "}}"
	}
	split("", field)
	count = 0
}

/^[ \t]/ {
	# A line that goes on; a lone dot stands for an empty one.
	if (count > 0)
		field[last] = field[last] (field[last] == "" ? "" : "\n") \
			($0 == " ." ? "" : substr($0, 2))
	next
}

/:/ {
	colon = index($0, ":")
	last = tolower(substr($0, 1, colon - 1))
	if (!(last in field))
		order[++count] = last
	field[last] = substr($0, colon + 1)
	sub(/^[ \t]+/, "", field[last])
	next
}

/^\r?$/ {
	put_row()
}

END {
	put_row()
}
