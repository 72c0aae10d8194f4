/* SPDX-License-Identifier: MIT */
/*
 * Names against the contract: what bytes are spelled like, that one spelling only resolves, and
 * how long names are split.
 *
 * The reference here is naive on purpose, and shares nothing with the code: it takes characters
 * apart into code points, looks at whole strings where the code looks at a place, and fills chunks
 * from the front where the code steps back from the limit.
 */
#include "names.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX   16384
#define ENCODED_MAX (3 * BYTES_MAX)
#define CHUNKS_MAX  (ENCODED_MAX / 227 + 1)

/* ---- The reference ----------------------------------------------------------------------- */

/* The length of the character at the start of these bytes, 0 if there is none. */
static size_t ref_character(const unsigned char *bytes, size_t left)
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

struct ref_units {
	char text[ENCODED_MAX + 1];
	size_t len;
	size_t count;
	size_t ends[ENCODED_MAX]; /* of each unit in text */
};

static void ref_add(struct ref_units *units, const unsigned char *bytes, size_t len, bool escape)
{
	if (escape)
		units->len += (size_t)sprintf(units->text + units->len, "%%%02X", bytes[0]);
	for (size_t i = 0; !escape && i < len; i++)
		units->text[units->len++] = (char)bytes[i];
	units->text[units->len] = '\0';
	units->ends[units->count++] = units->len;
}

/* Spells bytes; family: they look like one. */
static void ref_encode(enum names_kind kind, bool family, const unsigned char *bytes, size_t len,
		       struct ref_units *units)
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

		step = ref_character(bytes + i, len - i);
		if (step == 0 || bytes[i] == '/' || bytes[i] == '%' || bytes[i] <= 0x1F ||
		    bytes[i] == 0x7F)
			escape = true;
		if (bytes[i] == '.' && i == 0 && kind != NAMES_QUALIFIER)
			escape = true;
		if (bytes[i] == '@' && i == len - 1 && kind == NAMES_QUALIFIER)
			escape = true;
		if (escape)
			step = 1;
		ref_add(units, bytes + i, step, escape);
	}
}

struct ref_chunks {
	size_t count;
	char text[CHUNKS_MAX][NAMES_CHUNK_MAX + 2];
};

static void ref_split(const struct ref_units *units, struct ref_chunks *chunks)
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

/* ---- Tools ------------------------------------------------------------------------------- */

/* For the loops that run often: libcheck's own assertions each write to a pipe. */
#define CHECK_FAST(condition)                                                                      \
	do {                                                                                       \
		if (!(condition))                                                                  \
			ck_abort_msg("%s", #condition);                                            \
	} while (0)

static const enum names_kind kinds[] = {NAMES_SEGMENT, NAMES_FAMILY, NAMES_QUALIFIER};

static struct ref_units units;
static struct ref_chunks chunks;
static char encoded[ENCODED_MAX + 1];
static char joined[2 * ENCODED_MAX];
static unsigned char decoded[2 * ENCODED_MAX];

/* The families "loc", "." and ".x", and no other. */
static bool has_family(void *ctx, const void *name, size_t len)
{
	CHECK_FAST(ctx == &units);
	return (len == 3 && !memcmp(name, "loc", 3)) || (len == 1 && !memcmp(name, ".", 1)) ||
	       (len == 2 && !memcmp(name, ".x", 2));
}

static const struct names_families families = {has_family, &units};

/* Random numbers that are the same everywhere. */
static uint64_t random_state;

static unsigned random_below(unsigned limit)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % limit;
}

/* Appends bytes of some kind that matters here. */
static size_t random_piece(unsigned char *bytes)
{
	static const char *const pieces[] = {"/",
					     "%",
					     ".",
					     "..",
					     "@",
					     "#",
					     "\xC3\xA9",
					     " ",
					     "\xC2\x80",
					     "\x7F",
					     "\xE2\x82\xAC",
					     "\xF0\x9F\x98\x80",
					     "\xC3",
					     "\xA9",
					     "Z",
					     "\xE2\x82",
					     "\xED\xA0",
					     "\xF0\x9F",
					     "\xC0\x80",
					     "\xFF",
					     "%41"};
	const char *piece;

	if (random_below(3) == 0) {
		bytes[0] = (unsigned char)random_below(256);
		return 1;
	}
	if (random_below(2) == 0) {
		bytes[0] = (unsigned char)('a' + random_below(26));
		return 1;
	}
	piece = pieces[random_below(sizeof(pieces) / sizeof(pieces[0]))];
	memcpy(bytes, piece, strlen(piece));
	return strlen(piece);
}

