/* SPDX-License-Identifier: MIT */
/* Shared by the tests of advice: a table of cells that a test makes, and its findings as text. */
#ifndef ADVICE_H
#define ADVICE_H

#include "tests/unit/suite.h"

#include "store/advice/advice.h"

/* Tables: with a family f without a policy, and with a salt. */
#define PLAIN  "{\"families\":{\"f\":\"never\"}}"
#define SALTED "{\"keys\":{\"segments\":[\"a\"],\"salt\":{\"buckets\":4}}}"

struct checked {
	struct wcs_advice *advice;
	struct wcs_schema *schema;
	char *text; /* the findings, set by checked_end */
	size_t len;
	FILE *to;
};

/* Begins the table "t", as a schema has it. */
void checked_open(struct checked *checked, const char *table, bool json);
void checked_end(struct checked *checked);
void checked_close(struct checked *checked);
/* Ends the table, checks whether the rule found something, and closes. */
void checked_expect(struct checked *checked, const char *rule, bool found);

/* A cell of a new row, with 3 bytes. */
void feed(struct checked *checked, const char *key, int64_t ts);
/* More cells of the same row, in one column, each with so many bytes. */
void feed_cells(struct checked *checked, const char *family, const char *qualifier, uint64_t size,
		int count);

#endif
