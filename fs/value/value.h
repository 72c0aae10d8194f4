/* SPDX-License-Identifier: MIT */
/*
 * One immutable value to read from: a stored cell's, or one that was written to a draft. It is
 * shared by who reads it, counted, and goes with the last of them.
 *
 * Any thread may call these.
 */
#ifndef FS_VALUE_H
#define FS_VALUE_H

#include "fs/names/pos.h"
#include "fs/value/spool.h"

struct value;

/* Opens the stored value of that position: of a version, or of a column the newest, or the one
 * with pos->ts. Of an aggregate it is the text that it shows. */
int value_open(const struct pos *pos, struct value **value);

/* Makes one of what was written, and takes that over: the spool is empty then. NULL: no memory. */
struct value *value_new(struct spool *spool);

/* One reference more. Returns value. */
struct value *value_get(struct value *value);
/* One less. NULL is none. */
void value_put(struct value *value);

uint64_t value_size(const struct value *value);

/* Of a stored value. */
uint32_t value_etag(const struct value *value);

/* Copies up to len bytes from offset on into buf; *got is less than len only at the end. */
int value_read(struct value *value, void *buf, size_t len, uint64_t offset, size_t *got);

/* Appends its bytes to a spool; directory: where the spool's file would go. */
int value_copy(struct value *value, const char *directory, struct spool *to);

/* Sets the cell of that position to it: of a column with timestamp *ts, which becomes its newest,
 * or WCS_TS_SERVER. *ts: the one it got. Of an aggregate to the number that it shows: -EINVAL,
 * -EOPNOTSUPP as number_to_store. */
int value_store(struct value *value, const char *directory, const struct pos *pos, int64_t *ts);

/* A copy of a stored value. */
int value_load(const struct pos *pos, const char *directory, struct value **value);

/* Bytes of memory that it takes, of one that was made of a spool. */
size_t value_memory(const struct value *value);

/* Moves it from memory into a file, if there is no other reference to it. */
int value_unload(struct value *value, const char *directory);

#endif
