/* SPDX-License-Identifier: MIT */
/*
 * Texts of control files, each made whole. A file of CONTROL_EXACT whose text has up to
 * CONTROL_TEXT_MAX bytes gets it by the lookup, for the file's size. The open that follows takes
 * that text over, so the size and the bytes belong together. The other texts are made by the first
 * read. All open ones together have at most TEXTS_MAX bytes, of which users other than root and the
 * owner get a share.
 *
 * A text that no open takes is discarded when TEXTS_KEPT newer ones came, or after TEXT_AGE, and is
 * of no use after a change of the store. An open behind that makes the text anew, and fails with
 * ESTALE if it is another one; the kernel then looks the name up again.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/cache/cache.h"
#include "fs/control/control.h"
#include "fs/control/control_kind.h"
#include "fs/report/report.h"
#include "fs/serve/share.h"
#include "lib/clock.h"
#include "lib/hash.h"
#include "store/keys/keys.h"

enum {
	/* Bytes of the open texts. */
	TEXTS_MAX = 64 << 20,
	TEXTS_OTHERS = 48 << 20, /* of all users but root and the owner together */
	TEXTS_USER = 16 << 20,	 /* of one of them; one text alone may be larger */
	TEXTS_KEPT = 64,
};

#define TEXT_AGE CLOCK_SECOND /* ns from a lookup to its open; longer only under load */

struct text {
	atomic_uint refs;
	uint32_t etag; /* of its node; 0: it is for one open file */
	char *data;
	size_t len;
};

/* The state of control_text_reader. */
struct text_reader {
	struct fs *fs;
	struct text *text; /* a reference */
	uid_t user;	   /* whose share has its bytes */
};

/* A text for the opens that follow its lookups. */
struct kept {
	struct text *text; /* a reference; NULL: none */
	uint64_t ino;
	unsigned opens;
	int64_t until;		/* by clock_ns */
	struct cache_mark mark; /* the changes of the store before it was made */
};

struct texts {
	pthread_mutex_t lock;
	struct kept kept[TEXTS_KEPT]; /* a ring. Lock: lock */
	size_t next;		      /* the oldest. Lock: lock */
	struct share open;	      /* bytes of open texts */
};

struct texts *texts_new(void)
{
	struct texts *texts = calloc(1, sizeof(*texts));

	if (!texts)
		return NULL;
	pthread_mutex_init(&texts->lock, NULL);
	share_init(&texts->open, (struct share_limits){TEXTS_MAX, TEXTS_OTHERS, TEXTS_USER});
	return texts;
}

json_t *control_key_json(const struct wcs_keys *keys, struct wcs_slice key)
{
	char *spelled = wcs_keys_text(keys, key);
	json_t *string = json_string(spelled);

	free(spelled);
	return string;
}

/* Returns a reference; NULL is none. */
static void text_put(struct text *text)
{
	if (!text || atomic_fetch_sub(&text->refs, 1) > 1)
		return;
	free(text->data);
	free(text);
}

void texts_free(struct texts *texts)
{
	if (!texts)
		return;
	for (size_t i = 0; i < TEXTS_KEPT; i++)
		text_put(texts->kept[i].text);
	share_destroy(&texts->open);
	pthread_mutex_destroy(&texts->lock);
	free(texts);
}

static int text_make(struct fs *fs, const struct node *node, bool blank, struct text **made)
{
	struct control_place at = {.fs = fs, .node = node, .blank = blank};
	struct text *text = calloc(1, sizeof(*text));
	FILE *to = text ? open_memstream(&text->data, &text->len) : NULL;
	int rc = to ? pos_of(node, &at.pos) : -ENOMEM;
	bool bad;

	if (text)
		text->refs = 1;
	if (rc == 0 && !blank)
		rc = pos_enter(&at.pos, true);
	if (rc == 0)
		rc = control_kind(node)->text->print(&at, to);
	if (to)
		pos_leave(&at.pos);
	bad = to && ferror(to);
	if (to && (fclose(to) != 0 || bad) && rc == 0)
		rc = -ENOMEM;
	if (rc == 0)
		*made = text;
	else
		text_put(text);
	return rc;
}

/* Takes over the text for an open file of the user. */
static int text_reader_new(struct fs *fs, const struct node *node, uid_t user, struct text *text,
			   void **state)
{
	struct text_reader *reader;

	if (!share_take(&fs->texts->open, fs, user, text->len)) {
		text_put(text);
		return report(fs, node, NULL, 0, -ENFILE,
			      "too many control files are open, with %d MiB in all, or %d of each "
			      "user but root and the owner",
			      TEXTS_MAX >> 20, TEXTS_USER >> 20);
	}
	reader = calloc(1, sizeof(*reader));
	if (!reader) {
		share_give(&fs->texts->open, user, text->len);
		text_put(text);
		return -ENOMEM;
	}
	*reader = (struct text_reader){fs, text, user};
	*state = reader;
	return 0;
}

static int text_open(struct fs *fs, const struct node *node, uid_t user, void **state)
{
	struct text *text;
	int rc = text_make(fs, node, false, &text);

	return rc == 0 ? text_reader_new(fs, node, user, text, state) : rc;
}

