/* SPDX-License-Identifier: MIT */
/*
 * Places in the key space, and ranges between them.
 *
 * A place is a key with zeros behind it. A longer key is cut, and the place is then before the key:
 * a range may begin a little early, and ends a little late.
 */
#ifndef WCS_LEVELDB_PLACE_H
#define WCS_LEVELDB_PLACE_H

#include <string.h>

#include "store/store.h"

#define LDB_PLACE_BYTES 1024u
struct ldb_place {
	unsigned char bytes[LDB_PLACE_BYTES];
};
/* The last place at or before the key. */
struct ldb_place ldb_place_before(struct wcs_slice key);
/* The first place at or behind the key. */
struct ldb_place ldb_place_behind(struct wcs_slice key);
/* Its bytes without the zeros at its end; LevelDB's LOG has them for each slice. */
struct wcs_slice ldb_place_key(const struct ldb_place *place);
static inline int ldb_place_compare(const struct ldb_place *a, const struct ldb_place *b)
{
	return memcmp(a, b, sizeof(*a));
}

struct ldb_range {
	struct ldb_place from, to;
};
static inline struct ldb_range ldb_range(struct wcs_slice from, struct wcs_slice to)
{
	return (struct ldb_range){ldb_place_before(from), ldb_place_behind(to)};
}

#endif
