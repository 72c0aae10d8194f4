/* SPDX-License-Identifier: MIT */
/*
 * Which thread of the loop reads requests: the leader. See lead.c.
 */
#ifndef FS_LEAD_H
#define FS_LEAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lead {
	_Atomic uint64_t state;	 /* who leads, see lead.c */
	_Atomic uint64_t number; /* of the next request */
	atomic_bool sleeps;	 /* the leader, until a request comes */
	atomic_bool standby;	 /* the guard sleeps until the leader is woken */
	atomic_uint busy;	 /* threads that lead or handle a request */
	atomic_uint looking;	 /* of these, for a lead that is given away */
	unsigned cores;
	pthread_mutex_t lock;
	pthread_cond_t guard, idle; /* one waits as the guard, the others */
	/* under lock */
	bool guarded;
	bool ends;
	unsigned idlers;
};

/* Do more threads of the machine want a processor than it has? loadavg: the text of
 * /proc/loadavg (proc(5)); of any other it is false. */
bool lead_is_crowded(const struct lead *lead, const char *loadavg);

void lead_init(struct lead *lead);
void lead_destroy(struct lead *lead);
/* All threads: there is to be no leader any more. */
void lead_end(struct lead *lead);

/* Waits until this thread leads. false: it never will. */
bool lead_take(struct lead *lead);
/* The leader sleeps until a request comes, and is awake again. */
void lead_sleep(struct lead *lead);
void lead_wake(struct lead *lead);
/* The leader has a request to handle. more: others seem to wait. */
void lead_handle(struct lead *lead, bool more);
/* It has handled it. Does this thread lead? Else lead_take is to be called. */
bool lead_handled(struct lead *lead);
/* What this thread handles may take long, or others may have to be handled for it: if it leads
 * still, it does no more. In a thread that is none of the loop's: nothing. */
void lead_give(struct lead *lead);

#endif
