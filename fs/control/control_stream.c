/* SPDX-License-Identifier: MIT */
/*
 * Reads of .rows, .keys and .row: streams that are made while they are read, from one view of the
 * store that the first read opens.
 *
 * A ring holds the stream's last bytes, byte o at o % STREAM_KEPT, for programs that read ahead and
 * seek back (head, while read) and for parallel readers of one open file. Fewer than STREAM_STEP
 * bytes are made ahead of the readers, so STREAM_BACK bytes before the furthest read are always
 * there.
 *
 * A view may search long for its next row. A read of one therefore ends once it has bytes and took
 * STREAM_SOON: of .keys at the end of a line, and the first one at the first. The end of a line is
 * seen only if bytes are made one by one, which a slow stream can bear.
 *
 * An open view pins the engine's memtables and files as of its start. At most STREAMS_MAX streams
 * are therefore open, and users other than root and the owner get a share of them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/control/control.h"
#include "fs/control/control_kind.h"
#include "fs/report/report.h"
#include "fs/serve/loop.h"
#include "fs/serve/share.h"
#include "lib/clock.h"
#include "store/heat/heat.h"
#include "store/rows.h"

enum {
	STREAM_BACK = 1 << 20, /* bytes that a reader can seek back */
	STREAM_STEP = 1 << 16,
	STREAM_FEW = 1 << 10, /* made at once by a slow stream, but of .keys */
	STREAM_KEPT = STREAM_BACK + STREAM_STEP,
	STREAMS_MAX = 256,
	STREAMS_OTHERS = 192, /* for all users but root and the owner together */
	STREAMS_USER = 64,    /* for one of them */
	ROW_PIECE = 8 << 10,
};

#define STREAM_SOON (CLOCK_SECOND / 200) /* ns */

struct streams {
	struct share open;
};

struct stream {
	struct fs *fs;
	uid_t user;
	struct wcs_export *export;
	uint64_t made;	/* bytes made so far */
	uint64_t given; /* bytes up to the furthest read */
	int error;	/* after the made bytes; 0: none yet */
	bool ended;	/* the stream ends after the made bytes */
	char *kept;	/* the ring */
	bool viewed;
	bool lines;   /* it is .keys of a view */
	size_t quick; /* of a view: bytes made since it was slow */
};

struct streams *streams_new(void)
{
	struct streams *streams = calloc(1, sizeof(*streams));

	if (streams)
		share_init(&streams->open,
			   (struct share_limits){STREAMS_MAX, STREAMS_OTHERS, STREAMS_USER});
	return streams;
}

void streams_free(struct streams *streams)
{
	if (streams)
		share_destroy(&streams->open);
	free(streams);
}

static void stream_close(void *state)
{
	struct stream *stream = state;

	wcs_export_close(stream->export);
	share_give(&stream->fs->streams->open, stream->user, 1);
	free(stream->kept);
	free(stream);
}

static int stream_open(struct fs *fs, const struct node *node, uid_t user, void **state)
{
	enum wcs_export_kind kind = node->ts == CONTROL_ROW    ? WCS_EXPORT_ROW
				    : node->ts == CONTROL_KEYS ? WCS_EXPORT_KEYS
							       : WCS_EXPORT_ROWS;
	struct stream *stream = calloc(1, sizeof(*stream));
	struct wcs_slice key;
	struct pos pos;
	int rc;

	if (!stream)
		return -ENOMEM;
	stream->fs = fs;
	stream->user = user;
	if (!share_take(&fs->streams->open, fs, user, 1)) {
		free(stream);
		return report(fs, node, NULL, 0, -ENFILE,
			      "no more streams of rows can be read at once: %d in all, %d for each "
			      "user but root and the owner",
			      STREAMS_MAX, STREAMS_USER);
	}
	stream->viewed = node->flags & NODE_F_VIEW;
	stream->lines = stream->viewed && kind == WCS_EXPORT_KEYS;
	stream->kept = malloc(STREAM_KEPT);
	rc = stream->kept ? pos_of(node, &pos) : -ENOMEM;
	/* No row has an empty key. */
	stream->ended = rc == 0 && kind == WCS_EXPORT_ROW && pos.key_len == 0;
	if (rc == 0 && !stream->ended) {
		rc = pos_enter(&pos, true);
		if (rc == 0)
			rc = wcs_export_open(pos.table, control_key(&pos, &key), kind, pos.chain,
					     &stream->export);
		pos_leave(&pos);
	}
	if (rc != 0) {
		stream_close(stream);
		return rc;
	}
	*state = stream;
	return 0;
}