static size_t random_bytes(unsigned char *bytes, size_t limit)
{
	unsigned char piece[4];
	size_t len = 0, want = random_below((unsigned)limit + 1);

	while (len < want) {
		size_t count = random_piece(piece);

		for (size_t i = 0; i < count && len < want; i++)
			bytes[len++] = piece[i];
	}
	return len;
}

/* These bytes encode as the reference says, and decode again. */
static void check_encode(enum names_kind kind, const void *bytes, size_t len)
{
	bool family = has_family(&units, bytes, len);
	size_t encoded_len, decoded_len;

	ref_encode(kind, family, bytes, len, &units);
	encoded_len = names_encode(kind, &families, bytes, len, encoded);
	CHECK_FAST(encoded_len == units.len);
	CHECK_FAST(memcmp(encoded, units.text, units.len + 1) == 0);
	CHECK_FAST(encoded_len <= NAMES_ENCODED_MAX(len));
	if (kind == NAMES_FAMILY && len == 0)
		return;
	CHECK_FAST(names_decode(kind, &families, encoded, encoded_len, decoded, &decoded_len) == 0);
	CHECK_FAST(decoded_len == len);
	CHECK_FAST(len == 0 || memcmp(decoded, bytes, len) == 0);
}

/* Takes %XX back in any spelling; what is not an escape stays. */
static size_t loose_decode(const char *name, size_t len, unsigned char *bytes)
{
	size_t count = 0;
	unsigned value;

	for (size_t i = 0; i < len; i++) {
		char digits[3] = {0};

		if (name[i] == '%' && len - i >= 3)
			memcpy(digits, name + i + 1, 2);
		if (strspn(digits, "0123456789abcdefABCDEF") == 2) {
			sscanf(digits, "%2x", &value);
			bytes[count++] = (unsigned char)value;
			i += 2;
		} else {
			bytes[count++] = (unsigned char)name[i];
		}
	}
	return count;
}

/* Any name decodes where it is the spelling of what it could mean, and nowhere else. */
static void check_decode(enum names_kind kind, const char *name, size_t len)
{
	static unsigned char loose[ENCODED_MAX];
	size_t loose_len = loose_decode(name, len, loose), decoded_len = 12345;
	bool empty = len == 1 && name[0] == '%', right;
	int error = names_decode(kind, &families, name, len, decoded, &decoded_len);

	if (empty)
		loose_len = 0;
	ref_encode(kind, has_family(&units, loose, loose_len), loose, loose_len, &units);
	right = units.len == len && memcmp(units.text, name, len) == 0;
	if (kind == NAMES_FAMILY && empty)
		right = false;
	if (error != (right ? 0 : -EINVAL))
		ck_abort_msg("kind %d, name '%.*s': %d", kind, (int)len, name, error);
	CHECK_FAST(decoded_len == (right ? loose_len : 12345));
	CHECK_FAST(!right || loose_len == 0 || memcmp(decoded, loose, loose_len) == 0);
}

static void check_spelling(enum names_kind kind, const char *bytes, const char *name)
{
	size_t len;

	ck_assert_uint_eq(names_encode(kind, &families, bytes, strlen(bytes), encoded),
			  strlen(name));
	ck_assert_str_eq(encoded, name);
	ck_assert_int_eq(names_decode(kind, &families, name, strlen(name), decoded, &len), 0);
	ck_assert_uint_eq(len, strlen(bytes));
	ck_assert(memcmp(decoded, bytes, len) == 0);
}

static void check_refused(enum names_kind kind, const char *name)
{
	size_t len = 7;

	ck_assert_msg(names_decode(kind, &families, name, strlen(name), decoded, &len) == -EINVAL,
		      "kind %d takes %s", kind, name);
	ck_assert_uint_eq(len, 7);
}

