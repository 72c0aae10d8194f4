/* SPDX-License-Identifier: MIT */
/* Read-only control files in /.rowfs: version, errors, metrics, engine, help, advice. */
#include <errno.h>
#include <stdlib.h>

#include "fs/control/control_kind.h"
#include "fs/report/errors.h"
#include "fs/serve/metrics.h"
#include "store/advice/advice.h"

/* A summary of the control files, in two strings. */
static const char info_help[] =
	"Control files of rowfs. They are not listed, but for what is inside .rowfs and "
	".families.\n"
	"A line takes effect in the write that completes it; what fails says why in\n"
	"/.rowfs/errors. Short files have their size; .rows, .keys and texts above 64 KiB have\n"
	"size 0: cat .rows | PROGRAM works with every program.\n"
	"\n"
	"In a table and in any directory of row keys below it:\n"
	"  .rows         read:  every row at or below, a JSON object a line, in the order of keys\n"
	"                write: each line changes one row, which must be at or below\n"
	"  .keys         read:  their row keys, one a line\n"
	"  .count        JSON: how many rows and cells they are, and the bytes of their values\n"
	"  .splits       up to 100 keys that divide the directory into parts of about equal size\n"
	"  .changes      waits for changes of these rows: a line of row JSON for each\n"
	"  .drop         read:  JSON: table, prefix, rows, bytes\n"
	"                write: that prefix (of a table: its name) drops them all; in a table T\n"
	"                also: table T, with its families and itself\n"
	"In a directory of row keys, whether there is such a row or not:\n"
	"  .row          read:  this row, JSON; nothing if there is none\n"
	"                write: changes this row; \"key\" may be left out\n"
	"Views, directories with fewer rows or cells, which nest and are read-only (rowfs(5)):\n"
	"  .from/KEY .to/KEY .prefix/KEY .key/RE .has/F:Q .where/F:Q=V .sample/P    rows\n"
	"  .first/N .last/N .reverse                                   rows in their order\n"
	"  .family/F .columns/F:Q,F .column/RE .value/RE .newest/N                 cells\n"
	"  .at/TIME .since/TIME .until/TIME                            cells by timestamp\n"
	"  .raw (first in a chain, in the table only)                  the stored keys\n"
	"In a table:\n"
	"  .families/    a directory for each family: mkdir, rmdir (while it holds no cell)\n"
	"  .families/F/gc     the policy, read and set: never, maxversions=N, "
	"maxage=N(ms|s|m|h|d),\n"
	"                     joined by and, or and parentheses\n"
	"  .families/F/explain/POLICY   how many rows, cells and bytes this policy would hide, "
	"JSON\n"
	"  .families/F/type   the type, read and set (while the family is empty)\n"
	"  .families/F/drop   read: JSON: table, family, rows, cells, bytes\n"
	"                     write: the family's name drops its cells in all rows\n"
	"  .delimiter    the byte that separates segments, read and set (while the table is "
	"empty)\n"
	"  .design       the key design, JSON, read and set (while the table is empty): codecs of\n"
	"                segments and a salt, {\"segments\":[\"a\",{\"name\":N,\"codec\":C},...],\n"
	"                \"salt\":{\"buckets\":N,\"segments\":K}}; {} is none. C is\n"
	"                text            as it is\n"
	"                reverse-domain  stored com.google.maps, shown maps.google.com\n"
	"                time            stored as digits, shown 2026-11-22T21:00:00.000000Z;\n"
	"                                \"unit\":us, ms or s, \"width\":10 to 19\n"
	"                reverse-time    the same, the newest first; \"unit\"\n"
	"                pad             stored with zeros in front; \"width\":1 to 19\n"
	"                reverse         stored with its bytes in the opposite order\n"
	"                %=BYTES in a name: the stored bytes of a segment that its codec does not "
	"show.\n"
	"                ls -U lists in the order of the stored keys; ls alone sorts by name\n"
	"  .protected    1 or 0, read and set: 1 refuses drops, removing the table or a family,\n"
	"                policies that hide more than before, and mkfs.rowfs --force\n";
/* C compilers need not take longer ones. */
static const char info_help_more[] =
	"In /.rowfs:\n"
	"  schema.json   read:  the whole schema\n"
	"                write: adds what is missing, sets policies, removes nothing\n"
	"  errors        the last 1,000 errors: time, path, line, reason\n"
	"  trace         waits for requests: a line of JSON for each; not listed\n"
	"  metrics       what the mount counts, in the text format of Prometheus\n"
	"  gc            read:  what garbage collection does and did, JSON\n"
	"                write: run (at once; returns when done), pause, resume\n"
	"  keyvis/       keyvis/T: the heat map of table T, a file for each metric (ops, reads,\n"
	"                writes, bytes, latency) and format (txt, ansi, ansi24, svg, html, json,\n"
	"                tsv), of the last 6 hours; keyvis/T/6h, 4d, 28d: of these times\n"
	"  engine        statistics of the engine\n"
	"  advice        faults in the design of the tables, with an action for each\n"
	"  advice.json   the same, a line of JSON for each\n"
	"  version       the versions\n"
	"  help          this\n"
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
		fputs(info_help, to);
		fputs(info_help_more, to);
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
