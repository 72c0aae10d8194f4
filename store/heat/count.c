/* SPDX-License-Identifier: MIT */
/*
 * Counts operations in the shard of the thread: exactly by the range of the axis, and by key in a
 * summary of the most frequent keys and a sample. Rows of batches and scans are cheap. Once the
 * sample is full, only every 32nd of them, on average, goes to the summary and the sample, for 32.
 *
 * The summary is the Space-Saving algorithm of Metwally, Agrawal and El Abbadi ("Efficient
 * Computation of Frequent and Top-k Elements in Data Streams", ICDT 2005). With m entries and N
 * operations, each key with more than N/m operations has an entry, and no count is more than N/m
 * too large. A fold uses the counts since a key has its entry, which are never too large and at
 * most N/m too small, and adds those of the shards. An offer that stands for several rows of a
 * batch or scan adds the error of a sample.
 */
#include "lib/hash.h"
#include "lib/random.h"
#include "store/heat/heat_private.h"

#include <stdlib.h>
#include <string.h>

_Thread_local bool heat_looks;

void wcs_heat_look(bool looks)
{
	heat_looks = looks;
}

/* The calling thread's shard, locked. */
static struct heat_shard *shard_lock(struct heat *heat)
{
	static _Atomic unsigned int threads;
	static _Thread_local unsigned int number; /* from 1 */
	struct heat_shard *shard;

	if (number == 0)
		number = ++threads;
	shard = &heat->shards[number % HEAT_SHARDS];
	pthread_mutex_lock(&shard->lock);
	return shard;
}

/* The shard, locked, and the table's part of the axis, which gets one if it is new. NULL: there is
 * no room for another table; the shard is not locked then. */
static struct heat_shard *shard_enter(struct heat *heat, const struct wcs_table *table,
				      const struct heat_part **part)
{
	for (bool added = false;; added = true) {
		struct heat_shard *shard = shard_lock(heat);
		bool full = heat_axis_full(heat->axis);

		*part = heat_axis_part(heat->axis, table->id);
		if (*part != NULL)
			return shard;
		pthread_mutex_unlock(&shard->lock);
		if (full || added)
			return NULL;
		pthread_mutex_lock(&heat->lock);
		heat_shards_lock(heat);
		heat_axis_add(heat->axis, table->id, table->delimiter, NULL);
		heat_shards_unlock(heat);
		pthread_mutex_unlock(&heat->lock);
	}
}

static void summary_offer(struct heat_summary *summary, uint32_t table, struct wcs_slice key,
			  const union heat_counts *counts)
{
	uint64_t hash = hash_bytes(HASH_START ^ table, key.data, key.len) | 1;
	struct heat_entry *entry;
	size_t least = 0;

	for (size_t i = 0; i < HEAT_HOT; i++) {
		entry = &summary->entries[i];
		if (summary->hashes[i] == hash && entry->table == table && entry->len == key.len &&
		    memcmp(entry->key, key.data, key.len) == 0) {
			summary->ops[i] += heat_counts_ops(counts);
			heat_counts_add(&entry->counts, counts);
			entry->offers++;
			return;
		}
		if (summary->ops[i] < summary->ops[least])
			least = i;
	}
	entry = &summary->entries[least];
	summary->hashes[least] = hash;
	summary->ops[least] += heat_counts_ops(counts);
	entry->counts = *counts;
	entry->offers = 1;
	entry->table = table;
	entry->len = (uint32_t)key.len;
	memcpy(entry->key, key.data, key.len);
}

static void shard_sample(struct heat_sample *sample, uint32_t table, struct wcs_slice key)
{
	sample->table = table;
	sample->len = (uint32_t)(key.len < HEAT_SAMPLE_MAX ? key.len : HEAT_SAMPLE_MAX);
	memcpy(sample->key, key.data, sample->len);
}

/* Offers the key to the summary, and its operations to the sample, in which each operation is as
 * likely as any other (after algorithm R: Vitter, "Random Sampling with a Reservoir", 1985). */
