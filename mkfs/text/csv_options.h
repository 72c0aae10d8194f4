/* SPDX-License-Identifier: MIT */
/* The options of CSV that programs which read it share. */
#ifndef CSV_OPTIONS_H
#define CSV_OPTIONS_H

#include "mkfs/base/program.h"
#include "mkfs/text/csv_rows.h"

enum csv_option { CSV_DELIMITER = 512, CSV_KEY, CSV_FAMILY, CSV_NULL, CSV_ESCAPE, CSV_TIMESTAMPS };

#define CSV_OPTIONS                                                                                \
	{"delimiter", required_argument, NULL, CSV_DELIMITER},                                     \
		{"key", required_argument, NULL, CSV_KEY},                                         \
		{"family", required_argument, NULL, CSV_FAMILY},                                   \
		{"null", required_argument, NULL, CSV_NULL},                                       \
		{"escape", required_argument, NULL, CSV_ESCAPE},                                   \
	{                                                                                          \
		"timestamps", no_argument, NULL, CSV_TIMESTAMPS                                    \
	}

/* Takes one of CSV_OPTIONS, with optarg. False: it is another option. */
bool csv_options_take(struct csv_rows_options *csv, int option);
/* Checks all that were taken. Before, csv->separator is ',' of --csv, a tab of --tsv, or 0: the
 * input is no CSV. PROGRAM_MISUSED: the reason is printed. */
int csv_options_check(const struct program *program, struct csv_rows_options *csv);

#endif
