/* SPDX-License-Identifier: MIT */
/* Options of CSV: how its records are spelled, and which columns make the key. */
#include "mkfs/text/csv_options.h"

#include <string.h>

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
