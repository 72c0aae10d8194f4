/* SPDX-License-Identifier: MIT */
/*
 * The quarantine: a directory to which a repair moves parts of a store. It is made when it is first
 * needed; docs/format.md describes its files. Private to store/. One thread at a time.
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

/* path: of the directory, which must not exist, or be empty. A copy calls go_on, if not NULL, for
 * each piece of a file, with the bytes so far and in all; if that returns false, it has filled the
 * fault, and the copy ends with -ECANCELED. fault outlives the quarantine; failed calls fill it.
 * NULL: no memory. */
struct wcs_quarantine *wcs_quarantine_new(const char *path,
					  bool (*go_on)(void *ctx, uint64_t done, uint64_t total),
					  void *ctx, struct wcs_fault *fault);
/* Closes it. Parts that were not synced may be lost. */
void wcs_quarantine_free(struct wcs_quarantine *quarantine);
/* Was the directory made? */
bool wcs_quarantine_used(const struct wcs_quarantine *quarantine);

/* The calls below return 0, -ENOSPC, -EIO or -ENOMEM, with the fault filled. */

/* Sets the schema line of the rows, before the first of them. Takes ownership of the line. */
void wcs_quarantine_schema(struct wcs_quarantine *quarantine, char *line);
/* Adds a schema line for the rows that follow. */
int wcs_quarantine_more_schema(struct wcs_quarantine *quarantine, const char *line);
/* Adds a cell, as row JSON, whose key is shown as the table's design says (NULL: it has none). A
 * small value is in the cell; a large one is read. 1: it cannot be read (-EIO, no bytes) or is not
 * of the type. After that, or an error, nothing of the cell is left. */
int wcs_quarantine_cell(struct wcs_quarantine *quarantine, const char *table,
			const struct wcs_keys *keys, enum wcs_type type,
			const struct wcs_cell *cell, const struct wcs_quarantine_value *value);
/* Adds a key of the engine's and its value, as they are. why: a few words. */
int wcs_quarantine_raw(struct wcs_quarantine *quarantine, const char *why, struct wcs_slice key,
		       struct wcs_slice value);
/* Copies a file of the directory that dir is open on; holes stay holes. -ENOSPC before the copy is
 * begun, if the medium has no room for it. */
int wcs_quarantine_file(struct wcs_quarantine *quarantine, int dir, const char *name);
/* Copies a directory of it, with all that is in it. */
int wcs_quarantine_directory(struct wcs_quarantine *quarantine, int dir, const char *name);
/* Copies the store's whole directory, if `more` bytes stay free then. */
int wcs_quarantine_store(struct wcs_quarantine *quarantine, const char *store, uint64_t more);
/* Makes all of it durable. Only then may the repair remove the parts from the store. */
int wcs_quarantine_sync(struct wcs_quarantine *quarantine);

#endif
