/* SPDX-License-Identifier: MIT */
/*
 * Statistics of a table, from its cells. Everything is a count or a largest value, so memory does
 * not grow with the rows; a share that rules look at is a quotient of two counts.
 */
#include "store/advice/advice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grow.h"
#include "lib/hash.h"
#include "lib/random.h"
#include "store/advice/advice_private.h"

void advice_key_set(struct advice_key *key, struct wcs_slice bytes)
{
	key->len = bytes.len < sizeof(key->bytes) ? bytes.len : sizeof(key->bytes);
	if (key->len > 0)
		memcpy(key->bytes, bytes.data, key->len);
}

/* ---- Keys -------------------------------------------------------------------------------- */

static void add_number(struct advice_segment *at, struct wcs_slice segment)
{
	const char *digits = segment.data;

	if (at->classes[SEGMENT_NUMBER] == 1 || segment.len < at->shortest)
		at->shortest = segment.len;
	if (segment.len > at->longest)
		at->longest = segment.len;
	at->padded |= segment.len > 1 && digits[0] == '0';
}

/* The class that a codec promises. */
static enum segment_class class_of_codec(enum wcs_codec codec)
{
	if (codec == WCS_CODEC_TIME || codec == WCS_CODEC_REVERSE_TIME)
		return SEGMENT_TIME;
	return codec == WCS_CODEC_PAD ? SEGMENT_NUMBER : SEGMENT_TEXT;
}

/* Adds a segment of the row's key. Returns its class. */
static enum segment_class add_segment(struct wcs_advice *advice, size_t i, struct wcs_slice segment)
{
	struct advice_segment *at = &advice->stats.segments[i];
	bool coded = wcs_keys_coded(advice->keys, i);
	enum segment_class class =
		coded ? class_of_codec(advice->keys->segments[i].codec) : segment_class(segment);

	at->rows++;
	if (at->classes[class]++ == 0)
		at->keys[class] = advice->stats.row.key;
	if (class == SEGMENT_NUMBER && !coded)
		add_number(at, segment);
	return class;
}

static void add_segments(struct wcs_advice *advice)
{
	struct advice_stats *stats = &advice->stats;
	const unsigned char *at = stats->row.key.bytes, *end = at + stats->row.key.len;
	bool personal = false, more = true;
	size_t depth = 0;

	for (; more && depth < ADVICE_SEGMENTS; depth++) {
		const unsigned char *next = memchr(at, advice->delimiter, (size_t)(end - at));
		struct wcs_slice segment = {at, (size_t)((next ? next : end) - at)};
		enum segment_class class = add_segment(advice, depth, segment);

		personal |= class == SEGMENT_MAIL || class == SEGMENT_ADDRESS;
		more = next != NULL;
		at = next ? next + 1 : end;
	}
	depth = more ? ADVICE_SEGMENTS : depth - 1;
	if (stats->depths[depth]++ == 0)
		stats->depth_keys[depth] = stats->row.key;
	if (personal && stats->personal++ == 0)
		stats->personal_key = stats->row.key;
}

/* ---- Rows -------------------------------------------------------------------------------- */

/* Compares the timestamp of a row with that of one drawn from the rows before, and puts it among
 * those drawn, each of which was there before with the same probability. */
static void add_to_order(struct advice_order *order, int64_t ts)
{
	uint64_t drawn = order->rows < ADVICE_DRAWN ? order->rows : ADVICE_DRAWN, at = order->rows;
	int64_t other = drawn > 0 ? order->drawn[(random_next(&order->random) >> 32) % drawn] : ts;

	order->later += ts > other;
	order->earlier += ts < other;
	if (order->rows++ == 0)
		order->from = order->to = ts;
	order->from = ts < order->from ? ts : order->from;
	order->to = ts > order->to ? ts : order->to;
	if (at >= ADVICE_DRAWN)
		at = (random_next(&order->random) >> 32) % order->rows;
	if (at < ADVICE_DRAWN)
		order->drawn[at] = ts;
}

/* Compares the present row with the one before. */
static void row_compare(struct wcs_advice *advice)
{
	struct advice_order *order = &advice->stats.order;
	struct wcs_slice before = advice_key_slice(&advice->stats.before),
			 key = advice_key_slice(&advice->stats.row.key);
	size_t same = wcs_slice_shared_segments(before, key, advice->delimiter);
	int compared = wcs_slice_compare(before, key);

	if (same < order->lead) { /* all rows before have one value of it */
		order->lead = same;
		order->values = 1;
	}
	order->values += same == order->lead;
	order->up += compared < 0;
	order->down += compared > 0;
}

static void row_end(struct wcs_advice *advice)
{
	struct advice_stats *stats = &advice->stats;

	if (stats->row.key.len == 0)
		return;
	if (stats->before.len > 0)
		row_compare(advice);
	if (stats->row.ts != WCS_TS_SERVER)
		add_to_order(&stats->order, stats->row.ts);
	advice_key_set(&stats->before, advice_key_slice(&stats->row.key));
	stats->row.key.len = 0;
}

static void row_begin(struct wcs_advice *advice, struct wcs_slice key)
{
	struct advice_stats *stats = &advice->stats;
	struct advice_row *row = &stats->row;

	if (row->key.len > 0 && wcs_slice_compare(advice_key_slice(&row->key), key) == 0)
		return; /* it goes on in another line of text */
	row_end(advice);
	row->ts = WCS_TS_SERVER;
	row->bytes = row->columns = row->column = row->versions = 0;
	advice_key_set(&row->key, key);
	stats->rows++;
	if (wcs_keys_salted(advice->keys))
		stats->buckets[wcs_keys_bucket(advice->keys, key)]++;
	add_segments(advice);
}

