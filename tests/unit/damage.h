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

#include "tests/unit/suite.h"

#include <sys/types.h>

enum { DAMAGE_CHANGES_MAX = 64, DAMAGE_PIECES_MAX = 200 };

struct damage_shape {
	const char *schema; /* NULL: the table t with the family f */
	int sessions;
	int rows;    /* of the first session; each later one starts 10 rows later */
	size_t size; /* of a value */
	bool big;    /* the first and the last session write a large value, too */
	int deep; /* more cells of each row, in a table of their own behind the log, which is empty
		   */
	int changes;  /* a new row, the newest value of r000, r005 deleted, and new rows */
	size_t limit; /* sizes of their values are below; 0: they have that of others */
	bool longs;   /* every seventh change has more than a block of the log */
	struct wcs_slice inner; /* the value of the eighth; none: as of the others */
};

extern const struct damage_shape damage_usual; /* three tables with old values, and a log */
extern const struct damage_shape damage_small; /* one table, and a log */

extern char damage_place[200]; /* the directory of the others */
extern char damage_base[256], damage_copy[256], damage_quarantine[300];
extern char *damage_states[DAMAGE_CHANGES_MAX + 1]; /* cells of the base behind so many changes */
extern char *damage_all;			    /* behind all */
extern char *damage_ever;			    /* those that it had at any time */

/* Sets the paths. */
void damage_name(const char *place);
void damage_make(const struct damage_shape *shape);
/* So much more in one session of the base that LevelDB goes through several logs and makes tables
 * of them, each told by an edit of the MANIFEST. */
void damage_make_many(void);
void damage_remove(void);
/* Makes the copy anew; there is no quarantine. */
void damage_fresh(void);

/* ---- Reading ----------------------------------------------------------------------------- */

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
 * gives values that the rows had once, or -EIO. */
int damage_look(void);
/* The same with a large value written before, which would be written over one that is there if the
 * counter of values were an old one. */
int damage_write_and_look(void);
/* The last look gave all of just these cells. */
void damage_expect(const char *cells, const char *what);
/* How many cells it did not give, of those of the log or of the others. */
int damage_lost(bool logged);
/* Opening the copy is -EIO, and names the file and fsck.rowfs. */
void damage_expect_refused(const char *file, const char *what);

/* ---- Checks ------------------------------------------------------------------------------ */

/* Of the last check, each "where: what; done" and a line's end. */
extern char damage_findings[16384];

/* Checks the copy: how many findings there are. A repair corrects all of them. */
int damage_check(bool repair, const char *what);
/* Repairs it, behind which nothing is found and all cells that are there can be read. */
int damage_mend(const char *what);

/* ---- Damage ------------------------------------------------------------------------------ */

/* The path of the copy's file whose name has that part, the largest there is, or which is that
 * path in the store, and its size. */
off_t damage_file(const char *part, char path[512]);
/* Its bytes, which the caller frees. */
unsigned char *damage_bytes(const char *part, size_t *len);
/* Puts bytes there; NULL: zeros. */
void damage_put(const char *part, off_t at, const void *bytes, size_t len);
void damage_flip(const char *part, off_t at);
/* Appends an edit to the MANIFEST, which says that files are numbered from 1,000 on. Returns where
 * it ends. */
off_t damage_append_edit(void);
/* The pieces of records in the base's log, as LevelDB's documents have its format. */
extern struct damage_piece {
	off_t at, end;
	bool ends; /* a record */
} damage_pieces[DAMAGE_PIECES_MAX];
extern int damage_piece_count;

#endif
