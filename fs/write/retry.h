/* SPDX-License-Identifier: MIT */
/*
 * Retries: which threads got ESTALE for which name. The kernel then repeats the LOOKUP and, once,
 * the request; that second request must be answered as it stands, with any node.
 *
 * A name is its st_ino in the plain tree, never 0. A thread outside of this pid namespace has the
 * number 0 and cannot be told from others, so it never gets a retry (RETRY_BELOW). Any thread may
 * call these functions.
 */
#ifndef FS_RETRY_H
#define FS_RETRY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct retries *retries_new(void); /* NULL: no memory */
void retries_free(struct retries *retries);

enum retry_state {
	RETRY_FIRST,	/* a new retry: answer ESTALE */
	RETRY_REOPENED, /* no lookup came since the ESTALE: the file is bound to a place, or
			 * reopened through /proc or a file handle */
	RETRY_BELOW,	/* only other names were looked up: the file is bound to a place in this
			 * mount, or was renamed */
	RETRY_AGAIN,	/* its name was looked up, and yet the request has another node */
};

/* The name of the node of a request, then its earlier names, the latest first; 0: none. If a rename
 * comes between the lookup and the request, the kernel looks up the earlier name again. */
struct retry_names {
	uint64_t all[4];
};

/* The kind of request. A GETATTR may come on the way to an OPEN. */
enum retry_want { RETRY_STAT, RETRY_READ, RETRY_WRITE };

/* A request comes with a node that is not for its thread. RETRY_FIRST begins a retry; the other
 * results end one that began a few seconds ago for a request of the same kind, or for a GETATTR.
 * An entry of another kind is left from a request that the kernel never repeated. */
enum retry_state retry_ask(struct retries *retries, pid_t thread, const struct retry_names *names,
			   enum retry_want want);

/* A lookup comes. Is it part of a retry that wants to write? */
bool retry_lookup(struct retries *retries, pid_t thread, uint64_t ino);

/* A lookup found no file, so the kernel most likely does not repeat the request. */
void retry_missed(struct retries *retries, pid_t thread);

/* A request came with a node that is for its thread: its retry ends. */
void retry_end(struct retries *retries, pid_t thread, uint64_t ino);

#endif
