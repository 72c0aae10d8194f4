/* SPDX-License-Identifier: MIT */
/*
 * Rules of advice: for each one a table that breaks it and one that barely does not. The limits are
 * those of rowfs-advise(1).
 */
#include "tests/unit/advice.h"

#include "store/advice/advice_private.h"

/* ---- Keys: a thousand rows, of which so many have one form and the rest another ---------- */

static const struct key_case {
	const char *rule, *table;
	const char *form, *other; /* of a number */
	int found, silent;	  /* rows of the first form */
} key_cases[] = {
	{"time-first", PLAIN, "20261122%06d", "name%d", 901, 900},
	{"time-first", PLAIN, "1795334%03d", "name%d", 901, 900},
	{"time-first", PLAIN, "1795334000%06d", "name%d", 901, 900},
	{"time-first", PLAIN, "9223372035059441%03d", "name%d", 901, 900},
	{"time-first", "{\"keys\":{\"segments\":[{\"name\":\"a\",\"codec\":\"time\"}]}}",
	 "0001795334000%06d", "0001795334000%06d", 1000, -1},
	{"number-first", PLAIN, "%04d", "z%04d", 901, 900},
	{"number-first", PLAIN, "%04d#a", "z%04d", 901, 900},
	{"number-first", SALTED, "%04d", "%04d", -1, 1000},
	/* Behind segments that are the same in all keys: */
	{"time-first", PLAIN, "tenant#a#1795334%03d", "tenant#a#name%d", 901, 900},
	{"number-first", PLAIN, "tenant#%04d", "tenant#z%04d", 901, 900},
	{"number-first", PLAIN, "tenant#%04d", "other#%04d", 1000, 999},
	{"hashed-keys", PLAIN, "550e8400-e29b-41d4-a716-446655%06d", "name%d", 901, 900},
	{"hashed-keys", PLAIN, "da39a3ee5e6b4b0d3255bfef95601890%08d#x", "name%d", 901, 900},
	{"hashed-keys", PLAIN, "x8Kz1mQ9vB4nT7wR%d", "name%d", 901, 900},
	{"hashed-keys", PLAIN, "tenant#550e8400-e29b-41d4-a716-446655%06d", "name%d", -1, 1000},
	{"binary-keys", PLAIN, "a#\x01%d", "a#%d", 11, 10},
	{"binary-keys", PLAIN, "a#\xff%d", "a#\xc3\xa4%d", 11, 10},
	{"unpadded-numbers", PLAIN, "u#%d", "u#name%d", 901, 900},
	{"unpadded-numbers", PLAIN, "u#%04d", "u#%04d", -1, 1000},
	{"unpadded-numbers",
	 "{\"keys\":{\"segments\":[\"a\",{\"name\":\"b\",\"codec\":\"pad\",\"width\":4}]}}", "u#%d",
	 "u#%d", -1, 1000},
	{"domains-forward", PLAIN, "u#host%d.example.com", "u#com.example.host%d", 901, 900},
	{"domains-forward",
	 "{\"keys\":{\"segments\":[{\"name\":\"b\",\"codec\":\"reverse-domain\"}]}}",
	 "com.example.host%d", "host%d.example.com", -1, 0},
	{"uneven-segments", PLAIN, "a%d#b", "a%d", 251, 250},
	{"uneven-segments", PLAIN, "a%d#2#3#4#5#6#7#8#9", "a%d#2#3#4#5#6#7#8#9#10", -1, 500},
	{"personal-keys", PLAIN, "u#ann%d@example.com", "u#ann%d", 11, 10},
	{"personal-keys", PLAIN, "u#10.0.3.%d", "u#ann%d", 11, 10},
	{"personal-keys", PLAIN, "u#fe80::%d", "u#ann%d", 11, 10},
};
#define KEY_CASES (sizeof(key_cases) / sizeof(*key_cases))

