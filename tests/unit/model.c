/* SPDX-License-Identifier: MIT */
/* The spelling of names once more, and the checks that compare. */
#include "tests/unit/model.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

const enum names_kind model_kinds[] = {NAMES_SEGMENT, NAMES_FAMILY, NAMES_QUALIFIER};

struct model_units model_text;
struct model_chunks model_parts;
char model_encoded[ENCODED_MAX + 1];
char model_joined[2 * ENCODED_MAX];
unsigned char model_decoded[2 * ENCODED_MAX];

/* The length of the character at the start of these bytes, 0 if there is none. */
static size_t model_character(const unsigned char *bytes, size_t left)
{
	for (size_t len = 1; len <= 4 && len <= left; len++) {
		unsigned long point = 0, least = 0;

		if (len == 1 && bytes[0] < 0x80)
			return 1;
		if (len == 2 && (bytes[0] & 0xE0) == 0xC0)
			point = bytes[0] & 0x1F, least = 0x80;
		else if (len == 3 && (bytes[0] & 0xF0) == 0xE0)
			point = bytes[0] & 0x0F, least = 0x800;
		else if (len == 4 && (bytes[0] & 0xF8) == 0xF0)
			point = bytes[0] & 0x07, least = 0x10000;
		else
			continue;
		for (size_t i = 1; i < len; i++) {
			if (bytes[i] < 0x80 || bytes[i] > 0xBF)
				return 0;
			point = point * 64 + bytes[i] - 0x80;
		}
		if (point < least || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF))
			return 0;
		return len;
	}
	return 0;
}

static void model_add(struct model_units *units, const unsigned char *bytes, size_t len,
		      bool escape)
{
	static const char digits[] = "0123456789ABCDEF";

	if (escape) {
		units->text[units->len++] = '%';
		units->text[units->len++] = digits[bytes[0] >> 4];
		units->text[units->len++] = digits[bytes[0] & 15];
	}
	for (size_t i = 0; !escape && i < len; i++)
		units->text[units->len++] = (char)bytes[i];
	units->text[units->len] = '\0';
	units->ends[units->count++] = units->len;
}

/* Spells bytes; family: they look like one. */
static void model_encode(enum names_kind kind, bool family, const unsigned char *bytes, size_t len,
			 struct model_units *units)
{
	bool dots = (len == 1 && bytes[0] == '.') || (len == 2 && !memcmp(bytes, "..", 2));
	bool all = (kind == NAMES_SEGMENT && family) || (kind == NAMES_QUALIFIER && dots);

	units->len = units->count = 0;
	units->text[0] = '\0';
	if (len == 0) {
		strcpy(units->text, "%");
		units->ends[units->count++] = units->len = 1;
	}
	for (size_t i = 0, step; i < len; i += step) {
		bool escape = all;

		step = model_character(bytes + i, len - i);
		if (step == 0 || bytes[i] == '/' || bytes[i] == '%' || bytes[i] <= 0x1F ||
		    bytes[i] == 0x7F)
			escape = true;
		if (bytes[i] == '.' && i == 0 && kind != NAMES_QUALIFIER)
			escape = true;
		if (bytes[i] == '@' && i == len - 1 && kind == NAMES_QUALIFIER)
			escape = true;
		if (escape)
			step = 1;
		model_add(units, bytes + i, step, escape);
	}
}

static void model_split(const struct model_units *units, struct model_chunks *chunks)
{
	size_t start = 0, end = 0;

	chunks->count = 0;
	for (size_t i = 0; i <= units->count; i++) {
		if (i < units->count && units->ends[i] - start <= 230) {
			end = units->ends[i];
			continue;
		}
		sprintf(chunks->text[chunks->count++], "%.*s%s", (int)(end - start),
			units->text + start, i < units->count ? "%" : "");
		start = end;
		if (i < units->count)
			end = units->ends[i];
	}
	if (chunks->count > 1 && strcmp(chunks->text[chunks->count - 1], ".") == 0)
		strcpy(chunks->text[chunks->count - 1], "%2E");
	if (chunks->count > 1 && strcmp(chunks->text[chunks->count - 1], "..") == 0)
		strcpy(chunks->text[chunks->count - 1], "%2E%2E");
}

/* The families "loc", "." and ".x", and no other. */
static bool model_has_family(void *ctx, const void *name, size_t len)
{
	CHECK_FAST(ctx == &model_text);
	return (len == 3 && !memcmp(name, "loc", 3)) || (len == 1 && !memcmp(name, ".", 1)) ||
	       (len == 2 && !memcmp(name, ".x", 2));
}

const struct names_families model_families = {model_has_family, &model_text};