static void shard_offer(struct heat_shard *shard, uint32_t table, struct wcs_slice key,
			const union heat_counts *counts)
{
	uint64_t ops = heat_counts_ops(counts), taken;

	summary_offer(&shard->summary, table, key, counts);
	shard->seen += ops;
	for (; ops > 0 && shard->sample_count < HEAT_SAMPLES; ops--)
		shard_sample(&shard->samples[shard->sample_count++], table, key);
	ops *= HEAT_SAMPLES; /* divided by those seen: the samples to replace, on average */
	taken = ops / shard->seen +
		((random_next(&shard->random) >> 8) % shard->seen < ops % shard->seen);
	for (; taken > 0; taken--)
		shard_sample(&shard->samples[(random_next(&shard->random) >> 8) % HEAT_SAMPLES],
			     table, key);
}

/* Are rows of batches and scans offered one by one? */
static bool shard_offers_all(const struct heat_shard *shard)
{
	return shard->sample_count < HEAT_SAMPLES;
}

/* The rows up to the next one that is offered for HEAT_SEVERAL: each is as likely as any other. */
static uint64_t shard_skip(struct heat_shard *shard)
{
	uint64_t rows = 1;

	while ((random_next(&shard->random) >> 32) % HEAT_SEVERAL != 0)
		rows++;
	return rows;
}

/* Offers the key of a batch, if it is its turn. */
static void shard_offer_several(struct heat_shard *shard, uint32_t table, struct wcs_slice key,
				const union heat_counts *counts)
{
	union heat_counts several = {.reads = counts->reads * HEAT_SEVERAL,
				     .writes = counts->writes * HEAT_SEVERAL,
				     .bytes = counts->bytes * HEAT_SEVERAL};

	if (shard->owed > 1) {
		shard->owed--;
		return;
	}
	shard->owed = shard_skip(shard);
	shard_offer(shard, table, key, &several);
}

/* Counts one operation on the stored key. */
static void count_one(struct wcs_table *table, struct wcs_slice stored,
		      const union heat_counts *counts)
{
	struct heat *heat = table->store->heat;
	const struct heat_part *part;
	struct heat_shard *shard = shard_enter(heat, table, &part);

	if (shard == NULL)
		return;
	heat_counts_add(&shard->counts[heat_axis_find(heat->axis, part, stored)], counts);
	shard_offer(shard, table->id, stored, counts);
	pthread_mutex_unlock(&shard->lock);
}

void heat_count_cells(struct wcs_table *table, const struct wcs_keys *keys, struct wcs_slice row,
		      unsigned int reads, unsigned int writes, int64_t began)
{
	unsigned char bytes[WCS_ROW_KEY_MAX];
	union heat_counts counts = {.reads = reads, .writes = writes, .timed = 1};

	if (began == 0)
		return;
	counts.nanoseconds = (uint64_t)(clock_ns() - began);
	count_one(table, wcs_keys_stored(keys, row, bytes), &counts);
}

void wcs_heat_row(struct wcs_table *table, bool raw, struct wcs_slice row)
{
	unsigned char bytes[WCS_ROW_KEY_MAX];
	const struct wcs_keys *keys = raw ? NULL : wcs_table_keys(table);

	if (table->store->heat != NULL)
		count_one(table, wcs_keys_stored(keys, row, bytes),
			  &(union heat_counts){.reads = 1});
}

