/* SPDX-License-Identifier: MIT */
/* Places in the key space. */
#include "store/leveldb/encoding/place.h"

struct ldb_place ldb_place_before(struct wcs_slice key)
{
	struct ldb_place place = {{0}};

	if (key.len > 0)
		memcpy(place.bytes, key.data,
		       key.len < LDB_PLACE_BYTES ? key.len : LDB_PLACE_BYTES);
	return place;
}

struct ldb_place ldb_place_behind(struct wcs_slice key)
{
	struct ldb_place place = ldb_place_before(key);

	for (size_t i = LDB_PLACE_BYTES; key.len > LDB_PLACE_BYTES && i-- > 0;)
		if (++place.bytes[i] != 0)
			break;
	return place;
}

struct wcs_slice ldb_place_key(const struct ldb_place *place)
{
	size_t len = LDB_PLACE_BYTES;

	while (len > 0 && place->bytes[len - 1] == 0)
		len--;
	return (struct wcs_slice){place->bytes, len};
}
