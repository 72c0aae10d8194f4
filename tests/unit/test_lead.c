/* SPDX-License-Identifier: MIT */
/*
 * Threads that take turns to read requests, which are numbers here. For every kind of request, one
 * thread reads at a time, each request is handled once, and others are handled meanwhile.
 */
#include "fs/serve/lead.h"
#include "tests/unit/suite.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 6, REQUESTS = 20000 };

struct turns {
	struct lead lead;
	atomic_int readers; /* at this moment */
	atomic_int next;    /* request */
	int last;
	atomic_int handled[REQUESTS];
	atomic_int done;
	/* Request 10 waits until so many others are handled; gives: it announces the wait before.
	 * */
	int others;
	bool gives;
	unsigned cores; /* for requests that others wait behind; 0: none wait */
};

/* The next request; -1: there are no more. */
static int turns_read(struct turns *turns)
{
	int request;

	ck_assert_int_eq(atomic_fetch_add(&turns->readers, 1), 0);
	request = atomic_load(&turns->next);
	if (request % 1000 == 7) { /* now and then none is there for a while */
		lead_sleep(&turns->lead);
		usleep(300);
		lead_wake(&turns->lead);
	}
	if (request < turns->last)
		atomic_store(&turns->next, request + 1);
	atomic_fetch_sub(&turns->readers, 1);
	return request < turns->last ? request : -1;
}

static void *turns_thread(void *arg)
{
	struct turns *turns = arg;

	while (lead_take(&turns->lead)) {
		bool leads = true;

		while (leads) {
			int request = turns_read(turns);

			if (request < 0) {
				lead_end(&turns->lead);
				return NULL;
			}
			lead_handle(&turns->lead, turns->cores > 0);
			if (request == 10 && turns->gives)
				lead_give(&turns->lead);
			while (request == 10 && atomic_load(&turns->done) < turns->others)
				usleep(100);
			atomic_fetch_add(&turns->handled[request], 1);
			atomic_fetch_add(&turns->done, 1);
			leads = lead_handled(&turns->lead);
		}
	}
	return NULL;
}

static void turns_run(struct turns *turns)
{
	pthread_t threads[THREADS];

	lead_init(&turns->lead);
	if (turns->cores > 0)
		turns->lead.cores = turns->cores;
	for (int i = 0; i < THREADS; i++)
		SUITE_OK(pthread_create(&threads[i], NULL, turns_thread, turns));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	lead_destroy(&turns->lead);
	for (int i = 0; i < turns->last; i++)
		ck_assert_msg(atomic_load(&turns->handled[i]) == 1, "request %d: %d times", i,
			      atomic_load(&turns->handled[i]));
}

static struct turns turns;
/* With one or two, the lead is never given away because others wait. */
static const unsigned cores[] = {0, 1, 2, THREADS};

enum { CORES = sizeof(cores) / sizeof(*cores) };

SUITE_LOOP(test_each_once, CORES, 60)
{
	turns = (struct turns){.last = REQUESTS, .cores = cores[_i]};
	turns_run(&turns);
}

/* One that waits for others which come later. */
SUITE_LOOP(test_others_meanwhile, 2 * CORES, 60)
{
	turns = (struct turns){
		.last = 2000, .others = 1500, .gives = _i & 1, .cores = cores[_i / 2]};
	turns_run(&turns);
}

/* A leader that sleeps needs no guard: the process does nothing. */
SUITE_TEST(test_idle, 60)
{
	struct timespec before, after;
	pthread_t threads[THREADS];
	int64_t spent;

	turns = (struct turns){.last = 0};
	lead_init(&turns.lead);
	ck_assert(lead_take(&turns.lead));
	lead_sleep(&turns.lead);
	for (int i = 0; i < THREADS; i++)
		SUITE_OK(pthread_create(&threads[i], NULL, turns_thread, &turns));
	usleep(100000);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	usleep(500000);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
	spent = (after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec;
	ck_assert_msg(spent < 5000000, "%ld ns of processor time", (long)spent);
	lead_end(&turns.lead);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	lead_destroy(&turns.lead);
}

SUITE_TEST(test_crowded, 60)
{
	static const struct {
		const char *loadavg;
		bool crowded;
	} cases[] = {{"0.10 0.20 0.30 2/99 7\n", false},
		     {"0.10 0.20 0.30 3/99 7\n", true},
		     {"9.00 9.00 9.00 1/99 7\n", false},
		     {"0.10 0.20 0.30 12/99 7\n", true},
		     {"", false},
		     {"0.10 0.20 0.30", false},
		     {"0.10 0.20 0.30 x/99 7\n", false}};
	struct lead lead;

	lead_init(&lead);
	lead.cores = 2;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		ck_assert_int_eq(lead_is_crowded(&lead, cases[i].loadavg), cases[i].crowded);
	lead_destroy(&lead);
}
