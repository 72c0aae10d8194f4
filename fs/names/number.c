/* SPDX-License-Identifier: MIT */
/* The text of cells of aggregate families. */
#include "fs/names/number.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

static uint64_t format(int64_t number, char text[NUMBER_TEXT])
{
	return (uint64_t)snprintf(text, NUMBER_TEXT, "%" PRId64 "\n", number);
}

int number_text(const struct pos *pos, enum wcs_type type, char *text, struct wcs_cell_info *info)
{
	unsigned char bytes[WCS_AGGREGATE_VALUE_MAX];
	struct wcs_value *value;
	char unused[NUMBER_TEXT];
	int64_t number;
	size_t got;
	int rc = pos_value_open(pos, &value);

	if (rc != 0)
		return rc;
	rc = wcs_value_read(value, bytes, sizeof(bytes), 0, &got);
	if (rc == 0 && (wcs_value_info(value)->size != got ||
			wcs_aggregate_number(type, (struct wcs_slice){bytes, got}, &number) != 0))
		rc = -EIO;
	if (rc == 0) {
		*info = *wcs_value_info(value);
		info->size = format(number, text ? text : unused);
	}
	wcs_value_close(value);
	return rc;
}

int number_size(enum wcs_type type, struct wcs_slice value, uint64_t *size)
{
	char text[NUMBER_TEXT];
	int64_t number;

	if (type == WCS_INTHLL)
		return -EOPNOTSUPP;
	if (wcs_aggregate_number(type, value, &number) != 0)
		return -EIO;
	*size = format(number, text);
	return 0;
}

int number_to_store(const struct pos *pos, struct wcs_slice *bytes, unsigned char *value)
{
	const char *text = bytes->data;
	size_t len = bytes->len, stored;
	enum wcs_type type;
	int rc = pos_type(pos, &type);

	if (rc != 0 || !wcs_type_aggregates(type))
		return rc;
	if (type == WCS_INTHLL)
		return -EOPNOTSUPP;
	if (len > 0 && text[len - 1] == '\n')
		len--;
	rc = wcs_aggregate_line(type, text, len, value, &stored);
	if (rc == 0)
		*bytes = (struct wcs_slice){value, stored};
	return rc;
}

const char *number_refusal(enum wcs_type type)
{
	if (type == WCS_INTHLL)
		return "the file of an inthll has its estimate, which would count as one element: "
		       "copy it as row JSON, which has its state";
	return "it is not one line with a whole number within 64 bits";
}
