/* SPDX-License-Identifier: MIT */
/*
 * Rows as text, in and out: lines of row JSON, imports, exports, and the spelling of keys. Errors,
 * threads and ownership as in store.h.
 */
#ifndef WCS_ROWS_H
#define WCS_ROWS_H

#include "store/store.h"

/*
 * A row object in JSON: {"key":K,"families":{F:{Q:[{"ts":T,"value":V},…]}}}; K and Q are text with
 * %XX for '%', control bytes and what is not UTF-8; "base64" instead of "value" for any bytes; a
 * cell may be just "text" (the server's timestamp). A value of an integer aggregate is a number, or
 * its digits in quotes; an inthll has "state" in base64, which is merged. "delete",
 * "append", "increment" and "if" as in docs/semantics.md. A line {"table":T} names the table of
 * those that follow.
 */
enum wcs_line_kind { WCS_LINE_ROW, WCS_LINE_TABLE, WCS_LINE_SCHEMA };
struct wcs_line {
	enum wcs_line_kind kind;
	const char *table;	       /* of a table line */
	struct wcs_schema *schema;     /* of a schema line */
	struct wcs_slice key;	       /* of a row; data NULL: its object has no key */
	struct wcs_mutation *mutation; /* of a row */
	char digits[24];	       /* of wcs_line_cell */
};

/* How lines of rows are read. */
struct wcs_line_form {
	const struct wcs_keys *keys; /* the design of their table; NULL: it is plain */
	unsigned char delimiter; /* of a plain table, whose keys may have "%="; 0: they may not */
	size_t memory;		 /* bytes in which a row is read, then -EFBIG; 0: any */
};

/*
 * Parses one line (len bytes without its newline). *line is NULL, or an older line, whose content
 * is replaced and whose memory is used again; free a large line instead. The row lies partly in
 * the text, which must stay until the line is freed or used again. -EINVAL, -EOVERFLOW (an integer
 * beyond 64 bits), -ENAMETOOLONG, -EFBIG, -ENOMEM: fault has the reason; after an error an older
 * line is empty and still the caller's. Families are not looked up here.
 * form NULL: all zero.
 */
int wcs_line_parse(const char *text, size_t len, const struct wcs_line_form *form,
		   struct wcs_line **line, struct wcs_fault *fault);
/* Makes a row line without entries, of an older line if *line is one. Returns len bytes that the
 * line owns; NULL: no memory. */
unsigned char *wcs_line_empty(struct wcs_line **line, size_t len);
void wcs_line_free(struct wcs_line *line);
/* Sets *cell to number i, from 0, of the cells that a row line sets: differs is WCS_PART_ROW of the
 * first, else WCS_PART_FAMILY; an integer is its digits, until the next call, and 8 bytes of
 * info.size. False: there are no more. */
bool wcs_line_cell(struct wcs_line *line, size_t i, struct wcs_cell *cell);

/*
 * Rows from text: lines of row JSON, and {"table":T} lines, which must name this table; blank
 * lines are skipped. Each row is one atomic mutation; those of one wcs_import_write are batched
 * underneath and applied before it returns. A bad line stops it: those before it are applied, it
 * and those behind it are not, and each later call gives its error.
 */
#define WCS_IMPORT_LINE_MAX  ((size_t)256 << 20) /* bytes, where the options name no other */
#define WCS_IMPORT_LINE_MOST ((size_t)1 << 30)	 /* that they may name; no export has more */
/* Bytes of all unfinished lines of the process that take more than 1 MiB each. */
#define WCS_IMPORT_UNFINISHED ((size_t)1 << 30)

struct wcs_import;
struct wcs_import_options {
	const struct wcs_slice *key; /* only this row and those below it; NULL: any row */
	bool row;		     /* only that row; a row object may leave out its key */
	size_t line_max;	     /* bytes of a line, in MiB; 0: WCS_IMPORT_LINE_MAX */
	size_t memory;		     /* of struct wcs_line_form */
	/* After the row's mutation is applied and before the call returns; NULL: none. */
	void (*applied)(void *ctx, struct wcs_slice row);
	/* Takes the lines that are no rows, when all before them is applied; NULL: as above.
	 * *table is the table of the rows that follow, which it may replace. */
	int (*other)(void *ctx, const struct wcs_line *line, struct wcs_table **table,
		     struct wcs_fault *fault);
	void *ctx;
};
/* table may be NULL where options->other gives one, but not with a key. options (NULL: none) and
 * key are copied. -EINVAL: options->row without a key, or a line_max that is too large. */
