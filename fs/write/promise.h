/* SPDX-License-Identifier: MIT */
/*
 * Promises: which threads were answered with ESTALE, so that the kernel looks the name up again
 * before it repeats the request. The kernel does so once; so the next request of that thread for
 * that name must be answered as it stands, whatever node it comes with.
 *
 * A name is its st_ino in the plain tree, never 0. A thread is 0 where it is outside of this pid
 * namespace: then it cannot be told from others, and nothing is promised. Any thread may call
 * these.
 */
#ifndef FS_PROMISE_H
#define FS_PROMISE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct promises;
struct promises *promises_new(void); /* NULL: no memory */
void promises_free(struct promises *promises);

enum promise_state {
	PROMISE_FIRST,	  /* it was not made before, and is now: answer ESTALE */
	PROMISE_REOPENED, /* no lookup came since: the file is reopened through /proc */
	PROMISE_AGAIN,	  /* lookups came, and yet the request is for another's node */
};

/* The name of what a request is for, and those that it had before, the latest first; 0: none. A
 * rename may come between the lookup and the request, and the kernel looks up the old one again. */
struct promise_names {
	uint64_t all[4];
};

/* What a request wants of the node. Attributes may be asked for on the way to an open. */
enum promise_want { PROMISE_STAT, PROMISE_READ, PROMISE_WRITE };

/* A request of a thread comes with a node that is not for it. The latter two end the promise, which
 * was then made a moment ago, to a request that wanted the same, or to one for attributes: what
 * else was promised is left of a request that came to nothing. */
enum promise_state promise_ask(struct promises *promises, pid_t thread,
			       const struct promise_names *names, enum promise_want want);

/* A lookup comes: is it promised to be for writing? */
bool promise_lookup(struct promises *promises, pid_t thread, uint64_t ino);

/* A lookup comes that finds no file: so does the request that was promised to, most likely. */
void promise_missed(struct promises *promises, pid_t thread);

/* The request came with a node that is for it: the promise is kept. */
void promise_end(struct promises *promises, pid_t thread, uint64_t ino);

#endif
