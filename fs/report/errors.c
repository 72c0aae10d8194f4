/* SPDX-License-Identifier: MIT */
/* The last errors as lines, in order of time, and the last miss of each user. */
#include "fs/report/errors.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fs/serve/share.h"
#include "lib/clock.h"
#include "lib/utf8.h"

enum {
	LINE_MAX_BYTES = 6144,
	USERS_KEPT = 64, /* whose last miss is kept */
};

struct error {
	char *text; /* formatted */
	uint64_t number;
	uid_t user;
	bool other; /* neither root nor the owner */
	bool remark;
	unsigned before; /* older lines of the user */
};

/* A user's last miss. It is formatted when it is read, because a lookup waits for errors_miss. */
struct errors_user {
	uid_t user;
	bool other;
	uint64_t used;	     /* the number of the user's last failure; 0: there is no user */
	char *failed;	     /* path of the last error; NULL: none, or no memory for it */
	char *path, *reason; /* of the miss; NULL: there is none */
	uint64_t number;
	int64_t now;
};

struct errors {
	pthread_mutex_t lock;
	struct error lines[ERRORS_KEPT]; /* oldest first. Lock: lock, as all below */
	size_t kept;
	uint64_t numbers;	/* of errors and misses, in order of time */
	_Atomic uint64_t count; /* since the beginning; may be read without the lock */
	struct errors_user users[USERS_KEPT];
};

struct errors *errors_new(void)
{
	struct errors *errors = calloc(1, sizeof(*errors));

	if (errors)
		pthread_mutex_init(&errors->lock, NULL);
	return errors;
}

static void user_forget_miss(struct errors_user *user)
{
	free(user->path);
	free(user->reason);
	user->path = user->reason = NULL;
}

static void user_clear(struct errors_user *user)
{
	user_forget_miss(user);
	free(user->failed);
	*user = (struct errors_user){0};
}

void errors_free(struct errors *errors)
{
	if (!errors)
		return;
	for (size_t i = 0; i < errors->kept; i++)
		free(errors->lines[i].text);
	for (size_t i = 0; i < USERS_KEPT; i++)
		user_clear(&errors->users[i]);
	pthread_mutex_destroy(&errors->lock);
	free(errors);
}

/* The user's entry; NULL: there is none. Lock: the errors'. */
static struct errors_user *user_find(struct errors *errors, uid_t user)
{
	for (size_t i = 0; i < USERS_KEPT; i++)
		if (errors->users[i].used > 0 && errors->users[i].user == user)
			return &errors->users[i];
	return NULL;
}

/* A free entry, or the one of the user, neither root nor the owner, whose last failure is the
 * oldest. Lock: the errors'. */
static struct errors_user *user_oldest(struct errors *errors)
{
	struct errors_user *found = NULL;

	for (size_t i = 0; i < USERS_KEPT; i++) {
		struct errors_user *at = &errors->users[i];

		if ((at->used == 0 || at->other) && (!found || at->used < found->used))
			found = at;
	}
	return found;
}

/* The entry of a user who fails now. Lock: the errors'. */
static struct errors_user *user_get(struct errors *errors, uid_t user, bool other)
{
	struct errors_user *found = user_find(errors, user);

	if (!found) {
		found = user_oldest(errors);
		user_clear(found);
		found->user = user;
		found->other = other;
	}
	found->used = ++errors->numbers;
	return found;
}

/* A line, which the caller frees; NULL: no memory. Hostile characters and bytes that are not UTF-8
 * are %XX in it, so that an error is one line of text. */
static char *line_format(int64_t now, const char *path, int line, const char *reason)
{
	char text[LINE_MAX_BYTES + 1], whole[LINE_MAX_BYTES], when[32], where[16] = "";
	time_t seconds = (time_t)(now / 1000000);
	struct tm tm;

	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &tm));
	if (line > 0)
		snprintf(where, sizeof(where), ":%d", line);
	snprintf(whole, sizeof(whole), "%s.%06dZ %s%s: %s", when, (int)(now % 1000000), path, where,
		 reason);
	strcpy(text + utf8_safe_copy(whole, text, LINE_MAX_BYTES), "\n");
	return strdup(text);
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
		remarks += error->user == line->user && error->remark;
		others += error->other;
		if (!most || error->before > most->before)
			most = error;
		if (error->other && (!most_other || error->before > most_other->before))
			most_other = error;
	}
	*remark = line->remark && remarks == ERRORS_REMARKS;
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

