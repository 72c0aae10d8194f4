/* SPDX-License-Identifier: MIT */
/* Makes and removes tables: first in the engine, then in memory. */
#include "store/disk/directory.h"
#include "store/table/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int table_make(struct wcs_store *store, const struct wcs_table_schema *schema)
{
	struct wcs_table_schema wanted = *schema, described = {.family_count = 0};
	struct wcs_table *table = NULL;
	size_t at;
	int rc;

	wanted.created = store_now(store);
	if (wanted.delimiter == 0)
		wanted.delimiter = WCS_DELIMITER_DEFAULT;
	rc = table_new(store, &wanted, &table);
	if (rc == 0 && table->protected)
		rc = store_need_format(store, DIRECTORY_PROTECTS);
	if (rc == 0)
		rc = table_describe(table, table->families, table->family_count, &described);
	if (rc != 0)
		goto out;
	pthread_mutex_lock(&store->admin);
	if (table_find(store, schema->name, &at))
		rc = -EEXIST;
	else if (store->table_count == WCS_TABLES_MAX)
		rc = -EMFILE;
	else
		rc = store->backend->table_put(store->db, &table->id, &described);
	if (rc == 0) {
		family_warn_count(table); /* before others can have it */
		table_insert(store, at, table);
	}
	pthread_mutex_unlock(&store->admin);
out:
	free(described.families);
	if (rc != 0)
		wcs_table_close(table);
	return rc;
}

int wcs_table_create(struct wcs_store *store, const char *name)
{
	struct wcs_table_schema schema = {.family_count = 0};

	if (!wcs_table_name_valid(name))
		return -EINVAL;
	strcpy(schema.name, name);
	return table_make(store, &schema);
}

static int table_drop_rows(struct wcs_table *table)
{
	struct wcs_range all = {.start = {NULL, 0}};

	return table->store->backend->drop(table->store->db, table->id, NULL, &all);
}

/* Removes the table. drop: rows may be left, few of them, since they go while no call can enter the
 * table. The caller holds the table's admin. */
static int table_remove(struct wcs_table *table, bool drop)
{
	struct wcs_store *store = table->store;
	size_t at;
	int rc;

	pthread_mutex_lock(&store->admin);
	pthread_rwlock_wrlock(&table->gate);
	rc = drop ? table_drop_rows(table) : 0;
	if (rc == 0)
		rc = store->backend->table_remove(store->db, table->id);
	if (rc == 0)
		table->removed = true;
	pthread_rwlock_unlock(&table->gate);
	if (rc == 0) {
		pthread_rwlock_wrlock(&store->lock);
		table_find(store, table->name, &at);
		store->table_count--;
		memmove(&store->tables[at], &store->tables[at + 1],
			(store->table_count - at) * sizeof(struct wcs_table *));
		pthread_rwlock_unlock(&store->lock);
		wcs_table_close(table);
	}
	pthread_mutex_unlock(&store->admin);
	return rc;
}

/* The first drop may take long. The second one takes the rows written meanwhile; few are left for
 * the last one, during which all other calls wait. */
int wcs_table_drop(struct wcs_table *table)
{
	int rc = table_lock(table);

	if (rc != 0)
		return rc;
	rc = table->protected ? -EPERM : table_drop_rows(table);
	if (rc == 0)
		rc = table_drop_rows(table);
	if (rc == 0)
		rc = table_remove(table, true);
	table_unlock(table);
	return rc;
}

int wcs_table_remove(struct wcs_store *store, const char *name)
{
	struct wcs_table *table;
	int rc = wcs_table_open(store, name, &table);

	if (rc != 0)
		return rc;
	rc = table_lock(table);
	if (rc == 0) {
		rc = table->protected	       ? -EPERM
		     : table->family_count > 0 ? -ENOTEMPTY
					       : table_check_empty(table);
		if (rc == 0)
			rc = table_remove(table, false);
		table_unlock(table);
	}
	wcs_table_close(table);
	return rc;
}
