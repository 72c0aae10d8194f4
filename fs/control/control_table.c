/* SPDX-License-Identifier: MIT */
/* One file for each part of a table's schema: T/.delimiter, T/.design, T/.protected,
 * T/.families/F/gc and type; and what another policy would hide: T/.families/F/explain/POLICY. */
#include <errno.h>
#include <stdlib.h>

#include "fs/cache/cache.h"
#include "fs/control/control_kind.h"
#include "fs/report/report.h"
#include "lib/escape.h"
#include "store/keys/keys.h"

static int delimiter_print(const struct control_place *at, FILE *to)
{
	fprintf(to, "%c\n", at->pos.delimiter);
	return 0;
}

int control_layout_check(struct fs *fs, struct wcs_table *table, unsigned char delimiter,
			 const struct wcs_keys *keys)
{
	if ((delimiter == 0 || delimiter == wcs_table_delimiter(table)) &&
	    (!keys || wcs_keys_equal(keys, wcs_table_keys(table))))
		return 0;
	return pos_table_check(fs, wcs_table_name(table));
}

/* Ends a change of the delimiter or the design; fault: of -EINVAL. */
static int layout_end(const struct control_place *at, int rc, const char *what,
		      struct wcs_fault *fault)
{
	if (rc == 0)
		cache_expire_rows(at->fs, at->pos.table, NULL, true);
	else if (rc == -EINVAL)
		report(at->fs, at->node, NULL, at->line + (fault->line > 0 ? fault->line - 1 : 0),
		       rc, "%s", wcs_fault_words(fault));
	else if (rc == -ENOTEMPTY)
		report(at->fs, at->node, NULL, at->line, rc,
		       "the table has rows or directories; its %s stays until they are removed",
		       what);
	else if (rc == -EBUSY)
		report(at->fs, at->node, NULL, at->line, rc,
		       "the table stores cells that its policies hide; its %s stays until they are "
		       "collected: write run to /.rowfs/gc",
		       what);
	return rc;
}

static int delimiter_apply(const struct control_place *at, const char *text, size_t len)
{
	unsigned char delimiter = len == 1 ? (unsigned char)text[0] : 0; /* 0 is none */
	struct wcs_fault fault = {0};
	int rc = control_layout_check(at->fs, at->pos.table, delimiter, NULL);

	if (rc == 0)
		rc = wcs_table_set_delimiter(at->pos.table, delimiter, &fault);
	return layout_end(at, rc, "delimiter", &fault);
}

static int design_print(const struct control_place *at, FILE *to)
{
	char *text = wcs_keys_json(wcs_table_keys(at->pos.table));

	if (!text)
		return -ENOMEM;
	fputs(text, to);
	free(text);
	return 0;
}

static int design_apply(const struct control_place *at, const char *text, size_t len)
{
	struct wcs_fault fault = {0};
	struct wcs_keys keys;
	int rc = wcs_keys_json_parse(text, len, &keys, &fault);

	if (rc == 0)
		rc = control_layout_check(at->fs, at->pos.table, 0, &keys);
	if (rc == 0)
		rc = wcs_table_set_keys(at->pos.table, &keys, &fault);
	return layout_end(at, rc, "design", &fault);
}

static int protected_print(const struct control_place *at, FILE *to)
{
	fprintf(to, "%d\n", wcs_table_protected(at->pos.table));
	return 0;
}

static int protected_apply(const struct control_place *at, const char *text, size_t len)
{
	if (len != 1 || (*text != '0' && *text != '1'))
		return report(at->fs, at->node, NULL, at->line, -EINVAL,
			      "write 1 to protect the table, or 0 to end that");
	return wcs_table_set_protected(at->pos.table, *text == '1');
}

static int family_print(const struct control_place *at, FILE *to)
{
	bool type = at->node->ts == CONTROL_TYPE;
	struct wcs_family family;
	int rc = wcs_family_get(at->pos.table, at->pos.family, &family);

	if (rc != 0)
		return rc;
	fprintf(to, "%s\n", type ? wcs_type_name(family.type) : family.gc);
	wcs_family_clear(&family);
	return 0;
}

static int policy_apply(const struct control_place *at, const char *text, size_t len)
{
	struct wcs_fault fault = {0};
	int rc = wcs_family_set_gc(at->pos.table, at->pos.family, text, &fault);

	(void)len;
	if (rc == 0)
		cache_expire_family(at->fs, at->pos.table, at->pos.family);
	else
		report(at->fs, at->node, NULL, at->line, rc, "%s", wcs_fault_words(&fault));
	return rc;
}

enum { EXAMPLES = 20 };

struct explained {
	const struct pos *pos;
	json_t *examples;
};

static int example_add(void *ctx, const struct wcs_cell *cell)
{
	const struct explained *explained = ctx;

	if (json_array_size(explained->examples) == EXAMPLES)
		return 0;
	return json_array_append_new(explained->examples,
				     json_pack("{s:o, s:o, s:I, s:I}", "key",
					       control_key_json(explained->pos->keys, cell->row),
					       "qualifier", control_key_json(NULL, cell->qualifier),
					       "ts", (json_int_t)cell->info.ts, "bytes",
					       (json_int_t)cell->info.size))
		       ? -ENOMEM
		       : 0;
}

/* The file's name is the policy. */
static int explain_print(const struct control_place *at, FILE *to)
{
	const struct pos *pos = &at->pos;
	struct explained explained = {pos, json_array()};
	struct wcs_family family = {.gc = NULL};
	struct wcs_count count;
	char *policy = NULL;
	int rc = wcs_gc_canonical(at->node->name, &policy, NULL);

	if (rc == 0)
		rc = wcs_family_get(pos->table, pos->family, &family);
	if (rc == 0)
		rc = wcs_family_explain(pos->table, pos->family, policy, example_add, &explained,
					&count, NULL);
	if (rc == 0)
		rc = escape_json_put(
			to,
			json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:O}", "table",
				  wcs_table_name(pos->table), "family", pos->family, "present",
				  family.gc, "policy", policy, "rows", (json_int_t)count.rows,
				  "cells", (json_int_t)count.cells, "bytes",
				  (json_int_t)count.bytes, "examples", explained.examples),
			0);
	json_decref(explained.examples);
	wcs_family_clear(&family);
	free(policy);
	return rc;
}

static int type_apply(const struct control_place *at, const char *text, size_t len)
{
	enum wcs_type type;
	int rc = wcs_type_parse(text, &type);

	(void)len;
	if (rc != 0)
		return report(at->fs, at->node, NULL, at->line, rc,
			      "unknown type; the types are bytes, intsum, intmin, intmax, inthll");
	rc = wcs_family_set_type(at->pos.table, at->pos.family, type);
	if (rc == -ENOTEMPTY)
		report(at->fs, at->node, NULL, at->line, rc,
		       "the family holds cells; its type stays");
	return rc;
}

const struct control_text control_delimiter = {delimiter_print, delimiter_apply, NULL,
					       CONTROL_LINES};
const struct control_text control_design = {design_print, design_apply, NULL, CONTROL_DOCUMENT};
const struct control_text control_protected = {protected_print, protected_apply, NULL,
					       CONTROL_LINES};
const struct control_text control_policy = {family_print, policy_apply, NULL, CONTROL_LINES};
const struct control_text control_explain = {explain_print, NULL, NULL, CONTROL_LINES};
const struct control_text control_type = {family_print, type_apply, NULL, CONTROL_LINES};