/* Removes the oldest line, or the oldest remark, of a user who has one. Returns its text. Lock: the
 * errors'. */
static char *lines_remove(struct errors *errors, uid_t user, bool remark)
{
	struct error *at = errors->lines, *end = errors->lines + errors->kept;
	char *text;

	while (at->user != user || (remark && !at->remark))
		at++;
	text = at->text;
	memmove(at, at + 1, (size_t)(end - at - 1) * sizeof(*at));
	errors->kept--;
	for (; at < end - 1; at++)
		at->before -= at->user == user;
	return text;
}

static void lines_add(struct fs *fs, uid_t user, const char *path, int line, const char *reason,
		      bool remark)
{
	char *text = line_format(clock_now(), path, line, reason), *old = NULL;
	struct errors *errors = fs->errors;
	struct error error = {
		.text = text, .user = user, .other = share_is_other(fs, user), .remark = remark};
	struct errors_user *of;
	bool from_remark;
	uid_t from;

	if (!text)
		return;
	pthread_mutex_lock(&errors->lock);
	if (lines_full(errors, &error, &from, &from_remark))
		old = lines_remove(errors, from, from_remark);
	for (size_t i = 0; i < errors->kept; i++)
		error.before += errors->lines[i].user == user;
	of = user_get(errors, user, error.other);
	user_forget_miss(of);
	free(of->failed);
	of->failed = strdup(path);
	error.number = of->used;
	errors->lines[errors->kept++] = error;
	errors->count += !remark;
	pthread_mutex_unlock(&errors->lock);
	free(old);
}

void errors_add(struct fs *fs, uid_t user, const char *path, int line, const char *reason)
{
	lines_add(fs, user, path, line, reason, false);
}

void errors_remark(struct fs *fs, uid_t user, const char *path, const char *text)
{
	lines_add(fs, user, path, 0, text, true);
}

void errors_miss(struct fs *fs, uid_t user, const char *path, const char *reason)
{
	struct errors *errors = fs->errors;
	struct errors_user *of;

	pthread_mutex_lock(&errors->lock);
	of = user_get(errors, user, share_is_other(fs, user));
	if (!of->failed || strcmp(of->failed, path) != 0) {
		user_forget_miss(of);
		of->path = strdup(path);
		of->reason = strdup(reason);
		of->number = of->used;
		of->now = clock_now();
	}
	pthread_mutex_unlock(&errors->lock);
}

void errors_found(struct fs *fs, uid_t user)
{
	struct errors_user *of;

	pthread_mutex_lock(&fs->errors->lock);
	of = user_find(fs->errors, user);
	if (of)
		user_forget_miss(of);
	pthread_mutex_unlock(&fs->errors->lock);
}

bool errors_last(struct fs *fs, uid_t user, const char *path, const char *reason)
{
	char *text = line_format(0, path, 0, reason);
	struct errors *errors = fs->errors;
	const struct error *last;
	bool same;

	pthread_mutex_lock(&errors->lock);
	last = errors->kept > 0 ? &errors->lines[errors->kept - 1] : NULL;
	same = text && last && last->user == user &&
	       strcmp(strchr(last->text, ' '), strchr(text, ' ')) == 0;
	pthread_mutex_unlock(&errors->lock);
	free(text);
	return same;
}

uint64_t errors_count(struct errors *errors)
{
	return errors->count;
}

/* The first miss of those with a number between the two; NULL: there is none. Lock: the errors'. */
static const struct errors_user *next_miss(const struct errors *errors, uint64_t after,
					   uint64_t before)
{
	const struct errors_user *found = NULL;

	for (size_t i = 0; i < USERS_KEPT; i++) {
		const struct errors_user *user = &errors->users[i];

		if (user->path && user->reason && user->number > after && user->number < before) {
			found = user;
			before = user->number;
		}
	}
	return found;
}

int errors_print(struct errors *errors, FILE *to)
{
	const struct errors_user *miss;
	uint64_t after = 0;
	char *line;

	pthread_mutex_lock(&errors->lock);
	for (size_t i = 0; i <= errors->kept; i++) {
		bool last = i == errors->kept;
		uint64_t before = last ? UINT64_MAX : errors->lines[i].number;

		while ((miss = next_miss(errors, after, before)) != NULL) {
			line = line_format(miss->now, miss->path, 0, miss->reason);
			fputs(line ? line : "", to);
			free(line);
			after = miss->number;
		}
		if (!last)
			fputs(errors->lines[i].text, to);
	}
	pthread_mutex_unlock(&errors->lock);
	return 0;
}
