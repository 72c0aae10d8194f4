/* SPDX-License-Identifier: MIT */
/* Bounds of parts of equal size, compared with a full scan. */
#include "tests/unit/engine.h"

#define VALUE_MAX 1000

struct splits_seen {
	size_t count, stop; /* stop: the call that fails; 0: none */
	size_t lens[WCS_SPLITS_MAX];
	char rows[WCS_SPLITS_MAX][WCS_ROW_KEY_MAX];
};

static int splits_see(void *ctx, struct wcs_slice row)
{
	struct splits_seen *seen = ctx;

	ck_assert_uint_lt(seen->count, WCS_SPLITS_MAX);
	memcpy(seen->rows[seen->count], row.data, row.len);
	seen->lens[seen->count++] = row.len;
	return seen->count == seen->stop ? -EINVAL : 0;
}

static struct wcs_slice splits_row(const struct splits_seen *seen, size_t i)
{
	return (struct wcs_slice){seen->rows[i], seen->lens[i]};
}

/* ---- Keys of several shapes -------------------------------------------------------------- */

typedef size_t splits_key(char *key, uint32_t i, uint64_t *state);

static size_t key_number(char *key, uint32_t i, uint64_t *state)
{
	(void)state;
	return (size_t)sprintf(key, "t#%08u", i);
}

static size_t key_bytes(char *key, uint32_t i, uint64_t *state)
{
	key += sprintf(key, "t#");
	for (int at = 0; at < 6; at++)
		key[at] = (char)(suite_random(state) >> 5);
	memcpy(key + 6, &i, sizeof(i));
	return 2 + 6 + sizeof(i);
}

/* Half of the keys have a long prefix, the others none. */
static size_t key_crowd(char *key, uint32_t i, uint64_t *state)
{
	memset(key, 'a', 4000);
	return i % 2 ? (size_t)sprintf(key + 3000, "%u", i) + 3000 : key_bytes(key, i, state);
}

/* Each byte more halves the keys. */
static size_t key_halves(char *key, uint32_t i, uint64_t *state)
{
	size_t len = 2;

	memcpy(key, "t#", 3);
	while (len < 40 && suite_random(state) >> 20 & 1)
		key[len++] = 'z';
	return len + (size_t)sprintf(key + len, "%08u", i);
}

static const struct splits_case {
	splits_key *key;
	uint32_t rows;
	size_t value, least;	      /* bounds */
	unsigned int buckets, salted; /* 0: there is no salt */
} splits_cases[] = {{key_number, 24000, 1000, 20, 0, 0},  {key_bytes, 24000, 1000, 20, 0, 0},
		    {key_crowd, 24000, 1000, 20, 0, 0},	  {key_halves, 24000, 1000, 20, 0, 0},
		    {key_number, 5000, 100, 12, 0, 0},	  {key_number, 24000, 1000, 90, 2, 0},
		    {key_number, 24000, 1000, 20, 16, 2}, {key_bytes, 24000, 1000, 20, 16, 0},
		    {key_halves, 24000, 1000, 20, 16, 0}, {key_number, 24000, 1000, 5, 256, 0},
		    {key_number, 24000, 1000, 5, 16, 1}}; /* all in one bucket */

/* The usual run has half of the rows, and of the bounds, where there are many. */
static uint32_t splits_less(const struct splits_case *c)
{
	return c->least > 5 ? (uint32_t)suite_rounds(2, 1) : 1;
}

static void splits_fill(struct suite *s, const struct splits_case *c)
{
	const uint32_t rows = c->rows / splits_less(c);
	struct ldb *db = s->store->engine.db;
	uint64_t state = 1;
	char key[WCS_ROW_KEY_MAX], value[VALUE_MAX];

	for (uint32_t i = 0; i < rows; i++) {
		size_t len = c->key(key, i * 7 % rows, &state);

		for (size_t at = 0; at < c->value; at += sizeof(uint32_t)) {
			uint32_t random = suite_random(&state);

			memcpy(value + at, &random, sizeof(random));
		}
		suite_put(s->table, (struct wcs_slice){key, len}, "f", suite_text("q"), 1,
			  (struct wcs_slice){value, c->value});
	}
	leveldb_compact_range(db->db, NULL, 0, NULL, 0);
}

