/* SPDX-License-Identifier: MIT */
/* Read-only control files in /.rowfs: version, errors, metrics, engine. */
#include <errno.h>
#include <stdlib.h>

#include "fs/control/control_kind.h"
#include "fs/serve/errors.h"
#include "fs/serve/metrics.h"

static int version_print(const struct control_place *at, FILE *to)
{
	fprintf(to, "rowfs %s\nengine %s\nlibfuse %s\n", ROWFS_VERSION,
		wcs_store_engine(at->fs->store), fuse_pkgversion());
	return 0;
}

static int info_print(const struct control_place *at, FILE *to)
{
	char *text;

	if (at->node->ts == CONTROL_ERRORS)
		return errors_print(at->fs->errors, to);
	if (at->node->ts == CONTROL_METRICS)
		return metrics_show(at->fs, to);
	text = wcs_store_engine_text(at->fs->store);
	if (!text)
		return -ENOMEM;
	fputs(text, to);
	free(text);
	return 0;
}

const struct control_text control_version = {version_print, NULL, false};
const struct control_text control_info = {info_print, NULL, false};
