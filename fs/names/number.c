/* SPDX-License-Identifier: MIT */
/* The text of cells of aggregate families. */
#include "fs/names/number.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int aggregate_read(struct wcs_value *value, enum wcs_type type, int64_t *number)
{
	unsigned char bytes[WCS_AGGREGATE_VALUE_MAX];
	size_t got;
	int rc = wcs_value_read(value, bytes, sizeof(bytes), 0, &got);

	if (rc == 0 && (wcs_value_info(value)->size != got ||
			wcs_aggregate_number(type, (struct wcs_slice){bytes, got}, number) != 0))
		rc = -EIO;
	return rc;
}

int number_text(const struct pos *pos, enum wcs_type type, char *text, struct wcs_cell_info *info)
{
	char buf[NUMBER_TEXT];
	struct wcs_value *value;
	int64_t number;
	int rc = wcs_value_open(pos->table, pos_key(pos), pos->family, pos->qualifier, pos->ts,
				&value);

	if (rc != 0)
		return rc;
	rc = aggregate_read(value, type, &number);
	if (rc == 0) {
		*info = *wcs_value_info(value);
		info->size = (uint64_t)snprintf(buf, sizeof(buf), "%" PRId64 "\n", number);
		if (text)
			memcpy(text, buf, info->size + 1);
	}
	wcs_value_close(value);
	return rc;
}

int number_size(enum wcs_type type, struct wcs_slice value, uint64_t *size)
{
	char buf[NUMBER_TEXT];
	int64_t number;

	if (type == WCS_INTHLL)
		return -EOPNOTSUPP;
	if (wcs_aggregate_number(type, value, &number) != 0)
		return -EIO;
	*size = (uint64_t)snprintf(buf, sizeof(buf), "%" PRId64 "\n", number);
	return 0;
}

static int aggregate_parse(enum wcs_type type, struct wcs_slice text, unsigned char *value,
			   size_t *len)
{
	if (type == WCS_INTHLL)
		return -EOPNOTSUPP;
	if (text.len > 0 && ((const char *)text.data)[text.len - 1] == '\n')
		text.len--;
	return wcs_aggregate_line(type, text.data, text.len, value, len);
}

int number_to_store(const struct pos *pos, struct wcs_slice *bytes, unsigned char *value)
{
	enum wcs_type type;
	size_t len;
	int rc = pos_type(pos, &type);

	if (rc != 0 || !wcs_type_aggregates(type))
		return rc;
	rc = aggregate_parse(type, *bytes, value, &len);
	if (rc == 0)
		*bytes = (struct wcs_slice){value, len};
	return rc;
}

const char *number_refusal(enum wcs_type type)
{
	if (type == WCS_INTHLL)
		return "the file of an inthll has its estimate, which would count as one element: "
		       "copy it as row JSON, which has its state";
	return "it is not one line with a whole number within 64 bits";
}
