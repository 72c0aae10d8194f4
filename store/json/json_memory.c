/* SPDX-License-Identifier: MIT */
/*
 * Bounds the memory in which rows are read: a row of small cells takes up to a hundred times its
 * text. Texts whose rows may be large are read one at a time.
 */
#include "store/json/json_memory.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define JSON_MEMORY_LARGE (256u << 10) /* bytes of a text */

static atomic_size_t json_memory_limit; /* bytes; 0: none */
static pthread_mutex_t json_memory_large = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void wcs_json_limit(size_t bytes)
{
	atomic_store_explicit(&json_memory_limit, bytes, memory_order_relaxed);
}

size_t wcs_json_limited(void)
{
	size_t bytes = atomic_load_explicit(&json_memory_limit, memory_order_relaxed);

	return bytes > 0 ? bytes : SIZE_MAX;
}

bool wcs_json_begin(size_t len)
{
	return len > JSON_MEMORY_LARGE && pthread_mutex_lock(&json_memory_large) == 0;
}

void wcs_json_end(bool begun)
{
	if (!begun)
		return;
#ifdef __GLIBC__
	malloc_trim(0); /* free memory would otherwise stay in each thread's arena */
#endif
	pthread_mutex_unlock(&json_memory_large);
}
