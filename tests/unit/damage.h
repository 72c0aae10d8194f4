/* SPDX-License-Identifier: MIT */
/*
 * Stores to damage: a base that is made once, a copy of it for each damage, checks and repairs of
 * the copy, and a reader that lists its readable cells.
 *
 * Rows r000 and so on have random bytes in f:q. Sessions write them, and LevelDB makes a table of
 * each session; the last one stays in a log, each record of which is a change. The cells are text
 * as of suite_content, each followed by a space, and tests compare such texts.
 */
#ifndef TEST_DAMAGE_H
#define TEST_DAMAGE_H

#include "tests/unit/forge.h"
#include "tests/unit/suite.h"

enum { DAMAGE_CHANGES_MAX = 64, DAMAGE_PIECES_MAX = 200 };

struct damage_shape {
	const char *schema; /* NULL: the table t with the family f */
	int sessions;
	int rows;     /* of the first session; each later one starts 10 rows later */
	size_t size;  /* of a value */
	bool big;     /* the first and the last session write a large value, too */
	int changes;  /* a new row, the newest value of r000, r005 deleted, and new rows */
	int many;     /* changes of 5 MiB instead, of which LevelDB makes tables */
	size_t limit; /* sizes of their values are below; 0: they have that of others */
	bool longs;   /* every seventh change has more than a block of the log */
	struct wcs_slice inner; /* the value of the eighth; none: as of the others */
};

extern char damage_place[200]; /* the directory of the others */
extern char damage_copy[256], damage_quarantine[300];
extern char *damage_states[DAMAGE_CHANGES_MAX + 1]; /* cells of the base behind so many changes */
extern char *damage_all;			    /* behind all */
extern char *damage_ever;			    /* those that it had at any time */
/* The pieces of records in the base's log, as LevelDB's documents have its format. */
extern struct damage_piece {
	off_t at, end;
	bool ends; /* a record */
} damage_pieces[DAMAGE_PIECES_MAX];
extern int damage_piece_count;

/* Sets the paths. */
void damage_name(const char *place);
void damage_make(const struct damage_shape *shape);
void damage_remove(void);

/* The commands of the last damage, for messages. */
extern char damage_what[512];
/* Fails the test, with these commands and the reason, unless it is good. */
void damage_need(bool good, const char *why, ...) __attribute__((format(printf, 2, 3)));
/* Makes the copy anew, without a quarantine, and damages it by commands of forge.h. */
void damage(const char *commands, ...) __attribute__((format(printf, 1, 2)));
/* The bytes of such a FILE of the copy, which the caller frees. */
unsigned char *damage_bytes(const char *file, size_t *len);

/* Of the last look at the copy. */
extern struct damage_seen {
	char *cells;
	bool whole; /* no error came between them */
	int stale;  /* rows that gave, one by one, an older value or none instead */
	bool table; /* there is one */
	char *schema;
	int warnings; /* lines logged as such */
	char warning[512];
	struct wcs_fault fault;
} damage_seen;

/* Opens the copy and reads its cells, by a scan and one by one: the error of opening it. Reading
 * gives values that the rows had once, or -EIO. write: writes a large value before, which would be
 * written over one that is there if the counter of values were an old one. */
int damage_look(bool write);
/* The last look gave all of just these cells. */
void damage_expect(const char *cells);
/* How many cells the last look did not give, of those of the log or of the others. */
int damage_lost(bool logged);
/* Opening the copy is -EIO, and names the file and fsck.rowfs. */
void damage_expect_refused(const char *file);

/* Of the last check, each "where: what; done" and a line's end. */
extern char damage_findings[16384];
/* Checks the copy: how many findings there are. A repair corrects all of them. */
int damage_check(bool repair);
/* Repairs it, behind which nothing is found and all cells that are there can be read. */
int damage_mend(void);

#endif
