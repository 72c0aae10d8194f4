/* SPDX-License-Identifier: MIT */
/*
 * Merges LevelDB's tables and the changes of its logs: gives each key once, in order, with the
 * value of its highest sequence number, whichever file had it. Levels, which only a MANIFEST knows,
 * have no part in it. A table is open from its first key to its last one.
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <stdio.h>
#include <unistd.h>

#include "store/disk/directory.h"

static void merge_close_input(struct ldb_merge *merge, size_t at)
{
	struct ldb_tablefile *input = merge->inputs[at];

	ldb_tablefile_close(input);
	close(input->fd);
	free(input);
	merge->inputs[at] = merge->inputs[--merge->count];
}

/* Moves an input to its next entry, and closes it at its end. */
static int merge_advance(struct ldb_merge *merge, size_t at)
{
	int rc = ldb_tablefile_next(merge->inputs[at]);

	if (rc == 0)
		merge_close_input(merge, at);
	return rc < 0 ? rc : 0;
}

static bool merge_before(struct wcs_slice key, const struct ldb_buffer *from)
{
	return wcs_slice_compare((struct wcs_slice){key.data, key.len - 8},
				 (struct wcs_slice){from->data, from->len - 8}) < 0;
}

static int merge_open_input(struct ldb_merge *merge, const struct ldb_fsck_source *source)
{
	struct ldb_tablefile *input;
	char name[LDB_FILE_NAME_MAX];
	uint64_t size;
	int fd, rc;

	if (merge_before(ldb_buffer_slice(&source->largest), &merge->from))
		return 0;
	if (grow(&merge->inputs, &merge->room, merge->count + 1, 16, sizeof(*merge->inputs)))
		return -ENOMEM;
	fd = ldb_files_open_table(&merge->f->files, source->number, &size);
	if (fd < 0) {
		ldb_file_name(name, LDB_FILE_TABLE, source->number);
		return wcs_fault_set(merge->f->fsck->fault, directory_error(errno), "data/%s: %s",
				     name, strerror(errno));
	}
	input = calloc(1, sizeof(*input));
	if (!input) {
		close(fd);
		return -ENOMEM;
	}
	*input = (struct ldb_tablefile){.fd = fd,
					.size = source->size,
					.from = ldb_buffer_slice(&merge->from),
					.good = source->good};
	merge->inputs[merge->count++] = input;
	rc = ldb_tablefile_open(input);
	if (!rc)
		rc = merge_advance(merge, merge->count - 1);
	while (!rc && merge->count > 0 && merge->inputs[merge->count - 1] == input &&
	       merge_before(input->data.key, &merge->from))
		rc = merge_advance(merge, merge->count - 1);
	return rc;
}

/* Finds the input with the first key; count: it is that of the logs. *key: empty: there is none.
 */
static size_t merge_first(const struct ldb_merge *merge, struct wcs_slice *key)
{
	size_t first = merge->count;

	*key = ldb_buffer_slice(&merge->logged);
	for (size_t i = 0; i < merge->count; i++) {
		struct wcs_slice other = merge->inputs[i]->data.key;

		if (key->len > 0 && ldb_internal_compare(other, *key) >= 0)
			continue;
		*key = other;
		first = i;
	}
	return first;
}

/* Moves on from the entry with the first key. */
static int merge_pass(struct ldb_merge *merge)
{
	struct wcs_slice key;
	size_t first = merge_first(merge, &key);

	if (first < merge->count)
		return merge_advance(merge, first);
	leveldb_iter_next(merge->logs);
	return ldb_fsck_scratch_key(merge->logs, &merge->logged);
}

int ldb_merge_open(struct ldb_merge *merge, struct ldb_fsck *f, struct wcs_slice from)
{
	int rc;

	memset(merge, 0, sizeof(*merge));
	merge->f = f;
	merge->logs = ldb_fsck_scratch_iterate(f, &from);
	rc = merge->logs ? ldb_fsck_scratch_key(merge->logs, &merge->logged) : -ENOMEM;
	if (!rc)
		rc = ldb_buffer_set(&merge->from, from);
	return rc ? rc : ldb_buffer_append(&merge->from, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
}

int ldb_merge_next(struct ldb_merge *merge)
{
	const struct ldb_fsck *f = merge->f;
	struct wcs_slice key;
	size_t first, len;
	int rc = merge->key.data ? merge_pass(merge) : 0;

	for (; !rc; rc = merge_pass(merge)) {
		first = merge_first(merge, &key);
		while (!rc && merge->next < f->source_count &&
		       (key.len == 0 ||
			ldb_internal_compare(ldb_buffer_slice(&f->sources[merge->next].smallest),
					     key) <= 0)) {
			rc = merge_open_input(merge, &f->sources[merge->next++]);
			if (!rc)
				first = merge_first(merge, &key);
		}
		if (rc || key.len == 0)
			break;
		merge->key = (struct wcs_slice){key.data, key.len - 8};
		if (merge->last.data &&
		    wcs_slice_compare(merge->key, ldb_buffer_slice(&merge->last)) == 0)
			continue;
		rc = ldb_buffer_set(&merge->last, merge->key);
		if (rc)
			break;
		if ((ldb_internal_tag(key) & 0xff) == 0) /* a delete */
			continue;
		merge->key = ldb_buffer_slice(&merge->last);
		if (first < merge->count) {
			merge->value = merge->inputs[first]->data.value;
		} else {
			merge->value.data = leveldb_iter_value(merge->logs, &len);
			merge->value.len = len;
		}
		return 1;
	}
	return rc;
}

int ldb_merge_close(struct ldb_merge *merge, int rc)
{
	while (merge->count > 0)
		merge_close_input(merge, merge->count - 1);
	free(merge->inputs);
	free(merge->last.data);
	free(merge->from.data);
	free(merge->logged.data);
	return ldb_fsck_scratch_end(merge->f, merge->logs, rc);
}
