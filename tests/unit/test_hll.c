/* SPDX-License-Identifier: MIT */
/*
 * HyperLogLog states: the error of the estimate, the results of merges, and the refusal of invalid
 * bytes. ROWFS_HLL_ELEMENTS in the environment is the largest number of elements whose error is
 * measured (100000000 takes minutes).
 */
#include "tests/unit/suite.h"

#include "store/policy/hll.h"

#include <math.h>

#define DENSE_AT 6144 /* places */

struct sketch {
	size_t len;
	unsigned char bytes[WCS_HLL_MAX];
};

static struct wcs_slice sketch_slice(const struct sketch *sketch)
{
	return (struct wcs_slice){sketch->bytes, sketch->len};
}

static void sketch_merge(struct sketch *to, const struct sketch *from)
{
	struct sketch merged;

	merged.len = wcs_hll_merge(sketch_slice(to), sketch_slice(from), merged.bytes);
	if (merged.len > WCS_HLL_MAX) /* an assertion of libcheck's writes to a pipe */
		ck_abort_msg("a state of %zu bytes", merged.len);
	memcpy(to->bytes, merged.bytes, merged.len);
	to->len = merged.len;
}

/* The elements "from" to "to" - 1, as decimal numbers. They come together pairwise, so that each
 * goes through few merges. */
static void sketch_range(struct sketch *sketch, uint64_t from, uint64_t to)
{
	struct sketch half;
	char text[24];

	if (to - from == 1) {
		int len = snprintf(text, sizeof(text), "%llu", (unsigned long long)from);

		wcs_hll_element((struct wcs_slice){text, (size_t)len}, sketch->bytes);
		sketch->len = WCS_HLL_ELEMENT;
		return;
	}
	sketch_range(sketch, from, from + (to - from) / 2);
	sketch_range(&half, from + (to - from) / 2, to);
	sketch_merge(sketch, &half);
}

/* The same for many, in blocks whose states are sparse. */
static void sketch_add_range(struct sketch *sketch, uint64_t from, uint64_t to)
{
	static struct sketch block;

	while (from < to) {
		uint64_t end = to - from < 4000 ? to : from + 4000;

		sketch_range(&block, from, end);
		sketch_merge(sketch, &block);
		from = end;
	}
}

static void sketch_empty(struct sketch *sketch)
{
	static const unsigned char none[] = {1, 0};

	memcpy(sketch->bytes, none, sizeof(none));
	sketch->len = sizeof(none);
}

/* That range alone. */
static void sketch_make(struct sketch *sketch, uint64_t from, uint64_t to)
{
	sketch_empty(sketch);
	sketch_add_range(sketch, from, to);
}

static void sketch_check(const struct sketch *sketch, uint64_t count)
{
	double error = (double)wcs_hll_estimate(sketch_slice(sketch)) / (double)count - 1;

	ck_assert_msg(fabs(error) < 0.02, "%llu elements: off by %f", (unsigned long long)count,
		      error);
	ck_assert(wcs_hll_valid(sketch_slice(sketch)));
}

SUITE_TEST(test_hll_exact_when_few, 10)
{
	struct sketch sketch;

	sketch_empty(&sketch);
	ck_assert_int_eq(wcs_hll_estimate(sketch_slice(&sketch)), 0);
	for (uint64_t count = 1; count <= 500; count++) {
		struct sketch one;

		sketch_range(&one, count - 1, count);
		sketch_merge(&sketch, &one);
		sketch_merge(&sketch, &one);
		ck_assert_int_eq(wcs_hll_estimate(sketch_slice(&sketch)), (int64_t)count);
		ck_assert_uint_eq(sketch.len, 2 + 4 * count);
	}
}

/* Three sequences, and sizes a third apart. */
SUITE_TEST(test_hll_error, 1200)
{
	const char *most = getenv("ROWFS_HLL_ELEMENTS");
	uint64_t end = most ? strtoull(most, NULL, 10) : suite_rounds(3000000, 10000000);
	struct sketch sketch;

	for (uint64_t start = 0; start <= 2000000000; start += 1000000000) {
		uint64_t count = 0;

		sketch_empty(&sketch);
		for (uint64_t next = 10; next <= (start ? end / 10 : end); next += next / 3 + 1) {
			sketch_add_range(&sketch, start + count, start + next);
			count = next;
			sketch_check(&sketch, count);
		}
	}
}

/* A merge is the state of the union, whichever kinds meet. */
SUITE_TEST(test_hll_merge, 60)
{
	static const uint64_t ends[] = {1, 5, 3000, 6143, 6144, 6145, 7000, 40000, 200000};
	struct sketch all, left, right;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		for (size_t cut = 0; cut < 5; cut++) {
			uint64_t from = ends[i] * cut / 5, to = ends[i] * (cut + 1) / 5 + 1;

			sketch_make(&all, 0, ends[i]);
			sketch_make(&left, 0, to < ends[i] ? to : ends[i]);
			sketch_make(&right, from, ends[i]);
			sketch_merge(&right, &left);
			ck_assert_uint_eq(right.len, all.len);
			ck_assert_mem_eq(right.bytes, all.bytes, all.len);
			sketch_merge(&all, &all);
			ck_assert_mem_eq(right.bytes, all.bytes, all.len);
		}
	}
}

SUITE_TEST(test_hll_bytes, 10)
{
	/* FNV-1a of "a" is af63dc4c8601ec8c; MurmurHash3's finalizer makes it 82a2a958a9bece5b. */
	static const unsigned char one[] = {1, 0, 0x41, 0x51, 0x54, 0x81};
	unsigned char state[WCS_HLL_ELEMENT];

	wcs_hll_element(suite_text("a"), state);
	ck_assert_mem_eq(state, one, sizeof(one));
}

