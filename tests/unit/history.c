/* SPDX-License-Identifier: MIT */
/* Decides which cells of a column must, may and must not be seen: see history.h. */
#include "tests/unit/history.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

uint64_t history_sum(uint64_t sum, const void *data, size_t len)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < len; i++)
		sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
	return sum;
}

static bool history_hides(const struct history_policy *policy, uint64_t rank, int64_t ts,
			  int64_t now)
{
	bool many = policy->versions != 0 && rank > policy->versions;
	bool old = policy->age != 0 && now - ts > policy->age;

	return policy->both ? many && old : many || old;
}

/* The highest rank that a cell can have is that among all, the lowest one that among the sure. */
void history_hide(struct history *history, const struct history_view *view)
{
	for (size_t i = 0; i < history->count; i++) {
		struct history_cell *cell = &history->cells[i];

		if (history_hides(view->tight, i + 1, cell->ts, view->now))
			cell->sure = false;
	}
}

void history_begin(struct history *history, const struct history_view *view)
{
	uint64_t rank = 1;

	history_hide(history, view);
	for (size_t i = 0; i < history->count; i++) {
		struct history_cell *cell = &history->cells[i];

		cell->hidden = history_hides(view->loose, rank, cell->ts, view->now);
		rank += cell->sure;
	}
}

static void history_take(struct history *history, size_t at)
{
	history->count--;
	memmove(&history->cells[at], &history->cells[at + 1],
		(history->count - at) * sizeof(history->cells[0]));
}

void history_end(struct history *history, const struct history_view *view)
{
	for (size_t i = 0; i < history->count;) {
		struct history_cell *cell = &history->cells[i];

		if (cell->hidden && !history_hides(view->tight, i + 1, cell->ts, view->now))
			history_take(history, i);
		else
			i++;
	}
	history_hide(history, view);
}

void history_put(struct history *history, const struct history_cell *cell)
{
	size_t at = 0;

	while (at < history->count && history->cells[at].ts > cell->ts)
		at++;
	if (at == history->count || history->cells[at].ts != cell->ts) {
		if (history->count == HISTORY_MAX)
			abort();
		memmove(&history->cells[at + 1], &history->cells[at],
			(history->count - at) * sizeof(history->cells[0]));
		history->count++;
	}
	history->cells[at] = *cell;
	history->cells[at].hidden = false;
}

void history_remove(struct history *history, int64_t ts)
{
	for (size_t i = 0; i < history->count; i++) {
		if (history->cells[i].ts == ts) {
			history_take(history, i);
			return;
		}
	}
}

int history_newest(const struct history *history, const struct history_view *view,
		   struct history_cell *cell)
{
	const struct history_cell *first = history->cells;

	if (history->count == 0)
		return 0;
	if (!first->sure)
		return history_hides(view->loose, 1, first->ts, view->now) ? 0 : -1;
	*cell = *first;
	return 1;
}

bool history_server_ts(const struct history *history, int64_t now, int64_t ts)
{
	for (size_t i = 0; i < history->count; i++) {
		const struct history_cell *cell = &history->cells[i];
		int64_t next = cell->ts >= now ? cell->ts + 1 : now;

		if (ts == next || cell->sure)
			return ts == next;
	}
	return ts == now;
}

/* ---- Comparing --------------------------------------------------------------------------- */

const char *history_check(struct history *history, const struct history_view *view,
			  const struct history_cell *seen, size_t count)
{
	const char *wrong = NULL;
	size_t at = 0;

	for (size_t i = 0; i < history->count && !wrong;) {
		struct history_cell *cell = &history->cells[i];

		if (at < count && seen[at].ts == cell->ts) {
			if (history_hides(view->loose, at + 1, cell->ts, view->now))
				wrong = "a hidden cell is shown";
			else if (seen[at].size != cell->size || seen[at].sum != cell->sum)
				wrong = "a cell has another value";
			cell->sure = true;
			at++;
			i++;
		} else if (history_hides(view->tight, at + 1, cell->ts, view->now)) {
			cell->sure = false;
			i++;
		} else if (cell->sure) {
			wrong = "a cell is lost";
		} else {
			history_take(history, i);
		}
	}
	if (!wrong && at < count)
		wrong = "a cell came back, or was never written";
	if (!wrong)
		history_hide(history, view);
	return wrong;
}

void history_print(FILE *out, const char *name, const struct history_cell *cells, size_t count)
{
	fprintf(out, "%s:", name);
	for (size_t i = 0; i < count; i++)
		fprintf(out, " %" PRId64 "(#%u %" PRIu64 " bytes%s)", cells[i].ts, cells[i].number,
			cells[i].size, cells[i].sure ? "" : "?");
	fputc('\n', out);
}
