/* SPDX-License-Identifier: MIT */
/* Text that is printed: its width, its breaks, its escapes. */
#include <stdlib.h>
#include <string.h>

#include "fs/keyvis/picture.h"
#include "lib/hash.h"
#include "lib/utf8.h"

/* Two columns on a terminal (Unicode's East Asian Width). */
static const struct utf8_range words_wide[] = {
	{0x1100, 0x115f}, {0x2e80, 0x303e},   {0x3041, 0xa4cf},	  {0xa960, 0xa97f},
	{0xac00, 0xd7a3}, {0xf900, 0xfaff},   {0xfe30, 0xfe6f},	  {0xff00, 0xff60},
	{0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

/* A character: its bytes (also of what is none: 1) and its columns. */
struct words_character {
	size_t len, columns;
};

static struct words_character words_next(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t len = utf8_character(at, strnlen(text, 4));

	if (len == 0)
		return (struct words_character){1, 1};
	return (struct words_character){
		len,
		utf8_in(words_wide, sizeof(words_wide) / sizeof(*words_wide), utf8_point(at, len))
			? 2
			: 1};
}

size_t keyvis_width(const char *text)
{
	struct words_character character;
	size_t columns = 0;

	for (; *text; text += character.len) {
		character = words_next(text);
		columns += character.columns;
	}
	return columns;
}

/* The text in at most so many columns: without those behind the first `head`, marked "..". */
static char *words_cut(const char *text, size_t width, size_t head)
{
	size_t columns = keyvis_width(text), used = 0, left = columns;
	char *fitting = malloc(strlen(text) + 3), *to = fitting;
	struct words_character character;
	bool cut = false;

	for (; fitting && *text; text += character.len) {
		character = words_next(text);
		if (columns <= width || (!cut && used + character.columns <= head) ||
		    left <= width - head - 2) {
			memcpy(to, text, character.len);
			to += character.len;
		} else if (!cut) {
			*to++ = '.';
			*to++ = '.';
			cut = true;
		}
		used += character.columns;
		left -= character.columns;
	}
	if (fitting)
		*to = '\0';
	return fitting;
}

char *keyvis_fit(const char *text, size_t width)
{
	return words_cut(text, width, width / 3);
}

#define WORDS_NEAR 32u /* a text is compared with so many on each side */

/* ---- Lists ------------------------------------------------------------------------------- */

/* The column in which a text first differs from another one; SIZE_MAX if that is its beginning,
 * from which any cut differs. */
static size_t words_differ(const char *text, const char *other)
{
	size_t at = 0, columns = 0;
	struct words_character character;

	for (; text[at]; at += character.len, columns += character.columns) {
		character = words_next(text + at);
		if (strncmp(text + at, other + at, character.len) != 0)
			break;
	}
	return other[at] ? columns : SIZE_MAX;
}

/* The texts of a list, and the hashes of those that fit, of which there are `count`. */
struct words_list {
	char *const *texts;
	size_t all, count;
	uint64_t *hashes;
};

static uint64_t words_hash(const char *text)
{
	return hash_bytes(HASH_START, text, strlen(text));
}

static bool words_seen(const struct words_list *list, const char *text)
{
	uint64_t hash = words_hash(text);

	for (size_t i = 0; i < list->count; i++)
		if (list->hashes[i] == hash)
			return true;
	return false;
}

/* Writes the columns in which the next text differs from those near it. Returns how many. */
static size_t words_places(const struct words_list *list, size_t places[2 * WORDS_NEAR])
{
	size_t at = list->count, from = at > WORDS_NEAR ? at - WORDS_NEAR : 0, count = 0;

	for (size_t i = from; i < list->all && i <= at + WORDS_NEAR; i++)
		if (i != at)
			places[count++] = words_differ(list->texts[at], list->texts[i]);
	return count;
}

/* Cuts the next text so that it looks like none before it, and hides as few of those columns as it
 * can. The cut moves from the middle to the end, then to the beginning. */
static char *words_cut_unlike(const struct words_list *list, size_t width)
{
	const char *text = list->texts[list->count];
	size_t places[2 * WORDS_NEAR], count = words_places(list, places), heads = width - 1,
				       cut = keyvis_width(text) - width + 2, least = SIZE_MAX;
	char *best = NULL;

	for (size_t i = 0; i < heads && least > 0; i++) {
		size_t head = width / 3 + i < heads ? width / 3 + i : heads - 1 - i, hidden = 0;
		char *fitting = words_cut(text, width, head);

		for (size_t p = 0; p < count; p++)
			hidden += places[p] >= head && places[p] < head + cut;
		if (fitting && words_seen(list, fitting))
			hidden += 2 * WORDS_NEAR;
		if (fitting && hidden < least) {
			free(best);
			best = fitting;
			least = hidden;
		} else {
			free(fitting);
		}
	}
	return best;
}

char **keyvis_fit_list(char *const *texts, size_t count, size_t width)
{
	struct words_list list = {texts, count, 0, calloc(count + 1, sizeof(*list.hashes))};
	char **fitting = calloc(count + 1, sizeof(*fitting));
	bool memory = list.hashes && fitting;

	for (size_t i = 0; i < count && memory; i++) {
		fitting[i] = keyvis_width(texts[i]) <= width ? strdup(texts[i])
							     : words_cut_unlike(&list, width);
		memory = fitting[i] != NULL;
		if (memory)
			list.hashes[list.count++] = words_hash(fitting[i]);
	}
	free(list.hashes);
	if (memory)
		return fitting;
	keyvis_list_free(fitting, count);
	return NULL;
}

void keyvis_list_free(char **texts, size_t count)
{
	for (size_t i = 0; texts && i < count; i++)
		free(texts[i]);
	free(texts);
}

size_t keyvis_line(const char *text, size_t width)
{
	struct words_character character;
	size_t columns = 0, at = 0, space = 0;

	for (; text[at]; at += character.len) {
		character = words_next(text + at);
		if (text[at] == ' ')
			space = at;
		columns += character.columns;
		if (columns > width)
			return space > 0 ? space : at;
	}
	return at;
}

json_t *keyvis_list(const void *ctx, size_t count, json_t *(*make)(const void *ctx, size_t at))
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		if (json_array_append_new(list, make(ctx, i)) != 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

json_t *keyvis_string(char *text)
{
	json_t *string = json_string(text);

	free(text);
	return string;
}

void keyvis_put_xml(FILE *to, const char *text)
{
	for (; *text; text++) {
		if (strchr("<>&\"'", *text))
			fprintf(to, "&#%d;", *text);
		else
			fputc(*text, to);
	}
}
