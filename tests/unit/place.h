/* SPDX-License-Identifier: MIT */
/* A directory of a test's own, for the tests that make, open and refuse stores there. */
#ifndef TEST_PLACE_H
#define TEST_PLACE_H

#include "tests/unit/suite.h"

/* The fault that the store's last call returned. */
extern struct wcs_fault place_fault;

/* Gives the test a directory of its own. */
void place_begin(void);
/* A path below it, good until the next call. */
const char *place_path(const char *name);
/* The same with a store of that name in it; its path. */
void place_store(char path[256], const char *name);
/* The names in a directory, sorted, each followed by a space. */
void place_expect_names(const char *path, const char *expected);
/* Writes the text as the directory's file of that name. */
void place_write(const char *path, const char *name, const char *text);
/* The call gave that error, and a reason with these words in it. */
void place_expect_fault(int rc, int expected, const char *words);
/* Making a store there, by force or not, does. */
void place_expect_create(const char *path, bool force, int expected, const char *words);
/* Opening the store there does. */
void place_expect_open(const char *path, int expected, const char *words);
/* The store there can be opened. */
void place_check_opens(const char *path);

#endif
