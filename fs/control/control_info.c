/* SPDX-License-Identifier: MIT */
/* Read-only control files in /.rowfs: version, errors, metrics, engine. */
#include <errno.h>

#include "fs/control/control_kind.h"
#include "fs/serve/errors.h"
#include "fs/serve/metrics.h"

static int version_format(struct fs *fs, const struct node *node, char **text, size_t *len)
{
	(void)node;
	return control_text_print(text, len, "rowfs %s\nengine %s\nlibfuse %s\n", ROWFS_VERSION,
				  wcs_store_engine(fs->store), fuse_pkgversion());
}

static int errors_text(struct fs *fs, const struct node *node, char **text, size_t *len)
{
	(void)node;
	*text = errors_format(fs->errors, len);
	return *text ? 0 : -ENOMEM;
}

static int metrics_text(struct fs *fs, const struct node *node, char **text, size_t *len)
{
	(void)node;
	*text = metrics_format(fs, len);
	return *text ? 0 : -ENOMEM;
}

static int engine_text(struct fs *fs, const struct node *node, char **text, size_t *len)
{
	(void)node;
	*text = engine_format(fs, len);
	return *text ? 0 : -ENOMEM;
}

const struct control_text control_metrics = {metrics_text, NULL, false};
const struct control_text control_engine = {engine_text, NULL, false};
const struct control_text control_version = {version_format, NULL, false};
const struct control_text control_errors = {errors_text, NULL, false};
