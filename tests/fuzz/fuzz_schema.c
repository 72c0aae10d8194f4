/* SPDX-License-Identifier: MIT */
/* Schemas as JSON: written and read again they are the same, and so is the schema of a store to
 * which they are applied. */
#include "tests/fuzz/fuzz.h"

#include "store/keys/keys.h"

static void schema_fuzz_same_table(const struct wcs_table_schema *a,
				   const struct wcs_table_schema *b)
{
	FUZZ_CHECK(strcmp(a->name, b->name) == 0 && a->delimiter == b->delimiter);
	FUZZ_CHECK(a->protection == b->protection);
	FUZZ_CHECK((a->keys == NULL) == (b->keys == NULL) && wcs_keys_equal(a->keys, b->keys));
	FUZZ_CHECK(a->family_count == b->family_count);
	for (size_t i = 0; i < a->family_count; i++) {
		const struct wcs_family *x = &a->families[i], *y = &b->families[i];

		FUZZ_CHECK(strcmp(x->name, y->name) == 0 && x->type == y->type);
		FUZZ_CHECK((x->gc == NULL) == (y->gc == NULL));
		FUZZ_CHECK(!x->gc || strcmp(x->gc, y->gc) == 0);
	}
}

/* Reads the text of a written schema: it gives that schema, and the same bytes when written
 * again. */
static void schema_fuzz_again(const struct wcs_schema *written, const char *text,
			      const char *expected)
{
	struct wcs_schema *schema = NULL;
	char *again;

	FUZZ_CHECK(text);
	FUZZ_CHECK(wcs_schema_parse(text, strlen(text), &schema, NULL) == 0);
	FUZZ_CHECK(schema->table_count == written->table_count);
	for (size_t i = 0; i < schema->table_count; i++)
		schema_fuzz_same_table(&schema->tables[i], &written->tables[i]);
	again = wcs_schema_format(schema);
	FUZZ_CHECK(again && strcmp(again, expected) == 0);
	free(again);
	wcs_schema_free(schema);
}

static char *schema_fuzz_of(struct wcs_store *store)
{
	struct wcs_schema *schema = NULL;
	char *text;

	FUZZ_CHECK(wcs_schema_get(store, &schema) == 0);
	text = wcs_schema_format(schema);
	FUZZ_CHECK(text);
	wcs_schema_free(schema);
	return text;
}

/* Applied twice it is as applied once, and a store's own schema makes another store the same. */
static void schema_fuzz_apply(const struct wcs_schema *schema)
{
	struct wcs_store *store = fuzz_store(), *other = fuzz_store();
	struct wcs_schema *whole = NULL;
	char *once, *twice;

	FUZZ_CHECK(wcs_schema_apply(store, schema, NULL) == 0);
	once = schema_fuzz_of(store);
	FUZZ_CHECK(wcs_schema_apply(store, schema, NULL) == 0);
	twice = schema_fuzz_of(store);
	FUZZ_CHECK(strcmp(once, twice) == 0);
	free(twice);
	FUZZ_CHECK(wcs_schema_parse(once, strlen(once), &whole, NULL) == 0);
	FUZZ_CHECK(wcs_schema_apply(other, whole, NULL) == 0);
	twice = schema_fuzz_of(other);
	FUZZ_CHECK(strcmp(once, twice) == 0);
	free(once);
	free(twice);
	wcs_schema_free(whole);
	wcs_store_close(store);
	wcs_store_close(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wcs_fault fault = {.text = ""};
	struct wcs_schema *schema = NULL;
	char *text, *line;
	int error = wcs_schema_parse((const char *)data, size, &schema, &fault);

	FUZZ_CHECK(error == 0 || error == -EINVAL);
	FUZZ_CHECK((error != 0) == (fault.text[0] != '\0'));
	if (error)
		return 0;
	text = wcs_schema_format(schema);
	line = wcs_schema_line(schema);
	schema_fuzz_again(schema, text, text);
	schema_fuzz_again(schema, line, text);
	free(text);
	free(line);
	if (schema->table_count <= WCS_TABLES_MAX)
		schema_fuzz_apply(schema);
	wcs_schema_free(schema);
	return 0;
}
