/* SPDX-License-Identifier: MIT */
/* Groups small tables by their schema: families with types and policies, delimiter, key design. */
#include "store/advice/advice_private.h"

#include <string.h>

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

void tables_add(struct wcs_advice *advice)
{
	uint64_t schema = schema_hash(advice);
	size_t at = 0;

	if (advice->stats.sample || advice->stats.rows > TABLES_SMALL || advice->family_count == 0)
		return;
	while (at < advice->alike_count && advice->alike[at].schema != schema)
		at++;
	if (at == WCS_TABLES_MAX)
		return;
	if (at == advice->alike_count) {
		advice->alike[advice->alike_count++].schema = schema;
		strcpy(advice->alike[at].name, advice->schema->name);
	}
	advice->alike[at].tables++;
}

bool rules_tables(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	finding->table = advice->alike[at].name;
	finding->value = (double)advice->alike[at].tables;
	return true;
}