static void key_run(const struct key_case *c, int first, bool found)
{
	struct checked checked;
	char key[128];

	checked_open(&checked, c->table, true);
	for (int i = 0; i < 1000; i++) {
		const char *form = i < first ? c->form : c->other;

		snprintf(key, sizeof(key), form, i);
		feed(&checked, key, WCS_TS_SERVER);
	}
	checked_expect(&checked, c->rule, found);
}

SUITE_LOOP(test_key_rules, KEY_CASES, 10)
{
	const struct key_case *c = &key_cases[_i];

	if (c->found >= 0)
		key_run(c, c->found, true);
	if (c->silent >= 0)
		key_run(c, c->silent, false);
}

/* ---- Order: 1,001 rows ------------------------------------------------------------------- */

static const struct order_case {
	const char *rule, *table;
	const char *form;
	int down; /* rows, the first ones, that are older than the row before them */
	bool found;
} order_cases[] = {
	/* 30 such rows put about 4 % of the pairs out of order, 200 a quarter. */
	{"writes-at-end", PLAIN, "%04d", 30, true},
	{"writes-at-end", PLAIN, "%04d", 200, false},
	{"writes-at-end", PLAIN, "%04d", 1000, true},
	{"writes-at-end", PLAIN, "20261122%06d#a", 30, true},
	{"writes-at-end", PLAIN, "20261122%06d#a", 200, false},
	{"writes-at-end", PLAIN, "tenant#a#%04d", 30, true},
	{"writes-at-end", PLAIN, "tenant#a#%04d#a", 1000, true},
	{"writes-at-end", PLAIN, "order-%04d", 30, true},
	{"writes-at-end", PLAIN, "%04d-name", 0, false},
	{"writes-at-end", SALTED, "%04d", 0, false},
	{"writes-at-end", "{\"keys\":{\"segments\":[{\"name\":\"a\",\"codec\":\"reverse\"}]}}",
	 "%04d", 0, false},
	{"time-first", PLAIN, "20261122%06d#a", 30, false},
	{"time-first", PLAIN, "20261122%06d#a", 200, true},
	{"number-first", PLAIN, "%04d#a", 200, false},
	{"salt-idle", SALTED, "name%04d", 200, true},
	{"salt-idle", SALTED, "name%04d", 30, false},
	{"salt-idle", SALTED, "%04d", 500, false},
};

SUITE_LOOP(test_order_rules, sizeof(order_cases) / sizeof(*order_cases), 10)
{
	const struct order_case *c = &order_cases[_i];
	struct checked checked;
	int64_t ts = 2000000000;
	char key[64];

	checked_open(&checked, c->table, true);
	for (int i = 0; i <= 1000; i++) {
		snprintf(key, sizeof(key), c->form, i);
		ts += i > 0 && i <= c->down ? -1000000 : 1000000;
		feed(&checked, key, ts);
	}
	checked_expect(&checked, c->rule, c->found);
}

/* ---- Tables of which a function makes the rows ------------------------------------------- */

#define UUID "550e8400-e29b-41d4-a716-446655"

/* of: a parameter of the form. */
typedef void make_row(int i, int64_t of, char key[64], int64_t *ts);

/* A hash before the times of a device is its name; each key with a hash of its own has none. */
static void make_hashes(int i, int64_t each, char key[64], int64_t *ts)
{
	*ts = WCS_TS_SERVER;
	snprintf(key, 64, UUID "%06d#%d", i / (int)each, i);
}

/* The neighbours among numbers with their digits in reverse are mostly in order, but all of them
 * are not. */
static void make_numbers(int i, int64_t reversed, char key[64], int64_t *ts)
{
	int other = i / 1000 + i / 100 % 10 * 10 + i / 10 % 10 * 100 + i % 10 * 1000;

	*ts = (reversed ? other : i) * INT64_C(60000000);
	snprintf(key, 64, "%04d", i);
}

/* All within that span; the first is of 1970, at 0. */
static void make_load(int i, int64_t span, char key[64], int64_t *ts)
{
	*ts = span * i / 1000;
	snprintf(key, 64, "%04d", i);
}

/* Numbered devices whose rows have the time last: sorted by key, or in the order of their writes.
 */
