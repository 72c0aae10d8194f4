/* SPDX-License-Identifier: MIT */
/*
 * rowfs: mounts a store. What starts it learns whether it serves: the process that serves is a
 * child, whose parent ends when the child says that it is ready, or with its exit status.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache.h"
#include "draft.h"
#include "errors.h"
#include "fs.h"
#include "handle.h"
#include "lock.h"
#include "log.h"
#include "loop.h"
#include "memdir.h"
#include "metrics.h"
#include "mountpoint.h"
#include "node.h"
#include "notice.h"
#include "options.h"
#include "promise.h"
#include "writer.h"

enum { EXIT_USAGE = 2, BUSY_TRIES = 50, BUSY_PAUSE_US = 100000 };

/* The parent waits at the other end; -1: in the foreground, or told already. Set before the
 * request loop has threads, then changed by the one that answers the first request alone. */
static int ready_fd = -1;

static int say(const char *what, const char *why)
{
	fprintf(stderr, "rowfs: %s: %s\n", what, why);
	return EXIT_FAILURE;
}

/* Leaves the terminal alone, and lets the parent go. */
static void on_ready(struct fs *fs)
{
	int null;

	(void)fs;
	if (ready_fd < 0)
		return;
	log_init(true, false);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		close(null);
	}
	if (write(ready_fd, "", 1) != 1)
		fs_log(NULL, WCS_LOG_WARNING, "nobody waited for the mount to be ready");
	close(ready_fd);
	ready_fd = -1;
}

/* A value of -o, with what is special to libfuse's parser escaped. */
static char *escape(const char *value)
{
	char *escaped = malloc(2 * strlen(value) + 1), *to = escaped;

	if (!escaped)
		return NULL;
	for (; *value; value++) {
		if (*value == ',' || *value == '\\')
			*to++ = '\\';
		*to++ = *value;
	}
	*to = 0;
	return escaped;
}

static struct fuse_session *session_new(const struct options *options, struct fs *fs)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct fuse_session *session = NULL;
	char *name = escape(fs->store_path), *list = NULL;

	if (name &&
	    asprintf(&list, "subtype=rowfs,default_permissions,fsname=%s%s%s", name,
		     options->passed ? "," : "", options->passed ? options->passed : "") < 0)
		list = NULL;
	if (list && fuse_opt_add_arg(&args, "rowfs") == 0 && fuse_opt_add_arg(&args, "-o") == 0 &&
	    fuse_opt_add_arg(&args, list) == 0 &&
	    (!options->debug || fuse_opt_add_arg(&args, "-d") == 0))
		session = fuse_session_new(&args, &fs_operations, sizeof(fs_operations), fs);
	fuse_opt_free_args(&args);
	free(list);
	free(name);
	return session;
}

