/* SPDX-License-Identifier: MIT */
/*
 * Copies the schema of a store, and brings it up to a wanted one.
 *
 * The wanted schema is checked by itself, then against the store, and only then applied: a missing
 * table is made with all its families at once; in an existing table each difference is a change of
 * its own.
 */
#include "store/table/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Copying ----------------------------------------------------------------------------- */

/* Fills one table of the copy; the caller has entered the table. On failure, too, wcs_schema_free
 * can free the copy. */
static int schema_copy_table(const struct wcs_table *table, struct wcs_table_schema *copy)
{
	strcpy(copy->name, table->name);
	copy->delimiter = table->delimiter;
	copy->protection = table->protected ? WCS_PROTECTED : WCS_UNPROTECTED;
	copy->created = table->created;
	copy->families = calloc(table->family_count + 1, sizeof(*copy->families));
	if (copy->families == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < table->family_count; i++) {
		copy->families[i] = table->families[i]->family;
		copy->families[i].gc = strdup(table->families[i]->family.gc);
		copy->family_count++;
		if (copy->families[i].gc == NULL)
			return -ENOMEM;
	}
	return 0;
}

/* The caller holds the store's lock. */
static int schema_copy_tables(struct wcs_store *store, struct wcs_schema *copy)
{
	for (size_t i = 0; i < store->table_count; i++) {
		int rc = table_enter(store->tables[i]);

		if (rc == -ENOENT)
			continue;
		rc = schema_copy_table(store->tables[i], &copy->tables[copy->table_count++]);
		table_leave(store->tables[i]);
		if (rc != 0)
			return rc;
	}
	return 0;
}

int wcs_schema_get(struct wcs_store *store, struct wcs_schema **schema)
{
	struct wcs_schema *copy = calloc(1, sizeof(*copy));
	int rc = -ENOMEM;

	if (copy == NULL)
		return rc;
	pthread_rwlock_rdlock(&store->lock);
	copy->tables = calloc(store->table_count + 1, sizeof(*copy->tables));
	if (copy->tables != NULL)
		rc = schema_copy_tables(store, copy);
	pthread_rwlock_unlock(&store->lock);
	if (rc == 0)
		*schema = copy;
	else
		wcs_schema_free(copy);
	return rc;
}

/* ---- Checks of the wanted schema
 * ------------------------------------------------------------------ */

static int schema_fail_family(struct wcs_fault *fault, int rc, const char *table,
			      const char *family, const char *why)
{
	return wcs_fault_set(fault, rc, "table %.50s, family %.64s: %s", table, family, why);
}

/* A checked copy of a family, for wcs_family_clear: its policy in canonical spelling, or open. */
static int schema_check_family(const char *table, const struct wcs_family *family,
			       struct wcs_family *checked, struct wcs_fault *fault)
{
	struct wcs_fault inner = {.line = 0};
	char *gc = NULL;
	int rc = 0;

	if (!wcs_family_name_valid(family->name))
		return schema_fail_family(fault, -EINVAL, table, family->name,
					  "not a name of a family");
	if (family->type != WCS_TYPE_NONE && wcs_type_name(family->type) == NULL)
		return schema_fail_family(fault, -EINVAL, table, family->name, "no such type");
	if (family->gc != NULL)
		rc = wcs_gc_canonical(family->gc, &gc, &inner);
	if (rc != 0)
		return schema_fail_family(fault, rc, table, family->name, inner.text);
	*checked = *family;
	checked->gc = gc;
	return 0;
}

static int schema_compare_families(const void *left, const void *right)
{
	const struct wcs_family *a = left, *b = right;

	return strcmp(a->name, b->name);
}

/* Sorts the families, and finds one that is named twice. */
static int schema_check_order(struct wcs_table_schema *checked, struct wcs_fault *fault)
{
	if (checked->family_count > 1)
		qsort(checked->families, checked->family_count, sizeof(*checked->families),
		      schema_compare_families);
	for (size_t i = 1; i < checked->family_count; i++)
		if (schema_compare_families(&checked->families[i - 1], &checked->families[i]) == 0)
			return wcs_fault_set(fault, -EINVAL, "table %s: it names a family twice",
					     checked->name);
	return 0;
}

/* On failure, too, wcs_schema_free can free the copy. */
static int schema_check_table(const struct wcs_table_schema *wanted,
			      struct wcs_table_schema *checked, struct wcs_fault *fault)
{
	int rc = 0;

