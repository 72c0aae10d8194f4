/* SPDX-License-Identifier: MIT */
/*
 * The entries of /.rowfs/errors, "TIME PATH:LINE: REASON" or "TIME PATH: REASON", oldest first.
 *
 * - The mount gives each open file that it refuses one entry, before it answers. So among those of
 *   that path and these lines between its begin and its end is the write's own, unless newer ones
 *   have pushed it out of the list: where one is all, that is it.
 * - Times have one form and one length, and stand in the order of their text.
 */
#include "mkfs/load/refusal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REFUSAL_KEPT = 1000 }; /* entries that the list has room for */

struct refusal_entry {
	const char *when, *why;
	uint64_t line; /* 0: none */
};

struct refusal_found {
	uint64_t entries, fit;
	uint64_t first, last; /* of those that fit */
	bool alike;	      /* they are, in line and reason */
	bool cut;	      /* entries older than the write have left the list */
	char why[sizeof(((struct refusal *)0)->why)];
};

static void refusal_now(char *text, size_t size)
{
	char seconds[32];
	struct timespec now;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, size, "%s.%06dZ", seconds, (int)(now.tv_nsec / 1000));
}

void refusal_begin(struct refusal *refusal)
{
	refusal_now(refusal->since, sizeof(refusal->since));
}

void refusal_end(struct refusal *refusal)
{
	refusal_now(refusal->until, sizeof(refusal->until));
}

bool refusal_is_told(int rc)
{
	static const int told[] = {EINVAL, ECANCELED, EOVERFLOW, ENAMETOOLONG, EFBIG,	  ENOSPC,
				   EROFS,  EIO,	      ENOENT,	 EEXIST,       ENOTEMPTY, EBUSY};

	for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++)
		if (rc == -told[i])
			return true;
	return false;
}

/* Takes the text of an entry apart. False: it is of another file. */
static bool refusal_entry(char *text, const char *path, struct refusal_entry *entry)
{
	char *at = strchr(text, ' ');
	size_t len = strlen(path);

	text[strcspn(text, "\n")] = '\0';
	entry->when = text;
	entry->line = 0;
	if (!at)
		return false;
	*at++ = '\0';
	if (strncmp(at, path, len) != 0 || at[len] != ':')
		return false;
	at += len + 1;
	if (*at >= '0' && *at <= '9') {
		entry->line = strtoull(at, &at, 10);
		if (*at++ != ':')
			return false;
	}
	entry->why = at + (*at == ' ');
	return true;
}

static void refusal_fits(struct refusal_found *found, const struct refusal_entry *entry)
{
	if (found->fit++ == 0) {
		found->first = found->last = entry->line;
		found->alike = true;
		snprintf(found->why, sizeof(found->why), "%s", entry->why);
		return;
	}
	if (entry->line < found->first)
		found->first = entry->line;
	if (entry->line > found->last)
		found->last = entry->line;
	if (found->first != found->last ||
	    strncmp(found->why, entry->why, sizeof(found->why) - 1) != 0)
		found->alike = false;
}

static void refusal_read(const struct refusal *refusal, const char *path, FILE *in,
			 struct refusal_found *found)
{
	char *text = NULL;
	size_t room = 0;

	while (getline(&text, &room, in) > 0) {
		struct refusal_entry entry;
		bool ours = refusal_entry(text, path, &entry);
		bool later = strcmp(entry.when, refusal->since) >= 0;

		if (found->entries++ == 0)
			found->cut = later;
		if (ours && later && strcmp(entry.when, refusal->until) <= 0 &&
		    entry.line >= refusal->first && entry.line <= refusal->last)
			refusal_fits(found, &entry);
	}
	found->cut = found->cut && found->entries >= REFUSAL_KEPT;
	free(text);
}

bool refusal_find(struct refusal *refusal, const char *root, const char *path)
{
	struct refusal_found found = {0};
	char name[PATH_MAX + 32];
	FILE *in;

	snprintf(name, sizeof(name), "%s/.rowfs/errors", root);
	in = fopen(name, "re");
	if (!in)
		return false;
	refusal_read(refusal, path, in, &found);
	fclose(in);
	if (found.fit == 0 || found.cut)
		return false;
	refusal->first = found.first;
	refusal->last = found.last;
	snprintf(refusal->why, sizeof(refusal->why), "%s", found.why);
	return found.alike;
}
