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

/* Do most rows have a leading segment of their own? A prefix of several rows has a meaning. */
static bool is_alone(const struct advice_stats *stats)
{
	return stats->rows < 2 * stats->order.runs;
}

bool rules_hashed(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	(void)at;
	return advice->stats->order.lead == 0 && is_alone(advice->stats) &&
	       share_of(advice, 0, SEGMENT_HASH, finding);
}

bool rules_class(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	return share_of(advice, at, (enum segment_class)finding->rule->of, finding);
}

bool rules_numbers(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	const struct advice_segment *segment = &advice->stats->segments[at];

	return !wcs_keys_coded(advice->keys, at) && segment->shortest < segment->longest &&
	       !segment->padded && share_of(advice, at, SEGMENT_NUMBER, finding);
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
	finding->spread = &stats->spread;
	finding->key = &stats->depth_keys[next];
	return true;
}

/* ---- Order ------------------------------------------------------------------------------- */

static uint64_t pairs_of(const struct advice_stats *stats)
{
	return stats->order.rising + stats->order.falling + stats->order.mixed;
}

/* Do the rows come in the order of their keys, or in the opposite one? */
static bool is_sorted(const struct advice_stats *stats)
{
	return stats->up == 0 || stats->down == 0;
}

/* Do the timestamps tell the order of the writes? Those of a load tell that of the load. */
static bool is_order_known(const struct advice_stats *stats)
{
	return pairs_of(stats) >= ADVICE_ROWS && is_sorted(stats) &&
	       stats->all.to - stats->all.from >= RULES_LOAD;
}

/* The share of neighbouring leading segments that were written in the order of the keys, or in the
 * opposite one; 0: not known, or those far from each other were not. */
static double order_of(const struct advice_stats *stats)
{
	const struct advice_order *order = &stats->order;
	bool rises = order->rising > order->falling;
	uint64_t most = rises ? order->rising : order->falling;
	uint64_t far = rises ? order->far_rising : order->far_falling;

	if (!is_order_known(stats) ||
	    (double)far < RULES_FAR * (double)(order->far_rising + order->far_falling))
		return 0;
	return (double)most / (double)pairs_of(stats);
}

/* How sure a sample must be: that a share exceeds its limit, or that it does not. */
enum surely { SURELY, SURELY_NOT };

static bool exceeds(const struct wcs_advice *advice, double share, double limit,
		    const struct advice_spread *spread, enum surely sure)
{
	double error = advice_error(advice, spread, limit);

	return share > (sure == SURELY ? limit + error : limit - error);
}

/* Is more than that share of the leading segments times, or numbers? A codec that reverses its
 * bytes makes neither. */
static bool begins(const struct wcs_advice *advice, enum segment_class class, double limit,
		   enum surely sure)
{
	struct advice_finding finding;

	return share_of(advice, advice->stats->order.lead, class, &finding) &&
	       exceeds(advice, finding.value, limit, finding.spread, sure);
}

static bool begins_in_order(const struct wcs_advice *advice, double limit, enum surely sure)
{
	return begins(advice, SEGMENT_TIME, limit, sure) ||
	       begins(advice, SEGMENT_NUMBER, limit, sure);
}

static bool is_in_order(const struct wcs_advice *advice, enum surely sure)
{
	return exceeds(advice, order_of(advice->stats), RULES_ORDER, &advice->stats->order.pairs,
		       sure);
}

bool rules_order(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	(void)at;
	if (wcs_keys_salted(advice->keys) || (!begins_in_order(advice, RULES_MOST, SURELY) &&
					      !begins(advice, SEGMENT_COUNTED, RULES_MOST, SURELY)))
		return false;
	finding->value = order_of(advice->stats);
	finding->spread = &advice->stats->order.pairs;
	finding->key = &advice->stats->before;
	finding->segment = advice->stats->order.lead + 1;
	return true;
}

/* Silent where rules_order has more to say. */
bool rules_time_first(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	(void)at;
	if (wcs_keys_salted(advice->keys) || is_in_order(advice, SURELY))
		return false;
	return share_of(advice, advice->stats->order.lead, SEGMENT_TIME, finding);
}

/* Silent where the order of the writes is known. */
bool rules_number_first(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	const struct advice_stats *stats = advice->stats;

	(void)at;
	return !wcs_keys_salted(advice->keys) && is_alone(stats) && is_sorted(stats) &&
	       !is_order_known(stats) &&
	       share_of(advice, stats->order.lead, SEGMENT_NUMBER, finding);
}

/* ---- Salt -------------------------------------------------------------------------------- */

/* Nothing is behind the leading segment, so no other one can come first. */
bool rules_salt_missing(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	const struct advice_stats *stats = advice->stats;
	double last = (double)stats->depths[stats->order.lead] / (double)stats->rows;

	return exceeds(advice, last, RULES_MOST, &stats->spread, SURELY) &&
	       rules_order(advice, at, finding);
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

/* The buckets, where the order of the keys is not that of the writes, and no prefix is hot. */
bool rules_salt_idle(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	const struct advice_stats *stats = advice->stats;

	(void)at;
	if (!wcs_keys_salted(advice->keys) || !is_order_known(stats) ||
	    begins_in_order(advice, RULES_FEW, SURELY_NOT) || is_in_order(advice, SURELY_NOT) ||
	    stats->traffic[WCS_HEAT_HOT_PREFIX][0].share > 0 ||
	    stats->traffic[WCS_HEAT_SEQUENTIAL][0].share > 0)
		return false;
	finding->value = advice->keys->buckets;
	return true;
}
