/* SPDX-License-Identifier: MIT */
/*
 * Shared by the fuzz targets. A target is one program: LLVMFuzzerTestOneInput takes bytes, and
 * aborts where a property does not hold. It runs with libFuzzer, which makes the bytes up, or with
 * replay.c, which takes them from files.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include "store/store.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts with the place and the text of the condition unless it holds. */
#define FUZZ_CHECK(condition)                                                                      \
	do {                                                                                       \
		if (!(condition))                                                                  \
			fuzz_failed(__FILE__, __LINE__, #condition);                               \
	} while (0)
void fuzz_failed(const char *file, int line, const char *what) __attribute__((noreturn));

/* Takes the first byte off the input; 0 where it is used up. */
unsigned int fuzz_byte(const uint8_t **data, size_t *size);

/* Are both the same bytes? */
bool fuzz_same(const void *a, size_t a_len, const void *b, size_t b_len);

/* A copy with a NUL behind it, to be freed. */
char *fuzz_text(const uint8_t *data, size_t size);

/* An empty store on the engine in memory, with a clock that stands at 1,000,000. */
struct wcs_store *fuzz_store(void);

#endif
