/* SPDX-License-Identifier: MIT */
/* The families of a table for the store's callers: looked up under the gate, changed through
 * table_change. */
#include "store/table/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool wcs_family_exists(struct wcs_table *table, struct wcs_slice name)
{
	size_t at;
	bool found;

	if (table_enter(table) != 0)
		return false;
	found = family_find(table, name, &at);
	table_leave(table);
	return found;
}

bool wcs_families_has(void *table, const void *name, size_t len)
{
	return wcs_family_exists(table, (struct wcs_slice){name, len});
}

int wcs_family_next(struct wcs_table *table, const char *after, char *name)
{
	size_t at = 0;
	int rc = table_enter(table);

	if (rc != 0)
		return rc;
	if (after != NULL && family_find(table, (struct wcs_slice){after, strlen(after)}, &at))
		at++;
	rc = at < table->family_count ? 0 : -ENOENT;
	if (rc == 0)
		strcpy(name, table->families[at]->family.name);
	table_leave(table);
	return rc;
}

/* Enters the table and finds a family of it. -ENOENT: the table is not entered then. */
static int family_enter(struct wcs_table *table, const char *name, const struct wcs_family **family)
{
	const struct table_family *found;
	int rc = table_enter(table);

	if (rc != 0)
		return rc;
	found = family_of(table, name);
	if (found != NULL) {
		*family = &found->family;
		return 0;
	}
	table_leave(table);
	return -ENOENT;
}

int wcs_family_get(struct wcs_table *table, const char *name, struct wcs_family *family)
{
	const struct wcs_family *found;
	struct wcs_family copy;
	int rc = family_enter(table, name, &found);

	if (rc != 0)
		return rc;
	copy = *found;
	copy.gc = strdup(copy.gc);
	table_leave(table);
	if (copy.gc == NULL)
		return -ENOMEM;
	*family = copy;
	return 0;
}

int wcs_family_type(struct wcs_table *table, const char *name, enum wcs_type *type)
{
	const struct wcs_family *found;
	int rc = family_enter(table, name, &found);

	if (rc != 0)
		return rc;
	*type = found->type;
	table_leave(table);
	return 0;
}

void wcs_family_clear(struct wcs_family *family)
{
	if (family == NULL)
		return;
	free(family->gc);
	family->gc = NULL;
}

/* Makes the edit, with this family in its place. */
static int family_put(struct wcs_table *table, struct table_edit *edit,
		      const struct wcs_family *family)
{
	int rc = -ENOMEM;

	edit->adds = family_new(family);
	if (edit->adds != NULL)
		rc = table_change(table, edit);
	family_free(edit->adds);
	return rc;
}

int family_make(struct wcs_table *table, const struct wcs_family *family)
{
	struct wcs_slice name = {family->name, strlen(family->name)};
	struct table_edit edit = {.removes = false};
	int rc = table_lock(table);

	if (rc != 0)
		return rc;
	rc = family_find(table, name, &edit.at) ? -EEXIST : family_put(table, &edit, family);
	if (rc == 0)
		family_warn_count(table);
	table_unlock(table);
	return rc;
}

int wcs_family_create(struct wcs_table *table, const char *name)
{
	struct wcs_family family = {.type = WCS_BYTES};

	if (!wcs_family_name_valid(name))
		return -EINVAL;
	strcpy(family.name, name);
	return family_make(table, &family);
}

int wcs_family_remove(struct wcs_table *table, const char *name)
{
	struct table_edit edit = {.removes = true, .needs_empty = true};
	int rc = table_lock(table);

	if (rc != 0)
		return rc;
	rc = -ENOENT;
	if (family_find(table, (struct wcs_slice){name, strlen(name)}, &edit.at))
		rc = table->protected ? -EPERM : table_change(table, &edit);
	table_unlock(table);
	return rc;
}

/* -EPERM: the policy collects a cell that the other one does not. */
static int family_compare_policies(const char *text, const char *other_text)
{
	struct wcs_gc *gc = NULL, *other = NULL;
	int rc = wcs_gc_parse(text, &gc, NULL);

	if (rc == 0)
		rc = wcs_gc_parse(other_text, &other, NULL);
	if (rc == 0 && !wcs_gc_is_within(gc, other))
		rc = -EPERM;
	wcs_gc_free(gc);
	wcs_gc_free(other);
	return rc;
}

/* Replaces a family's policy (NULL: keep) and type (NONE: keep). */
static int family_set(struct wcs_table *table, const char *name, char *gc, enum wcs_type type)
{
	struct table_edit edit = {.removes = true};
	struct wcs_family next;
	int rc = table_lock(table);

	if (rc != 0)
		return rc;
	if (!family_find(table, (struct wcs_slice){name, strlen(name)}, &edit.at)) {
		table_unlock(table);
		return -ENOENT;
	}
	next = table->families[edit.at]->family;
	edit.needs_empty = type != WCS_TYPE_NONE && type != next.type;
	if (edit.needs_empty)
		next.type = type;
	if (gc != NULL && strcmp(gc, next.gc) != 0) {
		if (table->protected)
			rc = family_compare_policies(gc, next.gc);
		next.gc = gc;
		next.gc_changed = store_now(table->store);
	}
	if (rc == 0 && (edit.needs_empty || next.gc == gc))
		rc = family_put(table, &edit, &next);
	table_unlock(table);
	return rc;
}

int wcs_family_set_gc(struct wcs_table *table, const char *name, const char *policy,
		      struct wcs_fault *fault)
{
	char *canonical;
	int rc = wcs_gc_canonical(policy, &canonical, fault);

	if (rc != 0)
		return rc;
	rc = family_set(table, name, canonical, WCS_TYPE_NONE);
	free(canonical);
	if (rc == -ENOENT)
		wcs_fault_set(fault, rc, "table %s has no family %.64s", table->name, name);
	else if (rc == -EPERM)
		wcs_fault_set(
			fault, rc,
			"table %s is protected, and the policy would hide more of family %.64s",
			table->name, name);
	else if (rc != 0)
		wcs_fault_set(fault, rc, "the policy of family %.64s could not be stored: %s", name,
			      strerror(-rc));
	return rc;
}

int wcs_family_set_type(struct wcs_table *table, const char *name, enum wcs_type type)
{
	return wcs_type_name(type) != NULL ? family_set(table, name, NULL, type) : -EINVAL;
}

int family_may_change(struct wcs_table *table, const struct wcs_family *wanted, bool opens)
{
	const struct table_family *family = family_of(table, wanted->name);
	int rc = 0;

	if (family == NULL)
		return 0;
	if (wanted->type != WCS_TYPE_NONE && wanted->type != family->family.type)
		rc = table_check_shown(table, family);
	if (rc == 0 && wanted->gc != NULL && table->protected && !opens)
		rc = family_compare_policies(wanted->gc, family->family.gc);
	return rc;
}