/* Follows components from the top. 0 and the name in `joined`, or the first error. */
static int join_all(enum names_kind kind, size_t count, char (*parts)[NAMES_CHUNK_MAX + 2],
		    size_t *len)
{
	bool more = true;

	*len = 0;
	for (size_t i = 0; i < count; i++) {
		int error = names_join(kind, joined, *len, parts[i], strlen(parts[i]), joined, len,
				       &more);

		if (error)
			return error;
		ck_assert_int_eq(more, i + 1 < count);
	}
	return 0;
}

/* These bytes are split as the reference says, and the chunks lead back to them. */
static void check_split(enum names_kind kind, const unsigned char *bytes, size_t len)
{
	size_t offset = 0, encoded_len, joined_len, decoded_len;

	ref_encode(kind, has_family(&units, bytes, len), bytes, len, &units);
	ref_split(&units, &chunks);
	encoded_len = names_encode(kind, &families, bytes, len, encoded);
	for (size_t i = 0; i < chunks.count; i++) {
		char component[NAMES_CHUNK_MAX + 2];
		size_t component_len;

		ck_assert(i == 0 || offset < encoded_len);
		offset = names_component(encoded, encoded_len, offset, component, &component_len);
		ck_assert_str_eq(component, chunks.text[i]);
		ck_assert_uint_eq(component_len, strlen(component));
		ck_assert_uint_le(component_len, 231);
		ck_assert_uint_eq(ref_character((unsigned char *)component, 4) != 0, 1);
		ck_assert_int_eq(names_is_chunk(component, component_len), i + 1 < chunks.count);
	}
	ck_assert_uint_eq(offset, encoded_len);
	ck_assert_int_eq(join_all(kind, chunks.count, chunks.text, &joined_len), 0);
	ck_assert_int_eq(names_decode(kind, &families, joined, joined_len, decoded, &decoded_len),
			 0);
	ck_assert_uint_eq(decoded_len, len);
	ck_assert(len == 0 || memcmp(decoded, bytes, len) == 0);
}

/* ---- Spelling ---------------------------------------------------------------------------- */

START_TEST(every_byte_at_every_position)
{
	static const unsigned char fill[] = {'a', '.', '@', '%', 0xC3, 0xA9, 0xE2, 0x82};

	for (size_t k = 0; k < 3; k++)
		for (size_t len = 1; len <= 4; len++)
			for (size_t at = 0; at < len; at++)
				for (size_t f = 0; f < sizeof(fill); f++)
					for (int byte = 0; byte < 256; byte++) {
						unsigned char bytes[4];

						memset(bytes, fill[f], sizeof(bytes));
						bytes[at] = (unsigned char)byte;
						check_encode(kinds[k], bytes, len);
					}
}
END_TEST

START_TEST(every_two_bytes)
{
	for (size_t k = 0; k < 3; k++)
		for (int first = 0; first < 256; first++)
			for (int second = 0; second < 256; second++) {
				unsigned char bytes[] = {(unsigned char)first,
							 (unsigned char)second};

				check_encode(kinds[k], bytes, 2);
				check_decode(kinds[k], (const char *)bytes, 2);
			}
}
END_TEST

START_TEST(spellings_of_the_contract)
{
	check_spelling(NAMES_SEGMENT, "", "%");
	check_spelling(NAMES_QUALIFIER, "", "%");
	check_spelling(NAMES_SEGMENT, "STC", "STC");
	check_spelling(NAMES_SEGMENT, "a/b%", "a%2Fb%25");
	check_spelling(NAMES_SEGMENT, "a\n\x7F", "a%0A%7F");
	check_spelling(NAMES_SEGMENT, ".rows", "%2Erows");
	check_spelling(NAMES_SEGMENT, "..", "%2E.");
	check_spelling(NAMES_SEGMENT, "a.b@", "a.b@");
	check_spelling(NAMES_FAMILY, ".meta", "%2Emeta");
	check_spelling(NAMES_FAMILY, "a.b", "a.b");
	check_spelling(NAMES_QUALIFIER, ".profile", ".profile");
	check_spelling(NAMES_QUALIFIER, "...", "...");
	check_spelling(NAMES_QUALIFIER, ".", "%2E");
	check_spelling(NAMES_QUALIFIER, "..", "%2E%2E");
	check_spelling(NAMES_QUALIFIER, "q@", "q%40");
	check_spelling(NAMES_QUALIFIER, "@", "%40");
	check_spelling(NAMES_QUALIFIER, "@@", "@%40");
	check_spelling(NAMES_QUALIFIER, "a@b", "a@b");
	check_spelling(NAMES_QUALIFIER, ".@", ".%40");
	check_spelling(NAMES_QUALIFIER, "\xC3\xA9t\xC3\xA9", "\xC3\xA9t\xC3\xA9");
	check_spelling(NAMES_QUALIFIER, "\xC3t\xA9", "%C3t%A9");
	check_spelling(NAMES_QUALIFIER, "\xC2\x85", "\xC2\x85"); /* U+0085: valid, not listed */
}
END_TEST

