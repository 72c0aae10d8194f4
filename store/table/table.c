/* SPDX-License-Identifier: MIT */
/*
 * Tables in memory: loaded when the store opens, changed together with the engine.
 *
 * All handles on a table share one object. It leaves the store's array when the table is removed,
 * and is freed with its last handle. Invariants: memory agrees with the engine's disk, except while
 * a change holds the gate for writing; a table without families has no rows, since a family goes
 * only when it holds no cell.
 */
#include "store/table/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int table_enter(struct wcs_table *table)
{
	pthread_rwlock_rdlock(&table->gate);
	if (!table->removed) {
		wcs_hold();
		return 0;
	}
	pthread_rwlock_unlock(&table->gate);
	return -ENOENT;
}

void table_leave(struct wcs_table *table)
{
	wcs_release();
	pthread_rwlock_unlock(&table->gate);
}

bool wcs_table_removed(const struct wcs_table *table)
{
	return table->removed;
}

struct wcs_view table_view(const struct wcs_table *table)
{
	if (table->policies == NULL || table->store->engine.backend->can.collects)
		return (struct wcs_view){.policies = NULL};
	return (struct wcs_view){.policies = table->policies, .now = store_now(table->store)};
}

int table_lock(struct wcs_table *table)
{
	pthread_mutex_lock(&table->admin);
	if (!table->removed)
		return 0;
	pthread_mutex_unlock(&table->admin);
	return -ENOENT;
}

void table_unlock(struct wcs_table *table)
{
	pthread_mutex_unlock(&table->admin);
}

/* A design that the table has or had. */
struct table_keys {
	struct table_keys *before;
	struct wcs_keys keys;
};

int table_keys_new(const struct wcs_keys *keys, unsigned char delimiter, struct table_keys **made)
{
	*made = NULL;
	if (wcs_keys_equal(keys, NULL))
		return 0;
	*made = malloc(sizeof(**made));
	if (*made == NULL)
		return -ENOMEM;
	(*made)->keys = *keys;
	(*made)->keys.delimiter = delimiter;
	return 0;
}

void table_keys_adopt(struct wcs_table *table, struct table_keys *made)
{
	if (made != NULL) {
		made->before = table->designs;
		table->designs = made;
	}
	atomic_store(&table->keys, made != NULL ? &made->keys : NULL);
}

uint32_t wcs_table_layout(const struct wcs_table *table)
{
	return atomic_load_explicit(&table->layout, memory_order_acquire);
}

const struct wcs_keys *wcs_table_keys(const struct wcs_table *table)
{
	return atomic_load_explicit(&table->keys, memory_order_acquire);
}

static void table_free(struct wcs_table *table)
{
	if (table == NULL)
		return;
	while (table->designs != NULL) {
		struct table_keys *design = table->designs;

		table->designs = design->before;
		free(design);
	}
	for (size_t i = 0; i < table->family_count; i++)
		family_free(table->families[i]);
	free(table->families);
	wcs_policies_drop(table->policies);
	pthread_rwlock_destroy(&table->gate);
	pthread_mutex_destroy(&table->admin);
	free(table);
}

void wcs_table_close(struct wcs_table *table)
{
	if (table != NULL && atomic_fetch_sub(&table->handles, 1) == 1)
		table_free(table);
}

struct wcs_table *table_hold(struct wcs_table *table)
{
	atomic_fetch_add(&table->handles, 1);
	return table;
}

static int table_compare_families(const void *left, const void *right)
{
	const struct table_family *const *a = left;
	const struct table_family *const *b = right;

	return strcmp((*a)->family.name, (*b)->family.name);
}

/* -EINVAL: a name is no family's, or there twice. */
static int table_fill_families(struct wcs_table *table, const struct wcs_table_schema *schema)
{
	for (size_t i = 0; i < schema->family_count; i++) {
		if (!wcs_family_name_valid(schema->families[i].name))
			return -EINVAL;
		table->families[i] = family_new(&schema->families[i]);
		if (table->families[i] == NULL)
			return -ENOMEM;
		table->family_count++;
	}
	if (table->family_count > 1)
		qsort(table->families, table->family_count, sizeof(struct table_family *),
		      table_compare_families);
	for (size_t i = 1; i < table->family_count; i++)
		if (table_compare_families(&table->families[i - 1], &table->families[i]) == 0)
			return -EINVAL;
	return wcs_policies_new(schema->families, schema->family_count, &table->policies);
}

int table_new(struct wcs_store *store, const struct wcs_table_schema *schema,
	      struct wcs_table **made)
{
	struct table_keys *design;
	pthread_rwlockattr_t attr;
	struct wcs_table *table;
	int rc;

