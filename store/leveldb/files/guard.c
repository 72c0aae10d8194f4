/* SPDX-License-Identifier: MIT */
/*
 * Keeps damaged files from ending the process by a signal in LevelDB, which trusts what a right
 * checksum covers. The linker puts these functions in the place of LevelDB's own (--wrap in the
 * Makefile); names are mangled C++.
 *
 * - A block whose structure is wrong gets the size by which LevelDB knows a bad one, and is an
 *   error to whoever reads it.
 * - A number that no file of LevelDB's can have is an error, before it is added to another.
 * - An iterator that a seek leaves before the key sought is at its end, with an error. Otherwise a
 *   reader that skips from seek to seek would meet the same key for ever in a table whose keys are
 *   out of order from one block to the next, or whose index leads past a block.
 * - Iterators that have nothing but an error are counted: LevelDB makes one for each block or table
 *   that it cannot read, and a scan asks its iterator for an error only then.
 * - Where an assertion fails or an exception is thrown all the same, as for keys that are in order
 *   within blocks but not from one to the next, or no memory for a block, the process says so and
 *   exits.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/backend.h"
#include "store/leveldb/engine.h"
#include "store/leveldb/formats/block.h"
#include "store/leveldb/formats/file.h"

struct guard_slice {
	const char *data;
	size_t len;
};

/* As leveldb::Block has its members. */
struct guard_block {
	const char *data;
	size_t size; /* 0: bad */
	uint32_t restarts;
	bool owned;
};

/* As leveldb_iterator_t. */
struct guard_iterator {
	void *real;
};

/* As leveldb::Status is for one that is not OK. */
struct guard_status {
	const struct guard_state {
		uint32_t len; /* of text */
		char code;
		char text[19];
	} * state;
};

#define GUARD_BLOCK  "_ZN7leveldb5BlockC1ERKNS_13BlockContentsE"
#define GUARD_VARINT "_ZN7leveldb11GetVarint64EPNS_5SliceEPm"
#define GUARD_ERROR  "_ZN7leveldb16NewErrorIteratorERKNS_6StatusE"

/* Weak: LevelDB's shared library has its own, and does not call these. */
extern void guard_real_block(struct guard_block *block,
			     const struct guard_slice *contents) __asm__("__real_" GUARD_BLOCK)
	__attribute__((weak));
extern bool guard_real_varint(struct guard_slice *from,
			      uint64_t *to) __asm__("__real_" GUARD_VARINT) __attribute__((weak));
extern void guard_real_seek(leveldb_iterator_t *iter, const char *key,
			    size_t len) __asm__("__real_leveldb_iter_seek");
extern void *guard_real_error(const struct guard_status *status) __asm__("__real_" GUARD_ERROR);
extern void *guard_new(size_t size) __asm__("_Znwm");
extern void (*guard_set_terminate(void (*handler)(void)))(void) __asm__("_ZSt13set_terminatePFvvE");

void guard_block(struct guard_block *block,
		 const struct guard_slice *contents) __asm__("__wrap_" GUARD_BLOCK);
bool guard_varint(struct guard_slice *from, uint64_t *to) __asm__("__wrap_" GUARD_VARINT);
void guard_seek(leveldb_iterator_t *iter, const char *key,
		size_t len) __asm__("__wrap_leveldb_iter_seek");
void *guard_error(const struct guard_status *status) __asm__("__wrap_" GUARD_ERROR);
_Noreturn void guard_assert(const char *what, const char *file, unsigned int line,
			    const char *function) __asm__("__wrap___assert_fail");

static _Thread_local unsigned int guard_errors;

void guard_block(struct guard_block *block, const struct guard_slice *contents)
{
	guard_real_block(block, contents);
	if (ldb_block_check(contents->data, contents->len))
		block->size = 0;
}

void *guard_error(const struct guard_status *status)
{
	guard_errors++;
	return guard_real_error(status);
}

unsigned int ldb_guard_errors(void)
{
	return guard_real_block ? guard_errors : ++guard_errors;
}

bool guard_varint(struct guard_slice *from, uint64_t *to)
{
	return guard_real_varint(from, to) && *to <= 2 * LDB_NUMBER_MAX;
}

void guard_seek(leveldb_iterator_t *iter, const char *key, size_t len)
{
	static const struct guard_state state = {sizeof(state.text), 2 /* corruption */,
						 "keys are not sorted"};
	const struct guard_status status = {&state};
	struct guard_iterator *ended = (struct guard_iterator *)iter, *old;
	struct wcs_slice found;

	guard_real_seek(iter, key, len);
	if (!leveldb_iter_valid(iter))
		return;
	found.data = leveldb_iter_key(iter, &found.len);
	if (wcs_slice_compare(found, (struct wcs_slice){key, len}) >= 0)
		return;
	old = guard_new(sizeof(*old)); /* one with nothing but an error takes its place */
	*old = *ended;
	ended->real = guard_error(&status);
	leveldb_iter_destroy((leveldb_iterator_t *)old);
}

static _Noreturn void guard_exit(const char *what)
{
	fprintf(stderr,
		"%s: LevelDB cannot go on: %s; fsck.rowfs -n says whether the store is damaged\n",
		program_invocation_short_name, what);
	_exit(1);
}

_Noreturn void guard_assert(const char *what, const char *file, unsigned int line,
			    const char *function)
{
	(void)file;
	(void)line;
	(void)function;
	guard_exit(what);
}

static void guard_terminate(void)
{
	guard_exit("an exception, such as for no memory");
}

void ldb_guard_start(void)
{
	guard_set_terminate(guard_terminate);
}
