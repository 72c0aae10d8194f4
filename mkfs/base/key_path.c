/* SPDX-License-Identifier: MIT */
/* Row keys as paths of the tree, which store/keys/name.c spells. */
#include "mkfs/base/key_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/names.h"
#include "store/keys/keys.h"

static bool key_has_family(void *ctx, const void *name, size_t len)
{
	return wcs_schema_family(ctx, name, len) != NULL;
}

static struct names_families key_families(const struct wcs_table_schema *table)
{
	return (struct names_families){key_has_family, (void *)(uintptr_t)table};
}

static int key_fail_size(const struct program *program, const char *text,
			 const struct wcs_table_schema *table)
{
	return program_fail(program, "%s: a row key has 1 to %zu bytes%s", text,
			    wcs_keys_row_max(table->keys),
			    wcs_keys_salted(table->keys) ? " behind its salt" : "");
}

char *key_path(struct wcs_slice key, const struct wcs_table_schema *table)
{
	const struct names_families families = key_families(table);

	return wcs_keys_path(table->keys, table->delimiter, &families, key);
}

int key_parse(const struct program *program, const char *text, const struct wcs_table_schema *table,
	      bool remark, struct wcs_slice *key)
{
	const struct wcs_keys plain = wcs_keys_plain(table->delimiter);
	struct wcs_fault fault = {0};
	unsigned char *bytes = malloc(WCS_ROW_KEY_MAX);
	struct wcs_keys_any any = {.now = clock_now()};
	size_t len;
	int rc;

	if (!bytes)
		return program_fail(program, "no memory");
	rc = wcs_keys_parse(table->keys ? table->keys : &plain, 0,
			    (struct wcs_slice){text, strlen(text)}, &any, bytes, &len, &fault);
	if (rc || len == 0 || len > wcs_keys_row_max(table->keys)) {
		free(bytes);
		return rc == -EINVAL ? program_fail(program, "%s: %s", text, fault.text)
				     : key_fail_size(program, text, table);
	}
	if (remark && fault.text[0])
		program_fail(program, "%s: %s", text, fault.text);
	*key = (struct wcs_slice){bytes, len};
	return PROGRAM_OK;
}

/* A path that is read, up to the component at hand. */
struct key_reader {
	const struct wcs_table_schema *table;
	size_t segment;	 /* index of the present one */
	size_t name_len; /* of its chunks so far; 0: it begins */
	size_t len;	 /* of the key so far */
	char name[WCS_KEYS_NAME_ROOM(WCS_ROW_KEY_MAX) + NAMES_COMPONENT_MAX];
	unsigned char key[2 * WCS_ROW_KEY_MAX + WCS_KEYS_SHOWN_MAX + 1];
	struct wcs_fault fault;
};

static int key_refuse(struct key_reader *reader, const char *why)
{
	snprintf(reader->fault.text, sizeof(reader->fault.text), "%s", why);
	return -EINVAL;
}

static int key_take(struct key_reader *reader, const char *component, size_t len)
{
	const struct names_families families = key_families(reader->table);
	unsigned char *to = reader->key + reader->len;
	size_t count;
	bool more;

	if (len > NAMES_COMPONENT_MAX)
		return key_refuse(reader, "no name has more than 255 bytes");
	if (reader->name_len == 0 && wcs_schema_family(reader->table, component, len))
		return key_refuse(reader, "a family of the table, before which a row's path ends");
	if (reader->name_len + len > sizeof(reader->name))
		return -ENAMETOOLONG;
	if (names_join(NAMES_TEXT, reader->name, reader->name_len, component, len, reader->name,
		       &reader->name_len, &more))
		return -EINVAL;
	if (more)
		return 0;
	if (reader->segment > 0)
		*to++ = reader->table->delimiter;
	if (wcs_keys_name_parse(reader->table->keys, reader->segment, &families,
				(struct wcs_slice){reader->name, reader->name_len}, to, &count,
				&reader->fault))
		return -EINVAL;
	reader->len = (size_t)(to - reader->key) + count;
	reader->name_len = 0;
	reader->segment++;
	return reader->len > wcs_keys_row_max(reader->table->keys) ? -ENAMETOOLONG : 0;
}

/* Is this the one path of the key? It ends at len, and is in the text behind the table's name. */
static int key_compare(const struct program *program, const char *text, size_t len,
		       const struct wcs_table_schema *table, struct wcs_slice key)
{
	const char *path = strchr(text, '/') + 1;
	char *right = key_path(key, table);
	int exit_code = PROGRAM_OK;

	if (!right)
		exit_code = program_fail(program, "no memory");
	else if (strlen(right) != len || memcmp(right, path, len) != 0)
		exit_code = program_fail(program, "%s: this row's path is %.*s%s", text,
					 (int)(path - text), text, right);
	free(right);
	return exit_code;
}

int key_of_path(const struct program *program, const char *text,
		const struct wcs_table_schema *table, struct wcs_slice *key)
{
	struct key_reader reader = {.table = table};
	const char *path = strchr(text, '/') + 1;
	size_t whole = strlen(path), at = 0, len = 0;
	void *bytes;
	int rc = 0;

	while (whole > 0 && path[whole - 1] == '/')
		whole--;
	for (; rc == 0 && at < whole; at += len + 1) {
		len = strcspn(path + at, "/");
		rc = key_take(&reader, path + at, len);
		if (rc == -EINVAL)
			return program_fail(program, "%s: %.*s: %s", text, (int)len, path + at,
					    reader.fault.text[0] ? reader.fault.text
								 : "not the name of a segment");
	}
	if (rc == 0 && reader.name_len > 0)
		return program_fail(program, "%s: it ends within the chunks of a long name", text);
	if (rc || reader.len == 0)
		return key_fail_size(program, text, table);
	if (key_compare(program, text, whole, table, (struct wcs_slice){reader.key, reader.len}))
		return PROGRAM_FAILED;
	bytes = malloc(reader.len);
	if (!bytes)
		return program_fail(program, "no memory");
	*key = (struct wcs_slice){memcpy(bytes, reader.key, reader.len), reader.len};
	return PROGRAM_OK;
}