	if (!wcs_table_name_valid(wanted->name))
		return wcs_fault_set(fault, -EINVAL, "table %.50s: not a name of a table",
				     wanted->name);
	if (wanted->delimiter != 0 && !wcs_delimiter_valid(wanted->delimiter))
		return wcs_fault_set(fault, -EINVAL, "table %s: not a byte that can delimit",
				     wanted->name);
	strcpy(checked->name, wanted->name);
	checked->delimiter = wanted->delimiter;
	checked->protection = wanted->protection;
	checked->families = calloc(wanted->family_count + 1, sizeof(*checked->families));
	if (checked->families == NULL)
		return wcs_fault_set(fault, -ENOMEM, "table %s: no memory", wanted->name);
	for (size_t i = 0; rc == 0 && i < wanted->family_count; i++) {
		rc = schema_check_family(wanted->name, &wanted->families[i], &checked->families[i],
					 fault);
		checked->family_count += rc == 0;
	}
	return rc == 0 ? schema_check_order(checked, fault) : rc;
}

/* A checked copy of the schema, for wcs_schema_free. */
static int schema_check(const struct wcs_schema *schema, struct wcs_schema **checked,
			struct wcs_fault *fault)
{
	struct wcs_schema *copy = calloc(1, sizeof(*copy));
	int rc = 0;

	if (copy != NULL)
		copy->tables = calloc(schema->table_count + 1, sizeof(*copy->tables));
	if (copy == NULL || copy->tables == NULL)
		rc = wcs_fault_set(fault, -ENOMEM, "no memory");
	for (size_t i = 0; rc == 0 && i < schema->table_count; i++)
		rc = schema_check_table(&schema->tables[i], &copy->tables[copy->table_count++],
					fault);
	if (rc == 0)
		*checked = copy;
	else
		wcs_schema_free(copy);
	return rc;
}

/* ---- Checks against the store --------------------------------------------------------- */

static int schema_fail_count(struct wcs_fault *fault, const char *table)
{
	return wcs_fault_set(fault, -EMFILE, "table %s: a store holds at most %u tables", table,
			     WCS_TABLES_MAX);
}

static int schema_fail_delimiter(struct wcs_fault *fault, int rc, const char *table)
{
	if (rc == -ENOTEMPTY)
		return wcs_fault_set(fault, rc,
				     "table %s: its delimiter cannot change while it has rows",
				     table);
	return wcs_fault_set(fault, rc, "table %s: its delimiter: %s", table, strerror(-rc));
}

static int schema_fail_change(struct wcs_fault *fault, int rc, const char *table,
			      const char *family)
{
	return schema_fail_family(fault, rc, table, family,
				  rc == -ENOTEMPTY ? "its type cannot change while it holds cells"
				  : rc == -EPERM   ? "the table is protected, and the policy would "
						     "hide more"
						   : strerror(-rc));
}

static int schema_look_table(struct wcs_table *table, const struct wcs_table_schema *wanted,
			     struct wcs_fault *fault)
{
	int rc = 0;

	if (wanted->delimiter != 0)
		rc = table_may_delimit(table, wanted->delimiter);
	if (rc != 0)
		return schema_fail_delimiter(fault, rc, wanted->name);
	for (size_t i = 0; rc == 0 && i < wanted->family_count; i++) {
		const struct wcs_family *family = &wanted->families[i];

		rc = family_may_change(table, family, wanted->protection == WCS_UNPROTECTED);
		if (rc != 0)
			schema_fail_change(fault, rc, wanted->name, family->name);
	}
	return rc;
}

static int schema_look(struct wcs_store *store, const struct wcs_schema *schema,
		       struct wcs_fault *fault)
{
	size_t count;
	int rc = 0;

	pthread_rwlock_rdlock(&store->lock);
	count = store->table_count;
	pthread_rwlock_unlock(&store->lock);
	for (size_t i = 0; rc == 0 && i < schema->table_count; i++) {
		const struct wcs_table_schema *wanted = &schema->tables[i];
		struct wcs_table *table;

		if (wcs_table_open(store, wanted->name, &table) != 0) {
			if (++count > WCS_TABLES_MAX)
				return schema_fail_count(fault, wanted->name);
			continue;
		}
		rc = schema_look_table(table, wanted, fault);
		wcs_table_close(table);
		if (rc == -ENOENT) /* removed meanwhile */
			rc = 0;
	}
	return rc;
}

