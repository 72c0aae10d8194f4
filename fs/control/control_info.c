/* SPDX-License-Identifier: MIT */
/* Read-only control files in /.rowfs: version, errors, metrics, engine, help. */
#include <errno.h>
#include <stdlib.h>

#include "fs/control/control_kind.h"
#include "fs/serve/errors.h"
#include "fs/serve/metrics.h"

static int info_print(const struct control_place *at, FILE *to)
{
	char *text;

	switch ((int)at->node->ts) {
	case CONTROL_ERRORS:
		return errors_print(at->fs->errors, to);
	case CONTROL_METRICS:
		return metrics_show(at->fs, to);
	case CONTROL_HELP:
		fputs(control_help, to);
		return 0;
	case CONTROL_VERSION:
		fprintf(to, "rowfs %s\nengine %s\nlibfuse %s\n", ROWFS_VERSION,
			wcs_store_engine(at->fs->store), fuse_pkgversion());
		return 0;
	default:
		text = wcs_store_engine_text(at->fs->store);
		if (text)
			fputs(text, to);
		free(text);
		return text ? 0 : -ENOMEM;
	}
}

const struct control_text control_info = {info_print, NULL, CONTROL_LINES};
