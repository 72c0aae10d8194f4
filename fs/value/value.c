/* SPDX-License-Identifier: MIT */
/* Values: of the store, or a spool that is not written any more. */
#include "fs/value/value.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "fs/names/number.h"

struct value {
	atomic_uint refs;
	struct wcs_value *stored; /* NULL: it is the spool */
	struct spool spool;
	uint32_t etag;
};

static struct value *value_make(void)
{
	struct value *value = calloc(1, sizeof(*value));

	if (!value)
		return NULL;
	atomic_init(&value->refs, 1);
	spool_init(&value->spool);
	return value;
}

static int value_open_stored(struct value *value, const struct pos *pos)
{
	int rc = wcs_value_open(pos->table, pos_key(pos), pos->family, pos->qualifier, pos->ts,
				&value->stored);

	if (rc == 0)
		value->etag = wcs_value_info(value->stored)->etag;
	return rc;
}

static int value_open_aggregate(struct value *value, const struct pos *pos, enum wcs_type type)
{
	struct wcs_cell_info info;
	char text[NUMBER_TEXT];
	int rc = number_text(pos, type, text, &info);

	if (rc != 0)
		return rc;
	value->etag = info.etag;
	return spool_write(&value->spool, NULL, text, (size_t)info.size, 0);
}

int value_open(const struct pos *pos, struct value **value)
{
	struct value *made = value_make();
	enum wcs_type type;
	int rc;

	if (!made)
		return -ENOMEM;
	rc = pos_type(pos, &type);
	if (rc == 0)
		rc = wcs_type_aggregates(type) ? value_open_aggregate(made, pos, type)
					       : value_open_stored(made, pos);
	if (rc == 0)
		*value = made;
	else
		value_put(made);
	return rc;
}

struct value *value_new(struct spool *spool)
{
	struct value *value = value_make();

	if (!value)
		return NULL;
	value->spool = *spool;
	spool_init(spool);
	return value;
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

uint32_t value_etag(const struct value *value)
{
	return value->etag;
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

static int fill_mutation(struct wcs_mutation *mutation, const struct pos *pos, int64_t ts,
			 struct wcs_slice bytes)
{
	if (pos->kind == NODE_CELL && ts != WCS_TS_SERVER)
		return wcs_mutation_set_newest(mutation, pos->family, pos->qualifier, ts, bytes);
	return wcs_mutation_set(mutation, pos->family, pos->qualifier, ts, bytes);
}

int value_store(struct value *value, const char *directory, const struct pos *pos, int64_t *ts)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	unsigned char parsed[WCS_AGGREGATE_LINE_MAX];
	struct wcs_slice bytes;
	struct spool spool;
	int rc = -ENOMEM;

	spool_init(&spool);
	if (mutation)
		rc = value_copy(value, directory, &spool);
	if (rc == 0)
		rc = spool_map(&spool, &bytes);
	if (rc == 0)
		rc = number_to_store(pos, &bytes, parsed);
	if (rc == 0)
		rc = fill_mutation(mutation, pos, *ts, bytes);
	if (rc == 0)
		rc = wcs_row_mutate(pos->table, pos_key(pos), mutation, ts);
	spool_clear(&spool);
	wcs_mutation_free(mutation);
	return rc;
}

int value_load(const struct pos *pos, const char *directory, struct value **value)
{
	struct value *stored;
	struct spool spool;
	int rc = value_open(pos, &stored);

	if (rc != 0)
		return rc;
	spool_init(&spool);
	rc = value_copy(stored, directory, &spool);
	value_put(stored);
	if (rc == 0) {
		struct value *made = value_new(&spool);

		if (made)
			*value = made;
		else
			rc = -ENOMEM;
	}
	spool_clear(&spool);
	return rc;
}

size_t value_memory(const struct value *value)
{
	return value->spool.room;
}

int value_unload(struct value *value, const char *directory)
{
	/* Others may be reading the memory. Nobody can come by a reference meanwhile. */
	if (atomic_load(&value->refs) > 1 || value->stored || value->spool.fd >= 0)
		return 0;
	return spool_unload(&value->spool, directory);
}