	if (!wcs_table_name_valid(schema->name) || !wcs_delimiter_valid(schema->delimiter) ||
	    (schema->keys != NULL && wcs_keys_check(schema->keys, schema->delimiter, NULL) != 0))
		return -EINVAL;
	table = calloc(1, sizeof(*table));
	if (table == NULL)
		return -ENOMEM;
	table->store = store;
	strcpy(table->name, schema->name);
	table->created = schema->created;
	table->delimiter = schema->delimiter;
	table->protected = schema->protection == WCS_PROTECTED;
	atomic_init(&table->keys, NULL);
	atomic_init(&table->layout, 0);
	atomic_init(&table->handles, 1);
	pthread_mutex_init(&table->admin, NULL);
	pthread_rwlockattr_init(&attr);
	/* Without it a steady stream of mutations would keep a removal out for good. */
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&table->gate, &attr);
	pthread_rwlockattr_destroy(&attr);
	rc = -ENOMEM;
	table->families = calloc(schema->family_count + 1, sizeof(struct table_family *));
	if (table->families != NULL)
		rc = table_fill_families(table, schema);
	if (rc == 0)
		rc = table_keys_new(schema->keys, schema->delimiter, &design);
	if (rc == 0)
		table_keys_adopt(table, design);
	if (rc != 0) {
		table_free(table);
		return rc;
	}
	*made = table;
	return 0;
}

bool table_find(const struct wcs_store *store, const char *name, size_t *at)
{
	size_t low = 0;
	size_t high = store->table_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(store->tables[middle]->name, name);

		if (order == 0) {
			*at = middle;
			return true;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*at = low;
	return false;
}

int table_describe(const struct wcs_table *table, struct table_family *const *families,
		   size_t count, struct wcs_table_schema *described)
{
	strcpy(described->name, table->name);
	described->delimiter = table->delimiter;
	described->protection = table->protected ? WCS_PROTECTED : WCS_PROTECTION_OPEN;
	described->created = table->created;
	described->keys = (struct wcs_keys *)wcs_table_keys(table);
	described->family_count = 0;
	described->families = calloc(count + 1, sizeof(*described->families));
	if (described->families == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		described->families[i] = families[i]->family;
	described->family_count = count;
	return 0;
}

void table_insert(struct wcs_store *store, size_t at, struct wcs_table *table)
{
	pthread_rwlock_wrlock(&store->lock);
	memmove(&store->tables[at + 1], &store->tables[at],
		(store->table_count - at) * sizeof(struct wcs_table *));
	store->tables[at] = table;
	store->table_count++;
	pthread_rwlock_unlock(&store->lock);
}

static int table_load_one(void *ctx, uint32_t id, const struct wcs_table_schema *schema)
{
	struct wcs_store *store = ctx;
	struct wcs_table *table;
	size_t at;
	int rc;

	if (store->table_count == WCS_TABLES_MAX || table_find(store, schema->name, &at))
		return -EIO;
	rc = table_new(store, schema, &table);
	if (rc != 0)
		return rc == -EINVAL ? -EIO : rc;
	table->id = id;
	table_insert(store, at, table);
	return 0;
}

int table_load(struct wcs_store *store)
{
	return store->engine.backend->tables_load(store->engine.db, table_load_one, store);
}

void table_unload(struct wcs_store *store)
{
	for (size_t i = 0; i < store->table_count; i++)
		wcs_table_close(store->tables[i]);
	store->table_count = 0;
}

int wcs_table_open(struct wcs_store *store, const char *name, struct wcs_table **table)
{
	size_t at;
	int rc = -ENOENT;

	pthread_rwlock_rdlock(&store->lock);
	if (table_find(store, name, &at))
		rc = table_enter(store->tables[at]);
	if (rc == 0) {
		table_leave(store->tables[at]);
		*table = table_hold(store->tables[at]);
	}
	pthread_rwlock_unlock(&store->lock);
	return rc;
}

int wcs_table_next(struct wcs_store *store, const char *after, char *name)
{
	size_t at = 0;
	int rc = -ENOENT;

	pthread_rwlock_rdlock(&store->lock);
	if (after != NULL && table_find(store, after, &at))
		at++;
	if (at < store->table_count) {
		strcpy(name, store->tables[at]->name);
		rc = 0;
	}
	pthread_rwlock_unlock(&store->lock);
	return rc;
}

const char *wcs_table_name(const struct wcs_table *table)
{
	return table->name;
}

int64_t wcs_table_created(const struct wcs_table *table)
{
	return table->created;
}

unsigned char wcs_table_delimiter(struct wcs_table *table)
{
	return table->delimiter;
}

bool wcs_table_protected(struct wcs_table *table)
{
	return table->protected;
}

bool wcs_table_ages(struct wcs_table *table)
{
	struct wcs_view view;
	bool ages;

	if (table_enter(table) != 0)
		return false;
	view = table_view(table);
	ages = wcs_view_hides_rows(&view);
	table_leave(table);
	return ages;
}
