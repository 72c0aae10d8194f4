/* SPDX-License-Identifier: MIT */
/* How much memory JSON may take. Any thread. */
#ifndef WCS_JSON_MEMORY_H
#define WCS_JSON_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* What reading one text may take from now on, in the process; 0: any. */
void wcs_json_limit(size_t bytes);

/* A text of that length is to be read: where its tree may be large, this waits until no other such
 * text is at work. wcs_json_end, by the same thread, is told what this returned when the tree is
 * freed. May be called again between the two. */
bool wcs_json_begin(size_t len);
void wcs_json_end(bool begun);

#endif
