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

/* A metric without labels. */
static void print(const char *name, const char *type, uint64_t value, const char *help, FILE *to)
{
	print_head(name, type, help, to);
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
	print("rowfs_inodes", "gauge", now->inodes, "Inodes that the kernel holds.", to);
	print("rowfs_open_files", "gauge", now->open_files, "Open files and directories.", to);
	print("rowfs_write_sessions", "gauge", now->write_sessions,
	      "Files being written that make a version.", to);
	print("rowfs_drafts", "gauge", now->drafts, "Drafts in histories.", to);
	print("rowfs_memory_directories", "gauge", now->memory_directories,
	      "Empty directories that are kept in memory, and drafts, which keep theirs.", to);
	print("rowfs_errors_total", "counter", now->errors,
	      "Refused requests with a reason in /.rowfs/errors.", to);
}

static void print_traffic(const struct wcs_stats *store, FILE *to)
{
	print("rowfs_store_written_cells_total", "counter", store->cells_written,
	      "Cells written to the store.", to);
	print("rowfs_store_deleted_cells_total", "counter", store->cells_deleted,
	      "Cells deleted from the store, also by drops.", to);
	print("rowfs_store_written_bytes_total", "counter", store->bytes_written,
	      "Bytes given to the engine, keys and its own records included.", to);
	print("rowfs_store_read_value_bytes_total", "counter", store->value_bytes_read,
	      "Bytes of values read from the store.", to);
	print("rowfs_store_reclaimed_values_total", "counter", store->values_reclaimed,
	      "Large values that were deleted and whose space was freed.", to);
	print("rowfs_store_compactions_total", "counter", store->compactions,
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
	print("rowfs_gc_passes_total", "counter", gc->passes,
	      "Passes of garbage collection that went through.", to);
	print("rowfs_gc_cells_total", "counter", gc->cells, "Cells that it deleted.", to);
	print("rowfs_gc_bytes_total", "counter", gc->bytes, "Their keys and values, bytes.", to);
	print("rowfs_gc_looked_cells_total", "counter", gc->looked, "Cells that it looked at.", to);
	print("rowfs_gc_hidden_writes_total", "counter", gc->hidden,
	      "Cells that their policy hid when they were written.", to);
	print("rowfs_gc_families_in_grace", "gauge", gc->left,
	      "Families whose hidden cells the last pass left alone.", to);
	print("rowfs_gc_running", "gauge", gc->running, "1 while a pass is under way.", to);
	print("rowfs_gc_paused", "gauge", gc->paused, "1 while passes are paused.", to);
}

void metrics_print_now(const struct metrics_now *now, FILE *to)
{
	const struct wcs_stats *store = &now->store;

	print_mount(now, to);
	print_traffic(store, to);
	print_garbage(&now->gc, to);
	print("rowfs_store_pending_values", "gauge", store->values_pending,
	      "Large values that were deleted and still take space.", to);
	print("rowfs_store_drops", "gauge", store->drops, "Drops of rows under way.", to);
	print("rowfs_store_pending_compactions", "gauge", store->compactions_pending,
	      "Emptied ranges that wait for compaction.", to);
	print("rowfs_store_pending_bytes", "gauge", store->bytes_pending,
	      "Bytes that deletes left in files of the engine, about.", to);
	print("rowfs_store_cache_bytes", "gauge", store->cache_bytes, "Room in the block cache.",
	      to);
	print("rowfs_store_memory_bytes", "gauge", store->memory_bytes,
	      "Memory that the engine has filled, the block cache included.", to);
	print("rowfs_store_read_only", "gauge", store->failed,
	      "1 after a failed write: the store takes no more until it is mounted again.", to);
	print_levels(store, to);
}
