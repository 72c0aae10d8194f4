/* SPDX-License-Identifier: MIT */
/* The texts of /.rowfs/metrics and /.rowfs/engine. */
#include "fs/serve/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "fs/file/handle.h"
#include "fs/fs.h"
#include "fs/inode/memdir.h"
#include "fs/inode/node.h"
#include "fs/serve/errors.h"
#include "fs/value/draft.h"
#include "fs/write/writer.h"

char *metrics_format(struct fs *fs, size_t *len)
{
	struct metrics_now now = {.version = ROWFS_VERSION,
				  .engine = wcs_store_engine(fs->store),
				  .fuse = fuse_pkgversion(),
				  .mounted = fs->mounted,
				  .inodes = nodes_count(fs->nodes),
				  .open_files = handles_count(fs->handles),
				  .write_sessions = writers_count(fs->writers),
				  .drafts = drafts_count(fs->drafts),
				  .memory_directories = memdirs_count(fs->memdirs),
				  .errors = errors_count(fs->errors)};
	char *text = NULL;
	FILE *stream;
	int bad;

	wcs_gc_status(fs->store, &now.gc);
	if (wcs_store_stats(fs->store, &now.store) != 0)
		return NULL;
	stream = open_memstream(&text, len);
	if (!stream)
		return NULL;
	metrics_print(fs->metrics, stream);
	metrics_print_now(&now, stream);
	bad = ferror(stream);
	if (fclose(stream) != 0 || bad) {
		free(text);
		return NULL;
	}
	return text;
}

char *engine_format(struct fs *fs, size_t *len)
{
	char *text = wcs_store_engine_text(fs->store);

	if (text)
		*len = strlen(text);
	return text;
}
