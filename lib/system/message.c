/* SPDX-License-Identifier: MIT */
/* Messages of a program on standard error. */
#include "lib/system/message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/utf8.h"

void message_va(const char *program, const char *format, va_list args)
{
	char *text = NULL;

	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	fprintf(stderr, "%s: ", program);
	utf8_print(stderr, text ? text : strerror(ENOMEM));
	fputc('\n', stderr);
	free(text);
}

void message(const char *program, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	message_va(program, format, args);
	va_end(args);
}

/* getopt_long prints words of the command line as they are. In glibc stderr is a variable. */
int message_getopt(int argc, char **argv, const char *letters, const struct option *words)
{
	char *line = NULL;
	size_t len = 0;
	FILE *to = stderr, *memory = open_memstream(&line, &len);
	int letter;

	if (!memory) {
		opterr = 0;
		return getopt_long(argc, argv, letters, words, NULL);
	}
	stderr = memory;
	letter = getopt_long(argc, argv, letters, words, NULL);
	stderr = to;
	if (fclose(memory) == 0 && len > 0) {
		line[len - 1] = '\0';
		utf8_print(stderr, line);
		fputc('\n', stderr);
	}
	free(line);
	return letter;
}
