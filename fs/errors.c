/* SPDX-License-Identifier: MIT */
/* The last errors, as a ring of lines that are formatted when they are added. */
#include "errors.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "names.h"

enum { LINE_MAX_BYTES = 6144 };

struct errors {
	pthread_mutex_t lock;
	char *lines[ERRORS_KEPT]; /* Lock: lock, as all below */
	size_t next;		  /* the oldest, and the one to be replaced */
	uint64_t count;		  /* since the beginning */
};

struct errors *errors_new(void)
{
	struct errors *errors = calloc(1, sizeof(*errors));

	if (errors)
		pthread_mutex_init(&errors->lock, NULL);
	return errors;
}

void errors_free(struct errors *errors)
{
	if (!errors)
		return;
	for (size_t i = 0; i < ERRORS_KEPT; i++)
		free(errors->lines[i]);
	pthread_mutex_destroy(&errors->lock);
	free(errors);
}

static void time_format(int64_t now, char *text, size_t size)
{
	time_t seconds = (time_t)(now / 1000000);
	char whole[32];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(whole, sizeof(whole), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, size, "%s.%06dZ", whole, (int)(now % 1000000));
}

/* Control bytes and what is not UTF-8 as %XX, so that an error stays one line of text. */
static void escape(const char *text, char *to, size_t size)
{
	const unsigned char *from = (const unsigned char *)text;
	size_t left = strlen(text), used = 0;

	while (left > 0 && used + 4 < size) {
		size_t len = names_character(from, left);

		if (len == 0 || *from < 0x20 || *from == 0x7F) {
			used += (size_t)snprintf(to + used, size - used, "%%%02X", *from);
			len = 1;
		} else {
			memcpy(to + used, from, len);
			used += len;
		}
		from += len;
		left -= len;
	}
	to[used] = 0;
}

void errors_add(struct errors *errors, int64_t now, const char *path, int line, const char *reason)
{
	char text[LINE_MAX_BYTES + 1], whole[LINE_MAX_BYTES], when[48], where[16] = "";
	char *copy, *old;

	time_format(now, when, sizeof(when));
	if (line > 0)
		snprintf(where, sizeof(where), ":%d", line);
	snprintf(whole, sizeof(whole), "%s %s%s: %s", when, path, where, reason);
	escape(whole, text, sizeof(text) - 1);
	strcat(text, "\n");
	copy = strdup(text);
	if (!copy)
		return;
	pthread_mutex_lock(&errors->lock);
	old = errors->lines[errors->next];
	errors->lines[errors->next] = copy;
	errors->next = (errors->next + 1) % ERRORS_KEPT;
	errors->count++;
	pthread_mutex_unlock(&errors->lock);
	free(old);
}

uint64_t errors_count(struct errors *errors)
{
	uint64_t count;

	pthread_mutex_lock(&errors->lock);
	count = errors->count;
	pthread_mutex_unlock(&errors->lock);
	return count;
}

char *errors_format(struct errors *errors, size_t *len)
{
	char *text = NULL;
	FILE *stream = open_memstream(&text, len);
	int bad;

	if (!stream)
		return NULL;
	pthread_mutex_lock(&errors->lock);
	for (size_t i = 0; i < ERRORS_KEPT; i++) {
		const char *line = errors->lines[(errors->next + i) % ERRORS_KEPT];

		if (line)
			fputs(line, stream);
	}
	pthread_mutex_unlock(&errors->lock);
	bad = ferror(stream);
	if (fclose(stream) != 0 || bad) {
		free(text);
		return NULL;
	}
	return text;
}
