/* SPDX-License-Identifier: MIT */
/* LevelDB's C API doing the least that the same work needs: see raw.h. */
#include "tests/bench/raw.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/leveldb/engine.h"
#include "tests/bench/peer.h"

enum {
	BLOOM_BITS = 10,
	CACHE = 64 << 20,
	BUFFER = 16 << 20,
	STEPS = 8,    /* before a seek */
	KEY_MAX = 200 /* bytes */
};

struct raw {
	leveldb_t *db;
	leveldb_options_t *options;
	leveldb_filterpolicy_t *filter;
	leveldb_cache_t *cache;
	leveldb_readoptions_t *read;
	leveldb_writeoptions_t *write;
	leveldb_iterator_t *iter;
	uint64_t sum; /* of the bytes that were found, so that they are read */
};

struct raw *raw_open(const char *data)
{
	struct raw *raw = calloc(1, sizeof(*raw));
	char *error = NULL;

	if (!raw)
		peer_die(data, ENOMEM);
	raw->options = leveldb_options_create();
	raw->filter = leveldb_filterpolicy_create_bloom(BLOOM_BITS);
	raw->cache = leveldb_cache_create_lru(CACHE);
	leveldb_options_set_filter_policy(raw->options, raw->filter);
	leveldb_options_set_cache(raw->options, raw->cache);
	leveldb_options_set_write_buffer_size(raw->options, BUFFER);
	raw->read = leveldb_readoptions_create();
	leveldb_readoptions_set_verify_checksums(raw->read, 1);
	raw->write = leveldb_writeoptions_create();
	raw->db = leveldb_open(raw->options, data, &error);
	if (error)
		peer_die(error, 0);
	raw->iter = leveldb_create_iterator(raw->db, raw->read);
	return raw;
}

void raw_close(struct raw *raw)
{
	leveldb_iter_destroy(raw->iter);
	leveldb_close(raw->db);
	leveldb_options_destroy(raw->options);
	leveldb_filterpolicy_destroy(raw->filter);
	leveldb_cache_destroy(raw->cache);
	leveldb_readoptions_destroy(raw->read);
	leveldb_writeoptions_destroy(raw->write);
	free(raw);
}

/* 'c', the table's id, which is 1, and the row. */
static size_t key_row(char *key, const char *row)
{
	memcpy(key, "c\0\0\0\1", 5);
	strcpy(key + 5, row);
	return 5 + strlen(row);
}

static size_t key_family(char *key, const char *row)
{
	size_t len = key_row(key, row);

	memcpy(key + len, "\0\1f\0", 4);
	return len + 4;
}

/* The cell of that column with the tree's timestamp. */
static size_t key_cell(char *key, const char *row, uint32_t i)
{
	size_t len = key_family(key, row);
	uint64_t reversed = (uint64_t)(INT64_MAX - TREE_TS);

	len += (size_t)snprintf(key + len, KEY_MAX - len, TREE_NAME, i);
	memcpy(key + len, "\0\1", 2);
	for (int at = 0; at < 8; at++)
		key[len + 2 + (size_t)at] = (char)(reversed >> (56 - 8 * at));
	return len + 10;
}

/* ---- Listings ---------------------------------------------------------------------------- */

/* How long the key is up to the end of the segment behind the prefix; 0: it is not behind it. */
static size_t segment_end(const char *key, size_t len, const char *prefix, size_t prefix_len)
{
	if (len < prefix_len || memcmp(key, prefix, prefix_len) != 0)
		return 0;
	while (prefix_len < len && key[prefix_len] != '#' && key[prefix_len] != '\0')
		prefix_len++;
	return prefix_len;
}

/* Is the iterator still at a key of that segment? */
static bool same(const leveldb_iterator_t *iter, const char *segment, size_t end)
{
	size_t len;
	const char *key = leveldb_iter_key(iter, &len);

	return len > end && memcmp(key, segment, end) == 0 && (key[end] == '#' || key[end] == '\0');
}

uint32_t raw_list(struct raw *raw, const char *prefix, uint32_t most)
{
	leveldb_iterator_t *iter = leveldb_create_iterator(raw->db, raw->read);
	char start[KEY_MAX], segment[KEY_MAX];
	size_t start_len = key_row(start, prefix), len, end;
	uint32_t count = 0;

	leveldb_iter_seek(iter, start, start_len);
	while (count < most && leveldb_iter_valid(iter)) {
		const char *key = leveldb_iter_key(iter, &len);
		int steps = 0;

		end = segment_end(key, len, start, start_len);
		if (end == 0 || end >= KEY_MAX)
			break;
		memcpy(segment, key, end);
		count++;
		do
			leveldb_iter_next(iter);
		while (leveldb_iter_valid(iter) && same(iter, segment, end) && ++steps < STEPS);
		if (steps < STEPS)
			continue;
		segment[end] = '#' + 1;
		leveldb_iter_seek(iter, segment, end + 1);
	}
	leveldb_iter_destroy(iter);
	return count;
}

uint32_t raw_columns(struct raw *raw, const char *row)
{
	leveldb_iterator_t *iter = leveldb_create_iterator(raw->db, raw->read);
	char prefix[KEY_MAX];
	size_t prefix_len = key_family(prefix, row), len;
	uint32_t count = 0;

	for (leveldb_iter_seek(iter, prefix, prefix_len); leveldb_iter_valid(iter);
	     leveldb_iter_next(iter)) {
		const char *key = leveldb_iter_key(iter, &len);

		if (len < prefix_len || memcmp(key, prefix, prefix_len) != 0)
			break;
		leveldb_iter_value(iter, &len);
		raw->sum += len;
		count++;
	}
	leveldb_iter_destroy(iter);
	return count;
}

/* ---- Cells ------------------------------------------------------------------------------- */

void raw_seek(struct raw *raw, uint32_t i)
{
	char key[KEY_MAX];
	size_t len = key_cell(key, "c", i), found_len = 0;
	const char *found = NULL;

	leveldb_iter_seek(raw->iter, key, len - 8);
	if (leveldb_iter_valid(raw->iter))
		found = leveldb_iter_key(raw->iter, &found_len);
	if (!found || found_len != len || memcmp(found, key, len) != 0)
		peer_die("raw: a cell is missing", 0);
	leveldb_iter_value(raw->iter, &len);
	raw->sum += len;
}

void raw_get(struct raw *raw, uint32_t i)
{
	char key[KEY_MAX], *error = NULL, *value;
	size_t len = key_cell(key, "c", i);

	value = leveldb_get(raw->db, raw->read, key, len, &len, &error);
	if (!value)
		peer_die("raw: a cell is missing", 0);
	raw->sum += len;
	leveldb_free(value);
}

void raw_put(struct raw *raw, uint32_t i)
{
	char key[KEY_MAX], *error = NULL;
	size_t len = key_cell(key, "n", i);

	leveldb_put(raw->db, raw->write, key, len, "\0\0\0\0\0" TREE_VALUE, 5 + strlen(TREE_VALUE),
		    &error);
	if (error)
		peer_die(error, 0);
}