void heat_count_mutations(struct wcs_table *table, const struct wcs_entry *entries, size_t count,
			  int64_t began)
{
	struct heat *heat = table->store->heat;
	const struct wcs_keys *keys = wcs_table_keys(table);
	unsigned char bytes[WCS_ROW_KEY_MAX];
	const struct heat_part *part;
	struct heat_shard *shard;
	uint64_t each;

	if (began == 0 || count == 0)
		return;
	each = (uint64_t)(clock_ns() - began) / count;
	shard = shard_enter(heat, table, &part);
	if (shard == NULL)
		return;
	for (size_t i = 0; i < count; i++) {
		const struct wcs_mutation *mutation = entries[i].mutation;
		struct wcs_slice key = wcs_keys_stored(keys, entries[i].row, bytes);
		union heat_counts counts = {.writes = mutation->write_count +
						      mutation->delete_count + mutation->delete_row,
					    .nanoseconds = each,
					    .timed = 1};

		if (counts.writes == 0)
			continue;
		for (size_t j = 0; j < mutation->write_count; j++)
			counts.bytes += mutation->writes[j].value.len;
		heat_counts_add(&shard->counts[heat_axis_find(heat->axis, part, key)], &counts);
		if (count < HEAT_SEVERAL || shard_offers_all(shard))
			shard_offer(shard, table->id, key, &counts);
		else
			shard_offer_several(shard, table->id, key, &counts);
	}
	pthread_mutex_unlock(&shard->lock);
}

/* ---- Scans ------------------------------------------------------------------------------- */

static struct wcs_slice scan_copy(unsigned char *to, struct wcs_slice key)
{
	if (key.data == NULL)
		return key;
	memcpy(to, key.data, key.len);
	return (struct wcs_slice){to, key.len};
}

/* Counts the rows that the scan read in its range. enters: the key begins another range; else it is
 * the row to sample. data NULL: neither. */
static void scan_flush(struct heat *heat, struct wcs_scan *of, struct wcs_slice key, bool enters)
{
	struct heat_scan *scan = of->heat;
	const union heat_counts one = {.reads = scan->weight}, all = {.reads = scan->rows};
	const struct heat_part *part;
	struct heat_shard *shard = shard_enter(heat, of->table, &part);
	size_t at = scan->range;

	scan->rows = 0;
	if (scan->left == 0)
		scan->left = HEAT_SEVERAL;
	if (shard == NULL)
		return;
	if (all.reads > 0) {
		if (scan->axis != heat->axis->number)
			at = heat_axis_find(heat->axis, part, scan->start);
		heat_counts_add(&shard->counts[at], &all);
	}
	if (key.data != NULL && !enters && scan->weight > 0)
		shard_offer(shard, of->table->id, key, &one);
	if (!enters || scan->weight == 0) {
		scan->weight = shard_offers_all(shard) ? 1 : HEAT_SEVERAL;
		scan->left = scan->weight == 1 ? 1 : shard_skip(shard);
	}
	if (enters) {
		at = heat_axis_find(heat->axis, part, key);
		scan->axis = heat->axis->number;
		scan->range = at;
		scan->start = scan_copy(scan->bytes[0], heat->axis->ranges[at].start);
		scan->end = scan_copy(scan->bytes[1], heat_axis_end(heat->axis, part, at));
	}
	pthread_mutex_unlock(&shard->lock);
}

void heat_count_scanned(struct wcs_scan *scan, const struct wcs_keys *keys, struct wcs_slice row)
{
	struct heat *heat = scan->table->store->heat;
	unsigned char bytes[WCS_ROW_KEY_MAX];
	struct wcs_slice key = wcs_keys_stored(keys, row, bytes);

	if (scan->heat == NULL) {
		scan->heat = malloc(sizeof(*scan->heat));
		if (scan->heat == NULL)
			return;
		scan->heat->rows = scan->heat->left = scan->heat->weight = 0;
		scan->heat->axis = UINT64_MAX;
		scan->heat->start = scan->heat->end = (struct wcs_slice){"", 0}; /* no range */
	}
	/* A seek, an order in reverse and a merge of buckets leave a range at its start. */
	if (heat_compare_ends(key, scan->heat->end) >= 0 ||
	    wcs_slice_compare(key, scan->heat->start) < 0)
		scan_flush(heat, scan, key, true);
	scan->heat->rows++;
	if (--scan->heat->left == 0)
		scan_flush(heat, scan, key, false);
}

void heat_count_close(struct wcs_scan *scan)
{
	if (scan->heat == NULL)
		return;
	if (scan->heat->rows > 0)
		scan_flush(scan->table->store->heat, scan, (struct wcs_slice){NULL, 0}, false);
	free(scan->heat);
}