static void add_peak(struct advice_stats *stats, struct advice_peak *peak, uint64_t value,
		     const struct advice_family *family)
{
	if (value <= peak->value)
		return;
	peak->value = value;
	peak->family = family;
	if (peak->row != stats->rows)
		advice_key_set(&peak->key, advice_key_slice(&stats->row.key));
	peak->row = stats->rows;
}

/* ---- Cells ------------------------------------------------------------------------------- */

/* The family of that name. NULL: there are more than a table should have, and this is one of the
 * rest. */
static struct advice_family *find_family(struct wcs_advice *advice, struct wcs_slice name)
{
	struct advice_family *families = advice->families;

	for (size_t i = 0; i < advice->family_count; i++) {
		size_t at = (advice->family_last + i) % advice->family_count;

		if (strlen(families[at].name) == name.len &&
		    memcmp(families[at].name, name.data, name.len) == 0) {
			advice->family_last = at;
			return &families[at];
		}
	}
	if (advice->family_count == advice->family_room || name.len > WCS_FAMILY_NAME_MAX)
		return NULL;
	advice->family_last = advice->family_count++;
	families[advice->family_last] = (struct advice_family){.cells = 0};
	memcpy(families[advice->family_last].name, name.data, name.len);
	return &families[advice->family_last];
}

static void add_to_family(struct advice_stats *stats, struct advice_family *family,
			  const struct wcs_cell *cell)
{
	family->cells++;
	if (cell->info.size == 0)
		return; /* a value that is its own name */
	if (family->filled++ == 0)
		family->key = stats->row.key;
	family->names += cell->family.len + cell->qualifier.len;
	family->values += cell->info.size;
}

static void add_to_column(struct advice_row *row, const struct wcs_cell *cell)
{
	uint64_t column = hash_bytes(HASH_START, cell->family.data, cell->family.len);

	column = hash_bytes(column ^ cell->family.len, cell->qualifier.data, cell->qualifier.len);
	if (row->columns == 0 || column != row->column) {
		row->columns++;
		row->versions = 0;
	}
	row->column = column;
	row->versions++;
}

void wcs_advice_cell(struct wcs_advice *advice, const struct wcs_cell *cell)
{
	struct advice_stats *stats = &advice->stats;
	struct advice_row *row = &stats->row;
	struct advice_family *family;

	if (cell->differs == WCS_PART_ROW)
		row_begin(advice, cell->row);
	family = find_family(advice, cell->family);
	add_to_column(row, cell);
	stats->cells++;
	stats->bytes += cell->info.size;
	row->bytes += cell->info.size;
	if (row->ts == WCS_TS_SERVER || (cell->info.ts >= 0 && cell->info.ts < row->ts))
		row->ts = cell->info.ts;
	add_peak(stats, &stats->row_bytes, row->bytes, NULL);
	add_peak(stats, &stats->cell_bytes, cell->info.size, family);
	add_peak(stats, &stats->columns, row->columns, NULL);
	if (!family)
		return;
	if (!family->policy)
		add_peak(stats, &stats->versions, row->versions, family);
	add_to_family(stats, family, cell);
}

/* ---- Tables ------------------------------------------------------------------------------ */

void advice_again(struct wcs_advice *advice)
{
	const struct wcs_table_schema *schema = advice->schema;

	memset(&advice->stats, 0, sizeof(advice->stats));
	advice->stats.order =
		(struct advice_order){.lead = ADVICE_SEGMENTS - 1, .values = 1, .random = 1};
	advice->family_count = schema->family_count;
	advice->family_last = 0;
	for (size_t i = 0; i < schema->family_count; i++) {
		const struct wcs_family *from = &schema->families[i];

		advice->families[i] = (struct advice_family){
			.declared = true, .policy = from->gc && strcmp(from->gc, "never") != 0};
		strcpy(advice->families[i].name, from->name);
	}
}

void wcs_advice_table_end(struct wcs_advice *advice)
{
	const size_t places[ADVICE_STORE + 1] = {[ADVICE_TABLE] = 1,
						 [ADVICE_SEGMENT] = ADVICE_SEGMENTS,
						 [ADVICE_FAMILY] = advice->family_count,
						 [ADVICE_HOT] = WCS_HEAT_HOT_MAX};

	if (advice->schema) {
		row_end(advice);
		print_table(advice);
		rules_check(advice, places, advice->schema->name);
		tables_add(advice);
	}
	advice->schema = NULL;
}

int wcs_advice_table(struct wcs_advice *advice, const struct wcs_table_schema *schema)
{
	size_t families = schema->family_count + ADVICE_FAMILIES;
	int rc = grow(&advice->families, &advice->family_room, families, families,
		      sizeof(*advice->families));

	if (rc != 0)
		return rc;
	advice->schema = schema;
	advice->keys = schema->keys;
	advice->delimiter = schema->delimiter ? schema->delimiter : WCS_DELIMITER_DEFAULT;
	advice_again(advice);
	return 0;
}

void wcs_advice_end(struct wcs_advice *advice)
{
	size_t places[ADVICE_STORE + 1] = {0};

	wcs_advice_table_end(advice);
	places[ADVICE_STORE] = advice->alike_count;
	rules_check(advice, places, NULL);
}

int wcs_advice_new(const struct wcs_advice_options *options, struct wcs_advice **advice)
{
	struct wcs_advice *made = calloc(1, sizeof(*made));

	if (!made)
		return -ENOMEM;
	made->options = *options;
	*advice = made;
	return 0;
}

void wcs_advice_free(struct wcs_advice *advice)
{
	if (!advice)
		return;
	free(advice->families);
	free(advice);
}
