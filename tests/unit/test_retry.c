/* SPDX-License-Identifier: MIT */
/* Which requests of a thread repeat a refused one: a name is a number here, as are threads. */
#include "fs/write/retry.h"
#include "tests/unit/suite.h"

#include <time.h>

enum { THREAD = 100, OTHER = 101, NAME = 7 };

/* The clock of retries, which counts seconds. */
static time_t second;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = (struct timespec){.tv_sec = second};
	return 0;
}

static struct retries *retries;

static enum retry_state ask(pid_t thread, enum retry_want want)
{
	struct retry_names names = {{NAME}};

	return retry_ask(retries, thread, &names, want);
}

static void look(void)
{
	retry_lookup(retries, THREAD, NAME);
}

static void begin(void)
{
	second = 1000;
	retries = retries_new();
	ck_assert_ptr_nonnull(retries);
}

SUITE_TEST(test_kept_once, 10)
{
	begin();
	for (int want = RETRY_STAT; want <= RETRY_WRITE; want++) {
		ck_assert_int_eq(ask(THREAD, (enum retry_want)want), RETRY_FIRST);
		ck_assert_int_eq(ask(OTHER, (enum retry_want)want), RETRY_FIRST);
		look();
		ck_assert_int_eq(ask(THREAD, (enum retry_want)want), RETRY_AGAIN);
		ck_assert_int_eq(ask(OTHER, (enum retry_want)want), RETRY_REOPENED);
	}
	ck_assert_int_eq(ask(THREAD, RETRY_READ), RETRY_FIRST);
	retry_end(retries, THREAD, NAME);
	ck_assert_int_eq(ask(THREAD, RETRY_READ), RETRY_FIRST);
	retries_free(retries);
}

/* Attributes may be asked for on the way to an open; nothing else is on the way to anything. */
SUITE_TEST(test_for_what, 10)
{
	static const struct {
		enum retry_want refused, wanted;
		enum retry_state state;
	} cases[] = {
		{RETRY_STAT, RETRY_READ, RETRY_AGAIN},	{RETRY_STAT, RETRY_WRITE, RETRY_AGAIN},
		{RETRY_READ, RETRY_STAT, RETRY_FIRST},	{RETRY_READ, RETRY_WRITE, RETRY_FIRST},
		{RETRY_WRITE, RETRY_STAT, RETRY_FIRST}, {RETRY_WRITE, RETRY_READ, RETRY_FIRST},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin();
		ck_assert_int_eq(ask(THREAD, cases[i].refused), RETRY_FIRST);
		look();
		ck_assert_int_eq(ask(THREAD, cases[i].wanted), cases[i].state);
		retries_free(retries);
	}
}

/* A lookup that finds nothing is of a request that makes the file, or comes to nothing. */
SUITE_TEST(test_of_what_is_gone, 10)
{
	begin();
	ck_assert_int_eq(ask(THREAD, RETRY_WRITE), RETRY_FIRST);
	retry_missed(retries, THREAD);
	ck_assert_int_eq(ask(THREAD, RETRY_WRITE), RETRY_FIRST);
	look();
	ck_assert_int_eq(ask(THREAD, RETRY_WRITE), RETRY_AGAIN);
	retries_free(retries);
}

/* The entry of a request that the kernel never retried does not serve a later request. */
SUITE_TEST(test_not_for_long, 10)
{
	begin();
	for (int want = RETRY_STAT; want <= RETRY_WRITE; want++) {
		ck_assert_int_eq(ask(THREAD, (enum retry_want)want), RETRY_FIRST);
		look();
		second += 10;
		ck_assert_int_eq(ask(THREAD, RETRY_WRITE), RETRY_FIRST);
		look();
		second += 2;
		ck_assert_int_eq(ask(THREAD, RETRY_WRITE), RETRY_AGAIN);
	}
	retries_free(retries);
}

/* Only lookups of a writing request are led to a writable file, and only so many. */
SUITE_TEST(test_lookups_to_write, 10)
{
	int lookups = 0;

	begin();
	ck_assert(!retry_lookup(retries, THREAD, NAME));
	ask(THREAD, RETRY_READ);
	ck_assert(!retry_lookup(retries, THREAD, NAME));
	ask(THREAD, RETRY_READ);
	ask(THREAD, RETRY_WRITE);
	ck_assert(!retry_lookup(retries, OTHER, NAME));
	ck_assert(!retry_lookup(retries, THREAD, NAME + 1));
	while (lookups < 1000 && retry_lookup(retries, THREAD, NAME))
		lookups++;
	ck_assert_int_ge(lookups, 2);
	ck_assert_int_lt(lookups, 1000);
	ck_assert_int_eq(ask(THREAD, RETRY_WRITE), RETRY_AGAIN);
	retries_free(retries);
}

/* A renamed file is found by its earlier name. */
SUITE_TEST(test_of_names_before, 10)
{
	struct retry_names names = {{NAME + 2, NAME + 1, NAME}};

	begin();
	ck_assert_int_eq(retry_ask(retries, THREAD, &names, RETRY_WRITE), RETRY_FIRST);
	ck_assert(retry_lookup(retries, THREAD, NAME + 1));
	ck_assert_int_eq(ask(THREAD, RETRY_WRITE), RETRY_AGAIN);
	retries_free(retries);
}

/* Threads that cannot be told apart get no retry. */
SUITE_TEST(test_of_no_thread, 10)
{
	begin();
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(ask(0, RETRY_READ), RETRY_BELOW);
	retries_free(retries);
}
