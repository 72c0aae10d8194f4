/* SPDX-License-Identifier: MIT */
/* The message of a failed sink, and its check of a family. */
#include "mkfs/load/sink.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "mkfs/text/rows.h"

int sink_fail(struct sink *sink, int rc, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(sink->why, sizeof(sink->why), format, args);
	va_end(args);
	return rc;
}

int sink_family(struct sink *sink, const char *table, const char *family)
{
	const struct wcs_table_schema *named = NULL;
	struct wcs_schema *schema = NULL;
	int rc = sink->kind->schema(sink, &schema);
	size_t n;

	if (rc || !schema)
		return rc ? sink_fail(sink, rc, "the schema: %s", strerror(-rc)) : 0;
	for (size_t i = 0; i < schema->table_count; i++)
		if (strcmp(schema->tables[i].name, table) == 0)
			named = &schema->tables[i];
	if (!named) {
		rc = sink_fail(sink, -ENOENT,
			       "table %s: the store has none of that name; --create with --family "
			       "makes it",
			       table);
	} else if (!rows_family(named, family, strlen(family))) {
		rc = sink_fail(sink, -ENOENT, "family %.64s: table %s does not have it; it has%s",
			       family, table, named->family_count > 0 ? "" : " none");
		n = strlen(sink->why);
		for (size_t i = 0; i < named->family_count && n < sizeof(sink->why); i++)
			n += (size_t)snprintf(sink->why + n, sizeof(sink->why) - n, "%s %s",
					      i > 0 ? "," : "", named->families[i].name);
	}
	wcs_schema_free(schema);
	return rc;
}
