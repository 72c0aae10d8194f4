/* SPDX-License-Identifier: MIT */
/* The store's directory: locked while in use, refused in words. */
#include "tests/unit/place.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/disk/directory.h"

/* ---- In use ------------------------------------------------------------------------------ */

SUITE_TEST(test_twice_in_one_process, 20)
{
	char path[256];
	struct wcs_store *store;

	place_store(path, "one");
	SUITE_OK(wcs_store_open(path, NULL, &store, &place_fault));
	for (int i = 0; i < 3; i++)
		place_expect_open(path, -EBUSY, "in use by process");
	wcs_store_close(store);
	place_check_opens(path);
	place_check_opens(path);
}

/* A child that opens the store, tells so and waits for its end. */
static pid_t hold(const char *path, int *ready)
{
	int fds[2];
	char byte;
	pid_t pid;

	SUITE_OK(pipe(fds));
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		struct wcs_store *store;
		int rc = wcs_store_open(path, NULL, &store, &place_fault);

		byte = rc == 0 ? 'y' : 'n';
		if (write(fds[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	ck_assert_int_eq(read(fds[0], &byte, 1), 1);
	*ready = byte == 'y';
	close(fds[0]);
	close(fds[1]);
	return pid;
}

SUITE_TEST(test_in_use_by_another, 20)
{
	char path[256];
	char words[64];
	struct wcs_store *store;
	int ready;
	pid_t pid;

	place_store(path, "busy");
	pid = hold(path, &ready);
	ck_assert(ready);
	snprintf(words, sizeof(words), "in use by process %d", (int)pid);
	place_expect_open(path, -EBUSY, words);
	place_expect_create(path, true, -EBUSY, words);
	place_expect_open(path, -EBUSY, words);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* and the other way round: the failed open has dropped no lock */
	SUITE_OK(wcs_store_open(path, NULL, &store, &place_fault));
	place_expect_open(path, -EBUSY, "in use by process");
	pid = hold(path, &ready);
	ck_assert(!ready);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	wcs_store_close(store);
	place_expect_names(place_path(""), "busy ");
}

struct waiter {
	char path[256]; /* of a store that another process has */
	int rc;
	atomic_bool done;
};

static void *wait_for_lock(void *arg)
{
	struct waiter *waiter = arg;
	struct directory *directory;

	waiter->rc = directory_open(waiter->path, DIRECTORY_USE, &directory, NULL);
	atomic_store(&waiter->done, true);
	return NULL;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A thread that waits for another process's store blocks no other thread of its own process. */
SUITE_TEST(test_wait_holds_nobody_up, 20)
{
	struct waiter waiter = {.rc = 0};
	struct directory *directory;
	double begun;
	unsigned opened = 0;
	char path[256];
	pthread_t thread;
	pid_t pid;
	int ready;

	place_store(waiter.path, "busy");
	place_store(path, "free");
	pid = hold(waiter.path, &ready);
	ck_assert(ready);
	begun = seconds();
	SUITE_OK(pthread_create(&thread, NULL, wait_for_lock, &waiter));
	do {
		SUITE_OK(directory_open(path, DIRECTORY_USE, &directory, &place_fault));
		directory_close(directory);
		opened++;
	} while (!atomic_load(&waiter.done));
	pthread_join(thread, NULL);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ck_assert_int_eq(waiter.rc, -EBUSY);
	ck_assert_double_ge(seconds() - begun, 0.9);
	ck_assert_uint_gt(opened, 3); /* held up, one would last as long as the wait */
	place_check_opens(waiter.path);
}

/* ---- Markers ----------------------------------------------------------------------------- */

SUITE_TEST(test_marker, 20)
{
	static const char *const damaged[] = {
		"",
		"rowfs store\n",
		"rowfs store",
		"rowfs stores\nformat 1\nengine leveldb\ncreated 1\n",
		"rowfs store\nformat 0\nengine leveldb\ncreated 1\n",
		"rowfs store\nformat x\nengine leveldb\ncreated 1\n",
		"rowfs store\nformat 1\nengine \ncreated 1\n",
		"rowfs store\nformat 1\nengine leveldb\ncreated -1\n",
		"rowfs store\nformat 1\nengine leveldb\ncreated 99999999999999999999\n",
		"rowfs store\nformat 1\nengine leveldb\ncreated 1",
		"rowfs store\nformat 1\nengine leveldb\ncreated 1\nmore\n",
		"rowfs store\nformat 1\ncreated 1\nengine leveldb\n",
		/* the example of docs/format.md with another digit, of the time or the format */
		"rowfs store\nformat 1\nengine leveldb\ncreated 1700000000000001\ncheck 1a0a31cd\n",
		"rowfs store\nformat 3\nengine leveldb\ncreated 1700000000000000\ncheck 1a0a31cd\n",
		"rowfs store\nformat 1\nengine leveldb\ncreated 1700000000000000\ncheck 1a0a31cd",
		"rowfs store\nformat 1\nengine leveldb\ncreated 1700000000000000\ncheck 1a0a31c\n",
	};
	static const char example[] =
		"rowfs store\nformat 1\nengine leveldb\ncreated 1700000000000000\ncheck 1a0a31cd\n";
	struct wcs_store *store;
	char path[256];

	place_store(path, "m");
	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
		place_write(path, "ROWFS", damaged[i]);
		place_expect_open(path, -EIO, "ROWFS: damaged");
	}
	place_write(path, "ROWFS", example);
	SUITE_OK(wcs_store_open(path, NULL, &store, &place_fault));
	ck_assert_int_eq(wcs_store_created(store), 1700000000000000);
	wcs_store_close(store);
	place_write(path, "ROWFS", "rowfs store\nformat 4\nsomething else\n");
	place_expect_open(path, -EPROTO, "format is 4");
	place_expect_open(path, -EPROTO, strrchr(path, '/'));
	place_write(path, "ROWFS", "rowfs store\nformat 1\nengine other\ncreated 1\n");
	place_expect_open(path, -EINVAL, "engine is other");
	place_write(path, "ROWFS", "rowfs store\nformat 1\nengine leveldb\ncreated 12\n");
	SUITE_OK(wcs_store_open(path, NULL, &store, &place_fault));
	ck_assert_int_eq(wcs_store_created(store), 12);
	wcs_store_close(store);
}

SUITE_TEST(test_no_links_inside, 20)
{
	char path[256];
	char marker[300];
	char lock[300];

	place_store(path, "l");
	snprintf(lock, sizeof(lock), "%s/LOCK", path);
	SUITE_OK(unlink(lock));
	place_write(place_path(""), "elsewhere", "");
	SUITE_OK(symlink(place_path("elsewhere"), lock));
	place_expect_open(path, -EIO, "LOCK");
	SUITE_OK(unlink(lock));
	place_check_opens(path);
	snprintf(marker, sizeof(marker), "%s/ROWFS", path);
	SUITE_OK(rename(marker, place_path("marker")));
	SUITE_OK(symlink("../marker", marker));
	place_expect_open(path, -EIO, "ROWFS: damaged or missing");
}

SUITE_TEST(test_engine_missing, 20)
{
	char path[256];

	place_begin();
	strcpy(path, place_path("e"));
	SUITE_OK(mkdir(path, 0700));
	place_write(path, "ROWFS", "rowfs store\nformat 1\nengine leveldb\ncreated 1\n");
	for (int i = 0; i < 2; i++) {
		struct wcs_store *store;

		place_fault.text[0] = '\0';
		ck_assert_int_ne(wcs_store_open(path, NULL, &store, &place_fault), 0);
		ck_assert_int_ne(place_fault.text[0], '\0');
	}
}

/* An engine would follow a link out of the store. */
SUITE_TEST(test_open_follows_no_links, 20)
{
	char path[256], file[300];

	place_store(path, "links.db");
	snprintf(file, sizeof(file), "%s/data/000099.ldb", path);
	SUITE_OK(symlink("/etc/passwd", file));
	place_expect_open(path, -EIO, "symbolic link");
	SUITE_OK(unlink(file));
	place_check_opens(path);
}
