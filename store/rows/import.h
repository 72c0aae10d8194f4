/* SPDX-License-Identifier: MIT */
/* An import: lines of text become rows (import.c), which wait in groups (import_rows.c). Private to
 * store/json. */
#ifndef WCS_IMPORT_H
#define WCS_IMPORT_H

#include <pthread.h>

#include "store/rows.h"

enum {
	IMPORT_ROWS = 512,	  /* the most in a group */
	IMPORT_BYTES = 128 << 10, /* of a group's text: a row that reaches it ends the group */
};

/* A row that waits. */
struct import_row {
	struct wcs_line *line; /* or an older one, for its memory; NULL: none yet */
	uint64_t number;       /* of the line */
	size_t bytes;	       /* of its text */
};

struct import_group {
	struct wcs_table *table;
	size_t count, bytes;
	size_t lines;	/* rows from the start on that may keep a line */
	size_t applied; /* set with rc, when the group is applied */
	int rc;
	struct import_row rows[IMPORT_ROWS];
	struct wcs_entry entries[IMPORT_ROWS];
};

struct wcs_import {
	struct wcs_table *table;
	struct wcs_import_options options; /* key points to the one below */
	struct wcs_slice key;
	char *text; /* the unfinished line */
	size_t len, room;
	uint64_t line; /* number of the last line, from 1 */
	uint64_t applied;
	uint64_t old; /* cells of these, see wcs_import_old */
	int rc;	      /* 0: no error yet */
	struct wcs_fault fault;
	struct import_group *filling, *given; /* given: to the thread; NULL: none */
	struct import_group groups[2];
	pthread_mutex_t
		lock; /* guards busy and ending; the thread has the given group while busy */
	pthread_cond_t changed;
	pthread_t thread;
	bool threaded, busy, ending;
	unsigned char key_bytes[];
};

/* Sets the error of the import and its fault; returns it. number: of the line. */
int import_fail(struct wcs_import *import, uint64_t number, int rc, const char *why);

/* Adds a row, whose entry and import_row at the group's end are set. bytes: about how long it is.
 * The error may be that of an earlier row. */
int import_add(struct wcs_import *import, size_t bytes);

/* Applies the waiting rows, then fails with the fault of the present line. */
int import_refuse(struct wcs_import *import, int rc, struct wcs_fault *fault);

/* Applies all rows that wait. */
int import_flush(struct wcs_import *import);

/* No row waits: ends the thread, and frees the lines that are kept for their memory. */
void import_rest(struct wcs_import *import);

/* Frees what rows left, and forgets those that wait. */
void import_rows_free(struct wcs_import *import);

#endif
