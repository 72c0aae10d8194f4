/* SPDX-License-Identifier: MIT */
/* The statistics of a table, and the rules that look at them. Private to store/advice. */
#ifndef WCS_ADVICE_PRIVATE_H
#define WCS_ADVICE_PRIVATE_H

#include "store/advice/advice.h"
#include "store/heat/patterns/patterns.h"
#include "store/keys/keys.h"

#define ADVICE_SEGMENTS 8u   /* of a key; those behind them are not looked at */
#define ADVICE_ROWS	100u /* rows from which on a share means something */
#define ADVICE_DRAWN	64u  /* rows, of those so far, that the next ones are compared with */
#define ADVICE_FAMILIES 101u /* that a schema does not name: one more than a table should have */

#define RULES_MOST 0.9 /* share of the keys, or of pairs of rows, that gives a table a form */
#define RULES_FEW  0.1 /* share of the keys that gives it none */
#define RULES_NAME 16u /* bytes of the names of a cell, up to which they are short */
/* Microseconds: rows of so short a time were loaded at once. */
#define RULES_LOAD INT64_C(60000000)

struct advice_key {
	size_t len;
	unsigned char bytes[WCS_ROW_KEY_MAX];
};
static inline struct wcs_slice advice_key_slice(const struct advice_key *key)
{
	return (struct wcs_slice){key->bytes, key->len};
}

/* The largest of something, and its row. */
struct advice_peak {
	uint64_t value;
	uint64_t row; /* its number, from 1 */
	struct advice_key key;
	const struct advice_family *family; /* NULL: of the whole row */
};

/* The classes of segments of row keys. */
enum segment_class {
	SEGMENT_TEXT,	 /* none of the others */
	SEGMENT_NUMBER,	 /* 1 to 19 digits, and no time */
	SEGMENT_COUNTED, /* a word with digits behind it: order-0001 */
	SEGMENT_TIME,	 /* a date, a time, or digits that are one of the years 2001 to 2099 */
	SEGMENT_HASH,	 /* a UUID, 16 hexadecimal digits or more, or as many mixed letters */
	SEGMENT_DOMAIN,	 /* a domain with its top-level label last */
	SEGMENT_MAIL,
	SEGMENT_ADDRESS, /* IPv4 or IPv6 */
	SEGMENT_BINARY,	 /* control bytes, or no UTF-8 */
	SEGMENT_CLASSES,
};

/* The segments at one place of the keys. */
struct advice_segment {
	uint64_t rows;			   /* that have it */
	uint64_t classes[SEGMENT_CLASSES]; /* of these, by class; a codec tells its own */
	/* Of the numbers that have no codec: */
	size_t shortest, longest;
	bool padded;				 /* one begins with a zero */
	struct advice_key keys[SEGMENT_CLASSES]; /* of the first row of each class */
};

struct advice_family {
	char name[WCS_FAMILY_NAME_MAX + 1];
	bool declared; /* the schema names it */
	bool policy;   /* it has one */
	uint64_t cells;
	/* Of its cells with a value: their number, the bytes of names and of values. */
	uint64_t filled, names, values;
	struct advice_key key; /* of the first of these */
};

/* The row whose cells come. */
struct advice_row {
	struct advice_key key;
	int64_t ts;	/* the smallest; WCS_TS_SERVER: none is known */
	uint64_t bytes; /* of its values */
	uint64_t columns;
	uint64_t column;   /* hash of the present one */
	uint64_t versions; /* of it */
};

/* The order of the rows: by their keys, and by their smallest timestamps. Each row is compared with
 * one of those before it, drawn at random: of neighbours also reversed numbers have most in order.
 */
struct advice_order {
	uint64_t up, down; /* rows whose key is larger, or smaller, than the one before */
	size_t lead;	   /* place of the leading segment: the first that differs among the keys */
	uint64_t values;   /* of it: 1, and rows whose value is not that of the row before */
	uint64_t rows;	   /* with a timestamp, between from and to */
	int64_t from, to;
	uint64_t later, earlier;     /* of these, than the row that they were compared with */
	int64_t drawn[ADVICE_DRAWN]; /* of rows so far, by Vitter's algorithm R */
	uint64_t random;
};

/* A pattern of the heat maps. */
struct advice_traffic {
	double share; /* of the operations, or of the writes; 0: the maps do not show the pattern */
	struct advice_key key; /* the hottest row; the prefix; the start of the moving range */
};

/* Do the rows come in the order of their keys, or in the opposite one? */
static inline bool advice_is_sorted(const struct advice_order *order)
{
	return order->up == 0 || order->down == 0;
}

