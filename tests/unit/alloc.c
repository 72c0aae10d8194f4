/* SPDX-License-Identifier: MIT */
/*
 * Allocations that fail: see alloc.h. A table holds the addresses allocated here, to tell them from
 * memory that LevelDB or libc allocated and our code only frees.
 */
#include "tests/unit/alloc.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALLOC_SLOTS (1u << 20)

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *old);
FILE *__real_open_memstream(char **text, size_t *len);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);
void __wrap_free(void *old);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t max);
int __wrap_vasprintf(char **text, const char *format, va_list args);
int __wrap_asprintf(char **text, const char *format, ...);
int __wrap___vasprintf_chk(char **text, int flag, const char *format, va_list args);
int __wrap___asprintf_chk(char **text, int flag, const char *format, ...);
FILE *__wrap_open_memstream(char **text, size_t *len);

static pthread_mutex_t alloc_lock = PTHREAD_MUTEX_INITIALIZER;
static uintptr_t alloc_slots[ALLOC_SLOTS]; /* Lock: alloc_lock, as all below */
static size_t alloc_count;
static size_t alloc_left; /* until one fails; 0: none will */
static bool alloc_failed;
static bool alloc_others;
static pthread_t alloc_thread;

/* ---- Live allocations -------------------------------------------------------------------- */

/* Where the address is, or the free slot at which to look for it ends. */
static size_t alloc_slot(uintptr_t address)
{
	size_t at = (address >> 4) * 2654435761u % ALLOC_SLOTS;

	while (alloc_slots[at] != 0 && alloc_slots[at] != address)
		at = (at + 1) % ALLOC_SLOTS;
	return at;
}

static void *alloc_add(void *made)
{
	size_t at;

	if (!made)
		return NULL;
	pthread_mutex_lock(&alloc_lock);
	at = alloc_slot((uintptr_t)made);
	if (alloc_slots[at] == 0)
		alloc_count++;
	alloc_slots[at] = (uintptr_t)made;
	if (alloc_count > ALLOC_SLOTS / 2)
		abort();
	pthread_mutex_unlock(&alloc_lock);
	return made;
}

static void alloc_remove(void *old)
{
	size_t at;

	if (!old)
		return;
	pthread_mutex_lock(&alloc_lock);
	at = alloc_slot((uintptr_t)old);
	if (alloc_slots[at] != 0) {
		alloc_count--;
		alloc_slots[at] = 0;
		/* Those from here to the next free slot move up, so that none is cut off from where
		 * its search begins. */
		for (at = (at + 1) % ALLOC_SLOTS; alloc_slots[at] != 0;
		     at = (at + 1) % ALLOC_SLOTS) {
			uintptr_t moved = alloc_slots[at];

			alloc_slots[at] = 0;
			alloc_slots[alloc_slot(moved)] = moved;
		}
	}
	pthread_mutex_unlock(&alloc_lock);
}

size_t alloc_live(void)
{
	size_t count;

	pthread_mutex_lock(&alloc_lock);
	count = alloc_count;
	pthread_mutex_unlock(&alloc_lock);
	return count;
}

/* ---- Failures ---------------------------------------------------------------------------- */

void alloc_fail(size_t n, bool others)
{
	pthread_mutex_lock(&alloc_lock);
	alloc_left = n;
	alloc_failed = false;
	alloc_others = others;
	alloc_thread = pthread_self();
	pthread_mutex_unlock(&alloc_lock);
}

bool alloc_stop(void)
{
	bool failed;

	pthread_mutex_lock(&alloc_lock);
	alloc_left = 0;
	failed = alloc_failed;
	pthread_mutex_unlock(&alloc_lock);
	return failed;
}

static bool alloc_fails(void)
{
	bool fails = false;

	pthread_mutex_lock(&alloc_lock);
	if (alloc_left > 0 && (pthread_equal(alloc_thread, pthread_self()) != 0) != alloc_others) {
		fails = --alloc_left == 0;
		alloc_failed = alloc_failed || fails;
	}
	pthread_mutex_unlock(&alloc_lock);
	if (fails)
		errno = ENOMEM;
	return fails;
}

/* ---- In place of libc's ------------------------------------------------------------------ */

void *__wrap_malloc(size_t size)
{
	return alloc_fails() ? NULL : alloc_add(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
	return alloc_fails() ? NULL : alloc_add(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size)
{
	void *made;

	if (alloc_fails())
		return NULL;
	/* Before: another thread may get the old address as soon as it is free. */
	alloc_remove(old);
	made = __real_realloc(old, size);
	alloc_add(made ? made : old);
	return made;
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
	size_t all;

	if (__builtin_mul_overflow(count, size, &all))
		return NULL;
	return __wrap_realloc(old, all);
}

void __wrap_free(void *old)
{
	alloc_remove(old);
	__real_free(old);
}

char *__wrap_strndup(const char *text, size_t max)
{
	size_t len = strnlen(text, max);
	char *made = __wrap_malloc(len + 1);

	if (!made)
		return NULL;
	memcpy(made, text, len);
	made[len] = '\0';
	return made;
}

char *__wrap_strdup(const char *text)
{
	return __wrap_strndup(text, strlen(text));
}

int __wrap_vasprintf(char **text, const char *format, va_list args)
{
	va_list again;
	int len;

	va_copy(again, args);
	len = vsnprintf(NULL, 0, format, again);
	va_end(again);
	*text = len < 0 ? NULL : __wrap_malloc((size_t)len + 1);
	return *text ? vsnprintf(*text, (size_t)len + 1, format, args) : -1;
}

int __wrap_asprintf(char **text, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = __wrap_vasprintf(text, format, args);
	va_end(args);
	return len;
}

int __wrap___vasprintf_chk(char **text, int flag, const char *format, va_list args)
{
	(void)flag;
	return __wrap_vasprintf(text, format, args);
}

int __wrap___asprintf_chk(char **text, int flag, const char *format, ...)
{
	va_list args;
	int len;

	(void)flag;
	va_start(args, format);
	len = __wrap_vasprintf(text, format, args);
	va_end(args);
	return len;
}

/* The text that the stream makes is libc's, and so is its freeing. */
FILE *__wrap_open_memstream(char **text, size_t *len)
{
	return alloc_fails() ? NULL : __real_open_memstream(text, len);
}
