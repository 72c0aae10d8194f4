/* SPDX-License-Identifier: MIT */
/* The inside of a mutation: what store.h's builders collect, sealed for the engines. */
#ifndef WCS_MUTATION_H
#define WCS_MUTATION_H

#include "store.h"

enum wcs_delete_kind { WCS_DELETE_FAMILY, WCS_DELETE_COLUMN, WCS_DELETE_CELL };
enum wcs_write_kind { WCS_WRITE_SET, WCS_WRITE_SET_NEWEST, WCS_WRITE_APPEND, WCS_WRITE_INCREMENT };

struct wcs_condition {
	const char *family;
	struct wcs_slice qualifier;
	bool absent;		   /* the column must have no cell */
	struct wcs_slice expected; /* else its newest value */
};

struct wcs_delete {
	enum wcs_delete_kind kind;
	const char *family;
	struct wcs_slice qualifier; /* WCS_DELETE_COLUMN, _CELL */
	int64_t ts;		    /* WCS_DELETE_CELL */
};

struct wcs_write {
	enum wcs_write_kind kind;
	const char *family;
	struct wcs_slice qualifier;
	int64_t ts;		/* WCS_WRITE_SET (or WCS_TS_SERVER), _SET_NEWEST */
	int64_t replaces;	/* WCS_WRITE_APPEND: a timestamp, or WCS_TS_NONE */
	struct wcs_slice value; /* what is set or appended */
	int64_t delta;		/* WCS_WRITE_INCREMENT */
	size_t order;		/* as added: 0, 1, … */
};

struct wcs_mutation {
	struct wcs_condition *conditions;
	size_t condition_count, condition_room;
	bool delete_row;
	/* Sealed: by family, then kind, then qualifier, then ts; families by name, bytes unsigned.
	 */
	struct wcs_delete *deletes;
	size_t delete_count, delete_room;
	/* Sealed: by family, then qualifier, then order. */
	struct wcs_write *writes;
	size_t write_count, write_room;
};

/* Sorts deletes and writes as said above. Every engine gets mutations sealed. */
void wcs_mutation_seal(struct wcs_mutation *mutation);

/* Does a delete of this sealed mutation take the cell? O(log deletes). */
bool wcs_mutation_deletes(const struct wcs_mutation *mutation, const char *family,
			  struct wcs_slice qualifier, int64_t ts);

/* Unsigned bytewise order, a prefix before what it is a prefix of. */
int wcs_slice_compare(struct wcs_slice a, struct wcs_slice b);

#endif
