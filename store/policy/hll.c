/* SPDX-License-Identifier: MIT */
/*
 * HyperLogLog++ with 2^15 registers, after Heule, Nunkesser and Hall (2013).
 *
 *   hash    0         15        25                                    64
 *   dense   [register][ rank: the first 1 bit from here on, from 1 ….. ]
 *   sparse  [ place             ][ rank in here ….................... ]
 *
 * - Sparse: the places of the elements, each with its greatest rank, ascending. From SPARSE_END
 *   places on a state is dense, and never sparse again: one set of elements has one state.
 * - Dense: a rank for each register, 6 bits, 0 where no element fell.
 * - A sparse state counts its places (two elements in one place are rare: linear counting). A dense
 *   one is estimated as Ertl does (New cardinality estimation algorithms for HyperLogLog sketches,
 *   2017, algorithm 6), which has no bias at any size and needs no table.
 */
#include "store/policy/hll.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bytes.h"
#include "lib/hash.h"

#define HLL_VERSION	 1
#define HLL_HEAD	 2 /* version and kind */
#define HLL_SPARSE	 0
#define HLL_DENSE	 1
#define HLL_BITS	 15
#define HLL_REGISTERS	 (1u << HLL_BITS)
#define HLL_RANK_MAX	 (64 - HLL_BITS + 1)
#define HLL_PLACE_BITS	 25
#define HLL_PLACE_RANK	 (64 - HLL_PLACE_BITS + 1) /* the greatest */
#define HLL_LOW_BITS	 (HLL_PLACE_BITS - HLL_BITS)
#define HLL_LOW		 (1u << HLL_LOW_BITS) /* places of one register */
#define HLL_ENTRY	 4		      /* bytes: place, and rank in the low 6 bits */
#define HLL_SPARSE_END	 6144u		      /* as many would be as long as a dense state */
#define HLL_DENSE_LENGTH (HLL_REGISTERS / 4 * 3)

/* ---- Entries of a sparse state ----------------------------------------------------------- */

static uint32_t hll_place(uint32_t entry)
{
	return entry >> 6;
}

static unsigned int hll_rank(uint32_t entry)
{
	return entry & 63;
}

static bool hll_is_dense(struct wcs_slice state)
{
	return ((const unsigned char *)state.data)[1] == HLL_DENSE;
}

static const unsigned char *hll_body(struct wcs_slice state)
{
	return (const unsigned char *)state.data + HLL_HEAD;
}

static size_t hll_count(struct wcs_slice state)
{
	return (state.len - HLL_HEAD) / HLL_ENTRY;
}

static void hll_head_put(unsigned char *to, unsigned char kind)
{
	to[0] = HLL_VERSION;
	to[1] = kind;
}

static uint32_t hll_entry_of(struct wcs_slice element)
{
	uint64_t hash = hash_mix(hash_bytes(HASH_START, element.data, element.len)), rest;

	rest = hash << HLL_PLACE_BITS;
	return (uint32_t)(hash >> (64 - HLL_PLACE_BITS)) << 6 |
	       (rest ? (uint32_t)__builtin_clzll(rest) + 1 : HLL_PLACE_RANK);
}

void wcs_hll_element(struct wcs_slice element, unsigned char state[WCS_HLL_ELEMENT])
{
	hll_head_put(state, HLL_SPARSE);
	put_be32(state + HLL_HEAD, hll_entry_of(element));
}

/* ---- Registers of a dense state ---------------------------------------------------------- */

static unsigned int hll_register(const unsigned char *body, uint32_t i)
{
	const unsigned char *from = body + i / 4 * 3;
	uint32_t four = (uint32_t)from[0] << 16 | (uint32_t)from[1] << 8 | from[2];

	return four >> (18 - 6 * (i % 4)) & 63;
}

