/* SPDX-License-Identifier: MIT */
/* Lines of a feed of changes: they are held by several readers, which spell their large values. */
#include "store/resolve/feed_line.h"

#include <stdlib.h>
#include <string.h>

#include "lib/grow.h"

struct wcs_change *feed_line_new(struct wcs_slice key)
{
	struct wcs_change *change = calloc(1, sizeof(*change) + key.len);

	if (change == NULL)
		return NULL;
	change->holders = 1;
	change->keyed = key.data != NULL;
	change->key_len = key.len;
	if (key.len > 0)
		memcpy(change->key, key.data, key.len);
	return change;
}

struct wcs_change *wcs_change_text(struct wcs_slice key, const char *text, size_t len)
{
	struct wcs_change *change = feed_line_new(key);

	if (change != NULL &&
	    grow(&change->text.bytes, &change->text.room, len, len > 0 ? len : 1, 1) != 0) {
		free(change);
		return NULL;
	}
	if (change != NULL) {
		memcpy(change->text.bytes, text, len);
		change->text.len = len;
	}
	return change;
}

struct wcs_change *wcs_change_hold(struct wcs_change *change)
{
	atomic_fetch_add(&change->holders, 1);
	return change;
}

void wcs_change_free(struct wcs_change *change)
{
	if (change == NULL || atomic_fetch_sub(&change->holders, 1) > 1)
		return;
	for (size_t i = 0; i < change->value_count; i++)
		wcs_value_close(change->values[i].value);
	free(change->values);
	free(change->text.bytes);
	free(change);
}

struct wcs_slice wcs_change_key(const struct wcs_change *change)
{
	return (struct wcs_slice){change->keyed ? change->key : NULL, change->key_len};
}

uint64_t wcs_change_size(const struct wcs_change *change)
{
	return sizeof(*change) + change->key_len + change->text.room + change->size +
	       change->value_room * sizeof(*change->values);
}

/* ---- Reading ----------------------------------------------------------------------------- */

struct wcs_change_reader {
	struct wcs_change *change;
	size_t at, next; /* in the text; of its values, the next one */
	bool in_value;
	int rc; /* of the line */
	struct wcs_row_writer writer;
	struct wcs_row_value value;
	size_t start, end;   /* of the unread text in room */
	unsigned char *room; /* for a piece of a large value; NULL before the first */
};

struct wcs_change_reader *wcs_change_reader_new(void)
{
	return calloc(1, sizeof(struct wcs_change_reader));
}

void wcs_change_reader_free(struct wcs_change_reader *reader)
{
	if (reader == NULL)
		return;
	wcs_change_free(reader->change);
	free(reader->value.bytes);
	free(reader->room);
	free(reader);
}

void wcs_change_begin(struct wcs_change_reader *reader, struct wcs_change *change)
{
	wcs_change_free(reader->change);
	reader->change = change;
	reader->at = reader->next = reader->start = reader->end = 0;
	reader->in_value = false;
	reader->rc = 0;
}

static int feed_read_value(void *ctx, void *buf, size_t len, uint64_t offset, size_t *got)
{
	return wcs_value_read(ctx, buf, len, offset, got);
}

/* Spells the next piece of a value into the room. */
static int feed_piece(struct wcs_change_reader *reader)
{
	struct feed_value *large = &reader->change->values[reader->next];
	int rc = 0;

	if (reader->room == NULL) {
		reader->room = malloc(WCS_ROW_WRITE_VALUE(WCS_ROW_VALUE_PIECE) + 64);
		reader->value.bytes = malloc(WCS_ROW_VALUE_READ + 3);
	}
	if (reader->room == NULL || reader->value.bytes == NULL)
		return -ENOMEM;
	wcs_row_write_to(&reader->writer, reader->room);
	if (!reader->in_value) {
		reader->value.read = feed_read_value;
		reader->value.ctx = large->value;
		reader->value.size = wcs_value_info(large->value)->size;
		reader->value.text = atomic_load(&large->text);
		rc = wcs_row_value_begin(&reader->writer, &reader->value);
		atomic_store(&large->text, reader->value.text);
		reader->in_value = rc == 0;
	}
	if (rc == 0)
		rc = wcs_row_value_piece(&reader->writer, &reader->value);
	if (rc == 0) {
		reader->in_value = false;
		reader->next++;
	}
	reader->start = 0;
	reader->end = rc < 0 ? 0 : (size_t)(reader->writer.to - reader->room);
	return rc < 0 ? rc : 0;
}

int wcs_change_read(struct wcs_change_reader *reader, void *buf, size_t len, size_t *got)
{
	const struct wcs_change *change = reader->change;
	unsigned char *to = buf;
	size_t made = 0;

	while (change != NULL && made < len && reader->rc == 0) {
		bool values = reader->next < change->value_count;
		size_t stop = values ? change->values[reader->next].at : change->text.len;
		size_t piece = reader->end - reader->start, some = piece;
		const void *from = reader->room + reader->start;

		if (piece == 0 && !reader->in_value) {
			some = stop - reader->at;
			from = change->text.bytes + reader->at;
		}
		if (some > len - made)
			some = len - made;
		if (some == 0) {
			if (!values)
				break;
			reader->rc = feed_piece(reader);
			continue;
		}
		memcpy(to + made, from, some);
		made += some;
		*(piece > 0 ? &reader->start : &reader->at) += some;
	}
	if (made == 0 && len > 0 && reader->rc != 0)
		return reader->rc;
	*got = made;
	return 0;
}
