/* SPDX-License-Identifier: MIT */
/* The last errors, remarks and misses, in order of time. They become text when they are read,
 * because a lookup waits for errors_miss. */
#include "fs/report/errors.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fs/serve/share.h"
#include "lib/clock.h"
#include "lib/utf8.h"

enum { LINE_MAX_BYTES = 6144 };

enum error_kind { ERROR_REFUSED, ERROR_REMARK, ERROR_MISS };

struct error {
	enum error_kind kind;
	char *path, *reason;
	int64_t now;
	int line; /* of the written text; 0: none */
	uid_t user;
	bool other;	 /* neither root nor the owner */
	unsigned before; /* older lines of the user */
};

struct errors {
	pthread_mutex_t lock;
	struct error lines[ERRORS_KEPT]; /* oldest first. Lock: lock, as kept */
	size_t kept;
	_Atomic uint64_t count; /* since the beginning; may be read without the lock */
};

struct errors *errors_new(void)
{
	struct errors *errors = calloc(1, sizeof(*errors));

	if (errors)
		pthread_mutex_init(&errors->lock, NULL);
	return errors;
}

static void error_free(const struct error *error)
{
	free(error->path);
	free(error->reason);
}

void errors_free(struct errors *errors)
{
	if (!errors)
		return;
	for (size_t i = 0; i < errors->kept; i++)
		error_free(&errors->lines[i]);
	pthread_mutex_destroy(&errors->lock);
	free(errors);
}

/* The user's miss, or the last line that is none; NULL: there is none. Lock: the errors'. */
static struct error *lines_last(struct errors *errors, uid_t user, bool miss)
{
	for (struct error *at = errors->lines + errors->kept; at-- > errors->lines;)
		if (at->user == user && (at->kind == ERROR_MISS) == miss)
			return at;
	return NULL;
}

/* Does another line need the place of one that is kept? *from: whose oldest one, or with *remark
 * whose oldest remark. Lock: the errors'. */
static bool lines_full(const struct errors *errors, const struct error *line, uid_t *from,
		       bool *remark)
{
	const struct error *most = NULL, *most_other = NULL;
	size_t own = 0, remarks = 0, others = 0;

	for (size_t i = 0; i < errors->kept; i++) {
		const struct error *error = &errors->lines[i];

		own += error->user == line->user;
		remarks += error->user == line->user && error->kind == ERROR_REMARK;
		others += error->other;
		if (!most || error->before > most->before)
			most = error;
		if (error->other && (!most_other || error->before > most_other->before))
			most_other = error;
	}
	*remark = line->kind == ERROR_REMARK && remarks == ERRORS_REMARKS;
	if (*remark || (line->other && own == ERRORS_USER))
		*from = line->user;
	else if (line->other && others == ERRORS_OTHERS)
		*from = most_other->user;
	else if (errors->kept == ERRORS_KEPT)
		*from = most->user;
	else
		return false;
	return true;
}

/* Lock: the errors'. */
static void lines_remove(struct errors *errors, struct error *at)
{
	struct error *end = errors->lines + errors->kept--;
	uid_t user = at->user;

	error_free(at);
	memmove(at, at + 1, (size_t)(end - at - 1) * sizeof(*at));
	for (; at < end - 1; at++)
		at->before -= at->user == user;
}

/* Removes the oldest line, or the oldest remark, of a user who has one. Lock: the errors'. */
static void lines_remove_oldest(struct errors *errors, uid_t user, bool remark)
{
	struct error *at = errors->lines;

	while (at->user != user || (remark && at->kind != ERROR_REMARK))
		at++;
	lines_remove(errors, at);
}

static void lines_forget_miss(struct errors *errors, uid_t user)
{
	struct error *miss = lines_last(errors, user, true);

	if (miss)
		lines_remove(errors, miss);
}

static void lines_add(struct fs *fs, enum error_kind kind, uid_t user, const char *path, int line,
		      const char *reason)
{
	struct errors *errors = fs->errors;
	struct error error = {.kind = kind,
			      .path = strdup(path),
			      .reason = strdup(reason),
			      .now = clock_now(),
			      .line = line,
			      .user = user,
			      .other = share_is_other(fs, user)};
	const struct error *last;
	bool known, remark;
	uid_t from;

	pthread_mutex_lock(&errors->lock);
	last = kind == ERROR_MISS ? lines_last(errors, user, false) : NULL;
	known = last && strcmp(last->path, path) == 0;
	if (!known && error.path && error.reason) {
		lines_forget_miss(errors, user);
		if (lines_full(errors, &error, &from, &remark))
			lines_remove_oldest(errors, from, remark);
		for (size_t i = 0; i < errors->kept; i++)
			error.before += errors->lines[i].user == user;
		errors->lines[errors->kept++] = error;
		errors->count += kind == ERROR_REFUSED;
	} else {
		error_free(&error);
	}
	pthread_mutex_unlock(&errors->lock);
}

void errors_add(struct fs *fs, uid_t user, const char *path, int line, const char *reason)
{
	lines_add(fs, ERROR_REFUSED, user, path, line, reason);
}

void errors_remark(struct fs *fs, uid_t user, const char *path, const char *text)
{
	lines_add(fs, ERROR_REMARK, user, path, 0, text);
}

void errors_miss(struct fs *fs, uid_t user, const char *path, const char *reason)
{
	lines_add(fs, ERROR_MISS, user, path, 0, reason);
}

void errors_found(struct fs *fs, uid_t user)
{
	pthread_mutex_lock(&fs->errors->lock);
	lines_forget_miss(fs->errors, user);
	pthread_mutex_unlock(&fs->errors->lock);
}

bool errors_last(struct fs *fs, uid_t user, const char *path, const char *reason)
{
	struct errors *errors = fs->errors;
	const struct error *last;
	bool same;

	pthread_mutex_lock(&errors->lock);
	last = lines_last(errors, user, false);
	same = last && last->line == 0 && strcmp(last->path, path) == 0 &&
	       strcmp(last->reason, reason) == 0;
	pthread_mutex_unlock(&errors->lock);
	return same;
}

uint64_t errors_count(struct errors *errors)
{
	return errors->count;
}

/* Hostile characters and bytes that are not UTF-8 are %XX, so that an error is one line of text. */
static void error_print(const struct error *error, FILE *to)
{
	char text[LINE_MAX_BYTES + 1], whole[LINE_MAX_BYTES], when[32], where[16] = "";
	time_t seconds = (time_t)(error->now / 1000000);
	struct tm tm;

	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &tm));
	if (error->line > 0)
		snprintf(where, sizeof(where), ":%d", error->line);
	snprintf(whole, sizeof(whole), "%s.%06dZ %s%s: %s", when, (int)(error->now % 1000000),
		 error->path, where, error->reason);
	strcpy(text + utf8_safe_copy(whole, text, LINE_MAX_BYTES), "\n");
	fputs(text, to);
}

int errors_print(struct errors *errors, FILE *to)
{
	pthread_mutex_lock(&errors->lock);
	for (size_t i = 0; i < errors->kept; i++)
		error_print(&errors->lines[i], to);
	pthread_mutex_unlock(&errors->lock);
	return 0;
}
