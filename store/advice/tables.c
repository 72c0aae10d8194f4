/* SPDX-License-Identifier: MIT */
/* Groups small tables by the names of their families. */
#include "store/advice/advice_private.h"

#include <errno.h>
#include <string.h>

#include "lib/grow.h"
#include "lib/hash.h"

#define TABLES_SMALL 10000u /* rows of a small table at most */

/* The order of the families does not count. */
static uint64_t families_hash(const struct wcs_advice *advice)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < advice->family_count; i++) {
		const char *name = advice->families[i].name;

		hash += hash_bytes(HASH_START, name, strlen(name));
	}
	return hash;
}

int tables_add(struct wcs_advice *advice)
{
	uint64_t families = families_hash(advice);
	struct advice_alike *alike;
	int rc;

	if (advice->stats->parts > 0 || advice->stats->rows > TABLES_SMALL ||
	    advice->family_count == 0)
		return 0;
	for (size_t i = 0; i < advice->alike_count; i++)
		if (advice->alike[i].families == families) {
			advice->alike[i].tables++;
			return 0;
		}
	if (advice->alike_count == WCS_TABLES_MAX)
		return 0;
	rc = grow(&advice->alike, &advice->alike_room, advice->alike_count + 1, 16,
		  sizeof(*advice->alike));
	if (rc != 0)
		return rc;
	alike = &advice->alike[advice->alike_count++];
	*alike = (struct advice_alike){.families = families, .tables = 1};
	strcpy(alike->name, advice->schema->name);
	return 0;
}

bool rules_tables(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	if (at >= advice->alike_count)
		return false;
	finding->table = advice->alike[at].name;
	finding->value = (double)advice->alike[at].tables;
	return true;
}
