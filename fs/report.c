/* SPDX-License-Identifier: MIT */
/* Reasons of failed requests. */
#include "report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "errors.h"
#include "pos.h"

int report(struct fs *fs, const struct node *node, const char *name, int line, int error,
	   const char *format, ...)
{
	char path[4096], reason[768], text[128];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	pos_path(node, name, path, sizeof(path));
	errors_add(fs->errors, fs_now(), path, line, reason);
	snprintf(text, sizeof(text), "a request was refused: %s; /.rowfs/errors has the reason",
		 strerror(-error));
	fs_log(NULL, WCS_LOG_INFO, text);
	return error;
}

int report_no_family(struct fs *fs, const struct node *dir, const char *name,
		     struct wcs_table *table)
{
	char list[512] = "", family[WCS_FAMILY_NAME_MAX + 1] = "";
	size_t used = 0;

	while (used < sizeof(list) - 1 && wcs_family_next(table, family, family) == 0)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
					 used > 0 ? ", " : "", family);
	return report(fs, dir, name, 0, -EPERM,
		      "cells are files in a family of a row; the families of table %s are: %s",
		      wcs_table_name(table),
		      used > 0 ? list : "(none; mkdir in .families makes one)");
}
