/* SPDX-License-Identifier: MIT */
/*
 * Distinct keys by their hashes. A table that is full keeps half of the hashes, those with one more
 * zero bit at their start, so that it stays a sample of the keys, whatever their order.
 */
#include "mkfs/load/distinct.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/hash.h"

static bool distinct_keeps(const struct distinct *distinct, uint64_t hash)
{
	return distinct->level == 0 || hash >> (64 - distinct->level) == 0;
}

static void distinct_put(struct distinct *distinct, uint64_t hash)
{
	size_t at = hash & (distinct->room - 1);

	if (!distinct_keeps(distinct, hash))
		return;
	while (distinct->hashes[at] && distinct->hashes[at] != hash)
		at = (at + 1) & (distinct->room - 1);
	distinct->count += !distinct->hashes[at];
	distinct->hashes[at] = hash;
}

/* Makes room for more hashes, or halves the sample. */
static void distinct_grow(struct distinct *distinct)
{
	struct distinct old = *distinct;

	if (old.count < DISTINCT_KEYS)
		distinct->room = old.room > 0 ? old.room * 2 : 1024;
	else
		distinct->level++;
	distinct->count = 0;
	distinct->hashes = calloc(distinct->room, sizeof(*distinct->hashes));
	distinct->failed = !distinct->hashes;
	for (size_t i = 0; i < old.room && !distinct->failed; i++)
		if (old.hashes[i])
			distinct_put(distinct, old.hashes[i]);
	free(old.hashes);
}

void distinct_add(struct distinct *distinct, struct wcs_slice key)
{
	uint64_t hash = hash_mix(hash_bytes(HASH_START, key.data, key.len));

	if (!distinct->failed && distinct->count * 2 >= distinct->room)
		distinct_grow(distinct);
	if (!distinct->failed)
		distinct_put(distinct, hash ? hash : 1);
}

bool distinct_text(const struct distinct *distinct, uint64_t rows, char text[static 32])
{
	uint64_t keys = (uint64_t)distinct->count << distinct->level;

	if (distinct->failed || keys == 0 || keys + (distinct->level > 0 ? rows / 50 : 0) >= rows)
		return false;
	snprintf(text, 32, "%s%" PRIu64, distinct->level > 0 ? "about " : "", keys);
	return true;
}
