/* SPDX-License-Identifier: MIT */
/* Rules about traffic: the patterns that the diagnosis of the heat maps names. */
#include "store/advice/advice_private.h"
#include "store/keys/salt_ranges.h"

#include <string.h>

/* Less traffic, 28 operations a minute, is no load that a table must be designed for. */
#define TRAFFIC_MIN 10000u

/* A bound without its salt, which need not be the bucket of the rest. */
static struct wcs_slice unsalted(const struct wcs_advice *advice, struct wcs_slice bound)
{
	bool salted = wcs_keys_salted(advice->keys) && bound.len > WCS_KEYS_SALT;

	return salted ? salt_stripped(bound) : bound;
}

/* The segments that both keys begin with; where there is none, the bytes, unless a codec shows them
 * as others; without these, a. */
static struct wcs_slice prefix_of(const struct wcs_advice *advice, struct wcs_slice a,
				  struct wcs_slice b)
{
	size_t shared = wcs_slice_shared(a, b);
	const char *end = shared > 0 ? memrchr(a.data, advice->delimiter, shared) : NULL;

	if (end && end > (const char *)a.data)
		shared = (size_t)(end - (const char *)a.data);
	else if (wcs_keys_coded(advice->keys, 0))
		shared = 0;
	return (struct wcs_slice){a.data, shared > 0 ? shared : a.len};
}

/* Where a finding of the pattern goes: the buckets of a salt have the same prefixes, which are one.
 */
static struct advice_traffic *traffic_for(struct advice_stats *stats, enum wcs_heat_pattern pattern,
					  struct wcs_slice key)
{
	struct advice_traffic *of = stats->traffic[pattern];
	size_t i = 0;

	while (i + 1 < WCS_HEAT_HOT_MAX && of[i].share > 0 &&
	       wcs_slice_compare(advice_key_slice(&of[i].key), key) != 0)
		i++;
	return &of[i];
}

static void set_traffic(struct wcs_advice *advice, const struct wcs_heat_map *map,
			const struct wcs_heat_finding *finding)
{
	struct wcs_slice key = map->ranges[finding->first].start;
	struct advice_traffic *traffic;

	if (finding->pattern == WCS_HEAT_HOT_PREFIX)
		key = prefix_of(advice, unsalted(advice, key),
				unsalted(advice, map->ranges[finding->last].start));
	else
		key = wcs_keys_unsalted(advice->keys, key);
	traffic = traffic_for(&advice->stats, finding->pattern, key);
	advice_key_set(&traffic->key, key);
	traffic->share += finding->share / 100.0;
}

/* Only a map of writes shows the order of writes, and only that of all operations the rest. */
static int add_map(struct wcs_advice *advice, const struct wcs_heat_map *map, bool writes)
{
	struct wcs_heat_finding findings[WCS_HEAT_FINDINGS_MAX];
	int count = map->total >= TRAFFIC_MIN ? wcs_heat_diagnose(map, findings) : 0;

	for (int i = 0; i < count; i++)
		if (findings[i].ranges && (findings[i].pattern == WCS_HEAT_SEQUENTIAL) == writes)
			set_traffic(advice, map, &findings[i]);
	return count < 0 ? count : 0;
}

int wcs_advice_traffic(struct wcs_advice *advice, const struct wcs_heat_map *operations,
		       const struct wcs_heat_map *writes)
{
	int rc = add_map(advice, operations, false);

	return rc == 0 ? add_map(advice, writes, true) : rc;
}

/* A salt spreads an end that moves. */
bool rules_traffic(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	const struct advice_traffic *traffic = &advice->stats.traffic[finding->rule->of][at];

	finding->value = traffic->share;
	finding->key = &traffic->key;
	return finding->rule->of != WCS_HEAT_SEQUENTIAL || !wcs_keys_salted(advice->keys);
}
