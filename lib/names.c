/* SPDX-License-Identifier: MIT */
/*
 * Names: the lossless spelling of any bytes as file names.
 *
 * A name is a sequence of units: a character of UTF-8 as it is, or one byte as %XX. One function,
 * names_unit, decides how the bytes at a place are written. Encoding is a loop over it; decoding
 * turns units back into bytes and then asks, unit by unit, whether names_unit would have written
 * them so. So there is exactly one spelling of any bytes, and no second place that knows it.
 *
 *   name         a…(229 bytes)…a é z        é has two bytes and does not fit into byte 230
 *   components   a…(229 bytes)…a%           a directory: the bare '%' says that more follows
 *                é z                        in it: the last chunk
 *
 * A bare '%' is nowhere else in a name, except that it alone is the name of no bytes.
 *
 * A last chunk can be "." or "..", which no directory can hold: it is written %2E, %2E%2E, as the
 * qualifiers of these names are. No other name ends in a chunk of that spelling, since a '.' is
 * escaped nowhere but in the first chunk.
 */
#include "lib/names.h"

#include "lib/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NAMES_UNIT_MAX	 4u /* bytes: the longest character; an escape has 3 */
#define NAMES_FAMILY_MAX 64u

/* Where a unit is in its name, as far as that matters for its spelling. */
enum names_place { NAMES_FIRST = 1, NAMES_LAST = 2 };

/* Is this ASCII byte written as an escape at this place? */
static bool names_escaped(enum names_kind kind, unsigned char byte, int place)
{
	if (byte < 0x20 || byte == 0x7F || byte == '/' || byte == '%')
		return true;
	if (byte == '.')
		return kind != NAMES_QUALIFIER && (place & NAMES_FIRST);
	if (byte == '@')
		return kind == NAMES_QUALIFIER && (place & NAMES_LAST);
	return false;
}

/*
 * Writes the unit for the start of left bytes (more than NAMES_UNIT_MAX need not be given), its
 * length to *unit_len. whole: every byte is an escape. place: NAMES_LAST is for the last byte.
 * Returns how many bytes the unit stands for.
 */
static size_t names_unit(enum names_kind kind, bool whole, const unsigned char *at, size_t left,
			 int place, char *unit, size_t *unit_len)
{
	size_t len = utf8_character(at, left);

	if (whole || len == 0 || (len == 1 && names_escaped(kind, at[0], place))) {
		*unit_len = (size_t)(utf8_escape(at[0], unit) - unit);
		return 1;
	}
	memcpy(unit, at, len);
	*unit_len = len;
	return len;
}

/* Is it "." or ".."? */
static bool names_dots(const char *name, size_t len)
{
	return (len == 1 || len == 2) && name[0] == '.' && name[len - 1] == '.';
}

/* Are these bytes written as escapes from the first to the last? */
static bool names_whole(enum names_kind kind, const struct names_families *families,
			const void *data, size_t len)
{
	if (kind == NAMES_QUALIFIER)
		return names_dots(data, len);
	if (kind != NAMES_SEGMENT || !families)
		return false;
	return len >= 1 && len <= NAMES_FAMILY_MAX && families->has(families->ctx, data, len);
}

size_t names_encode(enum names_kind kind, const struct names_families *families, const void *data,
		    size_t len, char *name)
{
	const unsigned char *bytes = data;
	bool whole = names_whole(kind, families, data, len);
	size_t at = 0, name_len = 0, unit_len;
	int place;

	if (len == 0)
		name[name_len++] = '%';
	while (at < len) {
		unsigned char byte = bytes[at];

		/* Most bytes are units by themselves, wherever they are. */
		if (!whole && byte >= 0x20 && byte < 0x7F && byte != '/' && byte != '%' &&
		    byte != '.' && byte != '@') {
			name[name_len++] = (char)bytes[at++];
			continue;
		}
		place = (at == 0 ? NAMES_FIRST : 0) | (at + 1 == len ? NAMES_LAST : 0);
		at += names_unit(kind, whole, bytes + at, len - at, place, name + name_len,
				 &unit_len);
		name_len += unit_len;
	}
	name[name_len] = '\0';
	return name_len;
}

/*
 * Would names_unit have written every unit of this name so? more: the name goes on behind len.
 * Works on the name alone: to judge a unit takes no more than the bytes of a character.
 */
static bool names_canonical(enum names_kind kind, bool whole, bool more, const char *name,
			    size_t len)
{
	for (size_t at = 0, unit_len; at < len; at += unit_len) {
		unsigned char bytes[NAMES_UNIT_MAX];
		char unit[NAMES_UNIT_MAX];
		size_t count = 0, ahead = at, step;
		int place = at == 0 ? NAMES_FIRST : 0;

		while (count < NAMES_UNIT_MAX && ahead < len) {
			step = utf8_unescape(name + ahead, len - ahead, &bytes[count]);
			if (step == 0)
				break;
			count++;
			ahead += step;
		}
		if (count == 0)
			return false;
		if (count == 1 && ahead == len && !more)
			place |= NAMES_LAST;
		names_unit(kind, whole, bytes, count, place, unit, &unit_len);
		if (unit_len > len - at || memcmp(unit, name + at, unit_len) != 0)
			return false;
	}
	return true;
}

