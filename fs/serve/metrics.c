/* SPDX-License-Identifier: MIT */
/*
 * Counters of requests. Each stands for itself, so relaxed order is enough; a text that is made
 * meanwhile may have one of two that belong together.
 *
 * Requests on the way are in a table at their number modulo its size. A request that is
 * overwritten, because so many are on the way, is counted but not timed.
 */
#include "fs/serve/metrics.h"

#include <inttypes.h>
#include <linux/fuse.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"

enum {
	KINDS = 64,   /* opcodes; 0 stands for those beyond */
	ERRNOS = 134, /* above every errno of Linux */
	UNDER_WAY = 4096,
	BOUNDS = 18,
};

/* Upper bounds of the buckets, in nanoseconds, and their texts, in seconds. */
static const struct {
	uint64_t ns;
	const char *text;
} bounds[BOUNDS] = {
	{10000, "0.00001"},  {25000, "0.000025"}, {50000, "0.00005"},  {100000, "0.0001"},
	{250000, "0.00025"}, {500000, "0.0005"},  {1000000, "0.001"},  {2500000, "0.0025"},
	{5000000, "0.005"},  {10000000, "0.01"},  {25000000, "0.025"}, {50000000, "0.05"},
	{100000000, "0.1"},  {250000000, "0.25"}, {500000000, "0.5"},  {1000000000, "1"},
	{2500000000, "2.5"}, {10000000000, "10"},
};

static const char *const names[KINDS] = {
	[0] = "other",
	[FUSE_LOOKUP] = "lookup",
	[FUSE_FORGET] = "forget",
	[FUSE_GETATTR] = "getattr",
	[FUSE_SETATTR] = "setattr",
	[FUSE_READLINK] = "readlink",
	[FUSE_SYMLINK] = "symlink",
	[FUSE_MKNOD] = "mknod",
	[FUSE_MKDIR] = "mkdir",
	[FUSE_UNLINK] = "unlink",
	[FUSE_RMDIR] = "rmdir",
	[FUSE_RENAME] = "rename",
	[FUSE_LINK] = "link",
	[FUSE_OPEN] = "open",
	[FUSE_READ] = "read",
	[FUSE_WRITE] = "write",
	[FUSE_STATFS] = "statfs",
	[FUSE_RELEASE] = "release",
	[FUSE_FSYNC] = "fsync",
	[FUSE_SETXATTR] = "setxattr",
	[FUSE_GETXATTR] = "getxattr",
	[FUSE_LISTXATTR] = "listxattr",
	[FUSE_REMOVEXATTR] = "removexattr",
	[FUSE_FLUSH] = "flush",
	[FUSE_INIT] = "init",
	[FUSE_OPENDIR] = "opendir",
	[FUSE_READDIR] = "readdir",
	[FUSE_RELEASEDIR] = "releasedir",
	[FUSE_FSYNCDIR] = "fsyncdir",
	[FUSE_GETLK] = "getlk",
	[FUSE_SETLK] = "setlk",
	[FUSE_SETLKW] = "setlkw",
	[FUSE_ACCESS] = "access",
	[FUSE_CREATE] = "create",
	[FUSE_INTERRUPT] = "interrupt",
	[FUSE_BMAP] = "bmap",
	[FUSE_DESTROY] = "destroy",
	[FUSE_IOCTL] = "ioctl",
	[FUSE_POLL] = "poll",
	[FUSE_BATCH_FORGET] = "batch_forget",
	[FUSE_FALLOCATE] = "fallocate",
	[FUSE_READDIRPLUS] = "readdirplus",
	[FUSE_RENAME2] = "rename2",
	[FUSE_LSEEK] = "lseek",
	[FUSE_COPY_FILE_RANGE] = "copy_file_range",
};

typedef _Atomic uint64_t counter;

struct kind {
	counter received;
	counter buckets[BOUNDS + 1]; /* the last: above every bound */
	counter nanoseconds;
	counter errors[ERRNOS];
};

struct request {
	counter unique; /* 0: none */
	counter start;
	_Atomic uint32_t opcode;
};

struct metrics {
	counter read, written; /* bytes */
	struct kind kinds[KINDS];
	struct request under_way[UNDER_WAY];
};

struct metrics *metrics_new(void)
{
	return calloc(1, sizeof(struct metrics));
}

void metrics_free(struct metrics *metrics)
{
	free(metrics);
}

/* ---- Counting ---------------------------------------------------------------------------- */

static void add(counter *to, uint64_t more)
{
	atomic_fetch_add_explicit(to, more, memory_order_relaxed);
}

static uint64_t get(const counter *from)
{
	return atomic_load_explicit((counter *)from, memory_order_relaxed);
}

static struct kind *kind_of(struct metrics *metrics, uint32_t opcode)
{
	return &metrics->kinds[opcode < KINDS && names[opcode] ? opcode : 0];
}

/* The kernel numbers requests in steps of two. */
static struct request *request_at(struct metrics *metrics, uint64_t unique)
{
	return &metrics->under_way[unique / 2 % UNDER_WAY];
}

