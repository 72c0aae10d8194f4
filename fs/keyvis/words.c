/* SPDX-License-Identifier: MIT */
/* Text that is printed: its width, its breaks, its escapes. */
#include <stdlib.h>
#include <string.h>

#include "fs/keyvis/picture.h"
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

/* ---- Lists ------------------------------------------------------------------------------- */

static bool words_listed(char *const *texts, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(texts[i], text) == 0)
			return true;
	return false;
}

/* Cuts a text so that it looks like none of those. The cut moves from the middle to the end, then
 * to the beginning. If each looks like one, it is in the middle. */
static char *words_cut_unlike(char *const *texts, size_t count, const char *text, size_t width)
{
	size_t heads = width - 1, middle = width / 3;
	char *fitting = words_cut(text, width, middle);

	for (size_t i = 1; fitting && words_listed(texts, count, fitting) && i <= heads; i++) {
		free(fitting);
		fitting = words_cut(text, width,
				    i == heads		 ? middle
				    : middle + i < heads ? middle + i
							 : heads - 1 - i);
	}
	return fitting;
}

char **keyvis_fit_list(char *const *texts, size_t count, size_t width)
{
	char **fitting = calloc(count + 1, sizeof(*fitting));

	for (size_t i = 0; fitting && i < count; i++) {
		fitting[i] = keyvis_width(texts[i]) <= width
				     ? strdup(texts[i])
				     : words_cut_unlike(fitting, i, texts[i], width);
		if (!fitting[i]) {
			keyvis_list_free(fitting, count);
			fitting = NULL;
		}
	}
	return fitting;
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