START_TEST(nul_is_escaped)
{
	ck_assert_uint_eq(names_encode(NAMES_QUALIFIER, NULL, "a\0b", 3, encoded), 5);
	ck_assert_str_eq(encoded, "a%00b");
	check_encode(NAMES_SEGMENT, "\0\0", 2);
	check_decode(NAMES_SEGMENT, "a\0b", 3);
}
END_TEST

START_TEST(strict_utf8)
{
	static const char *const valid[] = {"\xC2\x80",		"\xDF\xBF",	    "\xE0\xA0\x80",
					    "\xED\x9F\xBF",	"\xEE\x80\x80",	    "\xEF\xBF\xBF",
					    "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "\xEF\xBB\xBF"};
	static const char *const invalid[] = {"\x80",
					      "\xBF",
					      "\xC0\xAF",
					      "\xC1\xBF",
					      "\xE0\x9F\xBF",
					      "\xED\xA0\x80",
					      "\xED\xBF\xBF",
					      "\xF0\x8F\xBF\xBF",
					      "\xF4\x90\x80\x80",
					      "\xF5\x80\x80\x80",
					      "\xF8\x88\x80\x80",
					      "\xFE",
					      "\xFF",
					      "\xC3",
					      "\xE2\x82",
					      "\xF0\x9F\x98"};

	for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++)
		check_spelling(NAMES_QUALIFIER, valid[i], valid[i]);
	for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++) {
		char spelled[13] = "";

		for (size_t b = 0; b < strlen(invalid[i]); b++)
			sprintf(spelled + 3 * b, "%%%02X", (unsigned char)invalid[i][b]);
		check_spelling(NAMES_QUALIFIER, invalid[i], spelled);
		check_refused(NAMES_QUALIFIER, invalid[i]);
		check_refused(NAMES_SEGMENT, invalid[i]);
	}
}
END_TEST

START_TEST(other_spellings_are_refused)
{
	static const char *const names[] = {
		"",	"%61",	"a%2fb",  "a%",		  "a%4",     "%4",
		"%%",	"%G0",	"%0g",	  "%0a",	  "a/b",     "/",
		"a\nb", "\x7F", "%C3%A9", "%E2%82%AC",	  "a%%b",    "%25%",
		"% 1",	"%+1",	"%2E%61", "a%2E",	  "a%2Eb",   "%23",
		"%40a", "%20",	"%2",	  "%F0%9F%98%80", "%C3\xA9", "\xC3%A9"};

	for (size_t k = 0; k < 3; k++)
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			check_refused(kinds[k], names[i]);
	check_refused(NAMES_SEGMENT, ".");
	check_refused(NAMES_SEGMENT, "..");
	check_refused(NAMES_SEGMENT, ".rows");
	check_refused(NAMES_SEGMENT, "%2E%2E");
	check_refused(NAMES_SEGMENT, "a%40");
	check_refused(NAMES_FAMILY, "%");
	check_refused(NAMES_FAMILY, ".meta");
	check_refused(NAMES_QUALIFIER, ".");
	check_refused(NAMES_QUALIFIER, "..");
	check_refused(NAMES_QUALIFIER, ".%2E");
	check_refused(NAMES_QUALIFIER, "%2E.");
	check_refused(NAMES_QUALIFIER, "%2Ea");
	check_refused(NAMES_QUALIFIER, "q@");
	check_refused(NAMES_QUALIFIER, "@");
	check_refused(NAMES_QUALIFIER, "a%40b");
	check_refused(NAMES_QUALIFIER, "%40%40");
}
END_TEST

