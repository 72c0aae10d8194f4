/* SPDX-License-Identifier: MIT */
/*
 * Extended attributes: user.rowfs.* give a node's kind, table, row key, family, qualifier
 * and timestamp, and when its policy collects a cell. They are not listed, because `rsync -X` would
 * find the list different from a plain file's each time. Setting or removing one does nothing, so
 * that copies which carry them succeed. There are no others.
 *
 * The kernel asks for security.capability before each write. A foreign name is therefore answered
 * from its text alone, without the node. The answer is not ENOSYS: the kernel would then stop
 * asking for all names, rowfs's own included.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fs/file/lookup.h"
#include "fs/names/pos.h"
#include "fs/report/report.h"
#include "fs/write/writer.h"
#include "lib/times.h"
#include "store/heat/heat.h"
#include "store/keys/keys.h"

#define PREFIX "user.rowfs."

enum { TEXT_MAX = 32 }; /* bytes of a number, a time or a fate, with its NUL */
enum { VALUE_MAX = WCS_KEYS_TEXT_MAX(WCS_ROW_KEY_MAX) };

/* A letter for each attribute that a kind of node has: kind, table, row key, bytes of
 * the stored key, family, qualifier, stamp, gc. */
static const char *const attributes_of[NODE_KINDS] = {
	[NODE_TABLE] = "kt",	  [NODE_PREFIX] = "ktrb",   [NODE_FAMILY] = "ktrbf",
	[NODE_HISTORY] = "trbfq", [NODE_CELL] = "ktrbfqsg", [NODE_VERSION] = "ktrbfqsg",
};

static const struct {
	const char *name;
	char letter;
} attributes[] = {
	{PREFIX "kind", 'k'},	   {PREFIX "table", 't'},  {PREFIX "key", 'r'},
	{PREFIX "stored", 'b'},	   {PREFIX "family", 'f'}, {PREFIX "qualifier", 'q'},
	{PREFIX "timestamp", 's'}, {PREFIX "gc", 'g'},
};

/* "row" if the store has a row of exactly this key. */
static int kind_of(struct pos *pos, const char **kind)
{
	const struct wcs_filter filter = {.each = WCS_EACH_ROW};
	struct wcs_key_info info = {0};
	struct wcs_scan *scan = NULL;
	struct wcs_cell cell;
	int rc = 0;

	*kind = pos->kind == NODE_TABLE ? "table" : pos->kind == NODE_FAMILY ? "family" : "cell";
	if (pos->kind != NODE_PREFIX)
		return 0;
	if (!pos->view) {
		rc = wcs_key_get(pos->table, pos_key(pos), &info);
	} else if (pos->key_len > 0) {
		rc = pos_enter(pos, false);
		if (rc == 0)
			rc = pos_row_scan(pos, &filter, &scan);
		if (rc == 0)
			rc = wcs_scan_next(scan, &cell);
		wcs_scan_close(scan);
		pos_leave(pos);
		info.row = rc > 0;
		rc = rc > 0 ? 0 : rc;
	}
	*kind = rc == 0 && info.row ? "row" : "prefix";
	return rc;
}

/* The timestamp of a cell; of a session what it has by now. */
static int64_t stamp_of(const struct node *node)
{
	uint64_t size;
	int64_t ts = node_ts(node);

	if (node->flags & NODE_F_WRITER)
		writer_stat(node->writer, &size, &ts);
	return ts;
}

/* Writes when the policy collects the cell: at a time, without any write before; or not before its
 * column has so many newer cells. -ENODATA: it is no cell yet, or no more. */
static int fate_of(const struct node *node, struct pos *pos, char text[TEXT_MAX])
{
	struct wcs_cell_info info;
	uint64_t newer = 0;
	int rc;

	pos->ts = stamp_of(node);
	rc = pos->ts < 0 ? -ENOENT : pos_enter(pos, false);
	if (rc == 0)
		rc = pos_cell(pos, &info);
	pos_leave(pos);
	if (rc == 0)
		rc = wcs_family_newer(pos->table, pos->family, info.ts, &newer);
	if (rc != 0)
		return rc == -ENOENT ? -ENODATA : rc;
	if (info.expires <= TIMES_LAST)
		text[times_format(info.expires < 0 ? 0 : info.expires, 6, text)] = 0;
	else if (info.expires != WCS_TS_MAX)
		snprintf(text, TEXT_MAX, "%" PRId64, info.expires);
	else if (newer > 0)
		snprintf(text, TEXT_MAX, "rank %" PRIu64, newer);
	else
		strcpy(text, "keep");
	return 0;
}

