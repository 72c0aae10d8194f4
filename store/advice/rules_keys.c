/* SPDX-License-Identifier: MIT */
/*
 * Rules about the form of keys: shares of rows, which mean something from ADVICE_ROWS rows on. A
 * finding names the spread of the rows or pairs that its share counts.
 */
#include "store/advice/advice_private.h"

/* The share of the rows that have a segment there whose class this is, and the first one's key. */
static bool share_of(const struct wcs_advice *advice, size_t at, enum segment_class class,
		     struct advice_finding *finding)
{
	const struct advice_segment *segment = &advice->stats->segments[at];

	if (segment->rows < ADVICE_ROWS || segment->classes[class] == 0)
		return false;
	finding->value = (double)segment->classes[class] / (double)segment->rows;
	finding->spread = &segment->spread;
	finding->key = &segment->keys[class];
	finding->segment = at + 1;
	return true;
}

bool rules_hashed(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	return share_of(advice, at, SEGMENT_HASH, finding);
}

bool rules_binary(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	return share_of(advice, at, SEGMENT_BINARY, finding);
}

bool rules_numbers(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	const struct advice_segment *segment = &advice->stats->segments[at];

	return !wcs_keys_coded(advice->keys, at) && segment->shortest < segment->longest &&
	       !segment->padded && share_of(advice, at, SEGMENT_NUMBER, finding);
}

bool rules_domains(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	return share_of(advice, at, SEGMENT_DOMAIN, finding);
}

bool rules_personal(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	const struct advice_stats *stats = advice->stats;

	(void)at;
	if (stats->rows < ADVICE_ROWS || stats->personal == 0)
		return false;
	finding->value = (double)stats->personal / (double)stats->rows;
	finding->spread = &stats->spread;
	finding->key = &stats->personal_key;
	return true;
}

/* The share of the rows whose number of segments is not the usual one. */
bool rules_depths(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	const struct advice_stats *stats = advice->stats;
	uint64_t most = 0;

	(void)at;
	for (size_t i = 0; i <= ADVICE_SEGMENTS; i++)
		if (stats->depths[i] > most)
			most = stats->depths[i];
	if (stats->rows < ADVICE_ROWS)
		return false;
	finding->value = 1 - (double)most / (double)stats->rows;
	finding->spread = &stats->spread;
	return true;
}

/* ---- Order ------------------------------------------------------------------------------- */

/* The share of neighbouring first segments that were written in the order of the keys, or in the
 * opposite one; 0: not known, as of rows that are in no order of their keys. */
static double order_of(const struct advice_stats *stats)
{
	uint64_t pairs = stats->rising + stats->falling + stats->mixed;
	uint64_t most = stats->rising > stats->falling ? stats->rising : stats->falling;

	if (pairs < ADVICE_ROWS || (stats->up > 0 && stats->down > 0))
		return 0;
	return (double)most / (double)pairs;
}

/* How sure a sample must be: that a share exceeds its limit, or that it does not. */
enum surely { SURELY, SURELY_NOT };

static bool exceeds(const struct wcs_advice *advice, double share, double limit,
		    const struct advice_spread *spread, enum surely sure)
{
	double error = advice_error(advice, spread, limit);

	return share > (sure == SURELY ? limit + error : limit - error);
}

/* Do most keys begin with a time, or with a number? A codec that reverses its bytes makes
 * neither. */
static bool begins(const struct wcs_advice *advice, enum segment_class class, enum surely sure)
{
	struct advice_finding finding;

	return share_of(advice, 0, class, &finding) &&
	       exceeds(advice, finding.value, RULES_MOST, finding.spread, sure);
}

static bool begins_in_order(const struct wcs_advice *advice, enum surely sure)
{
	return begins(advice, SEGMENT_TIME, sure) || begins(advice, SEGMENT_NUMBER, sure);
}

static bool is_in_order(const struct wcs_advice *advice, enum surely sure)
{
	return exceeds(advice, order_of(advice->stats), RULES_ORDER, &advice->stats->pairs, sure);
}

bool rules_order(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	(void)at;
	if (wcs_keys_salted(advice->keys) || !begins_in_order(advice, SURELY))
		return false;
	finding->value = order_of(advice->stats);
	finding->spread = &advice->stats->pairs;
	finding->key = &advice->stats->before;
	return true;
}

/* Silent where rules_order has more to say. */
bool rules_time_first(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	if (wcs_keys_salted(advice->keys) || is_in_order(advice, SURELY))
		return false;
	return share_of(advice, at, SEGMENT_TIME, finding);
}

/* ---- Salt -------------------------------------------------------------------------------- */

/* The keys have one segment, so no other one can come first. */
bool rules_salt_missing(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	const struct advice_stats *stats = advice->stats;
	double alone = (double)stats->depths[0] / (double)stats->rows;

	if (!exceeds(advice, alone, RULES_MOST, &stats->spread, SURELY) ||
	    !rules_order(advice, at, finding))
		return false;
	if (stats->traffic[WCS_HEAT_SEQUENTIAL].share > finding->value)
		finding->value = stats->traffic[WCS_HEAT_SEQUENTIAL].share;
	return true;
}

/* The fullest bucket's rows, as a multiple of its fair share. Rows that follow one another are
 * mostly in one bucket, so a sample shows too few of them. */
bool rules_salt_uneven(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	const struct wcs_keys *keys = advice->keys;
	uint64_t most = 0;

	(void)at;
	if (!wcs_keys_salted(keys) || advice->stats->parts > 0 ||
	    advice->stats->rows < 20 * keys->buckets)
		return false;
	for (size_t i = 0; i < keys->buckets; i++)
		if (advice->stats->buckets[i] > most)
			most = advice->stats->buckets[i];
	finding->value = (double)most * keys->buckets / (double)advice->stats->rows;
	return true;
}

/* The buckets, where the order of the keys is not that of the writes. */
bool rules_salt_idle(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	const struct advice_stats *stats = advice->stats;

	(void)at;
	if (!wcs_keys_salted(advice->keys) || stats->rows < ADVICE_ROWS ||
	    begins_in_order(advice, SURELY_NOT) || is_in_order(advice, SURELY_NOT))
		return false;
	finding->value = advice->keys->buckets;
	return true;
}
