/* SPDX-License-Identifier: MIT */
/* Checksums: as RFC 3720 has them, and the same by each way of making them. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "store/disk/crc.h"

enum { MOST = 4096 };

static unsigned char bytes[MOST];

static void fill(void)
{
	srandom(1);
	for (size_t i = 0; i < MOST; i++)
		bytes[i] = (unsigned char)random();
}

/* RFC 3720, B.4. */
START_TEST(test_has_the_values_of_the_standard)
{
	unsigned char block[32];

	memset(block, 0, sizeof(block));
	ck_assert_uint_eq(wcs_crc_extend(0, block, sizeof(block)), 0x8a9136aau);
	ck_assert_uint_eq(wcs_crc_extend_plain(0, block, sizeof(block)), 0x8a9136aau);
	memset(block, 0xff, sizeof(block));
	ck_assert_uint_eq(wcs_crc_extend(0, block, sizeof(block)), 0x62a8ab43u);
	ck_assert_uint_eq(wcs_crc_extend_plain(0, block, sizeof(block)), 0x62a8ab43u);
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (unsigned char)i;
	ck_assert_uint_eq(wcs_crc_extend(0, block, sizeof(block)), 0x46dd794eu);
	ck_assert_uint_eq(wcs_crc_extend_plain(0, block, sizeof(block)), 0x46dd794eu);
}
END_TEST

START_TEST(test_is_the_same_with_and_without_the_instruction)
{
	fill();
	for (size_t from = 0; from < 9; from++) {
		for (size_t len = 0; len < 300; len++)
			ck_assert_uint_eq(wcs_crc_extend(1, bytes + from, len),
					  wcs_crc_extend_plain(1, bytes + from, len));
	}
	ck_assert_uint_eq(wcs_crc_extend(0, bytes, MOST), wcs_crc_extend_plain(0, bytes, MOST));
}
END_TEST

START_TEST(test_of_pieces_is_that_of_all)
{
	uint32_t all;

	fill();
	all = wcs_crc_extend_plain(0, bytes, 200);
	for (size_t cut = 0; cut <= 200; cut++) {
		uint32_t first = wcs_crc_extend(0, bytes, cut);

		ck_assert_uint_eq(wcs_crc_extend(first, bytes + cut, 200 - cut), all);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("crc");
	TCase *tests = tcase_create("crc");
	SRunner *runner;
	int failed;

	tcase_add_test(tests, test_has_the_values_of_the_standard);
	tcase_add_test(tests, test_is_the_same_with_and_without_the_instruction);
	tcase_add_test(tests, test_of_pieces_is_that_of_all);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
