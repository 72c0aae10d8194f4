/* SPDX-License-Identifier: MIT */
/*
 * Names spelled and split by a second reading of the contract, to compare with.
 *
 * It is naive on purpose, and shares nothing with the code: it takes characters apart into code
 * points, looks at whole strings where the code looks at a place, and fills chunks from the front
 * where the code steps back from the limit.
 */
#ifndef MODEL_H
#define MODEL_H

#include "lib/names.h"

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BYTES_MAX   16384
#define ENCODED_MAX (3 * BYTES_MAX)
#define CHUNKS_MAX  (ENCODED_MAX / 227 + 1)

/* For the loops that run often: libcheck's own assertions each write to a pipe. */
#define CHECK_FAST(condition)                                                                      \
	do {                                                                                       \
		if (!(condition))                                                                  \
			ck_abort_msg("%s", #condition);                                            \
	} while (0)

struct model_units {
	char text[ENCODED_MAX + 1];
	size_t len;
	size_t count;
	size_t ends[ENCODED_MAX]; /* of each unit in text */
};

struct model_chunks {
	size_t count;
	char text[CHUNKS_MAX][NAMES_CHUNK_MAX + 2];
};

/* Buffers for the comparison, too large for a stack. */
extern const enum names_kind model_kinds[3];
extern struct model_units model_text;
extern struct model_chunks model_parts;
extern char model_encoded[ENCODED_MAX + 1];
extern char model_joined[2 * ENCODED_MAX];
extern unsigned char model_decoded[2 * ENCODED_MAX];
extern const struct names_families model_families;

/* These bytes encode as the reference says, and decode again. */
void model_check_encode(enum names_kind kind, const void *bytes, size_t len);
/* Any name decodes if it is the canonical spelling of its bytes, and else not at all. */
void model_check_decode(enum names_kind kind, const char *name, size_t len);
/* These bytes are split as the reference says, and the chunks lead back to them. */
void model_check_split(enum names_kind kind, const unsigned char *bytes, size_t len);

#endif
