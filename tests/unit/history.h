/* SPDX-License-Identifier: MIT */
/*
 * A column as its only writer knows it: which of its cells must be seen, which may be, and which
 * must not. The model of the soak test; it shares nothing with the store, policies included.
 *
 * A policy hides the end of a column. The store may delete a hidden cell at any moment, or keep it,
 * so a cell that was hidden once is unsure. When another policy shows the cell, it is there or
 * gone, and stays so. A hidden cell that a delete or a move would show again is gone.
 *
 * Where another thread changes the policy, the model knows only its bounds: the loosest and the
 * tightest possible one. Then cells that the loosest policy hides must not be seen, and cells that
 * only the tightest hides are unsure.
 */
#ifndef TEST_HISTORY_H
#define TEST_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { HISTORY_MAX = 96 }; /* cells; the writer clears the column before it writes more */

struct history_policy {
	const char *text;  /* as the store takes it */
	uint64_t versions; /* 0: any number */
	int64_t age;	   /* microseconds; 0: any */
	bool both;	   /* hides cells too high in rank and too old; else cells with either */
};

struct history_view {
	const struct history_policy *loose, *tight;
	int64_t now; /* microseconds */
};

struct history_cell {
	int64_t ts;
	uint32_t number; /* of the mutation that wrote it */
	uint64_t size;	 /* of the value, and its sum */
	uint64_t sum;
	bool sure;   /* it is stored; else it is, or is no longer */
	bool hidden; /* between history_begin and history_end: it was, for sure */
};

struct history {
	size_t count;
	struct history_cell cells[HISTORY_MAX]; /* newest first */
};

#define HISTORY_SUM UINT64_C(0xcbf29ce484222325) /* of no bytes */
/* Extends the checksum sum by these bytes. */
uint64_t history_sum(uint64_t sum, const void *data, size_t len);

/* Time went on, or the policy is about to change: cells hidden by now become unsure. */
void history_hide(struct history *history, const struct history_view *view);

/* A change: begin, then any of put and remove, then end. */
void history_begin(struct history *history, const struct history_view *view);
void history_end(struct history *history, const struct history_view *view);
/* Sets a cell, sure or not, in place of one with its timestamp. */
void history_put(struct history *history, const struct history_cell *cell);
/* Nothing where there is none. */
void history_remove(struct history *history, int64_t ts);

/* The newest cell, where it is known: 1; 0: nothing is shown; -1: not known. The column was hidden
 * up to now (history_hide). */
int history_newest(const struct history *history, const struct history_view *view,
		   struct history_cell *cell);
/* Can the server's timestamp of a cell that becomes the newest be that? */
bool history_server_ts(const struct history *history, int64_t now, int64_t ts);

/* Compares the model with the cells that were seen, newest first, and learns from them. Returns
 * NULL, or the difference as text. */
const char *history_check(struct history *history, const struct history_view *view,
			  const struct history_cell *seen, size_t count);
void history_print(FILE *out, const char *name, const struct history_cell *cells, size_t count);

#endif
