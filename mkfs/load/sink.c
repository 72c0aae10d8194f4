/* SPDX-License-Identifier: MIT */
/* The message of a failed sink, its check of a family, and the designs of tables that exist. */
#include "mkfs/load/sink.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

int sink_fail_import(struct sink *sink, int rc, const char *why)
{
	char *end;

	sink_fail(sink, rc, "%s", why);
	end = strrchr(sink->why, '(');
	if (end && end > sink->why && strstr(end, " applied before it"))
		end[-1] = '\0';
	return rc;
}

/* *named: the table of the store's schema; NULL: it has none of that name. */
static int sink_table(struct sink *sink, const char *table, const struct wcs_table_schema **named)
{
	int rc = sink->schema ? 0 : sink->kind->schema(sink, &sink->schema);

	*named = rc ? NULL : wcs_schema_table(sink->schema, table);
	return rc;
}

int sink_design(struct sink *sink, const char *table)
{
	const struct wcs_table_schema *named;
	int rc = sink_table(sink, table, &named);

	if (!rc) {
		sink->keys = named ? named->keys : NULL;
		sink->delimiter = named ? named->delimiter : WCS_DELIMITER_DEFAULT;
	}
	return rc;
}

int sink_keep_designs(struct sink *sink, struct wcs_schema *schema, bool *removed)
{
	const struct wcs_table_schema *named;
	int rc = 0;

	*removed = false;
	wcs_schema_free(sink->schema); /* lines before this one may have changed it */
	sink->schema = NULL;
	for (size_t i = 0; !rc && i < schema->table_count; i++) {
		struct wcs_table_schema *table = &schema->tables[i];

		rc = table->keys ? sink_table(sink, table->name, &named) : 0;
		if (rc || !table->keys || !named)
			continue;
		free(table->keys);
		table->keys = NULL;
		*removed = true;
	}
	return rc;
}

int sink_family(struct sink *sink, const char *table, const char *family)
{
	const struct wcs_table_schema *named;
	int rc = sink_table(sink, table, &named);
	size_t n;

	if (rc)
		return rc;
	if (!named) {
		rc = sink_fail(sink, -ENOENT,
			       "table %s: the store has none of that name; --create makes it",
			       table);
	} else if (!wcs_schema_family(named, family, strlen(family))) {
		rc = sink_fail(sink, -ENOENT, "family %.64s: table %s does not have it; it has%s",
			       family, table, named->family_count > 0 ? "" : " none");
		n = strlen(sink->why);
		for (size_t i = 0; i < named->family_count && n < sizeof(sink->why); i++)
			n += (size_t)snprintf(sink->why + n, sizeof(sink->why) - n, "%s %s",
					      i > 0 ? "," : "", named->families[i].name);
	}
	return rc;
}
