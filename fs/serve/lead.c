/* SPDX-License-Identifier: MIT */
/*
 * The leader reads requests. To wake another thread costs more than most requests do, so it handles
 * them itself as well, and goes on leading, while no others wait:
 *
 *   FREE      nobody leads; whoever is done with a request does next, or the guard
 *   READS     the leader reads, or does what must be done before another request is read
 *   HANDLES   the leader handles a request; the number tells one from the next
 *
 * A leader that finds requests waiting gives the lead away, if that leaves a processor to those who
 * make requests, and so does one whose request will wait (lead_give). For the others there is a
 * guard, one of the idle threads, which looks now and then while requests come: where the leader
 * handles the same one as at the last look, it takes the lead. Whoever follows it as the guard
 * looks soon, since one request that takes long is seldom alone, and ever later while that is in
 * vain.
 */
#include "fs/serve/lead.h"

#include <stdio.h>
#include <unistd.h>

#include "lib/clock.h"

#define LEAD_FREE    UINT64_C(0)
#define LEAD_READS   UINT64_C(1)
#define LEAD_HANDLES UINT64_C(2) /* and more */
#define LEAD_SOON_NS 100000	 /* from the guard's first look to the next */
#define LEAD_LATE_NS 3200000 /* from one of its looks to the next, at most; then it may stand by   \
			      */
#define LEAD_LINGER_NS 20000 /* who is done looks so long for a lead that is given away */

/* What this thread set the state to, while it leads; FREE: it does not. */
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

static void lead_look_later(struct lead *lead, int64_t ns)
{
	struct timespec until = clock_deadline(ns);

	pthread_cond_timedwait(&lead->guard, &lead->lock, &until);
}

/* Waits until the leader, which sleeps, is woken. */
static void lead_standby(struct lead *lead)
{
	atomic_store(&lead->standby, true);
	if (atomic_load(&lead->sleeps) && !lead->ends)
		pthread_cond_wait(&lead->guard, &lead->lock);
	atomic_store(&lead->standby, false);
}

/* Waits as the guard, and takes the lead when the leader does not get on. */
static bool lead_guard(struct lead *lead)
{
	uint64_t seen = LEAD_READS, number = 0;
	int64_t after = LEAD_SOON_NS;

	while (!lead->ends) {
		uint64_t state = atomic_load(&lead->state), now = atomic_load(&lead->number);

		if ((state == LEAD_FREE || (state >= LEAD_HANDLES && state == seen)) &&
		    lead_change(lead, state, LEAD_READS))
			return true;
		if (after < LEAD_LATE_NS) {
			lead_look_later(lead, after);
			after *= 2;
		} else if (number == now && atomic_load(&lead->sleeps)) {
			lead_standby(lead);
			after = LEAD_SOON_NS;
		} else {
			lead_look_later(lead, after);
		}
		seen = state;
		number = now;
	}
	return false;
}

/* Wakes the guard, or who will be it. Called with the lock. */
static void lead_alert(struct lead *lead)
{
	pthread_cond_signal(lead->guarded ? &lead->guard : &lead->idle);
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
	if (!atomic_load(&lead->standby))
		return;
	pthread_mutex_lock(&lead->lock);
	lead_alert(lead);
	pthread_mutex_unlock(&lead->lock);
}

/* Somebody is to take the lead that this thread has given away. */
static void lead_offer(struct lead *lead)
{
	if (atomic_load(&lead->looking) > 0)
		return;
	pthread_mutex_lock(&lead->lock);
	lead_alert(lead);
	pthread_mutex_unlock(&lead->lock);
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

static bool lead_linger(struct lead *lead)
{
	int64_t end = clock_ns() + LEAD_LINGER_NS;
	bool taken;

	atomic_fetch_add(&lead->looking, 1);
	do
		taken = atomic_load(&lead->state) == LEAD_FREE &&
			lead_change(lead, LEAD_FREE, LEAD_READS);
	while (!taken && lead->cores > 1 && clock_ns() < end);
	atomic_fetch_sub(&lead->looking, 1);
	/* It may have been given away to this one as it ceased to look. */
	return taken || lead_change(lead, LEAD_FREE, LEAD_READS);
}

bool lead_handled(struct lead *lead)
{
	if ((lead_mine >= LEAD_HANDLES && lead_change(lead, lead_mine, LEAD_READS)) ||
	    lead_linger(lead)) {
		lead_mine = LEAD_READS;
		return true;
	}
	lead_mine = LEAD_FREE;
	atomic_fetch_sub(&lead->busy, 1);
	return false;
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
