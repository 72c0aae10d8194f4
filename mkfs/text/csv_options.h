/* SPDX-License-Identifier: MIT */
/* The options of CSV that programs which read it share. */
#ifndef CSV_OPTIONS_H
#define CSV_OPTIONS_H

#include "mkfs/base/program.h"
#include "mkfs/text/csv_rows.h"

#define CSV_OPTIONS(csv)                                                                           \
	{"delimiter", .text = &(csv).delimiter}, {"key", .text = &(csv).key},                      \
		{"family", .text = &(csv).family}, {"null", .text = &(csv).null},                  \
		{"escape", .text = &(csv).escapes},                                                \
	{                                                                                          \
		"timestamps", .flag = &(csv).timestamps                                            \
	}

/* Checks all that were taken. Before, csv->separator is ',' of --csv, a tab of --tsv, or 0: the
 * input is no CSV. PROGRAM_MISUSED: the reason is printed. */
int csv_options_check(const struct program *program, struct csv_rows_options *csv);

#endif
