/* SPDX-License-Identifier: MIT */
/*
 * The trace: a line for each answered request, made before the answer is sent. The kernel holds the
 * inodes of a request until then, so both ends of it can look at them. A request on the trace has
 * no line, since reading that would make another one. Requests without an answer (FORGET) have none
 * either.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/live/live_private.h"
#include "fs/mount/process.h"
#include "fs/names/pos.h"
#include "fs/names/spell.h"
#include "fs/serve/metrics.h"
#include "lib/clock.h"
#include "lib/escape.h"
#include "lib/times.h"
#include "store/keys/keys.h"

/* A byte of a string becomes two, or a byte of a key three as \uXXXX. */
#define TRACE_KEY_MAX  (2 * WCS_KEYS_TEXT_MAX(WCS_ROW_KEY_MAX))
#define TRACE_NAME_MAX (2 * WCS_KEYS_TEXT_MAX(NAME_MAX) + 16)
#define TRACE_MAX      (TRACE_KEY_MAX + TRACE_NAME_MAX + 1024)

/* A request under way, and the place of its inode and the name in it as members of JSON. */
struct trace {
	struct metrics_note note;
	struct fs *fs;
	int64_t time;
	pid_t thread;
	uid_t user;
	uint32_t opcode;
	pthread_t handler;
	uint64_t rows; /* that it had read before */
	char command[PROCESS_NAME_MAX];
	size_t place_len, name_len;
	char place[]; /* and the name */
};

/* ---- Text -------------------------------------------------------------------------------- */

/* Writes bytes as they are shown, in a key of that design or (NULL) elsewhere, as a JSON string. */
static char *trace_string(char *to, const struct wcs_keys *keys, struct wcs_slice bytes)
{
	char shown[WCS_KEYS_TEXT_MAX(WCS_ROW_KEY_MAX)];
	size_t len = wcs_keys_show(keys, bytes, shown);

	*to++ = '"';
	to += escape_json(shown, len, to);
	*to++ = '"';
	return to;
}

/* Writes the table of a node, and its key or prefix; buf has room for TRACE_MAX. Returns the
 * length. */
static size_t trace_place(const struct node *node, char *buf)
{
	const struct node *table = node_up(node, NODE_TABLE);
	char *to = buf;
	struct pos pos;
	bool row;

	if (!table)
		return (size_t)sprintf(buf, "\"table\":null");
	to += sprintf(to, "\"table\":\"%s\"", wcs_table_name(table->table));
	if (pos_of(node, &pos) != 0 || pos.depth == 0)
		return (size_t)(to - buf);
	row = pos.family || (node->kind == NODE_CONTROL && node->ts == CONTROL_ROW);
	to += sprintf(to, row ? ",\"key\":" : ",\"prefix\":");
	to = trace_string(to, pos.keys, pos_key(&pos));
	return (size_t)(to - buf);
}

/* Where the name of a child begins in a request; 0: it has none. */
static const size_t trace_names[] = {
	[FUSE_LOOKUP] = sizeof(struct fuse_in_header),
	[FUSE_UNLINK] = sizeof(struct fuse_in_header),
	[FUSE_RMDIR] = sizeof(struct fuse_in_header),
	[FUSE_SYMLINK] = sizeof(struct fuse_in_header),
	[FUSE_MKNOD] = sizeof(struct fuse_in_header) + sizeof(struct fuse_mknod_in),
	[FUSE_MKDIR] = sizeof(struct fuse_in_header) + sizeof(struct fuse_mkdir_in),
	[FUSE_CREATE] = sizeof(struct fuse_in_header) + sizeof(struct fuse_create_in),
	[FUSE_RENAME] = sizeof(struct fuse_in_header) + sizeof(struct fuse_rename_in),
	[FUSE_RENAME2] = sizeof(struct fuse_in_header) + sizeof(struct fuse_rename2_in),
	[FUSE_LINK] = sizeof(struct fuse_in_header) + sizeof(struct fuse_link_in),
};

/* Writes the name that a request has for a child of its inode, or that of the control file that
 * its inode (NULL: none) is; to has room for TRACE_NAME_MAX. Returns the length. */
static size_t trace_name(uint32_t opcode, const char *request, const struct node *node, char *to)
{
	const size_t count = sizeof(trace_names) / sizeof(trace_names[0]);
	size_t at = opcode < count ? trace_names[opcode] : 0;
	char own[SPELL_MAX], *start = to;
	const char *name = request + at;

	if (at == 0) {
		if (!node || node->kind != NODE_CONTROL)
			return 0;
		spell_node(node, own);
		name = own;
	}
	to += sprintf(to, ",\"name\":");
	to = trace_string(to, NULL, (struct wcs_slice){name, strnlen(name, NAME_MAX)});
	return (size_t)(to - start);
}