START_TEST(segments_that_look_like_families)
{
	check_spelling(NAMES_SEGMENT, "loc", "%6C%6F%63");
	check_spelling(NAMES_SEGMENT, ".x", "%2E%78");
	check_spelling(NAMES_SEGMENT, ".", "%2E");
	check_spelling(NAMES_SEGMENT, "locs", "locs");
	check_spelling(NAMES_FAMILY, "loc", "loc");
	check_spelling(NAMES_QUALIFIER, "loc", "loc");
	check_refused(NAMES_SEGMENT, "loc");
	check_refused(NAMES_SEGMENT, "%6Coc");
	check_refused(NAMES_SEGMENT, "%6c%6f%63");
	check_refused(NAMES_SEGMENT, "%2Ex");
	check_refused(NAMES_SEGMENT, "%6C%6F%63%73");
	check_refused(NAMES_FAMILY, "%6C%6F%63");
	check_refused(NAMES_QUALIFIER, "%6C%6F%63");
}
END_TEST

START_TEST(without_families_nothing_looks_like_one)
{
	size_t len;

	ck_assert_uint_eq(names_encode(NAMES_SEGMENT, NULL, "loc", 3, encoded), 3);
	ck_assert_str_eq(encoded, "loc");
	ck_assert_int_eq(names_decode(NAMES_SEGMENT, NULL, "loc", 3, decoded, &len), 0);
	ck_assert_int_eq(names_decode(NAMES_SEGMENT, NULL, "%6C%6F%63", 9, decoded, &len), -EINVAL);
}
END_TEST

START_TEST(random_bytes_come_back)
{
	static unsigned char bytes[BYTES_MAX];

	random_state = 1;
	for (int i = 0; i < 60000; i++) {
		size_t limit = i % 1000 == 0 ? BYTES_MAX : i % 50 == 0 ? 4096 : 12;
		size_t len = random_bytes(bytes, limit);

		check_encode(kinds[i % 3], bytes, len);
	}
}
END_TEST

START_TEST(random_names_mean_one_thing)
{
	static const char alphabet[] = "%%%%2EFf04Cc9aA./@\n\xC3\xA9\xE2\x82\xAC";
	char name[12];

	random_state = 2;
	for (int i = 0; i < 600000; i++) {
		size_t len = random_below(sizeof(name)) + 1;

		for (size_t at = 0; at < len; at++)
			name[at] = alphabet[random_below(sizeof(alphabet) - 1)];
		check_decode(kinds[i % 3], name, len);
	}
}
END_TEST

START_TEST(a_changed_name_means_nothing_or_itself)
{
	static unsigned char bytes[64];
	char name[200];

	random_state = 3;
	for (int i = 0; i < 200000; i++) {
		size_t len =
			names_encode(kinds[i % 3], &families, bytes, random_bytes(bytes, 20), name);

		name[random_below((unsigned)len)] = (char)random_below(256);
		check_decode(kinds[i % 3], name, len);
	}
}
END_TEST

/* ---- Chunks ------------------------------------------------------------------------------ */

START_TEST(random_names_are_split)
{
	static unsigned char bytes[BYTES_MAX];

	random_state = 4;
	for (int i = 0; i < 3000; i++) {
		size_t len = random_bytes(bytes, i % 100 == 0 ? BYTES_MAX : 1000);

		check_split(i % 2 ? NAMES_SEGMENT : NAMES_QUALIFIER, bytes, len);
	}
}
END_TEST

START_TEST(the_longest_names_are_split)
{
	static unsigned char bytes[BYTES_MAX];
	static const int fills[] = {'a', 0x00, 0xFF, '.', '@', '%'};

	for (size_t i = 0; i < sizeof(fills) / sizeof(fills[0]); i++) {
		memset(bytes, fills[i], sizeof(bytes));
		check_split(NAMES_QUALIFIER, bytes, sizeof(bytes));
		check_split(NAMES_SEGMENT, bytes, 4096);
	}
}
END_TEST

