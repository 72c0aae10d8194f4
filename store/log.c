/* SPDX-License-Identifier: MIT */
/* Reports: faults, which a call returns, and warnings, which go to the log callback. */
#include "store/table/table.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

int wcs_fault_set(struct wcs_fault *fault, int error, const char *format, ...)
{
	va_list args;

	if (fault == NULL)
		return error;
	fault->line = 0;
	fault->column = 0;
	va_start(args, format);
	vsnprintf(fault->text, sizeof(fault->text), format, args);
	va_end(args);
	return error;
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
