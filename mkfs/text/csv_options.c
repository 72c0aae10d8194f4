/* SPDX-License-Identifier: MIT */
/* Options of CSV: how its records are spelled, and which columns make the key. */
#include "mkfs/text/csv_options.h"

#include <getopt.h>
#include <string.h>

bool csv_options_take(struct csv_rows_options *csv, int option)
{
	switch (option) {
	case CSV_DELIMITER:
		csv->delimiter = optarg;
		break;
	case CSV_KEY:
		csv->key = optarg;
		break;
	case CSV_FAMILY:
		csv->family = optarg;
		break;
	case CSV_NULL:
		csv->null = optarg;
		break;
	case CSV_ESCAPE:
		csv->escapes = optarg;
		break;
	case CSV_TIMESTAMPS:
		csv->timestamps = true;
		break;
	default:
		return false;
	}
	return true;
}

int csv_options_check(const struct program *program, struct csv_rows_options *csv)
{
	if (!csv->separator &&
	    (csv->family || csv->timestamps || csv->key || csv->null || csv->escapes))
		return program_misuse(program, "--key, --family, --null, --escape and "
					       "--timestamps go with --csv or --tsv");
	if (csv->delimiter && csv->separator != ',')
		return program_misuse(program, "--delimiter goes with --csv");
	if (csv->delimiter && (strlen(csv->delimiter) != 1 || strchr("\"\r\n", *csv->delimiter)))
		return program_misuse(program,
				      "--delimiter %s: it is one byte, no quote and no end of a "
				      "line; --tsv takes tabs",
				      csv->delimiter);
	if (csv->escapes && strcmp(csv->escapes, "backslash") != 0)
		return program_misuse(program, "--escape %s: only backslash is known",
				      csv->escapes);
	if (csv->delimiter && csv->escapes && *csv->delimiter == '\\')
		return program_misuse(program, "--delimiter and --escape are the same byte");
	csv->literal = csv->escapes && csv->separator == '\t';
	if (csv->escapes)
		csv->escape = '\\';
	if (csv->delimiter)
		csv->separator = *csv->delimiter;
	return PROGRAM_OK;
}