/* -ENODATA: no row has this key, and the salt of those below is a hash of more segments. */
static int stored_check(struct pos *pos)
{
	const struct wcs_keys *keys = pos->keys;
	const char *kind;
	int rc;

	if (!wcs_keys_salted(keys) ||
	    (keys->salt_segments > 0 && pos->depth >= keys->salt_segments))
		return 0;
	rc = kind_of(pos, &kind);
	return rc == 0 && strcmp(kind, "prefix") == 0 ? -ENODATA : rc;
}

/* The row key: in a table with a design as it is shown, else its bytes; or the bytes of the stored
 * key of its row. */
static struct wcs_slice key_of(const struct pos *pos, bool stored, char text[VALUE_MAX])
{
	if (stored)
		return wcs_keys_stored(pos->keys, pos_key(pos), (unsigned char *)text);
	if (!pos->keys)
		return pos_key(pos);
	return (struct wcs_slice){text, wcs_keys_show(pos->keys, pos_key(pos), text)};
}

/* The value borrows from pos and buffer. -ENODATA: the node has no such attribute. */
static int value_of(const struct node *node, const char *name, struct pos *pos,
		    char buffer[VALUE_MAX], struct wcs_slice *value)
{
	const char *text = NULL;
	size_t i = 0;
	int rc;

	while (i < sizeof(attributes) / sizeof(attributes[0]) &&
	       strcmp(name, attributes[i].name) != 0)
		i++;
	if (i == sizeof(attributes) / sizeof(attributes[0]))
		return -ENODATA;
	rc = pos_of(node, pos);
	if (rc != 0)
		return rc;
	if (!attributes_of[pos->kind] || !strchr(attributes_of[pos->kind], attributes[i].letter))
		return -ENODATA;
	switch (attributes[i].letter) {
	case 'k':
		rc = kind_of(pos, &text);
		break;
	case 't':
		text = wcs_table_name(pos->table);
		break;
	case 'r':
	case 'b':
		if (attributes[i].letter == 'b')
			rc = stored_check(pos);
		*value = key_of(pos, attributes[i].letter == 'b', buffer);
		break;
	case 'f':
		text = pos->family;
		break;
	case 'q':
		*value = pos->qualifier;
		break;
	case 'g':
		rc = fate_of(node, pos, buffer);
		text = buffer;
		break;
	default:
		snprintf(buffer, TEXT_MAX, "%" PRId64, stamp_of(node));
		text = buffer;
		break;
	}
	if (rc == 0 && text)
		*value = (struct wcs_slice){text, strlen(text)};
	return rc;
}

/* size 0 asks for the length. */
static void reply(fuse_req_t req, const void *data, size_t len, size_t size)
{
	if (size == 0)
		fuse_reply_xattr(req, len);
	else if (len > size)
		fuse_reply_err(req, ERANGE);
	else
		fuse_reply_buf(req, data, len);
}

static bool is_own(const char *name)
{
	return strncmp(name, PREFIX, sizeof(PREFIX) - 1) == 0;
}

void fs_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	struct wcs_slice value = {0};
	struct pos pos;
	char buffer[VALUE_MAX];
	int rc = -EOPNOTSUPP;

	if (is_own(name)) {
		const struct node *node = lookup_ino(fs_of(req), ino);

		wcs_heat_look(true);
		fs_interruptible(req);
		rc = value_of(node, name, &pos, buffer, &value);
		fs_interruptible(NULL);
		wcs_heat_look(false);
		rc = report_unreadable(fs_of(req), node, NULL, rc);
	} else if (strncmp(name, "user.", 5) == 0 || strncmp(name, "security.", 9) == 0)
		rc = -ENODATA;
	if (rc != 0)
		fuse_reply_err(req, -rc);
	else
		reply(req, value.data, value.len, size);
}

void fs_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	(void)ino;
	reply(req, "", 0, size);
}

void fs_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	if (!lookup_refuses(req, ino))
		fuse_reply_err(req, is_own(name) ? 0 : EOPNOTSUPP);
}

void fs_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size,
		 int flags)
{
	(void)value;
	(void)size;
	(void)flags;
	fs_removexattr(req, ino, name);
}
