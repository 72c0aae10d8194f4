/* SPDX-License-Identifier: MIT */
/*
 * The counts of the shards as a record of spans.
 *
 * A range's counts are exact. The sampled keys of the range tell where in it they lie: they are
 * recorded as spans between sampled keys, so that a range which was counted as one, such as the end
 * of a table, is known in detail afterwards.
 */
#include "store/heat/heat_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- The counts of the shards ------------------------------------------------------------- */

enum {
	HOT_OFFERS = 16,  /* that a hot row has at least, once offers stand for several rows */
	PART_SAMPLES = 4, /* that a part has at least, if not each operation has its sample */
};

/* The counts of all shards since the last fold, and the axis that they are of. */
struct drained {
	const struct heat_axis *axis;
	union heat_counts *counts;
	struct heat_sample *samples; /* ascending */
	size_t sample_count;
	struct heat_entry *entries; /* of all summaries */
	size_t entry_count;
	uint64_t ops;
	bool complete; /* each operation has its sample */
};

static struct wcs_slice sample_key(const struct heat_sample *sample)
{
	return (struct wcs_slice){sample->key, sample->len};
}

static struct wcs_slice entry_key(const struct heat_entry *entry)
{
	return (struct wcs_slice){entry->key, entry->len};
}

static int sample_compare(const void *a, const void *b)
{
	const struct heat_sample *x = a, *y = b;
	int order = (x->table > y->table) - (x->table < y->table);

	return order != 0 ? order : wcs_slice_compare(sample_key(x), sample_key(y));
}

static int entry_compare(const void *a, const void *b)
{
	const struct heat_entry *x = a, *y = b;
	int order = (x->table > y->table) - (x->table < y->table);

	return order != 0 ? order : wcs_slice_compare(entry_key(x), entry_key(y));
}

/* Takes all counts of a shard. */
static void drained_take(struct drained *drained, struct heat_shard *shard)
{
	pthread_mutex_lock(&shard->lock);
	for (size_t i = 0; i < drained->axis->count; i++) {
		drained->ops += heat_counts_ops(&shard->counts[i]);
		heat_counts_add(&drained->counts[i], &shard->counts[i]);
	}
	memset(shard->counts, 0, drained->axis->count * sizeof(*shard->counts));
	memcpy(drained->samples + drained->sample_count, shard->samples,
	       shard->sample_count * sizeof(*shard->samples));
	drained->sample_count += shard->sample_count;
	shard->sample_count = 0;
	shard->seen = 0;
	for (size_t i = 0; i < HEAT_HOT; i++) {
		const struct heat_entry *entry = &shard->summary.entries[i];

		if (shard->summary.hashes[i] != 0)
			memcpy(&drained->entries[drained->entry_count++], entry,
			       offsetof(struct heat_entry, key) + entry->len);
	}
	memset(&shard->summary, 0, offsetof(struct heat_summary, entries));
	pthread_mutex_unlock(&shard->lock);
}

/* The caller holds the lock. */
static int drained_init(struct drained *drained, struct heat *heat)
{
	*drained = (struct drained){.axis = heat->axis};
	drained->counts = calloc(HEAT_RANGES, sizeof(*drained->counts));
	drained->samples = malloc((size_t)HEAT_SHARDS * HEAT_SAMPLES * sizeof(*drained->samples));
	drained->entries = malloc((size_t)HEAT_SHARDS * HEAT_HOT * sizeof(*drained->entries));
	if (drained->counts == NULL || drained->samples == NULL || drained->entries == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < HEAT_SHARDS; i++)
		drained_take(drained, &heat->shards[i]);
	drained->complete = drained->sample_count >= drained->ops;
	qsort(drained->samples, drained->sample_count, sizeof(*drained->samples), sample_compare);
	qsort(drained->entries, drained->entry_count, sizeof(*drained->entries), entry_compare);
	return 0;
}

/* ---- Spans of the samples ---------------------------------------------------------------- */

