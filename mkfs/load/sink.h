/* SPDX-License-Identifier: MIT */
/*
 * A sink applies the lines of rowfs-load, rows, tables and schemas, to a store or to a directory of
 * a mount.
 */
#ifndef SINK_H
#define SINK_H

#include <stdint.h>

#include "mkfs/base/program.h"
#include "mkfs/text/csv_rows.h"

struct mounted;

struct sink {
	const struct sink_kind *kind;
	uint64_t lines;			    /* given to write before the present call */
	uint64_t rows;			    /* applied so far */
	char table[WCS_TABLE_NAME_MAX + 1]; /* of the last table line; empty: none */
	size_t line_max;		    /* bytes of a line */
	struct wcs_schema *schema;	    /* as it was read; NULL: not yet */
	const struct wcs_keys *keys;	    /* of the table of rows of CSV; NULL: it is plain */
	unsigned char delimiter;	    /* of that table */
	bool no_schema;			    /* lines of schemas are skipped */
	/* Set by a failing call. */
	uint64_t failed; /* number of the bad line, from 1; 0: none in particular */
	bool least;	 /* more rows than `rows` may be applied */
	char why[512];	 /* the reason, without the number of applied lines */
};

struct sink_kind {
	/* Applies whole lines; only the last of the input may lack its newline. Lines and rows may
	 * wait, so that a failure may be one of an earlier call. After it the lines before the
	 * failed one are applied, and no line may follow. */
	int (*write)(struct sink *sink, const char *text, size_t len);
	/* Applies a row of CSV; `failed` is then the line of a row. After a failure rows may
	 * follow: those that waited are given again. */
	int (*row)(struct sink *sink, const struct csv_row *row);
	/* Applies the lines and rows that wait. */
	int (*finish)(struct sink *sink);
	/* Returns when all applied lines survive a power cut. A failure sets only why. */
	int (*sync)(struct sink *sink);
	/* The number of cells written; *old: with timestamps before 1973 (struct wcs_stats). Into a
	 * mount also by other processes. */
	uint64_t (*cells)(struct sink *sink, uint64_t *old);
	/* Reads the store's schema. A failure sets only why. */
	int (*schema)(struct sink *sink, struct wcs_schema **schema);
	void (*close)(struct sink *sink);
};

/* Opens a store, or a directory of a mount. The caller closes the sink, and frees mounted after it.
 * PROGRAM_FAILED: the reason is printed. */
int sink_store_open(const struct program *program, const char *path, struct sink **sink);
int sink_mount_open(const struct program *program, const struct mounted *mounted,
		    struct sink **sink);

/* Fills why, printf-like; failed stays as it is. Returns error. */
int sink_fail(struct sink *sink, int rc, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Fills why with a reason of a store or a mount, which may end in the number of lines that one
 * import applied: that is removed. Returns rc. */
int sink_fail_import(struct sink *sink, int rc, const char *why);

/* Sets keys and delimiter to those of that table, which may be missing. A failure sets only why. */
int sink_design(struct sink *sink, const char *table);

/* Removes the designs of tables that exist from the schema of a line: such a table keeps its own.
 * Sets *removed if there were any. A failure sets only why. */
int sink_keep_designs(struct sink *sink, struct wcs_schema *schema, bool *removed);

/* Has the table the family? -ENOENT: no, and why lists its families. */
int sink_family(struct sink *sink, const char *table, const char *family);

#endif
