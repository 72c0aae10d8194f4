/* SPDX-License-Identifier: MIT */
/* Open values, and the functions of filters that only pass a call on. */
#include "store/backend.h"

#include <stdlib.h>

const struct wcs_cell_info *wcs_value_info(const struct wcs_value *value)
{
	return &value->info;
}

int wcs_value_read(struct wcs_value *value, void *buf, size_t len, uint64_t offset, size_t *got)
{
	uint64_t rest = offset < value->info.size ? value->info.size - offset : 0;
	size_t wanted = len < rest ? len : (size_t)rest;

	if (wanted == 0) {
		*got = 0;
		return 0;
	}
	return value->ops->read(value, buf, wanted, offset, got);
}

void wcs_value_close(struct wcs_value *value)
{
	if (value != NULL)
		value->ops->close(value);
}

int scan_pass_read(struct wcs_scan *scan, void *buf, size_t len, uint64_t offset, size_t *got)
{
	return scan->below->ops->read(scan->below, buf, len, offset, got);
}

void scan_pass_skip(struct wcs_scan *scan, enum wcs_part part)
{
	scan->below->ops->skip(scan->below, part);
}

void scan_pass_close(struct wcs_scan *scan)
{
	if (scan->below != NULL)
		scan->below->ops->close(scan->below);
	free(scan);
}
