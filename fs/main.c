/* SPDX-License-Identifier: MIT */
/*
 * rowfs: mounts a store. In the background a child serves; its parent exits with 0 when the child
 * is ready, or with the child's exit status.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/cache/cache_clock.h"
#include "fs/cache/notice.h"
#include "fs/dir/dir_scan.h"
#include "fs/file/lock.h"
#include "fs/live/live.h"
#include "fs/mount/mounter.h"
#include "fs/mount/mountpoint.h"
#include "fs/mount/process.h"
#include "fs/options.h"
#include "fs/report/errors.h"
#include "fs/serve/loop.h"
#include "lib/clock.h"
#include "lib/escape.h"
#include "lib/system/connection.h"
#include "lib/system/connector.h"
#include "lib/system/descriptors.h"
#include "lib/system/message.h"
#include "lib/system/mounts.h"
#include "lib/system/sandbox.h"
#include "lib/system/threads.h"

enum { EXIT_USAGE = 2, FSCK_LEFT = 4 /* of fsck.rowfs: faults are left */ };
enum { FILES_LEAST = 64 };
enum { ARENAS = 2 };		/* of malloc, see run */
#define SECOND INT64_C(1000000) /* microseconds */

/* The parent waits at the other end; -1: foreground, or already told. Set before the request loop
 * starts, then changed only by the thread that answers the first request. */
static int ready_fd = -1;
static const char *confined; /* the dropped privileges, in words */
static int none_fd = -1;     /* replaces 0 to 2 in the background; open while ready_fd is */

static const char *served; /* the store */

/* Has the mount; NULL: there is none, or another program made it. */
static const struct mounter *_Atomic mounted;

static int say(const char *what, const char *why)
{
	message("rowfs", "%s: %s", what, why);
	return EXIT_FAILURE;
}

/* Says a reason that names its place. */
static int say_why(const char *why)
{
	message("rowfs", "%s", why);
	return EXIT_FAILURE;
}

static void on_ready(struct fs *fs)
{
	(void)fs;
	if (ready_fd >= 0) {
		fs_log_init(true, false);
		for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
			dup2(none_fd, fd);
		close(none_fd);
		if (write(ready_fd, "", 1) != 1)
			fs_log(NULL, WCS_LOG_WARNING, "nobody waited for the mount to be ready");
		close(ready_fd);
		ready_fd = -1;
	}
	fs_log(NULL, WCS_LOG_INFO, confined);
}

/* The engine ends the process: nothing serves the mount any more. */
static void on_fatal(const char *why)
{
	char text[4096 + 256];

	if (mounted)
		mounter_leave(mounted);
	snprintf(text, sizeof(text), "%s: %s", served, why);
	fs_log(NULL, WCS_LOG_ERROR, text);
}

static struct fuse_session *session_new(const struct options *options, struct fs *fs)
{
	char *words[] = {(char[]){"rowfs"}, (char[]){"-o"}, NULL, (char[]){"-d"}};
	struct fuse_args args = FUSE_ARGS_INIT(options->debug ? 4 : 3, words);
	struct fuse_session *session = NULL;
	char *name = escape_bytes(fs->store_path, ",\\"); /* as libfuse parses -o */

	if (name &&
	    asprintf(&words[2], "subtype=rowfs,default_permissions,fsname=%s%s%s", name,
		     options->passed ? "," : "", options->passed ? options->passed : "") < 0)
		words[2] = NULL;
	if (words[2])
		session = fuse_session_new(&args, &fs_operations, sizeof(fs_operations), fs);
	fuse_opt_free_args(&args);
	free(words[2]);
	free(name);
	return session;
}

/* Ends the threads that send notices, while requests are still served: a notice may need that. The
 * readers of live files may be closing them, too. */
static void end_notices(struct fs *fs)
{
	live_end(fs->live);
	notices_end(fs);
	cache_clock_end(fs);
}

