/* SPDX-License-Identifier: MIT */
/*
 * LevelDB's C API doing the least that the same work needs, on a copy of the store: it knows how
 * the keys of tree.h's cells lie, and nothing else of rowfs.
 */
#ifndef BENCH_RAW_H
#define BENCH_RAW_H

#include <stdint.h>

struct raw;

/* data: the directory of LevelDB's files. */
struct raw *raw_open(const char *data);
void raw_close(struct raw *raw);

/* The distinct segments behind a prefix, by steps and, where these do not leave one, by a seek; at
 * most so many. */
uint32_t raw_list(struct raw *raw, const char *prefix, uint32_t most);
/* The columns of a row. */
uint32_t raw_columns(struct raw *raw, const char *row);
/* Seeks the i-th column of row c, with one iterator for all; gets its value. */
void raw_seek(struct raw *raw, uint32_t i);
void raw_get(struct raw *raw, uint32_t i);
/* Puts a new cell. */
void raw_put(struct raw *raw, uint32_t i);

#endif
