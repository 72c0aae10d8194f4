/* SPDX-License-Identifier: MIT */
/*
 * Distinct keys by their hashes. A table that is full keeps half of the hashes, those with one more
 * zero bit at their start, so that it stays a sample of the keys, whatever their order.
 */
#include "mkfs/load/distinct.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grow.h"
#include "lib/hash.h"

#define DISTINCT_WAITS (64u << 10) /* rows */

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

/* Counts the waiting rows that are applied. */
static void distinct_take(struct distinct *distinct, uint64_t applied)
{
	size_t taken = 0;

	for (; taken < distinct->waits && distinct->applied < applied; taken++) {
		if (!distinct->failed && distinct->count * 2 >= distinct->room)
			distinct_grow(distinct);
		if (!distinct->failed)
			distinct_put(distinct, distinct->waiting[taken]);
		distinct->applied++;
	}
	distinct->waits -= taken;
	if (taken > 0)
		memmove(distinct->waiting, distinct->waiting + taken,
			distinct->waits * sizeof(*distinct->waiting));
}

void distinct_add(struct distinct *distinct, struct wcs_slice key, uint64_t applied)
{
	uint64_t hash = hash_mix(hash_bytes(HASH_START, key.data, key.len));

	if (distinct->waits >= DISTINCT_WAITS && applied - distinct->applied >= DISTINCT_WAITS / 2)
		distinct_take(distinct, applied);
	if (grow(&distinct->waiting, &distinct->waiting_room, distinct->waits + 1, 1024,
		 sizeof(*distinct->waiting)))
		distinct->failed = true;
	else
		distinct->waiting[distinct->waits++] = hash ? hash : 1;
}

void distinct_settle(struct distinct *distinct, uint64_t applied)
{
	distinct_take(distinct, applied);
	distinct->waits = 0;
}

bool distinct_text(const struct distinct *distinct, char text[static 32])
{
	uint64_t keys = (uint64_t)distinct->count << distinct->level, rows = distinct->applied;

	if (distinct->failed || keys + (distinct->level > 0 ? rows / 50 : 0) >= rows)
		return false;
	snprintf(text, 32, "%s%" PRIu64, distinct->level > 0 ? "about " : "", keys);
	return true;
}