uint32_t metrics_receive(struct metrics *metrics, const void *data)
{
	struct fuse_in_header header;
	struct request *request;

	memcpy(&header, data, sizeof(header));
	add(&kind_of(metrics, header.opcode)->received, 1);
	request = request_at(metrics, header.unique);
	/* A thread that sees one of the new values sees this 0, or the new number. */
	atomic_store_explicit(&request->unique, 0, memory_order_relaxed);
	atomic_store_explicit(&request->start, (uint64_t)clock_ns(), memory_order_release);
	atomic_store_explicit(&request->opcode, header.opcode, memory_order_release);
	atomic_store_explicit(&request->unique, header.unique, memory_order_release);
	return header.opcode;
}

void metrics_request(struct metrics *metrics, uint32_t opcode, int error, uint64_t nanoseconds)
{
	struct kind *kind = kind_of(metrics, opcode);
	size_t bucket = 0;

	while (bucket < BOUNDS && nanoseconds > bounds[bucket].ns)
		bucket++;
	add(&kind->buckets[bucket], 1);
	add(&kind->nanoseconds, nanoseconds);
	if (error < 0)
		add(&kind->errors[-error < ERRNOS ? -error : 0], 1);
}

void metrics_send(struct metrics *metrics, const struct iovec *iov, int count)
{
	struct fuse_out_header header;
	struct fuse_write_out written;
	struct request *request;
	uint32_t opcode;
	uint64_t start;

	memcpy(&header, iov[0].iov_base, sizeof(header));
	request = request_at(metrics, header.unique);
	if (header.unique == 0 ||
	    atomic_load_explicit(&request->unique, memory_order_acquire) != header.unique)
		return;
	opcode = atomic_load_explicit(&request->opcode, memory_order_acquire);
	start = atomic_load_explicit(&request->start, memory_order_acquire);
	if (get(&request->unique) != header.unique) /* overwritten meanwhile */
		return;
	metrics_request(metrics, opcode, header.error, (uint64_t)clock_ns() - start);
	if (header.error == 0 && opcode == FUSE_READ)
		add(&metrics->read, header.len - sizeof(header));
	if (header.error == 0 && opcode == FUSE_WRITE && count > 1) {
		memcpy(&written, iov[1].iov_base, sizeof(written));
		add(&metrics->written, written.size);
	}
}

/* ---- Showing ----------------------------------------------------------------------------- */

/* A bucket counts all requests up to its bound; the total is the last bucket, so the two agree. */
static void print_durations(const struct kind *kind, const char *name, FILE *to)
{
	uint64_t up_to[BOUNDS + 1], total = 0, ns = get(&kind->nanoseconds);

	for (size_t i = 0; i <= BOUNDS; i++)
		up_to[i] = total += get(&kind->buckets[i]);
	if (total == 0)
		return;
	for (size_t i = 0; i <= BOUNDS; i++)
		fprintf(to,
			"rowfs_request_duration_seconds_bucket{operation=\"%s\",le=\"%s\"} %" PRIu64
			"\n",
			name, i < BOUNDS ? bounds[i].text : "+Inf", up_to[i]);
	fprintf(to,
		"rowfs_request_duration_seconds_sum{operation=\"%s\"} %" PRIu64 ".%09" PRIu64 "\n",
		name, (ns / 1000000000), (ns % 1000000000));
	fprintf(to, "rowfs_request_duration_seconds_count{operation=\"%s\"} %" PRIu64 "\n", name,
		total);
}

void metrics_print(const struct metrics *metrics, FILE *to)
{
	fputs("# HELP rowfs_requests_total Requests of the kernel, by kind.\n"
	      "# TYPE rowfs_requests_total counter\n",
	      to);
	for (size_t i = 0; i < KINDS; i++)
		if (get(&metrics->kinds[i].received) > 0)
			fprintf(to, "rowfs_requests_total{operation=\"%s\"} %" PRIu64 "\n",
				names[i], get(&metrics->kinds[i].received));
	fputs("# HELP rowfs_request_errors_total Requests that were answered with an error.\n"
	      "# TYPE rowfs_request_errors_total counter\n",
	      to);
	for (int i = 0; i < KINDS * ERRNOS; i++) {
		uint64_t count = get(&metrics->kinds[i / ERRNOS].errors[i % ERRNOS]);
		const char *error = i % ERRNOS > 0 ? strerrorname_np(i % ERRNOS) : NULL;

		if (count > 0)
			fprintf(to,
				"rowfs_request_errors_total{operation=\"%s\",error=\"%s\"} %" PRIu64
				"\n",
				names[i / ERRNOS], error ? error : "other", count);
	}
	fputs("# HELP rowfs_request_duration_seconds Time from reading a request to its answer.\n"
	      "# TYPE rowfs_request_duration_seconds histogram\n",
	      to);
	for (size_t i = 0; i < KINDS; i++)
		if (names[i])
			print_durations(&metrics->kinds[i], names[i], to);
	fprintf(to,
		"# HELP rowfs_read_bytes_total Bytes that were read from files.\n"
		"# TYPE rowfs_read_bytes_total counter\n"
		"rowfs_read_bytes_total %" PRIu64 "\n"
		"# HELP rowfs_written_bytes_total Bytes that were written to files.\n"
		"# TYPE rowfs_written_bytes_total counter\n"
		"rowfs_written_bytes_total %" PRIu64 "\n",
		get(&metrics->read), get(&metrics->written));
}
