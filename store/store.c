/* SPDX-License-Identifier: MIT */
/* Opens and closes a store, and answers for the store as a whole. */
#include "store/store.h"

#include "lib/clock.h"
#include "store/collect/collector.h"
#include "store/disk/directory.h"
#include "store/heat/heat_count.h"
#include "store/resolve/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Opening and closing ----------------------------------------------------------------- */

static void store_log_nothing(void *ctx, enum wcs_log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	(void)text;
}

static int64_t store_system_now(void *ctx)
{
	(void)ctx;
	return clock_now();
}

static struct wcs_store *store_new(const struct wcs_backend *backend,
				   const struct wcs_options *options)
{
	struct wcs_store *store = calloc(1, sizeof(*store));

	if (store == NULL)
		return NULL;
	store->engine.backend = backend;
	store->engine.local = backend->local;
	store->engine.options = &store->options;
	store->engine.wrong_salt = &store->wrong_salt;
	if (options != NULL)
		store->options = *options;
	if (store->options.log == NULL)
		store->options.log = store_log_nothing;
	if (store->options.now == NULL)
		store->options.now = store_system_now;
	pthread_mutex_init(&store->admin, NULL);
	pthread_mutex_init(&store->collecting, NULL);
	pthread_mutex_init(&store->space_lock, NULL);
	pthread_rwlock_init(&store->lock, NULL);
	return store;
}

static void store_free(struct wcs_store *store)
{
	pthread_rwlock_destroy(&store->lock);
	pthread_mutex_destroy(&store->admin);
	pthread_mutex_destroy(&store->collecting);
	pthread_mutex_destroy(&store->space_lock);
	resolve_edits_free(store->edits);
	free(store);
}

/* directory: of the store, which the threads that it starts use; NULL: it has none. The caller
 * closes it after an error. */
static int store_open(const struct wcs_backend *backend, const char *path,
		      struct directory *directory, const struct wcs_options *options,
		      struct wcs_store **store, struct wcs_fault *fault)
{
	struct wcs_store *made = store_new(backend, options);
	int rc;

	if (made == NULL)
		return wcs_fault_set(fault, -ENOMEM, "%.120s: no memory", path);
	rc = backend->open(path, &made->options, &made->engine.db, fault);
	if (rc != 0)
		goto out_free;
	rc = table_load(made);
	if (rc != 0) {
		wcs_fault_set(fault, rc, "%.120s: its tables could not be read: %s", path,
			      strerror(-rc));
		goto out_close;
	}
	made->created = store_now(made);
	made->directory = directory;
	rc = collector_start(made);
	if (rc != 0) {
		wcs_fault_set(fault, rc, "%.120s: no thread for garbage collection", path);
		goto out_close;
	}
	rc = heat_start(made);
	if (rc != 0) {
		wcs_fault_set(fault, rc, "%.120s: no memory to count reads and writes", path);
		collector_stop(made);
		goto out_close;
	}
	*store = made;
	return 0;

out_close:
	table_unload(made);
	backend->close(made->engine.db);
out_free:
	store_free(made);
	return rc;
}

int wcs_store_open_backend(const struct wcs_backend *backend, const char *path,
			   const struct wcs_options *options, struct wcs_store **store,
			   struct wcs_fault *fault)
{
	return store_open(backend, path, NULL, options, store, fault);
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
	backend = wcs_backend_find(marker.engine);
	if (backend == NULL) {
		rc = wcs_fault_set(fault, -EINVAL,
				   "%s: its engine is %s, which this program does not have; use "
				   "the one that made it",
				   directory_name(directory->path), marker.engine);
		goto fail;
	}
	rc = directory_check_data(directory, fault);
	if (rc == 0)
		rc = store_open(backend, directory->path, directory, options, store, fault);
	if (rc != 0)
		goto fail;
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
	heat_stop(store);
	table_unload(store);
	store->engine.backend->close(store->engine.db);
	directory_close(store->directory);
	store_free(store);
}

bool wcs_store_failed(struct wcs_store *store)
{
	return store->engine.local != NULL && store->engine.local->failed(store->engine.db);
}

int64_t wcs_store_created(const struct wcs_store *store)
{
	return store->created;
}

int64_t wcs_store_fresh(const struct wcs_store *store)
{
	const struct wcs_capabilities *can = &store->engine.backend->can;

	return can->shared ? can->fresh : INT64_MAX;
}

const char *wcs_store_engine(const struct wcs_store *store)
{
	return store->engine.backend->name;
}

int wcs_store_stats(struct wcs_store *store, struct wcs_stats *stats)
{
	struct wcs_stats found = {.failed = wcs_store_failed(store)};
	int rc = 0;

	if (store->engine.local != NULL)
		rc = store->engine.local->stats(store->engine.db, &found);
	found.rows_wrong_salt = store->wrong_salt;
	found.cells_old = store->cells_old;
	if (rc == 0)
		*stats = found;
	return rc;
}

char *wcs_store_engine_text(struct wcs_store *store)
{
	return store->engine.local != NULL ? store->engine.local->text(store->engine.db)
					   : strdup("");
}