/* The rows between two bounds number about the same, in all of the parts. */
static void splits_check(struct suite *s, const struct splits_seen *seen, size_t least)
{
	const struct wcs_filter filter = {.each = WCS_EACH_ROW};
	size_t rows = 0, fewest = SIZE_MAX, most = 0, at = 0;
	struct wcs_scan *scan;
	struct wcs_cell cell;
	int rc;

	SUITE_OK(wcs_scan_open(s->table, &suite_all, 1, &filter, &scan));
	do {
		rc = wcs_scan_next(scan, &cell);
		if (rc == 0 ||
		    (at < seen->count && wcs_slice_compare(cell.row, splits_row(seen, at)) == 0)) {
			fewest = rows < fewest ? rows : fewest;
			most = rows > most ? rows : most;
			rows = 0;
			at++;
		}
		rows++;
	} while (rc == 1);
	wcs_scan_close(scan);
	ck_assert_uint_eq(at, seen->count + 1); /* each bound is a row, in order */
	ck_assert_uint_ge(seen->count, least);
	ck_assert_msg(most <= 2 * fewest, "%zu to %zu rows in %zu parts", fewest, most, at);
}

SUITE_CONTRACT("store.h, Writing: wcs_rows_splits")
SUITE_LOOP(test_parts, sizeof(splits_cases) / sizeof(splits_cases[0]), 120)
{
	static struct splits_seen seen;
	struct suite s;

	memset(&seen, 0, sizeof(seen));
	suite_open(&s, SUITE_LEVELDB);
	if (splits_cases[_i].buckets > 0)
		suite_salt(&s, splits_cases[_i].buckets, splits_cases[_i].salted);
	splits_fill(&s, &splits_cases[_i]);
	SUITE_OK(wcs_rows_splits(s.table, NULL, NULL, splits_see, &seen));
	splits_check(&s, &seen, splits_cases[_i].least / splits_less(&splits_cases[_i]));
	seen.count = 0;
	seen.stop = 3;
	ck_assert_int_eq(wcs_rows_splits(s.table, NULL, NULL, splits_see, &seen), -EINVAL);
	ck_assert_uint_eq(seen.count, 3);
	suite_close(&s);
}

/* Only rows below a key are divided; large values, which lie elsewhere, do not count. */
SUITE_LEVELDB_STORE(test_parts_of_a_subtree, 120)
{
	static const struct wcs_slice t = {"t", 1}, number = {"t#00001000", 10};
	static struct splits_seen seen;
	char *large = suite_pattern(1 << 20, 1), name[16];

	memset(&seen, 0, sizeof(seen));
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "t#0000%04d", i);
		suite_put(s->table, suite_text(name), "f", suite_text("large"), 1,
			  (struct wcs_slice){large, 1 << 20});
	}
	splits_fill(s, &splits_cases[0]);
	suite_set(s->table, "a", "f", "q", 1, "v");
	suite_set(s->table, "t!", "f", "q", 1, "v");
	suite_set(s->table, "u", "f", "q", 1, "v");
	SUITE_OK(wcs_rows_splits(s->table, &t, NULL, splits_see, &seen));
	splits_check(s, &seen, 20 / splits_less(&splits_cases[0]));
	seen.count = 0;
	SUITE_OK(wcs_rows_splits(s->table, &number, NULL, splits_see, &seen));
	ck_assert_uint_eq(seen.count, 0);
	free(large);
}

/* A store in memory has none, nor has a table without rows. */
SUITE_STORES(test_no_parts, 30)
{
	static struct splits_seen seen;
	struct wcs_slice key = {NULL, 1};

	memset(&seen, 0, sizeof(seen));
	SUITE_OK(wcs_rows_splits(s->table, NULL, NULL, splits_see, &seen));
	suite_set(s->table, "a", "f", "q", 1, "v");
	suite_set(s->table, "b", "f", "q", 1, "v");
	SUITE_OK(wcs_rows_splits(s->table, NULL, NULL, splits_see, &seen));
	ck_assert_uint_eq(seen.count, 0);
	ck_assert_int_eq(wcs_rows_splits(s->table, &key, NULL, splits_see, &seen), -EINVAL);
}