/* ---- Applying ---------------------------------------------------------------------------- */

static int schema_make_table(struct wcs_store *store, const struct wcs_table_schema *wanted,
			     struct wcs_fault *fault)
{
	static char never[] = "never";
	struct wcs_table_schema made = *wanted;
	int rc = -ENOMEM;

	if (made.delimiter == 0)
		made.delimiter = WCS_DELIMITER_DEFAULT;
	made.families = calloc(made.family_count + 1, sizeof(*made.families));
	for (size_t i = 0; made.families != NULL && i < made.family_count; i++) {
		made.families[i] = wanted->families[i];
		if (made.families[i].type == WCS_TYPE_NONE)
			made.families[i].type = WCS_BYTES;
		if (made.families[i].gc == NULL)
			made.families[i].gc = never;
	}
	if (made.families != NULL)
		rc = table_make(store, &made);
	free(made.families);
	if (rc == -EMFILE)
		schema_fail_count(fault, wanted->name);
	else if (rc != 0)
		wcs_fault_set(fault, rc, "table %s: %s", wanted->name, strerror(-rc));
	return rc;
}

static int schema_apply_family(struct wcs_table *table, const struct wcs_family *wanted,
			       struct wcs_fault *fault)
{
	int rc = family_make(table, wanted);

	if (rc == -EEXIST) {
		rc = 0;
		if (wanted->type != WCS_TYPE_NONE)
			rc = wcs_family_set_type(table, wanted->name, wanted->type);
		if (rc == 0 && wanted->gc != NULL)
			rc = wcs_family_set_gc(table, wanted->name, wanted->gc, fault);
	}
	if (rc != 0)
		schema_fail_change(fault, rc, wcs_table_name(table), wanted->name);
	return rc;
}

static int schema_protect(struct wcs_table *table, bool protect, struct wcs_fault *fault)
{
	int rc = wcs_table_set_protected(table, protect);

	return rc == 0 ? 0
		       : wcs_fault_set(fault, rc, "table %s: its protection: %s",
				       wcs_table_name(table), strerror(-rc));
}

static int schema_apply_table(struct wcs_table *table, const struct wcs_table_schema *wanted,
			      struct wcs_fault *fault)
{
	int rc = 0;

	if (wanted->delimiter != 0)
		rc = wcs_table_set_delimiter(table, wanted->delimiter);
	if (rc != 0)
		return schema_fail_delimiter(fault, rc, wanted->name);
	if (wanted->protection == WCS_UNPROTECTED)
		rc = schema_protect(table, false, fault);
	for (size_t i = 0; rc == 0 && i < wanted->family_count; i++)
		rc = schema_apply_family(table, &wanted->families[i], fault);
	if (rc == 0 && wanted->protection == WCS_PROTECTED)
		rc = schema_protect(table, true, fault);
	return rc;
}

/* -ENOENT, -EEXIST: others removed or made the table meanwhile. */
static int schema_apply_once(struct wcs_store *store, const struct wcs_table_schema *wanted,
			     struct wcs_fault *fault)
{
	struct wcs_table *table;
	int rc = wcs_table_open(store, wanted->name, &table);

	if (rc == -ENOENT)
		return schema_make_table(store, wanted, fault);
	rc = schema_apply_table(table, wanted, fault);
	wcs_table_close(table);
	return rc;
}

static int schema_apply(struct wcs_store *store, const struct wcs_schema *schema,
			struct wcs_fault *fault)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < schema->table_count; i++) {
		const struct wcs_table_schema *wanted = &schema->tables[i];

		rc = schema_apply_once(store, wanted, fault);
		if (rc == -EEXIST || rc == -ENOENT)
			rc = schema_apply_once(store, wanted, fault);
	}
	return rc;
}

int wcs_schema_apply(struct wcs_store *store, const struct wcs_schema *schema,
		     struct wcs_fault *fault)
{
	struct wcs_schema *checked;
	int rc = schema_check(schema, &checked, fault);

	if (rc != 0)
		return rc;
	rc = schema_look(store, checked, fault);
	if (rc == 0)
		rc = schema_apply(store, checked, fault);
	wcs_schema_free(checked);
	return rc;
}
