/* SPDX-License-Identifier: MIT */
/*
 * Tables of functions, one for each kind of control file, called by control.c. The calls for one
 * open file come one at a time, under its lock; they hold no other lock and may call the store.
 *
 * node: the control file's, valid while the file is open.
 */
#ifndef FS_CONTROL_KIND_H
#define FS_CONTROL_KIND_H

#include <jansson.h>
#include <stdio.h>

#include "fs/control/control.h"
#include "fs/fs.h"
#include "fs/names/pos.h"
#include "fs/names/spell.h"
#include "store/rows.h"

struct control_reader {
	/* user: the owner of the process that opened the file. */
	int (*open)(struct fs *fs, const struct node *node, uid_t user, void **state);
	/* Reads up to len bytes; *got is 0 only at the end. -ESPIPE: these bytes are no longer
	 * kept; -EINTR: req was interrupted before the stream reached them; -ESTALE: the same, and
	 * the reader cannot go on. */
	int (*read)(void *state, fuse_req_t req, void *buf, size_t len, uint64_t offset,
		    size_t *got);
	void (*close)(void *state);
};

struct control_writer {
	int (*open)(struct fs *fs, const struct node *node, void **state);
	/* Applies each line that these bytes complete. An error is reported, and no write or end
	 * that applies follows it. */
	int (*write)(void *state, const char *data, size_t len);
	/* Applies an incomplete line, or drops it. */
	int (*end)(void *state, bool apply);
	void (*close)(void *state);
};

/* The control file of one call. */
struct control_place {
	struct fs *fs;
	const struct node *node;
	struct pos pos; /* the node's, entered where it is read */
	int line;	/* of the written text, counted since the open */
	bool blank;	/* CONTROL_FIXED: for the size alone, so nothing is counted */
};

/* The texts that a control file takes. */
enum control_form {
	CONTROL_LINES,	  /* each line */
	CONTROL_DOCUMENT, /* JSON objects, at most one a line, each complete with its brace */
	CONTROL_WORDS,	  /* complete when no accepted text, with its newline, begins so */
};

/* Texts of more bytes are streams, of size 0. */
#define CONTROL_TEXT_MAX WCS_EXPORT_LOOK_MAX

/* The size that a control file shows. */
enum control_size {
	CONTROL_STREAM, /* 0 */
	CONTROL_EXACT,	/* of the text that the lookup made; 0 if that is no short one */
	CONTROL_FIXED,	/* of each of its texts; no text is made for it */
	CONTROL_DRAWN,	/* of the text that was made last under this inode; 0: none was */
};

/* A control file with a text (control_text.c, control_lines.c). */
struct control_text {
	/* -EFBIG: of CONTROL_EXACT, longer than CONTROL_TEXT_MAX. */
	int (*print)(const struct control_place *at, FILE *to);
	/* Applies a text without its newline, or a document; a NUL follows its len bytes. Errors
	 * are reported. NULL: the file is read-only. */
	int (*apply)(const struct control_place *at, const char *text, size_t len);
	/* CONTROL_WORDS: is it an accepted text without its newline, or its beginning? */
	bool (*continues)(const struct control_place *at, const char *text, size_t len);
	enum control_form form;
};

struct control_kind {
	const struct control_reader *reader;
	const struct control_writer *writer; /* NULL: read-only */
	const struct control_text *text;     /* for the readers and writers of texts */
	enum control_size size;
};

/* The row key of the control file's directory, the root of its subtree; NULL: the whole table. pos:
 * of the file's node; the result is key. */
static inline const struct wcs_slice *control_key(const struct pos *pos, struct wcs_slice *key)
{
	*key = pos_key(pos);
	return pos->depth > 0 ? key : NULL;
}

/* The row of that .row was read from a text that a lookup made. */
void control_row_was_read(const struct node *node);

/* The kind of a control file's node. */
const struct control_kind *control_kind(const struct node *node);

extern const struct control_reader control_text_reader;

/* Sets *state to a reader, of control_text_reader, of the text for the user's open; leaves *state
 * if the newest text is too long. */
int control_text_take(struct fs *fs, struct node *node, uid_t user, enum control_which which,
		      void **state);
/* The bytes of that reader's text, for st_size. */
uint32_t control_text_size(const void *state);

extern const struct control_reader control_stream_reader;
extern const struct control_writer control_lines_writer;
extern const struct control_writer control_rows_writer;

extern const struct control_text control_schema;
extern const struct control_text control_info; /* all of /.rowfs that is read-only */
extern const struct control_text control_gc;
extern const struct control_text control_drop;
extern const struct control_text control_row; /* its reader is the stream's, or of a short text */
extern const struct control_text control_splits;
extern const struct control_text control_delimiter;
extern const struct control_text control_design;
extern const struct control_text control_policy;
extern const struct control_text control_type;
extern const struct control_text control_protected;
extern const struct control_text control_explain;
extern const struct control_text control_keyvis;

/* May the delimiter and the key design (0, NULL: as it is) change? Not while the table has
 * directories in memory, whose names these gave. 0, -ENOTEMPTY or -ENOMEM. */
int control_layout_check(struct fs *fs, struct wcs_table *table, unsigned char delimiter,
			 const struct wcs_keys *keys);

/* A row key of a table with that design (NULL: none) as a string, for the caller. NULL: no memory.
 */
json_t *control_key_json(const struct wcs_keys *keys, struct wcs_slice key);

#endif
