/* SPDX-License-Identifier: MIT */
/* The mounts of rowfs: the kernel's list, and the lock of each store. */
#include "lib/system/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/system/descriptors.h"
#include "lib/utf8.h"

#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x4000U
#endif

bool mounts_has_at(int directory, const char *name)
{
	struct stat st;

	return fstatat(directory, name, &st, 0) == 0 && S_ISREG(st.st_mode);
}

bool mounts_has(const char *directory, const char *name)
{
	int fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool has = fd >= 0 && mounts_has_at(fd, name);

	if (fd >= 0)
		close(fd);
	return has;
}

FILE *mounts_open(void)
{
	return fopen("/proc/self/mountinfo", "re");
}

/* Decodes a field in place. getmntent(3) does not decode \043, a '#'. */
static const char *mounts_decode(char *field)
{
	char *to = field;

	for (const char *from = field; *from; to++) {
		if (*from == '\\' && strspn(from + 1, "01234567") >= 3) {
			*to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
	return field;
}

/* Fields: id, parent, device, root, mountpoint, options, any number of tags, "-", type, source. */
bool mounts_next(FILE *mounts, struct mounts_entry *entry)
{
	static char *line;
	static size_t room;
	char *fields[5], *word, *rest;

	if (getline(&line, &room, mounts) < 0)
		return false;
	rest = line;
	for (size_t i = 0; i < 5; i++)
		fields[i] = strsep(&rest, " ");
	while ((word = strsep(&rest, " ")) && strcmp(word, "-") != 0)
		;
	word = strsep(&rest, " ");
	if (!rest || sscanf(fields[2], "%*u:%u", &entry->number) != 1)
		return false;
	entry->rowfs = strcmp(word, "fuse.rowfs") == 0;
	entry->what = mounts_decode(strsep(&rest, " "));
	entry->options = rest ? rest : "";
	entry->where = mounts_decode(fields[4]);
	return true;
}

/* With an empty mask the kernel also tells the device of a mount that is closed to this user. */
int mounts_identify(int fd, struct mounts_id *id)
{
	const int how = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
	struct statx st;

	if (statx(fd, "", how, STATX_MNT_ID_UNIQUE, &st) != 0 && statx(fd, "", how, 0, &st) != 0)
		return -errno;
	*id = (struct mounts_id){.mount = st.stx_mnt_id,
				 .device = makedev(st.stx_dev_major, st.stx_dev_minor)};
	return 0;
}

char *mounts_place(const char *store, bool (*answers)(const char *place))
{
	FILE *mounts = mounts_open();
	struct mounts_entry entry;
	char *place = NULL;

	while (mounts && !place && mounts_next(mounts, &entry))
		if (entry.rowfs && strcmp(entry.what, store) == 0 &&
		    (!answers || answers(entry.where)))
			place = strdup(entry.where);
	if (mounts)
		fclose(mounts);
	return place;
}

bool mounts_covers(const char *directory, const char *path)
{
	size_t len = strlen(directory);

	if (strcmp(directory, "/") == 0)
		return true;
	return strncmp(path, directory, len) == 0 && (path[len] == 0 || path[len] == '/');
}

bool mounts_around(const char *path, struct mounts_around *around)
{
	FILE *mounts = mounts_open();
	struct mounts_entry entry;
	bool found = false;
	size_t longest = 0;

	while (mounts && mounts_next(mounts, &entry)) {
		size_t len = strlen(entry.where);

		if (len < longest || !mounts_covers(entry.where, path))
			continue;
		longest = len;
		found = entry.rowfs;
		snprintf(around->store, sizeof(around->store), "%s", entry.what);
		snprintf(around->place, sizeof(around->place), "%s", entry.where);
	}
	if (mounts)
		fclose(mounts);
	return found;
}

pid_t mounts_holder(const char *store)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int dir = *store == '/' ? open(store, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	int fd = dir < 0 ? -1 : openat(dir, "LOCK", O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	bool known = fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0;

	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
	if (!known || (lock.l_type != F_UNLCK && lock.l_pid <= 0))
		return -1;
	return lock.l_type == F_UNLCK ? 0 : lock.l_pid;
}

enum { STATUS_MAX = 2048 };

/* Reads /proc/PID/status; "" if there is no process. */
static void mounts_status(pid_t process, char text[STATUS_MAX])
{
	ssize_t len = 0;
	char path[32];
	int fd = -1;

	snprintf(path, sizeof(path), "/proc/%ld/status", (long)process);
	if (process > 0)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		len = read(fd, text, STATUS_MAX - 1);
		close(fd);
	}
	text[len > 0 ? len : 0] = '\0';
}

bool mounts_serves(pid_t process)
{
	static const char name[] = "Name:\trowfs\n";
	char text[STATUS_MAX];

	mounts_status(process, text);
	return strncmp(text, name, sizeof(name) - 1) == 0;
}

/* The first thread of a killed process is a zombie until all others have ended; before, SIGKILL is
 * pending (bit 8). */
bool mounts_dying(pid_t process)
{
	char text[STATUS_MAX];
	unsigned long long own = 0, shared = 0;
	const char *at;

	mounts_status(process, text);
	at = strstr(text, "\nSigPnd:");
	if (at)
		sscanf(at, " SigPnd: %llx ShdPnd: %llx", &own, &shared);
	return strstr(text, "\nState:\tZ") != NULL || ((own | shared) & 1 << (SIGKILL - 1)) != 0;
}

/* A path, with backslashes, hostile characters and bytes that are not UTF-8 as \OOO, as
 * /proc/self/mounts spells bytes. */
static void mounts_put(const char *path, FILE *to)
{
	size_t len;

	for (; *path; path += len) {
		const unsigned char *at = (const unsigned char *)path;
		bool plain;

		len = utf8_character(at, strnlen(path, 4));
		plain = len > 0 && *path != '\\' && !utf8_hostile(utf8_point(at, len));
		len = len > 0 ? len : 1;
		for (size_t i = 0; i < len; i++)
			fprintf(to, plain ? "%c" : "\\%03o", at[i]);
	}
	fputc('\t', to);
}

/* ---- The version of a server ------------------------------------------------------------- */

enum { VERSION_MAX = 64 };

/* Becomes the user who mounted, since the kernel lets no other one in, not even root. */
static bool mounts_become(const char *options)
{
	const char *at = strstr(options, "user_id=");
	unsigned user, group;

	if (geteuid() != 0)
		return true;
	if (!at || sscanf(at, "user_id=%u,group_id=%u", &user, &group) != 2)
		return false;
	return user == 0 || (setgroups(0, NULL) == 0 && setresgid(group, group, group) == 0 &&
			     setresuid(user, user, user) == 0);
}

/* The child: writes the beginning of the mount's .rowfs/version to a pipe. It holds no other file
 * of the program's, for it may never end. */
static _Noreturn void mounts_ask(const struct mounts_entry *entry, int into)
{
	char path[PATH_MAX + 16], text[VERSION_MAX];
	ssize_t len = -1;
	int fd = -1;

	for (int std = STDIN_FILENO; std <= STDERR_FILENO; std++)
		close(std);
	descriptors_close_inherited(into);
	snprintf(path, sizeof(path), "%s/.rowfs/version", entry->where);
	if (mounts_become(entry->options))
		fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0) {
		len = read(fd, text, sizeof(text));
		close(fd);
	}
	_exit(len > 0 && write(into, text, (size_t)len) == len ? 0 : 1);
}

/* A child asks the server, which may hang, or be another user's and answer anything. */
static void mounts_version(const struct mounts_entry *entry, char version[VERSION_MAX])
{
	static const char letters[] = "0123456789.-+~abcdefghijklmnopqrstuvwxyz";
	char text[VERSION_MAX] = "";
	struct pollfd pipe_end = {.events = POLLIN};
	size_t len;
	int fds[2];
	pid_t child;

	strcpy(version, "?");
	if (pipe2(fds, O_CLOEXEC) != 0)
		return;
	child = fork();
	if (child == 0)
		mounts_ask(entry, fds[1]);
	close(fds[1]);
	pipe_end.fd = fds[0];
	if (child > 0 && poll(&pipe_end, 1, MOUNTS_PATIENCE) > 0 &&
	    read(fds[0], text, sizeof(text) - 1) > 0 && strncmp(text, "rowfs ", 6) == 0) {
		len = strspn(text + 6, letters);
		if (len > 0 && text[6 + len] == '\n')
			snprintf(version, VERSION_MAX, "%.*s", (int)len, text + 6);
	}
	close(fds[0]);
	if (child > 0) {
		kill(child, SIGKILL);
		/* One that has not ended yet stays a zombie until this program ends. */
		waitpid(child, NULL, WNOHANG);
	}
}

int mounts_print(FILE *to)
{
	FILE *mounts = mounts_open();
	struct mounts_entry entry;
	char version[VERSION_MAX];

	if (!mounts)
		return -errno;
	while (mounts_next(mounts, &entry)) {
		pid_t pid;

		if (!entry.rowfs)
			continue;
		pid = mounts_holder(entry.what);
		if (mounts_dying(pid))
			pid = 0;
		mounts_put(entry.what, to);
		mounts_put(entry.where, to);
		if (pid == 0) {
			fputs("dead\n", to);
			continue;
		}
		mounts_version(&entry, version);
		if (pid > 0)
			fprintf(to, "%ld\t%s\n", (long)pid, version);
		else
			fprintf(to, "?\t%s\n", version);
	}
	fclose(mounts);
	return 0;
}
