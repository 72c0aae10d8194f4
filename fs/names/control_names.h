/* SPDX-License-Identifier: MIT */
/*
 * The control files, a row for each. The kinds (enum control), the names in their directories
 * (spell.c), the functions (fs/control/control_kind.c), /.rowfs/help and the completion of shells
 * are made of these rows.
 *
 *     file(KIND, directories, name, reader, writer, text, size, help)
 *     directory(KIND of node, directories, name, name in the help, help)
 *
 * directories: the kinds of directories that have it (spell.c); VIEWED: also in views. They are in
 * the order of a listing. help: lines without an indent.
 */
#ifndef FS_CONTROL_NAMES_H
#define FS_CONTROL_NAMES_H

/* clang-format off */
#define CONTROL_NAMES(file, directory)                                                             \
	file(ADVICE, ROWFS, "advice", &control_text_reader, NULL, &control_info, CONTROL_DRAWN,    \
	     "faults in the design of the tables, with an action for each")                        \
	file(FINDINGS, ROWFS, "advice.json", &control_text_reader, NULL, &control_info,            \
	     CONTROL_DRAWN, "the same, a line of JSON for each")                                   \
	file(ENGINE, ROWFS, "engine", &control_text_reader, NULL, &control_info, CONTROL_EXACT,    \
	     "statistics of the engine")                                                           \
	file(ERRORS, ROWFS, "errors", &control_text_reader, NULL, &control_info, CONTROL_EXACT,    \
	     "the last 1,000 errors: time, path, line, reason")                                    \
	file(COLLECTOR, ROWFS, "gc", &control_text_reader, &control_lines_writer, &control_gc,     \
	     CONTROL_EXACT,                                                                        \
	     "read:  what garbage collection does and did, JSON\n"                                 \
	     "write: run (at once; returns when done), pause, resume")                             \
	file(HELP, ROWFS, "help", &control_text_reader, NULL, &control_info, CONTROL_EXACT,        \
	     "this")                                                                               \
	directory(KEYVIS, ROWFS, "keyvis", "keyvis/",                                              \
	     "keyvis/T: the heat map of table T, a file for each metric (ops, reads,\n"            \
	     "writes, bytes, latency) and format (txt, ansi, ansi24, svg, html, json,\n"           \
	     "tsv), of the last 6 hours; keyvis/T/6h, 4d, 28d: of these times")                    \
	file(METRICS, ROWFS, "metrics", &control_text_reader, NULL, &control_info, CONTROL_EXACT,  \
	     "what the mount counts, in the text format of Prometheus")                            \
	file(SCHEMA, ROWFS, "schema.json", &control_text_reader, &control_lines_writer,            \
	     &control_schema, CONTROL_EXACT,                                                       \
	     "read:  the whole schema\n"                                                           \
	     "write: adds what is missing, sets policies, removes nothing")                        \
	file(TRACE, ROWFS, "trace", NULL, NULL, NULL, CONTROL_STREAM,                              \
	     "waits for requests: a line of JSON for each; not listed")                            \
	file(VERSION, ROWFS, "version", &control_text_reader, NULL, &control_info, CONTROL_EXACT,  \
	     "the versions")                                                                       \
	file(FAMILY_DROP, POLICIES, "drop", &control_text_reader, &control_lines_writer,           \
	     &control_drop, CONTROL_FIXED,                                                         \
	     "read:  JSON: table, family, rows, cells, bytes\n"                                    \
	     "write: the family's name drops its cells in all rows")                               \
	directory(EXPLAIN, POLICIES, "explain", "explain/POLICY",                                  \
	     "how many rows, cells and bytes this policy would hide, JSON; not listed")            \
	file(POLICY, POLICIES, "gc", &control_text_reader, &control_lines_writer, &control_policy, \
	     CONTROL_EXACT,                                                                        \
	     "the policy, read and set: never, maxversions=N, maxage=N(ms|s|m|h|d),\n"             \
	     "joined by and, or and parentheses")                                                  \
	file(TYPE, POLICIES, "type", &control_text_reader, &control_lines_writer, &control_type,   \
	     CONTROL_EXACT, "the type, read and set (while the family is empty)")                  \
	file(CHANGES, TABLE | PREFIX | VIEWED, ".changes", NULL, NULL, NULL, CONTROL_STREAM,       \
	     "waits for changes of these rows: a line of row JSON for each")                       \
	file(COUNT, TABLE | PREFIX | VIEWED, ".count", &control_text_reader, NULL, &control_drop,  \
	     CONTROL_FIXED, "JSON: how many rows and cells they are, and the bytes of their values") \
	file(DELIMITER, TABLE, ".delimiter", &control_text_reader, &control_lines_writer,          \
	     &control_delimiter, CONTROL_EXACT,                                                    \
	     "the byte that separates segments, read and set (while the table is empty)")          \
	file(DESIGN, TABLE, ".design", &control_text_reader, &control_lines_writer,                \
	     &control_design, CONTROL_EXACT,                                                       \
	     "the key design, JSON, read and set (while the table is empty): codecs of\n"          \
	     "segments and a salt, {\"segments\":[\"a\",{\"name\":N,\"codec\":C},...],\n"          \
	     "\"salt\":{\"buckets\":N,\"segments\":K}}; {} is none.\n"                             \
	     "%=BYTES in a name: the stored bytes of a segment that its codec does not\n"          \
	     "show. ls -U lists in the order of the stored keys; ls alone sorts by\n"              \
	     "name. C is")                                                                         \
	file(DROP, TABLE | PREFIX, ".drop", &control_text_reader, &control_lines_writer,           \
	     &control_drop, CONTROL_FIXED,                                                         \
	     "read:  JSON: table, prefix, rows, bytes\n"                                           \
	     "write: that prefix (of a table: its name) drops them all; in a table T\n"            \
	     "also: table T, with its families and itself")                                        \
	file(KEYS, TABLE | PREFIX | VIEWED, ".keys", &control_stream_reader, NULL, NULL,           \
	     CONTROL_STREAM, "read:  their row keys, one a line")                                  \
	file(PROTECTED, TABLE, ".protected", &control_text_reader, &control_lines_writer,          \
	     &control_protected, CONTROL_EXACT,                                                    \
	     "1 or 0, read and set: 1 refuses drops, removing the table or a family,\n"            \
	     "policies that hide more than before, and mkfs.rowfs --force")                        \
	file(ROW, PREFIX | VIEWED, ".row", &control_stream_reader, &control_rows_writer,           \
	     &control_row, CONTROL_EXACT,                                                          \
	     "read:  this row, JSON; nothing if there is none\n"                                   \
	     "write: changes this row; \"key\" may be left out")                                   \
	file(ROWS, TABLE | PREFIX | VIEWED, ".rows", &control_stream_reader, &control_rows_writer, \
	     NULL, CONTROL_STREAM,                                                                 \
	     "read:  every row at or below, a JSON object a line, in the order of keys\n"          \
	     "write: each line changes one row, which must be at or below")                        \
	file(SPLITS, TABLE | PREFIX | VIEWED, ".splits", &control_text_reader, NULL,               \
	     &control_splits, CONTROL_EXACT,                                                       \
	     "up to 100 keys that divide the directory into parts of about equal size")
/* clang-format on */

/* The control files; EXPLAIN: T/.families/F/explain/POLICY; HEAT: the pictures of heat maps,
 * /.rowfs/keyvis/T/ops.txt, 4d/ops.txt. */
#define CONTROL_NAMES_KIND(kind, ...) CONTROL_##kind,
#define CONTROL_NAMES_NONE(...)
enum control {
	CONTROL_NAMES(CONTROL_NAMES_KIND, CONTROL_NAMES_NONE) CONTROL_EXPLAIN,
	CONTROL_HEAT
};

#endif
