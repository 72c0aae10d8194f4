/* SPDX-License-Identifier: MIT */
/*
 * Key designs: how a table's row keys are built. Errors, threads and ownership as in store.h.
 *
 * A row key has up to three forms:
 *   shown   the text that people see: each segment as its codec shows it, with %XX for bytes
 *   key     the bytes of store.h: each segment as its codec stores it, in an order that serves
 *   stored  the key of the engine: the key behind its salt, if the table has one
 *
 * A codec is a bijection between the bytes of a segment and its canonical shown form. A segment
 * that has none (letters under pad) is shown as "%=" and its bytes, spelled as usual. So every key
 * has one shown form, and no two keys share one.
 *
 * A design is immutable once a table has it.
 */
#ifndef WCS_KEYS_H
#define WCS_KEYS_H

#include "store/store.h"

#define WCS_KEYS_SEGMENTS_MAX 32u  /* segments that a design declares */
#define WCS_KEYS_NAME_MAX     64u  /* bytes of a segment's name, of [-_.a-zA-Z0-9]; at least 1 */
#define WCS_KEYS_BUCKETS_MAX  256u /* of a salt; at least 2 */
#define WCS_KEYS_SALT	      3u   /* bytes: two digits and the delimiter */
#define WCS_KEYS_SHOWN_MAX    27u  /* bytes of the shown form of a time or a number, at most */

/* The numbers are on disk. */
enum wcs_codec {
	WCS_CODEC_TEXT = 0,	      /* unchanged */
	WCS_CODEC_REVERSE_DOMAIN = 1, /* labels between dots in the opposite order */
	WCS_CODEC_TIME = 2,	      /* `width` digits: the time since 1970 in the unit */
	WCS_CODEC_REVERSE_TIME = 3,   /* 19 digits: INT64_MAX minus that time */
	WCS_CODEC_PAD = 4,	      /* `width` digits: a number with zeros in front */
	WCS_CODEC_REVERSE = 5	      /* the bytes in the opposite order */
};
enum wcs_unit { WCS_UNIT_US = 0, WCS_UNIT_MS = 1, WCS_UNIT_S = 2 };

struct wcs_keys_segment {
	char name[WCS_KEYS_NAME_MAX + 1];
	enum wcs_codec codec;
	enum wcs_unit unit;  /* of the times */
	unsigned char width; /* of TIME (10 to 19) and PAD (1 to 19) */
};

/* Without segments and buckets it is the design of a plain table. */
struct wcs_keys {
	unsigned char delimiter; /* of its table; 0: in a schema from JSON */
	unsigned int buckets;	 /* of the salt; 0: none */
	unsigned int
		salt_segments; /* the salt is a hash of so many segments; 0: of the whole key */
	size_t segment_count;
	struct wcs_keys_segment segments[WCS_KEYS_SEGMENTS_MAX];
};

/* The design of a plain table with that delimiter. */
static inline struct wcs_keys wcs_keys_plain(unsigned char delimiter)
{
	return (struct wcs_keys){.delimiter = delimiter};
}

/* ---- codec.c ---- */
/* The names of codecs and units: "text", … and "us", "ms", "s". NULL: a number that is none. */
const char *wcs_codec_name(enum wcs_codec codec);
/* Lines of help on it, without an indent. */
const char *wcs_codec_help(enum wcs_codec codec);
const char *wcs_unit_name(enum wcs_unit unit);
/* The width of a segment whose design names none; 0: the codec has no width, or must have one. */
unsigned char wcs_codec_width(enum wcs_codec codec);

/* Checks names, widths and buckets, and that no codec and no salt makes the delimiter (0: that is
 * not checked). -EINVAL: fault has the reason. */
int wcs_keys_check(const struct wcs_keys *keys, unsigned char delimiter, struct wcs_fault *fault);
/* Are the designs equal? Their delimiters do not count. NULL is a plain one. */
bool wcs_keys_equal(const struct wcs_keys *a, const struct wcs_keys *b);

/* Has the segment at that index (0: the key's first) a codec other than text? keys may be NULL. */
static inline bool wcs_keys_coded(const struct wcs_keys *keys, size_t segment)
{
	return keys != NULL && segment < keys->segment_count &&
	       keys->segments[segment].codec != WCS_CODEC_TEXT;
}

/* Lets a reader take a time in every form of TIME (docs/queries.md), and a number with zeros in
 * front. */
struct wcs_keys_any {
	int64_t now;   /* the present, microseconds since 1970 */
	bool relative; /* set if a time depends on it; else left alone */
};
/*
 * The bytes of a segment for its shown form, without %XX: for the canonical one, or, if any is not
 * NULL, for each one. bytes has room for shown.len + 19, and must not overlap shown. -EINVAL: not a
 * form that the codec takes; fault (may be NULL) says which it takes, or names the canonical form
 * of a time or number in another. 0, with any: fault has a text if it is a time given as a number
 * that may be of another unit (lib/times.h).
 */
int wcs_keys_encode(const struct wcs_keys *keys, size_t segment, struct wcs_slice shown,
		    struct wcs_keys_any *any, unsigned char *bytes, size_t *len,
		    struct wcs_fault *fault);
/* The shown form of a segment's bytes. shown has room for bytes.len + WCS_KEYS_SHOWN_MAX, and must
 * not overlap bytes. false: it has none, and is shown as "%=" and its bytes. */
bool wcs_keys_decode(const struct wcs_keys *keys, size_t segment, struct wcs_slice bytes,
		     unsigned char *shown, size_t *len);

/* ---- shown.c: whole keys. keys NULL: a plain table ---- */
/* Room for the shown form of any key of so many bytes: three for each, and "%=" or a time for each
 * segment. Keys have at most WCS_ROW_KEY_MAX bytes in these functions. */
