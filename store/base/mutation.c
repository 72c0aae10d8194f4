/* SPDX-License-Identifier: MIT */
/*
 * Mutations: collects conditions, deletes and writes, and sorts them for resolve/.
 *
 * A mutation owns its three arrays and borrows every name and byte in them. A builder that fails
 * leaves the mutation as it was: it checks its arguments, then grows the array, then adds the
 * entry. Sealing keeps every entry that has an effect, and its `order`: a caller may add more
 * entries and seal again.
 */
#include "store/mutation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grow.h"
#include "lib/times.h"

enum {
	MUTATION_ROOM = 4,  /* of the first array */
	MUTATION_KEPT = 64, /* writes that a cleared mutation keeps room for */
};

int wcs_slice_compare(struct wcs_slice a, struct wcs_slice b)
{
	size_t common = a.len < b.len ? a.len : b.len;
	int order = common > 0 ? memcmp(a.data, b.data, common) : 0;

	return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

size_t wcs_slice_shared(struct wcs_slice a, struct wcs_slice b)
{
	const unsigned char *x = a.data, *y = b.data;
	size_t len = 0;

	while (len < a.len && len < b.len && x[len] == y[len])
		len++;
	return len;
}

size_t wcs_slice_shared_segments(struct wcs_slice a, struct wcs_slice b, unsigned char delimiter)
{
	const unsigned char *x = a.data, *y = b.data;
	size_t shared = wcs_slice_shared(a, b), segments = 0;

	for (size_t i = 0; i <= shared; i++)
		segments += (i == a.len || x[i] == delimiter) && (i == b.len || y[i] == delimiter);
	return segments;
}

struct wcs_mutation *wcs_mutation_new(void)
{
	return calloc(1, sizeof(struct wcs_mutation));
}

void wcs_mutation_free(struct wcs_mutation *mutation)
{
	if (mutation == NULL)
		return;
	wcs_mutation_clear(mutation);
	free(mutation->writes);
	free(mutation);
}

void wcs_mutation_clear(struct wcs_mutation *mutation)
{
	struct wcs_mutation kept = {.delete_row = false};

	if (mutation->write_room <= MUTATION_KEPT) {
		kept.writes = mutation->writes;
		kept.write_room = mutation->write_room;
		mutation->writes = NULL;
	}
	free(mutation->conditions);
	free(mutation->deletes);
	free(mutation->writes);
	*mutation = kept;
}

static int mutation_check_column(const char *family, struct wcs_slice qualifier)
{
	if (!wcs_family_name_valid(family))
		return -EINVAL;
	if (qualifier.len > WCS_QUALIFIER_MAX)
		return -ENAMETOOLONG;
	return qualifier.data == NULL && qualifier.len > 0 ? -EINVAL : 0;
}

static int mutation_check_value(struct wcs_slice value)
{
	if (value.len > WCS_VALUE_MAX)
		return -EFBIG;
	return value.data == NULL && value.len > 0 ? -EINVAL : 0;
}

int wcs_mutation_condition(struct wcs_mutation *mutation, struct wcs_condition condition)
{
	int rc = mutation_check_column(condition.family, condition.qualifier);

	if (rc == 0)
		rc = mutation_check_value(condition.given);
	if (rc != 0)
		return rc;
	condition.expected = condition.given;
	rc = grow(&mutation->conditions, &mutation->condition_room, mutation->condition_count + 1,
		  MUTATION_ROOM, sizeof(condition));
	if (rc == 0)
		mutation->conditions[mutation->condition_count++] = condition;
	return rc;
}

int wcs_mutation_if(struct wcs_mutation *mutation, const char *family, struct wcs_slice qualifier,
		    const struct wcs_slice *expected)
{
	struct wcs_condition condition = {
		.family = family, .qualifier = qualifier, .absent = expected == NULL};

	if (expected != NULL)
		condition.given = *expected;
	return wcs_mutation_condition(mutation, condition);
}

int wcs_mutation_delete_row(struct wcs_mutation *mutation)
{
	mutation->delete_row = true;
	return 0;
}

static int mutation_delete(struct wcs_mutation *mutation, struct wcs_delete entry)
{
	int rc = mutation_check_column(entry.family, entry.qualifier);

	if (rc != 0)
		return rc;
	if (entry.ts < 0)
		return -EINVAL;
	rc = grow(&mutation->deletes, &mutation->delete_room, mutation->delete_count + 1,
		  MUTATION_ROOM, sizeof(entry));
	if (rc == 0)
		mutation->deletes[mutation->delete_count++] = entry;
	return rc;
}

int wcs_mutation_delete_family(struct wcs_mutation *mutation, const char *family)
{
	return mutation_delete(mutation,
			       (struct wcs_delete){.kind = WCS_DELETE_FAMILY, .family = family});
}

int wcs_mutation_delete_nothing(struct wcs_mutation *mutation, const char *family)
{
	return mutation_delete(mutation,
			       (struct wcs_delete){.kind = WCS_DELETE_NOTHING, .family = family});
}

int wcs_mutation_delete_column(struct wcs_mutation *mutation, const char *family,
			       struct wcs_slice qualifier)
{
	return mutation_delete(mutation, (struct wcs_delete){WCS_DELETE_COLUMN, family, qualifier,
							     0, .taken = false});
}

int wcs_mutation_delete_cell(struct wcs_mutation *mutation, const char *family,
			     struct wcs_slice qualifier, int64_t ts)
{
	return mutation_delete(mutation, (struct wcs_delete){WCS_DELETE_CELL, family, qualifier, ts,
							     .taken = false});
}

int wcs_mutation_write(struct wcs_mutation *mutation, struct wcs_write entry)
{
	/* WCS_TS_SERVER, WCS_TS_NEWEST and WCS_TS_NONE are one number. */
	int64_t least = entry.kind == WCS_WRITE_SET_NEWEST ? 0 : WCS_TS_SERVER;
	int rc = mutation_check_column(entry.family, entry.qualifier);

	if (rc == 0)
		rc = mutation_check_value(entry.value);
	if (rc == 0 && (entry.ts < least || entry.replaces < WCS_TS_NONE))
		rc = -EINVAL;
	if (rc != 0)
		return rc;
	rc = grow(&mutation->writes, &mutation->write_room, mutation->write_count + 1,
		  MUTATION_ROOM, sizeof(entry));
	if (rc != 0)
		return rc;
	entry.order = mutation->write_count;
	mutation->writes[mutation->write_count++] = entry;
	return 0;
}

/* A write that gives its value as bytes. */
static int mutation_value(struct wcs_mutation *mutation, enum wcs_write_kind kind,
			  const char *family, struct wcs_slice qualifier, int64_t ts,
			  struct wcs_slice value)
{
	struct wcs_write entry = {
		.kind = kind, .family = family, .qualifier = qualifier, .ts = ts, .value = value};

	return wcs_mutation_write(mutation, entry);
}

int wcs_mutation_set(struct wcs_mutation *mutation, const char *family, struct wcs_slice qualifier,
		     int64_t ts, struct wcs_slice value)
{
	return mutation_value(mutation, WCS_WRITE_SET, family, qualifier, ts, value);
}

int wcs_mutation_set_newest(struct wcs_mutation *mutation, const char *family,
			    struct wcs_slice qualifier, int64_t ts, struct wcs_slice value)
{
	return mutation_value(mutation, WCS_WRITE_SET_NEWEST, family, qualifier, ts, value);
}

int wcs_mutation_append(struct wcs_mutation *mutation, const char *family,
			struct wcs_slice qualifier, struct wcs_slice data, int64_t replaces)
{
	struct wcs_write entry = {.kind = WCS_WRITE_APPEND,
				  .family = family,
				  .qualifier = qualifier,
				  .ts = WCS_TS_SERVER,
				  .replaces = replaces,
				  .value = data};

	return wcs_mutation_write(mutation, entry);
}

int wcs_mutation_increment(struct wcs_mutation *mutation, const char *family,
			   struct wcs_slice qualifier, int64_t delta)
{
	struct wcs_write entry = {.kind = WCS_WRITE_INCREMENT,
				  .family = family,
				  .qualifier = qualifier,
				  .ts = WCS_TS_SERVER,
				  .delta = delta};

	return wcs_mutation_write(mutation, entry);
}

int wcs_mutation_merge(struct wcs_mutation *mutation, const char *family,
		       struct wcs_slice qualifier, int64_t ts, struct wcs_slice value)
{
	return mutation_value(mutation, WCS_WRITE_MERGE, family, qualifier, ts, value);
}

int wcs_mutation_replace(struct wcs_mutation *mutation, const char *family,
			 struct wcs_slice qualifier, struct wcs_slice value)
{
	return mutation_value(mutation, WCS_WRITE_REPLACE, family, qualifier, WCS_TS_NEWEST, value);
}

static int mutation_compare_deletes(const void *left, const void *right)
{
	const struct wcs_delete *a = left;
	const struct wcs_delete *b = right;
	int order = strcmp(a->family, b->family);

	if (order != 0)
		return order;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	order = wcs_slice_compare(a->qualifier, b->qualifier);
	return order != 0 ? order : (a->ts > b->ts) - (a->ts < b->ts);
}

static int mutation_compare_writes(const void *left, const void *right)
{
	const struct wcs_write *a = left;
	const struct wcs_write *b = right;
	int order = a->family == b->family ? 0 : strcmp(a->family, b->family);

	if (order == 0)
		order = wcs_slice_compare(a->qualifier, b->qualifier);
	return order != 0 ? order : (a->order > b->order) - (a->order < b->order);
}

void wcs_mutation_seal(struct wcs_mutation *mutation)
{
	struct wcs_write *writes = mutation->writes;
	size_t sorted = 1, deletes = 0;

	for (size_t i = 0; i < mutation->delete_count; i++)
		if (mutation->deletes[i].kind != WCS_DELETE_NOTHING)
			mutation->deletes[deletes++] = mutation->deletes[i];
	mutation->delete_count = deletes;
	if (deletes > 1)
		qsort(mutation->deletes, mutation->delete_count, sizeof(*mutation->deletes),
		      mutation_compare_deletes);
	while (sorted < mutation->write_count &&
	       mutation_compare_writes(&writes[sorted - 1], &writes[sorted]) < 0)
		sorted++;
	if (sorted < mutation->write_count)
		qsort(writes, mutation->write_count, sizeof(*writes), mutation_compare_writes);
}

static bool mutation_has_delete(const struct wcs_mutation *mutation, struct wcs_delete wanted)
{
	return bsearch(&wanted, mutation->deletes, mutation->delete_count,
		       sizeof(*mutation->deletes), mutation_compare_deletes) != NULL;
}

uint64_t wcs_mutation_old(const struct wcs_mutation *mutation)
{
	uint64_t old = 0;

	for (size_t i = 0; i < mutation->write_count; i++) {
		const struct wcs_write *write = &mutation->writes[i];

		old += (write->kind == WCS_WRITE_SET || write->kind == WCS_WRITE_MERGE) &&
		       write->ts >= TIMES_PLAIN_SECONDS && write->ts < TIMES_PLAIN;
	}
	return old;
}

bool wcs_mutation_deletes(const struct wcs_mutation *mutation, const char *family,
			  struct wcs_slice qualifier, int64_t ts)
{
	struct wcs_delete wanted = {.kind = WCS_DELETE_FAMILY, .family = family};

	if (mutation->delete_row)
		return true;
	if (mutation->delete_count == 0)
		return false;
	if (mutation_has_delete(mutation, wanted))
		return true;
	wanted.kind = WCS_DELETE_COLUMN;
	wanted.qualifier = qualifier;
	if (mutation_has_delete(mutation, wanted))
		return true;
	wanted.kind = WCS_DELETE_CELL;
	wanted.ts = ts;
	return mutation_has_delete(mutation, wanted);
}