int names_decode(enum names_kind kind, const struct names_families *families, const char *name,
		 size_t name_len, void *data, size_t *len)
{
	unsigned char *bytes = data;
	size_t count = 0;

	if (name_len == 1 && name[0] == '%' && kind != NAMES_FAMILY) {
		*len = 0;
		return 0;
	}
	for (size_t at = 0, step; at < name_len; at += step) {
		step = utf8_unescape(name + at, name_len - at, &bytes[count]);
		if (step == 0)
			return -EINVAL;
		count++;
	}
	if (count == 0)
		return -EINVAL;
	if (!names_canonical(kind, names_whole(kind, families, data, count), false, name, name_len))
		return -EINVAL;
	*len = count;
	return 0;
}

/* The end of the chunk that starts at offset. Units that are as they should be are taken for
 * granted: then a step back from the limit finds the start of the one that it cuts. */
static size_t names_chunk_end(const char *name, size_t name_len, size_t offset)
{
	size_t end = offset + NAMES_CHUNK_MAX;

	if (name_len - offset <= NAMES_CHUNK_MAX)
		return name_len;
	while (((unsigned char)name[end] & 0xC0) == 0x80)
		end--;
	if (name[end - 1] == '%')
		return end - 1;
	if (name[end - 2] == '%')
		return end - 2;
	return end;
}

size_t names_component(const char *name, size_t name_len, size_t offset, char *component,
		       size_t *len)
{
	size_t end = names_chunk_end(name, name_len, offset), count = end - offset;

	if (offset > 0 && end == name_len && names_dots(name + offset, count)) {
		*len = 3 * count;
		memcpy(component, "%2E%2E", *len);
	} else {
		memcpy(component, name + offset, count);
		if (end < name_len)
			component[count++] = '%';
		*len = count;
	}
	component[*len] = '\0';
	return end;
}

bool names_is_chunk(const char *component, size_t len)
{
	return len > 1 && component[len - 1] == '%';
}

/* Is a chunk of a name, which ends at above_len, filled so far that this next one did not fit? */
static bool names_filled(const char *above, size_t above_len, const char *next)
{
	unsigned char first = (unsigned char)next[0];
	size_t start = 0, unit = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;

	while (above_len - start > NAMES_CHUNK_MAX)
		start = names_chunk_end(above, above_len, start);
	return above_len - start + (first == '%' ? 3 : unit) > NAMES_CHUNK_MAX;
}

/* Does every '%' begin an escape, or "%="? */
static bool names_escapes(const char *name, size_t len)
{
	unsigned char byte;
	size_t at = 0, step = 1;

	for (; at < len && step > 0; at += step) {
		step = utf8_unescape(name + at, len - at, &byte);
		if (step == 0 && len - at >= 2 && name[at + 1] == '=')
			step = 2;
	}
	return step > 0;
}

int names_join(enum names_kind kind, const char *above, size_t above_len, const char *component,
	       size_t len, char *name, size_t *name_len, bool *more)
{
	bool empty = kind == NAMES_TEXT && above_len == 0 && len == 3 &&
		     memcmp(component, "%=%", len) == 0; /* no bytes behind "%=" */
	bool chunk = !empty && names_is_chunk(component, len);

	if (len == 0 || len > NAMES_COMPONENT_MAX)
		return -EINVAL;
	if (chunk) {
		len--;
		if (len > NAMES_CHUNK_MAX || len + NAMES_UNIT_MAX <= NAMES_CHUNK_MAX)
			return -EINVAL;
	} else if (above_len > 0) {
		if (names_dots(component, len))
			return -EINVAL;
		if ((len == 3 || len == 6) && memcmp(component, "%2E%2E", len) == 0) {
			len /= 3;
			component = "..";
		}
	}
	if (above_len > 0 && !names_filled(above, above_len, component))
		return -EINVAL;
	if (above_len > 0)
		memmove(name, above, above_len);
	memcpy(name + above_len, component, len);
	if (chunk &&
	    !(kind == NAMES_TEXT ? names_escapes(name, above_len + len)
				 : names_canonical(kind, false, true, name, above_len + len)))
		return -EINVAL;
	*name_len = above_len + len;
	*more = chunk;
	return 0;
}

bool names_history(const char *component, size_t *len)
{
	if (*len < 2 || component[*len - 1] != '@')
		return false;
	--*len;
	return true;
}

int names_ts_parse(const char *name, size_t len, int64_t *ts)
{
	int64_t value = 0;

	if (len == 0 || len > NAMES_TS_MAX || (name[0] == '0' && len > 1))
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		int digit = name[i] - '0';

		if (digit < 0 || digit > 9 || value > (INT64_MAX - digit) / 10)
			return -EINVAL;
		value = value * 10 + digit;
	}
	*ts = value;
	return 0;
}

size_t names_ts_format(int64_t ts, char *name)
{
	return (size_t)snprintf(name, NAMES_TS_MAX + 1, "%lld", (long long)ts);
}
