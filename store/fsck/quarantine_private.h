/* SPDX-License-Identifier: MIT */
/* Shared by quarantine.c and quarantine_copy.c only. */
#ifndef WCS_QUARANTINE_PRIVATE_H
#define WCS_QUARANTINE_PRIVATE_H

#include <stdio.h>

#include "store/fsck/quarantine.h"
#include "store/json/row_json_write.h"

#define QUARANTINE_ROWS	 "rows.json"
#define QUARANTINE_RAW	 "raw.json"
#define QUARANTINE_FILES "files"
#define QUARANTINE_STORE "store"
#define QUARANTINE_PIECE (64u << 10) /* of a large value at a time */
#define QUARANTINE_ROOM	 (WCS_ROW_WRITE_HEAD + WCS_ROW_WRITE_VALUE(QUARANTINE_PIECE) + 64u)

struct wcs_quarantine {
	char *path;
	struct wcs_fault *fault;
	bool (*go_on)(void *ctx, uint64_t done, uint64_t total); /* may be NULL */
	void *ctx;
	int dir;      /* -1: not made yet */
	bool durable; /* its names are */
	FILE *rows, *raw;
	char *schema;			    /* the first line of rows */
	char table[WCS_TABLE_NAME_MAX + 1]; /* of the last rows; "": none */
	unsigned char *piece;
	struct wcs_row_writer writer;
	struct wcs_slice last[WCS_PART_TS]; /* row, family, qualifier of the last cell written */
	unsigned char last_bytes[WCS_ROW_KEY_MAX + WCS_FAMILY_NAME_MAX + WCS_QUALIFIER_MAX];
	unsigned char room[QUARANTINE_ROOM];
};

/* Makes the directory. */
int quarantine_make(struct wcs_quarantine *quarantine);
/* Fills the fault; name: of a file in the directory, or ""; error: an errno, 0 is EIO. Returns the
 * error of store.h. */
int quarantine_fail(struct wcs_quarantine *quarantine, const char *name, int error);
/* Makes the names in the directory, and its own, durable. */
int quarantine_sync_place(struct wcs_quarantine *quarantine);

#endif