/* ---- Requests ---------------------------------------------------------------------------- */

/* The node of an inode that the kernel holds; NULL: it is of none. */
static const struct node *trace_node(const struct fs *fs, uint64_t ino)
{
	struct node *inode = nodes_at(fs->nodes, ino);

	return inode ? node_now(inode) : NULL;
}

/* The inode that an answer gives to the kernel; 0: none. */
static uint64_t trace_entry(const struct trace *trace, const struct iovec *iov)
{
	struct fuse_out_header header;
	struct fuse_entry_out entry;

	memcpy(&header, iov[0].iov_base, sizeof(header));
	switch (trace->opcode) {
	case FUSE_LOOKUP:
	case FUSE_MKDIR:
	case FUSE_MKNOD:
	case FUSE_CREATE:
		if (header.error != 0 || header.len < sizeof(header) + sizeof(entry))
			return 0;
		memcpy(&entry, iov[1].iov_base, sizeof(entry));
		return entry.nodeid;
	default:
		return 0;
	}
}

/* Makes the line of an answered request. NULL: no memory. */
static struct wcs_change *trace_line(const struct trace *trace, const struct iovec *iov,
				     uint64_t bytes, uint64_t nanoseconds)
{
	bool same = pthread_equal(trace->handler, pthread_self());
	uint64_t ino = trace_entry(trace, iov);
	const struct node *entry = trace_node(trace->fs, ino);
	char line[TRACE_MAX], *to = line;
	const struct wcs_slice command = {trace->command, strlen(trace->command)};
	pid_t process = process_of(trace->thread);
	struct fuse_out_header header;

	memcpy(&header, iov[0].iov_base, sizeof(header));
	to += sprintf(to, "{\"time\":\"");
	to += times_format(trace->time, 6, to);
	to += sprintf(to, "\",\"pid\":%d,\"command\":", process > 0 ? process : trace->thread);
	to = trace_string(to, NULL, command);
	to += sprintf(to, ",\"uid\":%u,\"operation\":\"%s\",", trace->user,
		      metrics_name(trace->opcode));
	if (entry)
		to += trace_place(entry, to);
	else
		to = mempcpy(to, trace->place, trace->place_len);
	to = mempcpy(to, trace->place + trace->place_len, trace->name_len);
	to += sprintf(to, ",\"rows\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"us\":%" PRIu64,
		      same ? wcs_rows_read() - trace->rows : 0, bytes, nanoseconds / 1000);
	if (trace->opcode == FUSE_LOOKUP && ino == 0 && header.error == 0)
		header.error = -ENOENT; /* which the kernel may cache */
	if (header.error == 0)
		to += sprintf(to, ",\"error\":null}\n");
	else
		to += sprintf(to, ",\"error\":\"%s\"}\n", strerrorname_np(-header.error));
	return wcs_change_text((struct wcs_slice){NULL, 0}, line, (size_t)(to - line));
}

static void trace_answered(struct metrics_note *note, const struct iovec *iov, uint64_t bytes,
			   uint64_t nanoseconds)
{
	struct trace *trace = (struct trace *)note;
	struct live *live = trace->fs->live;

	live_push(live, live->trace,
		  (struct ring_line){.change = iov ? trace_line(trace, iov, bytes, nanoseconds)
						   : NULL});
	free(trace);
}

struct metrics_note *trace_received(void *ctx, const void *request)
{
	struct live *live = ((struct fs *)ctx)->live;
	char place[TRACE_MAX];
	struct fuse_in_header header;
	const struct node *node;
	struct trace *trace;
	size_t len, name_len;

	memcpy(&header, request, sizeof(header));
	if (header.opcode == FUSE_FORGET || header.opcode == FUSE_BATCH_FORGET ||
	    header.opcode == FUSE_INTERRUPT || header.opcode == FUSE_DESTROY)
		return NULL;
	node = trace_node(ctx, header.nodeid);
	if (node && node->kind == NODE_CONTROL && node->ts == CONTROL_TRACE)
		return NULL;
	len = node ? trace_place(node, place) : 0;
	name_len = trace_name(header.opcode, request, node, place + len);
	trace = malloc(sizeof(*trace) + len + name_len);
	if (!trace) {
		live_push(live, live->trace, (struct ring_line){.change = NULL});
		return NULL;
	}
	*trace = (struct trace){.note = {trace_answered},
				.fs = ctx,
				.time = clock_now(),
				.thread = (pid_t)header.pid,
				.user = header.uid,
				.opcode = header.opcode,
				.handler = pthread_self(),
				.rows = wcs_rows_read(),
				.place_len = len,
				.name_len = name_len};
	process_name(trace->thread, trace->command);
	memcpy(trace->place, place, len + name_len);
	return &trace->note;
}
