/* SPDX-License-Identifier: MIT */
/* Immutable values to read: a stored value that is held open, or the bytes of a spool that nobody
 * writes any more. */
#include "fs/value/value.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "fs/names/number.h"

struct value {
	atomic_uint refs;
	struct wcs_value *stored; /* NULL: it is the spool */
	struct spool spool;
	struct wcs_cell_info info; /* of a stored one */
};

struct value *value_new(struct spool *spool)
{
	struct value *value = calloc(1, sizeof(*value));

	if (!value)
		return NULL;
	atomic_init(&value->refs, 1);
	value->spool = *spool;
	spool_init(spool);
	return value;
}

int value_open(const struct pos *pos, struct value **value)
{
	char text[NUMBER_TEXT];
	struct spool empty;
	struct value *made;
	enum wcs_type type;
	int rc;

	spool_init(&empty);
	made = value_new(&empty);
	if (!made)
		return -ENOMEM;
	rc = pos_type(pos, &type);
	if (rc == 0 && wcs_type_aggregates(type)) {
		rc = number_text(pos, type, text, &made->info);
		if (rc == 0)
			rc = spool_write(&made->spool, NULL, text, (size_t)made->info.size, 0);
	} else if (rc == 0) {
		rc = pos_value_open(pos, &made->stored);
		if (rc == 0)
			made->info = *wcs_value_info(made->stored);
	}
	if (rc != 0) {
		value_put(made);
		return rc;
	}
	*value = made;
	return 0;
}

struct value *value_get(struct value *value)
{
	atomic_fetch_add(&value->refs, 1);
	return value;
}

void value_put(struct value *value)
{
	if (!value || atomic_fetch_sub(&value->refs, 1) > 1)
		return;
	wcs_value_close(value->stored);
	spool_clear(&value->spool);
	free(value);
}

uint64_t value_size(const struct value *value)
{
	return value->stored ? wcs_value_info(value->stored)->size : value->spool.size;
}

const struct wcs_cell_info *value_info(const struct value *value)
{
	return &value->info;
}

int value_read(struct value *value, void *buf, size_t len, uint64_t offset, size_t *got)
{
	if (value->stored)
		return wcs_value_read(value->stored, buf, len, offset, got);
	return spool_read(&value->spool, buf, len, offset, got);
}

int value_copy(struct value *value, const char *directory, struct spool *to)
{
	char buf[65536];
	size_t got = 1;
	int rc = 0;

	for (uint64_t at = 0; rc == 0 && got > 0; at += got) {
		rc = value_read(value, buf, sizeof(buf), at, &got);
		if (rc == 0)
			rc = spool_write(to, directory, buf, got, to->size);
	}
	return rc;
}

int value_store(struct value *value, const struct pos *pos, int64_t *ts)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	unsigned char parsed[WCS_AGGREGATE_LINE_MAX];
	bool newest = pos->kind == NODE_CELL && *ts != WCS_TS_SERVER;
	struct wcs_slice bytes;
	int rc = mutation ? spool_map(&value->spool, &bytes) : -ENOMEM;

	if (rc == 0)
		rc = number_to_store(pos, &bytes, parsed);
	if (rc == 0)
		rc = (newest ? wcs_mutation_set_newest
			     : wcs_mutation_set)(mutation, pos->family, pos->qualifier, *ts, bytes);
	if (rc == 0)
		rc = wcs_row_mutate(pos->table, pos_key(pos), mutation, ts);
	wcs_mutation_free(mutation);
	return rc;
}

size_t value_memory(const struct value *value)
{
	return value->spool.room;
}

int value_unload(struct value *value, const char *directory)
{
	/* The holder of another reference may be reading the memory. If the caller has the only
	 * one, no thread can take another during this call. */
	if (atomic_load(&value->refs) > 1 || value->stored || value->spool.fd >= 0)
		return 0;
	return spool_unload(&value->spool, directory);
}
