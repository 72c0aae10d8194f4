/* SPDX-License-Identifier: MIT */
/* .splits: row keys that divide a directory into parts of about equal size, as the engine estimates
 * it, for readers side by side. Each line is an argument of .from and .to in that directory. */
#include <errno.h>
#include <stdlib.h>

#include "fs/control/control_kind.h"
#include "store/chain/views.h"

struct splits {
	const struct pos *pos;
	FILE *to;
};

static int print_split(void *ctx, struct wcs_slice row)
{
	const struct splits *splits = ctx;
	struct wcs_slice key;
	char *text;
	int rc = wcs_view_key(splits->pos->keys, row, control_key(splits->pos, &key),
			      splits->pos->delimiter, &text);

	if (rc != 0) /* the row of the directory itself is before the first KEY */
		return rc == -ENOENT ? 0 : rc;
	fprintf(splits->to, "%s\n", text);
	free(text);
	return 0;
}

static int splits_print(const struct control_place *at, FILE *to)
{
	struct splits splits = {&at->pos, to};
	struct wcs_slice key;

	return wcs_rows_splits(at->pos.table, control_key(&at->pos, &key), at->pos.chain,
			       print_split, &splits);
}

const struct control_text control_splits = {splits_print, NULL, NULL, CONTROL_LINES};
