/* SPDX-License-Identifier: MIT */
/* Listings of random keys, compared with a look at every row. */
#include "tests/unit/engine.h"

/* ---- Listing ----------------------------------------------------------------------------- */

static int segment_compare(const void *a, const void *b)
{
	return wcs_slice_compare(*(const struct wcs_slice *)a, *(const struct wcs_slice *)b);
}

/* The expected listing of prefix, found by looking at every row. */
static size_t naive_list(const struct wcs_slice *rows, size_t count, struct wcs_slice prefix,
			 unsigned char delimiter, const struct wcs_slice *after,
			 struct wcs_slice *segments)
{
	const unsigned char *p = prefix.data;
	bool closed = prefix.len > 0 && p[prefix.len - 1] == delimiter;
	size_t made = 0, kept = 0;

	for (size_t i = 0; i < count; i++) {
		const unsigned char *row = rows[i].data;
		size_t len = rows[i].len - prefix.len;
		const unsigned char *end;
		struct wcs_slice segment;

		if (rows[i].len < prefix.len || memcmp(row, p, prefix.len) != 0)
			continue;
		end = memchr(row + prefix.len, delimiter, len);
		if (len == 0 && !closed)
			continue;
		segment = (struct wcs_slice){row + prefix.len,
					     end ? (size_t)(end - row) - prefix.len : len};
		if (!after || wcs_slice_compare(segment, *after) > 0)
			segments[made++] = segment;
	}
	qsort(segments, made, sizeof(*segments), segment_compare);
	for (size_t i = 0; i < made; i++) {
		if (kept == 0 || wcs_slice_compare(segments[kept - 1], segments[i]) != 0)
			segments[kept++] = segments[i];
	}
	return kept;
}

static struct wcs_slice random_key(uint64_t *state, unsigned char *to, size_t min, size_t max)
{
	static const unsigned char alphabet[] = {'#', '#', '|', '|', 1, 1,
						 '!', '"', '$', 'a', 0, 0xFF};
	size_t len = min + suite_random(state) % (max - min + 1);

	for (size_t i = 0; i < len; i++)
		to[i] = alphabet[suite_random(state) % sizeof(alphabet)];
	return (struct wcs_slice){to, len};
}

ENGINE_TEST(test_list_against_model, 120)
{
	static const unsigned char delimiters[] = {'#', '|', 1};
	static unsigned char keys[400][8];
	static struct wcs_slice rows[400], expected[400];
	uint64_t state = 5;

	for (uint32_t table = 1; table <= 60; table++) {
		const unsigned char delimiter = delimiters[table % 3];
		size_t count = 1 + suite_random(&state) % (table % 2 ? 400 : 40);
		struct wcs_mutation *mutation = wcs_mutation_new();
		uint32_t cells = 1 + suite_random(&state) % 12;

		for (uint32_t i = 0; i < cells; i++)
			wcs_mutation_set(mutation, "f", suite_text("q"), i, suite_text("v"));
		wcs_mutation_seal(mutation);
		for (size_t i = 0; i < count; i++) {
			int64_t ts;

			rows[i] = random_key(&state, keys[i], 1, 6);
			SUITE_OK(wcs_backend_leveldb.mutate(engine->db, &suite_everything, table,
							    rows[i], mutation, &ts));
		}
		wcs_mutation_free(mutation);
		for (int i = 0; i < 300; i++) {
			unsigned char p[8], a[8];
			struct wcs_slice prefix = random_key(&state, p, 0, 3);
			struct wcs_slice after = random_key(&state, a, 0, 3);
			bool resumed = suite_random(&state) % 2;
			size_t n = naive_list(rows, count, prefix, delimiter,
					      resumed ? &after : NULL, expected);
			struct wcs_list *list;
			struct wcs_slice segment;

			SUITE_OK(wcs_backend_leveldb.list_open(engine->db, &suite_everything, table,
							       prefix, delimiter,
							       resumed ? &after : NULL, &list));
			for (size_t k = 0; k < n; k++) {
				ck_assert_int_eq(wcs_backend_leveldb.list_next(list, &segment), 1);
				ck_assert_int_eq(wcs_slice_compare(segment, expected[k]), 0);
			}
			ck_assert_int_eq(wcs_backend_leveldb.list_next(list, &segment), 0);
			ck_assert_int_eq(wcs_backend_leveldb.list_next(list, &segment), 0);
			wcs_backend_leveldb.list_close(list);
		}
	}
}
