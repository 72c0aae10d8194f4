/* SPDX-License-Identifier: MIT */
/*
 * The most frequent keys in fixed memory: the Space-Saving algorithm of Metwally, Agrawal and
 * El Abbadi ("Efficient Computation of Frequent and Top-k Elements in Data Streams", ICDT 2005).
 * With m entries and N operations, each key with more than N/m operations has an entry, and no
 * count is more than N/m too large; count - error is never too large. Summaries of several shards
 * are merged by adding what their entries guarantee.
 */
#include "store/heat/heat_private.h"

#include "lib/hash.h"

#include <string.h>

static bool entry_is(const struct heat_entry *entry, uint64_t hash, uint32_t table,
		     struct wcs_slice key)
{
	return entry->hash == hash && entry->table == table && entry->len == key.len &&
	       memcmp(entry->key, key.data, key.len) == 0;
}

void heat_summary_offer(struct heat_summary *summary, uint32_t table, struct wcs_slice key,
			const struct heat_counts *counts)
{
	uint64_t hash = hash_bytes(HASH_START ^ table, key.data, key.len) | 1;
	struct heat_entry *least = &summary->entries[0];

	for (size_t i = 0; i < HEAT_HOT; i++) {
		struct heat_entry *entry = &summary->entries[i];

		if (entry_is(entry, hash, table, key)) {
			entry->count += heat_counts_ops(counts);
			heat_counts_add(&entry->counts, counts);
			return;
		}
		if (entry->count < least->count)
			least = entry;
	}
	least->hash = hash;
	least->error = least->count;
	least->count += heat_counts_ops(counts);
	least->counts = *counts;
	least->table = table;
	least->len = (uint32_t)key.len;
	memcpy(least->key, key.data, key.len);
}
