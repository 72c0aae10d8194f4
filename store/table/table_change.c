/* SPDX-License-Identifier: MIT */
/*
 * Makes, changes and removes tables: first in the engine, then in memory.
 *
 * A scan finds out whether a family, or the table, is empty. It may be long, and runs without the
 * gate. The change reads the counters of writes before the scan and again with the gate held: if
 * they are the same, the scan missed no mutation. An engine makes earlier writes durable before it
 * takes a description. That may be long, too; the change therefore syncs before, and little is left
 * to do with the gate held. It syncs before it reads the counter, since during a sync behind the
 * scan a mutation would come in nearly every time.
 */
#include "store/engine/engine.h"
#include "store/table/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	TABLE_CHANGE_TRIES = 16,   /* scans for emptiness before a change gives up */
	TABLE_CHANGE_CELLS = 4000, /* hidden ones that are deleted at once */
};

/* Does the view show no cell of the family (NULL: of any)? -ENOTEMPTY. */
static int table_check_view(struct wcs_table *table, const struct wcs_view *view,
			    const struct table_family *family)
{
	const char *name = family != NULL ? family->family.name : NULL;
	struct wcs_filter filter = {.each = WCS_EACH_ROW,
				    .families = family != NULL ? &name : NULL,
				    .family_count = family != NULL ? 1 : 0};
	struct wcs_range range = {.start = {NULL, 0}};
	struct wcs_cell cell;
	int rc = engine_first(&table->store->engine, view, table->id, &range, 1, &filter, &cell);

	return rc > 0 ? -ENOTEMPTY : rc;
}

int table_check_shown(struct wcs_table *table, const struct table_family *family)
{
	struct wcs_view view = table_view(table);

	return table_check_view(table, &view, family);
}

/* Has the table no cell at all? -ENOTEMPTY; -EBUSY: only hidden ones. The caller holds admin. */
static int table_check_empty(struct wcs_table *table)
{
	const struct wcs_view all = {.policies = NULL};
	int rc = table_check_view(table, &all, NULL);

	if (rc == -ENOTEMPTY && table_check_shown(table, NULL) == 0)
		rc = -EBUSY;
	return rc;
}

/* Deletes the cells that the policies hide. */
static int table_collect(struct wcs_table *table, struct wcs_policies *policies)
{
	struct wcs_store *store = table->store;
	struct wcs_view view = {.policies = policies, .now = store_now(store)};
	struct wcs_collect *slice = calloc(1, sizeof(*slice));
	int rc = slice != NULL ? 0 : -ENOMEM;

	if (rc == 0 && store->engine.local == NULL) /* it would need a drop of one family */
		rc = -EOPNOTSUPP;
	while (rc == 0 && !slice->done) {
		slice->batch = TABLE_CHANGE_CELLS;
		pthread_mutex_lock(&store->collecting);
		rc = store->engine.local->collect(store->engine.db, &view, table->id, slice);
		pthread_mutex_unlock(&store->collecting);
	}
	free(slice);
	return rc;
}

/* Deletes the hidden cells of the family. The caller holds admin. */
static int table_collect_hidden(struct wcs_table *table, struct table_family *family)
{
	struct wcs_policies *policies = NULL;
	int rc = wcs_policies_new(&family->family, 1, &policies);

	if (rc == 0 && policies != NULL)
		rc = table_collect(table, policies);
	wcs_policies_drop(policies);
	return rc;
}

static uint_fast64_t table_writes(const struct wcs_table *table, const struct table_family *family)
{
	uint_fast64_t sum = 0;

	if (family != NULL)
		return atomic_load(&family->writes);
	for (size_t i = 0; i < table->family_count; i++)
		sum += atomic_load(&table->families[i]->writes);
	return sum;
}

/* The table as it is after the edit: *families and the same in *described. */
static int table_change_edited(const struct wcs_table *table, const struct table_edit *edit,
			       struct table_family ***families, struct wcs_table_schema *described)
{
	size_t count = table->family_count + (edit->adds != NULL) - edit->removes;
	struct table_family **next = calloc(count + 1, sizeof(struct table_family *));
	size_t used = 0;

	if (next == NULL)
		return -ENOMEM;
	for (size_t i = 0; i <= table->family_count; i++) {
		if (i == edit->at && edit->adds != NULL)
			next[used++] = edit->adds;
		if (i < table->family_count && !(i == edit->at && edit->removes))
			next[used++] = table->families[i];
	}
	if (table_describe(table, next, count, described) != 0) {
		free(next);
		return -ENOMEM;
	}
	if (edit->delimiter != 0)
		described->delimiter = edit->delimiter;
	if (edit->keys != NULL)
		described->keys =
			wcs_keys_equal(edit->keys, NULL) ? NULL : (struct wcs_keys *)edit->keys;
	if (edit->protection != WCS_PROTECTION_OPEN)
		described->protection = edit->protection;
	*families = next;
	return 0;
}

