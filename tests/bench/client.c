/* SPDX-License-Identifier: MIT */
/* The calls that clients of a mount make: see client.h. */
#include "tests/bench/client.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/measure.h"
#include "tests/bench/peer.h"

enum { PATH_SIZE = 300, PIECE = 1 << 20 };
#define STRIDE UINT64_C(1000003) /* a prime: steps of it meet every number once */

static void join(const struct client *client, char *path, const char *below)
{
	snprintf(path, PATH_SIZE, "%s/%s", client->mount, below);
}

static DIR *directory_open(const struct client *client, const char *below)
{
	char path[PATH_SIZE];
	DIR *dir;

	join(client, path, below);
	dir = opendir(path);
	if (!dir)
		peer_die(path, errno);
	return dir;
}

static int directory_fd(const struct client *client, const char *below)
{
	char path[PATH_SIZE];
	int fd;

	join(client, path, below);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		peer_die(path, errno);
	return fd;
}

/* The name of the i-th file of a client, in a sequence that looks like chance. */
static void random_name(const struct client *client, uint32_t i, char *name)
{
	uint64_t at = (uint64_t)i * client->all + client->number + client->round * UINT64_C(7919);

	snprintf(name, TREE_NAME_MAX, TREE_NAME, (uint32_t)(at * STRIDE % client->tree->files));
}

static void expect(const char *what, uint64_t found, uint64_t expected)
{
	if (found == expected)
		return;
	fprintf(stderr, "bench: %s: %llu, not %llu\n", what, (unsigned long long)found,
		(unsigned long long)expected);
	exit(EXIT_FAILURE);
}

/* ---- Listings ---------------------------------------------------------------------------- */

/* Entries of an open directory; with their attributes, if `attributes` says so. */
static uint32_t list(DIR *dir, bool attributes)
{
	const struct dirent *entry;
	uint32_t count = 0;
	struct stat st;

	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		if (attributes && fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			peer_die(entry->d_name, errno);
		count++;
	}
	closedir(dir);
	return count;
}

void client_list(const struct client *client)
{
	expect(client->path, list(directory_open(client, client->path), false), client->count);
}

void client_long_list(const struct client *client)
{
	expect(client->path, list(directory_open(client, client->path), true), client->count);
}

/* As find does: it asks for the attributes of all that it meets, and goes down. */
static void find_below(int dir, const char *name, uint32_t *files)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *open = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	struct stat st;

	if (!open)
		peer_die(name, errno);
	while ((entry = readdir(open)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			peer_die(entry->d_name, errno);
		if (S_ISDIR(st.st_mode))
			find_below(fd, entry->d_name, files);
		else
			(*files)++;
	}
	closedir(open);
}

void client_find(const struct client *client)
{
	int dir = directory_fd(client, "t/w");
	char name[TREE_NAME_MAX];
	uint32_t files = 0;

	for (uint32_t i = 0; i < client->count / TREE_COLUMNS; i++) {
		snprintf(name, sizeof(name), TREE_NAME, i);
		find_below(dir, name, &files);
	}
	close(dir);
	expect("files below t/w", files, client->count / TREE_COLUMNS * TREE_COLUMNS);
}

void client_first(const struct client *client)
{
	for (uint32_t i = 0; i < client->count; i++) {
		DIR *dir = directory_open(client, "t/w");

		for (int entry = 0; entry < 3; entry++) /* behind . and .. */
			if (!readdir(dir))
				peer_die("t/w", errno);
		closedir(dir);
	}
}

/* ---- Files ------------------------------------------------------------------------------- */

static void stat_one(int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		peer_die(name, errno);
}

static void read_one(int dir, const char *name)
{
	char value[64];
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		peer_die(name, errno);
	expect(name, (uint64_t)read(fd, value, sizeof(value)), strlen(TREE_VALUE));
	close(fd);
}

static void create_one(const struct client *client, int dir, uint32_t i)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "new%u-%u-%u", client->round, client->number, i);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		peer_die(name, errno);
	expect(name, (uint64_t)write(fd, TREE_VALUE, strlen(TREE_VALUE)), strlen(TREE_VALUE));
	if (close(fd) != 0)
		peer_die(name, errno);
}

