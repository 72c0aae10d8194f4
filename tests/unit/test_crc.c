/* SPDX-License-Identifier: MIT */
/* Checksums: as RFC 3720 has them, and the same by each way of making them. */
#include "suite.h"

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
SUITE_TEST(test_has_the_values_of_the_standard, 10)
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

SUITE_TEST(test_is_the_same_with_and_without_the_instruction, 10)
{
	fill();
	for (size_t from = 0; from < 9; from++) {
		for (size_t len = 0; len < 300; len++)
			ck_assert_uint_eq(wcs_crc_extend(1, bytes + from, len),
					  wcs_crc_extend_plain(1, bytes + from, len));
	}
	ck_assert_uint_eq(wcs_crc_extend(0, bytes, MOST), wcs_crc_extend_plain(0, bytes, MOST));
}

SUITE_TEST(test_of_pieces_is_that_of_all, 10)
{
	uint32_t all;

	fill();
	all = wcs_crc_extend_plain(0, bytes, 200);
	for (size_t cut = 0; cut <= 200; cut++) {
		uint32_t first = wcs_crc_extend(0, bytes, cut);

		ck_assert_uint_eq(wcs_crc_extend(first, bytes + cut, 200 - cut), all);
	}
}
