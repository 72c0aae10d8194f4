/* SPDX-License-Identifier: MIT */
/* Faults, which a call returns, and the callback that asks whether a read is to end. */
#include "store/backend.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local unsigned wcs_holds; /* calls of wcs_hold without their wcs_release */

void wcs_hold(void)
{
	wcs_holds++;
}

void wcs_release(void)
{
	wcs_holds--;
}

bool wcs_interrupted(const struct wcs_options *options)
{
	bool (*ask)(void) = wcs_holds > 0 ? options->ends : options->interrupted;

	return ask != NULL && ask();
}

int wcs_fault_set(struct wcs_fault *fault, int error, const char *format, ...)
{
	va_list args;

	if (fault == NULL)
		return error;
	fault->line = 0;
	fault->column = 0;
	va_start(args, format);
	vsnprintf(fault->text, sizeof(fault->text), format, args);
	va_end(args);
	return error;
}

const char *wcs_fault_words(struct wcs_fault *fault)
{
	char at[32] = "";
	size_t len = strlen(fault->text), room;

	if (fault->column > 0)
		snprintf(at, sizeof(at), ", at character %d", fault->column);
	room = sizeof(fault->text) - 1 - strlen(at);
	strcpy(fault->text + (len < room ? len : room), at);
	fault->column = 0;
	return fault->text;
}