int wcs_import_new(struct wcs_table *table, const struct wcs_import_options *options,
		   struct wcs_import **import);
/*
 * The next bytes, any number. -EINVAL: no JSON, no such family, a wrong member or type, a key that
 * is not below options->key; -EOVERFLOW; -ENAMETOOLONG; -EFBIG: a value or the line; and what
 * wcs_row_mutate gives. fault->line is the number of the bad line, from 1; the text has the reason
 * and ends in " (N lines applied before it)".
 */
int wcs_import_write(struct wcs_import *import, const void *data, size_t len,
		     struct wcs_fault *fault);
/* Takes the last line, if it has no newline, and applies all rows that wait. */
int wcs_import_finish(struct wcs_import *import, struct wcs_fault *fault);
/* Forgets the unfinished line. */
void wcs_import_cancel(struct wcs_import *import);
/*
 * A row of these cells, all of one row, in place of text; line is the number that a fault gets.
 * Key and values are copied; families end in NUL, and they and qualifiers must stay until
 * wcs_import_finish. Rows wait for those behind them, and wcs_import_finish applies all. Errors as
 * of wcs_import_write, which may be of an earlier row.
 */
int wcs_import_row(struct wcs_import *import, const struct wcs_cell *cells, size_t count,
		   uint64_t line, struct wcs_fault *fault);
/* Forgets an error: the rows behind the wrong one may be given again. */
void wcs_import_resume(struct wcs_import *import);
/* How many rows are applied so far. */
uint64_t wcs_import_lines(const struct wcs_import *import);
/* Their cells with timestamps from 10^8 to 10^14 (struct wcs_stats, cells_old). */
uint64_t wcs_import_old(const struct wcs_import *import);
void wcs_import_free(struct wcs_import *import);

/* Spells the bytes of a key or qualifier as that text: %XX (upper-case hex) for '%', 00-1F, 7F and
 * every byte that is not part of valid UTF-8. One spelling for the same bytes. The caller frees it;
 * NULL: no memory. */
char *wcs_text_encode(struct wcs_slice bytes);
/* Writes that text, without a NUL, into room for three times the bytes. Returns its length. */
size_t wcs_text_spell(struct wcs_slice bytes, char *text);

/* The reverse; takes an escape of any byte, and other bytes as they are. out has room for len
 * bytes, and may be text. -EINVAL: a '%' without two upper-case hex digits behind it. */
int wcs_text_decode(const char *text, size_t len, unsigned char *out, size_t *out_len);

/* Writes groups of three bytes as base64, four characters each. Returns their end. */
unsigned char *wcs_text_base64(unsigned char *to, const unsigned char *from, size_t groups);

/* Reads base64 of the standard alphabet, padded, without spaces, unused bits zero. out has room
 * for len / 4 * 3 bytes, and may be text. -EINVAL: something else. */
int wcs_text_base64_decode(const char *text, size_t len, unsigned char *out, size_t *out_len);

/* Text that grows; all zero is empty, and its owner frees bytes. */
struct wcs_text {
	char *bytes;
	size_t len, room;
};
/* Adds a line of row JSON that sets these cells, all of one row and sorted; without the timestamp
 * where that is WCS_TS_SERVER. Each has its value, and `differs` from the cell before. -ENOMEM:
 * nothing is added. keys: of their table; NULL: it is plain. */
int wcs_text_row(struct wcs_text *text, const struct wcs_keys *keys, const struct wcs_cell *cells,
		 size_t count);

/*
 * A line of a feed: a committed change of one row as row JSON, with its key, "ts" (the time of the
 * commit), "delete" and "families"; or any text. Immutable and counted; any thread. A line has the
 * deletes and the cells that the commit made, each with its timestamp: applied to a copy of the
 * table as it was before, it makes the same cells, and applied again it changes nothing. A value
 * over WCS_VALUE_INLINE is no part of its memory, but keeps its space on the medium.
 */