static void text_close(void *state)
{
	struct text_reader *reader = state;

	share_give(&reader->fs->texts->open, reader->user, reader->text->len);
	text_put(reader->text);
	free(reader);
}

static int text_read(void *state, fuse_req_t req, void *buf, size_t len, uint64_t offset,
		     size_t *got)
{
	const struct text *text = ((const struct text_reader *)state)->text;
	size_t left = offset < text->len ? text->len - (size_t)offset : 0;

	(void)req;
	*got = len < left ? len : left;
	if (*got > 0)
		memcpy(buf, text->data + offset, *got);
	return 0;
}

const struct control_reader control_text_reader = {text_open, text_read, text_close};

static uint32_t text_size(const struct text *text)
{
	return text->len < UINT32_MAX ? (uint32_t)text->len : UINT32_MAX;
}

uint32_t control_text_size(const void *state)
{
	return text_size(((const struct text_reader *)state)->text);
}

/* ---- Sizes ------------------------------------------------------------------------------- */

static void text_stamp(struct text *text)
{
	uint64_t hash = hash_bytes(HASH_START, text->data, text->len);

	text->etag = (uint32_t)(hash ^ hash >> 32) | 1;
}

/* Is it the text of that node? */
static bool text_is(const struct text *text, const struct node *node)
{
	return text->etag == node_etag(node) && text->len == node->size;
}

/* Is it that text, for a node of that inode number? */
static bool kept_is(const struct kept *kept, uint64_t ino, const struct text *text)
{
	return kept->text && kept->ino == ino && kept->text->etag == text->etag &&
	       kept->text->len == text->len && memcmp(kept->text->data, text->data, text->len) == 0;
}

/* Takes over the text, for one open more. */
static void text_keep(struct texts *texts, uint64_t ino, struct text *text,
		      const struct cache_mark *mark)
{
	int64_t until = clock_ns() + TEXT_AGE;
	struct text *gone = text;
	struct kept *at;

	pthread_mutex_lock(&texts->lock);
	for (at = texts->kept; at < texts->kept + TEXTS_KEPT && !kept_is(at, ino, text);)
		at++;
	if (at == texts->kept + TEXTS_KEPT) {
		at = &texts->kept[texts->next];
		texts->next = (texts->next + 1) % TEXTS_KEPT;
		gone = at->text;
		*at = (struct kept){.text = text, .ino = ino};
	}
	at->opens++;
	at->mark = *mark;
	at->until = until;
	pthread_mutex_unlock(&texts->lock);
	text_put(gone);
}

/* The text of that node that a lookup made; NULL: it is no longer kept, or (present) the store has
 * changed since. Files outside of the tables tell of the mount, and change without the store. */
static struct text *text_take(struct fs *fs, const struct node *node, bool present)
{
	struct texts *texts = fs->texts;
	int64_t now = clock_ns();
	struct text *text = NULL;
	struct cache_mark mark;

	present = present && node_up(node, NODE_TABLE);
	cache_mark(fs, &mark);
	pthread_mutex_lock(&texts->lock);
	for (size_t i = 0; i < TEXTS_KEPT && !text; i++) {
		struct kept *at = &texts->kept[i];

		if (!at->text || at->ino != node->ino || at->until < now ||
		    !text_is(at->text, node) ||
		    (present && (at->mark.tree != mark.tree || at->mark.columns != mark.columns)))
			continue;
		text = at->text;
		if (--at->opens == 0)
			at->text = NULL;
		else
			atomic_fetch_add(&text->refs, 1);
	}
	pthread_mutex_unlock(&texts->lock);
	return text;
}

void control_look(struct fs *fs, struct node *node, uint32_t *etag, uint32_t *size)
{
	const struct control_kind *kind = control_kind(node);
	struct text *text = NULL;
	struct cache_mark mark;

	cache_mark(fs, &mark);
	if (kind->size == CONTROL_FIXED && node->size == 0 && text_make(fs, node, true, &text) == 0)
		node->size = text_size(text);
	*etag = 0;
	if (kind->size == CONTROL_EXACT && text_make(fs, node, false, &text) == 0 &&
	    text->len <= CONTROL_TEXT_MAX) {
		text_stamp(text);
		*etag = text->etag;
		*size = text_size(text);
		text_keep(fs->texts, node->ino, text, &mark);
		return;
	}
	text_put(text);
}

int control_text_take(struct fs *fs, struct node *node, uid_t user, enum control_which which,
		      void **state)
{
	bool newest = which == CONTROL_NEWEST;
	struct text *text = newest ? NULL : text_take(fs, node, which == CONTROL_PRESENT);
	int rc = text ? 0 : text_make(fs, node, false, &text);

	if (rc == 0 && text->etag == 0)
		text_stamp(text);
	if (rc == -EFBIG || (rc == 0 && text->len > CONTROL_TEXT_MAX)) { /* a stream by now */
		text_put(text);
		text = NULL;
		rc = 0;
	}
	if (rc == 0 && newest)
		node->size = text ? text_size(text) : 0;
	else if (rc == 0 && !(text && text_is(text, node)))
		rc = -ESTALE;
	if (rc == 0 && text)
		return text_reader_new(fs, node, user, text, state);
	text_put(text);
	return rc;
}