/* Each unit, at each distance from the limit, is either whole in its chunk or in the next. */
START_TEST(nothing_is_cut)
{
	static const char *const pieces[] = {
		"x",	    "/", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80",
		"\xE2\x82", "@", "..",	     "\xC3"};
	unsigned char bytes[512];

	for (size_t p = 0; p < sizeof(pieces) / sizeof(pieces[0]); p++)
		for (size_t before = 220; before <= 232; before++)
			for (size_t after = 0; after < 5; after++) {
				size_t piece_len = strlen(pieces[p]);

				memset(bytes, 'a', sizeof(bytes));
				memcpy(bytes + before, pieces[p], piece_len);
				check_split(NAMES_QUALIFIER, bytes, before + piece_len + after);
				check_split(NAMES_SEGMENT, bytes, before + piece_len + after);
			}
}
END_TEST

START_TEST(the_limit_is_230)
{
	unsigned char bytes[231];

	memset(bytes, 'a', sizeof(bytes));
	check_split(NAMES_QUALIFIER, bytes, 230);
	ck_assert_uint_eq(chunks.count, 1);
	check_split(NAMES_QUALIFIER, bytes, 231);
	ck_assert_uint_eq(chunks.count, 2);
	ck_assert_uint_eq(strlen(chunks.text[0]), 231);
	ck_assert_str_eq(chunks.text[1], "a");
}
END_TEST

/* A last chunk cannot be called "." or "..". */
START_TEST(last_chunks_of_dots)
{
	unsigned char bytes[233];

	memset(bytes, 'a', sizeof(bytes));
	bytes[230] = bytes[231] = bytes[232] = '.';
	for (size_t k = 0; k < 3; k += 2) {
		check_split(kinds[k], bytes, 231);
		ck_assert_str_eq(chunks.text[1], "%2E");
		check_split(kinds[k], bytes, 232);
		ck_assert_str_eq(chunks.text[1], "%2E%2E");
		check_split(kinds[k], bytes, 233);
		ck_assert_str_eq(chunks.text[1], "...");
	}
}
END_TEST

/* Joins two components; the error of joining or decoding them. */
static int join_two(enum names_kind kind, const char *first, const char *second)
{
	size_t len = 0, decoded_len;
	bool more;
	int error = names_join(kind, joined, 0, first, strlen(first), joined, &len, &more);

	if (error)
		return error;
	error = names_join(kind, joined, len, second, strlen(second), joined, &len, &more);
	if (error)
		return error;
	return names_decode(kind, &families, joined, len, decoded, &decoded_len);
}

/* A run of 'a' of so many bytes, and a text behind it. */
static const char *run(size_t count, const char *behind)
{
	static char texts[4][600];
	static unsigned next;
	char *text = texts[next++ % 4];

	memset(text, 'a', count);
	strcpy(text + count, behind);
	return text;
}

START_TEST(chunks_are_filled)
{
	static const char *const units_of[] = {"b", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80",
					       "%00"};

	for (size_t u = 0; u < 5; u++)
		for (size_t count = 1; count <= 235; count++) {
			size_t unit = strlen(units_of[u]);
			int want = count <= 230 && count + unit > 230 ? 0 : -EINVAL;

			ck_assert_int_eq(join_two(NAMES_QUALIFIER, run(count, "%"), units_of[u]),
					 want);
		}
}
END_TEST

