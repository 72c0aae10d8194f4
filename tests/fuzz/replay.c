/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target without libFuzzer: on files, and on those in directories, or on random inputs:
 *
 *   TARGET FILE…
 *   TARGET --random COUNT FIRST [FILE…]
 *
 * Random inputs number FIRST and so on, each within 30 s and all within 4 GiB of memory. Half of
 * them are changed files, the others tokens of the files that end in .dict, and bytes.
 */
#include "tests/fuzz/fuzz.h"

#include "tests/unit/suite.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static void replay_fail(const char *what)
{
	perror(what);
	exit(1);
}

struct replay_bytes {
	uint8_t *data;
	size_t len;
};

enum { REPLAY_FILES = 256, REPLAY_TOKENS = 64, REPLAY_MAX = 1 << 16 };

static struct replay_bytes replay_files[REPLAY_FILES], replay_tokens[REPLAY_TOKENS];
static size_t replay_file_count, replay_token_count;

/* A buffer of just that size, so that a sanitizer reports a read past its end. */
static void replay_run(const uint8_t *data, size_t size)
{
	uint8_t *exact = malloc(size);

	if (size > 0)
		memcpy(exact, data, size);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
}

/* A line of a dictionary: a token in quotes, with \" \\ and \xXX in it. */
static void replay_token(const char *line)
{
	struct replay_bytes *token = &replay_tokens[replay_token_count];
	unsigned int byte;

	if (*line++ != '"' || replay_token_count == REPLAY_TOKENS)
		return;
	token->data = malloc(strlen(line));
	for (; *line && *line != '"'; line++) {
		byte = (unsigned char)*line;
		if (*line == '\\' && sscanf(line, "\\x%2x", &byte) == 1)
			line += 3;
		else if (*line == '\\')
			byte = (unsigned char)*++line;
		token->data[token->len++] = (uint8_t)byte;
	}
	replay_token_count++;
}

static void replay_file(const char *path, size_t size, bool run)
{
	FILE *in = fopen(path, "rb");
	uint8_t *data = malloc(size + 1);
	char line[256];

	if (!in || !data || fread(data, 1, size + 1, in) != size)
		replay_fail(path);
	if (run) {
		replay_run(data, size);
	} else if (strstr(path, ".dict")) {
		rewind(in);
		while (fgets(line, sizeof(line), in))
			replay_token(line);
	} else if (replay_file_count < REPLAY_FILES && size < REPLAY_MAX) {
		replay_files[replay_file_count++] = (struct replay_bytes){data, size};
		data = NULL;
	}
	fclose(in);
	free(data);
}

/* Runs the target on the files there, or keeps them. */
static unsigned int replay_path(const char *path, bool run)
{
	unsigned int count = 0;
	struct dirent *entry;
	struct stat st;
	DIR *dir;

	if (stat(path, &st))
		replay_fail(path);
	if (!S_ISDIR(st.st_mode)) {
		fprintf(stderr, "%s\n", path); /* the last path printed is the one that crashes */
		replay_file(path, (size_t)st.st_size, run);
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
		count += replay_path(inner, run);
	}
	closedir(dir);
	return count;
}

/* A token, or a byte. */
static struct replay_bytes replay_piece(uint64_t *state)
{
	static uint8_t byte;

	if (replay_token_count > 0 && suite_random(state) % 2 == 0)
		return replay_tokens[suite_random(state) % replay_token_count];
	byte = (uint8_t)suite_random(state);
	return (struct replay_bytes){&byte, 1};
}

/* One file with up to three places changed, cut now and then. */
static size_t replay_change(uint64_t *state, uint8_t input[REPLAY_MAX])
{
	const struct replay_bytes *file = &replay_files[suite_random(state) % replay_file_count];
	size_t len = file->len;

	memcpy(input, file->data, len);
	for (uint32_t changes = 1 + suite_random(state) % 3; len > 0 && changes > 0; changes--) {
		struct replay_bytes piece = replay_piece(state);
		size_t at = suite_random(state) % len;

		memcpy(input + at, piece.data, piece.len < len - at ? piece.len : len - at);
	}
	if (len > 0 && suite_random(state) % 8 == 0)
		len = suite_random(state) % len;
	return len;
}

/* Pieces: mostly few of them. */
static size_t replay_compose(uint64_t *state, uint8_t input[REPLAY_MAX])
{
	uint32_t kind = suite_random(state) % 100;
	uint32_t pieces = suite_random(state) % (kind == 0 ? 8000 : kind < 5 ? 800 : 64);
	size_t len = 1;

	input[0] = (uint8_t)suite_random(state);
	for (; pieces > 0; pieces--) {
		struct replay_bytes piece = replay_piece(state);

		if (piece.len > REPLAY_MAX - len)
			break;
		memcpy(input + len, piece.data, piece.len);
		len += piece.len;
	}
	return len;
}

static int replay_random(int count, int first)
{
	static uint8_t input[REPLAY_MAX];
	const struct itimerval limit = {.it_value = {.tv_sec = 30}}; /* processor time */

#ifndef __SANITIZE_ADDRESS__ /* which maps more */
	setrlimit(RLIMIT_AS, &(struct rlimit){UINT64_C(4) << 30, UINT64_C(4) << 30});
#endif
	for (int n = first; n < first + count; n++) {
		uint64_t state = (uint64_t)n * UINT64_C(0x9e3779b97f4a7c15) + 1;
		bool change = suite_random(&state) % 2 == 0 && replay_file_count > 0;

		fprintf(stderr, "%d\n", n);
		setitimer(ITIMER_PROF, &limit, NULL);
		replay_run(input,
			   change ? replay_change(&state, input) : replay_compose(&state, input));
	}
	setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL);
	printf("%d random inputs\n", count);
	return 0;
}

int main(int argc, char **argv)
{
	bool random = argc >= 4 && strcmp(argv[1], "--random") == 0;
	unsigned int count = 0;

	for (int i = random ? 4 : 1; i < argc; i++)
		count += replay_path(argv[i], !random);
	if (random)
		return replay_random(atoi(argv[2]), atoi(argv[3]));
	printf("%u inputs\n", count);
	return count > 0 ? 0 : 1;
}
