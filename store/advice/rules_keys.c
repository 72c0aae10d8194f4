/* SPDX-License-Identifier: MIT */
/* Rules about the form of keys: shares of rows, which mean something from ADVICE_ROWS rows on. */
#include "store/advice/advice_private.h"

/* The share of the rows that have a segment there whose class this is, and the first one's key. */
static bool share_of(const struct wcs_advice *advice, size_t at, enum segment_class class,
		     struct advice_finding *finding)
{
	const struct advice_segment *segment = &advice->stats.segments[at];

	if (segment->rows < ADVICE_ROWS || segment->classes[class] == 0)
		return false;
	finding->value = (double)segment->classes[class] / (double)segment->rows;
	finding->key = &segment->keys[class];
	finding->segment = at + 1;
	return true;
}

/* Do most rows have a leading segment of their own? A prefix of several rows has a meaning. */
static bool is_alone(const struct advice_stats *stats)
{
	return stats->rows < 2 * stats->order.values;
}

bool rules_hashed(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	(void)at;
	return advice->stats.order.lead == 0 && is_alone(&advice->stats) &&
	       share_of(advice, 0, SEGMENT_HASH, finding);
}

bool rules_class(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	return share_of(advice, at, (enum segment_class)finding->rule->of, finding);
}

bool rules_numbers(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	const struct advice_segment *segment = &advice->stats.segments[at];

	return !wcs_keys_coded(advice->keys, at) && segment->shortest < segment->longest &&
	       !segment->padded && share_of(advice, at, SEGMENT_NUMBER, finding);
}

bool rules_personal(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	const struct advice_stats *stats = &advice->stats;

	(void)at;
	if (stats->rows < ADVICE_ROWS || stats->personal == 0)
		return false;
	finding->value = (double)stats->personal / (double)stats->rows;
	finding->key = &stats->personal_key;
	return true;
}

/* The share of the rows whose number of segments is not the usual one. */
bool rules_depths(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	const struct advice_stats *stats = &advice->stats;
	size_t most = 0, next = 0;

	(void)at;
	for (size_t i = 1; i <= ADVICE_SEGMENTS; i++)
		most = stats->depths[i] > stats->depths[most] ? i : most;
	for (size_t i = 0; i <= ADVICE_SEGMENTS; i++)
		if (i != most && (next == most || stats->depths[i] > stats->depths[next]))
			next = i;
	if (stats->rows < ADVICE_ROWS)
		return false;
	finding->value = 1 - (double)stats->depths[most] / (double)stats->rows;
	finding->key = &stats->depth_keys[next];
	return true;
}

/* ---- Order ------------------------------------------------------------------------------- */

/* Do the timestamps tell the order of the writes? Those of a load, or of a few loads, tell theirs.
 */
static bool is_order_known(const struct advice_order *order)
{
	return order->values > ADVICE_ROWS && order->rows > ADVICE_ROWS &&
	       advice_is_sorted(order) && order->to - order->from >= RULES_LOAD &&
	       (double)(order->later + order->earlier) >= RULES_MOST * (double)(order->rows - 1);
}

/* The share of pairs of rows that were written in the order of their keys, or in the opposite one;
 * of no order it is a half. 0: not known. */
static double order_of(const struct advice_order *order)
{
	uint64_t most = order->later > order->earlier ? order->later : order->earlier;

	return is_order_known(order) ? (double)most / (double)(order->later + order->earlier) : 0;
}

/* The share of the leading segments that are times or numbers, or words with a number. A codec that
 * reverses its bytes makes none of them. */
static double begin_in_order(const struct advice_stats *stats, bool words)
{
	const struct advice_segment *lead = &stats->segments[stats->order.lead];
	uint64_t rows = lead->classes[SEGMENT_TIME] + lead->classes[SEGMENT_NUMBER] +
			(words ? lead->classes[SEGMENT_COUNTED] : 0);

	return lead->rows < ADVICE_ROWS ? 0 : (double)rows / (double)lead->rows;
}

bool rules_order(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	const struct advice_stats *stats = &advice->stats;

	(void)at;
	finding->value = order_of(&stats->order);
	finding->key = &stats->before;
	finding->segment = stats->order.lead + 1;
	return !wcs_keys_salted(advice->keys) && begin_in_order(stats, true) > RULES_MOST;
}

/* Silent where rules_order has more to say. */
bool rules_time_first(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	(void)at;
	if (wcs_keys_salted(advice->keys) || order_of(&advice->stats.order) > RULES_MOST)
		return false;
	return share_of(advice, advice->stats.order.lead, SEGMENT_TIME, finding);
}

/* Silent where the order of the writes is known. */
bool rules_number_first(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	const struct advice_order *order = &advice->stats.order;

	(void)at;
	return !wcs_keys_salted(advice->keys) && is_alone(&advice->stats) &&
	       advice_is_sorted(order) && !is_order_known(order) &&
	       share_of(advice, order->lead, SEGMENT_NUMBER, finding);
}

/* ---- Salt -------------------------------------------------------------------------------- */

/* The fullest bucket's rows, as a multiple of its fair share. Rows that follow one another are
 * mostly in one bucket, so a sample shows too few of them. */
bool rules_salt_uneven(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	const struct wcs_keys *keys = advice->keys;
	uint64_t most = 0;

	(void)at;
	if (!wcs_keys_salted(keys) || advice->stats.sample ||
	    advice->stats.rows < 20 * keys->buckets)
		return false;
	for (size_t i = 0; i < keys->buckets; i++)
		if (advice->stats.buckets[i] > most)
			most = advice->stats.buckets[i];
	finding->value = (double)most * keys->buckets / (double)advice->stats.rows;
	return true;
}

/* The buckets, where the order of the keys is not that of the writes, and no prefix is hot. */
bool rules_salt_idle(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	const struct advice_stats *stats = &advice->stats;

	(void)at;
	if (!wcs_keys_salted(advice->keys) || !is_order_known(&stats->order) ||
	    begin_in_order(stats, false) > RULES_FEW || order_of(&stats->order) > RULES_MOST ||
	    stats->traffic[WCS_HEAT_HOT_PREFIX][0].share > 0 ||
	    stats->traffic[WCS_HEAT_SEQUENTIAL][0].share > 0)
		return false;
	finding->value = advice->keys->buckets;
	return true;
}
