/* SPDX-License-Identifier: MIT */
/*
 * The names of views: `.VIEW/ARGUMENT` in a path becomes a step of a chain. rowfs(5) has them for
 * users. Errors, threads and ownership as in store.h.
 */
#ifndef WCS_VIEWS_H
#define WCS_VIEWS_H

#include "store/chain/chain.h"

#define WCS_ARGUMENT_MAX 255u /* bytes; a KEY may have more, in chunks of names (lib/names.h) */

/* Why a KEY in chunks is refused. */
#define WCS_VIEW_SPLIT                                                                             \
	"a % has two upper-case hex digits behind it, and a key of more than 230 bytes goes on "   \
	"in directories: 230 bytes and %, then the rest"

/* An argument, and the directory in which its view stands. */
struct wcs_view_text {
	struct wcs_slice text;	     /* as spelled, without the joints of chunks */
	const struct wcs_slice *key; /* of the directory; NULL: it is the table's */
	unsigned char delimiter;     /* of the table */
	const struct wcs_keys *keys; /* its design, in whose shown form a KEY is; NULL: none */
	int64_t now;		     /* the present, for times in a KEY */
};

/* A step with the memory that it points to, so it must not be copied; `within` borrows the key. */
struct wcs_view_step {
	struct wcs_step step;
	struct wcs_slice within;
	size_t used; /* of bytes */
	struct wcs_column columns[WCS_ARGUMENT_MAX / 2 + 1];
	unsigned char bytes[WCS_ROW_KEY_MAX];
};

/* The form of an argument. */
enum wcs_view_form {
	WCS_VIEW_PLAIN,
	WCS_VIEW_KEY,	 /* a KEY, which goes on in chunks */
	WCS_VIEW_FAMILY, /* it may be the name of a family */
};

/* What a view selects. */
enum wcs_view_shows {
	WCS_SHOWS_ROWS,
	WCS_SHOWS_ORDER, /* of rows */
	WCS_SHOWS_CELLS,
	WCS_SHOWS_TIMES, /* of cells */
	WCS_SHOWS_STORED,
	WCS_SHOWS,
};

/* A view. */
struct wcs_view_name {
	const char *name;     /* without its dot */
	const char *argument; /* its form, for people; NULL: the view takes none */
	enum wcs_view_form form;
	enum wcs_view_shows shows;
	enum wcs_step_kind kind;
	int (*parse)(const struct wcs_view_text *argument, struct wcs_view_step *step,
		     struct wcs_fault *fault); /* sets all of the step but its kind */
};

/* The i-th view, by name; NULL: there are fewer. */
const struct wcs_view_name *wcs_view_name(size_t i);
/* The view of that name, without its dot; NULL: none. */
const struct wcs_view_name *wcs_view_find(const char *name, size_t len);

/*
 * Reads an argument (empty where the view takes none). -EINVAL: fault has the reason, and as column
 * the offset in the argument, from 1. -ENAMETOOLONG: over WCS_ARGUMENT_MAX, or a key over its
 * limit. Families are not looked up, and expressions not compiled. 0: fault, empty before, may have
 * a remark for the user (lib/times.h).
 */
int wcs_view_parse(const struct wcs_view_name *view, const struct wcs_view_text *argument,
		   struct wcs_view_step *step, struct wcs_fault *fault);

/* The chain before (NULL: none) and the view, as wcs_chain_add, with faults as above. The design
 * and the present are those of the table. */
int wcs_view_add(struct wcs_table *table, struct wcs_chain *before,
		 const struct wcs_view_name *view, const struct wcs_view_text *argument,
		 struct wcs_chain **chain, struct wcs_fault *fault);

/* A directory of segments. */
struct wcs_view_place {
	size_t depth; /* segments; 0: it is the table's */
	size_t len;   /* bytes of the key */
	unsigned char key[WCS_ROW_KEY_MAX];
};

/* The chain and the directory of a text like .from/STC/.newest/1 or .newest/1/STC/.first/1, a path
 * in the table; fault names the view and its argument, or the segment, and has no column. A
 * first remark has the same form. The caller frees *chain. -EINVAL, and errors as above. */
int wcs_view_chain(struct wcs_table *table, const char *text, struct wcs_chain **chain,
		   struct wcs_view_place *place, struct wcs_fault *fault);
/* Are there segments in such a text? */
bool wcs_view_descends(const char *text);

/* Spells a row key as KEY below a directory, with the joints of chunks; the caller frees *text.
 * keys: the table's design; NULL: none. -ENOENT: no KEY there names it; -ENOMEM. */
int wcs_view_key(const struct wcs_keys *keys, struct wcs_slice row, const struct wcs_slice *key,
		 unsigned char delimiter, char **text);

#endif
