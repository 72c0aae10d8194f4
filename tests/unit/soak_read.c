/* SPDX-License-Identifier: MIT */
/* Compares rows that a reader sees with their markers and with the times of the writers'
 * mutations. */
#include "tests/unit/soak.h"

#include "store/mutation.h"

#include <inttypes.h>

/* The content of a row as a reader collects it. */
struct soak_read {
	struct soak_row *row;
	bool marked;
	uint32_t number, head, shared, floor; /* by the marker */
	uint32_t least, most;		      /* mutations whose cells there are */
	uint32_t newest[2][SOAK_GROUP];	      /* of the group, in the families f and s */
	/* The last cell, and its rank. */
	char family[WCS_FAMILY_NAME_MAX + 1], column[8];
	int64_t ts;
	uint32_t rank;
};

static void soak_read_copy(char *to, size_t room, struct wcs_slice from)
{
	snprintf(to, room, "%.*s", (int)from.len, (const char *)from.data);
}

/* The cell comes behind the one before, and so many versions there may be. */
static void soak_read_order(struct soak_read *read, const struct wcs_cell *cell)
{
	int family = wcs_slice_compare(cell->family, suite_text(read->family));
	int column = wcs_slice_compare(cell->qualifier, suite_text(read->column));

	if (family < 0 || (family == 0 && column < 0) ||
	    (family == 0 && column == 0 && cell->info.ts >= read->ts))
		soak_fail("the cells of %s are not in order", read->row->key);
	read->rank = family == 0 && column == 0 ? read->rank + 1 : 1;
	read->ts = cell->info.ts;
	soak_read_copy(read->family, sizeof(read->family), cell->family);
	soak_read_copy(read->column, sizeof(read->column), cell->qualifier);
	if (soak_is(cell->family, "s") &&
	    read->rank > soak_shared[SOAK_SHARED_POLICIES - 1].versions)
		soak_fail("%s/s/%s shows %u cells", read->row->key, read->column, read->rank);
}

static void soak_read_cell(struct soak_read *read, const struct wcs_cell *cell,
			   struct wcs_slice value)
{
	char text[SOAK_MARKER];
	uint32_t number;
	int column = 0;

	soak_read_order(read, cell);
	if (soak_is(cell->qualifier, "m")) {
		soak_read_copy(text, sizeof(text), value);
		read->marked = true;
		if (sscanf(text, "%u %u %u %u", &read->number, &read->head, &read->shared,
			   &read->floor) != 4)
			soak_fail("%s has the marker %s", read->row->key, text);
		return;
	}
	while (column < SOAK_GROUP && !soak_is(cell->qualifier, soak_columns[column]))
		column++;
	if (column == SOAK_GROUP)
		return;
	number = soak_value_number(value.data, value.len);
	read->least = number < read->least ? number : read->least;
	read->most = number > read->most ? number : read->most;
	if (read->rank == 1 && (soak_is(cell->family, "f") || soak_is(cell->family, "s")))
		read->newest[soak_is(cell->family, "s")][column] = number;
}

/* Was the row as it was read right at a moment between the two looks at it? */
static void soak_read_when(struct soak_reader *reader, const struct soak_read *read, int writer,
			   int at)
{
	uint32_t started = atomic_load(&read->row->started), ended = reader->ended[at];
	uint32_t *last = &reader->last[writer][at];

	if (!read->marked && (at < SOAK_LEAVES || (started == ended && reader->shown[at])))
		soak_fail("%s was there, and is not seen", read->row->key);
	if (!read->marked)
		return;
	if (started == ended && !reader->shown[at])
		soak_fail("%s was not there, and is seen", read->row->key);
	if (read->number < ended || read->number < *last || read->number > started)
		soak_fail("%s is seen as of mutation %u: %u had ended before, %u was seen, %u had "
			  "begun",
			  read->row->key, read->number, ended, *last, started);
	*last = read->number;
}

static void soak_read_row(struct soak_reader *reader, const struct soak_read *read, int writer,
			  int at)
{
	soak_read_when(reader, read, writer, at);
	if (!read->marked) {
		if (read->rank != 0)
			soak_fail("%s is seen without its marker", read->row->key);
		return;
	}
	for (int column = 0; column < SOAK_GROUP; column++) {
		if (read->newest[0][column] != read->head)
			soak_fail("%s/f/%s is of mutation %u, not %u", read->row->key,
				  soak_columns[column], read->newest[0][column], read->head);
		if (read->shared != 0 && read->newest[1][column] != read->shared)
			soak_fail("%s/s/%s is of mutation %u, not %u", read->row->key,
				  soak_columns[column], read->newest[1][column], read->shared);
	}
	if (read->most > read->number || (read->most > 0 && read->least < read->floor))
		soak_fail("%s has cells of mutations %u to %u, not %u to %u", read->row->key,
			  read->least, read->most, read->floor, read->number);
}

static void soak_read_next(struct soak_read *read, struct soak_row *row)
{
	*read = (struct soak_read){.row = row, .least = UINT32_MAX, .ts = INT64_MAX};
}