/* The shortest beginning of key b that is behind key a: whole segments, where they are. */
static struct wcs_slice fold_bound(struct wcs_slice a, struct wcs_slice b, unsigned char delimiter)
{
	const unsigned char *y = b.data;
	size_t len = wcs_slice_shared(a, b);

	if (len < b.len)
		len++;
	while (len < b.len && y[len] != delimiter)
		len++;
	return (struct wcs_slice){b.data, len};
}

/* The samples of a range, of which there are some. */
struct sampled {
	const struct heat_sample *samples;
	size_t count;
	size_t parts; /* into which they divide it */
	unsigned char delimiter;
};

/* The range from its first sampled key to its last. */
static int fold_narrow(struct heat_arena *arena, const struct sampled *of, struct heat_span *range)
{
	struct wcs_slice first = sample_key(&of->samples[0]);
	struct wcs_slice last = sample_key(&of->samples[of->count - 1]);

	if (wcs_slice_compare(range->start, first) < 0)
		range->start =
			heat_arena_copy(arena, fold_bound(range->start, first, of->delimiter), 0);
	if (last.len < HEAT_SAMPLE_MAX) { /* else it may be longer */
		last = heat_arena_copy(arena, last, 1);
		if (heat_compare_ends(last, range->end) < 0)
			range->end = last;
	}
	return range->start.data != NULL && last.data != NULL ? 0 : -ENOMEM;
}

/* Records the counts of a range in spans with about equally many samples. */
static int fold_parts(struct heat_arena *arena, struct heat_spans *spans, const struct sampled *of,
		      struct heat_span range)
{
	size_t from = 0;
	int rc = fold_narrow(arena, of, &range);

	for (size_t i = 0; i < of->parts && rc == 0; i++) {
		struct heat_span span = {.start = range.start, .end = range.end};
		size_t to = of->count * (i + 1) / of->parts;

		while (to > 0 && to < of->count &&
		       sample_compare(&of->samples[to - 1], &of->samples[to]) == 0)
			to++;
		if (to <= from)
			continue;
		if (to < of->count) {
			struct wcs_slice bound =
				fold_bound(sample_key(&of->samples[to - 1]),
					   sample_key(&of->samples[to]), of->delimiter);

			span.end = range.start = heat_arena_copy(arena, bound, 0);
			if (span.end.data == NULL)
				return -ENOMEM;
		}
		span.counts = heat_counts_part(&range.counts, from, to, of->count);
		from = to;
		rc = heat_spans_add(spans, &span);
	}
	return rc;
}

/* Records the counts of a range, whose first sample, if it has one, is that at *sample. */
static int fold_range(const struct drained *drained, const struct heat_part *part, size_t at,
		      size_t *sample, struct heat_record *record)
{
	const struct heat_axis *axis = drained->axis;
	struct heat_span range = {axis->ranges[at].start, heat_axis_end(axis, part, at),
				  drained->counts[at]};
	uint64_t ops = heat_counts_ops(&range.counts);
	struct sampled of = {.samples = &drained->samples[*sample], .delimiter = part->delimiter};
	struct heat_spans *spans;
	size_t most;

	while (*sample < drained->sample_count && drained->samples[*sample].table == part->table &&
	       heat_compare_ends(sample_key(&drained->samples[*sample]), range.end) < 0) {
		++*sample;
		of.count++;
	}
	if (ops == 0)
		return 0;
	spans = heat_record_table(record, part->table, part->delimiter);
	if (spans == NULL)
		return -ENOMEM;
	if (of.count == 0)
		return heat_spans_add(spans, &range);
	of.parts = 1 + (size_t)(ops * HEAT_PARTS / drained->ops);
	most = drained->complete ? of.count : (of.count + PART_SAMPLES - 1) / PART_SAMPLES;
	if (of.parts > most)
		of.parts = most;
	return fold_parts(&record->bytes, spans, &of, range);
}

