/* SPDX-License-Identifier: MIT */
/*
 * Calls of the store, at least one of each kind, each with the content that it leaves. Tests let
 * them fail at every place. Each call starts from the same store and returns the store's error. It
 * frees its results, also when it fails.
 */
#ifndef TEST_CALLS_H
#define TEST_CALLS_H

#include "tests/unit/suite.h"

enum { CALLS_OUT_MAX = 400000, CALLS_BIG = 100000 };

struct calls {
	struct suite suite;
	/* The output of the present call. */
	size_t out_len;
	char out[CALLS_OUT_MAX];
};

struct call {
	const char *name;
	int (*run)(struct calls *calls);
	const char *content; /* of table t behind it; NULL: as before */
	const char *schema;  /* a part of the store's schema behind it; NULL: as before */
	const char *out;     /* expected output; NULL: not compared */
	bool others;	     /* it is the store's threads whose allocations fail */
	size_t least;	     /* allocations there are, at least */
};

/* The n-th of all, from 0; NULL behind the last. */
const struct call *calls_at(int n);
int calls_count(void);

/* Each ends with one without a name. */
extern const struct call calls_schema[], calls_write[], calls_read[], calls_text[];

/* The cells of rows r, and of the others, before any call. */
#define CALLS_R	   "r/a/q@2=new r/a/q@1=old r/b/x@5=y r/s/n@1=\\00\\00\\00\\00\\00\\00\\00\\05 "
#define CALLS_REST "r#s/a/q@3=v r#s/f/big@1=<100000:8bbd82d0> t#1/a/q@1=v t#2/a/q@1=v "

/* Makes that store, of LevelDB's engine, or one of its salted ones; suite_close ends it. */
void calls_open(struct calls *calls, enum suite_engine engine);

/* Append to the output: bytes as they are, text with a space after it. */
void calls_out(struct calls *calls, const void *bytes, size_t len);
void calls_out_text(struct calls *calls, const char *words);

#endif
