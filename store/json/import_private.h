/* SPDX-License-Identifier: MIT */
/* Shared by import.c and import_fail.c. */
#ifndef WCS_IMPORT_PRIVATE_H
#define WCS_IMPORT_PRIVATE_H

#include "store/backend.h"

enum { IMPORT_ROWS = 512 }; /* the most that wait */

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
	uint64_t line; /* number of the last line, from 1 */
	uint64_t applied;
	int rc; /* 0: none yet */
	struct wcs_fault fault;
	size_t waiting, bytes; /* rows, and the length of their text */
	struct import_row rows[IMPORT_ROWS];
	struct wcs_entry entries[IMPORT_ROWS];
};

/* Sets the error of the import and its fault; returns it. number: of the line. */
int import_fail(struct wcs_import *import, uint64_t number, int rc, const char *why);
/* As import_fail, with the reason for which wcs_rows_mutate refused the row. */
int import_fail_row(struct wcs_import *import, const struct import_row *row, int rc);

#endif
