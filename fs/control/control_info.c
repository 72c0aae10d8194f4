/* SPDX-License-Identifier: MIT */
/* Read-only control files in /.rowfs: version, errors, metrics, engine, help, advice. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/control/control_kind.h"
#include "fs/report/errors.h"
#include "fs/serve/metrics.h"
#include "store/advice/advice.h"
#include "store/chain/views.h"
#include "store/keys/keys.h"

static const char help_start[] =
	"Control files of rowfs. They are not listed, but for what is inside .rowfs and "
	".families.\n"
	"A line takes effect in the write that completes it; what fails says why in\n"
	"/.rowfs/errors. Short files have their size; .rows, .keys and texts above 64 KiB have\n"
	"size 0: cat .rows | PROGRAM works with every program.\n\n";

static const char help_end[] =
	"\n"
	"A row is {\"key\":K,\"families\":{F:{Q:[{\"ts\":T,\"value\":V},...]}}}: K and Q with %XX "
	"for %,\n"
	"control bytes and what is not UTF-8; T in microseconds since 1970; \"base64\" instead of\n"
	"\"value\" for any bytes. To write, a cell may be just \"text\" (it gets the present), and "
	"a\n"
	"row may also have\n"
	"  \"delete\"      true (the row), {F:true}, {F:{Q:true}} or {F:{Q:[T,...]}}; before the "
	"rest\n"
	"  \"append\"      {F:{Q:text}}, behind the newest value\n"
	"  \"increment\"   {F:{Q:number}}, on the newest value\n"
	"  \"if\"          {F:{Q:text or null}}: else nothing is changed, and the write fails\n"
	"                (ECANCELED)\n"
	"A bad line stops a stream: the lines before it took effect, it and those behind it did "
	"not.\n";

enum { HELP_INDENT = 16, HELP_WIDTH = 80 };

/* Prints a name and, from a column on, lines of help. */
static void help_print(const char *before, const char *name, const char *lines, int column,
		       FILE *to)
{
	int at = fprintf(to, "  %s%s", before, name);

	if (at + 2 > column)
		at = fprintf(to, "\n") - 1;
	fprintf(to, "%*s", column - at, "");
	for (; *lines; lines++) {
		fputc(*lines, to);
		if (*lines == '\n')
			fprintf(to, "%*s", column, "");
	}
	fputc('\n', to);
}

/* Prints the names of these directories, and no other. */
static void help_names(unsigned dirs, const char *before, FILE *to)
{
	const unsigned views = 1u << NODE_VIEWED;
	const struct spell_name *name;
	const char *help;

	for (size_t i = 0; (name = spell_name(i)) != NULL; i++) {
		if ((name->dirs & ~views) != dirs || !name->shown)
			continue;
		help_print(before, name->shown, name->help, HELP_INDENT, to);
		for (unsigned codec = 0; name->control == CONTROL_DESIGN &&
					 (help = wcs_codec_help((enum wcs_codec)codec));
		     codec++)
			help_print("              ", wcs_codec_name((enum wcs_codec)codec), help,
				   2 * HELP_INDENT, to);
	}
}

#define STORED_KEYS "stored keys, first and in the table only"

static void help_views(FILE *to)
{
	static const char *const shown[] = {[WCS_SHOWS_ROWS] = "rows",
					    [WCS_SHOWS_ORDER] = "rows in their order",
					    [WCS_SHOWS_CELLS] = "cells",
					    [WCS_SHOWS_TIMES] = "cells by timestamp",
					    [WCS_SHOWS_STORED] = STORED_KEYS};
	const struct wcs_view_name *view;

	for (int shows = 0; shows < WCS_SHOWS; shows++) {
		int at = fprintf(to, "  %s:", shown[shows]);

		for (size_t i = 0; (view = wcs_view_name(i)) != NULL; i++) {
			const char *argument = view->argument ? view->argument : "";
			int len = (int)(strlen(view->name) + strlen(argument)) + 3;

			if ((int)view->shows != shows)
				continue;
			if (at + len > HELP_WIDTH)
				at = fprintf(to, "\n   ") - 1;
			at += fprintf(to, " .%s%s%s", view->name, view->argument ? "/" : "",
				      argument);
		}
		fputc('\n', to);
	}
}

static void info_help(FILE *to)
{
	const unsigned table = 1u << NODE_TABLE, prefix = 1u << NODE_PREFIX;

	fputs(help_start, to);
	fputs("In a table and in any directory of row keys below it:\n", to);
	help_names(table | prefix, "", to);
	fputs("In a directory of row keys, whether there is such a row or not:\n", to);
	help_names(prefix, "", to);
	fputs("Views, directories with fewer rows or cells, which nest and are read-only "
	      "(rowfs(5)):\n",
	      to);
	help_views(to);
	fputs("In a table:\n", to);
	help_print("", ".families/",
		   "a directory for each family: mkdir, rmdir (while it holds no cell)",
		   HELP_INDENT, to);
	help_names(1u << NODE_POLICIES, ".families/F/", to);
	help_names(table, "", to);
	fputs("In /.rowfs:\n", to);
	help_names(1u << NODE_ROWFS, "", to);
	fputs(help_end, to);
}

/* May read for seconds for each table, and can be interrupted. */
static int info_advice(const struct control_place *at, FILE *to)
{
	const struct wcs_advice_options options = {
		.to = to, .json = at->node->ts == CONTROL_FINDINGS, .table = at->fs->options.table};
	struct wcs_advice *advice;
	int rc = wcs_advice_new(&options, &advice);

	if (rc != 0)
		return rc;
	rc = wcs_advice_store(advice, at->fs->store);
	wcs_advice_free(advice);
	return rc;
}

static int info_print(const struct control_place *at, FILE *to)
{
	char *text;

	switch ((int)at->node->ts) {
	case CONTROL_ADVICE:
	case CONTROL_FINDINGS:
		return info_advice(at, to);
	case CONTROL_ERRORS:
		return errors_print(at->fs->errors, to);
	case CONTROL_METRICS:
		return metrics_show(at->fs, to);
	case CONTROL_HELP:
		info_help(to);
		return 0;
	case CONTROL_VERSION:
		fprintf(to, "rowfs %s\nengine %s\nlibfuse %s\n", ROWFS_VERSION,
			wcs_store_engine(at->fs->store), fuse_pkgversion());
		return 0;
	default:
		text = wcs_store_engine_text(at->fs->store);
		if (text)
			fputs(text, to);
		free(text);
		return text ? 0 : -ENOMEM;
	}
}

const struct control_text control_info = {info_print, NULL, NULL, CONTROL_LINES};