void model_check_encode(enum names_kind kind, const void *bytes, size_t len)
{
	bool family = model_has_family(&model_text, bytes, len);
	size_t encoded_len, decoded_len;

	model_encode(kind, family, bytes, len, &model_text);
	encoded_len = names_encode(kind, &model_families, bytes, len, model_encoded);
	CHECK_FAST(encoded_len == model_text.len);
	CHECK_FAST(memcmp(model_encoded, model_text.text, model_text.len + 1) == 0);
	CHECK_FAST(encoded_len <= NAMES_ENCODED_MAX(len));
	if (kind == NAMES_FAMILY && len == 0)
		return;
	CHECK_FAST(names_decode(kind, &model_families, model_encoded, encoded_len, model_decoded,
				&decoded_len) == 0);
	CHECK_FAST(decoded_len == len);
	CHECK_FAST(len == 0 || memcmp(model_decoded, bytes, len) == 0);
}

static int model_digit(char c)
{
	return !isxdigit((unsigned char)c) ? -1 : c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* Decodes %XX in any spelling; other characters stay as they are. */
static size_t loose_decode(const char *name, size_t len, unsigned char *bytes)
{
	size_t count = 0;

	for (size_t i = 0; i < len; i++) {
		int high = name[i] == '%' && len - i >= 3 ? model_digit(name[i + 1]) : -1;
		int low = high >= 0 ? model_digit(name[i + 2]) : -1;

		bytes[count++] = (unsigned char)(low >= 0 ? high << 4 | low : name[i]);
		i += low >= 0 ? 2 : 0;
	}
	return count;
}

void model_check_decode(enum names_kind kind, const char *name, size_t len)
{
	static unsigned char loose[ENCODED_MAX];
	size_t loose_len = loose_decode(name, len, loose), decoded_len = 12345;
	bool empty = len == 1 && name[0] == '%', right;
	int error = names_decode(kind, &model_families, name, len, model_decoded, &decoded_len);

	if (empty)
		loose_len = 0;
	model_encode(kind, model_has_family(&model_text, loose, loose_len), loose, loose_len,
		     &model_text);
	right = model_text.len == len && memcmp(model_text.text, name, len) == 0;
	if (kind == NAMES_FAMILY && empty)
		right = false;
	if (error != (right ? 0 : -EINVAL))
		ck_abort_msg("kind %d, name '%.*s': %d", kind, (int)len, name, error);
	CHECK_FAST(decoded_len == (right ? loose_len : 12345));
	CHECK_FAST(!right || loose_len == 0 || memcmp(model_decoded, loose, loose_len) == 0);
}

/* Follows components from the top. 0 and the name in `joined`, or the first error. */
static int model_join(enum names_kind kind, size_t count, char (*parts)[NAMES_CHUNK_MAX + 2],
		      size_t *len)
{
	bool more = true;

	*len = 0;
	for (size_t i = 0; i < count; i++) {
		int error = names_join(kind, model_joined, *len, parts[i], strlen(parts[i]),
				       model_joined, len, &more);

		if (error)
			return error;
		ck_assert_int_eq(more, i + 1 < count);
	}
	return 0;
}

void model_check_split(enum names_kind kind, const unsigned char *bytes, size_t len)
{
	size_t offset = 0, encoded_len, joined_len, decoded_len;

	model_encode(kind, model_has_family(&model_text, bytes, len), bytes, len, &model_text);
	model_split(&model_text, &model_parts);
	encoded_len = names_encode(kind, &model_families, bytes, len, model_encoded);
	for (size_t i = 0; i < model_parts.count; i++) {
		char component[NAMES_CHUNK_MAX + 2];
		size_t component_len;

		ck_assert(i == 0 || offset < encoded_len);
		offset = names_component(model_encoded, encoded_len, offset, component,
					 &component_len);
		ck_assert_str_eq(component, model_parts.text[i]);
		ck_assert_uint_eq(component_len, strlen(component));
		ck_assert_uint_le(component_len, 231);
		ck_assert_uint_eq(model_character((unsigned char *)component, 4) != 0, 1);
		ck_assert_int_eq(names_is_chunk(component, component_len),
				 i + 1 < model_parts.count);
	}
	ck_assert_uint_eq(offset, encoded_len);
	ck_assert_int_eq(model_join(kind, model_parts.count, model_parts.text, &joined_len), 0);
	ck_assert_int_eq(names_decode(kind, &model_families, model_joined, joined_len,
				      model_decoded, &decoded_len),
			 0);
	ck_assert_uint_eq(decoded_len, len);
	ck_assert(len == 0 || memcmp(model_decoded, bytes, len) == 0);
}
