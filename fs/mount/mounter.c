/* SPDX-License-Identifier: MIT */
/*
 * The serving process sends one byte for each command. The answer to a mount is one byte, and the
 * descriptor of /dev/fuse with it. The mounter closes its own copy: the kernel ends a mount
 * when its last descriptor is closed, so the mount of a killed server becomes dead.
 *
 * A thread of a killed server that hangs in the kernel keeps /dev/fuse and the socket open, and
 * the server's pidfd silent. The server's first thread therefore holds a robust mutex in shared
 * memory, whose next owner the kernel wakes when that thread ends: the mounter, which aborts the
 * connection. PR_SET_PDEATHSIG does not get out of the server's sandbox.
 *
 * libfuse's helper for auto_unmount (3.14) does not clear the mount of an ordinary user, because it
 * may not access that mount. The mounter therefore clears it itself.
 */
#include "fs/mount/mounter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fs/fs.h"
#include "fs/mount/mountpoint.h"
#include "fs/mount/privilege.h"
#include "lib/system/connection.h"
#include "lib/system/descriptors.h"
#include "lib/system/message.h"
#include "lib/system/syscalls.h"
#include "lib/system/threads.h"

enum {
	MOUNTER_MOUNT = 'm',
	MOUNTER_UNMOUNT = 'u', /* without an answer: the mounter ends with it */
	MOUNTER_END = 'e',     /* without an answer */
	MOUNTER_DONE = 'd',
	MOUNTER_FAILED = 'f'
};
enum { DYING_TRIES = 1000, HANGING_TRIES = 100, DYING_PAUSE_NS = 10000000 };

/* ---- The mounter's process --------------------------------------------------------------- */

/* A mount, and the process that serves it. */
struct mounter_watch {
	pthread_mutex_t *alive;
	pid_t server;
	int connection;			     /* for connection_abort */
	const struct mountpoint *mountpoint; /* NULL: an open mount's, unknown */
};

/* Waits for the end of the server. False: it is still there. */
static bool mounter_await_end(pid_t server, int tries)
{
	const struct timespec nap = {.tv_nsec = DYING_PAUSE_NS};

	for (int i = 0; i < tries && getppid() == server; i++)
		nanosleep(&nap, NULL);
	return getppid() != server;
}

/* A thread. Without fusectl the abort opens the mount's root. Programs that unmount a mount whose
 * server has ended would find it busy, so the thread first waits whether the server ends by itself.
 */
static void *mounter_watch(void *arg)
{
	const struct mounter_watch *watch = arg;

	int root = -1;

	if (pthread_mutex_lock(watch->alive) != EOWNERDEAD)
		return NULL;
	if (watch->connection < 0 && mounter_await_end(watch->server, HANGING_TRIES))
		return NULL;
	if (watch->connection < 0 && watch->mountpoint)
		root = mountpoint_open_root(watch->mountpoint);
	connection_abort(watch->connection, root);
	if (root >= 0)
		close(root);
	return NULL;
}

/* Replaces descriptors by one that can be neither read nor written. The numbers stay in use, so a
 * later close of them hits no other file. mount: of /dev/fuse. */
static void mounter_let_go(int mount, bool quiet)
{
	int none = descriptors_open_none();

	if (none < 0 || dup2(none, mount) < 0)
		close(mount);
	for (int i = STDIN_FILENO; quiet && i <= STDERR_FILENO; i++)
		if (none < 0 || dup2(none, i) < 0)
			close(i);
	if (none >= 0)
		close(none);
}

/* Mounts, and finds the mount. root does both by descriptors, others by the path. */
static bool mounter_make(struct fuse_session *session, struct mountpoint *mountpoint)
{
	bool direct = privilege_mounts();
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", mountpoint->directory);
	if (direct && !mountpoint_stays(mountpoint))
		return false;
	if (fuse_session_mount(session, direct ? link : mountpoint->path) != 0)
		return false;
	return mountpoint_mounted(mountpoint, fuse_session_fd(session)) || !direct;
}

/* false: the server ended without MOUNTER_END. */
static bool mounter_serve(int fd, struct fuse_session *session, struct mountpoint *mountpoint,
			  bool quiet, struct mounter_watch *watch)
{
	pthread_t thread;
	char what;
	int none, rc;

	if (descriptors_receive(fd, &what, &none) != 0)
		return false;
	if (what == MOUNTER_MOUNT) {
		if (!mounter_make(session, mountpoint)) {
			descriptors_send(fd, MOUNTER_FAILED, -1);
			return true;
		}
		watch->mountpoint = mountpoint;
		watch->connection = connection_open(minor(mountpoint->mount.device));
		rc = privilege_mounts() ? syscalls_confine(SYSCALLS_MOUNTED) : 0;
		threads_start(&thread, mounter_watch, watch);
		if (rc == 0)
			rc = descriptors_send(fd, MOUNTER_DONE, fuse_session_fd(session));
		mounter_let_go(fuse_session_fd(session), quiet);
		if (rc != 0)
			return true;
		if (descriptors_receive(fd, &what, &none) != 0)
			return false;
	}
	if (what == MOUNTER_UNMOUNT)
		mountpoint_unmount(mountpoint);
	return true;
}

