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

struct metrics *metrics_new(void); /* NULL: no memory */
void metrics_free(struct metrics *metrics);

/* ---- Counting. Any thread ---------------------------------------------------------------- */

/* A request was read: the bytes that the kernel sent, a header at least. Returns its opcode. */
uint32_t metrics_receive(struct metrics *metrics, const void *data);
/* A message to the kernel is about to be sent: an answer, or a notice, which is not counted. */
void metrics_send(struct metrics *metrics, const struct iovec *iov, int count);
/* Counts one answered request; opcode: in <linux/fuse.h>; error: 0 or a negative errno. */
void metrics_request(struct metrics *metrics, uint32_t opcode, int error, uint64_t nanoseconds);

/* ---- Showing ----------------------------------------------------------------------------- */

/* Values of one moment. */
struct metrics_now {
	const char *version, *engine, *fuse; /* of rowfs and its libraries */
	int64_t mounted;		     /* microseconds since 1970 */
	uint64_t inodes;		     /* that the kernel holds */
	uint64_t open_files, write_sessions, drafts, memory_directories, scans;
	uint64_t errors; /* since the mount, in /.rowfs/errors */
	struct wcs_gc_status gc;
	struct wcs_stats store;
};

/* Both in the text format of Prometheus. */
void metrics_print(const struct metrics *metrics, FILE *to);
void metrics_print_now(const struct metrics_now *now, FILE *to);

/* Prints all of /.rowfs/metrics. 0, or -ENOMEM: no memory, or the store cannot be read. */
int metrics_show(struct fs *fs, FILE *to);

#endif