static void hll_dense_put(const unsigned char *registers, unsigned char *state)
{
	unsigned char *to = state + HLL_HEAD;

	hll_head_put(state, HLL_DENSE);
	for (uint32_t i = 0; i < HLL_REGISTERS; i += 4) {
		uint32_t four = (uint32_t)registers[i] << 18 | (uint32_t)registers[i + 1] << 12 |
				(uint32_t)registers[i + 2] << 6 | registers[i + 3];

		*to++ = (unsigned char)(four >> 16);
		*to++ = (unsigned char)(four >> 8);
		*to++ = (unsigned char)four;
	}
}

static void hll_raise(unsigned char *registers, uint32_t i, unsigned int rank)
{
	if (registers[i] < rank)
		registers[i] = (unsigned char)rank;
}

/* The places of a register are the first bits that its rank looks at. */
static void hll_raise_entry(unsigned char *registers, uint32_t entry)
{
	uint32_t low = hll_place(entry) % HLL_LOW;
	unsigned int rank = HLL_LOW_BITS + hll_rank(entry);

	if (low != 0)
		rank = (unsigned int)__builtin_clz(low) - (32 - HLL_LOW_BITS) + 1;
	hll_raise(registers, hll_place(entry) / HLL_LOW, rank);
}

static void hll_raise_state(unsigned char *registers, struct wcs_slice state)
{
	const unsigned char *body = hll_body(state);

	if (hll_is_dense(state)) {
		for (uint32_t i = 0; i < HLL_REGISTERS; i++)
			hll_raise(registers, i, hll_register(body, i));
		return;
	}
	for (size_t i = 0; i < hll_count(state); i++)
		hll_raise_entry(registers, get_be32(body + i * HLL_ENTRY));
}

/* ---- States ------------------------------------------------------------------------------ */

/* Sparse places ascend. A dense state is of at least HLL_SPARSE_END places: the sum counts the most
 * places that the ranks allow. */
bool wcs_hll_valid(struct wcs_slice state)
{
	const unsigned char *bytes = state.data, *body;
	int64_t last = -1;
	uint32_t places = 0;

	if (state.len < HLL_HEAD || bytes[0] != HLL_VERSION)
		return false;
	body = hll_body(state);
	if (bytes[1] == HLL_SPARSE) {
		if ((state.len - HLL_HEAD) % HLL_ENTRY != 0 || hll_count(state) >= HLL_SPARSE_END)
			return false;
		for (size_t i = 0; i < hll_count(state); i++) {
			uint32_t entry = get_be32(body + i * HLL_ENTRY);

			if (entry >> 31 != 0 || hll_place(entry) <= last || hll_rank(entry) == 0 ||
			    hll_rank(entry) > HLL_PLACE_RANK)
				return false;
			last = hll_place(entry);
		}
		return true;
	}
	if (bytes[1] != HLL_DENSE || state.len != HLL_HEAD + HLL_DENSE_LENGTH)
		return false;
	for (uint32_t i = 0; i < HLL_REGISTERS; i++) {
		unsigned int rank = hll_register(body, i);

		if (rank > HLL_RANK_MAX)
			return false;
		places += rank > HLL_LOW_BITS ? HLL_LOW : HLL_LOW - (HLL_LOW >> rank);
	}
	return places >= HLL_SPARSE_END;
}

/* 0: there are too many places. */
static size_t hll_merge_sparse(struct wcs_slice a, struct wcs_slice b, unsigned char *merged)
{
	const unsigned char *left = hll_body(a), *left_end = left + hll_count(a) * HLL_ENTRY;
	const unsigned char *right = hll_body(b), *right_end = right + hll_count(b) * HLL_ENTRY;
	size_t count = 0;

	hll_head_put(merged, HLL_SPARSE);
	for (; left < left_end || right < right_end; count++) {
		uint32_t x = left < left_end ? get_be32(left) : UINT32_MAX;
		uint32_t y = right < right_end ? get_be32(right) : UINT32_MAX;
		bool takes_x = hll_place(x) <= hll_place(y);
		bool takes_y = hll_place(y) <= hll_place(x);

		if (count + 1 == HLL_SPARSE_END)
			return 0;
		if (takes_x)
			left += HLL_ENTRY;
		if (takes_y)
			right += HLL_ENTRY;
		put_be32(merged + HLL_HEAD + count * HLL_ENTRY,
			 takes_x && (!takes_y || x > y) ? x : y);
	}
	return HLL_HEAD + count * HLL_ENTRY;
}