static int serve(struct fs *fs, struct mounter *mounter, const char *path)
{
	bool given = mountpoint_fd(path) >= 0;
	int rc;

	mounted = given ? NULL : mounter;
	rc = given ? fuse_session_mount(fs->session, path) : mounter_mount(mounter, fs->session);
	if (rc != 0)
		return say(path, "could not be mounted");
	rc = notices_start(fs);
	if (rc == 0)
		rc = cache_clock_start(fs, dir_scans_expire);
	if (rc == 0)
		rc = loop_run(fs, end_notices);
	if (rc != 0) /* loop_run may fail before it could call this; a second call does nothing */
		end_notices(fs);
	locks_end(fs->locks);
	mounted = NULL;
	if (!given && mounter_unmount(mounter, fs->session) != 0)
		fs_log(NULL, WCS_LOG_ERROR,
		       "could not be unmounted: the mounter or fusermount3 is missing, or the "
		       "directory above was closed; umount unmounts it, as root");
	if (rc != 0)
		fs_log(NULL, WCS_LOG_ERROR, strerror(-rc));
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* The log of the store. A warning of a request is in the errors, too. */
static void on_log(void *ctx, enum wcs_log_level level, const char *text)
{
	fs_log(NULL, level, text);
	if (level == WCS_LOG_WARNING && loop_request() != 0)
		errors_remark(ctx, loop_user(), "/", text);
}

/* Opens the store, and makes the state of all rooms. */
static int open_store(const struct options *options, struct fs *fs)
{
	struct wcs_options store = {.log = on_log,
				    .log_ctx = fs,
				    .interrupted = fs_interrupted,
				    .ends = fs_waits,
				    .fatal = on_fatal,
				    .cache_bytes = (size_t)options->cache << 20,
				    .sync = options->sync,
				    .gc_interval =
					    options->read_only ? 0 : options->gc_interval * SECOND,
				    .gc_grace = options->gc_grace * SECOND,
				    .heat = options->fs.keyvis,
				    .heat_in_memory = options->read_only};
	struct wcs_fault fault = {0};
	struct wcs_table *table = NULL;
	int rc;

	served = fs->store_path;
	rc = wcs_store_open(fs->store_path, &store, &fs->store, &fault);
	if (rc != 0)
		return say_why(fault.text);
	if (fs->options.table)
		rc = wcs_table_open(fs->store, fs->options.table, &table);
	if (rc != 0)
		return say(fs->options.table,
			   rc == -ENOENT ? "the store has no such table" : strerror(-rc));
	return fs_rooms_new(fs, table) ? EXIT_SUCCESS : say("mount", "no memory");
}

/* Starts the mounter, and drops all privileges that serving does not need. Priorities and limits
 * must be set before. */
static int shut_in(struct fs *fs, struct mounter *mounter, struct mountpoint *mountpoint)
{
	static char held[32];
	struct sandbox_place store;
	char why[256];
	int became, rc = mounter_start(mounter, fs, mountpoint, ready_fd, ready_fd >= 0);

	if (rc != 0)
		return say("fork", strerror(-rc));
	store = sandbox_store(fs->store_path);
	became = store.fd >= 0 ? sandbox_become(store.fd) : 0;
	if (became < 0)
		return say("its owner, as whom root serves a store", strerror(-became));
	if (became > 0 && access(fs->store_path, F_OK) != 0) {
		snprintf(why, sizeof(why),
			 "user %u, who owns it and as whom root serves it, may not enter a "
			 "directory above it: %s",
			 getuid(), strerror(errno));
		return say(fs->store_path, why);
	}
	rc = sandbox_enter(&store, 1, &confined);
	fs->store_fd = store.fd;
	snprintf(held, sizeof(held), "/proc/self/fd/%d", store.fd);
	fs->store_held = access(held, F_OK) == 0 ? held : fs->store_path; /* without /proc */
	if (rc >= 0 && ready_fd >= 0)					  /* for syslog */
		rc = connector_start();
	if (rc >= 0)
		rc = sandbox_harden(SYSCALLS_SERVER);
	return rc == 0 ? EXIT_SUCCESS : say("sandbox", strerror(-rc));
}

/* Checks the requirements of a mount that keeps its guarantees. The engine and each large value
 * being written need descriptors: raises the limit to its maximum. */
static int check_system(void)
{
	struct rlimit files;

	if (!process_can_tell())
		return say("mount",
			   "/proc is missing, or another pid namespace's, and writers could "
			   "not be told apart; mount one (unshare --mount-proc)");
	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return EXIT_SUCCESS;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	if (files.rlim_max >= FILES_LEAST)
		return EXIT_SUCCESS;
	return say("mount", "too few files may be open; allow more (ulimit -n 1024)");
}

/* The serving process; returns its exit status. */
static int run(const struct options *options, const char *store_path, struct mountpoint *mountpoint)
{
	struct fs fs = {.options = options->fs,
			.store_path = store_path,
			.store_fd = -1,
			.mounted = clock_now(),
			.mounter = getuid(),
			.ready = on_ready};
	struct mounter mounter = {.fd = -1, .clears = options->auto_unmount};
	int status;

	/* Each arena of malloc keeps free memory. The default of eight for each processor would
	 * exceed the maximum in semantics.md. */
	mallopt(M_ARENA_MAX, ARENAS);
	loop_block_signals();
	fs.session = session_new(options, &fs);
	if (!fs.session) { /* libfuse has said why */
		fputs("Try 'rowfs --help'.\n", stderr);
		return EXIT_USAGE;
	}
	status = shut_in(&fs, &mounter, mountpoint);
	if (status == EXIT_SUCCESS)
		status = open_store(options, &fs);
	if (status == EXIT_SUCCESS)
		status = serve(&fs, &mounter, mountpoint->path);
	fs_rooms_free(&fs);
	if (fs.store)
		wcs_store_close(fs.store);
	if (fs.store_fd >= 0)
		close(fs.store_fd);
	mounter_end(&mounter);
	connector_end();
	return status;
}

/* The parent waits until the child serves or ends. */
static int run_in_background(const struct options *options, const char *store,
			     struct mountpoint *mountpoint)
{
	int fds[2], status;
	pid_t child;
	char byte;

	if (pipe2(fds, O_CLOEXEC) != 0)
		return say("pipe", strerror(errno));
	none_fd = descriptors_open_none();
	if (none_fd < 0)
		return say("/", strerror(errno));
	child = fork();
	if (child < 0)
		return say("fork", strerror(errno));
	if (child == 0) {
		close(fds[0]);
		ready_fd = fds[1];
		setsid();
		if (chdir("/") != 0)
			return say("/", strerror(errno));
		return run(options, store, mountpoint);
	}
	close(fds[1]);
	if (read(fds[0], &byte, 1) == 1)
		return EXIT_SUCCESS;
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return say("mount", "the serving process died before it was ready; -f shows more");
	if (WEXITSTATUS(status) == EXIT_SUCCESS)
		return say("mount", "it was ended before it was ready");
	return WEXITSTATUS(status);
}

/* Are STORE and MOUNTPOINT exchanged? The second is looked at only if the first is no store: it may
 * be a mount whose server hangs. */
static bool is_exchanged(const struct options *options)
{
	char *why = NULL;
	bool exchanged = !mounts_has(options->store, MOUNTS_MARKER) &&
			 mounts_has(options->mountpoint, MOUNTS_MARKER);

	if (exchanged && asprintf(&why, "the store comes first: rowfs %s %s", options->mountpoint,
				  options->store) >= 0)
		say(options->mountpoint, why);
	free(why);
	return exchanged;
}

/* Runs the fsck.rowfs that is installed beside this program. */
static int check_store(const char *store)
{
	char path[4096], *words[] = {(char[]){"fsck.rowfs"}, (char[]){"-n"}, (char *)store, NULL};
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - sizeof("fsck.rowfs"));
	int status, rc;
	pid_t child;

	if (len < 0)
		return say("/proc/self/exe", strerror(errno));
	path[len] = '\0';
	strcpy(strrchr(path, '/') + 1, "fsck.rowfs");
	rc = posix_spawn(&child, path, NULL, NULL, words, environ);
	if (rc != 0)
		return say(path, strerror(rc));
	if (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return EXIT_SUCCESS;
	return say(store, WIFEXITED(status) && (WEXITSTATUS(status) & FSCK_LEFT)
				  ? "not mounted: fsck.rowfs -n found faults"
				  : "not mounted: fsck.rowfs -n could not check it");
}

/* Refuses a store that is a mount, or a directory in one. */
static bool is_mounted(const char *store)
{
	struct mounts_around around;
	bool found = mounts_around(store, &around);

	if (found)
		message("rowfs", "%s: not a store: %s is mounted at %s", store, around.store,
			around.place);
	return found;
}

/* Does the mountpoint lie in this store, or in another one, or is it another one? */
static bool lies_in_store(const struct mountpoint *mountpoint, const char *store)
{
	return mounts_covers(store, mountpoint->path) ||
	       mounts_has_at(mountpoint->directory, MOUNTS_MARKER) ||
	       mounts_has_at(mountpoint->parent, MOUNTS_MARKER);
}

static int prepare_and_run(const struct options *options)
{
	char *store = realpath(options->store, NULL), why[CONNECTION_WHY];
	int status = EXIT_FAILURE, error = errno, open_mount = mountpoint_fd(options->mountpoint);
	struct mountpoint mountpoint = {.directory = -1, .parent = -1};

	if (!options->foreground)
		descriptors_close_inherited(open_mount);
	if (store && is_mounted(store))
		status = EXIT_FAILURE;
	else if (is_exchanged(options))
		status = EXIT_USAGE;
	else if (!store && error == ENOENT)
		say(options->store, "there is no such directory; mkfs.rowfs makes a store");
	else if (!store)
		say(options->store, strerror(error));
	else if (options->allow_other && !options->default_permissions && open_mount >= 0)
		say("drop_privileges",
		    "with allow_other the option default_permissions is needed, too: without it "
		    "nobody's access would be checked");
	else if (connection_release(store, why) != 0)
		say_why(why);
	else if (check_system() == EXIT_SUCCESS &&
		 mountpoint_prepare(options->mountpoint, &mountpoint) == 0) {
		if (mounts_covers(mountpoint.path, store))
			say(mountpoint.path, "the store lies below it and would be hidden");
		else if (lies_in_store(&mountpoint, store))
			say(mountpoint.path, "it lies in a store, which keeps its own files there");
		else if (options->check && check_store(store) != EXIT_SUCCESS)
			status = EXIT_FAILURE;
		else if (options->foreground)
			status = run(options, store, &mountpoint);
		else
			status = run_in_background(options, store, &mountpoint);
	}
	mountpoint_close(&mountpoint);
	free(store);
	free(mountpoint.path);
	return status;
}

/* Standard output may be full. */
static int end_output(void)
{
	return fflush(stdout) == 0 ? 0 : say("standard output", strerror(errno));
}

int main(int argc, char **argv)
{
	struct options options;
	int status;

	threads_guard();
	signal(SIGPIPE, SIG_DFL); /* as in the other programs; the request loop ignores it */
	descriptors_open_standard();
	if (options_parse(argc, argv, &options) != 0)
		status = EXIT_USAGE;
	else if (options.help)
		status = fputs(options_usage, stdout) < 0 || end_output() != 0;
	else if (options.version)
		status = printf("rowfs %s\n", ROWFS_VERSION) < 0 || end_output() != 0;
	else if (options.status) {
		status = mounts_print(stdout);
		status =
			status == 0 ? end_output() : say("/proc/self/mountinfo", strerror(-status));
	} else {
		fs_log_init(false, options.debug);
		fuse_set_log_func(fs_log_fuse);
		status = prepare_and_run(&options);
	}
	options_clear(&options);
	return status;
}
