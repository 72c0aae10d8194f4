/* SPDX-License-Identifier: MIT */
/*
 * Counters of requests, and values of one moment, as metrics. Each counter stands for itself, so
 * relaxed order is enough; a text that is made meanwhile may have one of two that belong together.
 *
 * Requests on the way are in a table, at their number modulo its size or, where a noted request is,
 * behind it. A request that is overwritten, because so many are on the way, is counted but not
 * timed.
 */
#include "fs/serve/metrics.h"
#include "fs/fs.h"

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
	_Atomic(struct metrics_note *) note; /* NULL: none */
};

struct metrics {
	metrics_measure *measure;
	counter read, written;		/* bytes */
	_Atomic(metrics_noter *) noter; /* NULL: no request is noted */
	void *noter_ctx;		/* set once, before noter */
	struct kind kinds[KINDS];
	struct request under_way[UNDER_WAY];
};

struct metrics *metrics_new(metrics_measure *measure)
{
	struct metrics *metrics = calloc(1, sizeof(*metrics));

	if (metrics)
		metrics->measure = measure;
	return metrics;
}

/* Puts another note (NULL: none) in the place of the request's, which is given up. */
static void note_replace(struct request *request, struct metrics_note *note)
{
	struct metrics_note *old = atomic_exchange(&request->note, note);

	if (old)
		old->answered(old, NULL, 0, 0);
}

void metrics_free(struct metrics *metrics)
{
	for (size_t i = 0; metrics && i < UNDER_WAY; i++)
		note_replace(&metrics->under_way[i], NULL);
	free(metrics);
}

void metrics_note(struct metrics *metrics, metrics_noter *noter, void *ctx)
{
	if (noter && !metrics->noter_ctx)
		metrics->noter_ctx = ctx;
	atomic_store_explicit(&metrics->noter, noter, memory_order_release);
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

/* The n-th place for a request. The kernel numbers requests in steps of two. */
static struct request *request_at(struct metrics *metrics, uint64_t unique, uint64_t n)
{
	return &metrics->under_way[(unique / 2 + n) % UNDER_WAY];
}

/* The first place that has no noted request under way; the first of all if each has one. */
static struct request *request_place(struct metrics *metrics, uint64_t unique)
{
	for (uint64_t n = 0; n < UNDER_WAY; n++) {
		struct request *request = request_at(metrics, unique, n);

		if (!atomic_load_explicit(&request->note, memory_order_relaxed))
			return request;
	}
	return request_at(metrics, unique, 0);
}

/* The request of that number, or another one. */
static struct request *request_find(struct metrics *metrics, uint64_t unique)
{
	struct request *request;
	uint64_t n = 0;

	do {
		request = request_at(metrics, unique, n++);
	} while (n < UNDER_WAY &&
		 atomic_load_explicit(&request->unique, memory_order_acquire) != unique);
	return request;
}

const char *metrics_name(uint32_t opcode)
{
	return names[opcode < KINDS && names[opcode] ? opcode : 0];
}

uint32_t metrics_receive(struct metrics *metrics, const void *data)
{
	metrics_noter *noter = atomic_load_explicit(&metrics->noter, memory_order_acquire);
	struct metrics_note *note = noter ? noter(metrics->noter_ctx, data) : NULL;
	struct fuse_in_header header;
	struct request *request;

	memcpy(&header, data, sizeof(header));
	add(&kind_of(metrics, header.opcode)->received, 1);
	request = request_place(metrics, header.unique);
	/* A thread that sees one of the new values sees this 0, or the new number. */
	atomic_store_explicit(&request->unique, 0, memory_order_relaxed);
	atomic_store_explicit(&request->start, (uint64_t)clock_ns(), memory_order_release);
	atomic_store_explicit(&request->opcode, header.opcode, memory_order_release);
	if (note || atomic_load_explicit(&request->note, memory_order_relaxed))
		note_replace(request, note);
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
	struct metrics_note *note;
	uint64_t start, bytes = 0;
	uint32_t opcode;

	memcpy(&header, iov[0].iov_base, sizeof(header));
	request = header.unique > 0 ? request_find(metrics, header.unique) : NULL;
	if (!request ||
	    atomic_load_explicit(&request->unique, memory_order_acquire) != header.unique)
		return;
	opcode = atomic_load_explicit(&request->opcode, memory_order_acquire);
	start = atomic_load_explicit(&request->start, memory_order_acquire);
	if (get(&request->unique) != header.unique) /* overwritten meanwhile */
		return;
	start = (uint64_t)clock_ns() - start;
	metrics_request(metrics, opcode, header.error, start);
	if (header.error == 0 && opcode == FUSE_READ) {
		bytes = header.len - sizeof(header);
		add(&metrics->read, bytes);
	} else if (header.error == 0 && opcode == FUSE_WRITE && count > 1) {
		memcpy(&written, iov[1].iov_base, sizeof(written));
		bytes = written.size;
		add(&metrics->written, bytes);
	}
	note = atomic_load_explicit(&request->note, memory_order_relaxed);
	if (note && atomic_compare_exchange_strong(&request->note, &note, NULL))
		note->answered(note, iov, bytes, start);
}

/* ---- Showing ----------------------------------------------------------------------------- */

/* A counter's name ends in _total. */
static void print_head(const char *name, const char *help, FILE *to)
{
	size_t len = strlen(name);
	bool counts = len > 6 && strcmp(name + len - 6, "_total") == 0;

	fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, counts ? "counter" : "gauge");
}