struct wcs_change;
/* A line of that text, newline included, which is about that key (data NULL: none). NULL: no
 * memory. */
struct wcs_change *wcs_change_text(struct wcs_slice key, const char *text, size_t len);
/* Takes a reference, and returns change; releases one (NULL: none). */
struct wcs_change *wcs_change_hold(struct wcs_change *change);
void wcs_change_free(struct wcs_change *change);
struct wcs_slice wcs_change_key(const struct wcs_change *change);
/* The bytes that it keeps, in memory and on the medium. */
uint64_t wcs_change_size(const struct wcs_change *change);

/* Reads the text of lines in constant memory. One thread at a time. NULL: no memory. */
struct wcs_change_reader;
struct wcs_change_reader *wcs_change_reader_new(void);
void wcs_change_reader_free(struct wcs_change_reader *reader);
/* Begins a line, whose reference it takes over. */
void wcs_change_begin(struct wcs_change_reader *reader, struct wcs_change *change);
/* Copies its next bytes; *got is 0 only at its end. After an error the line cannot go on. */
int wcs_change_read(struct wcs_change_reader *reader, void *buf, size_t len, size_t *got);

/*
 * Calls changed for each mutation and move in the table that a call of this process commits from
 * here on, for the changes of one row in their order. The callback takes over the change; NULL:
 * there was no memory for it, its values could not be read, or without those over WCS_VALUE_INLINE
 * it has more than 64 MiB. It holds up the commit, whose rows
 * are locked: it must be short, and may call nothing of the store but wcs_change_hold and
 * wcs_change_free. The collector's deletes and drops are no changes. watch, one for a table, stays
 * valid until the store is closed; NULL ends it, but for calls under way.
 */
struct wcs_watch {
	void (*changed)(void *ctx, const struct wcs_table *table, struct wcs_change *change);
	void *ctx;
};
void wcs_table_watch(struct wcs_table *table, const struct wcs_watch *watch);

/* The content of a stream of rows as text. */
enum wcs_export_kind {
	WCS_EXPORT_ROWS, /* a row object a line, keys ascending; a line of more bytes than
			  * WCS_EXPORT_LINE_MAX ends before the row's next cell, and the row goes on
			  * in another one, with its key */
	WCS_EXPORT_KEYS, /* the row keys, one a line: the same text, without JSON around it */
	WCS_EXPORT_ROW,	 /* the row object of just the row `key`; nothing where there is none */
	WCS_EXPORT_LOOK, /* WCS_EXPORT_ROW to learn the length: no traffic (heat/heat.h); -EFBIG in
			  * place of a cell with which the values have more than WCS_EXPORT_LOOK_MAX
			  */
	WCS_EXPORT_CELLS /* no text, but the newest cell of each column, for wcs_export_cell */
};
#define WCS_EXPORT_LOOK_MAX ((size_t)64 << 10) /* bytes */

/*
 * Rows as text: those of the table (key NULL), or the row of that key and all below it, whose keys
 * start with it and the delimiter, as far as the chain (NULL: none; chain.h) shows them, in its
 * order and of one moment, that of the call. One spelling: the same cells give the same bytes.
 * Memory is constant, whatever the sizes of rows and values, which are read as they are asked for.
 * Like a scan it holds resources of the engine and belongs to one thread at a time. -EINVAL,
 * -ENAMETOOLONG: key.
 */
#define WCS_EXPORT_LINE_MAX ((size_t)128 << 20) /* bytes */

struct wcs_export;
int wcs_export_open(struct wcs_table *table, const struct wcs_slice *key, enum wcs_export_kind kind,
		    struct wcs_chain *chain, struct wcs_export **exported);
/* Copies the next len bytes into buf, fewer only at the end, where *got is 0. The bytes before an
 * error come first; then every call returns the error. */
int wcs_export_read(struct wcs_export *exported, void *buf, size_t len, size_t *got);
/* The cells of WCS_EXPORT_CELLS, as wcs_scan_next and wcs_scan_read give them. */
int wcs_export_cell(struct wcs_export *exported, struct wcs_cell *cell);
int wcs_export_value(struct wcs_export *exported, void *buf, size_t len, uint64_t offset,
		     size_t *got);
void wcs_export_close(struct wcs_export *exported);

#endif
