/* SPDX-License-Identifier: MIT */
/*
 * The leader reads requests. Waking another thread costs more than most requests do, so the leader
 * also handles them itself, and goes on leading while no others wait:
 *
 *   FREE      no thread leads; the guard or the next thread that is done takes the lead
 *   READS     the leader reads, or handles a request that must be done before it reads another
 *   HANDLES   the leader handles a request; the number differs from request to request
 *
 * A leader that finds requests waiting gives the lead away, if that leaves a processor to the
 * clients, and so does one whose request will wait (lead_give). For other long requests one of the
 * idle threads is the guard: while requests come it looks now and then, and takes the lead if the
 * leader still handles the request of the last look. A new guard looks soon, since a long request
 * seldom comes alone, and then ever later, as long as it looks in vain.
 */
#include "fs/serve/lead.h"

#include <stdio.h>
#include <unistd.h>

#include "lib/clock.h"

#define LEAD_FREE      UINT64_C(0)
#define LEAD_READS     UINT64_C(1)
#define LEAD_HANDLES   UINT64_C(2) /* and more */
#define LEAD_SOON_NS   100000	   /* from the guard's first look to the next */
#define LEAD_LATE_NS   3200000	   /* the longest time between two looks; then standby */
#define LEAD_LINGER_NS 20000	   /* a thread that is done tries so long to take the lead */

/* The state that this thread has set, while it leads; else FREE. */
static _Thread_local uint64_t lead_mine;

bool lead_is_crowded(const struct lead *lead, const char *loadavg)
{
	unsigned running;

	return sscanf(loadavg, "%*s %*s %*s %u/", &running) == 1 && running > lead->cores;
}

static bool lead_change(struct lead *lead, uint64_t from, uint64_t to)
{
	return atomic_compare_exchange_strong(&lead->state, &from, to);
}

/* ---- Threads that do not lead ------------------------------------------------------------ */

/* Waits as the guard. True: it took the lead of a leader that handles one request for long. */
static bool lead_guard(struct lead *lead)
{
	uint64_t seen = LEAD_READS, number = 0;
	int64_t after = LEAD_SOON_NS;

	while (!lead->ends) {
		uint64_t state = atomic_load(&lead->state), now = atomic_load(&lead->number);

		if ((state == LEAD_FREE || (state >= LEAD_HANDLES && state == seen)) &&
		    lead_change(lead, state, LEAD_READS))
			return true;
		if (after >= LEAD_LATE_NS && number == now && atomic_load(&lead->sleeps)) {
			/* The leader sleeps: this thread does, too, until the leader is woken. */
			atomic_store(&lead->standby, true);
			if (atomic_load(&lead->sleeps) && !lead->ends)
				pthread_cond_wait(&lead->guard, &lead->lock);
			atomic_store(&lead->standby, false);
			after = LEAD_SOON_NS;
		} else {
			struct timespec until = clock_deadline(after);

			pthread_cond_timedwait(&lead->guard, &lead->lock, &until);
			if (after < LEAD_LATE_NS)
				after *= 2;
		}
		seen = state;
		number = now;
	}
	return false;
}

/* Wakes the guard, or an idle thread, which becomes the guard. */
static void lead_alert(struct lead *lead)
{
	pthread_mutex_lock(&lead->lock);
	pthread_cond_signal(lead->guarded ? &lead->guard : &lead->idle);
	pthread_mutex_unlock(&lead->lock);
}

bool lead_take(struct lead *lead)
{
	bool taken = lead_change(lead, LEAD_FREE, LEAD_READS);

	pthread_mutex_lock(&lead->lock);
	lead->idlers++;
	while (!taken && !lead->ends)
		if (lead->guarded) {
			pthread_cond_wait(&lead->idle, &lead->lock);
		} else {
			lead->guarded = true;
			taken = lead_guard(lead);
			lead->guarded = false;
		}
	lead->idlers--;
	if (lead->idlers > 0 && !lead->guarded)
		pthread_cond_signal(&lead->idle);
	taken = taken && !lead->ends;
	pthread_mutex_unlock(&lead->lock);
	if (!taken)
		return false;
	atomic_fetch_add(&lead->busy, 1);
	lead_mine = LEAD_READS;
	return true;
}

/* ---- The leader -------------------------------------------------------------------------- */

void lead_sleep(struct lead *lead)
{
	atomic_store(&lead->sleeps, true);
}

void lead_wake(struct lead *lead)
{
	atomic_store(&lead->sleeps, false);
	if (atomic_load(&lead->standby))
		lead_alert(lead);
}

/* Another thread is to take the lead that this one has given away. */
static void lead_offer(struct lead *lead)
{
	if (atomic_load(&lead->looking) == 0)
		lead_alert(lead);
}

void lead_handle(struct lead *lead, bool more)
{
	uint64_t number = atomic_fetch_add(&lead->number, 1);
	bool gives = more && atomic_load(&lead->busy) + 1 < lead->cores;

	lead_mine = gives ? LEAD_FREE : number;
	atomic_store(&lead->state, lead_mine);
	if (gives)
		lead_offer(lead);
}

void lead_give(struct lead *lead)
{
	if (lead_mine < LEAD_HANDLES)
		return;
	if (lead_change(lead, lead_mine, LEAD_FREE))
		lead_offer(lead);
	lead_mine = LEAD_FREE;
}

void lead_leave(struct lead *lead)
{
	lead_give(lead);
	atomic_fetch_sub(&lead->busy, 1);
}

bool lead_handled(struct lead *lead)
{
	bool taken = lead_mine >= LEAD_HANDLES && lead_change(lead, lead_mine, LEAD_READS);

	if (!taken) {
		int64_t end = clock_ns() + LEAD_LINGER_NS;

		atomic_fetch_add(&lead->looking, 1);
		do
			taken = atomic_load(&lead->state) == LEAD_FREE &&
				lead_change(lead, LEAD_FREE, LEAD_READS);
		while (!taken && lead->cores > 1 && clock_ns() < end);
		atomic_fetch_sub(&lead->looking, 1);
		/* lead_offer may have counted on this thread just before it ceased to look. */
		taken = taken || lead_change(lead, LEAD_FREE, LEAD_READS);
	}
	lead_mine = taken ? LEAD_READS : LEAD_FREE;
	if (!taken)
		atomic_fetch_sub(&lead->busy, 1);
	return taken;
}

/* ---- All of them ------------------------------------------------------------------------- */

void lead_init(struct lead *lead)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	*lead = (struct lead){.number = LEAD_HANDLES, .cores = cores > 0 ? (unsigned)cores : 1};
	pthread_mutex_init(&lead->lock, NULL);
	clock_cond_init(&lead->guard);
	pthread_cond_init(&lead->idle, NULL);
}

void lead_destroy(struct lead *lead)
{
	pthread_cond_destroy(&lead->idle);
	pthread_cond_destroy(&lead->guard);
	pthread_mutex_destroy(&lead->lock);
}

void lead_end(struct lead *lead)
{
	pthread_mutex_lock(&lead->lock);
	lead->ends = true;
	pthread_cond_broadcast(&lead->guard);
	pthread_cond_broadcast(&lead->idle);
	pthread_mutex_unlock(&lead->lock);
}
