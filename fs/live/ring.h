/* SPDX-License-Identifier: MIT */
/*
 * The lines of a feed that some reader has not read yet, within a bound of bytes. Each reader has a
 * place of its own, and gets the lines that it wants, in order. A line is removed once more bytes
 * than the bound follow it; a reader that wanted it learns how many it has lost. So the lines take
 * the bound and one line at most. A line that no reader wants is not kept.
 *
 * Any thread may call these. The ring's lock is held briefly, and across no call of the store that
 * waits. Lines are freed without it.
 */
#ifndef FS_RING_H
#define FS_RING_H

#include "store/rows.h"

/* A line in the ring. */
struct ring_line {
	struct wcs_change *change; /* NULL: it could not be made, and counts as lost */
	const void *topic;	   /* what it is about, for `wants` */
	bool subtree;		   /* it is about the rows below its key, too */
	uint64_t since;		   /* for `wants`: readers that came before have it already */
	size_t readers;		   /* that have not passed it. The ring's, as all below */
	uint64_t end;		   /* bytes of all lines up to its end, since the ring was made */
};

/* A place. `wants` is set before ring_join; the rest is the ring's. */
struct ring_reader {
	/* Called with the ring's lock held. NULL: it wants every line. */
	bool (*wants)(const struct ring_reader *reader, const struct ring_line *line);
	struct ring_reader *next;
	uint64_t at;   /* the number of the next line */
	uint64_t lost; /* lines, since the last ring_take said so */
};

struct ring;
struct ring *ring_new(uint64_t max); /* bytes. NULL: no memory */
void ring_free(struct ring *ring);

/* The reader's first line is the next that is pushed. */
void ring_join(struct ring *ring, struct ring_reader *reader);
void ring_leave(struct ring *ring, struct ring_reader *reader);

/* Adds the line for the readers that there are, and takes over its change. False: no reader wants
 * it. */
bool ring_push(struct ring *ring, struct ring_line line);

/* The next line that the reader wants, which the caller frees; NULL: there is none, or *lost lines
 * come first, which are gone (0: none are). */
struct wcs_change *ring_take(struct ring *ring, struct ring_reader *reader, uint64_t *lost);

/* The bytes of all lines that the reader has not passed, wanted or not. */
uint64_t ring_pending(struct ring *ring, const struct ring_reader *reader);

#endif
