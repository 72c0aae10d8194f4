/* SPDX-License-Identifier: MIT */
/*
 * Damages a store, or reads all of it.
 *
 *   damage STORE COMMANDS   as tests/unit/forge.h has them
 *   damage STORE look       scans the cells and rows of its table "t", and lists them
 *
 * Exits with 1 where it cannot, and a line says why of damage.
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "store/store.h"
#include "tests/unit/forge.h"

static int look_at_cells(struct wcs_table *table, enum wcs_each each)
{
	const struct wcs_range range = {.start = {NULL, 0}};
	const struct wcs_filter filter = {.each = each};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	int rc = wcs_scan_open(table, &range, 1, &filter, &scan);

	while (rc == 0 && (rc = wcs_scan_next(scan, &cell)) == 1)
		rc = 0;
	return rc;
}

static int look_at_rows(struct wcs_table *table)
{
	struct wcs_slice segment;
	struct wcs_list *list;
	int rc = wcs_list_open(table, (struct wcs_slice){NULL, 0}, NULL, NULL, &list);

	while (rc == 0 && (rc = wcs_list_next(list, &segment)) == 1)
		rc = 0;
	return rc;
}

static bool look(const char *path)
{
	struct wcs_store *store;
	struct wcs_table *table;

	/* A signal, if it reads the same keys again and again. */
	setrlimit(RLIMIT_CPU, &(struct rlimit){60, 60});
	return wcs_store_open(path, NULL, &store, NULL) == 0 &&
	       wcs_table_open(store, "t", &table) == 0 &&
	       look_at_cells(table, WCS_EACH_CELL) == 0 &&
	       look_at_cells(table, WCS_EACH_ROW) == 0 && look_at_rows(table) == 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[2], "look") == 0)
		_exit(!look(argv[1])); /* with the store open, as after a kill */
	if (argc != 3) {
		fprintf(stderr, "damage: usage: damage STORE COMMANDS|look\n");
		return 1;
	}
	forge(argv[1], argv[2]);
	return 0;
}