static void each_at_random(const struct client *client, void (*one)(int dir, const char *name))
{
	int dir = directory_fd(client, "t/c/f");
	char name[TREE_NAME_MAX];

	for (uint32_t i = 0; i < client->count; i++) {
		random_name(client, i, name);
		one(dir, name);
	}
	close(dir);
}

void client_stat(const struct client *client)
{
	each_at_random(client, stat_one);
}

void client_read(const struct client *client)
{
	each_at_random(client, read_one);
}

void client_create(const struct client *client)
{
	int dir = directory_fd(client, "t/n/f");

	for (uint32_t i = 0; i < client->count; i++)
		create_one(client, dir, i);
	close(dir);
}

void client_mixed(const struct client *client)
{
	int cells = directory_fd(client, "t/c/f"), made = directory_fd(client, "t/n/f");
	char name[TREE_NAME_MAX], row[64];

	for (uint32_t i = 0; i < client->count; i++) {
		random_name(client, i, name);
		if (i % 10 < 5) {
			read_one(cells, name);
		} else if (i % 10 < 8) {
			stat_one(cells, name);
		} else if (i % 10 == 8) {
			create_one(client, made, i);
		} else {
			snprintf(row, sizeof(row), "t/w/" TREE_NAME "/f", i % client->tree->rows);
			expect(row, list(directory_open(client, row), false), TREE_COLUMNS);
		}
	}
	close(made);
	close(cells);
}

void client_read_big(const struct client *client)
{
	int dir = directory_fd(client, "t/b/f"), fd = openat(dir, "00000000", O_RDONLY);
	char *piece = malloc(PIECE);
	uint64_t all = 0;
	ssize_t got;

	while (fd >= 0 && (got = read(fd, piece, PIECE)) > 0)
		all += (uint64_t)got;
	expect("bytes of t/b/f/00000000", all, client->tree->big);
	close(fd);
	free(piece);
	close(dir);
}

void client_write_big(const struct client *client)
{
	int dir = directory_fd(client, "t/n/f"), fd;
	static char piece[PIECE];

	if (piece[0] == '\0')
		tree_value(piece, PIECE);
	fd = openat(dir, "big", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	for (uint64_t left = client->tree->big; left > 0;) {
		size_t size = left < PIECE ? left : PIECE;

		if (write(fd, piece, size) != (ssize_t)size)
			peer_die("t/n/f/big", errno);
		left -= size;
	}
	if (close(fd) != 0 || unlinkat(dir, "big", 0) != 0)
		peer_die("t/n/f/big", errno);
	close(dir);
}

void client_tar(const struct client *client)
{
	char path[PATH_SIZE], to[64];

	snprintf(to, sizeof(to), "t/x%u", client->round);
	join(client, path, to);
	if (mkdir(path, 0755) != 0)
		peer_die(path, errno);
	peer_shell("tar xf archive -C '%s'", path);
}

/* ---- Many clients ------------------------------------------------------------------------ */

/* A pipe that is closed lets all begin at once. */
static pid_t start_one(const struct client *client, const int *gate,
		       void (*work)(const struct client *client))
{
	pid_t pid = fork();
	char byte;

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(gate[1]);
	if (read(gate[0], &byte, 1) != 0)
		_exit(EXIT_FAILURE);
	work(client);
	_exit(EXIT_SUCCESS);
}

double client_run(struct client *client, unsigned int clients,
		  void (*work)(const struct client *client))
{
	int gate[2], status;
	double start;

	fflush(stdout);
	client->all = clients;
	client->number = 0;
	if (clients == 1) {
		start = measure_now();
		work(client);
		return measure_now() - start;
	}
	if (pipe(gate) != 0)
		peer_die("pipe", errno);
	for (; client->number < clients; client->number++)
		if (start_one(client, gate, work) < 0)
			peer_die("fork", errno);
	measure_pause(20);
	start = measure_now();
	close(gate[1]);
	close(gate[0]);
	for (unsigned int i = 0; i < clients; i++)
		if (wait(&status) < 0 || status != 0)
			peer_die("a client failed", 0);
	return measure_now() - start;
}
