/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target without libFuzzer: on files, and on those in directories, or on random inputs:
 *
 *   TARGET FILE…
 *   TARGET --random COUNT FIRST     inputs number FIRST and so on, of 48 bytes at most, each within
 *                                   30 s and all within 4 GiB of memory
 */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

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

static int replay_random(int count, int first)
{
	const struct rlimit memory = {UINT64_C(4) << 30, UINT64_C(4) << 30};
	uint8_t input[48];

	setrlimit(RLIMIT_AS, &memory);
	for (int n = first; n < first + count; n++) {
		uint64_t state = (uint64_t)n * UINT64_C(0x9e3779b97f4a7c15) + 1;

		fprintf(stderr, "%d\n", n);
		for (size_t i = 0; i < sizeof(input); i++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			input[i] = (uint8_t)(state >> 32);
		}
		alarm(30);
		LLVMFuzzerTestOneInput(input, input[47] % sizeof(input) + 1);
	}
	printf("%d random inputs\n", count);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned int count = 0;

	if (argc == 4 && strcmp(argv[1], "--random") == 0)
		return replay_random(atoi(argv[2]), atoi(argv[3]));

	for (int i = 1; i < argc; i++)
		count += replay_path(argv[i]);
	printf("%u inputs\n", count);
	return count > 0 ? 0 : 1;
}
