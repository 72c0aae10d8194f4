/* SPDX-License-Identifier: MIT */
/*
 * Stores for the tests of repairs, a copy to damage, and what is in it.
 *
 * Rows r00 to r39 have a generation as their value. One table has all of them, another a newer
 * generation of r00 to r04, and the log a still newer one of r00 and r01.
 */
#ifndef TEST_STORES_H
#define TEST_STORES_H

#include "tests/unit/suite.h"

#include <sys/types.h>

enum { STORES_ROWS = 40, STORES_BIG = 2, STORES_DAMAGES = 4 };

extern char stores_place[200];	/* the directory of all of them */
extern char stores_merged[256]; /* a store whose MANIFEST has many edits */
extern char stores_base[256];	/* the same, opened once more and written to */
extern char stores_copy[256];	/* what is damaged and repaired */
extern char stores_quarantine[300];
extern int stores_generations[2][STORES_ROWS]; /* of merged and base */

/* Sets the paths alone, for a process that finds the stores made. */
void stores_name(const char *place);
/* Makes merged and base, with STORES_BIG large values in each. */
void stores_make(void);
/* So much more in one session of merged that LevelDB goes through several logs and makes tables of
 * them, each told by an edit of the MANIFEST. */
void stores_make_many(void);
void stores_remove(void);
/* Copies a store to where another may be, which goes. */
void stores_replace(const char *from, const char *to);
/* The path of the copy's file whose name has that part, the largest there is, and its size. */
off_t stores_file(const char *part, char path[512]);
/* Flips a bit of that file there. */
void stores_flip(const char *part, off_t at);

struct stores_damage {
	const char *name;
	void (*inflict)(void); /* on the copy */
	bool all;	       /* is there after a repair */
	bool refused;	       /* before it nothing can be opened */
};
extern const struct stores_damage stores_damages[STORES_DAMAGES];
/* For which the store is made anew, as for the MANIFEST. */
extern const struct stores_damage stores_overlap;

/* Of each row its generation, 0: it is not there; and how many large values there are. */
struct stores_seen {
	int generations[STORES_ROWS];
	int big;
};

/* The error of opening the copy. Another large value is written before anything is read: were the
 * counter of values an older one, it would be written over one that is there. */
int stores_look(struct stores_seen *seen, struct wcs_fault *fault);
/* It is just these generations, and at least so many large values. */
void stores_expect(const struct stores_seen *seen, const int *generations, int big,
		   const char *what);

#endif
