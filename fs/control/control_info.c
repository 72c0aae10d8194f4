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
	size_t len = 0;
	char *text = at->node->ts == CONTROL_ERRORS    ? errors_format(at->fs->errors, &len)
		     : at->node->ts == CONTROL_METRICS ? metrics_format(at->fs, &len)
						       : engine_format(at->fs, &len);
	int rc = text ? 0 : -ENOMEM;

	if (text)
		fwrite(text, 1, len, to);
	free(text);
	return rc;
}

const struct control_text control_version = {version_print, NULL, false};
const struct control_text control_info = {info_print, NULL, false};
