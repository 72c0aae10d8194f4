/* SPDX-License-Identifier: MIT */
/*
 * Allocations that fail when a test says so: those of the program's own objects, the store's among
 * them, and jansson's if it is told to use them; not LevelDB's, which ends the program. The program
 * is linked with --wrap for each function in alloc.c.
 */
#ifndef TEST_ALLOC_H
#define TEST_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

/* From now on the n-th allocation (from 1) fails, of this thread, or of all others. n 0: none. */
void alloc_fail(size_t n, bool others);
/* Ends that. Did one fail? */
bool alloc_stop(void);

/* How many allocations were made, by any thread, and not freed. */
size_t alloc_live(void);

#endif
