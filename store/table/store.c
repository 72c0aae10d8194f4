/* SPDX-License-Identifier: MIT */
/* The store as its tables use it: its log and its sync. */
#include "store/table/table.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

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

void store_weigh_value(const struct wcs_store *store, const char *family, uint64_t size)
{
	if (size > WCS_VALUE_WARN)
		store_log(store, WCS_LOG_WARNING,
			  "family %.64s: a value of %" PRIu64 " bytes; more than %u is slow",
			  family, size, WCS_VALUE_WARN);
}

int wcs_store_sync(struct wcs_store *store)
{
	return store->engine.local != NULL ? store->engine.local->sync(store->engine.db) : 0;
}