START_TEST(chunks_are_canonical)
{
	size_t len;
	bool more;
	const char *bad[] = {run(227, "%61%"), run(227, "%2f%"), run(226, "%40%"),
			     run(226, "%C3%A9%")};

	for (size_t i = 0; i < 4; i++)
		ck_assert_int_eq(names_join(NAMES_QUALIFIER, NULL, 0, bad[i], strlen(bad[i]),
					    joined, &len, &more),
				 -EINVAL);
	ck_assert_int_eq(join_two(NAMES_QUALIFIER, run(227, "%C3%"), "%A9"), -EINVAL);
	ck_assert_int_eq(join_two(NAMES_QUALIFIER, run(227, "%C3%"), "%A9b"), -EINVAL);
	ck_assert_int_eq(join_two(NAMES_QUALIFIER, run(227, "%C3%"), "%C3"), 0);
	ck_assert_int_eq(join_two(NAMES_QUALIFIER, run(230, "%"), "%"), -EINVAL);
	ck_assert_int_eq(join_two(NAMES_QUALIFIER, run(230, "%"), ""), -EINVAL);
	ck_assert_int_eq(join_two(NAMES_QUALIFIER, run(230, "%"), "."), -EINVAL);
	ck_assert_int_eq(join_two(NAMES_QUALIFIER, run(230, "%"), ".."), -EINVAL);
	ck_assert_int_eq(join_two(NAMES_QUALIFIER, run(230, "%"), "%2E%2E%2E"), -EINVAL);
	ck_assert_int_eq(join_two(NAMES_QUALIFIER, run(230, "%"), "%2Ea"), -EINVAL);
	ck_assert_int_eq(join_two(NAMES_QUALIFIER, run(230, "%"), "@"), -EINVAL);
	ck_assert_int_eq(join_two(NAMES_QUALIFIER, run(229, "@%"), "b"), 0);
	ck_assert_int_eq(join_two(NAMES_QUALIFIER, run(230, "%"), "%40"), 0);
	ck_assert_int_eq(join_two(NAMES_SEGMENT, run(230, "%"), "@"), 0);
	ck_assert_int_eq(join_two(NAMES_SEGMENT, run(230, "%"), ".b"), 0);
	ck_assert_int_eq(join_two(NAMES_SEGMENT, run(230, "%"), "loc"), 0);
}
END_TEST

/* A chunk directory's name that no right name goes on from is refused at once. */
START_TEST(wrong_chunks_do_not_open)
{
	size_t len;
	bool more;
	const char *first = run(227, "%C3%"), *second = run(224, "%");
	char next[240];

	ck_assert_int_eq(names_join(NAMES_QUALIFIER, NULL, 0, first, 231, joined, &len, &more), 0);
	ck_assert(more);
	sprintf(next, "%%A9%s", second);
	ck_assert_int_eq(
		names_join(NAMES_QUALIFIER, joined, len, next, strlen(next), joined, &len, &more),
		-EINVAL);
	sprintf(next, "%%C3%s", second);
	ck_assert_int_eq(
		names_join(NAMES_QUALIFIER, joined, len, next, strlen(next), joined, &len, &more),
		0);
	for (size_t count = 1; count <= 230; count++) {
		int error = names_join(NAMES_QUALIFIER, NULL, 0, run(count, "%"), count + 1, joined,
				       &len, &more);

		ck_assert_int_eq(error, count < 227 ? -EINVAL : 0);
	}
	first = run(229, "%");
	ck_assert_int_eq(names_join(NAMES_SEGMENT, NULL, 0, first, 230, joined, &len, &more), 0);
	memcpy(next, first, 231);
	next[0] = '.';
	ck_assert_int_eq(names_join(NAMES_SEGMENT, NULL, 0, next, 230, joined, &len, &more),
			 -EINVAL);
	ck_assert_int_eq(names_join(NAMES_QUALIFIER, NULL, 0, next, 230, joined, &len, &more), 0);
}
END_TEST

START_TEST(unsplit_up_to_255)
{
	size_t len, decoded_len;
	bool more = true;

	for (size_t count = 229; count <= 260; count++) {
		int error = names_join(NAMES_QUALIFIER, NULL, 0, run(count, ""), count, joined,
				       &len, &more);

		ck_assert_int_eq(error, count <= 255 ? 0 : -EINVAL);
		if (error)
			continue;
		ck_assert(!more);
		ck_assert_uint_eq(len, count);
		ck_assert_int_eq(
			names_decode(NAMES_QUALIFIER, NULL, joined, len, decoded, &decoded_len), 0);
		ck_assert_uint_eq(decoded_len, count);
	}
	ck_assert_int_eq(join_two(NAMES_QUALIFIER, run(230, "%"), run(255, "")), 0);
}
END_TEST

START_TEST(what_is_a_chunk)
{
	ck_assert(!names_is_chunk("%", 1));
	ck_assert(!names_is_chunk("%25", 3));
	ck_assert(!names_is_chunk("a", 1));
	ck_assert(!names_is_chunk("", 0));
	ck_assert(names_is_chunk("a%", 2));
	ck_assert(names_is_chunk("%25%", 4));
}
END_TEST

/* ---- Histories and timestamps ------------------------------------------------------------ */

