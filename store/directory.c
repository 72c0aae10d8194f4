/* SPDX-License-Identifier: MIT */
/*
 * The directory of a store:
 *
 *   ROWFS   what this is, as text: "rowfs store", "format 1", "engine NAME", "created MICROSECONDS"
 *   LOCK    empty; who has the store open holds a write lock (fcntl) on it
 *   …       the engine's own
 *
 * fcntl locks exclude processes only, and closing any descriptor of the file drops them. So this
 * process keeps a list of the directories that it has open, and looks there before it opens LOCK.
 * A child of fork inherits the list but no lock: an entry counts in the process that made it.
 */
#include "directory.h"

#include "backend.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define DIRECTORY_MARKER_MAX 4096	   /* bytes */
#define DIRECTORY_NAME_MAX   120	   /* bytes of a path in a fault */
#define DIRECTORY_TITLE	     "rowfs store" /* first line of the marker */

struct directory {
	char *path;
	int fd;
	int lock_fd;
	dev_t dev;
	ino_t ino;
	pid_t pid; /* who locked it */
	struct directory *next;
};

static pthread_mutex_t directory_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct directory *directory_list; /* those that are locked; guarded by directory_mutex */

const char *directory_name(const char *path)
{
	size_t len = strlen(path);

	return len > DIRECTORY_NAME_MAX ? path + len - DIRECTORY_NAME_MAX : path;
}

int directory_error(int error)
{
	switch (error) {
	case ENOENT:
	case EEXIST:
	case EBUSY:
	case EROFS:
	case ENOSPC:
	case ENOMEM:
	case EFBIG:
		return -error;
	case ENOTDIR:
		return -ENOENT;
	case EDQUOT:
		return -ENOSPC;
	default:
		return -EIO;
	}
}

const char *directory_path(const struct directory *directory)
{
	return directory->path;
}

bool directory_is(const struct directory *directory, int parent, const char *name)
{
	struct stat st;

	return fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_dev == directory->dev && st.st_ino == directory->ino;
}

int directory_space(const struct directory *directory, struct wcs_space *space)
{
	struct statvfs found;

	if (fstatvfs(directory->fd, &found) != 0)
		return directory_error(errno);
	space->total = (uint64_t)found.f_blocks * found.f_frsize;
	space->free = (uint64_t)found.f_bavail * found.f_frsize;
	return 0;
}

