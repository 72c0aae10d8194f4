/* SPDX-License-Identifier: MIT */
/* Bounds the memory that reading row JSON takes. Any thread. */
#ifndef WCS_JSON_MEMORY_H
#define WCS_JSON_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Sets how many bytes one line may take, for all stores of the process; 0: any. */
void wcs_json_limit(size_t bytes);
/* The limit; SIZE_MAX: none. */
size_t wcs_json_limited(void);

/* Waits, before a text of len bytes is read, until no other thread reads a large one. The same
 * thread passes the result to wcs_json_end when the row is freed. Calls may nest. */
bool wcs_json_begin(size_t len);
void wcs_json_end(bool begun);

#endif
