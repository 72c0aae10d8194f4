/* SPDX-License-Identifier: MIT */
/* Names the part of a row that the store refused, and the reason. */
#include "store/json/import_private.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/policy/aggregate.h"

int import_fail(struct wcs_import *import, uint64_t number, int rc, const char *why)
{
	char applied[64];
	int room;

	snprintf(applied, sizeof(applied), " (%" PRIu64 " line%s applied before it)",
		 import->applied, import->applied == 1 ? "" : "s");
	room = (int)(sizeof(import->fault.text) - 1 - strlen(applied));
	import->error = rc;
	wcs_fault_set(&import->fault, rc, "%.*s%s", room, why, applied);
	import->fault.line = number < INT_MAX ? (int)number : INT_MAX;
	return rc;
}

static bool import_fail_has(struct wcs_table *table, const char *family)
{
	return wcs_family_exists(table, (struct wcs_slice){family, strlen(family)});
}

/* The first family of the mutation that the table does not have; NULL: none. */
static const char *import_fail_unknown(struct wcs_table *table, const struct wcs_mutation *mutation)
{
	for (size_t i = 0; i < mutation->condition_count; i++)
		if (!import_fail_has(table, mutation->conditions[i].family))
			return mutation->conditions[i].family;
	for (size_t i = 0; i < mutation->delete_count; i++)
		if (!import_fail_has(table, mutation->deletes[i].family))
			return mutation->deletes[i].family;
	for (size_t i = 0; i < mutation->write_count; i++)
		if (!import_fail_has(table, mutation->writes[i].family))
			return mutation->writes[i].family;
	return NULL;
}

static int import_fail_family(struct wcs_import *import, uint64_t number,
			      const struct wcs_mutation *mutation)
{
	const char *unknown = import_fail_unknown(import->table, mutation);
	char why[sizeof(import->fault.text)], name[WCS_FAMILY_NAME_MAX + 1];
	bool any = false;
	size_t n;

	if (!unknown) { /* a removed table lists no families */
		snprintf(why, sizeof(why), "table %s was removed", wcs_table_name(import->table));
		return import_fail(import, number, -ENOENT, why);
	}
	n = (size_t)snprintf(why, sizeof(why), "family %s: table %s does not have it; it has",
			     unknown, wcs_table_name(import->table));
	while (n < sizeof(why) && wcs_family_next(import->table, any ? name : NULL, name) == 0) {
		n += (size_t)snprintf(why + n, sizeof(why) - n, "%s %s", any ? "," : "", name);
		any = true;
	}
	if (!any)
		snprintf(why + n, sizeof(why) - n, " none");
	return import_fail(import, number, -EINVAL, why);
}

static int import_fail_column(struct wcs_import *import, uint64_t number, int rc,
			      const char *member, const char *family, struct wcs_slice qualifier,
			      const char *reason)
{
	char why[sizeof(import->fault.text)];
	char *name = wcs_text_encode(qualifier);

	snprintf(why, sizeof(why), "%s.%s.%.40s: %s", member, family, name ? name : "?", reason);
	free(name);
	return import_fail(import, number, rc, why);
}

static const char *import_fail_member(const struct wcs_write *write)
{
	if (write->kind == WCS_WRITE_APPEND)
		return "append";
	return write->kind == WCS_WRITE_INCREMENT ? "increment" : "families";
}

/* Names the first condition or write that its family refuses. If there is none, the engine refused
 * the row because of `otherwise`. */
static int import_fail_value(struct wcs_import *import, uint64_t number,
			     const struct wcs_mutation *mutation, int error, const char *otherwise)
{
	const char *reason;
	int rc;

	for (size_t i = 0; i < mutation->condition_count; i++) {
		const struct wcs_condition *condition = &mutation->conditions[i];

		rc = wcs_aggregate_refuses_if(condition, &reason);
		if (rc != 0)
			return import_fail_column(import, number, rc, "if", condition->family,
						  condition->qualifier, reason);
	}
	for (size_t i = 0; i < mutation->write_count; i++) {
		const struct wcs_write *write = &mutation->writes[i];

		rc = wcs_aggregate_refuses(write, &reason);
		if (rc != 0)
			return import_fail_column(import, number, rc, import_fail_member(write),
						  write->family, write->qualifier, reason);
	}
	return import_fail(import, number, error, otherwise);
}

int import_fail_row(struct wcs_import *import, const struct import_row *row, int rc)
{
	switch (rc) {
	case -ENOENT:
		return import_fail_family(import, row->number, wcs_line_mutation(row->line));
	case -ECANCELED:
		return import_fail(import, row->number, rc, "the row is not as \"if\" says");
	case -EINVAL:
		return import_fail_value(import, row->number, wcs_line_mutation(row->line), rc,
					 "\"increment\" of a value that is not an 8-byte integer");
	case -EOVERFLOW:
		return import_fail_value(import, row->number, wcs_line_mutation(row->line), rc,
					 "an integer or a timestamp would leave its range");
	case -EFBIG:
		return import_fail(import, row->number, rc,
				   "\"append\" makes a value larger than 100 MiB");
	default:
		return import_fail(import, row->number, rc, strerror(-rc));
	}
}
