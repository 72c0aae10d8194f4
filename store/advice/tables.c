/* SPDX-License-Identifier: MIT */
/* Groups small tables by their schema: families with types and policies, delimiter, key design. */
#include "store/advice/advice_private.h"

#include <errno.h>
#include <string.h>

#include "lib/grow.h"
#include "lib/hash.h"

#define TABLES_SMALL 10000u /* rows of a small table at most */

static uint64_t text_hash(uint64_t hash, const char *text)
{
	return hash_bytes(hash, text, strlen(text) + 1);
}

/* The order of the families does not count. */
static uint64_t schema_hash(const struct wcs_advice *advice)
{
	const struct wcs_table_schema *schema = advice->schema;
	uint64_t hash = hash_bytes(HASH_START, &advice->delimiter, 1);

	for (size_t i = 0; advice->keys && i < advice->keys->segment_count; i++)
		hash = hash * 31 + advice->keys->segments[i].codec;
	hash += wcs_keys_salted(advice->keys) ? advice->keys->buckets : 0;
	for (size_t i = 0; i < schema->family_count; i++) {
		const struct wcs_family *family = &schema->families[i];
		uint64_t one = text_hash(text_hash(HASH_START, family->name),
					 family->gc ? family->gc : "");

		hash += hash_bytes(one, &family->type, sizeof(family->type));
	}
	/* Those that the schema does not name are behind those that it names. */
	for (size_t i = schema->family_count; i < advice->family_count; i++) {
		const char *name = advice->families[i].name;

		hash += hash_bytes(HASH_START, name, strlen(name));
	}
	return hash;
}

int tables_add(struct wcs_advice *advice)
{
	uint64_t schema = schema_hash(advice);
	struct advice_alike *alike;
	int rc;

	if (advice->stats->sample || advice->stats->rows > TABLES_SMALL ||
	    advice->family_count == 0)
		return 0;
	for (size_t i = 0; i < advice->alike_count; i++)
		if (advice->alike[i].schema == schema) {
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
	*alike = (struct advice_alike){.schema = schema, .tables = 1};
	strcpy(alike->name, advice->schema->name);
	return 0;
}

bool rules_tables(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	finding->table = advice->alike[at].name;
	finding->value = (double)advice->alike[at].tables;
	return true;
}
