/* SPDX-License-Identifier: MIT */
/*
 * The store as a whole: opening, closing, what is asked of all of it; and writing to rows.
 *
 * As in store_read.c each call checks its arguments, takes the table's gate and hands on to the
 * engine, which may trust what it gets.
 */
#include "store/store.h"

#include "store/disk/directory.h"
#include "store/json/json_memory.h"
#include "store/policy/aggregate.h"
#include "store/policy/collector.h"
#include "store/table/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct wcs_backend *const store_engines[] = {&wcs_backend_leveldb};

/* ---- Opening and closing ----------------------------------------------------------------- */

static void store_log_nothing(void *ctx, enum wcs_log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	(void)text;
}

static int64_t store_system_now(void *ctx)
{
	struct timespec now;

	(void)ctx;
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void store_log(const struct wcs_store *store, enum wcs_log_level level, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	store->options.log(store->options.log_ctx, level, text);
}

void store_weigh_row(const struct wcs_table *table, uint64_t bytes, uint64_t size)
{
	if (bytes > WCS_ROW_WARN && bytes - size <= WCS_ROW_WARN)
		store_log(table->store, WCS_LOG_WARNING,
			  "table %s has a row of more than %u bytes; it is slow to read as a whole",
			  table->name, WCS_ROW_WARN);
}

int64_t store_now(const struct wcs_store *store)
{
	return store->options.now(store->options.now_ctx);
}

int store_need_format(struct wcs_store *store, int format)
{
	int rc = 0;

	pthread_mutex_lock(&store->admin);
	if (store->directory != NULL)
		rc = directory_need_format(store->directory, format);
	pthread_mutex_unlock(&store->admin);
	return rc;
}

static struct wcs_store *store_new(const struct wcs_backend *backend,
				   const struct wcs_options *options)
{
	struct wcs_store *store = calloc(1, sizeof(*store));

	if (store == NULL)
		return NULL;
	store->backend = backend;
	if (options != NULL)
		store->options = *options;
	if (store->options.log == NULL)
		store->options.log = store_log_nothing;
	if (store->options.now == NULL)
		store->options.now = store_system_now;
	pthread_mutex_init(&store->admin, NULL);
	pthread_mutex_init(&store->collecting, NULL);
	pthread_rwlock_init(&store->lock, NULL);
	return store;
}

static void store_free(struct wcs_store *store)
{
	pthread_rwlock_destroy(&store->lock);
	pthread_mutex_destroy(&store->admin);
	pthread_mutex_destroy(&store->collecting);
	free(store);
}

int wcs_store_open_backend(const struct wcs_backend *backend, const char *path,
			   const struct wcs_options *options, struct wcs_store **store,
			   struct wcs_fault *fault)
{
	struct wcs_store *made = store_new(backend, options);
	int rc;

	if (made == NULL)
		return wcs_fault_set(fault, -ENOMEM, "%.120s: no memory", path);
	wcs_json_limit(made->options.json_bytes);
	rc = backend->open(path, &made->options, &made->db, fault);
	if (rc != 0)
		goto out_free;
	rc = table_load(made);
	if (rc != 0) {
		wcs_fault_set(fault, rc, "%.120s: its tables could not be read: %s", path,
			      strerror(-rc));
		goto out_close;
	}
	made->created = store_now(made);
	rc = collector_start(made);
	if (rc != 0) {
		wcs_fault_set(fault, rc, "%.120s: no thread for garbage collection", path);
		goto out_close;
	}
	*store = made;
	return 0;

out_close:
	table_unload(made);
	backend->close(made->db);
out_free:
	store_free(made);
	return rc;
}

const struct wcs_backend *store_find_engine(const char *name)
{
	for (size_t i = 0; i < sizeof(store_engines) / sizeof(store_engines[0]); i++)
		if (strcmp(store_engines[i]->name, name) == 0)
			return store_engines[i];
	return NULL;
}

int wcs_store_open(const char *path, const struct wcs_options *options, struct wcs_store **store,
		   struct wcs_fault *fault)
{
	const struct wcs_backend *backend;
	struct directory_marker marker;
	struct directory *directory;
	int rc = directory_open(path, DIRECTORY_USE, &directory, fault);

	if (rc != 0)
		return rc;
	rc = directory_read_marker(directory, &marker, fault);
	if (rc != 0)
		goto fail;
	backend = store_find_engine(marker.engine);
	if (backend == NULL) {
		rc = wcs_fault_set(fault, -EINVAL,
				   "%s: its engine is %s, which this program does not have; use "
				   "the one that made it",
				   directory_name(directory_path(directory)), marker.engine);
		goto fail;
	}
	rc = directory_check_data(directory, fault);
	if (rc == 0)
		rc = wcs_store_open_backend(backend, directory_path(directory), options, store,
					    fault);
	if (rc != 0)
		goto fail;
	(*store)->directory = directory;
	(*store)->created = marker.created;
	return 0;

fail:
	directory_close(directory);
	return rc;
}

void wcs_store_close(struct wcs_store *store)
{
	if (store == NULL)
		return;
	collector_stop(store);
	table_unload(store);
	store->backend->close(store->db);
	directory_close(store->directory);
	store_free(store);
}

int wcs_store_sync(struct wcs_store *store)
{
	return store->backend->sync(store->db);
}

bool wcs_store_failed(struct wcs_store *store)
{
	return store->backend->failed(store->db);
}

int64_t wcs_store_created(const struct wcs_store *store)
{
	return store->created;
}

int wcs_store_space(struct wcs_store *store, struct wcs_space *space)
{
	struct wcs_space found = {0};
	int rc = 0;

	if (store->directory != NULL)
		rc = room_space(store, &found);
	if (rc == 0)
		*space = found;
	return rc;
}

const char *wcs_store_engine(const struct wcs_store *store)
{
	return store->backend->name;
}

int wcs_store_stats(struct wcs_store *store, struct wcs_stats *stats)
{
	struct wcs_stats found = {.failed = wcs_store_failed(store)};
	int rc = store->backend->stats(store->db, &found);

	if (rc == 0)
		*stats = found;
	return rc;
}

char *wcs_store_engine_text(struct wcs_store *store)
{
	return store->backend->text(store->db);
}

/* ---- Arguments ------------------------------------------------------------------------- */

int store_check_slice(struct wcs_slice slice, size_t max)
{
	if (slice.len > max)
		return -ENAMETOOLONG;
	return slice.data == NULL && slice.len > 0 ? -EINVAL : 0;
}

int store_check_row(struct wcs_slice row)
{
	return row.len == 0 ? -EINVAL : store_check_slice(row, WCS_ROW_KEY_MAX);
}

int store_check_range(const struct wcs_range *range)
{
	int rc = store_check_slice(range->start, WCS_ROW_KEY_MAX + 1);

	return rc == 0 ? store_check_slice(range->end, WCS_ROW_KEY_MAX + 1) : rc;
}

bool store_bounds_empty(struct wcs_slice from, struct wcs_slice to)
{
	return to.data != NULL && wcs_slice_compare(from, to) >= 0;
}

bool store_has_family(const struct wcs_table *table, const char *family)
{
	size_t at;

	return family_find(table, (struct wcs_slice){family, strlen(family)}, &at);
}

/* ---- Writing ----------------------------------------------------------------------------- */

static int store_find_type(const struct wcs_table *table, const char *family, enum wcs_type *type)
{
	size_t at;

	if (!family_find(table, (struct wcs_slice){family, strlen(family)}, &at))
		return -ENOENT;
	*type = table->families[at]->family.type;
	return 0;
}

static int store_check_write(const struct wcs_table *table, struct wcs_write *write)
{
	int rc = store_find_type(table, write->family, &write->type);

	if (rc != 0)
		return rc;
	return wcs_aggregate_refuses(write, NULL);
}

static int store_check_condition(const struct wcs_table *table, struct wcs_condition *condition)
{
	int rc = store_find_type(table, condition->family, &condition->type);

	if (rc == 0)
		rc = wcs_aggregate_refuses_if(condition, NULL);
	if (rc == 0)
		wcs_aggregate_expect(condition);
	return rc;
}

int store_check_mutation(const struct wcs_table *table, struct wcs_mutation *mutation)
{
	int rc = 0;

	for (size_t i = 0; i < mutation->condition_count && rc == 0; i++)
		rc = store_check_condition(table, &mutation->conditions[i]);
	if (rc != 0)
		return rc;
	for (size_t i = 0; i < mutation->delete_count; i++)
		if (!store_has_family(table, mutation->deletes[i].family))
			return -ENOENT;
	for (size_t i = 0; i < mutation->write_count && rc == 0; i++)
		rc = store_check_write(table, &mutation->writes[i]);
	return rc;
}

/* Counts a call that wrote to the family; also when it failed, since an engine may have written
 * before it knew. Must come before the gate is left: see table_change.c. */
static void store_count_write(struct wcs_table *table, const char *family)
{
	size_t at;

	if (family_find(table, (struct wcs_slice){family, strlen(family)}, &at))
		atomic_fetch_add(&table->families[at]->writes, 1);
}

void store_count_writes(struct wcs_table *table, const struct wcs_mutation *mutation)
{
	const char *last = NULL;

	for (size_t i = 0; i < mutation->write_count; i++) {
		const char *family = mutation->writes[i].family;

		if (last != NULL && strcmp(last, family) == 0)
			continue;
		store_count_write(table, family);
		last = family;
	}
}

void wcs_warn_value(const struct wcs_options *options, const char *family, uint64_t size)
{
	char text[192];

	if (size <= WCS_VALUE_WARN)
		return;
	snprintf(text, sizeof(text),
		 "family %.64s: a value of %" PRIu64 " bytes; more than %u is slow", family, size,
		 WCS_VALUE_WARN);
	options->log(options->log_ctx, WCS_LOG_WARNING, text);
}

int wcs_row_mutate(struct wcs_table *table, struct wcs_slice row, struct wcs_mutation *mutation,
		   int64_t *ts)
{
	const struct wcs_backend *backend = table->store->backend;
	const struct wcs_entry entry = {.row = row, .mutation = mutation};
	struct wcs_view view;
	int64_t made = 0;
	uint64_t room, copied;
	int rc = store_check_row(row);

	if (rc != 0)
		return rc;
	wcs_mutation_seal(mutation);
	rc = table_enter(table);
	if (rc != 0)
		return rc;
	view = table_view(table);
	room = room_of(row, mutation);
	rc = store_check_mutation(table, mutation);
	if (rc == 0)
		rc = room_copies_of(table, &view, &entry, 1, &copied);
	if (rc == 0) {
		room += copied;
		rc = room_enter(table->store, room);
	}
	if (rc == 0) {
		rc = backend->mutate(table->store->db, &view, table->id, row, mutation, &made);
		if (rc == 0)
			hidden_count_mutation(table, mutation);
		store_count_writes(table, mutation);
		room_leave(table->store, room);
	}
	table_leave(table);
	if (rc != 0)
		return rc;
	if (ts != NULL)
		*ts = made;
	return 0;
}

static int store_check_move(const struct wcs_move *move)
{
	bool one = move->kind == WCS_MOVE_CELL_NEWEST || move->kind == WCS_MOVE_CELL;
	bool stamp = move->kind == WCS_MOVE_STAMP;
	int rc = store_check_slice(move->from, WCS_QUALIFIER_MAX);

	if (rc == 0 && !stamp)
		rc = store_check_slice(move->to, WCS_QUALIFIER_MAX);
	if (rc != 0)
		return rc;
	if ((unsigned int)move->kind > WCS_MOVE_STAMP || (one && move->from_ts < 0))
		return -EINVAL;
	if ((stamp || move->kind == WCS_MOVE_CELL) && move->to_ts < 0)
		return -EINVAL;
	if (move->kind == WCS_MOVE_CELL_NEWEST && wcs_slice_compare(move->from, move->to) == 0)
		return -EINVAL;
	return 0;
}

int wcs_cells_move(struct wcs_table *table, struct wcs_slice row, const struct wcs_move *move,
		   int64_t *ts)
{
	int rc = store_check_row(row);
	struct wcs_view view;
	bool hidden = false;
	int64_t made = 0;
	uint64_t room;

	if (rc == 0)
		rc = store_check_move(move);
	if (rc == 0)
		rc = table_enter(table);
	if (rc != 0)
		return rc;
	view = table_view(table);
	rc = store_has_family(table, move->family) ? 0 : -ENOENT;
	if (rc == 0)
		rc = room_copies_enter(table, &view, row, move, &room);
	if (rc == 0) {
		rc = table->store->backend->move(table->store->db, &view, table->id, row, move,
						 &made, &hidden);
		if (rc == 0 && hidden)
			hidden_count_cell(table, move->family);
		store_count_write(table, move->family);
		room_leave(table->store, room);
	}
	table_leave(table);
	if (rc == 0 && ts != NULL)
		*ts = made;
	return rc;
}
