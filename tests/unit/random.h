/* SPDX-License-Identifier: MIT */
/*
 * Operations that run on both engines, with the same clock. Each must give the same result, and
 * leave the same content. Changes are decided above the engines, whose edits, looks and scans are
 * compared; e2e tests compare decisions with models. They are drawn from random numbers, or from
 * the bytes of an input, so that a fuzzer chooses them.
 */
#ifndef TEST_RANDOM_H
#define TEST_RANDOM_H

#include "tests/unit/suite.h"

#define RANDOM_FAMILIES 4 /* the last does not exist */
#define RANDOM_BUFFERS	512
#define RANDOM_BATCH	12

extern const char *const random_families[RANDOM_FAMILIES];

struct random_run {
	/* Where numbers come from: the bytes, or if there are none the sequence of state. */
	const unsigned char *bytes;
	size_t bytes_left;
	uint64_t state;
	struct suite suites[SUITE_ENGINES];
	char text[4096]; /* the last operation as text */
	size_t text_len;
	char *buffers[RANDOM_BUFFERS]; /* borrowed by the present operation */
	size_t buffer_count;
	int moved;	/* moves that went well */
	size_t batched; /* mutations in batches that did */
};

/* Opens both engines; the source is set, the rest is 0. */
void random_open(struct random_run *run);
void random_close(struct random_run *run);
/* Does something to both. */
void random_step(struct random_run *run);
/* Compares all that is in them. */
void random_check_all(struct random_run *run);
void random_set_policy(struct random_run *run, const char *family, const char *policy);

/* ---- For random_*.c alone ---------------------------------------------------------------- */

/* A number below the limit; when the bytes are used up, 0. */
uint32_t random_below(struct random_run *run, uint32_t limit);
void random_say(struct random_run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Room for len bytes, until the operation is over. */
char *random_buffer(struct random_run *run, size_t len);
struct wcs_slice random_copy(struct random_run *run, struct wcs_slice from);
/* Short bytes of a small alphabet around the delimiter. */
struct wcs_slice random_bytes(struct random_run *run, size_t shortest, size_t longest);
struct wcs_slice random_value(struct random_run *run);
int64_t random_ts(struct random_run *run);
/* A missing one is rare. */
const char *random_family(struct random_run *run);
/* Both texts are the same; frees them. */
void random_compare(struct random_run *run, char *memory, char *leveldb);

void random_mutate(struct random_run *run);
void random_batch(struct random_run *run);
void random_move(struct random_run *run);
void random_scan(struct random_run *run);
void random_walk(struct random_run *run);
void random_list(struct random_run *run);
void random_get(struct random_run *run);

#endif
