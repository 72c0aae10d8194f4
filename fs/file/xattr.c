/* SPDX-License-Identifier: MIT */
/*
 * Extended attributes: user.rowfs.* say what a node stands for in the store's terms. They are not
 * listed: rsync -X would compare the list with that of a file that has none, each time. Setting and
 * removing them does nothing, so that copies which carry them succeed; there are no others.
 *
 * The kernel asks for security.capability at every write, so a name of another kind is answered
 * before anything is looked at. (ENOSYS, which the kernel would remember, would be for all names.)
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fs/file/lookup.h"
#include "fs/names/pos.h"
#include "fs/write/writer.h"

#define PREFIX "user.rowfs."

enum attribute { KIND, KEY, FAMILY, QUALIFIER, TIMESTAMP, ATTRIBUTES };

static const char *const names[ATTRIBUTES] = {
	PREFIX "kind", PREFIX "key", PREFIX "family", PREFIX "qualifier", PREFIX "timestamp",
};

static unsigned bit(enum attribute attribute)
{
	return 1u << attribute;
}

/* The attributes of a kind of node, as bits. */
static unsigned attributes_of(const struct node *node)
{
	switch (node->kind) {
	case NODE_TABLE:
		return bit(KIND);
	case NODE_PREFIX:
		return bit(KIND) | bit(KEY);
	case NODE_FAMILY:
		return bit(KIND) | bit(KEY) | bit(FAMILY);
	case NODE_HISTORY:
		return bit(KEY) | bit(FAMILY) | bit(QUALIFIER);
	case NODE_CELL:
	case NODE_VERSION:
		return bit(KIND) | bit(KEY) | bit(FAMILY) | bit(QUALIFIER) | bit(TIMESTAMP);
	default:
		return 0;
	}
}

static int kind_of(const struct pos *pos, const char **kind)
{
	struct wcs_key_info info;
	int rc = 0;

	switch (pos->kind) {
	case NODE_TABLE:
		*kind = "table";
		break;
	case NODE_FAMILY:
		*kind = "family";
		break;
	case NODE_PREFIX:
		rc = wcs_key_get(pos->table, pos_key(pos), &info);
		if (rc == 0)
			*kind = info.row ? "row" : "prefix";
		break;
	default:
		*kind = "cell";
		break;
	}
	return rc;
}

/* The time that a cell shows is its timestamp; a session's may not have been given yet. */
static int64_t timestamp_of(const struct node *node)
{
	int64_t ts = node->ts;
	uint64_t size;

	if (node->flags & NODE_F_WRITER)
		writer_stat(node->writer, &size, &ts);
	return ts;
}

static struct wcs_slice text_slice(const char *text)
{
	return (struct wcs_slice){text, strlen(text)};
}

/* An attribute's value, which borrows from pos and digits. */
static int value_of(const struct node *node, enum attribute attribute, const struct pos *pos,
		    char digits[24], struct wcs_slice *value)
{
	const char *kind;
	int rc = 0;

	switch (attribute) {
	case KIND:
		rc = kind_of(pos, &kind);
		if (rc == 0)
			*value = text_slice(kind);
		break;
	case KEY:
		*value = pos_key(pos);
		break;
	case FAMILY:
		*value = text_slice(pos->family);
		break;
	case QUALIFIER:
		*value = pos->qualifier;
		break;
	default:
		snprintf(digits, 24, "%lld", (long long)timestamp_of(node));
		*value = text_slice(digits);
		break;
	}
	return rc;
}

/* -ENODATA: the node has no attribute of that name. */
static int find(const struct node *node, const char *name, enum attribute *attribute)
{
	unsigned has = attributes_of(node);

	for (int i = 0; i < ATTRIBUTES; i++) {
		if (!(has & (1u << i)) || strcmp(name, names[i]) != 0)
			continue;
		*attribute = (enum attribute)i;
		return 0;
	}
	return -ENODATA;
}

/* The answer to a question for at most size bytes; 0: how many there are. */
static void reply(fuse_req_t req, const void *data, size_t len, size_t size)
{
	if (size == 0)
		fuse_reply_xattr(req, len);
	else if (len > size)
		fuse_reply_err(req, ERANGE);
	else
		fuse_reply_buf(req, data, len);
}

static void get_own(fuse_req_t req, const struct node *node, const char *name, size_t size)
{
	struct wcs_slice value = {0};
	enum attribute attribute;
	struct pos pos;
	char digits[24];
	int rc = find(node, name, &attribute);

	if (rc == 0)
		rc = pos_of(node, &pos);
	if (rc == 0)
		rc = value_of(node, attribute, &pos, digits, &value);
	if (rc != 0)
		fuse_reply_err(req, -rc);
	else
		reply(req, value.data, value.len, size);
}

void fs_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	if (strncmp(name, PREFIX, sizeof(PREFIX) - 1) == 0)
		get_own(req, lookup_ino(fs_of(req), ino), name, size);
	else if (strncmp(name, "user.", 5) == 0 || strncmp(name, "security.", 9) == 0)
		fuse_reply_err(req, ENODATA);
	else
		fuse_reply_err(req, EOPNOTSUPP);
}

void fs_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	(void)ino;
	reply(req, "", 0, size);
}

static int check_settable(const char *name)
{
	return strncmp(name, PREFIX, sizeof(PREFIX) - 1) == 0 ? 0 : EOPNOTSUPP;
}

void fs_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size,
		 int flags)
{
	(void)ino;
	(void)value;
	(void)size;
	(void)flags;
	fuse_reply_err(req, check_settable(name));
}

void fs_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	(void)ino;
	fuse_reply_err(req, check_settable(name));
}
