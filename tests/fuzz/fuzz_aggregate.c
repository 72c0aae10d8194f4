/* SPDX-License-Identifier: MIT */
/* Values of aggregate families: states of HyperLogLog++ from anywhere, and integers as text. */
#include "tests/fuzz/fuzz.h"

#include "store/policy/hll.h"

#include <ctype.h>

struct aggregate_fuzz_state {
	size_t len;
	unsigned char bytes[WCS_HLL_MAX];
};

static struct wcs_slice aggregate_fuzz_slice(const struct aggregate_fuzz_state *state)
{
	return (struct wcs_slice){state->bytes, state->len};
}

static void aggregate_fuzz_merge(struct wcs_slice a, struct wcs_slice b,
				 struct aggregate_fuzz_state *merged)
{
	merged->len = wcs_hll_merge(a, b, merged->bytes);
	FUZZ_CHECK(merged->len <= WCS_HLL_MAX);
	FUZZ_CHECK(wcs_hll_valid(aggregate_fuzz_slice(merged)));
	FUZZ_CHECK(wcs_hll_estimate(aggregate_fuzz_slice(merged)) >= 0);
}

static void aggregate_fuzz_expect(struct wcs_slice a, struct wcs_slice b, struct wcs_slice expected)
{
	static struct aggregate_fuzz_state merged;

	aggregate_fuzz_merge(a, b, &merged);
	FUZZ_CHECK(fuzz_same(merged.bytes, merged.len, expected.data, expected.len));
}

/* Merging is a union: in any order, with itself, with nothing, with a part of itself. */
static void aggregate_fuzz_union(struct wcs_slice a, struct wcs_slice b)
{
	static struct aggregate_fuzz_state both;
	struct wcs_slice empty = {"\1", 2};

	FUZZ_CHECK(wcs_hll_estimate(a) >= 0 && wcs_hll_estimate(empty) == 0);
	aggregate_fuzz_expect(a, a, a);
	aggregate_fuzz_expect(a, empty, a);
	aggregate_fuzz_expect(empty, a, a);
	aggregate_fuzz_merge(a, b, &both);
	aggregate_fuzz_expect(b, a, aggregate_fuzz_slice(&both));
	aggregate_fuzz_expect(aggregate_fuzz_slice(&both), a, aggregate_fuzz_slice(&both));
	aggregate_fuzz_expect(b, aggregate_fuzz_slice(&both), aggregate_fuzz_slice(&both));
}

static void aggregate_fuzz_states(const uint8_t *data, size_t size)
{
	static struct aggregate_fuzz_state dense;
	size_t half = size / 2;
	struct wcs_slice a = {data, half}, b = {data + half, size - half}, all = {data, size};
	unsigned char element[WCS_HLL_ELEMENT];
	int64_t number = -7;

	wcs_hll_element(all, element);
	FUZZ_CHECK(wcs_hll_valid((struct wcs_slice){element, sizeof(element)}));
	FUZZ_CHECK(wcs_hll_estimate((struct wcs_slice){element, sizeof(element)}) == 1);
	FUZZ_CHECK((wcs_aggregate_number(WCS_INTHLL, all, &number) == 0) == wcs_hll_valid(all));
	if (wcs_hll_valid(all))
		aggregate_fuzz_union(all, (struct wcs_slice){element, sizeof(element)});
	if (wcs_hll_valid(a) && wcs_hll_valid(b))
		aggregate_fuzz_union(a, b);
	/* A dense state costs a thousand times as much: one input in 64, by its hash, has one. It
	 * is made of few bytes, which are repeated. */
	if (element[3] % 64 != 0)
		return;
	dense.len = WCS_HLL_MAX;
	for (size_t i = 0; i < WCS_HLL_MAX; i++)
		dense.bytes[i] = size > 0 ? data[i % size] : 0x45;
	memcpy(dense.bytes, "\1\1", 2);
	if (!wcs_hll_valid(aggregate_fuzz_slice(&dense)))
		return;
	aggregate_fuzz_union(aggregate_fuzz_slice(&dense),
			     (struct wcs_slice){element, sizeof(element)});
	if (wcs_hll_valid(all))
		aggregate_fuzz_union(all, aggregate_fuzz_slice(&dense));
}

/* Digits behind at most one sign, in the range of strtoll. */
static int aggregate_fuzz_integer(const char *text, size_t len, int64_t *number)
{
	size_t at = len > 0 && (text[0] == '-' || text[0] == '+') ? 1 : 0;

	if (at == len)
		return -EINVAL;
	for (; at < len; at++)
		if (!isdigit((unsigned char)text[at]))
			return -EINVAL;
	errno = 0;
	*number = strtoll(text, NULL, 10);
	return errno == 0 ? 0 : -EOVERFLOW;
}

static void aggregate_fuzz_integers(const uint8_t *data, size_t size)
{
	unsigned char value[WCS_AGGREGATE_LINE_MAX];
	char *text = fuzz_text(data, size);
	int64_t number = -7, expected = -7;
	int rc = aggregate_fuzz_integer(text, size, &expected);
	bool right = rc == 0;
	size_t len;

	FUZZ_CHECK(wcs_integer_parse(text, size, &number) == rc);
	FUZZ_CHECK(!right || number == expected);
	FUZZ_CHECK(wcs_aggregate_line(WCS_INTMIN, text, size, value, &len) ==
		   (right ? 0 : -EINVAL));
	if (right) {
		number = -7;
		FUZZ_CHECK(wcs_aggregate_number(WCS_INTMIN, (struct wcs_slice){value, len},
						&number) == 0);
		FUZZ_CHECK(len == 8 && number == expected);
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (fuzz_byte(&data, &size) % 4 == 3)
		aggregate_fuzz_integers(data, size);
	else
		aggregate_fuzz_states(data, size);
	return 0;
}