/* Puts the description and, when that went well, takes it over; the caller holds the gate. */
static int table_change_adopt(struct wcs_table *table, struct table_edit *edit,
			      struct table_family **families,
			      const struct wcs_table_schema *described)
{
	struct table_family *gone = edit->removes ? table->families[edit->at] : NULL;
	bool layout = edit->delimiter != 0 || edit->keys != NULL;
	struct table_keys *design = NULL;
	struct wcs_policies *policies;
	int rc = wcs_policies_new(described->families, described->family_count, &policies);

	if (rc != 0)
		return rc;
	if (layout)
		rc = table_keys_new(described->keys, described->delimiter, &design);
	if (rc == 0)
		rc = table->store->engine.backend->table_put(table->store->engine.db, &table->id,
							     described);
	if (rc != 0) {
		free(design);
		wcs_policies_drop(policies);
		return rc;
	}
	wcs_policies_drop(table->policies);
	table->policies = policies;
	free(table->families);
	family_free(gone);
	table->families = families;
	table->family_count = described->family_count;
	table->delimiter = described->delimiter;
	if (layout) {
		table_keys_adopt(table, design);
		atomic_fetch_add(&table->layout, 1);
	}
	table->protected = described->protection == WCS_PROTECTED;
	edit->adds = NULL;
	return 0;
}

int table_change(struct wcs_table *table, struct table_edit *edit)
{
	struct table_family *watched = edit->removes ? table->families[edit->at] : NULL;
	struct wcs_table_schema described = {.family_count = 0};
	struct table_family **families;
	int rc = table_change_edited(table, edit, &families, &described);

	if (rc != 0)
		return rc;
	rc = -EBUSY;
	for (int tries = 0; rc == -EBUSY && tries < TABLE_CHANGE_TRIES; tries++) {
		uint_fast64_t before;

		rc = wcs_store_sync(table->store);
		before = table_writes(table, watched);
		if (rc == 0 && edit->needs_empty)
			rc = watched != NULL ? table_check_shown(table, watched)
					     : table_check_empty(table);
		if (rc == 0 && edit->needs_empty && watched != NULL)
			rc = table_collect_hidden(table, watched);
		if (rc != 0)
			break;
		rc = -EBUSY;
		pthread_rwlock_wrlock(&table->gate);
		if (!edit->needs_empty || table_writes(table, watched) == before)
			rc = table_change_adopt(table, edit, families, &described);
		pthread_rwlock_unlock(&table->gate);
	}
	free(described.families);
	if (rc != 0)
		free(families);
	return rc;
}

/* The hidden cells go first: a delete of the newer cells would show them meanwhile. */
int wcs_family_drop(struct wcs_table *table, const char *name)
{
	struct table_family *family;
	struct wcs_policies *policies;
	int rc = table_lock(table);

	if (rc != 0)
		return rc;
	family = family_of(table, name);
	rc = family == NULL	? -ENOENT
	     : table->protected ? -EPERM
				: table_collect_hidden(table, family);
	if (rc == 0)
		rc = wcs_policies_all(name, &policies);
	if (rc == 0) {
		rc = table_collect(table, policies);
		wcs_policies_drop(policies);
	}
	table_unlock(table);
	return rc;
}

int table_check_layout(struct wcs_table *table, unsigned char delimiter,
		       const struct wcs_keys *keys, bool *differs, struct wcs_fault *fault)
{
	const struct wcs_keys *present = wcs_table_keys(table), *wanted = keys ? keys : present;
	unsigned char byte = delimiter != 0 ? delimiter : table->delimiter;
	int rc = wanted != NULL ? wcs_keys_check(wanted, byte, fault) : 0;

	*differs = byte != table->delimiter || !wcs_keys_equal(wanted, present);
	return rc == 0 && *differs ? table_check_empty(table) : rc;
}

int table_set_layout(struct wcs_table *table, unsigned char delimiter, const struct wcs_keys *keys,
		     struct wcs_fault *fault)
{
	struct table_edit edit = {.delimiter = delimiter, .keys = keys, .needs_empty = true};
	bool differs;
	int rc = table_lock(table);

	if (rc != 0)
		return rc;
	rc = table_check_layout(table, delimiter, keys, &differs, fault);
	if (rc == 0 && differs)
		rc = table_change(table, &edit);
	table_unlock(table);
	return rc;
}

int wcs_table_set_delimiter(struct wcs_table *table, unsigned char delimiter,
			    struct wcs_fault *fault)
{
	if (!wcs_delimiter_valid(delimiter))
		return wcs_fault_set(fault, -EINVAL,
				     "a delimiter is one ASCII byte other than / %% .");
	return table_set_layout(table, delimiter, NULL, fault);
}

int wcs_table_set_keys(struct wcs_table *table, const struct wcs_keys *keys,
		       struct wcs_fault *fault)
{
	return table_set_layout(table, 0, keys, fault);
}

int wcs_table_set_protected(struct wcs_table *table, bool protect)
{
	struct table_edit edit = {.protection = protect ? WCS_PROTECTED : WCS_UNPROTECTED};
	int rc = table_lock(table);

	if (rc != 0)
		return rc;
	if (protect != table->protected)
		rc = table_change(table, &edit);
	table_unlock(table);
	return rc;
}

/* ---- Making and removing ----------------------------------------------------------------- */

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
		rc = store->engine.backend->table_put(store->engine.db, &table->id, &described);
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

	return engine_drop(&table->store->engine, table->id, &all, 1);
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
		rc = store->engine.backend->table_put(store->engine.db, &table->id, NULL);
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
	const struct wcs_view all = {.policies = NULL}; /* hidden cells, too */
	struct wcs_table *table;
	int rc = wcs_table_open(store, name, &table);

	if (rc != 0)
		return rc;
	rc = table_lock(table);
	if (rc == 0) {
		rc = table->protected	       ? -EPERM
		     : table->family_count > 0 ? -ENOTEMPTY
					       : table_check_view(table, &all, NULL);
		if (rc == 0)
			rc = table_remove(table, false);
		table_unlock(table);
	}
	wcs_table_close(table);
	return rc;
}
