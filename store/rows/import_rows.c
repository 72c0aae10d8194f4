/* SPDX-License-Identifier: MIT */
/*
 * The rows of an import that wait to be applied.
 *
 * - Rows gather in groups. While a thread applies a full group, the caller fills the next one. So
 *   at most two groups wait, and rows are applied in the order in which they came.
 * - The thread is made for the first full group and ends when no row waits (import_rest). If none
 *   can be made, the caller applies the group.
 * - The thread calls only wcs_rows_mutate. The caller counts, calls `applied` and sets the fault
 *   (import_applied).
 */
#include "store/rows/import.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/system/message.h"
#include "lib/system/threads.h"
#include "lib/utf8.h"
#include "store/backend.h"
#include "store/keys/keys.h"
#include "store/mutation.h"
#include "store/policy/aggregate.h"

#define IMPORT_LINE_KEPT 1024u /* bytes of a row whose memory a later one may use */

/* ---- Faults ------------------------------------------------------------------------------ */

int import_fail(struct wcs_import *import, uint64_t number, int rc, const char *why)
{
	char applied[64];
	int room;

	snprintf(applied, sizeof(applied), " (%" PRIu64 " line%s applied before it)",
		 import->applied, message_plural(import->applied));
	room = (int)(sizeof(import->fault.text) - 1 - strlen(applied));
	import->rc = rc;
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

static int import_fail_write(struct wcs_import *import, uint64_t number, int rc,
			     const struct wcs_write *write, const char *reason)
{
	const char *member = write->kind == WCS_WRITE_APPEND	  ? "append"
			     : write->kind == WCS_WRITE_INCREMENT ? "increment"
								  : "families";

	return import_fail_column(import, number, rc, member, write->family, write->qualifier,
				  reason);
}

/* Names the only write that the resolve layer can have refused with that error. */
static int import_fail_only(struct wcs_import *import, uint64_t number, int rc,
			    const struct wcs_mutation *mutation, const char *reason)
{
	enum wcs_write_kind kind = rc == -EFBIG ? WCS_WRITE_APPEND : WCS_WRITE_INCREMENT;
	const struct wcs_write *only = NULL;
	size_t count = 0;

	for (size_t i = 0; i < mutation->write_count; i++)
		if (rc == -EOVERFLOW || mutation->writes[i].kind == kind) {
			only = &mutation->writes[i];
			count++;
		}
	return count == 1 ? import_fail_write(import, number, rc, only, reason)
			  : import_fail(import, number, rc, reason);
}

/* Names the first condition or write that its family refuses. If there is none, the resolve layer
 * refused the row because of `otherwise`. */
static int import_fail_value(struct wcs_import *import, uint64_t number,
			     const struct wcs_mutation *mutation, int rc, const char *otherwise)
{
	const char *reason;

	for (size_t i = 0; i < mutation->condition_count; i++) {
		const struct wcs_condition *condition = &mutation->conditions[i];

		reason = wcs_aggregate_refuses_if(condition);
		if (reason)
			return import_fail_column(import, number, wcs_aggregate_error(reason), "if",
						  condition->family, condition->qualifier, reason);
	}
	for (size_t i = 0; i < mutation->write_count; i++) {
		const struct wcs_write *write = &mutation->writes[i];

		reason = wcs_aggregate_refuses(write);
		if (reason)
			return import_fail_write(import, number, wcs_aggregate_error(reason), write,
						 reason);
	}
	return import_fail_only(import, number, rc, mutation, otherwise);
}

/* As import_fail, with the reason for which wcs_rows_mutate refused the row at that place. */
static int import_fail_row(struct wcs_import *import, const struct import_group *group, size_t at)
{
	const struct wcs_mutation *mutation = group->entries[at].mutation;
	uint64_t number = group->rows[at].number;
	const char *reason;
	char why[64];
	int rc = group->rc;

	switch (rc) {
	case -ENOENT:
		return import_fail_family(import, number, mutation);
	case -ECANCELED:
		reason = "the row is not as \"if\" says";
		if (mutation->condition_count != 1)
			return import_fail(import, number, rc, reason);
		return import_fail_column(import, number, rc, "if", mutation->conditions->family,
					  mutation->conditions->qualifier, reason);
	case -EINVAL:
		return import_fail_value(import, number, mutation, rc,
					 "\"increment\" of a value that is not an 8-byte integer");
	case -EOVERFLOW:
		return import_fail_value(import, number, mutation, rc,
					 "an integer or a timestamp would leave its range");
	case -EFBIG:
		return import_fail_only(import, number, rc, mutation,
					"\"append\" makes a value larger than 100 MiB");
	case -ENAMETOOLONG: /* of a salted table: the text has at most WCS_ROW_KEY_MAX */
		snprintf(why, sizeof(why), "key: has at most %u bytes behind its salt",
			 WCS_ROW_KEY_MAX - WCS_KEYS_SALT);
		return import_fail(import, number, rc, why);
	default:
		return import_fail(import, number, rc, strerror(-rc));
	}
}

/* ---- Groups ------------------------------------------------------------------------------ */

static void group_apply(struct import_group *group)
{
	group->rc = wcs_rows_mutate(group->table, group->entries, group->count, &group->applied);
}

static void group_free_line(struct import_group *group, size_t at)
{
	wcs_line_free(group->rows[at].line);
	group->rows[at].line = NULL;
}

static void group_clear(struct import_group *group)
{
	for (size_t i = 0; i < group->count; i++) {
		if (group->rows[i].bytes > IMPORT_LINE_KEPT)
			group_free_line(group, i);
	}
	if (group->count > group->lines)
		group->lines = group->count;
	group->count = group->bytes = 0;
}

/* Takes note of what was applied of the group. */
static int import_applied(struct wcs_import *import, struct import_group *group)
{
	import->applied += group->applied;
	for (size_t i = 0; i < group->applied; i++) {
		import->old += wcs_mutation_old(group->entries[i].mutation);
		if (import->options.applied)
			import->options.applied(import->options.ctx, group->entries[i].row);
	}
	if (group->rc != 0)
		import_fail_row(import, group, group->applied);
	group_clear(group);
	return import->rc;
}

/* ---- The thread -------------------------------------------------------------------------- */

static void *import_main(void *arg)
{
	struct wcs_import *import = arg;

	pthread_mutex_lock(&import->lock);
	while (!import->ending) {
		if (!import->busy) {
			pthread_cond_wait(&import->changed, &import->lock);
			continue;
		}
		pthread_mutex_unlock(&import->lock);
		group_apply(import->given);
		pthread_mutex_lock(&import->lock);
		import->busy = false;
		pthread_cond_signal(&import->changed);
	}
	pthread_mutex_unlock(&import->lock);
	return NULL;
}

static bool import_thread(struct wcs_import *import)
{
	if (!import->threaded)
		import->threaded = threads_start(&import->thread, import_main, import);
	return import->threaded;
}

/* Sets busy, or waits until the thread is not. */
static void import_turn(struct wcs_import *import, bool busy)
{
	pthread_mutex_lock(&import->lock);
	while (import->busy)
		pthread_cond_wait(&import->changed, &import->lock);
	import->busy = busy;
	pthread_cond_signal(&import->changed);
	pthread_mutex_unlock(&import->lock);
}

/* Waits for the given group. */
static int import_settle(struct wcs_import *import)
{
	struct import_group *given = import->given;

	if (given == NULL)
		return import->rc;
	import_turn(import, false);
	import->given = NULL;
	return import_applied(import, given);
}

int import_flush(struct wcs_import *import)
{
	struct import_group *group = import->filling;

	if (import_settle(import) != 0) {
		group_clear(group);
	} else if (group->count > 0) {
		group_apply(group);
		import_applied(import, group);
	}
	return import->rc;
}

/* Gives the full group to the thread. */
static int import_give(struct wcs_import *import)
{
	struct import_group *group = import->filling;

	if (!import_thread(import) || import_settle(import) != 0)
		return import_flush(import);
	import->filling = group == import->groups ? import->groups + 1 : import->groups;
	import->given = group;
	import_turn(import, true);
	return 0;
}

void import_rest(struct wcs_import *import)
{
	if (import->threaded) {
		pthread_mutex_lock(&import->lock);
		import->ending = true;
		pthread_cond_signal(&import->changed);
		pthread_mutex_unlock(&import->lock);
		pthread_join(import->thread, NULL);
		import->threaded = import->ending = false;
	}
	for (struct import_group *group = import->groups; group < import->groups + 2; group++)
		while (group->lines > 0)
			group_free_line(group, --group->lines);
}

int import_add(struct wcs_import *import, size_t bytes)
{
	struct import_group *group = import->filling;

	group->table = import->table;
	group->rows[group->count++].bytes = bytes;
	group->bytes += bytes;
	if (bytes >= IMPORT_BYTES) /* a long row does not wait in memory beside others */
		return import_flush(import);
	return group->count == IMPORT_ROWS || group->bytes >= IMPORT_BYTES ? import_give(import)
									   : 0;
}

void import_rows_free(struct wcs_import *import)
{
	import_settle(import);
	import_rest(import);
	pthread_mutex_destroy(&import->lock);
	pthread_cond_destroy(&import->changed);
}

/* ---- Rows of cells ----------------------------------------------------------------------- */

static struct wcs_slice import_copy(unsigned char **to, struct wcs_slice bytes)
{
	struct wcs_slice copy = {*to, bytes.len};

	*to = mempcpy(*to, bytes.data, bytes.len);
	return copy;
}

int wcs_import_row(struct wcs_import *import, const struct wcs_cell *cells, size_t count,
		   uint64_t line, struct wcs_fault *fault)
{
	struct import_group *group = import->filling;
	struct import_row *row = &group->rows[group->count];
	struct wcs_entry *entry = &group->entries[group->count];
	size_t len = cells->row.len;
	unsigned char *to;
	int rc = import->rc;

	for (size_t i = 0; i < count; i++)
		len += cells[i].value.len;
	to = rc == 0 ? wcs_line_empty(&row->line, len) : NULL;
	if (rc == 0 && to == NULL)
		rc = -ENOMEM;
	if (rc == 0) {
		row->number = line;
		*entry = (struct wcs_entry){.row = import_copy(&to, cells->row),
					    .mutation = row->line->mutation};
	}
	for (size_t i = 0; i < count && rc == 0; i++) {
		struct wcs_write write = {.kind = WCS_WRITE_SET,
					  .family = cells[i].family.data,
					  .qualifier = cells[i].qualifier,
					  .ts = cells[i].info.ts,
					  .value = import_copy(&to, cells[i].value)};

		if (utf8_prefix(write.value.data, write.value.len) == write.value.len)
			write.form = WCS_FORM_TEXT; /* as in row JSON */
		rc = wcs_mutation_write(row->line->mutation, write);
	}
	if (rc == 0)
		rc = import_add(import, len);
	else if (import->rc == 0 && import_flush(import) == 0)
		rc = import_fail(import, line, rc, strerror(-rc));
	if (rc != 0 && fault != NULL)
		*fault = import->fault;
	return import->rc;
}
