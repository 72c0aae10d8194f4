/* SPDX-License-Identifier: MIT */
/* The rows of the table of ratios: see rows.h. */
#include "tests/bench/rows.h"

#include <string.h>

uint32_t rows_number(const struct rows_size *size, size_t member)
{
	uint32_t number;

	memcpy(&number, (const char *)size + member, sizeof(number));
	return number;
}

/* ---- With LevelDB alone ------------------------------------------------------------------ */

/* Other numbers in each round, and none twice in one. */
static uint32_t random_file(const struct rows_size *size, uint32_t i, unsigned int round)
{
	return (uint32_t)((i + round * UINT64_C(7919)) * 1000003 % size->tree.files);
}

static void must_be(uint32_t found, uint32_t expected)
{
	if (found != expected)
		peer_die("raw: a listing is not complete", 0);
}

/* The segments, or the columns, of the letter in t/LETTER. */
static void raw_segments(struct raw *raw, const struct rows_row *row, const struct rows_size *size,
			 unsigned int round)
{
	char prefix[] = {row->path[2], '#', '\0'};

	(void)round;
	must_be(raw_list(raw, prefix, UINT32_MAX), rows_number(size, row->units));
}

static void raw_cells(struct raw *raw, const struct rows_row *row, const struct rows_size *size,
		      unsigned int round)
{
	char name[] = {row->path[2], '\0'};

	(void)round;
	must_be(raw_columns(raw, name), rows_number(size, row->units));
}

static void raw_first(struct raw *raw, const struct rows_row *row, const struct rows_size *size,
		      unsigned int round)
{
	(void)row;
	(void)round;
	for (uint32_t i = 0; i < size->firsts; i++)
		must_be(raw_list(raw, "w#", 1), 1);
}

static void raw_stat(struct raw *raw, const struct rows_row *row, const struct rows_size *size,
		     unsigned int round)
{
	(void)row;
	for (uint32_t i = 0; i < size->ops; i++)
		raw_seek(raw, random_file(size, i, round));
}

/* The seek of a lookup, and then the value. */
static void raw_read(struct raw *raw, const struct rows_row *row, const struct rows_size *size,
		     unsigned int round)
{
	(void)row;
	for (uint32_t i = 0; i < size->ops; i++) {
		raw_seek(raw, random_file(size, i, round));
		raw_get(raw, random_file(size, i, round));
	}
}

static void raw_create(struct raw *raw, const struct rows_row *row, const struct rows_size *size,
		       unsigned int round)
{
	(void)row;
	for (uint32_t i = 0; i < size->made; i++)
		raw_put(raw, round * size->made + i);
}

/* ---- The rows ---------------------------------------------------------------------------- */

/* clang-format off */
#define N(member) offsetof(struct rows_size, member)
#define ALL    {[PEER_ROWFS] = true, [PEER_NULL] = true, [PEER_EXT4] = true, [ROWS_RAW] = true}
#define MOUNTS {[PEER_ROWFS] = true, [PEER_NULL] = true, [PEER_EXT4] = true}

const struct rows_row rows_all[] = {
	{"ls -f of rows", "entry", "0.8 of the slower of null and raw", ALL, ROWS_COLD, 1,
	 N(tree.rows), N(tree.rows), "t/w", client_list, raw_segments},
	{"ls -f of 1,000 above many rows", "entry", "does not grow", ALL, ROWS_COLD, 1,
	 N(tree.below), N(segments), "t/d", client_list, raw_segments},
	{"first entry of rows", "listing", "under 1,000 us", ALL, ROWS_WARM, 1,
	 N(tree.rows), N(firsts), NULL, client_first, raw_first},
	{"ls -l of columns", "file", "0.9 of null", ALL, ROWS_COLD, 1,
	 N(tree.files), N(tree.files), "t/c/f", client_long_list, raw_cells},
	{"find, rows of 4 cells", "file", "0.9 of null", MOUNTS, ROWS_COLD, 1,
	 N(tree.rows), N(ops), NULL, client_find, NULL},
	{"stat, cold", "file", "1.5 of null", ALL, ROWS_COLD, 1,
	 N(tree.files), N(ops), NULL, client_stat, raw_stat},
	{"stat, cold, 4 clients", "file", "1 of null", MOUNTS, ROWS_COLD, 4,
	 N(tree.files), N(ops), NULL, client_stat, NULL},
	{"stat, warm", "file", "0.9 of null", MOUNTS, ROWS_WARM, 1,
	 N(tree.files), N(ops), NULL, client_stat, NULL},
	{"open+read+close, cold", "file", "1.5 of null", ALL, ROWS_COLD, 1,
	 N(tree.files), N(ops), NULL, client_read, raw_read},
	{"open+read+close, cold, 4 clients", "file", "1 of null", MOUNTS, ROWS_COLD, 4,
	 N(tree.files), N(ops), NULL, client_read, NULL},
	{"open+read+close, warm", "file", "0.9 of null", MOUNTS, ROWS_WARM, 1,
	 N(tree.files), N(ops), NULL, client_read, NULL},
	{"open+read+close, warm, 4 clients", "file", "0.9 of null", MOUNTS, ROWS_WARM, 4,
	 N(tree.files), N(ops), NULL, client_read, NULL},
	{"create+write+close", "file", "0.8 of null", ALL, ROWS_NEW, 1,
	 N(made), N(made), NULL, client_create, raw_create},
	{"tar x", "file", "0.8 of null", MOUNTS, ROWS_NEW, 1,
	 N(made), N(made), NULL, client_tar, NULL},
	{"read of a cell of so many MiB", "MiB", "0.5 of null", MOUNTS, ROWS_COLD, 1,
	 N(big_mib), N(big_mib), NULL, client_read_big, NULL},
	{"write of a cell of so many MiB", "MiB", "0.5 of null", MOUNTS, ROWS_NEW, 1,
	 N(big_mib), N(big_mib), NULL, client_write_big, NULL},
	{"ls -l of 100 empty cells", "file", "", ALL, ROWS_COLD, 1,
	 N(cells), N(cells), "t/e/f", client_long_list, raw_cells},
	{"ls -l of 100 cells of so many KiB", "file", "as of empty ones", ALL, ROWS_COLD, 1,
	 N(large_kib), N(cells), "t/l/f", client_long_list, raw_cells},
	{"mixed, 1 client", "op", "", MOUNTS, ROWS_COLD, 1,
	 N(tree.files), N(ops), NULL, client_mixed, NULL},
	{"mixed, 8 clients", "op", "rises with the cores", MOUNTS, ROWS_COLD, 8,
	 N(tree.files), N(ops), NULL, client_mixed, NULL},
};
/* clang-format on */

const unsigned int rows_count = sizeof(rows_all) / sizeof(rows_all[0]);
