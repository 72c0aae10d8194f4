/* SPDX-License-Identifier: MIT */
/*
 * Row keys as paths of the tree. How a segment is spelled and where a long one is cut only
 * names.c knows.
 */
#include "mkfs/key_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mkfs/program.h"
#include "store/rows.h"

char *key_path(struct wcs_slice key, unsigned char delimiter, const struct names_families *families)
{
	char name[NAMES_ENCODED_MAX(WCS_ROW_KEY_MAX) + 1], component[NAMES_CHUNK_MAX + 2];
	const char *at = key.data, *end = at + key.len, *next;
	char *path = NULL;
	size_t len, component_len;
	FILE *out = open_memstream(&path, &len);

	if (!out)
		return NULL;
	do {
		size_t offset = 0, name_len;

		next = memchr(at, delimiter, (size_t)(end - at));
		name_len = names_encode(NAMES_SEGMENT, families, at,
					(size_t)((next ? next : end) - at), name);
		do {
			offset = names_component(name, name_len, offset, component, &component_len);
			fprintf(out, "%s%s", component, offset < name_len || next ? "/" : "");
		} while (offset < name_len);
		at = next ? next + 1 : end;
	} while (next);
	if (fclose(out) == 0)
		return path;
	free(path);
	return NULL;
}

int key_parse(const struct program *program, const char *text, struct wcs_slice *key)
{
	size_t len = strlen(text);
	unsigned char *bytes = malloc(len + 1);

	if (!bytes)
		return program_fail(program, "no memory");
	if (wcs_text_decode(text, len, bytes, &key->len)) {
		free(bytes);
		return program_fail(program,
				    "%s: %% must be followed by two hex digits, 0-9 and A-F", text);
	}
	if (key->len == 0 || key->len > WCS_ROW_KEY_MAX) {
		free(bytes);
		return program_fail(program, "%s: a row key has 1 to %u bytes", text,
				    WCS_ROW_KEY_MAX);
	}
	key->data = bytes;
	return PROGRAM_OK;
}