static void print_all(const struct metric *all, size_t count, FILE *to)
{
	for (size_t i = 0; i < count; i++) {
		print_head(all[i].name, all[i].help, to);
		fprintf(to, "%s %" PRIu64 "\n", all[i].name, all[i].value);
	}
}

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
	const struct metric bytes[] = {
		{"rowfs_read_bytes_total", get(&metrics->read), "Bytes that were read from files."},
		{"rowfs_written_bytes_total", get(&metrics->written),
		 "Bytes that were written to files."},
	};

	print_head("rowfs_requests_total", "Requests of the kernel, by kind.", to);
	for (size_t i = 0; i < KINDS; i++)
		if (get(&metrics->kinds[i].received) > 0)
			fprintf(to, "rowfs_requests_total{operation=\"%s\"} %" PRIu64 "\n",
				names[i], get(&metrics->kinds[i].received));
	print_head("rowfs_request_errors_total", "Requests that were answered with an error.", to);
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
	print_all(bytes, sizeof(bytes) / sizeof(*bytes), to);
}

/* ---- Values of one moment ----------------------------------------------------------------- */

/* A label; Prometheus wants three characters of its value escaped. */
static void print_label(const char *name, const char *value, FILE *to)
{
	fprintf(to, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\n')
			fputs("\\n", to);
		else if (*value == '"' || *value == '\\')
			fprintf(to, "\\%c", *value);
		else
			putc(*value, to);
	}
	putc('"', to);
}

void metrics_print_now(const struct metrics_now *now, FILE *to)
{
	print_head("rowfs_info", "Versions of rowfs and what it stands on.", to);
	fputs("rowfs_info", to);
	print_label("{version", now->version, to);
	print_label(",engine", now->engine, to);
	print_label(",libfuse", now->fuse, to);
	fputs("} 1\n", to);
	print_head("rowfs_mounted_timestamp_seconds", "When the store was mounted.", to);
	fprintf(to, "rowfs_mounted_timestamp_seconds %" PRId64 ".%06d\n", now->mounted / 1000000,
		(int)(now->mounted % 1000000));
	print_all(now->all, now->count, to);
	if (now->store->level_count == 0)
		return;
	print_head("rowfs_store_files", "Files of the engine, by level.", to);
	for (size_t i = 0; i < now->store->level_count; i++)
		fprintf(to, "rowfs_store_files{level=\"%zu\"} %" PRIu64 "\n", i,
			now->store->levels[i].files);
	print_head("rowfs_store_bytes", "Size of these files, about, by level.", to);
	for (size_t i = 0; i < now->store->level_count; i++)
		fprintf(to, "rowfs_store_bytes{level=\"%zu\"} %" PRIu64 "\n", i,
			now->store->levels[i].bytes);
}

int metrics_show(struct fs *fs, FILE *to)
{
	metrics_print(fs->metrics, to);
	return fs->metrics->measure(fs, to);
}
