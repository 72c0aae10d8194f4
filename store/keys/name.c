/* SPDX-License-Identifier: MIT */
/*
 * The names of segments: what the codec shows, spelled as lib/names.h spells bytes, or else "%="
 * and the spelling of the stored bytes. A name that would be split into chunks is always of the
 * second form, so that the names in a chunk directory are in the order of their bytes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/names.h"
#include "store/backend.h"
#include "store/keys/keys.h"

size_t wcs_keys_name(const struct wcs_keys *keys, size_t segment,
		     const struct names_families *families, struct wcs_slice bytes, char *name)
{
	unsigned char shown[WCS_ROW_KEY_MAX + WCS_KEYS_SHOWN_MAX];
	size_t len;

	if (!wcs_keys_coded(keys, segment))
		return names_encode(NAMES_SEGMENT, families, bytes.data, bytes.len, name);
	if (wcs_keys_decode(keys, segment, bytes, shown, &len)) {
		len = names_encode(NAMES_SEGMENT, families, shown, len, name);
		if (len <= NAMES_CHUNK_MAX)
			return len;
	}
	memcpy(name, "%=", 2);
	return names_encode(NAMES_SEGMENT, NULL, bytes.data, bytes.len, name + 2) + 2;
}

int wcs_keys_name_parse(const struct wcs_keys *keys, size_t segment,
			const struct names_families *families, struct wcs_slice name,
			unsigned char *bytes, size_t *len, struct wcs_fault *fault)
{
	bool coded = wcs_keys_coded(keys, segment);
	bool stored = coded && name.len >= 2 && memcmp(name.data, "%=", 2) == 0;
	size_t mark = stored ? 2 : 0, count;
	char spelled[WCS_KEYS_NAME_ROOM(WCS_ROW_KEY_MAX)], again[sizeof(spelled)];
	struct wcs_slice data = {spelled, 0};

	if (name.len - mark > NAMES_ENCODED_MAX(WCS_ROW_KEY_MAX))
		return -ENAMETOOLONG;
	if (coded && !stored && name.len > NAMES_CHUNK_MAX)
		return wcs_fault_set(
			fault, -EINVAL,
			"a name of more than %u bytes must be written as %%= and the stored bytes",
			NAMES_CHUNK_MAX);
	if (names_decode(NAMES_SEGMENT, stored ? NULL : families, (const char *)name.data + mark,
			 name.len - mark, spelled, &data.len) != 0)
		return -EINVAL;
	if (data.len > WCS_ROW_KEY_MAX)
		return -ENAMETOOLONG;
	if (coded && !stored)
		return wcs_keys_encode(keys, segment, data, NULL, bytes, len, fault);
	/* A name that its codec shows is spelled so. */
	count = stored ? wcs_keys_name(keys, segment, families, data, again) : 0;
	if (stored && (count != name.len || memcmp(again, name.data, count) != 0))
		return wcs_fault_set(fault, -EINVAL, "its name is %.*s", (int)count, again);
	memcpy(bytes, spelled, data.len);
	*len = data.len;
	return 0;
}

char *wcs_keys_path(const struct wcs_keys *keys, unsigned char delimiter,
		    const struct names_families *families, struct wcs_slice key)
{
	char name[WCS_KEYS_NAME_ROOM(WCS_ROW_KEY_MAX)], component[NAMES_CHUNK_MAX + 2];
	const char *at = key.data, *end = at + key.len, *next;
	char *path = NULL;
	size_t len, component_len;
	FILE *out = open_memstream(&path, &len);

	if (!out)
		return NULL;
	for (size_t segment = 0; at; segment++) {
		size_t offset = 0, name_len;

		next = memchr(at, delimiter, (size_t)(end - at));
		name_len = wcs_keys_name(keys, segment, families,
					 (struct wcs_slice){at, (size_t)((next ? next : end) - at)},
					 name);
		do {
			offset = names_component(name, name_len, offset, component, &component_len);
			fprintf(out, "%s%s", component, offset < name_len || next ? "/" : "");
		} while (offset < name_len);
		at = next ? next + 1 : NULL;
	}
	if (fclose(out) == 0)
		return path;
	free(path);
	return NULL;
}
