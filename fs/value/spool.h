/* SPDX-License-Identifier: MIT */
/*
 * A value under construction: bytes that can be written anywhere and cut. Small ones are in
 * memory; larger ones in a file without a name, so that memory does not grow with them. Where all
 * that are in memory take SPOOLS_MEMORY, one that grows beyond SPOOL_SMALL is larger, too.
 *
 * A spool has no lock: one thread at a time, and who owns it sees to that; but one that is not
 * written any more can be read by several.
 */
#ifndef FS_SPOOL_H
#define FS_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

#define SPOOL_SMALL   (4u << 10)  /* bytes */
#define SPOOL_MEMORY  (1u << 20)  /* bytes; a larger spool is in a file */
#define SPOOLS_MEMORY (64u << 20) /* bytes of all in memory, but for small ones */

struct spool {
	size_t size;
	char *memory; /* while fd < 0 */
	size_t room;  /* of memory */
	int fd;
	void *map; /* of the file, while spool_map's slice is in use */
	size_t map_len;
};

/* An empty one. */
void spool_init(struct spool *spool);
void spool_clear(struct spool *spool);

/* Writes at offset; what lies between the end and it becomes zeros. directory: where a file would
 * go. -ENOSPC, -EIO, -ENOMEM, -EMFILE (files without a name leave some descriptors to the
 * engine); the spool then has its size as it was, and may be partly written. */
int spool_write(struct spool *spool, const char *directory, const void *data, size_t len,
		uint64_t offset);

/* Cuts it, or fills it up with zeros. */
int spool_truncate(struct spool *spool, const char *directory, uint64_t size);

/* Moves it from memory into a file. */
int spool_unload(struct spool *spool, const char *directory);

/* Copies up to len bytes from offset on; *got is less only at the end. */
int spool_read(const struct spool *spool, void *buf, size_t len, uint64_t offset, size_t *got);

/* All of it as one slice, good until the spool is next written, cut or cleared. */
int spool_map(struct spool *spool, struct wcs_slice *slice);

#endif
