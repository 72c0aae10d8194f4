/* SPDX-License-Identifier: MIT */
/* Decides which thread of the loop reads requests: the leader. lead.c has the states. */
#ifndef FS_LEAD_H
#define FS_LEAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lead {
	_Atomic uint64_t state;	 /* LEAD_… */
	_Atomic uint64_t number; /* of the next request */
	atomic_bool sleeps;	 /* the leader sleeps until a request comes */
	atomic_bool standby;	 /* the guard sleeps until the leader is woken */
	atomic_uint busy;	 /* threads that lead or handle a request */
	atomic_uint looking;	 /* of these, threads that try to take the lead */
	unsigned cores;
	pthread_mutex_t lock;
	pthread_cond_t guard, idle; /* one waits as the guard, the others */
	/* under lock */
	bool guarded;
	bool ends;
	unsigned idlers;
};

/* Are more threads of the machine ready to run than it has processors? loadavg: the text of
 * /proc/loadavg (proc(5)); any other text gives false. */
bool lead_is_crowded(const struct lead *lead, const char *loadavg);

void lead_init(struct lead *lead);
void lead_destroy(struct lead *lead);
/* Ends lead_take in all threads. */
void lead_end(struct lead *lead);

/* Waits until this thread leads. False: lead_end was called. */
bool lead_take(struct lead *lead);
/* The leader is about to sleep until a request comes; it is awake again. */
void lead_sleep(struct lead *lead);
void lead_wake(struct lead *lead);
/* The leader is about to handle a request. more: others seem to wait. */
void lead_handle(struct lead *lead, bool more);
/* It has handled the request. True: this thread leads; false: it must call lead_take. */
bool lead_handled(struct lead *lead);
/* The request that this thread handles may take long, or may depend on others: gives up the lead if
 * the thread has it. Does nothing in a thread outside of the loop. */
void lead_give(struct lead *lead);
/* The thread has handled its last request; it calls this in the place of lead_handled. */
void lead_leave(struct lead *lead);

#endif
