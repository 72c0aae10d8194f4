/* SPDX-License-Identifier: MIT */
/* The rows of the table of ratios: see rows.h. */
#include "tests/bench/rows.h"

enum { FIRSTS = 50 }; /* listings that are begun */

/* ---- How much ---------------------------------------------------------------------------- */

static uint32_t units_rows(const struct rows_size *size)
{
	return size->tree.rows;
}

static uint32_t units_below(const struct rows_size *size)
{
	return size->tree.below;
}

static uint32_t units_segments(const struct rows_size *size)
{
	(void)size;
	return TREE_SEGMENTS;
}

static uint32_t units_files(const struct rows_size *size)
{
	return size->tree.files;
}

static uint32_t units_cells(const struct rows_size *size)
{
	(void)size;
	return TREE_CELLS;
}

static uint32_t units_large(const struct rows_size *size)
{
	return (uint32_t)(size->tree.large >> 10);
}

static uint32_t units_firsts(const struct rows_size *size)
{
	(void)size;
	return FIRSTS;
}

static uint32_t units_ops(const struct rows_size *size)
{
	return size->ops;
}

static uint32_t units_made(const struct rows_size *size)
{
	return size->made;
}

static uint32_t units_big(const struct rows_size *size)
{
	return (uint32_t)(size->tree.big >> 20);
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

static void raw_rows(struct raw *raw, const struct rows_size *size, unsigned int round)
{
	(void)round;
	must_be(raw_list(raw, "w#", UINT32_MAX), size->tree.rows);
}

static void raw_segments(struct raw *raw, const struct rows_size *size, unsigned int round)
{
	(void)size;
	(void)round;
	must_be(raw_list(raw, "d#", UINT32_MAX), TREE_SEGMENTS);
}

static void raw_first(struct raw *raw, const struct rows_size *size, unsigned int round)
{
	(void)size;
	(void)round;
	for (int i = 0; i < FIRSTS; i++)
		must_be(raw_list(raw, "w#", 1), 1);
}

static void raw_files(struct raw *raw, const struct rows_size *size, unsigned int round)
{
	(void)round;
	must_be(raw_columns(raw, "c"), size->tree.files);
}

static void raw_cells_large(struct raw *raw, const struct rows_size *size, unsigned int round)
{
	(void)size;
	(void)round;
	must_be(raw_columns(raw, "l"), TREE_CELLS);
}

static void raw_cells_empty(struct raw *raw, const struct rows_size *size, unsigned int round)
{
	(void)size;
	(void)round;
	must_be(raw_columns(raw, "e"), TREE_CELLS);
}

static void raw_stat(struct raw *raw, const struct rows_size *size, unsigned int round)
{
	for (uint32_t i = 0; i < size->ops; i++)
		raw_seek(raw, random_file(size, i, round));
}

/* What a lookup needs, and then the value. */
static void raw_read(struct raw *raw, const struct rows_size *size, unsigned int round)
{
	for (uint32_t i = 0; i < size->ops; i++) {
		raw_seek(raw, random_file(size, i, round));
		raw_get(raw, random_file(size, i, round));
	}
}

static void raw_create(struct raw *raw, const struct rows_size *size, unsigned int round)
{
	for (uint32_t i = 0; i < size->made; i++)
		raw_put(raw, round * size->made + i);
}

/* ---- The rows ---------------------------------------------------------------------------- */

/* clang-format off */
#define ALL    {[PEER_ROWFS] = true, [PEER_NULL] = true, [PEER_EXT4] = true, [ROWS_RAW] = true}
#define MOUNTS {[PEER_ROWFS] = true, [PEER_NULL] = true, [PEER_EXT4] = true}

const struct rows_row rows_all[] = {
	{"ls -f of rows", "entry", "0.8 of the slower of null and raw", ALL, ROWS_COLD, 1,
	 units_rows, units_rows, client_list_rows, raw_rows},
	{"ls -f of 1,000 above many rows", "entry", "does not grow", ALL, ROWS_COLD, 1,
	 units_below, units_segments, client_list_segments, raw_segments},
	{"first entry of rows", "listing", "under 1,000 us", ALL, ROWS_WARM, 1,
	 units_rows, units_firsts, client_first, raw_first},
	{"ls -l of columns", "file", "0.9 of null", ALL, ROWS_COLD, 1,
	 units_files, units_files, client_long_list, raw_files},
	{"find, rows of 4 cells", "file", "0.9 of null", MOUNTS, ROWS_COLD, 1,
	 units_rows, units_ops, client_find, NULL},
	{"stat, cold", "file", "1.5 of null", ALL, ROWS_COLD, 1,
	 units_files, units_ops, client_stat, raw_stat},
	{"stat, cold, 4 clients", "file", "1 of null", MOUNTS, ROWS_COLD, 4,
	 units_files, units_ops, client_stat, NULL},
	{"stat, warm", "file", "0.9 of null", MOUNTS, ROWS_WARM, 1,
	 units_files, units_ops, client_stat, NULL},
	{"open+read+close, cold", "file", "1.5 of null", ALL, ROWS_COLD, 1,
	 units_files, units_ops, client_read, raw_read},
	{"open+read+close, cold, 4 clients", "file", "1 of null", MOUNTS, ROWS_COLD, 4,
	 units_files, units_ops, client_read, NULL},
	{"open+read+close, warm", "file", "0.9 of null", MOUNTS, ROWS_WARM, 1,
	 units_files, units_ops, client_read, NULL},
	{"open+read+close, warm, 4 clients", "file", "0.9 of null", MOUNTS, ROWS_WARM, 4,
	 units_files, units_ops, client_read, NULL},
	{"create+write+close", "file", "0.8 of null", ALL, ROWS_NEW, 1,
	 units_made, units_made, client_create, raw_create},
	{"tar x", "file", "0.8 of null", MOUNTS, ROWS_NEW, 1,
	 units_made, units_made, client_tar, NULL},
	{"read of a cell of so many MiB", "MiB", "0.5 of null", MOUNTS, ROWS_COLD, 1,
	 units_big, units_big, client_read_big, NULL},
	{"write of a cell of so many MiB", "MiB", "0.5 of null", MOUNTS, ROWS_NEW, 1,
	 units_big, units_big, client_write_big, NULL},
	{"ls -l of 100 empty cells", "file", "", ALL, ROWS_COLD, 1,
	 units_cells, units_cells, client_long_list_empty, raw_cells_empty},
	{"ls -l of 100 cells of so many KiB", "file", "as of empty ones", ALL, ROWS_COLD, 1,
	 units_large, units_cells, client_long_list_large, raw_cells_large},
	{"mixed, 1 client", "op", "", MOUNTS, ROWS_COLD, 1,
	 units_files, units_ops, client_mixed, NULL},
	{"mixed, 8 clients", "op", "rises with the cores", MOUNTS, ROWS_COLD, 8,
	 units_files, units_ops, client_mixed, NULL},
};
/* clang-format on */

const unsigned int rows_count = sizeof(rows_all) / sizeof(rows_all[0]);
