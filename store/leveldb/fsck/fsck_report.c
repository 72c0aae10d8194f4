/* SPDX-License-Identifier: MIT */
/* Reports findings, and writes the corrections. */
#include "store/leveldb/fsck/fsck_keys.h"

#include <stdio.h>

#include "store/keys/keys.h"

enum { REPORT_KEY_SHOWN = 40 /* bytes */, REPORT_LOOKS = 1024 /* keys between reports */ };

#define REPORT_BATCH (1u << 20) /* bytes */

/* ---- Reports ----------------------------------------------------------------------------- */

int ldb_fsck_found(struct ldb_fsck *f, enum wcs_found kind, const char *what, const char *done,
		   const char *place)
{
	if (!f->repairs && f->fsck->options->repair) {
		int rc = wcs_fsck_agreed(f->fsck)
				 ? LDB_FSCK_REPAIR
				 : wcs_fsck_progress(f->fsck, "keys", f->looked, 0);

		if (rc) /* -ECANCELED, if the answer was to stop */
			return rc;
	}
	wcs_fsck_found(f->fsck, kind, what, f->repairs ? done : NULL, "%s", place);
	return 0;
}

int ldb_fsck_looked(struct ldb_fsck *f, const char *what)
{
	return ++f->looked % REPORT_LOOKS ? 0 : wcs_fsck_progress(f->fsck, what, f->looked, 0);
}

const char *ldb_fsck_key_place(struct ldb_fsck *f, struct wcs_slice key)
{
	size_t shown = key.len < REPORT_KEY_SHOWN ? key.len : REPORT_KEY_SHOWN;
	const unsigned char *data = key.data;
	size_t at = (size_t)snprintf(f->place, sizeof(f->place), "key ");

	for (size_t i = 0; i < shown; i++)
		at += (size_t)snprintf(f->place + at, sizeof(f->place) - at, "%02x", data[i]);
	if (shown < key.len)
		snprintf(f->place + at, sizeof(f->place) - at, "... (%zu bytes)", key.len);
	return f->place;
}

void ldb_fsck_print(char *to, size_t room, const struct wcs_keys *keys, struct wcs_slice bytes)
{
	char *text = wcs_keys_text(keys, bytes);
	size_t len = text ? strlen(text) : 0;

	if (len < room)
		snprintf(to, room, "%s", text ? text : "");
	else
		snprintf(to, room, "%.*s...", (int)room - 4, text);
	free(text);
}

/* ---- Writing ----------------------------------------------------------------------------- */

int ldb_fsck_flush(struct ldb_fsck *f)
{
	char *text = NULL;

	if (f->batched > 0)
		leveldb_write(f->to->db, f->to->write, f->batch, &text);
	leveldb_writebatch_clear(f->batch);
	f->batched = 0;
	return text ? ldb_db_tell(f->to, text, f->fsck->fault) : 0;
}

static int report_batched(struct ldb_fsck *f, size_t bytes)
{
	f->batched += bytes + 32;
	return f->batched < REPORT_BATCH ? 0 : ldb_fsck_flush(f);
}

int ldb_fsck_put(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice value)
{
	if (!f->to)
		return 0;
	leveldb_writebatch_put(f->batch, key.data, key.len, value.data, value.len);
	return report_batched(f, key.len + value.len);
}

int ldb_fsck_delete(struct ldb_fsck *f, struct wcs_slice key)
{
	if (!f->to)
		return 0;
	leveldb_writebatch_delete(f->batch, key.data, key.len);
	return report_batched(f, key.len);
}
