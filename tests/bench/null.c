/* SPDX-License-Identifier: MIT */
/*
 * The null server: the tree of tree.h from nothing, with libfuse's own loop and the same settings
 * as rowfs (timeouts, kept pages, sizes). It shows the speed that FUSE itself allows.
 *
 * Unlike rowfs it offers READDIRPLUS, since that is the best that FUSE can do for attributes. It
 * accepts new files and forgets them; the kernel still knows them, as long as it keeps entries.
 *
 *   null TREE MOUNTPOINT
 *
 * Stays in the foreground until it is unmounted or told to end.
 */
#define FUSE_USE_VERSION 314

#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/bench/tree.h"

enum { DAY = 86400, ATTRIBUTES = 1 << 20, BACKGROUND_MAX = 1024, DOTS = 2 };
enum { READ_MAX = 1 << 20, REPLY_MAX = 65536 };

static struct tree tree;
static atomic_uint made;
static char constant[READ_MAX];

static void null_init(void *userdata, struct fuse_conn_info *conn)
{
	(void)userdata;
	conn->want |= conn->capable & (FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_PARALLEL_DIROPS |
				       FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO);
	conn->want &= ~(unsigned)(FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_WRITEBACK_CACHE);
	conn->max_background = BACKGROUND_MAX;
	conn->congestion_threshold = BACKGROUND_MAX;
	conn->time_gran = 1000;
}

static void fill(uint64_t place, struct stat *st)
{
	bool directory = tree_is_directory(place);

	*st = (struct stat){.st_ino = place,
			    .st_mode = directory ? S_IFDIR | 0755 : S_IFREG | 0644,
			    .st_nlink = directory ? 1 : 2,
			    .st_size = (off_t)tree_size(&tree, place),
			    .st_blksize = 4096,
			    .st_mtim = {.tv_sec = TREE_TS / 1000000}};
	st->st_blocks = (st->st_size + 511) / 512;
	st->st_atim = st->st_ctim = st->st_mtim;
}

static void fill_entry(uint64_t place, struct fuse_entry_param *entry)
{
	*entry = (struct fuse_entry_param){
		.ino = place, .attr_timeout = ATTRIBUTES, .entry_timeout = DAY};
	fill(place, &entry->attr);
}

static void reply_made(fuse_req_t req, enum tree_kind kind, struct fuse_file_info *fi)
{
	struct fuse_entry_param entry;

	fill_entry(tree_made(kind, atomic_fetch_add(&made, 1)), &entry);
	if (fi)
		fuse_reply_create(req, &entry, fi);
	else
		fuse_reply_entry(req, &entry);
}

static void null_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	uint64_t place = tree_lookup(&tree, parent, name);
	struct fuse_entry_param entry;

	if (place == 0) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	fill_entry(place, &entry);
	fuse_reply_entry(req, &entry);
}

static void null_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st;

	(void)fi;
	fill(ino, &st);
	fuse_reply_attr(req, &st, ATTRIBUTES);
}

static void null_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
			 struct fuse_file_info *fi)
{
	(void)attr;
	(void)to_set;
	null_getattr(req, ino, fi);
}

static void null_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	fi->keep_cache = 1;
	fi->noflush = (fi->flags & O_ACCMODE) == O_RDONLY;
	fuse_reply_open(req, fi);
}

static void null_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
			struct fuse_file_info *fi)
{
	(void)parent;
	(void)name;
	(void)mode;
	reply_made(req, TREE_MADE_FILE, fi);
}

static void null_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	(void)parent;
	(void)name;
	(void)mode;
	reply_made(req, TREE_MADE_DIRECTORY, NULL);
}

static void null_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	(void)parent;
	(void)name;
	fuse_reply_err(req, 0);
}

static void null_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		      struct fuse_file_info *fi)
{
	uint64_t left, all = tree_size(&tree, ino);

	(void)fi;
	left = (uint64_t)off < all ? all - (uint64_t)off : 0;
	if (size > left)
		size = left;
	fuse_reply_buf(req, constant, size < READ_MAX ? size : READ_MAX);
}

static void null_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	(void)ino;
	(void)buf;
	(void)off;
	(void)fi;
	fuse_reply_write(req, size);
}

static void null_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	fuse_reply_err(req, 0);
}

/* The entry before offset i + 1, in a buffer of which `room` bytes are left; its size. */
static size_t add(fuse_req_t req, char *buf, size_t room, uint64_t place, off_t i, bool plus)
{
	struct fuse_entry_param entry;
	char name[TREE_NAME_MAX];

	if (i < DOTS) {
		strcpy(name, i == 0 ? "." : "..");
		fill_entry(place, &entry);
		if (plus)
			entry.ino = 0;
	} else {
		fill_entry(tree_child(&tree, place, (uint32_t)(i - DOTS), name), &entry);
	}
	if (plus)
		return fuse_add_direntry_plus(req, buf, room, name, &entry, i + 1);
	return fuse_add_direntry(req, buf, room, name, &entry.attr, i + 1);
}

static void list(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, bool plus)
{
	off_t end = (off_t)tree_count(&tree, ino) + DOTS;
	size_t used = 0;
	char *buf;

	if (size > REPLY_MAX)
		size = REPLY_MAX;
	buf = malloc(size);
	if (!buf) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	for (off_t i = off; i < end; i++) {
		size_t entry = add(req, buf + used, size - used, ino, i, plus);

		if (entry > size - used)
			break;
		used += entry;
	}
	fuse_reply_buf(req, buf, used);
	free(buf);
}

static void null_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
			 struct fuse_file_info *fi)
{
	(void)fi;
	list(req, ino, size, off, false);
}

static void null_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
			     struct fuse_file_info *fi)
{
	(void)fi;
	list(req, ino, size, off, true);
}

/* To the others, such as opendir, forget and release, libfuse replies by itself. */
static const struct fuse_lowlevel_ops operations = {
	.init = null_init,
	.lookup = null_lookup,
	.getattr = null_getattr,
	.setattr = null_setattr,
	.open = null_open,
	.create = null_create,
	.read = null_read,
	.write = null_write,
	.flush = null_flush,
	.mkdir = null_mkdir,
	.unlink = null_unlink,
	.rmdir = null_unlink,
	.readdir = null_readdir,
	.readdirplus = null_readdirplus,
};

static int serve(struct fuse_session *session, const char *mountpoint)
{
	struct fuse_loop_config *config;
	int rc;

	if (fuse_set_signal_handlers(session) != 0)
		return EXIT_FAILURE;
	if (fuse_session_mount(session, mountpoint) != 0)
		return EXIT_FAILURE;
	config = fuse_loop_cfg_create();
	rc = fuse_session_loop_mt(session, config);
	fuse_loop_cfg_destroy(config);
	fuse_session_unmount(session);
	fuse_remove_signal_handlers(session);
	return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	char *words[] = {argv[0], "-o", "subtype=null,fsname=null,default_permissions", NULL};
	struct fuse_args args = FUSE_ARGS_INIT(3, words);
	struct fuse_session *session;
	int status = EXIT_FAILURE;

	if (argc != 3 || !tree_parse(&tree, argv[1])) {
		fprintf(stderr, "usage: null ROWS,BELOW,FILES,LARGE,BIG MOUNTPOINT\n");
		return 2;
	}
	memset(constant, 'x', sizeof(constant));
	memcpy(constant, TREE_VALUE, strlen(TREE_VALUE));
	session = fuse_session_new(&args, &operations, sizeof(operations), NULL);
	if (session) {
		status = serve(session, argv[2]);
		fuse_session_destroy(session);
	}
	fuse_opt_free_args(&args);
	return status;
}