static void make_devices(int i, int64_t by_key, char key[64], int64_t *ts)
{
	int device = by_key ? i / 20 : i % 500, at = 1795334400 + (by_key ? i % 20 : i / 500);

	*ts = at * INT64_C(1000000) + device;
	snprintf(key, 64, "%03d#%d", device, at);
}

/* Two loads of numbers, the later one behind the other. */
static void make_two_loads(int i, int64_t rows, char key[64], int64_t *ts)
{
	*ts = 1 + i / (rows / 2) * INT64_C(86400000000);
	snprintf(key, 64, "%04d", i);
}

static const struct made_case {
	const char *rule; /* NULL: there is no finding at all */
	int rows;
	make_row *make;
	int64_t of;
	bool found;
} made_cases[] = {
	{"hashed-keys", 1000, make_hashes, 1, true},
	{"hashed-keys", 1000, make_hashes, 2, false},
	{"hashed-keys", 100, make_hashes, 1, true},
	{"hashed-keys", 99, make_hashes, 1, false}, /* fewer say nothing about a table */
	{"writes-at-end", 10000, make_numbers, 0, true},
	{"writes-at-end", 10000, make_numbers, 1, false},
	{"writes-at-end", 1001, make_load, 60000000, true},
	{"number-first", 1001, make_load, 60000000, false},
	{"writes-at-end", 1001, make_load, 59999999, false}, /* at once */
	{"number-first", 1001, make_load, 59999999, true},
	{"writes-at-end", 1000, make_two_loads, 1000, false},
	{"number-first", 1000, make_two_loads, 1000, true},
	{NULL, 10000, make_devices, 0, false},
	{NULL, 10000, make_devices, 1, false},
};

SUITE_LOOP(test_made_rows, sizeof(made_cases) / sizeof(*made_cases), 10)
{
	const struct made_case *c = &made_cases[_i];
	struct checked checked;
	char key[64];
	int64_t ts;

	checked_open(&checked, PLAIN, true);
	for (int i = 0; i < c->rows; i++) {
		c->make(i, c->of, key, &ts);
		feed(&checked, key, ts);
	}
	if (c->rule) {
		checked_expect(&checked, c->rule, c->found);
	} else {
		checked_end(&checked);
		ck_assert_str_eq(checked.text, "");
		checked_close(&checked);
	}
}

/* Half of the rows in one of four buckets are twice its share, which is not more than twice. */
SUITE_TEST(test_uneven_salt, 10)
{
	for (int in_one = 500; in_one <= 501; in_one++) {
		struct checked checked;
		const struct wcs_keys *keys;
		unsigned int others = 0;
		char key[64];

		checked_open(&checked,
			     "{\"keys\":{\"segments\":[\"a\"],\"salt\":{\"buckets\":4,"
			     "\"segments\":1}}}",
			     true);
		keys = checked.schema->tables->keys;
		for (int i = 0; i < in_one; i++) {
			snprintf(key, sizeof(key), "tenant#%d", i);
			feed(&checked, key, WCS_TS_SERVER);
		}
		for (int i = 0; others < 1000 - (unsigned int)in_one; i++) {
			snprintf(key, sizeof(key), "t%d#0", i);
			if (wcs_keys_bucket(keys, suite_text(key)) ==
			    wcs_keys_bucket(keys, SUITE_BYTES("tenant#0")))
				continue;
			feed(&checked, key, WCS_TS_SERVER);
			others++;
		}
		checked_expect(&checked, "salt-uneven", in_one == 501);
	}
}

/* ---- Segments ---------------------------------------------------------------------------- */

