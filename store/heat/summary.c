/* SPDX-License-Identifier: MIT */
/*
 * The most frequent keys in fixed memory: the Space-Saving algorithm of Metwally, Agrawal and
 * El Abbadi ("Efficient Computation of Frequent and Top-k Elements in Data Streams", ICDT 2005).
 * With m entries and N operations, each key with more than N/m operations has an entry, and no
 * count is more than N/m too large. A fold uses the counts since a key has its entry, which are
 * never too large and at most N/m too small, and adds those of the shards. An offer that stands for
 * several rows of a batch or scan adds the error of a sample.
 */
#include "store/heat/heat_private.h"

#include "lib/hash.h"

#include <string.h>

void heat_summary_offer(struct heat_summary *summary, uint32_t table, struct wcs_slice key,
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
