/* SPDX-License-Identifier: MIT */
/* Policies once more: a tree of its own, evaluated from the definitions, written with varied
 * spelling. */
#ifndef TEST_GC_MODEL_H
#define TEST_GC_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Where choices come from: a number below n. */
struct gc_model_source {
	unsigned int (*pick)(void *ctx, unsigned int n);
	void *ctx;
};

struct gc_model;

struct gc_model *gc_model_new(const struct gc_model_source *source, int depth);
void gc_model_free(struct gc_model *model);
bool gc_model_collects(const struct gc_model *model, uint64_t rank, int64_t ts, int64_t now);
void gc_model_print(const struct gc_model *model, const struct gc_model_source *source, FILE *out);

#endif
