/* SPDX-License-Identifier: MIT */
/*
 * One immutable value to read: of a stored cell, or of a draft. Its readers share it; it is
 * counted, and freed with the last reference. Any thread may call these functions.
 */
#ifndef FS_VALUE_H
#define FS_VALUE_H

#include "fs/names/pos.h"
#include "fs/value/spool.h"

struct value;

/* Opens the stored value of that position: of a version, or of a column the one with pos->ts, or
 * the newest. An aggregate's value is the text that its file shows. -ENOENT, -EIO, -ENOMEM. */
int value_open(const struct pos *pos, struct value **value);

/* Makes a value of a spool, which is empty afterwards. NULL: no memory. */
struct value *value_new(struct spool *spool);

/* One reference more. Returns value. */
struct value *value_get(struct value *value);
/* One less. NULL is none. */
void value_put(struct value *value);

uint64_t value_size(const struct value *value);

/* The cell of a stored value; info->size is that of the text that the file shows. */
const struct wcs_cell_info *value_info(const struct value *value);

/* Copies up to len bytes from offset on into buf; *got is less than len only at the end. */
int value_read(struct value *value, void *buf, size_t len, uint64_t offset, size_t *got);

/* Appends its bytes to a spool; directory: for the spool's file. */
int value_copy(struct value *value, const char *directory, struct spool *to);

/* Stores a value that was made of a spool in the cell of that position: of a column with timestamp
 * *ts, which becomes its newest, or WCS_TS_SERVER. *ts: the timestamp that it got. In an aggregate
 * family the text is parsed: -EINVAL, -EOPNOTSUPP as number_to_store. */
int value_store(struct value *value, const struct pos *pos, int64_t *ts);

/* Bytes of memory of a value that was made of a spool. */
size_t value_memory(const struct value *value);

/* Moves it from memory into a file, unless others have a reference. */
int value_unload(struct value *value, const char *directory);

#endif