static int serve(struct fs *fs, const char *mountpoint)
{
	int rc;

	if (fuse_session_mount(fs->session, mountpoint) != 0)
		return say(mountpoint, "could not be mounted");
	rc = loop_run(fs);
	locks_end(fs->locks);
	fuse_session_unmount(fs->session);
	if (rc != 0)
		fs_log(NULL, WCS_LOG_ERROR, strerror(-rc));
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* A store that is in use and not mounted is one whose process is about to end, most likely. */
static int open_store(const struct options *options, struct fs *fs)
{
	struct wcs_options store = {.log = fs_log,
				    .cache_bytes = options->cache_bytes,
				    .sync = options->sync,
				    .gc_interval = options->read_only ? 0 : options->gc_interval,
				    .gc_grace = options->gc_grace};
	struct wcs_fault fault = {0};
	int rc = wcs_store_open(fs->store_path, &store, &fs->store, &fault);

	for (int i = 0; rc == -EBUSY && i < BUSY_TRIES && !mountpoint_serves(fs->store_path); i++) {
		usleep(BUSY_PAUSE_US);
		rc = wcs_store_open(fs->store_path, &store, &fs->store, &fault);
	}
	return rc == 0 ? EXIT_SUCCESS : say(options->store, fault.text);
}

static int make_nodes(struct fs *fs)
{
	struct wcs_table *table = NULL;
	int rc = 0;

	if (fs->options.table)
		rc = wcs_table_open(fs->store, fs->options.table, &table);
	if (rc != 0)
		return say(fs->options.table,
			   rc == -ENOENT ? "the store has no such table" : strerror(-rc));
	fs->nodes = nodes_new(table);
	if (!fs->nodes)
		wcs_table_close(table);
	fs->memdirs = memdirs_new();
	fs->caches = caches_new();
	fs->deferrals = cache_deferrals_new();
	fs->notices = notices_new();
	fs->writers = writers_new(fs->caches);
	fs->promises = promises_new();
	fs->drafts = drafts_new();
	fs->handles = handles_new();
	fs->locks = locks_new();
	fs->errors = errors_new();
	fs->metrics = metrics_new();
	if (!fs->nodes || !fs->memdirs || !fs->writers || !fs->promises || !fs->drafts ||
	    !fs->handles || !fs->locks || !fs->errors || !fs->metrics || !fs->caches ||
	    !fs->deferrals || !fs->notices)
		return say("mount", "no memory");
	return EXIT_SUCCESS;
}

/* Everything that the serving process does; returns its exit status. */
static int run(const struct options *options, const char *store_path, const char *mountpoint)
{
	struct fs fs = {.options = options->fs,
			.store_path = store_path,
			.mounted = fs_now(),
			.ready = on_ready};
	int status;

	loop_block_signals();
	fs.session = session_new(options, &fs);
	if (!fs.session)
		return EXIT_USAGE;
	status = open_store(options, &fs);
	if (status == EXIT_SUCCESS)
		status = make_nodes(&fs);
	if (status == EXIT_SUCCESS)
		status = serve(&fs, mountpoint);
	fuse_session_destroy(fs.session);
	handles_free(&fs, fs.handles);
	locks_free(fs.locks);
	notices_free(&fs, fs.notices);
	nodes_free(fs.nodes);
	memdirs_free(fs.memdirs);
	writers_free(fs.writers);
	promises_free(fs.promises);
	drafts_free(fs.drafts);
	errors_free(fs.errors);
	metrics_free(fs.metrics);
	cache_deferrals_free(fs.deferrals);
	caches_free(fs.caches);
	if (fs.store)
		wcs_store_close(fs.store);
	return status;
}

/* Waits until the child serves or ends. */
static int wait_ready(int fd, pid_t child)
{
	int status;
	char byte;

	if (read(fd, &byte, 1) == 1)
		return EXIT_SUCCESS;
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return say("mount", "the serving process died before it was ready");
	if (WEXITSTATUS(status) == EXIT_SUCCESS)
		return say("mount", "it was ended before it was ready");
	return WEXITSTATUS(status);
}

static int run_in_background(const struct options *options, const char *store,
			     const char *mountpoint)
{
	int fds[2];
	pid_t child;

	if (pipe2(fds, O_CLOEXEC) != 0)
		return say("pipe", strerror(errno));
	child = fork();
	if (child < 0)
		return say("fork", strerror(errno));
	if (child > 0) {
		close(fds[1]);
		return wait_ready(fds[0], child);
	}
	close(fds[0]);
	ready_fd = fds[1];
	setsid();
	if (chdir("/") != 0)
		return say("/", strerror(errno));
	return run(options, store, mountpoint);
}

static int prepare_and_run(const struct options *options)
{
	char *store = realpath(options->store, NULL), *mountpoint = NULL;
	int status = EXIT_FAILURE;

	if (!store)
		say(options->store, strerror(errno));
	else if (mountpoint_prepare(options->mountpoint, &mountpoint) == 0) {
		if (mountpoint_covers(mountpoint, store))
			say(mountpoint, "the store lies below it and would be hidden");
		else if (options->foreground)
			status = run(options, store, mountpoint);
		else
			status = run_in_background(options, store, mountpoint);
	}
	free(store);
	free(mountpoint);
	return status;
}

/* What was printed may not fit where it goes. */
static int end_output(void)
{
	return fflush(stdout) == 0 ? 0 : say("standard output", strerror(errno));
}

int main(int argc, char **argv)
{
	struct options options;
	int status;

	if (options_parse(argc, argv, &options) != 0)
		status = EXIT_USAGE;
	else if (options.help)
		status = fputs(options_usage, stdout) < 0 || end_output() != 0;
	else if (options.version)
		status = printf("rowfs %s\n", ROWFS_VERSION) < 0 || end_output() != 0;
	else {
		log_init(false, options.debug);
		fuse_set_log_func(log_fuse);
		status = prepare_and_run(&options);
	}
	options_clear(&options);
	return status;
}
