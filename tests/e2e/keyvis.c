/* SPDX-License-Identifier: MIT */
/*
 * keyvis PATTERN STORE [END [DIRECTORY METRIC.FORMAT…]]: makes a store with the table "demo", and
 * on it the six hours of traffic of a pattern (tests/unit/heat.c) until END, in seconds since 1970
 * (default: the present). Writes files of the table's heat map as of END into the directory.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fs/keyvis/keyvis.h"
#include "store/chain/chain.h"
#include "tests/unit/heat.h"

#define MINUTE INT64_C(60000000)

struct keyvis {
	const struct heat_traffic *traffic;
	struct wcs_store *store;
	struct wcs_table *table;
	_Atomic int64_t clock;
};

static void must(int rc, const char *what)
{
	if (rc == 0)
		return;
	fprintf(stderr, "keyvis: %s: %s\n", what, strerror(-rc));
	exit(1);
}

static int64_t now(void *ctx)
{
	return ((struct keyvis *)ctx)->clock;
}

static struct wcs_slice text(const char *bytes)
{
	return (struct wcs_slice){bytes, strlen(bytes)};
}

static void put(struct keyvis *in, const char *key)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	must(wcs_mutation_set(mutation, "f", text("q"), WCS_TS_SERVER, text("12345678")), "set");
	must(wcs_row_mutate(in->table, text(key), mutation, NULL), "mutate");
	wcs_mutation_free(mutation);
}

static void scan(struct keyvis *in)
{
	const struct wcs_range all = {{NULL, 0}, {NULL, 0}};
	const struct wcs_filter rows = {.each = WCS_EACH_ROW};
	struct wcs_scan *scan;
	struct wcs_cell cell;

	must(wcs_scan_open(in->table, &all, 1, &rows, &scan), "scan");
	while (wcs_scan_next(scan, &cell) == 1)
		;
	wcs_scan_close(scan);
}

static void operate(void *ctx, enum heat_op op, const char *key)
{
	struct wcs_cell_info info;

	if (op == HEAT_WRITE)
		put(ctx, key);
	else if (op == HEAT_SCAN)
		scan(ctx);
	else
		must(wcs_cell_get(((struct keyvis *)ctx)->table, text(key), "f", text("q"),
				  WCS_TS_NEWEST, &info),
		     key);
}

static void run(struct keyvis *in, int64_t end)
{
	struct heat_to to = {operate, in, 1};
	char key[HEAT_KEY_MAX];

	in->clock = end - (HEAT_MINUTES + 60) * MINUTE;
	for (int i = 0; i < in->traffic->rows; i++) {
		in->traffic->row(i, key);
		put(in, key);
	}
	must(wcs_heat_fold(in->store), "fold");
	for (int minute = 0; minute < HEAT_MINUTES; minute++) {
		in->clock = end - (HEAT_MINUTES - minute) * MINUTE;
		in->traffic->minute(minute, &to);
		in->clock += MINUTE - 1;
		must(wcs_heat_fold(in->store), "fold");
	}
}

/* Writes the file of that name. */
static int print(struct keyvis *in, const char *directory, const char *file)
{
	char name[256];
	FILE *to;
	int rc;

	for (enum wcs_heat_metric metric = 0; metric < WCS_HEAT_METRICS; metric++)
		for (enum keyvis_format format = 0; format < KEYVIS_FORMATS; format++) {
			snprintf(name, sizeof(name), "%s.%s", keyvis_metric_name(metric),
				 keyvis_format_name(format));
			if (strcmp(name, file) != 0)
				continue;
			snprintf(name, sizeof(name), "%s/%s", directory, file);
			to = fopen(name, "w");
			if (to == NULL)
				return -errno;
			rc = keyvis_render(in->table, WCS_HEAT_6H, metric, format, false, to);
			return fclose(to) != 0 ? -errno : rc;
		}
	return -ENOENT;
}

int main(int argc, char **argv)
{
	struct keyvis in = {.traffic = NULL};
	struct wcs_options options = {.now = now, .now_ctx = &in, .heat = true};
	struct wcs_fault fault;
	int64_t end = argc > 3 ? atoll(argv[3]) : time(NULL);

	for (size_t i = 0; argc > 2 && i < HEAT_TRAFFICS; i++)
		if (strcmp(heat_traffics[i].name, argv[1]) == 0)
			in.traffic = &heat_traffics[i];
	if (in.traffic == NULL) {
		fputs("Usage: keyvis PATTERN STORE [END [DIRECTORY METRIC.FORMAT...]]\n", stderr);
		return 2;
	}
	in.clock = (end - (HEAT_MINUTES + 60) * 60) * 1000000;
	must(wcs_store_create(argv[2], NULL, false, NULL, &fault), "create");
	must(wcs_store_open(argv[2], &options, &in.store, &fault), "open");
	must(wcs_table_create(in.store, "demo"), "table");
	must(wcs_table_open(in.store, "demo", &in.table), "table");
	must(wcs_family_create(in.table, "f"), "family");
	must(wcs_family_set_gc(in.table, "f", "maxversions=1", NULL), "policy");
	run(&in, end * 1000000);
	for (int i = 5; i < argc; i++)
		must(print(&in, argv[4], argv[i]), argv[i]);
	wcs_table_close(in.table);
	wcs_store_close(in.store);
	return 0;
}
