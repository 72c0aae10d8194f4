/* SPDX-License-Identifier: MIT */
/* Rows from text: what the files of import*.c share. Private to them. */
#ifndef WCS_IMPORT_PRIVATE_H
#define WCS_IMPORT_PRIVATE_H

#include "store/backend.h"

enum { IMPORT_ROWS = 512 }; /* that wait at most */

struct import_row {
	struct wcs_line *line;
	uint64_t number;
};

struct wcs_import {
	struct wcs_table *table;
	struct wcs_import_options options; /* key points to the one below */
	struct wcs_slice key;
	unsigned char delimiter;
	char *text; /* the unfinished line */
	size_t len, room;
	uint64_t line; /* number of the last line that was taken */
	uint64_t applied;
	int error; /* 0: none yet */
	struct wcs_fault fault;
	size_t waiting, bytes; /* rows, and the length of their text */
	struct import_row rows[IMPORT_ROWS];
	struct wcs_entry entries[IMPORT_ROWS];
};

/* ---- import_fail.c: what is wrong, in words ---- */

/* The import's error is that from now on; returns it. number: of the line that it belongs to. */
int import_fail(struct wcs_import *import, uint64_t number, int error, const char *why);
/* The same, in words for what wcs_rows_mutate said of a row. */
int import_fail_row(struct wcs_import *import, const struct import_row *row, int error);

#endif