struct advice_stats {
	uint64_t rows, cells, bytes;
	bool sample; /* not all rows were read */
	uint64_t of; /* about so many rows; 0: not known, the first ones were read */
	uint64_t depths[ADVICE_SEGMENTS + 1]; /* rows by delimiters in the key; the last: or more */
	struct advice_key depth_keys[ADVICE_SEGMENTS + 1]; /* of the first row of each */
	struct advice_segment segments[ADVICE_SEGMENTS];
	uint64_t buckets[WCS_KEYS_BUCKETS_MAX]; /* rows of each bucket of a salt */
	struct advice_order order;
	uint64_t personal; /* rows with SEGMENT_MAIL or SEGMENT_ADDRESS, and the first one's key */
	struct advice_key personal_key;
	struct advice_peak row_bytes, cell_bytes, columns, versions;
	struct advice_traffic traffic[WCS_HEAT_PATTERNS][WCS_HEAT_HOT_MAX]; /* as diagnosed */
	struct advice_row row;
	struct advice_key before; /* the row before; of length 0: there is none */
};

/* Small tables with the same schema. */
struct advice_alike {
	char name[WCS_TABLE_NAME_MAX + 1]; /* of the first */
	uint64_t schema;		   /* its hash */
	uint64_t tables;
};

struct wcs_advice {
	struct wcs_advice_options options;
	const struct wcs_table_schema *schema; /* NULL: between tables */
	const struct wcs_keys *keys;
	unsigned char delimiter;
	struct advice_stats stats;
	struct advice_family *families; /* those of the schema, and others as they come */
	size_t family_count, family_room, family_last;
	struct advice_alike alike[WCS_TABLES_MAX];
	size_t alike_count;
};

enum advice_severity { ADVICE_NOTE, ADVICE_WARNING, ADVICE_ERROR };
enum advice_unit {
	ADVICE_UNIT_NONE, /* 1: the finding is no matter of degree */
	ADVICE_UNIT_SHARE,
	ADVICE_UNIT_BYTES,
	ADVICE_UNIT_NUMBER
};
enum advice_scope { ADVICE_TABLE, ADVICE_SEGMENT, ADVICE_FAMILY, ADVICE_HOT, ADVICE_STORE };

/* A finding; its text is in wcs_advice, or static. */
struct advice_finding {
	const struct advice_rule *rule;
	const char *table;
	double value;
	const struct advice_key *key; /* NULL: none */
	const char *family;	      /* NULL: none */
	size_t segment;		      /* from 1; 0: none */
};

/* Sets the value and the evidence. at: the index of the segment, family, hot row or group of
 * tables. false: the rule does not apply. */
typedef bool advice_find(const struct wcs_advice *advice, size_t at,
			 struct advice_finding *finding);

struct advice_rule {
	const char *name;
	enum advice_severity severity;
	enum advice_scope scope;
	advice_find *find;
	double threshold;      /* a larger value is a fault */
	double next;	       /* a larger value breaks the next rule instead; 0: none does */
	enum advice_unit unit; /* of the value and the threshold */
	const char *text;      /* a sentence that begins with the value */
	const char *action;
	const char *section; /* of docs/row-keys.md */
	const char *source;  /* of the threshold, or of the advice where the threshold is rowfs's */
	/* rules_class: the class; rules_traffic: the pattern; rules_peak: its place in the
	 * statistics. */
	size_t of;
};

/* ---- segment.c ---- */
enum segment_class segment_class(struct wcs_slice segment);

/* ---- rules.c ---- */
/* Prints the findings of each rule at so many places of its scope. */
void rules_check(const struct wcs_advice *advice, const size_t *places, const char *table);

/* ---- rules_keys.c, rules_traffic.c: functions of rules ---- */
advice_find rules_hashed, rules_class, rules_numbers, rules_personal, rules_depths, rules_order,
	rules_time_first, rules_number_first, rules_salt_uneven, rules_salt_idle;
advice_find rules_traffic;

/* ---- tables.c ---- */
/* Remembers the table that ends, if it is small. */
void tables_add(struct wcs_advice *advice);
advice_find rules_tables;

/* ---- print.c ---- */
/* The header of a table, for people. */
void print_table(const struct wcs_advice *advice);
void print_finding(const struct wcs_advice *advice, const struct advice_finding *finding);

/* ---- advice.c ---- */
/* Forgets all rows of the table. */
void advice_again(struct wcs_advice *advice);
/* Stores a key; a longer one than there is room for is cut. */
void advice_key_set(struct advice_key *key, struct wcs_slice bytes);

#endif
