/* SPDX-License-Identifier: MIT */
/*
 * Syncs of many threads: each holds the writes of its caller, and they share the cost. This program
 * slows the medium with an fdatasync of its own, which syncs after a while. Its own openat may fail
 * with too many open files.
 */
#include "tests/unit/suite.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 8, SYNCS = 20, SLOW_MS = 5 };

static _Atomic long sync_begun, sync_ended; /* how many; the latest beginning that has ended */
static _Atomic long sync_fails = -1;	    /* the one that fails */
static _Atomic int sync_failed, sync_later; /* it did; how many began after that */

int fdatasync(int fd)
{
	const struct timespec slow = {.tv_nsec = SLOW_MS * 1000000L};
	long number = atomic_fetch_add(&sync_begun, 1) + 1, ended;
	int rc;

	sync_later += sync_failed;
	nanosleep(&slow, NULL);
	if (number == sync_fails) {
		sync_failed = 1;
		errno = EIO;
		return -1;
	}
	rc = (int)syscall(SYS_fdatasync, fd);
	ended = atomic_load(&sync_ended);
	while (ended < number && !atomic_compare_exchange_weak(&sync_ended, &ended, number))
		;
	return rc;
}

static _Atomic int logs_opened; /* by openat */
static _Atomic int logs_fail;	/* the one that fails; 0: none */

int openat(int dir, const char *name, int flags, ...)
{
	size_t len = strlen(name);
	mode_t mode = 0;
	va_list args;

	va_start(args, flags);
	if (flags & (O_CREAT))
		mode = va_arg(args, mode_t);
	va_end(args);
	if (len > 4 && strcmp(name + len - 4, ".log") == 0 && ++logs_opened == logs_fail) {
		errno = EMFILE;
		return -1;
	}
	return (int)syscall(SYS_openat, dir, name, flags, mode);
}

struct sync_thread {
	struct suite *suite;
	int number;
	int early; /* syncs that returned before one ended that began after they were called */
	int failed;
};

static void *sync_write(void *arg)
{
	struct sync_thread *thread = arg;

	for (int i = 0; i < SYNCS; i++) {
		char row[32];
		long before;

		snprintf(row, sizeof(row), "r%d-%d", thread->number, i);
		suite_set(thread->suite->table, row, "f", "q", 1, "v");
		before = atomic_load(&sync_begun);
		thread->failed += wcs_store_sync(thread->suite->store) != 0;
		thread->early += atomic_load(&sync_ended) <= before;
	}
	return NULL;
}

static void sync_run(struct suite *s, void *(*run)(void *arg), struct sync_thread threads[THREADS])
{
	pthread_t ids[THREADS];

	for (int i = 0; i < THREADS; i++) {
		threads[i] = (struct sync_thread){.suite = s, .number = i};
		SUITE_OK(pthread_create(&ids[i], NULL, run, &threads[i]));
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
}

SUITE_LEVELDB_STORE(test_syncs_are_shared, 60)
{
	struct sync_thread threads[THREADS];
	long before = atomic_load(&sync_begun);

	sync_run(s, sync_write, threads);
	for (int i = 0; i < THREADS; i++) {
		ck_assert_int_eq(threads[i].early, 0);
		ck_assert_int_eq(threads[i].failed, 0);
	}
	/* All that wait while one runs share the next: two rounds for each of a thread's at most.
	 */
	ck_assert_int_le(atomic_load(&sync_begun) - before, THREADS * SYNCS / 2);
}

SUITE_LEVELDB_STORE(test_sync_of_one_thread_begins_at_once, 10)
{
	for (int i = 0; i < 3; i++) {
		long before = atomic_load(&sync_begun);

		SUITE_OK(wcs_store_sync(s->store));
		ck_assert_int_gt(atomic_load(&sync_ended), before);
	}
}

static int sync_set(struct wcs_table *table, int64_t ts)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	SUITE_OK(wcs_mutation_set(mutation, "f", suite_text("q"), ts, suite_text("v")));
	return suite_mutate(table, "r", mutation, NULL);
}

