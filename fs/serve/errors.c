/* SPDX-License-Identifier: MIT */
/* The last errors: a ring of lines, which are formatted when they are added. */
#include "fs/serve/errors.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/utf8.h"

enum { LINE_MAX_BYTES = 6144 };

/* The last miss. It is formatted when it is read, because a lookup waits for errors_miss. */
struct missed {
	int64_t now;
	char *path, *reason; /* NULL: there is none */
};

struct errors {
	pthread_mutex_t lock;
	char *lines[ERRORS_KEPT]; /* Lock: lock, as all below */
	size_t next;		  /* the oldest, and the one to be replaced */
	_Atomic uint64_t count;	  /* since the beginning; may be read without the lock */
	char *path;		  /* of the last one; NULL: none, or no memory for it */
	struct missed missed;
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
	free(errors->path);
	free(errors->missed.path);
	free(errors->missed.reason);
	pthread_mutex_destroy(&errors->lock);
	free(errors);
}

/* A line, which the caller frees; NULL: no memory. Control bytes and bytes that are not UTF-8 are
 * %XX in it, so that an error is one line of text. */
static char *line_format(int64_t now, const char *path, int line, const char *reason)
{
	char text[LINE_MAX_BYTES + 1], whole[LINE_MAX_BYTES], when[32], where[16] = "";
	const unsigned char *from = (const unsigned char *)whole;
	time_t seconds = (time_t)(now / 1000000);
	size_t left, len, used = 0;
	struct tm tm;

	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &tm));
	if (line > 0)
		snprintf(where, sizeof(where), ":%d", line);
	snprintf(whole, sizeof(whole), "%s.%06dZ %s%s: %s", when, (int)(now % 1000000), path, where,
		 reason);
	for (left = strlen(whole); left > 0 && used + 5 < sizeof(text); left -= len, from += len) {
		len = utf8_character(from, left);
		if (len == 0 || *from < 0x20 || *from == 0x7F) {
			used += (size_t)snprintf(text + used, 4, "%%%02X", *from);
			len = 1;
		} else {
			memcpy(text + used, from, len);
			used += len;
		}
	}
	strcpy(text + used, "\n");
	return strdup(text);
}

/* Takes over both texts. */
static void set_missed(struct errors *errors, int64_t now, char *path, char *reason)
{
	struct missed old;

	pthread_mutex_lock(&errors->lock);
	old = errors->missed;
	errors->missed = (struct missed){now, path, reason};
	pthread_mutex_unlock(&errors->lock);
	free(old.path);
	free(old.reason);
}

void errors_add(struct errors *errors, int64_t now, const char *path, int line, const char *reason)
{
	char *text = line_format(now, path, line, reason), *old, *old_path;

	if (!text)
		return;
	pthread_mutex_lock(&errors->lock);
	old = errors->lines[errors->next];
	errors->lines[errors->next] = text;
	errors->next = (errors->next + 1) % ERRORS_KEPT;
	errors->count++;
	old_path = errors->path;
	errors->path = strdup(path);
	pthread_mutex_unlock(&errors->lock);
	free(old);
	free(old_path);
	set_missed(errors, 0, NULL, NULL);
}

void errors_miss(struct errors *errors, int64_t now, const char *path, const char *reason)
{
	bool known;

	pthread_mutex_lock(&errors->lock);
	known = errors->path && strcmp(errors->path, path) == 0;
	pthread_mutex_unlock(&errors->lock);
	if (!known)
		set_missed(errors, now, strdup(path), strdup(reason));
}

void errors_found(struct errors *errors)
{
	set_missed(errors, 0, NULL, NULL);
}

uint64_t errors_count(struct errors *errors)
{
	return errors->count;
}

int errors_print(struct errors *errors, FILE *to)
{
	char *line = NULL;

	pthread_mutex_lock(&errors->lock);
	for (size_t i = 0; i < ERRORS_KEPT; i++) {
		const char *kept = errors->lines[(errors->next + i) % ERRORS_KEPT];

		if (kept)
			fputs(kept, to);
	}
	if (errors->missed.path && errors->missed.reason)
		line = line_format(errors->missed.now, errors->missed.path, 0,
				   errors->missed.reason);
	if (line)
		fputs(line, to);
	free(line);
	pthread_mutex_unlock(&errors->lock);
	return 0;
}