#define WCS_KEYS_TEXT_MAX(len) (3 * (size_t)(len) + WCS_KEYS_SEGMENTS_MAX * 32u)
/* Writes the shown form of a key, without a NUL; returns its length. That of the empty key is
 * empty. */
size_t wcs_keys_show(const struct wcs_keys *keys, struct wcs_slice key, char *text);
/* The shown form of a key, with a NUL, for the caller to free; NULL: no memory. */
char *wcs_keys_text(const struct wcs_keys *keys, struct wcs_slice key);
/* Writes the shown form as bytes, without %XX but in segments behind "%="; text as of
 * wcs_keys_show. Two keys may have the same, so it is for matching alone. */
size_t wcs_keys_bytes(const struct wcs_keys *keys, struct wcs_slice key, char *text);
/*
 * Reads a shown form: text with %XX, with "%=" before the bytes of any segment (keys NULL: of the
 * first, since the delimiter is not known). key has room for WCS_ROW_KEY_MAX bytes; it may have
 * been written to after an error. An empty text is an empty key. -EINVAL: a '%' with something else
 * behind it, or a segment that its codec does not take, which the fault names, with its column in
 * the text; -ENAMETOOLONG. any: as of wcs_keys_encode. segment: the index of the text's first
 * segment, behind those of a prefix.
 */
int wcs_keys_parse(const struct wcs_keys *keys, size_t segment, struct wcs_slice text,
		   struct wcs_keys_any *any, unsigned char *key, size_t *len,
		   struct wcs_fault *fault);

/* ---- json/keys_json.c ---- */
/*
 * A design as JSON, in one line with a newline: {"segments":[S,…],"salt":{"buckets":N,
 * "segments":K}}, where S is "NAME" for text, or {"name":NAME,"codec":C,"unit":U,"width":W}.
 * Default values are left out: the unit us, width 19 of time, segments 0 of the salt; a plain
 * design (keys may be NULL) is {}. The caller frees it. NULL: no memory.
 */
char *wcs_keys_json(const struct wcs_keys *keys);
/* Reads such an object; *keys has no delimiter then, and is checked without one. -EINVAL, -EFBIG,
 * -ENOMEM: fault has the reason, with the line and column; *keys is as it was. */
int wcs_keys_json_parse(const char *text, size_t len, struct wcs_keys *keys,
			struct wcs_fault *fault);

/* ---- salt.c: keys NULL or without a salt, where not said otherwise ---- */
static inline bool wcs_keys_salted(const struct wcs_keys *keys)
{
	return keys != NULL && keys->buckets > 0;
}
/* The bytes of the longest key, whose stored key is within WCS_ROW_KEY_MAX. */
static inline size_t wcs_keys_row_max(const struct wcs_keys *keys)
{
	return wcs_keys_salted(keys) ? WCS_ROW_KEY_MAX - WCS_KEYS_SALT : WCS_ROW_KEY_MAX;
}
/* The stored key of a key within wcs_keys_row_max: in bytes, which have room for WCS_ROW_KEY_MAX,
 * or the key itself, if there is no salt. */
struct wcs_slice wcs_keys_stored(const struct wcs_keys *keys, struct wcs_slice key,
				 unsigned char *bytes);
/* The bucket of a key: its salt in digits. keys has a salt. */
unsigned int wcs_keys_bucket(const struct wcs_keys *keys, struct wcs_slice key);
/* Writes the salt of a bucket: WCS_KEYS_SALT bytes. */
void wcs_keys_salt(const struct wcs_keys *keys, unsigned int bucket, unsigned char *salt);
/* The key of a stored key: what is behind its salt; all of it where the table has no salt, or the
 * key has not its own. */
struct wcs_slice wcs_keys_unsalted(const struct wcs_keys *keys, struct wcs_slice stored);
/* The bucket to which all keys of the range belong, or -1: several. */
int wcs_keys_range_bucket(const struct wcs_keys *keys, const struct wcs_range *range);
/* Is that the range of one key: does it end at its start with a NUL behind it? */
bool wcs_keys_one(struct wcs_slice start, struct wcs_slice end);

/* ---- name.c: segments as names of directories (lib/names.h). keys NULL: a plain table ---- */
struct names_families;
/* Room for the name of a segment of so many bytes, and a NUL. */
#define WCS_KEYS_NAME_ROOM(len) (3 * ((size_t)(len) + WCS_KEYS_SHOWN_MAX) + 3)
/* Writes the encoded name of a segment and a NUL: of its shown form, or "%=" and that of its bytes
 * where it has none, or where its name would be split into chunks. families as of names_encode.
 * Returns its length. */
size_t wcs_keys_name(const struct wcs_keys *keys, size_t segment,
		     const struct names_families *families, struct wcs_slice bytes, char *name);
/* The bytes of the segment of that encoded name, which has no joints of chunks. bytes has room for
 * WCS_ROW_KEY_MAX + WCS_KEYS_SHOWN_MAX. -EINVAL: it is the name of none, or not the one that its
 * segment has; fault has a reason, or is as it was. -ENAMETOOLONG. */
int wcs_keys_name_parse(const struct wcs_keys *keys, size_t segment,
			const struct names_families *families, struct wcs_slice name,
			unsigned char *bytes, size_t *len, struct wcs_fault *fault);
/* The path of a key, which is not empty, below its table's directory, without a slash around it:
 * the names of its segments, long ones in chunks. The caller frees it; NULL: no memory. */
char *wcs_keys_path(const struct wcs_keys *keys, unsigned char delimiter,
		    const struct names_families *families, struct wcs_slice key);

#endif
