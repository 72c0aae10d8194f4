/* SPDX-License-Identifier: MIT */
/*
 * Names: the lossless spelling of any bytes as file names. Any thread.
 *
 * Three kinds of bytes have names: a segment of a row key, a family, a qualifier. An encoded name
 * is the whole name, of any length. A component is what a directory holds: an encoded name of up
 * to NAMES_CHUNK_MAX bytes, or one chunk of a longer one. Lengths are bytes, without a NUL.
 *
 * -EINVAL: no name, or not the canonical spelling of its bytes. A lookup of such a name answers
 * ENOENT, a creation EINVAL.
 *
 * From a component to bytes: strip the '@' of a history (names_history), join the component to
 * the chunks above it (names_join), and decode the result (names_decode).
 * From bytes to components: names_encode, then names_component for each chunk.
 */
#ifndef ROWFS_NAMES_H
#define ROWFS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAMES_CHUNK_MAX	    230u /* bytes of an encoded name in one component */
#define NAMES_COMPONENT_MAX 255u /* bytes of a component that resolves */
#define NAMES_TS_MAX	    19u	 /* bytes of a timestamp's name */

/* The maximum length of an encoded name of len bytes. */
#define NAMES_ENCODED_MAX(len) ((len) == 0 ? (size_t)1 : 3 * (size_t)(len))

/* NAMES_TEXT: a key as text, in which any byte may be %XX and "%=" may stand, also "%=%" alone; for
 * names_join alone. */
enum names_kind { NAMES_SEGMENT, NAMES_FAMILY, NAMES_QUALIFIER, NAMES_TEXT };

/* The families of a table: is there one of this name? Asked for segments that could be one. */
struct names_families {
	bool (*has)(void *ctx, const void *name, size_t len);
	void *ctx;
};

/*
 * Writes the encoded name of len bytes and a NUL; name has room for NAMES_ENCODED_MAX(len) + 1.
 * families: of the segment's table; NULL: none, and for the other kinds. Returns its length.
 */
size_t names_encode(enum names_kind kind, const struct names_families *families, const void *data,
		    size_t len, char *name);

/*
 * Writes the bytes that an encoded name stands for; data has room for name_len bytes. families as
 * in names_encode. Limits of row keys and characters of families are not checked.
 * -EINVAL; data may have been written to then.
 */
int names_decode(enum names_kind kind, const struct names_families *families, const char *name,
		 size_t name_len, void *data, size_t *len);

/*
 * Writes the component for the chunk of an encoded name that starts at offset (0, or the end of a
 * chunk), and a NUL: with a '%' behind it where it is not the last chunk. component has room for
 * NAMES_CHUNK_MAX + 2 bytes, its length goes to *len. Returns the offset of the chunk's end, which
 * is name_len for the last one.
 */
size_t names_component(const char *name, size_t name_len, size_t offset, char *component,
		       size_t *len);

/* Is the component a chunk that is not its name's last: a directory that holds the next? */
bool names_is_chunk(const char *component, size_t len);

/*
 * Joins a component to the chunks above it. above: the result of names_join for the chunk directory
 * that holds the component, above_len 0 where a segment, family or column starts there. name has
 * room for above_len + len bytes and may be above itself. *more: the component is a chunk that is
 * not the last (names_is_chunk), and so far its name is spelled right; else name is an encoded
 * name that is still to be decoded. -EINVAL: the name would have been split at another place.
 * The last component may have up to NAMES_COMPONENT_MAX bytes.
 */
int names_join(enum names_kind kind, const char *above, size_t above_len, const char *component,
	       size_t len, char *name, size_t *name_len, bool *more);

/* Is the component, in a family's directory, a column's history? If so *len becomes the length
 * without the '@', that is of the column's component. */
bool names_history(const char *component, size_t *len);

/* Reads a cell's name: a timestamp in microseconds since 1970, decimal, without leading zeros.
 * -EINVAL: it is none, or beyond INT64_MAX. */
int names_ts_parse(const char *name, size_t len, int64_t *ts);

/* Writes the name of a cell with a timestamp >= 0, and a NUL; name has room for NAMES_TS_MAX + 1
 * bytes. Returns its length. */
size_t names_ts_format(int64_t ts, char *name);

#endif