/* Where a state turns dense, no element is lost: the registers are those of the elements. */
SUITE_TEST(test_hll_turns_dense, 60)
{
	struct sketch sketch, one;
	uint64_t count = 0;

	sketch_empty(&sketch);
	while (sketch.bytes[1] == 0) {
		sketch_range(&one, count, count + 1);
		sketch_merge(&sketch, &one);
		count++;
		ck_assert(wcs_hll_valid(sketch_slice(&sketch)));
	}
	ck_assert_uint_eq(sketch.len, WCS_HLL_MAX);
	ck_assert_uint_ge(count, DENSE_AT);
	ck_assert_uint_le(count, DENSE_AT + 10);
	sketch_check(&sketch, count);
}

static void refuse(const struct sketch *sketch, const char *why)
{
	/* of exactly that size, so that a sanitizer reports a read past the end */
	unsigned char *copy = malloc(sketch->len + 1);

	memcpy(copy + 1, sketch->bytes, sketch->len);
	ck_assert_msg(!wcs_hll_valid((struct wcs_slice){copy + 1, sketch->len}), "%s", why);
	free(copy);
}

SUITE_TEST(test_hll_refuses, 10)
{
	struct sketch sparse, dense, bad;

	sketch_make(&sparse, 0, 100);
	sketch_make(&dense, 0, 100000);
	for (size_t len = 0; len < sparse.len; len++) {
		bad = sparse;
		bad.len = len;
		if (len < 2 || len % 4 != 2)
			refuse(&bad, "cut");
	}
	for (size_t len = 0; len < dense.len; len += len < 2 ? 1 : 1021) {
		bad = dense;
		bad.len = len;
		refuse(&bad, "dense, cut");
	}
	bad = sparse, bad.bytes[0] = 2;
	refuse(&bad, "version");
	bad = sparse, bad.bytes[1] = 2;
	refuse(&bad, "kind");
	bad = sparse, bad.bytes[1] = 1;
	refuse(&bad, "sparse as dense");
	bad = dense, bad.bytes[1] = 0;
	refuse(&bad, "dense as sparse");
	bad = sparse, bad.bytes[2] |= 0x80;
	refuse(&bad, "place too large");
	bad = sparse, bad.bytes[5] &= 0xc0;
	refuse(&bad, "no rank");
	bad = sparse, bad.bytes[5] = (unsigned char)((bad.bytes[5] & 0xc0) | 41);
	refuse(&bad, "rank too large");
	bad = sparse, memcpy(bad.bytes + 6, bad.bytes + 2, 4);
	refuse(&bad, "a place twice");
	bad = sparse, memcpy(bad.bytes + 2, bad.bytes + 10, 4);
	refuse(&bad, "places out of order");
	bad = dense, bad.bytes[2] = (unsigned char)(51 << 2);
	refuse(&bad, "register too large");
	bad = dense, memset(bad.bytes + 2, 0, bad.len - 2);
	refuse(&bad, "dense and empty");
	memset(bad.bytes + 2, 0xcb, 3); /* five registers at most: 5,120 places */
	refuse(&bad, "dense with too few elements");
	sparse.len = 2 + 4 * DENSE_AT;
	for (uint32_t i = 0; i < DENSE_AT; i++) {
		sparse.bytes[2 + 4 * i] = (unsigned char)(i >> 18);
		sparse.bytes[3 + 4 * i] = (unsigned char)(i >> 10);
		sparse.bytes[4 + 4 * i] = (unsigned char)(i >> 2);
		sparse.bytes[5 + 4 * i] = (unsigned char)(i << 6 | 1);
	}
	refuse(&sparse, "sparse with too many");
	sparse.len -= 4;
	ck_assert(wcs_hll_valid(sketch_slice(&sparse)));
}

/* The greatest state: nothing divides by zero, nothing leaves its range. */
SUITE_TEST(test_hll_full, 10)
{
	struct sketch full;

	full.bytes[0] = full.bytes[1] = 1;
	full.len = WCS_HLL_MAX;
	for (size_t i = 2; i < full.len; i += 3) { /* 50 = 110010 */
		full.bytes[i] = 0xcb;
		full.bytes[i + 1] = 0x2c;
		full.bytes[i + 2] = 0xb2;
	}
	ck_assert(wcs_hll_valid(sketch_slice(&full)));
	ck_assert_int_eq(wcs_hll_estimate(sketch_slice(&full)), INT64_MAX);
}

/* Lines give the same state as their elements one by one, with any element twice among them. */
SUITE_TEST(test_hll_lines, 60)
{
	static const uint64_t counts[] = {1, 2, 100, 6143, 6144, 6200, 50000};
	static struct sketch one_by_one, together;
	static char text[2 * 50000 * 8];

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		size_t len = 0;

		sketch_make(&one_by_one, 0, counts[i]);
		for (uint64_t j = 0; j < 2 * counts[i]; j++)
			len += (size_t)sprintf(text + len, "%llu\n",
					       (unsigned long long)(j * 7 % counts[i]));
		SUITE_OK(wcs_hll_elements((struct wcs_slice){text, len}, together.bytes,
					  &together.len));
		ck_assert_uint_eq(together.len, one_by_one.len);
		ck_assert_mem_eq(together.bytes, one_by_one.bytes, together.len);
	}
	SUITE_OK(wcs_hll_elements((struct wcs_slice){"\n\n", 2}, together.bytes, &together.len));
	wcs_hll_element((struct wcs_slice){"", 0}, one_by_one.bytes);
	ck_assert_uint_eq(together.len, WCS_HLL_ELEMENT);
	ck_assert_mem_eq(together.bytes, one_by_one.bytes, together.len);
}
