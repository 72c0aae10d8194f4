/* SPDX-License-Identifier: MIT */
/* The inside of a mutation: the entries that the builders of store.h collect. */
#ifndef WCS_MUTATION_H
#define WCS_MUTATION_H

#include "store/store.h"

enum wcs_delete_kind {
	WCS_DELETE_FAMILY,
	WCS_DELETE_COLUMN,
	WCS_DELETE_CELL,
	WCS_DELETE_NOTHING, /* the family must exist; not in a sealed mutation */
};
enum wcs_write_kind {
	WCS_WRITE_SET,
	WCS_WRITE_SET_NEWEST,
	WCS_WRITE_APPEND,
	WCS_WRITE_INCREMENT, /* in an aggregate family: merges delta into the newest cell */
	WCS_WRITE_MERGE,     /* in an aggregate family only, as the next */
	WCS_WRITE_REPLACE,   /* the newest cell, where it is */
};

/* The form of a given value: row JSON is read before the types of its families are known. */
enum wcs_form {
	WCS_FORM_VALUE,	 /* itself */
	WCS_FORM_TEXT,	 /* text; of an integer its digits */
	WCS_FORM_NUMBER, /* an integer */
	WCS_FORM_STATE,	 /* the state of an inthll */
};

struct wcs_condition {
	const char *family;
	struct wcs_slice qualifier;
	bool absent;		   /* the column must have no cell */
	struct wcs_slice expected; /* else its newest value; set anew before resolve/ gets it */
	enum wcs_form form;	   /* of `given` */
	struct wcs_slice given;
	int64_t number; /* WCS_FORM_NUMBER */
	enum wcs_type type;
	unsigned char integer[8]; /* `expected` may point here */
};

struct wcs_delete {
	enum wcs_delete_kind kind;
	const char *family;
	struct wcs_slice qualifier; /* WCS_DELETE_COLUMN, _CELL */
	int64_t ts;		    /* WCS_DELETE_CELL */
	/* Only in an edit: a set takes the cell's value, or that of the column's newest cell; see
	 * backend.h. */
	bool taken;
};

struct wcs_write {
	enum wcs_write_kind kind;
	const char *family;
	struct wcs_slice qualifier;
	int64_t ts;		/* _SET (or WCS_TS_SERVER), _SET_NEWEST, _MERGE (or _NEWEST) */
	int64_t replaces;	/* WCS_WRITE_APPEND: a timestamp, or WCS_TS_NONE */
	struct wcs_slice value; /* to set, append or merge */
	enum wcs_form form;	/* of the value; in a family of bytes it is _VALUE or _TEXT */
	int64_t delta;		/* WCS_WRITE_INCREMENT; WCS_FORM_NUMBER */
	size_t order;		/* as added: 0, 1, … */
	enum wcs_type type;	/* of the family; set before resolve/ gets it */
	bool hidden;		/* set by resolve/: the view hides the cell made; see resolve.h */
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

/* Takes all entries out, and keeps the memory of a few writes. */
void wcs_mutation_clear(struct wcs_mutation *mutation);

/* Add an entry. Errors as of the calls of store.h. */
int wcs_mutation_write(struct wcs_mutation *mutation, struct wcs_write entry);
int wcs_mutation_condition(struct wcs_mutation *mutation, struct wcs_condition condition);
int wcs_mutation_delete_nothing(struct wcs_mutation *mutation, const char *family);

/* Sorts deletes and writes as said above, before resolve/ gets the mutation. The families of the
 * mutation exist. */
void wcs_mutation_seal(struct wcs_mutation *mutation);

/* The cells that it sets whose timestamps may be of another unit: struct wcs_stats, cells_old. */
uint64_t wcs_mutation_old(const struct wcs_mutation *mutation);

/* Does this sealed mutation delete the cell? O(log deletes). */
bool wcs_mutation_deletes(const struct wcs_mutation *mutation, const char *family,
			  struct wcs_slice qualifier, int64_t ts);

#endif
