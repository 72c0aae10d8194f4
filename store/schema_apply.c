/* SPDX-License-Identifier: MIT */
/*
 * The schema of a store: copied as a whole, and brought up to a given one.
 *
 * A table that is missing is made with all its families at once. In a table that is there each
 * difference is a change of its own, so that what came before a failure stays.
 */
#include "table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Copying ----------------------------------------------------------------------------- */

/* Fills one table of the copy; the caller has entered the table. What is filled stays countable
 * for wcs_schema_free, also on failure. */
static int schema_copy_table(const struct wcs_table *table, struct wcs_table_schema *copy)
{
	strcpy(copy->name, table->name);
	copy->delimiter = table->delimiter;
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

/* ---- Applying ---------------------------------------------------------------------------- */

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

/* Of a family that is to be made: what is open becomes the default. */
static int schema_close_family(struct wcs_family *family)
{
	if (family->type == WCS_TYPE_NONE)
		family->type = WCS_BYTES;
	if (family->gc == NULL)
		family->gc = strdup("never");
	return family->gc != NULL ? 0 : -ENOMEM;
}

static int schema_make_table(struct wcs_store *store, const struct wcs_table_schema *wanted,
			     struct wcs_fault *fault)
{
	struct wcs_table_schema checked = *wanted;
	int rc = 0;

	if (checked.delimiter == 0)
		checked.delimiter = WCS_DELIMITER_DEFAULT;
	checked.family_count = 0;
	checked.families = calloc(wanted->family_count + 1, sizeof(*checked.families));
	if (checked.families == NULL)
		return wcs_fault_set(fault, -ENOMEM, "table %s: no memory", wanted->name);
	for (size_t i = 0; rc == 0 && i < wanted->family_count; i++) {
		rc = schema_check_family(wanted->name, &wanted->families[i], &checked.families[i],
					 fault);
		if (rc == 0 && schema_close_family(&checked.families[i]) != 0)
			rc = wcs_fault_set(fault, -ENOMEM, "table %s: no memory", wanted->name);
		checked.family_count += rc == 0;
	}
	if (rc == 0) {
		rc = table_make(store, &checked);
		if (rc == -EINVAL)
			wcs_fault_set(fault, rc, "table %s: it names a family twice", wanted->name);
		else if (rc == -EMFILE)
			wcs_fault_set(fault, rc, "table %s: a store holds at most %u tables",
				      wanted->name, WCS_TABLES_MAX);
		else if (rc != 0)
			wcs_fault_set(fault, rc, "table %s: %s", wanted->name, strerror(-rc));
	}
	for (size_t i = 0; i < checked.family_count; i++)
		wcs_family_clear(&checked.families[i]);
	free(checked.families);
	return rc;
}

static int schema_apply_family(struct wcs_table *table, const struct wcs_family *wanted,
			       struct wcs_fault *fault)
{
	const char *name = wcs_table_name(table);
	struct wcs_family checked = {.gc = NULL};
	int rc = schema_check_family(name, wanted, &checked, fault);

	if (rc != 0)
		return rc;
	rc = family_make(table, &checked);
	if (rc == -EEXIST) {
		rc = 0;
		if (checked.type != WCS_TYPE_NONE)
			rc = wcs_family_set_type(table, checked.name, checked.type);
		if (rc == 0 && checked.gc != NULL)
			rc = wcs_family_set_gc(table, checked.name, checked.gc, fault);
	}
	if (rc == -ENOTEMPTY)
		schema_fail_family(fault, rc, name, checked.name,
				   "its type cannot change while it holds cells");
	else if (rc != 0)
		schema_fail_family(fault, rc, name, checked.name, strerror(-rc));
	wcs_family_clear(&checked);
	return rc;
}

static int schema_apply_table(struct wcs_table *table, const struct wcs_table_schema *wanted,
			      struct wcs_fault *fault)
{
	int rc = 0;

	if (wanted->delimiter != 0)
		rc = wcs_table_set_delimiter(table, wanted->delimiter);
	if (rc == -ENOTEMPTY)
		return wcs_fault_set(fault, rc,
				     "table %s: its delimiter cannot change while it has rows",
				     wanted->name);
	if (rc != 0)
		return wcs_fault_set(fault, rc, "table %s: its delimiter: %s", wanted->name,
				     strerror(-rc));
	for (size_t i = 0; rc == 0 && i < wanted->family_count; i++)
		rc = schema_apply_family(table, &wanted->families[i], fault);
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

int wcs_schema_apply(struct wcs_store *store, const struct wcs_schema *schema,
		     struct wcs_fault *fault)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < schema->table_count; i++) {
		const struct wcs_table_schema *wanted = &schema->tables[i];

		if (!wcs_table_name_valid(wanted->name))
			return wcs_fault_set(fault, -EINVAL, "table %.50s: not a name of a table",
					     wanted->name);
		if (wanted->delimiter != 0 && !table_delimiter_valid(wanted->delimiter))
			return wcs_fault_set(fault, -EINVAL,
					     "table %s: not a byte that can delimit", wanted->name);
		rc = schema_apply_once(store, wanted, fault);
		if (rc == -EEXIST || rc == -ENOENT)
			rc = schema_apply_once(store, wanted, fault);
	}
	return rc;
}
