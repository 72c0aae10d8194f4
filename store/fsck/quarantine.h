/* SPDX-License-Identifier: MIT */
/*
 * Where a repair puts what it takes out of a store: a directory that is made when it is first
 * needed. docs/format.md describes its files. Private to store/. One thread at a time.
 */
#ifndef WCS_QUARANTINE_H
#define WCS_QUARANTINE_H

#include "store/store.h"

struct wcs_quarantine;

/* A large value, in pieces: as wcs_value_read. */
struct wcs_quarantine_value {
	int (*read)(void *ctx, void *buf, size_t len, uint64_t offset, size_t *got);
	void *ctx;
};

/* path: of the directory, which must not exist, or be empty. fault, which outlives it, says what
 * fails. NULL: no memory. */
struct wcs_quarantine *wcs_quarantine_new(const char *path, struct wcs_fault *fault);
/* go_on is asked before each piece of a file that is copied: bytes so far, and in all. False ends
 * it with -ECANCELED; the caller of what copies fills the fault. */
void wcs_quarantine_ask(struct wcs_quarantine *quarantine,
			bool (*go_on)(void *ctx, uint64_t done, uint64_t total), void *ctx);
/* What was put into it and not synced may be lost. */
void wcs_quarantine_free(struct wcs_quarantine *quarantine);
/* Was the directory made? */
bool wcs_quarantine_used(const struct wcs_quarantine *quarantine);

/* The calls below return 0, -ENOSPC, -EIO or -ENOMEM, with the fault filled. */

/* The line of the schema that rows are of; must come before the first of them. Takes the line. */
void wcs_quarantine_schema(struct wcs_quarantine *quarantine, char *line);
/* Another one, for rows that follow. */
int wcs_quarantine_more_schema(struct wcs_quarantine *quarantine, const char *line);
/* A cell, as row JSON. Its value comes with it where it is small. A value that cannot be read:
 * what the reader gave, and one that is none of its type: -EIO; nothing of the cell is kept then.
 */
int wcs_quarantine_cell(struct wcs_quarantine *quarantine, const char *table, enum wcs_type type,
			const struct wcs_cell *cell, const struct wcs_quarantine_value *value);
/* A key of the engine's and its value, as they are. why: a few words. */
int wcs_quarantine_raw(struct wcs_quarantine *quarantine, const char *why, struct wcs_slice key,
		       struct wcs_slice value);
/* Copies a file of the directory that dir is open on; holes stay holes. -ENOSPC before anything of
 * it is written, if the medium has no room for it. */
int wcs_quarantine_file(struct wcs_quarantine *quarantine, int dir, const char *name);
/* The same of a directory of it, with all that is in it. */
int wcs_quarantine_directory(struct wcs_quarantine *quarantine, int dir, const char *name);
/* Copies the store's whole directory. more: so many bytes have to be left then. */
int wcs_quarantine_store(struct wcs_quarantine *quarantine, const char *store, uint64_t more);
/* Makes all of it durable; only then may it go from the store. */
int wcs_quarantine_sync(struct wcs_quarantine *quarantine);

#endif
