/* SPDX-License-Identifier: MIT */
/*
 * A record: the counts of all tables in one slot of a window. Numbers are varints: seven bits a
 * byte, the lowest first, with 0x80 where another follows.
 *
 *     slot  { table  delimiter  length  span ... } ...      tables and spans ascending
 *     span: shared  rest * 4 + kind  bytes(rest)  [end-shared end-rest bytes]
 *           reads  writes  bytes  nanoseconds  timed
 *
 * A span starts at the first `shared` bytes of the start before it in the table, and `rest` more.
 * Its end is, by kind: 0 the start of the next span, 1 its own start and a NUL (one row), 2 the
 * first end-shared bytes of its start and end-rest more, 3 the end of the table. `length` is that
 * of the table's spans. A record that is not exactly so is ignored.
 */
#include "store/heat/heat_private.h"

#include "lib/grow.h"

#include <errno.h>

enum { END_NEXT = 0, END_ROW = 1, END_GIVEN = 2, END_TABLE = 3 };

struct heat_spans *heat_record_table(struct heat_record *record, uint32_t table,
				     unsigned char delimiter)
{
	size_t at = record->count;

	while (at > 0 && record->tables[at - 1].table > table)
		at--;
	if (at > 0 && record->tables[at - 1].table == table)
		return &record->tables[at - 1].spans;
	if (grow(&record->tables, &record->room, record->count + 1, 4, sizeof(*record->tables)) !=
	    0)
		return NULL;
	memmove(record->tables + at + 1, record->tables + at,
		(record->count++ - at) * sizeof(*record->tables));
	record->tables[at] = (struct heat_table){.table = table, .delimiter = delimiter};
	return &record->tables[at].spans;
}

struct heat_spans *heat_record_find(const struct heat_record *record, uint32_t table)
{
	for (size_t i = 0; i < record->count; i++)
		if (record->tables[i].table == table)
			return &record->tables[i].spans;
	return NULL;
}

void heat_record_free(struct heat_record *record)
{
	for (size_t i = 0; i < record->count; i++)
		heat_spans_free(&record->tables[i].spans);
	free(record->tables);
	heat_arena_free(&record->bytes);
	*record = (struct heat_record){.count = 0};
}

/* ---- Encoding ---------------------------------------------------------------------------- */

/* Bytes being written; to NULL: they are counted. */
struct writer {
	unsigned char *to;
	size_t len;
};

static void put_byte(struct writer *writer, unsigned char byte)
{
	if (writer->to != NULL)
		writer->to[writer->len] = byte;
	writer->len++;
}

static void put_number(struct writer *writer, uint64_t n)
{
	for (; n >= 0x80; n >>= 7)
		put_byte(writer, (unsigned char)(n | 0x80));
	put_byte(writer, (unsigned char)n);
}

static void put_key(struct writer *writer, struct wcs_slice before, struct wcs_slice key,
		    unsigned int shift, unsigned int kind)
{
	const unsigned char *b = key.data;
	size_t shared = wcs_slice_shared(before, key);

	put_number(writer, shared);
	put_number(writer, (uint64_t)(key.len - shared) << shift | kind);
	for (size_t i = shared; i < key.len; i++)
		put_byte(writer, b[i]);
}

static unsigned int span_end_kind(const struct heat_spans *spans, size_t at)
{
	const struct heat_span *span = &spans->spans[at];

	if (span->end.data == NULL)
		return END_TABLE;
	if (wcs_keys_one(span->start, span->end))
		return END_ROW;
	return at + 1 < spans->count && wcs_slice_compare(span->end, span[1].start) == 0
		       ? END_NEXT
		       : END_GIVEN;
}

static void put_spans(struct writer *writer, const struct heat_spans *spans)
{
	struct wcs_slice before = {"", 0};

	for (size_t i = 0; i < spans->count; i++) {
		const struct heat_span *span = &spans->spans[i];
		unsigned int kind = span_end_kind(spans, i);

		put_key(writer, before, span->start, 2, kind);
		if (kind == END_GIVEN)
			put_key(writer, span->start, span->end, 0, 0);
		for (size_t n = 0; n < HEAT_COUNTS; n++)
			put_number(writer, span->counts.each[n]);
		before = span->start;
	}
}

size_t heat_record_size(const struct heat_spans *spans)
{
	struct writer writer = {NULL, 0};

	put_spans(&writer, spans);
	return writer.len;
}