START_TEST(histories)
{
	static const struct {
		const char *component;
		size_t len; /* without '@'; 0: it is no history */
	} cases[] = {{"q@", 1},	 {"%@", 1},   {"q", 0},	    {"@", 0}, {"", 0},
		     {"q@a", 0}, {"q%40", 0}, {"q%40@", 4}, {"@@", 1}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t len = strlen(cases[i].component);
		bool history = names_history(cases[i].component, &len);

		ck_assert_int_eq(history, cases[i].len > 0);
		ck_assert_uint_eq(len, history ? cases[i].len : strlen(cases[i].component));
	}
}
END_TEST

/* No qualifier's own name looks like a history. */
START_TEST(no_column_is_called_like_a_history)
{
	static unsigned char bytes[1000];

	random_state = 5;
	for (int i = 0; i < 20000; i++) {
		size_t len = random_bytes(bytes, 300), last;
		char component[NAMES_CHUNK_MAX + 2];

		bytes[len++] = '@';
		len = names_encode(NAMES_QUALIFIER, NULL, bytes, len, encoded);
		for (size_t at = 0; at < len;) {
			at = names_component(encoded, len, at, component, &last);
			CHECK_FAST(!names_history(component, &last));
		}
	}
}
END_TEST

START_TEST(timestamps)
{
	static const int64_t good[] = {0, 1, 9, 10, 1700000000000000, INT64_MAX - 1, INT64_MAX};
	static const char *const bad[] = {"",
					  "00",
					  "01",
					  "-1",
					  "+1",
					  " 1",
					  "1 ",
					  "0x1",
					  "1a",
					  "a",
					  "9223372036854775808",
					  "9999999999999999999",
					  "-0",
					  "1.",
					  "18446744073709551616",
					  "1\n"};
	char name[NAMES_TS_MAX + 1], expected[32];
	int64_t ts;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		sprintf(expected, "%llu", (unsigned long long)good[i]);
		ck_assert_uint_eq(names_ts_format(good[i], name), strlen(expected));
		ck_assert_str_eq(name, expected);
		ck_assert_int_eq(names_ts_parse(name, strlen(name), &ts), 0);
		ck_assert(ts == good[i]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ts = 42;
		ck_assert_msg(names_ts_parse(bad[i], strlen(bad[i]), &ts) == -EINVAL, "'%s'",
			      bad[i]);
		ck_assert_int_eq(ts, 42);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("names");
	TCase *spelling = tcase_create("spelling"), *split = tcase_create("chunks");
	TCase *rest = tcase_create("histories and timestamps");
	SRunner *runner;
	int failed;

	tcase_add_test(spelling, every_byte_at_every_position);
	tcase_add_test(spelling, every_two_bytes);
	tcase_add_test(spelling, spellings_of_the_contract);
	tcase_add_test(spelling, nul_is_escaped);
	tcase_add_test(spelling, strict_utf8);
	tcase_add_test(spelling, other_spellings_are_refused);
	tcase_add_test(spelling, segments_that_look_like_families);
	tcase_add_test(spelling, without_families_nothing_looks_like_one);
	tcase_add_test(spelling, random_bytes_come_back);
	tcase_add_test(spelling, random_names_mean_one_thing);
	tcase_add_test(spelling, a_changed_name_means_nothing_or_itself);
	tcase_add_test(split, random_names_are_split);
	tcase_add_test(split, the_longest_names_are_split);
	tcase_add_test(split, nothing_is_cut);
	tcase_add_test(split, the_limit_is_230);
	tcase_add_test(split, last_chunks_of_dots);
	tcase_add_test(split, chunks_are_filled);
	tcase_add_test(split, chunks_are_canonical);
	tcase_add_test(split, wrong_chunks_do_not_open);
	tcase_add_test(split, unsplit_up_to_255);
	tcase_add_test(split, what_is_a_chunk);
	tcase_add_test(rest, histories);
	tcase_add_test(rest, no_column_is_called_like_a_history);
	tcase_add_test(rest, timestamps);
	tcase_set_timeout(spelling, 120);
	tcase_set_timeout(split, 120);
	suite_add_tcase(suite, spelling);
	suite_add_tcase(suite, split);
	suite_add_tcase(suite, rest);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed > 0;
}
