/* SPDX-License-Identifier: MIT */
/*
 * Counters of the mount: requests by kind, their durations and their errors. Counting takes a few
 * atomic additions, no lock and no memory.
 *
 * A request is counted when it is read and, if it is answered, timed from then to its answer, which
 * may come from another thread. The kernel's number of the request connects the two.
 */
#ifndef FS_METRICS_H
#define FS_METRICS_H

#include <stdint.h>
#include <stdio.h>
#include <sys/uio.h>

#include "store/store.h"

struct fs;

/* Prints the values of the moment, with metrics_print_now. 0, or -ENOMEM, also if the store cannot
 * be read. */
typedef int metrics_measure(struct fs *fs, FILE *to);

/* measure: for metrics_show. NULL: no memory. */
struct metrics *metrics_new(metrics_measure *measure);
void metrics_free(struct metrics *metrics);

/* ---- Counting. Any thread ---------------------------------------------------------------- */

/* A request was read: the bytes that the kernel sent, a header at least. Returns its opcode. */
uint32_t metrics_receive(struct metrics *metrics, const void *data);
/* A message to the kernel is about to be sent: an answer, or a notice, which is not counted. */
void metrics_send(struct metrics *metrics, const struct iovec *iov, int count);
/* Counts one answered request; opcode: in <linux/fuse.h>; error: 0 or a negative errno. */
void metrics_request(struct metrics *metrics, uint32_t opcode, int error, uint64_t nanoseconds);

/* The kind of request, as a word; "other" for an unknown one. */
const char *metrics_name(uint32_t opcode);

/* A note on a request, from its receipt to its answer. */
struct metrics_note {
	/* Called once, before the answer is sent, by the thread that sends it; frees the note.
	 * bytes: read or written. iov NULL: the note is given up, because too many requests are
	 * under way, or at the end. */
	void (*answered)(struct metrics_note *note, const struct iovec *iov, uint64_t bytes,
			 uint64_t nanoseconds);
};
/* Takes a note on a request that was read, whose inode the kernel holds. NULL: none is wanted. */
typedef struct metrics_note *metrics_noter(void *ctx, const void *request);
/* Has each request from here on noted; NULL: none. One call at a time, with the same ctx, which is
 * valid until metrics_free. */
void metrics_note(struct metrics *metrics, metrics_noter *noter, void *ctx);

/* ---- Showing ----------------------------------------------------------------------------- */

/* A metric without labels; a name that ends in _total is a counter's, another one a gauge's. */
struct metric {
	const char *name;
	uint64_t value;
	const char *help;
};

/* Values of one moment. */
struct metrics_now {
	const char *version, *engine, *fuse; /* of rowfs and its libraries */
	int64_t mounted;		     /* microseconds since 1970 */
	const struct metric *all;
	size_t count;
	const struct wcs_stats *store; /* its levels */
};

/* Both in the text format of Prometheus. */
void metrics_print(const struct metrics *metrics, FILE *to);
void metrics_print_now(const struct metrics_now *now, FILE *to);

/* Prints all of /.rowfs/metrics. 0, or -ENOMEM: no memory, or the store cannot be read. */
int metrics_show(struct fs *fs, FILE *to);

#endif