static void *sync_until_it_fails(void *arg)
{
	struct sync_thread *thread = arg;

	for (int i = 0; i < 1000 && thread->failed == 0; i++)
		thread->failed = wcs_store_sync(thread->suite->store);
	return NULL;
}

/* A medium that could not take something once may say that it has it the next time. */
SUITE_LEVELDB_STORE(test_sync_behind_a_failed_one_fails, 60)
{
	struct sync_thread threads[THREADS];

	sync_fails = sync_begun + SYNCS;
	sync_run(s, sync_until_it_fails, threads);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_lt(threads[i].failed, 0);
	ck_assert_int_eq(sync_failed, 1);
	ck_assert_int_eq(sync_later, 0);
}

/* ---- Too many open files ----------------------------------------------------------------- */

static struct rlimit files_before;

static void files_forbid(void)
{
	struct rlimit none;
	int next = dup(STDIN_FILENO);

	close(next);
	SUITE_OK(getrlimit(RLIMIT_NOFILE, &files_before));
	none = files_before;
	none.rlim_cur = (rlim_t)next;
	SUITE_OK(setrlimit(RLIMIT_NOFILE, &none));
}

static void files_allow(void)
{
	SUITE_OK(setrlimit(RLIMIT_NOFILE, &files_before));
}

SUITE_LEVELDB_STORE(test_sync_without_files, 10)
{
	files_forbid();
	ck_assert_int_eq(wcs_store_sync(s->store), -EIO);
	files_allow();
	SUITE_OK(wcs_store_sync(s->store));
	suite_set(s->table, "r", "f", "q", 1, "v");
}

/* Another log was synced before: nothing is lost all the same. */
SUITE_LEVELDB_STORE(test_sync_with_too_few_files_for_all_logs, 10)
{
	int dir, fd;

	suite_set(s->table, "r", "f", "q", 1, "v");
	dir = open(s->path, O_RDONLY | O_DIRECTORY);
	fd = openat(dir, "data/999999.log", O_WRONLY | O_CREAT | O_EXCL, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
	close(dir);
	for (int which = 1; which <= 2; which++) {
		long before = atomic_load(&sync_begun);

		logs_opened = 0;
		logs_fail = which;
		ck_assert_int_eq(wcs_store_sync(s->store), -EIO);
		ck_assert_int_eq(logs_opened, which);
		ck_assert_int_eq(atomic_load(&sync_begun) - before, which - 1);
	}
	logs_fail = 0;
	ck_assert(!wcs_store_failed(s->store));
	SUITE_OK(wcs_store_sync(s->store));
	suite_set(s->table, "r", "f", "q", 2, "v");
}

/* A write that could not be synced is in the store, though its writer got an error. The store
 * therefore refuses later writes. */
SUITE_LEVELDB_STORE(test_durable_write_without_files, 10)
{
	s->sync = true;
	suite_reopen(s);
	suite_set(s->table, "r", "f", "q", 1, "first");
	files_forbid();
	ck_assert_int_eq(sync_set(s->table, 2), -EIO);
	files_allow();
	ck_assert_int_eq(sync_set(s->table, 3), -EROFS);
	ck_assert_int_eq(wcs_store_sync(s->store), -EROFS);
	suite_reopen(s);
	suite_expect_value(s->table, "r", "f", "q", 1, "first");
	suite_expect_value(s->table, "r", "f", "q", 3, "-");
}

/* Later writes would be lost when the process ends: no caller is told that they are safe. */
SUITE_LEVELDB_STORE(test_log_removed, 10)
{
	char command[300];

	suite_set(s->table, "r", "f", "q", 1, "v");
	SUITE_OK(wcs_store_sync(s->store));
	snprintf(command, sizeof(command), "rm '%s'/data/*.log", s->path);
	SUITE_OK(system(command));
	ck_assert_int_eq(wcs_store_sync(s->store), -EIO);
	ck_assert(wcs_store_failed(s->store));
	suite_expect_value(s->table, "r", "f", "q", 1, "v");
}
