/* SPDX-License-Identifier: MIT */
/* Reads of an open value. */
#include "store/backend.h"

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
	return value->backend->value_read(value, buf, wanted, offset, got);
}

void wcs_value_close(struct wcs_value *value)
{
	if (value != NULL)
		value->backend->value_close(value);
}
