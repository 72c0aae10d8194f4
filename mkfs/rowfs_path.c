/* SPDX-License-Identifier: MIT */
/* rowfs-path: the paths of row keys, without a store or mount. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mkfs/key_path.h"
#include "mkfs/program.h"

static const struct program program = {
	.name = (char[]){"rowfs-path"},
	.help = "Usage: rowfs-path TABLE KEY...\n"
		"\n"
		"Prints, a line for each KEY, the path of that row below a mount's root.\n"
		"\n"
		"KEY is spelled as in the control file .keys and in row JSON: %XX, with\n"
		"upper-case digits, is a byte, so that '%' itself is %25.\n"
		"\n"
		"There is no store to ask, so the delimiter is taken to be '#', and a segment of\n"
		"a key that has the name of a family of its table is not told from others: in the\n"
		"tree all bytes of such a segment are written as %XX.\n"
		"\n"
		"  -h, --help     prints this\n"
		"  -V, --version  prints the version\n"
		"\n"
		"Ends with 0, 1 when it failed, 2 for wrong usage.\n",
};

/* Checks a key; prints its path, if a table is given. */
static int path_print(const char *table, const char *text)
{
	struct wcs_slice key;
	char *path;
	int exit_code = key_parse(&program, text, &key);

	if (exit_code)
		return exit_code;
	path = key_path(key, WCS_DELIMITER_DEFAULT, NULL);
	if (!path)
		exit_code = program_fail(&program, "no memory");
	else if (table)
		printf("%s/%s\n", table, path);
	free(path);
	free((void *)(uintptr_t)key.data);
	return exit_code;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {PROGRAM_OPTIONS};
	int option, exit_code = PROGRAM_OK;

	program_begin(&program, argc, argv);
	while ((option = getopt_long(argc, argv, "+hV", options, NULL)) != -1)
		return program_option(&program, option);
	if (optind == argc)
		return program_misuse(&program, "TABLE is missing");
	if (optind + 1 == argc)
		return program_misuse(&program, "KEY is missing");
	if (!wcs_table_name_valid(argv[optind]))
		return program_fail(&program, "%s: not a table's name", argv[optind]);
	/* All keys are checked before the first path is printed. */
	for (int i = optind + 1; i < argc && exit_code == PROGRAM_OK; i++)
		exit_code = path_print(NULL, argv[i]);
	for (int i = optind + 1; i < argc && exit_code == PROGRAM_OK; i++)
		exit_code = path_print(argv[optind], argv[i]);
	if (exit_code == PROGRAM_OK && fflush(stdout))
		exit_code = program_fail(&program, "standard output: %s", strerror(errno));
	return exit_code;
}