int heat_record_encode(const struct heat_record *record, int64_t slot, unsigned char **bytes,
		       size_t *len)
{
	struct writer writer = {NULL, 0};

	for (int pass = 0; pass < 2; pass++) {
		writer.len = 0;
		put_number(&writer, (uint64_t)slot);
		for (size_t i = 0; i < record->count; i++) {
			put_number(&writer, record->tables[i].table);
			put_number(&writer, record->tables[i].delimiter);
			put_number(&writer, heat_record_size(&record->tables[i].spans));
			put_spans(&writer, &record->tables[i].spans);
		}
		if (pass == 0)
			writer.to = malloc(writer.len);
		if (writer.to == NULL)
			return -ENOMEM;
	}
	*bytes = writer.to;
	*len = writer.len;
	return 0;
}

/* ---- Decoding ---------------------------------------------------------------------------- */

struct reader {
	const unsigned char *at, *end;
	bool bad;
};

static uint64_t get_number(struct reader *reader)
{
	uint64_t n = 0;

	for (unsigned int shift = 0; shift < 64 && reader->at < reader->end; shift += 7) {
		unsigned char byte = *reader->at++;

		n |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return n;
	}
	reader->bad = true;
	return 0;
}

/* A key that begins as `before` does. */
static struct wcs_slice get_key(struct reader *reader, struct heat_arena *arena,
				struct wcs_slice before, unsigned int shift, unsigned int *kind)
{
	uint64_t shared = get_number(reader), rest = get_number(reader);
	unsigned char key[WCS_ROW_KEY_MAX + 1];

	if (kind != NULL)
		*kind = (unsigned int)rest & ((1u << shift) - 1);
	rest >>= shift;
	if (reader->bad || shared > before.len || rest > (uint64_t)(reader->end - reader->at) ||
	    shared + rest > sizeof(key)) {
		reader->bad = true;
		return (struct wcs_slice){"", 0};
	}
	if (shared > 0)
		memcpy(key, before.data, (size_t)shared);
	memcpy(key + shared, reader->at, (size_t)rest);
	reader->at += rest;
	return heat_arena_copy(arena, (struct wcs_slice){key, (size_t)(shared + rest)}, 0);
}

/* A span; its end is not known yet if the kind is END_NEXT. */
static void get_span(struct reader *reader, struct heat_arena *arena, struct wcs_slice before,
		     struct heat_span *span, unsigned int *kind)
{
	*span = (struct heat_span){.start = get_key(reader, arena, before, 2, kind)};
	if (*kind == END_ROW && span->start.data != NULL)
		span->end = heat_arena_copy(arena, span->start, 1);
	if (*kind == END_GIVEN)
		span->end = get_key(reader, arena, span->start, 0, NULL);
	for (size_t n = 0; n < HEAT_COUNTS; n++)
		span->counts.each[n] = get_number(reader);
}

static int get_spans(struct reader *reader, struct heat_arena *arena, struct heat_spans *spans)
{
	struct heat_span span = {.start = {"", 0}}, *last;
	unsigned int kind = END_GIVEN;
	bool open = false; /* the last span ends at the next one's start */

	while (reader->at < reader->end && !reader->bad) {
		struct wcs_slice before = span.start;

		get_span(reader, arena, before, &span, &kind);
		last = spans->count > 0 ? &spans->spans[spans->count - 1] : NULL;
		if (span.start.data == NULL || (span.end.data == NULL && kind == END_GIVEN))
			return -ENOMEM;
		if (open)
			last->end = span.start;
		if (last != NULL && heat_compare_ends(last->end, span.start) > 0)
			reader->bad = true;
		if ((kind == END_GIVEN && wcs_slice_compare(span.start, span.end) >= 0) ||
		    (open && wcs_slice_compare(last->start, span.start) >= 0))
			reader->bad = true;
		open = kind == END_NEXT;
		if (heat_spans_add(spans, &span) != 0)
			return -ENOMEM;
	}
	return reader->bad || open ? -EIO : 0;
}

int heat_record_decode(struct heat_record *record, int64_t slot, uint32_t wanted,
		       const unsigned char *bytes, size_t len)
{
	struct reader reader = {bytes, bytes + len, false};
	int rc = get_number(&reader) == (uint64_t)slot ? 0 : -EIO;

	while (rc == 0 && !reader.bad && reader.at < reader.end) {
		uint64_t table = get_number(&reader), delimiter = get_number(&reader);
		uint64_t size = get_number(&reader);
		struct reader part = reader;
		struct heat_spans *spans;

		if (reader.bad || table > UINT32_MAX || delimiter > 127 ||
		    size > (uint64_t)(reader.end - reader.at))
			return -EIO;
		reader.at += size;
		part.end = reader.at;
		if (wanted != 0 && wanted != table)
			continue;
		spans = heat_record_table(record, (uint32_t)table, (unsigned char)delimiter);
		if (spans == NULL)
			return -ENOMEM;
		if (spans->count > 0) /* named twice */
			return -EIO;
		rc = get_spans(&part, &record->bytes, spans);
	}
	return reader.bad ? -EIO : rc;
}