/* Reads the marker as text. An errno in errno, and -1, where it cannot be. */
static int directory_load_marker(int fd, char *text, size_t room)
{
	int file = openat(fd, DIRECTORY_MARKER, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t got;

	if (file < 0)
		return -1;
	got = read(file, text, room - 1);
	close(file);
	if (got >= 0)
		text[got] = '\0';
	return got < 0 ? -1 : 0;
}

static bool directory_has_file(int fd)
{
	struct stat st;

	return fstatat(fd, DIRECTORY_MARKER, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

/* A file of that name alone is no marker: other programs' directories may have one. */
bool directory_has_marker(int fd)
{
	char text[sizeof(DIRECTORY_TITLE "\n")];

	return directory_has_file(fd) && directory_load_marker(fd, text, sizeof(text)) == 0 &&
	       strcmp(text, DIRECTORY_TITLE "\n") == 0;
}

/* ---- Opening and locking ----------------------------------------------------------------- */

static int directory_fail(struct wcs_fault *fault, const char *path, const char *what)
{
	int error = errno;

	return wcs_fault_set(fault, directory_error(error), "%s: %s: %s", directory_name(path),
			     what, strerror(error));
}

static int directory_find(const char *path, struct directory *directory, struct wcs_fault *fault)
{
	struct stat st;

	directory->path = realpath(path, NULL);
	if (directory->path == NULL && (errno == ENOENT || errno == ENOTDIR))
		return wcs_fault_set(fault, -ENOENT,
				     "%s: there is no such directory; mkfs.rowfs makes a store",
				     directory_name(path));
	if (directory->path == NULL)
		return directory_fail(fault, path, "cannot be found");
	directory->fd = open(directory->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (directory->fd < 0 && errno == ENOTDIR)
		return wcs_fault_set(fault, -ENOENT,
				     "%s: not a rowfs store: a store is a directory",
				     directory_name(path));
	if (directory->fd < 0 || fstat(directory->fd, &st) != 0)
		return directory_fail(fault, path, "cannot be opened");
	if (!directory_has_file(directory->fd))
		return wcs_fault_set(fault, -ENOENT,
				     "%s: not a rowfs store: it has no file " DIRECTORY_MARKER
				     "; mkfs.rowfs makes a store",
				     directory_name(path));
	/* Before LOCK is made there: it may be another program's. */
	if (!directory_has_marker(directory->fd))
		return wcs_fault_set(
			fault, -EIO,
			"%s/" DIRECTORY_MARKER
			": damaged, or not a store's; put it back from a copy of the store",
			directory_name(directory->path));
	directory->dev = st.st_dev;
	directory->ino = st.st_ino;
	return 0;
}

static int directory_busy(const struct directory *directory, pid_t pid, struct wcs_fault *fault)
{
	if (pid > 0)
		return wcs_fault_set(fault, -EBUSY,
				     "%s: in use by process %ld; unmount it or end that program",
				     directory_name(directory->path), (long)pid);
	return wcs_fault_set(fault, -EBUSY,
			     "%s: in use by another process; unmount it or end that program",
			     directory_name(directory->path));
}

static int directory_set_lock(const struct directory *directory, struct wcs_fault *fault)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (fcntl(directory->lock_fd, F_SETLK, &lock) == 0)
		return 0;
	if (errno != EAGAIN && errno != EACCES)
		return directory_fail(fault, directory->path, "its LOCK cannot be taken");
	if (fcntl(directory->lock_fd, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK)
		lock.l_pid = 0;
	return directory_busy(directory, lock.l_pid, fault);
}

/* The caller holds directory_mutex. */
static int directory_lock(struct directory *directory, struct wcs_fault *fault)
{
	struct stat st;
	int rc;

	for (const struct directory *other = directory_list; other != NULL; other = other->next)
		if (other->dev == directory->dev && other->ino == directory->ino &&
		    other->pid == directory->pid)
			return directory_busy(directory, other->pid, fault);
	directory->lock_fd = openat(directory->fd, DIRECTORY_LOCK,
				    O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (directory->lock_fd < 0)
		return directory_fail(fault, directory->path, "its LOCK cannot be opened");
	rc = directory_set_lock(directory, fault);
	if (rc != 0)
		return rc;
	/* Another store may have taken the place of the one that was found. */
	if (stat(directory->path, &st) != 0 || st.st_dev != directory->dev ||
	    st.st_ino != directory->ino)
		return wcs_fault_set(fault, -EBUSY, "%s: it was just replaced; try again",
				     directory_name(directory->path));
	directory->next = directory_list;
	directory_list = directory;
	return 0;
}

static void directory_free(struct directory *directory)
{
	if (directory->lock_fd >= 0)
		close(directory->lock_fd);
	if (directory->fd >= 0)
		close(directory->fd);
	free(directory->path);
	free(directory);
}

int directory_open(const char *path, struct directory **directory, struct wcs_fault *fault)
{
	struct directory *made = calloc(1, sizeof(*made));
	int rc;

	if (made == NULL)
		return wcs_fault_set(fault, -ENOMEM, "%s: no memory", directory_name(path));
	made->fd = -1;
	made->lock_fd = -1;
	made->pid = getpid();
	rc = directory_find(path, made, fault);
	if (rc == 0) {
		pthread_mutex_lock(&directory_mutex);
		rc = directory_lock(made, fault);
		pthread_mutex_unlock(&directory_mutex);
	}
	if (rc == 0)
		*directory = made;
	else
		directory_free(made);
	return rc;
}

void directory_close(struct directory *directory)
{
	struct directory **link = &directory_list;

	if (directory == NULL)
		return;
	pthread_mutex_lock(&directory_mutex);
	while (*link != NULL && *link != directory)
		link = &(*link)->next;
	if (*link == directory)
		*link = directory->next;
	directory_free(directory);
	pthread_mutex_unlock(&directory_mutex);
}

/* ---- The marker -------------------------------------------------------------------------- */

/* Splits the next line off the text: returns what stands behind word in it, or NULL. */
static char *directory_line(char **text, const char *word)
{
	char *line = *text;
	char *end = strchr(line, '\n');
	size_t len = strlen(word);

	if (end == NULL || strncmp(line, word, len) != 0)
		return NULL;
	*end = '\0';
	*text = end + 1;
	return line + len;
}

/* Decimal digits only. -1: it is none, or too large. */
static int64_t directory_number(const char *text)
{
	char *end;
	intmax_t number;

	if (*text < '0' || *text > '9')
		return -1;
	errno = 0;
	number = strtoimax(text, &end, 10);
	return errno != 0 || *end != '\0' ? -1 : number;
}

/* Changes text. -EINVAL: it is not of the form; *format is 0 until the format is known. */
static int directory_parse(char *text, int64_t *format, struct directory_marker *marker)
{
	char *line = directory_line(&text, DIRECTORY_TITLE);

	if (line == NULL || *line != '\0')
		return -EINVAL;
	line = directory_line(&text, "format ");
	if (line == NULL || directory_number(line) < 1)
		return -EINVAL;
	*format = directory_number(line);
	line = directory_line(&text, "engine ");
	if (line == NULL || *line == '\0' || strlen(line) >= sizeof(marker->engine))
		return -EINVAL;
	strcpy(marker->engine, line);
	line = directory_line(&text, "created ");
	if (line == NULL || directory_number(line) < 0)
		return -EINVAL;
	marker->created = directory_number(line);
	return *text == '\0' ? 0 : -EINVAL;
}

int directory_read_marker(const struct directory *directory, struct directory_marker *marker,
			  struct wcs_fault *fault)
{
	const char *name = directory_name(directory->path);
	char text[DIRECTORY_MARKER_MAX];
	struct directory_marker found;
	int64_t format = 0;
	int rc;

	if (directory_load_marker(directory->fd, text, sizeof(text)) != 0)
		return directory_fail(fault, directory->path, DIRECTORY_MARKER " cannot be read");
	rc = directory_parse(text, &format, &found);
	if (format > DIRECTORY_FORMAT)
		return wcs_fault_set(fault, -EPROTO,
				     "%s: its format is %" PRId64 " and this program knows up to "
				     "%d; use a newer rowfs",
				     name, format, DIRECTORY_FORMAT);
	if (rc != 0)
		return wcs_fault_set(fault, -EIO,
				     "%s/" DIRECTORY_MARKER
				     ": damaged; put it back from a copy of the store",
				     name);
	*marker = found;
	return 0;
}

static int directory_write(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t put = write(fd, text, len);

		if (put < 0)
			return directory_error(errno);
		text += put;
		len -= (size_t)put;
	}
	return 0;
}

int directory_fill(int fd, const struct directory_marker *marker)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	char text[256];
	int len = snprintf(text, sizeof(text),
			   DIRECTORY_TITLE "\nformat %d\nengine %s\ncreated %" PRId64 "\n",
			   DIRECTORY_FORMAT, marker->engine, marker->created);
	int file = openat(fd, DIRECTORY_MARKER, flags, 0600);
	int rc;

	if (file < 0)
		return directory_error(errno);
	rc = directory_write(file, text, (size_t)len);
	close(file);
	if (rc != 0)
		return rc;
	file = openat(fd, DIRECTORY_LOCK, flags, 0600);
	if (file < 0)
		return directory_error(errno);
	close(file);
	return 0;
}
