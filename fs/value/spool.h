/* SPDX-License-Identifier: MIT */
/*
 * A value under construction: bytes that can be written at any offset and truncated. Small values
 * are in memory. Larger ones are in a file without a name, so memory does not grow with them. If
 * all spools in memory take SPOOLS_MEMORY, one that grows beyond SPOOL_SMALL goes into a file, too.
 *
 * A spool has no lock: its owner serializes calls. Several threads may read a spool that is not
 * written any more.
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
	void *map; /* of the file's size bytes, while spool_map's slice is in use */
};

/* An empty one. */
void spool_init(struct spool *spool);
void spool_clear(struct spool *spool);

/* Writes at offset; a gap behind the end is filled with zeros. directory: for the file. -ENOSPC,
 * -EIO, -ENOMEM; -EMFILE: the engine needs the remaining descriptors. After an error the size is
 * unchanged, and bytes below it may be overwritten. */
int spool_write(struct spool *spool, const char *directory, const void *data, size_t len,
		uint64_t offset);

/* Truncates it, or fills it up with zeros. */
int spool_truncate(struct spool *spool, const char *directory, uint64_t size);

/* Moves it from memory into a file. */
int spool_unload(struct spool *spool, const char *directory);

/* Copies up to len bytes from offset on; *got is less than len only at the end. */
int spool_read(const struct spool *spool, void *buf, size_t len, uint64_t offset, size_t *got);

/* The whole as one slice, valid until the next write, truncation or clear. */
int spool_map(struct spool *spool, struct wcs_slice *slice);

#endif
