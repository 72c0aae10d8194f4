/* SPDX-License-Identifier: MIT */
/*
 * The entries of /.rowfs/errors, "TIME PATH:LINE: REASON" or "TIME PATH: REASON", oldest first.
 *
 * - Before a write fails, the mount adds one entry for the open file. The entries of that path and
 *   these lines between the begin and the end of the write include its own, unless newer ones have
 *   pushed it out of the list. A single such entry is that of the write.
 * - Times have one format and length, so they sort as text.
 */
#include "mkfs/load/refusal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REFUSAL_KEPT = 1000 }; /* entries of a full list */

struct refusal_entry {
	const char *when, *why;
	uint64_t line; /* 0: none */
};

void refusal_now(char text[REFUSAL_TIME])
{
	char seconds[32];
	struct timespec now;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, REFUSAL_TIME, "%s.%06dZ", seconds, (int)(now.tv_nsec / 1000));
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

/* Parses an entry. False: it is of another file. */
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

bool refusal_find(struct refusal *refusal, const char *root, const char *path)
{
	uint64_t entries = 0, fit = 0, first = UINT64_MAX, last = 0;
	char name[PATH_MAX + 32], *text = NULL;
	bool alike = true, cut = false; /* cut: entries older than the write have left the list */
	size_t room = 0;
	FILE *in;

	snprintf(name, sizeof(name), "%s/.rowfs/errors", root);
	in = fopen(name, "re");
	while (in && getline(&text, &room, in) > 0) {
		struct refusal_entry entry;
		bool ours = refusal_entry(text, path, &entry);
		bool later = strcmp(entry.when, refusal->since) >= 0;

		if (entries++ == 0)
			cut = later;
		if (!ours || !later || strcmp(entry.when, refusal->until) > 0 ||
		    entry.line < refusal->first || entry.line > refusal->last)
			continue;
		if (fit++ == 0)
			snprintf(refusal->why, sizeof(refusal->why), "%s", entry.why);
		else if (strncmp(refusal->why, entry.why, sizeof(refusal->why) - 1) != 0)
			alike = false;
		first = entry.line < first ? entry.line : first;
		last = entry.line > last ? entry.line : last;
	}
	free(text);
	if (in)
		fclose(in);
	if (fit == 0 || (cut && entries >= REFUSAL_KEPT))
		return false;
	refusal->first = first;
	refusal->last = last;
	return alike && first == last;
}
