/* SPDX-License-Identifier: MIT */
/*
 * Tables of functions, one for each kind of control file, called by control.c. The calls for one
 * open file come one at a time, under its lock; they hold no other lock and may call the store.
 *
 * node: the control file's, valid while the file is open.
 */
#ifndef FS_CONTROL_KIND_H
#define FS_CONTROL_KIND_H

#include <stdio.h>

#include "fs/fs.h"
#include "fs/names/pos.h"
#include "fs/names/spell.h"

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
};

/* The texts that a control file takes. */
enum control_form {
	CONTROL_LINES,	  /* each line */
	CONTROL_DOCUMENT, /* JSON, complete with its closing brace */
	CONTROL_WORDS,	  /* complete when no accepted text, with its newline, begins so */
};

/* A control file with a short text (control_text.c, control_lines.c). */
struct control_text {
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
};

/* The row key of the control file's directory, the root of its subtree; NULL: the whole table. pos:
 * of the file's node; the result is key. */
static inline const struct wcs_slice *control_key(const struct pos *pos, struct wcs_slice *key)
{
	*key = pos_key(pos);
	return pos->depth > 0 ? key : NULL;
}

/* The kind of a control file's node. */
const struct control_kind *control_kind(const struct node *node);

extern const struct control_reader control_text_reader;
extern const struct control_reader control_stream_reader;
extern const struct control_writer control_lines_writer;
extern const struct control_writer control_rows_writer;

extern const struct control_text control_schema;
extern const struct control_text control_info; /* all of /.rowfs that is read-only */
extern const struct control_text control_gc;
extern const struct control_text control_drop;
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

/* Prints a row key of a table with that design (NULL: none) as a JSON string. 0 or -ENOMEM. */
int control_print_key(FILE *to, const struct wcs_keys *keys, struct wcs_slice key);

#endif
