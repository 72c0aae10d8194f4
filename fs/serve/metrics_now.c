/* SPDX-License-Identifier: MIT */
/* Values of one moment, of the mount and its store, as metrics. */
#include "fs/serve/metrics.h"

#include <inttypes.h>

/* A label; Prometheus wants three characters of its value escaped. */
static void print_label(const char *name, const char *value, FILE *to)
{
	fprintf(to, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\n')
			fputs("\\n", to);
		else if (*value == '"' || *value == '\\')
			fprintf(to, "\\%c", *value);
		else
			putc(*value, to);
	}
	putc('"', to);
}

static void print_head(const char *name, const char *type, const char *help, FILE *to)
{
	fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void print_gauge(const char *name, uint64_t value, const char *help, FILE *to)
{
	print_head(name, "gauge", help, to);
	fprintf(to, "%s %" PRIu64 "\n", name, value);
}

static void print_counter(const char *name, uint64_t value, const char *help, FILE *to)
{
	print_head(name, "counter", help, to);
	fprintf(to, "%s %" PRIu64 "\n", name, value);
}

static void print_mount(const struct metrics_now *now, FILE *to)
{
	print_head("rowfs_info", "gauge", "Versions of rowfs and what it stands on.", to);
	fputs("rowfs_info{", to);
	print_label("version", now->version, to);
	putc(',', to);
	print_label("engine", now->engine, to);
	putc(',', to);
	print_label("libfuse", now->fuse, to);
	fputs("} 1\n", to);
	print_head("rowfs_mounted_timestamp_seconds", "gauge", "When the store was mounted.", to);
	fprintf(to, "rowfs_mounted_timestamp_seconds %" PRId64 ".%06d\n", now->mounted / 1000000,
		(int)(now->mounted % 1000000));
	print_gauge("rowfs_inodes", now->inodes, "Inodes that the kernel holds.", to);
	print_gauge("rowfs_open_files", now->open_files, "Open files and directories.", to);
	print_gauge("rowfs_write_sessions", now->write_sessions,
		    "Files being written that make a version.", to);
	print_gauge("rowfs_drafts", now->drafts, "Drafts in histories.", to);
	print_gauge("rowfs_memory_directories", now->memory_directories,
		    "Empty directories that are kept in memory, and drafts, which keep theirs.",
		    to);
	print_counter("rowfs_errors_total", now->errors,
		      "Refused requests with a reason in /.rowfs/errors.", to);
}

static void print_traffic(const struct wcs_stats *store, FILE *to)
{
	print_counter("rowfs_store_written_cells_total", store->cells_written,
		      "Cells written to the store.", to);
	print_counter("rowfs_store_deleted_cells_total", store->cells_deleted,
		      "Cells deleted from the store, also by drops.", to);
	print_counter("rowfs_store_written_bytes_total", store->bytes_written,
		      "Bytes given to the engine, keys and its own records included.", to);
	print_counter("rowfs_store_read_value_bytes_total", store->value_bytes_read,
		      "Bytes of values read from the store.", to);
	print_counter("rowfs_store_reclaimed_values_total", store->values_reclaimed,
		      "Large values that were deleted and whose space was freed.", to);
	print_counter("rowfs_store_compactions_total", store->compactions,
		      "Compactions of ranges that were emptied.", to);
}

static void print_levels(const struct wcs_stats *store, FILE *to)
{
	if (store->level_count == 0)
		return;
	print_head("rowfs_store_files", "gauge", "Files of the engine, by level.", to);
	for (size_t i = 0; i < store->level_count; i++)
		fprintf(to, "rowfs_store_files{level=\"%zu\"} %" PRIu64 "\n", i,
			store->levels[i].files);
	print_head("rowfs_store_bytes", "gauge", "Size of these files, about, by level.", to);
	for (size_t i = 0; i < store->level_count; i++)
		fprintf(to, "rowfs_store_bytes{level=\"%zu\"} %" PRIu64 "\n", i,
			store->levels[i].bytes);
}

static void print_garbage(const struct wcs_gc_status *gc, FILE *to)
{
	print_counter("rowfs_gc_passes_total", gc->passes,
		      "Passes of garbage collection that went through.", to);
	print_counter("rowfs_gc_cells_total", gc->cells, "Cells that it deleted.", to);
	print_counter("rowfs_gc_bytes_total", gc->bytes, "Their keys and values, bytes.", to);
	print_counter("rowfs_gc_looked_cells_total", gc->looked, "Cells that it looked at.", to);
	print_counter("rowfs_gc_hidden_writes_total", gc->hidden,
		      "Cells that their policy hid when they were written.", to);
	print_gauge("rowfs_gc_families_in_grace", gc->left,
		    "Families whose hidden cells the last pass left alone.", to);
	print_gauge("rowfs_gc_running", gc->running, "1 while a pass is under way.", to);
	print_gauge("rowfs_gc_paused", gc->paused, "1 while passes are paused.", to);
}

void metrics_print_now(const struct metrics_now *now, FILE *to)
{
	const struct wcs_stats *store = &now->store;

	print_mount(now, to);
	print_traffic(store, to);
	print_garbage(&now->gc, to);
	print_gauge("rowfs_store_pending_values", store->values_pending,
		    "Large values that were deleted and still take space.", to);
	print_gauge("rowfs_store_drops", store->drops, "Drops of rows under way.", to);
	print_gauge("rowfs_store_pending_compactions", store->compactions_pending,
		    "Emptied ranges that wait for compaction.", to);
	print_gauge("rowfs_store_pending_bytes", store->bytes_pending,
		    "Bytes that deletes left in files of the engine, about.", to);
	print_gauge("rowfs_store_cache_bytes", store->cache_bytes, "Room in the block cache.", to);
	print_gauge("rowfs_store_memory_bytes", store->memory_bytes,
		    "Memory that the engine has filled, the block cache included.", to);
	print_gauge("rowfs_store_read_only", store->failed,
		    "1 after a failed write: the store takes no more until it is mounted again.",
		    to);
	print_levels(store, to);
}
