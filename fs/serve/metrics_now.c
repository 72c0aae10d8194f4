/* SPDX-License-Identifier: MIT */
/* Values of one moment, of the mount and its store, as metrics. */
#include "fs/serve/metrics.h"

#include <inttypes.h>
#include <string.h>

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

/* A counter's name ends in _total. */
static void print_head(const char *name, const char *help, FILE *to)
{
	size_t len = strlen(name);
	bool counts = len > 6 && strcmp(name + len - 6, "_total") == 0;

	fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, counts ? "counter" : "gauge");
}

/* A metric without labels. */
struct metric {
	const char *name;
	uint64_t value;
	const char *help;
};

static void print_all(const struct metric *all, size_t count, FILE *to)
{
	for (size_t i = 0; i < count; i++) {
		print_head(all[i].name, all[i].help, to);
		fprintf(to, "%s %" PRIu64 "\n", all[i].name, all[i].value);
	}
}

static void print_store(const struct wcs_stats *store, const struct wcs_gc_status *gc, FILE *to)
{
	const struct metric all[] = {
		{"rowfs_store_written_cells_total", store->cells_written,
		 "Cells written to the store."},
		{"rowfs_store_deleted_cells_total", store->cells_deleted,
		 "Cells deleted from the store, also by drops."},
		{"rowfs_store_written_bytes_total", store->bytes_written,
		 "Bytes given to the engine, keys and its own records included."},
		{"rowfs_store_read_value_bytes_total", store->value_bytes_read,
		 "Bytes of values read from the store."},
		{"rowfs_store_reclaimed_values_total", store->values_reclaimed,
		 "Large values that were deleted and whose space was freed."},
		{"rowfs_store_compactions_total", store->compactions,
		 "Compactions of ranges that were emptied."},
		{"rowfs_gc_passes_total", gc->passes,
		 "Passes of garbage collection that went through."},
		{"rowfs_gc_cells_total", gc->cells, "Cells that it deleted."},
		{"rowfs_gc_bytes_total", gc->bytes, "Their keys and values, bytes."},
		{"rowfs_gc_looked_cells_total", gc->looked, "Cells that it looked at."},
		{"rowfs_gc_hidden_writes_total", gc->hidden,
		 "Cells that their policy hid when they were written."},
		{"rowfs_gc_families_in_grace", gc->left,
		 "Families whose hidden cells the last pass left alone."},
		{"rowfs_gc_running", gc->running, "1 while a pass is under way."},
		{"rowfs_gc_paused", gc->paused, "1 while passes are paused."},
		{"rowfs_store_pending_values", store->values_pending,
		 "Large values that were deleted and still take space."},
		{"rowfs_store_drops", store->drops, "Drops of rows under way."},
		{"rowfs_store_pending_compactions", store->compactions_pending,
		 "Emptied ranges that wait for compaction."},
		{"rowfs_store_pending_bytes", store->bytes_pending,
		 "Bytes that deletes left in files of the engine, about."},
		{"rowfs_store_cache_bytes", store->cache_bytes, "Room in the block cache."},
		{"rowfs_store_memory_bytes", store->memory_bytes,
		 "Memory that the engine has filled, the block cache included."},
		{"rowfs_store_read_only", store->failed,
		 "1 after a failed write: the store takes no more until it is mounted again."},
	};

	print_all(all, sizeof(all) / sizeof(*all), to);
}

void metrics_print_now(const struct metrics_now *now, FILE *to)
{
	const struct metric mount[] = {
		{"rowfs_inodes", now->inodes, "Inodes that the kernel holds."},
		{"rowfs_open_files", now->open_files, "Open files and directories."},
		{"rowfs_write_sessions", now->write_sessions,
		 "Files being written that make a version."},
		{"rowfs_drafts", now->drafts, "Drafts in histories."},
		{"rowfs_memory_directories", now->memory_directories,
		 "Empty directories that are kept in memory, and drafts, which keep theirs."},
		{"rowfs_errors_total", now->errors,
		 "Refused requests with a reason in /.rowfs/errors."},
	};

	print_head("rowfs_info", "Versions of rowfs and what it stands on.", to);
	fputs("rowfs_info", to);
	print_label("{version", now->version, to);
	print_label(",engine", now->engine, to);
	print_label(",libfuse", now->fuse, to);
	fputs("} 1\n", to);
	print_head("rowfs_mounted_timestamp_seconds", "When the store was mounted.", to);
	fprintf(to, "rowfs_mounted_timestamp_seconds %" PRId64 ".%06d\n", now->mounted / 1000000,
		(int)(now->mounted % 1000000));
	print_all(mount, sizeof(mount) / sizeof(*mount), to);
	print_store(&now->store, &now->gc, to);
	if (now->store.level_count == 0)
		return;
	print_head("rowfs_store_files", "Files of the engine, by level.", to);
	for (size_t i = 0; i < now->store.level_count; i++)
		fprintf(to, "rowfs_store_files{level=\"%zu\"} %" PRIu64 "\n", i,
			now->store.levels[i].files);
	print_head("rowfs_store_bytes", "Size of these files, about, by level.", to);
	for (size_t i = 0; i < now->store.level_count; i++)
		fprintf(to, "rowfs_store_bytes{level=\"%zu\"} %" PRIu64 "\n", i,
			now->store.levels[i].bytes);
}