static int fold_ranges(const struct drained *drained, struct heat_record *record)
{
	size_t sample = 0;
	int rc = 0;

	for (size_t i = 0; i < drained->axis->part_count && rc == 0; i++) {
		const struct heat_part *part = &drained->axis->parts[i];

		while (sample < drained->sample_count &&
		       drained->samples[sample].table < part->table)
			sample++;
		for (size_t at = part->first; at < part->first + part->count && rc == 0; at++)
			rc = fold_range(drained, part, at, &sample, record);
	}
	return rc;
}

/* ---- Hot rows ---------------------------------------------------------------------------- */

/* The parts of the counts that a hot row has, and the others. */
static void fold_split(union heat_counts *all, const union heat_counts *row, union heat_counts *own)
{
	for (size_t i = 0; i < HEAT_COUNTS; i++) {
		own->each[i] = row->each[i] < all->each[i] ? row->each[i] : all->each[i];
		all->each[i] -= own->each[i];
	}
}

/* Removes the samples of the hot row: those left divide the rest of its range. */
static void fold_unsample(struct drained *drained, const struct heat_entry *entry)
{
	size_t kept = 0;

	for (size_t i = 0; i < drained->sample_count; i++) {
		const struct heat_sample *sample = &drained->samples[i];
		bool same = sample->table == entry->table &&
			    sample->len ==
				    (entry->len < HEAT_SAMPLE_MAX ? entry->len : HEAT_SAMPLE_MAX) &&
			    memcmp(sample->key, entry->key, sample->len) == 0;

		if (!same)
			drained->samples[kept++] = *sample;
	}
	drained->sample_count = kept;
}

/* Has the key surely more than a part in HEAT_HOT of all operations? Few offers that stand for
 * several rows tell nothing. */
static bool fold_is_hot(const struct heat_entry *entry, uint64_t all)
{
	return heat_counts_ops(&entry->counts) * HEAT_HOT >= all &&
	       (all <= HEAT_SAMPLES || entry->offers >= HOT_OFFERS);
}

/* Records each hot row as a span of its own. */
static int fold_hot(struct drained *drained, struct heat_record *record)
{
	for (size_t i = 0; i < drained->entry_count; i++) {
		struct heat_entry *entry = &drained->entries[i];
		const struct wcs_slice key = entry_key(entry);
		const struct heat_part *part = heat_axis_part(drained->axis, entry->table);
		struct heat_span span = {.counts = {.reads = 0}};
		struct heat_spans *spans;

		while (i + 1 < drained->entry_count &&
		       entry_compare(entry, &drained->entries[i + 1]) == 0) {
			heat_counts_add(&entry->counts, &drained->entries[++i].counts);
			entry->offers += drained->entries[i].offers;
		}
		if (part == NULL || !fold_is_hot(entry, drained->ops))
			continue;
		spans = heat_record_table(record, entry->table, part->delimiter);
		span.start = heat_arena_copy(&record->bytes, key, 0);
		span.end = heat_arena_copy(&record->bytes, key, 1);
		if (spans == NULL || span.start.data == NULL || span.end.data == NULL)
			return -ENOMEM;
		fold_split(&drained->counts[heat_axis_find(drained->axis, part, key)],
			   &entry->counts, &span.counts);
		if (heat_spans_add(spans, &span) != 0)
			return -ENOMEM;
		fold_unsample(drained, entry);
	}
	return 0;
}

int heat_fold_take(struct heat *heat, struct heat_record *record, uint64_t *ops)
{
	struct heat_record parts[2] = {{.count = 0}, {.count = 0}};
	struct drained drained;
	int rc = drained_init(&drained, heat);

	if (rc == 0)
		rc = fold_hot(&drained, &parts[0]);
	if (rc == 0)
		rc = fold_ranges(&drained, &parts[1]);
	if (rc == 0)
		rc = heat_record_join(record, parts, 2);
	*ops = drained.ops;
	heat_record_free(&parts[0]);
	heat_record_free(&parts[1]);
	free(drained.counts);
	free(drained.samples);
	free(drained.entries);
	return rc;
}
