/* SPDX-License-Identifier: MIT */
/* Puts the reason of a failure into words. A fault is filled as a whole: what it held is gone. */
#include "store/backend.h"

#include <stdarg.h>
#include <stdio.h>

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