/* The mounter that starts no fusermount3 keeps only the privileges and calls of its own work. */
static int mounter_confine(const struct mountpoint *mountpoint)
{
	struct stat st;

	if (mountpoint->directory < 0)
		return privilege_confine(false);
	if (!privilege_mounts())
		return 0;
	if (fstat(mountpoint->parent, &st) != 0)
		return -errno;
	return privilege_confine(st.st_uid != geteuid());
}

/* The whole life of the mounter's process. fd: its end of the connection. */
static _Noreturn void mounter_run(const struct mounter *mounter, int fd, const struct fs *fs,
				  struct mountpoint *mountpoint, pid_t server, bool quiet)
{
	struct mounter_watch watch = {.alive = mounter->alive, .server = server, .connection = -1};
	int rc, open_mount = mountpoint_fd(mountpoint->path);
	pthread_t thread;

	prctl(PR_SET_NAME, "rowfs-mounter");
	rc = mounter_confine(mountpoint);
	if (rc != 0) {
		message("rowfs", "mounter: %s", strerror(-rc));
		_exit(1);
	}
	if (open_mount >= 0) {
		watch.connection = connection_open(connection_number(open_mount));
		if (watch.connection < 0)
			watch.connection = connection_open_store(fs->store_path);
		mounter_let_go(open_mount, quiet);
		threads_start(&thread, mounter_watch, &watch);
	}
	/* The mount is dead once the server is gone. */
	if (!mounter_serve(fd, fs->session, mountpoint, quiet, &watch) && mounter->clears &&
	    open_mount < 0 && mounter_await_end(server, DYING_TRIES))
		mountpoint_clear(mountpoint);
	_exit(0);
}

/* ---- The serving process ----------------------------------------------------------------- */

/* A mutex that this thread holds until it ends. It is shared with processes that are forked later.
 * NULL: no memory. */
static pthread_mutex_t *mounter_live(void)
{
	pthread_mutex_t *alive = mmap(NULL, sizeof(*alive), PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t kind;

	if (alive == MAP_FAILED)
		return NULL;
	pthread_mutexattr_init(&kind);
	pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(alive, &kind);
	pthread_mutexattr_destroy(&kind);
	pthread_mutex_lock(alive);
	return alive;
}

int mounter_start(struct mounter *mounter, const struct fs *fs, struct mountpoint *mountpoint,
		  int leave, bool quiet)
{
	pid_t child, server = getpid();
	int fds[2];

	mounter->alive = mounter_live();
	if (!mounter->alive)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
		return -errno;
	child = fork();
	if (child < 0) {
		int rc = -errno;

		close(fds[0]);
		close(fds[1]);
		return rc;
	}
	close(fds[child == 0 ? 0 : 1]);
	if (child > 0) {
		mounter->fd = fds[0];
		mounter->process = child;
		mountpoint_close(mountpoint);
		return 0;
	}
	if (leave >= 0)
		close(leave);
	mounter_run(mounter, fds[1], fs, mountpoint, server, quiet);
}

int mounter_mount(const struct mounter *mounter, struct fuse_session *session)
{
	char answer = MOUNTER_FAILED, path[32];
	int fd = -1, rc = descriptors_send(mounter->fd, MOUNTER_MOUNT, -1);

	if (rc == 0)
		rc = descriptors_receive(mounter->fd, &answer, &fd);
	if (rc != 0 || answer != MOUNTER_DONE || fd < 0)
		return -EIO;
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	if (fuse_session_mount(session, path) != 0) {
		close(fd);
		descriptors_send(mounter->fd, MOUNTER_UNMOUNT, -1);
		return -EIO;
	}
	return 0;
}

/* Sends the last command and waits for the end of the mounter. -EIO: the mounter or fusermount3 is
 * missing, or the mount cannot be reached. A failure of fusermount3 is none: another process may
 * have unmounted before. */
static int mounter_finish(struct mounter *mounter, char what)
{
	int rc, status = 0;

	if (mounter->fd < 0)
		return 0;
	rc = descriptors_send(mounter->fd, what, -1);
	close(mounter->fd);
	mounter->fd = -1;
	if (waitpid(mounter->process, &status, 0) < 0 || !WIFEXITED(status) ||
	    WEXITSTATUS(status) == MOUNTPOINT_LEFT)
		rc = -EIO;
	return rc == 0 ? 0 : -EIO;
}

int mounter_unmount(struct mounter *mounter, struct fuse_session *session)
{
	struct pollfd kernel = {.fd = fuse_session_fd(session)};

	if (poll(&kernel, 1, 0) == 1 && kernel.revents & POLLERR) {
		mounter_end(mounter); /* now, since it keeps the directory's filesystem busy */
		return 0;
	}
	return mounter_finish(mounter, MOUNTER_UNMOUNT);
}

void mounter_leave(const struct mounter *mounter)
{
	descriptors_send(mounter->fd, MOUNTER_UNMOUNT, -1);
}

void mounter_end(struct mounter *mounter)
{
	mounter_finish(mounter, MOUNTER_END);
}