size_t wcs_hll_merge(struct wcs_slice a, struct wcs_slice b, unsigned char *merged)
{
	unsigned char registers[HLL_REGISTERS];
	size_t len = 0;

	if (!hll_is_dense(a) && !hll_is_dense(b))
		len = hll_merge_sparse(a, b, merged);
	if (len > 0)
		return len;
	memset(registers, 0, sizeof(registers));
	hll_raise_state(registers, a);
	hll_raise_state(registers, b);
	hll_dense_put(registers, merged);
	return HLL_HEAD + HLL_DENSE_LENGTH;
}

static int hll_compare(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

int wcs_hll_elements(struct wcs_slice lines, unsigned char *state, size_t *len)
{
	const char *at = lines.data, *end = at + lines.len, *newline;
	unsigned char registers[HLL_REGISTERS] = {0};
	size_t count = 0, kept = 0;
	uint32_t *entries;

	for (size_t i = 0; i < lines.len; i++)
		count += at[i] == '\n';
	entries = malloc((count + 1) * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	for (count = 0; (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1)
		entries[count++] = hll_entry_of((struct wcs_slice){at, (size_t)(newline - at)});
	qsort(entries, count, sizeof(*entries), hll_compare);
	for (size_t i = 0; i < count; i++) /* of each place the one with the greatest rank */
		if (i + 1 == count || hll_place(entries[i]) != hll_place(entries[i + 1]))
			entries[kept++] = entries[i];
	if (kept < HLL_SPARSE_END) {
		hll_head_put(state, HLL_SPARSE);
		for (size_t i = 0; i < kept; i++)
			put_be32(state + HLL_HEAD + i * HLL_ENTRY, entries[i]);
		*len = HLL_HEAD + kept * HLL_ENTRY;
	} else {
		for (size_t i = 0; i < kept; i++)
			hll_raise_entry(registers, entries[i]);
		hll_dense_put(registers, state);
		*len = HLL_HEAD + HLL_DENSE_LENGTH;
	}
	free(entries);
	return 0;
}

/* ---- The estimate ------------------------------------------------------------------------ */

/* x + the sum of x^(2^k) * 2^(k-1) over k from 1 on; x < 1. */
static double hll_sigma(double x)
{
	double sum = x, weight = 1, last;

	do {
		last = sum;
		x *= x;
		sum += x * weight;
		weight += weight;
	} while (sum > last);
	return sum;
}

/* (1 - x - the sum of (1 - x^(2^-k))^2 * 2^-k over k from 1 on) / 3 */
static double hll_tau(double x)
{
	double sum = 1 - x, weight = 1, last;

	if (x <= 0 || x >= 1)
		return 0;
	do {
		last = sum;
		x = sqrt(x);
		weight /= 2;
		sum -= (1 - x) * (1 - x) * weight;
	} while (sum < last);
	return sum / 3;
}

static double hll_estimate_dense(const unsigned char *body)
{
	uint32_t counts[HLL_RANK_MAX + 1] = {0};
	const double registers = HLL_REGISTERS;
	double z;

	for (uint32_t i = 0; i < HLL_REGISTERS; i++)
		counts[hll_register(body, i)]++;
	z = registers * hll_tau(1 - counts[HLL_RANK_MAX] / registers);
	for (int rank = HLL_RANK_MAX - 1; rank >= 1; rank--)
		z = (z + counts[rank]) / 2;
	z += registers * hll_sigma(counts[0] / registers);
	return registers * registers / (2 * log(2) * z); /* infinite where all ranks are greatest */
}

int64_t wcs_hll_estimate(struct wcs_slice state)
{
	const double places = 1u << HLL_PLACE_BITS;
	double estimate = hll_is_dense(state) ? hll_estimate_dense(hll_body(state))
					      : -places * log1p(-(double)hll_count(state) / places);

	return estimate < 9.2e18 ? (int64_t)(estimate + 0.5) : INT64_MAX;
}
