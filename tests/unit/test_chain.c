/* SPDX-License-Identifier: MIT */
/* Samples of keys of many kinds are even. tests/e2e/test_views.sh has random chains of up to five
 * views against a model of lists, views.py; test_chain_limits.c has views at their limits. */
#include <stdint.h>

#include "store/chain/chain.h"
#include "store/table/table.h"
#include "tests/unit/suite.h"

/* ---- Samples ----------------------------------------------------------------------------- */

enum { SAMPLE_ROWS = 5000, SAMPLE_BINS = 20 };
/* The chi-square distribution with 19 degrees of freedom exceeds it once in 1,000 times. */
#define SAMPLE_CHI_SQUARE 43.82

static void key_user(unsigned int i, char *key)
{
	sprintf(key, "user%03u", i);
}

static void key_padded(unsigned int i, char *key)
{
	sprintf(key, "%010u", i);
}

static void key_second(unsigned int i, char *key)
{
	sprintf(key, "STC#2026-11-28T%02u:%02u:%02uZ", i / 3600, i / 60 % 60, i % 60);
}

static void key_microseconds(unsigned int i, char *key)
{
	sprintf(key, "d#%llu", 1795381200000000ull + 250000ull * i);
}

static void key_reverse_time(unsigned int i, char *key)
{
	sprintf(key, "%llu", 9223372036854775807ull - 1795381200000ull - i);
}

static void key_words(unsigned int i, char *key)
{
	static const char *const words[] = {
		"north",  "south", "east",   "west",  "bus", "tram", "ferry", "harbour", "market",
		"church", "mill",  "bridge", "green", "old", "new",  "long",  "stone"};
	enum { WORDS = sizeof(words) / sizeof(words[0]) };

	sprintf(key, "%s-%s-%s", words[i / WORDS / WORDS % WORDS], words[i / WORDS % WORDS],
		words[i % WORDS]);
}

static void key_reverse_domain(unsigned int i, char *key)
{
	sprintf(key, "com.example.host%u#%u", i / 10, i % 10);
}

static const struct sampled {
	void (*key)(unsigned int i, char *key);
	unsigned int rows;
} sampled[] = {
	{key_user, 1000},
	{key_padded, SAMPLE_ROWS},
	{key_second, SAMPLE_ROWS},
	{key_microseconds, SAMPLE_ROWS},
	{key_reverse_time, SAMPLE_ROWS},
	{key_words, 17 * 17 * 17},
	{key_reverse_domain, SAMPLE_ROWS},
};

static uint64_t sample_rows(struct wcs_table *table, unsigned int bin)
{
	const struct wcs_step step = {.kind = WCS_STEP_SAMPLE,
				      .number = (uint64_t)WCS_SAMPLE_WHOLE / SAMPLE_BINS * bin};
	struct wcs_chain *chain = NULL;
	struct wcs_count count;

	SUITE_OK(wcs_chain_add(table, NULL, &step, &chain, NULL));
	SUITE_OK(wcs_rows_count(table, NULL, chain, &count));
	wcs_chain_free(chain);
	return count.rows;
}

enum { SAMPLED = sizeof(sampled) / sizeof(sampled[0]) };

SUITE_CONTRACT("contract-2, 9: .sample uses a hash whose bits all depend on all bytes of the key")
/* Samples are parts of larger ones, so their differences are bins, which have equal shares. */
SUITE_LOOP(test_samples_are_even, SAMPLED, 60)
{
	const struct sampled *keys = &sampled[_i];
	double expected = (double)keys->rows / SAMPLE_BINS, chi_square = 0;
	uint64_t before = 0;
	char key[64];
	struct suite suite, *s = &suite;

	suite_open(s, SUITE_MEMORY);
	for (unsigned int i = 0; i < keys->rows; i++) {
		keys->key(i, key);
		suite_set(s->table, key, "f", "q", 1, "1");
	}
	for (unsigned int bin = 1; bin <= SAMPLE_BINS; bin++) {
		uint64_t rows = sample_rows(s->table, bin);
		double more = (double)(rows - before) - expected;

		ck_assert_uint_ge(rows, before);
		chi_square += more * more / expected;
		before = rows;
	}
	ck_assert_uint_eq(before, keys->rows);
	if (chi_square > SAMPLE_CHI_SQUARE)
		ck_abort_msg("%s: chi-square %.1f", key, chi_square);
	suite_close(s);
}
