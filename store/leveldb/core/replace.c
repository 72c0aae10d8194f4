/* SPDX-License-Identifier: MIT */
/*
 * Replaces what LevelDB does by itself and its C interface does not reach: how it reads tables, its
 * checksum, and how it ends the process.
 *
 * The first two need mangled names of the static library. The Makefile reads them here, and the
 * build fails if the library lacks one: it would link all the same, and have no effect.
 * LEVELDB=shared builds without them.
 *
 * LevelDB trusts all data under a right checksum. A forged file makes an assertion of it fail, or
 * makes it throw an exception or read beyond its memory. Each becomes a line and exit code 1.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "store/disk/crc.h"
#include "store/leveldb/engine.h"

#ifndef LDB_SHARED
extern void
replace_limit_maps(int limit) __asm__("_ZN7leveldb18EnvPosixTestHelper20SetReadOnlyMMapLimitEi");
uint32_t replace_checksum(uint32_t crc, const char *data,
			  size_t len) __asm__("_ZN7leveldb6crc32c6ExtendEjPKcm");

/* Debian builds LevelDB without the processor's instruction. Every byte that is written or read
 * passes it several times. */
uint32_t replace_checksum(uint32_t crc, const char *data, size_t len)
{
	return wcs_crc_extend(crc, data, len);
}
#else
static void replace_limit_maps(int limit)
{
	(void)limit;
}
#endif

extern void (*replace_set_terminate(void (*handler)(void)))(void) __asm__(
	"_ZSt13set_terminatePFvvE");
_Noreturn void replace_assert(const char *what, const char *file, unsigned int line,
			      const char *function) __asm__("__assert_fail");

static _Atomic(ldb_replace_fatal) replace_fatal;

_Noreturn void ldb_replace_exit(const char *why)
{
	ldb_replace_fatal fatal = atomic_exchange(&replace_fatal, NULL);
	char line[256];

	snprintf(line, sizeof(line),
		 "LevelDB cannot go on: %.128s; fsck.rowfs -n says whether the store is damaged",
		 why);
	if (fatal)
		fatal(line);
	else
		dprintf(STDERR_FILENO, "%s: %s\n", program_invocation_short_name, line);
	_exit(1);
}

_Noreturn void replace_assert(const char *what, const char *file, unsigned int line,
			      const char *function)
{
	(void)file;
	(void)line;
	(void)function;
	ldb_replace_exit(what);
}

static _Noreturn void replace_terminate(void)
{
	ldb_replace_exit("an exception, such as for no memory");
}

static _Noreturn void replace_signal(int number)
{
	(void)number;
	ldb_replace_exit("it read beyond its memory");
}

static void replace_once(void)
{
	static const int signals[] = {SIGSEGV, SIGBUS};
	struct sigaction action = {.sa_handler = replace_signal}, old;

	/* From a mapped table a page that the disk cannot give, or that is cut off, raises a
	 * signal; and everything that was read counts as the process's memory. */
	replace_limit_maps(0);
	replace_set_terminate(replace_terminate);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) /* but a sanitizer's */
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(signals[i], &action, NULL);
}

void ldb_replace_start(ldb_replace_fatal fatal)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (fatal)
		atomic_store(&replace_fatal, fatal);
	pthread_once(&once, replace_once);
}