static const struct class_case {
	const char *segment;
	enum segment_class class;
} class_cases[] = {
	{"", SEGMENT_TEXT},
	{"name", SEGMENT_TEXT},
	{"name1", SEGMENT_COUNTED},
	{"order-00000001", SEGMENT_COUNTED},
	{"1st", SEGMENT_TEXT},
	{"v1.2", SEGMENT_TEXT},
	{"7", SEGMENT_NUMBER},
	{"9999999999999999999", SEGMENT_NUMBER},
	{"20261332", SEGMENT_NUMBER},
	{"20261122", SEGMENT_TIME},
	{"202611222100", SEGMENT_TIME},
	{"2026-11-22", SEGMENT_TIME},
	{"2026-11-22T21:00:00Z", SEGMENT_TIME},
	{"1795334400", SEGMENT_TIME},
	{"1795334400000", SEGMENT_TIME},
	{"1795334400000000", SEGMENT_TIME},
	{"1795334400000000000", SEGMENT_TIME},
	{"9223372035059441287", SEGMENT_TIME}, /* reverse-time, s */
	{"9221576702454775807", SEGMENT_TIME}, /* us */
	{"20261122T210000Z", SEGMENT_TIME},
	{"20261122T2100", SEGMENT_TIME},
	{"20261322T210000Z", SEGMENT_TEXT},
	{"2026-11", SEGMENT_TIME},
	{"2026/11/22/08", SEGMENT_TIME},
	{"2026/13/22/08", SEGMENT_TEXT},
	{"1999-11", SEGMENT_TEXT},
	{"20-2611", SEGMENT_TEXT},
	{"01KARV3K00ABCDEFGHJKMNPQRS",
	 SEGMENT_TIME}, /* 2025, as the example of its specification */
	{"7ZA1B2C3D4E5F6G7H8J9K1M2N3", SEGMENT_HASH},		/* beyond 2100 */
	{"01920000-0000-7000-8000-000000000000", SEGMENT_TIME}, /* 2024 */
	{"01920000-0000-4000-8000-000000000000", SEGMENT_HASH},
	{"0123456789abcdef", SEGMENT_HASH},
	{"0123456789abcde", SEGMENT_TEXT},
	{"deadbeefdeadbeef", SEGMENT_TEXT}, /* no digit */
	{"DE00087723585951552217", SEGMENT_COUNTED},
	{"sha256:9f86d081884c7d65", SEGMENT_HASH},
	{"sha256:9f86d081884c7d6", SEGMENT_TEXT},
	{"internationalization", SEGMENT_TEXT},
	{"JohnSmithAccountOwner", SEGMENT_TEXT},
	{"kXbQmRzWtYvHcNpL", SEGMENT_HASH},
	{"libreoffice-l10n-zh-cn", SEGMENT_TEXT},
	{"550e8400-e29b-41d4-a716-446655440000", SEGMENT_HASH},
	{"maps.google.com", SEGMENT_DOMAIN},
	{"bbc.co.uk", SEGMENT_DOMAIN},
	{"com.google.maps", SEGMENT_TEXT},
	{"uk.co.bbc", SEGMENT_TEXT},
	{"maps..com", SEGMENT_TEXT},
	{".com", SEGMENT_TEXT},
	{"report.txt", SEGMENT_TEXT},
	{"main.py", SEGMENT_TEXT},
	{"www.example.rs", SEGMENT_DOMAIN},
	{"ann@example.com", SEGMENT_MAIL},
	{"@example.com", SEGMENT_TEXT},
	{"ann@home", SEGMENT_TEXT},
	{"192.168.0.1", SEGMENT_ADDRESS},
	{"192.168.0.256", SEGMENT_TEXT},
	{"2001:db8::1", SEGMENT_ADDRESS},
	{"::ffff:10.0.0.1", SEGMENT_ADDRESS},
	{"12::0", SEGMENT_TEXT},
	{"12:30", SEGMENT_TEXT},
	{"a\tb", SEGMENT_BINARY},
	{"\xff", SEGMENT_BINARY},
	{"\xc3\xa4", SEGMENT_TEXT},
};

SUITE_TEST(test_classes_of_segments, 10)
{
	for (size_t i = 0; i < sizeof(class_cases) / sizeof(*class_cases); i++) {
		const struct class_case *c = &class_cases[i];

		ck_assert_msg(segment_class(suite_text(c->segment)) == c->class, "%s: %d",
			      c->segment, segment_class(suite_text(c->segment)));
	}
}