/* Scans all rows of a writer. */
static void soak_read_scan(struct soak_reader *reader, int index)
{
	struct soak_writer *writer = &reader->soak->writers[index];
	struct wcs_range range = {suite_text(writer->prefix), suite_text(writer->past)};
	struct soak_read read;
	struct wcs_scan *scan;
	struct wcs_cell cell;
	int at = 0, rc;

	for (int i = 0; i < SOAK_ROWS; i++) {
		reader->ended[i] = atomic_load(&writer->rows[i].ended);
		reader->shown[i] = atomic_load(&writer->rows[i].shown);
	}
	SOAK_OK(wcs_scan_open(reader->soak->table, &range, &suite_cells, &scan));
	soak_read_next(&read, &writer->rows[0]);
	while ((rc = wcs_scan_next(scan, &cell)) == 1) {
		while (!soak_is(cell.row, writer->rows[at].key)) {
			soak_read_row(reader, &read, index, at);
			if (++at == SOAK_ROWS)
				soak_fail("a row out of order, or that nobody wrote: %.*s",
					  (int)cell.row.len, (const char *)cell.row.data);
			soak_read_next(&read, &writer->rows[at]);
		}
		soak_read_cell(&read, &cell, soak_scan_value(scan, &cell, reader->large));
	}
	SOAK_OK(rc);
	wcs_scan_close(scan);
	soak_read_row(reader, &read, index, at);
	while (++at < SOAK_ROWS) {
		soak_read_next(&read, &writer->rows[at]);
		soak_read_row(reader, &read, index, at);
	}
}

/* Lists the prefixes of a writer. */
static void soak_read_list(struct soak_reader *reader, int index)
{
	struct soak_writer *writer = &reader->soak->writers[index];
	struct wcs_slice segment;
	struct wcs_list *list;
	char before[8] = "";
	int rc;

	SOAK_OK(wcs_list_open(reader->soak->table, suite_text(writer->prefix), NULL, &list));
	while ((rc = wcs_list_next(list, &segment)) == 1) {
		if (segment.len != 1 || wcs_slice_compare(segment, suite_text(before)) <= 0)
			soak_fail("a listing of %s gives %.*s behind %s", writer->prefix,
				  (int)segment.len, (const char *)segment.data, before);
		if (*before == '\0' && !soak_is(segment, "0"))
			soak_fail("a listing of %s does not have 0", writer->prefix);
		soak_read_copy(before, sizeof(before), segment);
	}
	SOAK_OK(rc);
	if (*before == '\0')
		soak_fail("a listing of %s has nothing", writer->prefix);
	wcs_list_close(list);
}

/* An open value does not change. */
static void soak_read_value(struct soak_reader *reader, int index)
{
	struct soak_writer *writer = &reader->soak->writers[index];
	const struct soak_row *row = &writer->rows[soak_below(&reader->state, SOAK_ROWS)];
	const char *column = soak_columns[soak_below(&reader->state, SOAK_GROUP)];
	struct wcs_value *value;
	uint32_t number = 0;
	size_t got;
	int rc = wcs_value_open(reader->soak->table, suite_text(row->key), "s", suite_text(column),
				WCS_TS_NEWEST, &value);

	if (rc == -ENOENT)
		return;
	SOAK_OK(rc);
	for (int i = 0; i < 2; i++) {
		SOAK_OK(wcs_value_read(value, reader->large, sizeof(reader->large), 0, &got));
		if (got != wcs_value_info(value)->size)
			soak_fail("%zu bytes of %" PRIu64, got, wcs_value_info(value)->size);
		if (i > 0 && number != soak_value_number(reader->large, got))
			soak_fail("an open value of %s changed", row->key);
		number = soak_value_number(reader->large, got);
		soak_sleep(200);
	}
	wcs_value_close(value);
}

void soak_read_count(struct soak *soak)
{
	struct wcs_range range = {suite_text("z#count"), suite_text("z#d")};
	struct wcs_filter filter = {.each = WCS_EACH_COLUMN};
	uint32_t ended = atomic_load(&soak->counts_ended), counted[2] = {0, 0};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	int at = 0;

	SOAK_OK(wcs_scan_open(soak->table, &range, &filter, &scan));
	for (; wcs_scan_next(scan, &cell) == 1; at++)
		for (size_t i = 0; at < 2 && i < cell.value.len; i++)
			counted[at] =
				counted[at] << 8 | ((const unsigned char *)cell.value.data)[i];
	wcs_scan_close(scan);
	if (counted[0] != counted[1] || counted[0] < ended ||
	    counted[0] > atomic_load(&soak->counts_started))
		soak_fail("counted %u and %u, at least %u", counted[0], counted[1], ended);
}

void *soak_read_on(void *arg)
{
	struct soak_reader *reader = arg;

	while (!atomic_load(&reader->soak->stop)) {
		uint32_t kind = soak_below(&reader->state, 10);
		int writer = (int)soak_below(&reader->state, SOAK_WRITERS);

		if (kind < 6)
			soak_read_scan(reader, writer);
		else if (kind < 7)
			soak_read_list(reader, writer);
		else if (kind < 9)
			soak_read_value(reader, writer);
		else
			soak_read_count(reader->soak);
		reader->reads++;
	}
	return NULL;
}