static bool stream_at_line(const struct stream *stream)
{
	return stream->made > 0 && stream->kept[(stream->made - 1) % STREAM_KEPT] == '\n';
}

/* Makes the next bytes, up to the end of a step. */
static void stream_make(struct stream *stream)
{
	size_t at = (size_t)(stream->made % STREAM_KEPT), step = STREAM_STEP - at % STREAM_STEP;
	size_t few = (stream->lines ? 1 : STREAM_FEW) + stream->quick / 64, some = 0;
	int64_t from = stream->viewed ? clock_ns() : 0;

	stream->error = wcs_export_read(stream->export, stream->kept + at,
					stream->viewed && few < step ? few : step, &some);
	stream->ended = stream->error == 0 && some == 0;
	stream->made += some;
	if (!stream->viewed)
		return;
	if (clock_ns() - from > STREAM_SOON)
		stream->quick = 0;
	else if (!stream->lines || stream->quick > 0 || stream_at_line(stream))
		stream->quick += some;
}

/* Is a read that began then to end with the bytes that it has? */
static bool stream_is_slow(const struct stream *stream, int64_t began)
{
	if (!stream->viewed || (stream->lines && stream->quick == 0 && !stream_at_line(stream)))
		return false;
	return (stream->lines && stream->given == 0) || clock_ns() - began > STREAM_SOON;
}

static int stream_read(void *state, fuse_req_t req, void *buf, size_t len, uint64_t offset,
		       size_t *got)
{
	struct stream *stream = state;
	int64_t began = stream->viewed ? clock_ns() : 0;
	size_t count = 0, at, some;

	if (offset + STREAM_BACK < stream->given)
		return -ESPIPE;
	if (share_held(&stream->fs->streams->open) > 1) /* several readers use several processors */
		loop_share(stream->fs);
	while (count < len) {
		if (offset + count < stream->made) {
			at = (size_t)((offset + count) % STREAM_KEPT);
			some = (size_t)(stream->made - offset) - count;
			some = some < len - count ? some : len - count;
			some = some < STREAM_KEPT - at ? some : STREAM_KEPT - at;
			memcpy((char *)buf + count, stream->kept + at, some);
			count += some;
		} else if (stream->ended || stream->error != 0 ||
			   (count > 0 && stream_is_slow(stream, began))) {
			break;
		} else if (stream->made < offset && fuse_req_interrupted(req)) {
			return -EINTR;
		} else {
			stream_make(stream);
		}
	}
	if (count == 0 && len > 0 && stream->error != 0)
		return stream->error == -EINTR ? -ESTALE : stream->error;
	if (offset + count > stream->given)
		stream->given = offset + count;
	*got = count;
	return 0;
}

const struct control_reader control_stream_reader = {stream_open, stream_read, stream_close};

/* ---- Short rows -------------------------------------------------------------------------- */

static int row_print(const struct control_place *at, FILE *to)
{
	struct wcs_slice key = pos_key(&at->pos);
	struct wcs_export *row = NULL;
	size_t len = 0, some = 1;
	char piece[ROW_PIECE];
	int rc = 0;

	if (key.len == 0)
		return 0;
	rc = wcs_export_open(at->pos.table, &key, WCS_EXPORT_LOOK, at->pos.chain, &row);
	while (rc == 0 && some > 0 && len <= CONTROL_TEXT_MAX) {
		rc = wcs_export_read(row, piece, sizeof(piece), &some);
		if (rc == 0)
			len += fwrite(piece, 1, some, to);
	}
	wcs_export_close(row);
	return rc == 0 && len > CONTROL_TEXT_MAX ? -EFBIG : rc;
}

const struct control_text control_row = {row_print, NULL, NULL, CONTROL_LINES};

void control_row_was_read(const struct node *node)
{
	struct pos pos;

	if (pos_of(node, &pos) == 0)
		wcs_heat_row(pos.table, pos.raw, pos_key(&pos));
}
