/* SPDX-License-Identifier: MIT */
/*
 * Copies the schema of a store, and brings it up to a wanted one.
 *
 * The wanted schema is checked against the store, and only then applied: a missing table is made
 * with all its families at once; in an existing table each difference is a change of its own.
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
	int rc = table_describe(table, table->families, table->family_count, copy);

	if (copy->keys != NULL) {
		copy->keys = malloc(sizeof(*copy->keys));
		if (copy->keys != NULL)
			*copy->keys = *wcs_table_keys(table);
		else
			rc = -ENOMEM;
	}
	for (size_t i = 0; i < copy->family_count; i++) {
		copy->families[i].gc = strdup(copy->families[i].gc);
		if (copy->families[i].gc == NULL)
			rc = -ENOMEM;
	}
	return rc;
}

int wcs_schema_get(struct wcs_store *store, struct wcs_schema **schema)
{
	struct wcs_schema *copy = calloc(1, sizeof(*copy));
	int rc = 0;

	if (copy == NULL)
		return -ENOMEM;
	pthread_rwlock_rdlock(&store->lock);
	copy->tables = calloc(store->table_count + 1, sizeof(*copy->tables));
	if (copy->tables == NULL)
		rc = -ENOMEM;
	for (size_t i = 0; rc == 0 && i < store->table_count; i++) {
		if (table_enter(store->tables[i]) != 0)
			continue;
		rc = schema_copy_table(store->tables[i], &copy->tables[copy->table_count++]);
		table_leave(store->tables[i]);
	}
	pthread_rwlock_unlock(&store->lock);
	if (rc == 0)
		*schema = copy;
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

/* why: of -EINVAL. */
static int schema_fail_layout(struct wcs_fault *fault, int rc, const char *table,
			      const struct wcs_fault *why)
{
	return wcs_fault_set(
		fault, rc, "table %s: %s", table,
		rc == -EINVAL	   ? why->text
		: rc == -ENOTEMPTY ? "its delimiter and keys cannot change while it has rows"
		: rc == -EBUSY	   ? "its delimiter and keys cannot change while it stores "
				     "cells that its policies hide, until the garbage "
				     "collector has run"
				   : strerror(-rc));
}

static int schema_fail_change(struct wcs_fault *fault, int rc, const char *table,
			      const char *family)
{
	return wcs_fault_set(fault, rc, "table %s, family %s: %s", table, family,
			     rc == -ENOTEMPTY ? "its type cannot change while it holds cells"
			     : rc == -EPERM   ? "the table is protected, and the policy would "
						"hide more"
					      : strerror(-rc));
}

static int schema_look_table(struct wcs_table *table, const struct wcs_table_schema *wanted,
			     struct wcs_fault *fault)
{
	struct wcs_fault why = {0};
	int rc = table_lock(table);
	bool differs;

	if (rc != 0)
		return rc;
	rc = table_check_layout(table, wanted->delimiter, wanted->keys, &differs, &why);
	if (rc != 0)
		schema_fail_layout(fault, rc, wanted->name, &why);
	for (size_t i = 0; rc == 0 && i < wanted->family_count; i++) {
		const struct wcs_family *family = &wanted->families[i];

		rc = family_may_change(table, family, wanted->protection == WCS_UNPROTECTED);
		if (rc != 0)
			schema_fail_change(fault, rc, wanted->name, family->name);
	}
	table_unlock(table);
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
	struct wcs_fault why = {0};
	int rc = table_set_layout(table, wanted->delimiter, wanted->keys, &why);

	if (rc != 0)
		return schema_fail_layout(fault, rc, wanted->name, &why);
	if (wanted->protection == WCS_UNPROTECTED)
		rc = schema_protect(table, false, fault);
	for (size_t i = 0; rc == 0 && i < wanted->family_count; i++) {
		const struct wcs_family *family = &wanted->families[i];

		rc = family_make(table, family);
		if (rc == -EEXIST) {
			rc = 0;
			if (family->type != WCS_TYPE_NONE)
				rc = wcs_family_set_type(table, family->name, family->type);
			if (rc == 0 && family->gc != NULL)
				rc = wcs_family_set_gc(table, family->name, family->gc, NULL);
		}
		if (rc != 0)
			schema_fail_change(fault, rc, wanted->name, family->name);
	}
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

	if (rc == 0) {
		rc = schema_apply_table(table, wanted, fault);
		wcs_table_close(table);
		return rc;
	}
	rc = table_make(store, wanted);
	if (rc == -EMFILE)
		schema_fail_count(fault, wanted->name);
	else if (rc != 0)
		wcs_fault_set(fault, rc, "table %s: %s", wanted->name, strerror(-rc));
	return rc;
}

int wcs_schema_apply(struct wcs_store *store, const struct wcs_schema *schema,
		     struct wcs_fault *fault)
{
	int rc = schema_look(store, schema, fault);

	for (size_t i = 0; rc == 0 && i < schema->table_count; i++) {
		const struct wcs_table_schema *wanted = &schema->tables[i];

		rc = schema_apply_once(store, wanted, fault);
		if (rc == -EEXIST || rc == -ENOENT)
			rc = schema_apply_once(store, wanted, fault);
	}
	return rc;
}
