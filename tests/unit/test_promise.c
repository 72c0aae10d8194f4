/* SPDX-License-Identifier: MIT */
/* Which of a thread's requests are promised to: a name is a number here, as are threads. */
#include "fs/write/promise.h"
#include "tests/unit/suite.h"

#include <time.h>

enum { THREAD = 100, OTHER = 101, NAME = 7 };

/* The clock of promises, which counts seconds. */
static time_t second;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = (struct timespec){.tv_sec = second};
	return 0;
}

static struct promises *promises;

static enum promise_state ask(pid_t thread, enum promise_want want)
{
	struct promise_names names = {{NAME}};

	return promise_ask(promises, thread, &names, want);
}

static void look(void)
{
	promise_lookup(promises, THREAD, NAME);
}

static void begin(void)
{
	second = 1000;
	promises = promises_new();
	ck_assert_ptr_nonnull(promises);
}

SUITE_LOOP(test_kept_once, SUITE_ENGINES, 10)
{
	begin();
	for (int want = PROMISE_STAT; want <= PROMISE_WRITE; want++) {
		ck_assert_int_eq(ask(THREAD, (enum promise_want)want), PROMISE_FIRST);
		ck_assert_int_eq(ask(OTHER, (enum promise_want)want), PROMISE_FIRST);
		look();
		ck_assert_int_eq(ask(THREAD, (enum promise_want)want), PROMISE_AGAIN);
		ck_assert_int_eq(ask(OTHER, (enum promise_want)want), PROMISE_REOPENED);
	}
	ck_assert_int_eq(ask(THREAD, PROMISE_READ), PROMISE_FIRST);
	promise_end(promises, THREAD, NAME);
	ck_assert_int_eq(ask(THREAD, PROMISE_READ), PROMISE_FIRST);
	promises_free(promises);
}

/* Attributes may be asked for on the way to an open; nothing else is on the way to anything. */
SUITE_LOOP(test_for_what, SUITE_ENGINES, 10)
{
	static const struct {
		enum promise_want promised, wanted;
		enum promise_state state;
	} cases[] = {
		{PROMISE_STAT, PROMISE_READ, PROMISE_AGAIN},
		{PROMISE_STAT, PROMISE_WRITE, PROMISE_AGAIN},
		{PROMISE_READ, PROMISE_STAT, PROMISE_FIRST},
		{PROMISE_READ, PROMISE_WRITE, PROMISE_FIRST},
		{PROMISE_WRITE, PROMISE_STAT, PROMISE_FIRST},
		{PROMISE_WRITE, PROMISE_READ, PROMISE_FIRST},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin();
		ck_assert_int_eq(ask(THREAD, cases[i].promised), PROMISE_FIRST);
		look();
		ck_assert_int_eq(ask(THREAD, cases[i].wanted), cases[i].state);
		promises_free(promises);
	}
}

/* A lookup that finds nothing is of a request that makes the file, or comes to nothing. */
SUITE_LOOP(test_of_what_is_gone, SUITE_ENGINES, 10)
{
	begin();
	ck_assert_int_eq(ask(THREAD, PROMISE_WRITE), PROMISE_FIRST);
	promise_missed(promises, THREAD);
	ck_assert_int_eq(ask(THREAD, PROMISE_WRITE), PROMISE_FIRST);
	look();
	ck_assert_int_eq(ask(THREAD, PROMISE_WRITE), PROMISE_AGAIN);
	promises_free(promises);
}

/* What is left of a request that came to nothing is not for a later one. */
SUITE_LOOP(test_not_for_long, SUITE_ENGINES, 10)
{
	begin();
	for (int want = PROMISE_STAT; want <= PROMISE_WRITE; want++) {
		ck_assert_int_eq(ask(THREAD, (enum promise_want)want), PROMISE_FIRST);
		look();
		second += 10;
		ck_assert_int_eq(ask(THREAD, PROMISE_WRITE), PROMISE_FIRST);
		look();
		second += 2;
		ck_assert_int_eq(ask(THREAD, PROMISE_WRITE), PROMISE_AGAIN);
	}
	promises_free(promises);
}

/* Only who is to write is led to a file that can be written, and not for ever. */
SUITE_LOOP(test_lookups_to_write, SUITE_ENGINES, 10)
{
	int lookups = 0;

	begin();
	ck_assert(!promise_lookup(promises, THREAD, NAME));
	ask(THREAD, PROMISE_READ);
	ck_assert(!promise_lookup(promises, THREAD, NAME));
	ask(THREAD, PROMISE_READ);
	ask(THREAD, PROMISE_WRITE);
	ck_assert(!promise_lookup(promises, OTHER, NAME));
	ck_assert(!promise_lookup(promises, THREAD, NAME + 1));
	while (lookups < 1000 && promise_lookup(promises, THREAD, NAME))
		lookups++;
	ck_assert_int_ge(lookups, 2);
	ck_assert_int_lt(lookups, 1000);
	ck_assert_int_eq(ask(THREAD, PROMISE_WRITE), PROMISE_AGAIN);
	promises_free(promises);
}

/* A name that was renamed since is found by what it was. */
SUITE_LOOP(test_of_names_before, SUITE_ENGINES, 10)
{
	struct promise_names names = {{NAME + 2, NAME + 1, NAME}};

	begin();
	ck_assert_int_eq(promise_ask(promises, THREAD, &names, PROMISE_WRITE), PROMISE_FIRST);
	ck_assert(promise_lookup(promises, THREAD, NAME + 1));
	ck_assert_int_eq(ask(THREAD, PROMISE_WRITE), PROMISE_AGAIN);
	promises_free(promises);
}

/* Threads that cannot be told apart are promised nothing. */
SUITE_LOOP(test_of_no_thread, SUITE_ENGINES, 10)
{
	begin();
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(ask(0, PROMISE_READ), PROMISE_AGAIN);
	promises_free(promises);
}
