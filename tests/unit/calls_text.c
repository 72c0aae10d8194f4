/* SPDX-License-Identifier: MIT */
/* Calls of the store that read and write rows as text: see calls.h. */
#include "tests/unit/calls.h"

#include "store/rows.h"

static int run_import(struct calls *calls)
{
	static const char rows[] =
		"{\"table\":\"t\"}\n"
		"{\"key\":\"r\",\"if\":{\"a\":{\"q\":\"new\"}},\"delete\":{\"a\":{\"q\":[1]},\"b\":"
		"true},\"families\":{\"a\":{\"%00\":[{\"ts\":4,\"base64\":\"AAE=\"}],\"p\":"
		"\"text\"},\"h\":{\"e\":[{\"ts\":1,\"state\":\"AQBBUVSB\"},"
		"{\"ts\":1,\"state\":\"AQBBUVSB\"}]}},\"append\":{\"a\":"
		"{\"q\":\"+\"}},\"increment\":{\"s\":{\"n\":1}}}\n";
	struct wcs_import *import;
	int rc = wcs_import_new(calls->suite.table, NULL, &import);

	if (rc != 0)
		return rc;
	for (size_t i = 0; i < strlen(rows) && rc == 0; i += 100)
		rc = wcs_import_write(import, rows + i,
				      strlen(rows) - i < 100 ? strlen(rows) - i : 100, NULL);
	if (rc == 0)
		rc = wcs_import_finish(import, NULL);
	wcs_import_free(import);
	return rc;
}

static int export(struct calls *calls, const char *key, enum wcs_export_kind kind)
{
	struct wcs_slice slice = suite_text(key);
	struct wcs_export *rows;
	static char buf[1000];
	size_t got = 0;
	int rc = wcs_export_open(calls->suite.table, &slice, kind, NULL, &rows);

	if (rc != 0)
		return rc;
	do {
		rc = wcs_export_read(rows, buf, sizeof(buf), &got);
		if (rc == 0)
			calls_out(calls, buf, got);
	} while (rc == 0 && got > 0);
	wcs_export_close(rows);
	return rc;
}

static int run_export(struct calls *calls)
{
	return export(calls, "t", WCS_EXPORT_ROWS);
}

static int run_export_keys(struct calls *calls)
{
	return export(calls, "r", WCS_EXPORT_KEYS);
}

/* Its end is all that is looked at of the large value. */
static int run_export_big(struct calls *calls)
{
	int rc = export(calls, "r#s", WCS_EXPORT_ROW);

	if (rc == 0 && calls->out_len > CALLS_BIG)
		strcpy(calls->out, calls->out + calls->out_len - 6);
	return rc;
}

static int run_line(struct calls *calls)
{
	static const char row[] = "{\"key\":\"r\",\"families\":{\"a\":{\"q\":\"v\",\"%2e\":1}}}";
	struct wcs_fault fault;
	struct wcs_line *line = NULL;
	int rc = wcs_line_parse(row, strlen(row), NULL, &line, &fault);

	wcs_line_free(line);
	if (rc != -EINVAL)
		return rc;
	calls_out_text(calls, fault.text);
	return 0;
}

static int run_text(struct calls *calls)
{
	char *words = wcs_text_encode(suite_text("a%\n"));

	if (words)
		calls_out_text(calls, words);
	free(words);
	return words ? 0 : -ENOMEM;
}

/* ---- All of them ------------------------------------------------------------------------- */

const struct call calls_text[] = {
	{.name = "import",
	 .run = run_import,
	 .content = "r/a/\\00@4=\\00\\01 r/a/p@1000000=text r/a/q@1000000=new+ r/a/q@2=new "
		    "r/h/e@1=\\01\\00AQT\\81 r/s/n@1=\\00\\00\\00\\00\\00\\00\\00\\06 " CALLS_REST,
	 .least = 20},
	{.name = "export",
	 .run = run_export,
	 .out = "{\"key\":\"t#1\",\"families\":{\"a\":{\"q\":[{\"ts\":1,\"value\":\"v\"}]}}}\n"
		"{\"key\":\"t#2\",\"families\":{\"a\":{\"q\":[{\"ts\":1,\"value\":\"v\"}]}}}\n",
	 .least = 3},
	{.name = "export_keys", .run = run_export_keys, .out = "r\nr#s\n", .least = 2},
	{.name = "export_big", .run = run_export_big, .out = "}]}}}\n", .least = 3},
	{.name = "line", .run = run_line, .least = 4},
	{.name = "text", .run = run_text, .out = "a%25%0A ", .least = 1},
	{.name = NULL},
};
