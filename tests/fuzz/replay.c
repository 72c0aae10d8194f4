/* SPDX-License-Identifier: MIT */
/* Runs a fuzz target on files, and on those in directories, without libFuzzer. */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void replay_fail(const char *what)
{
	perror(what);
	exit(1);
}

static void replay_file(const char *path, size_t size)
{
	FILE *in = fopen(path, "rb");
	uint8_t *data = malloc(size + 1), *exact;

	if (!in || !data || fread(data, 1, size + 1, in) != size)
		replay_fail(path);
	fclose(in);
	/* Of just that size, so that a sanitizer sees who reads on. */
	exact = malloc(size);
	if (size > 0)
		memcpy(exact, data, size);
	free(data);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
}

static unsigned int replay_path(const char *path)
{
	unsigned int count = 0;
	struct dirent *entry;
	struct stat st;
	DIR *dir;

	if (stat(path, &st))
		replay_fail(path);
	if (!S_ISDIR(st.st_mode)) {
		fprintf(stderr, "%s\n", path); /* whoever crashes is the last one named */
		replay_file(path, (size_t)st.st_size);
		return 1;
	}
	dir = opendir(path);
	if (!dir)
		replay_fail(path);
	while ((entry = readdir(dir)) != NULL) {
		char inner[4096];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
		count += replay_path(inner);
	}
	closedir(dir);
	return count;
}

int main(int argc, char **argv)
{
	unsigned int count = 0;

	for (int i = 1; i < argc; i++)
		count += replay_path(argv[i]);
	printf("%u inputs\n", count);
	return count > 0 ? 0 : 1;
}
