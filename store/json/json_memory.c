/* SPDX-License-Identifier: MIT */
/*
 * Bounds the memory in which jansson reads one text: a tree takes up to ninety times its text.
 *
 * Invariant: within a reading no allocation of jansson's fails. jansson ignores a failure while it
 * gathers the bytes of a string or number, and then reads behind them or aborts. Instead the text
 * ends early, so that jansson fails by itself and frees its tree. It gets the text in small pieces:
 * after the limit it allocates for the rest of a piece, and for one growth of an array or hash
 * table. If malloc fails, a reserve is freed for those.
 *
 * Texts whose trees may be large are read one at a time.
 */
#include "store/json/json_memory.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "store/json/json.h"

/* The text of which jansson reads one tree. */
struct json_memory {
	const char *text;
	size_t left;	    /* bytes of text that jansson has not got */
	size_t used, limit; /* bytes allocated; limit 0: none */
	void *reserve;
	int rc; /* why the text ends early; 0: it does not */
};

#define JSON_MEMORY_LARGE   (256u << 10)	      /* bytes of a text */
#define JSON_MEMORY_PIECE   64u			      /* bytes of text */
#define JSON_MEMORY_RESERVE (128 * JSON_MEMORY_PIECE) /* and twice the text: the longest string */

static atomic_size_t json_memory_limit; /* bytes; 0: none */
static pthread_mutex_t json_memory_large = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static _Thread_local struct json_memory *json_memory_reading;

void wcs_json_limit(size_t bytes)
{
	atomic_store_explicit(&json_memory_limit, bytes, memory_order_relaxed);
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

static void *json_memory_malloc(size_t size)
{
	struct json_memory *reading = json_memory_reading;
	void *block = malloc(size);

	if (!reading)
		return block;
	if (!block) {
		reading->rc = -ENOMEM;
		free(reading->reserve);
		reading->reserve = NULL;
		block = malloc(size);
	}
	reading->used += malloc_usable_size(block);
	if (reading->rc == 0 && reading->limit > 0 && reading->used > reading->limit)
		reading->rc = -EFBIG;
	return block;
}

static void json_memory_free(void *block)
{
	if (json_memory_reading)
		json_memory_reading->used -= malloc_usable_size(block);
	free(block);
}

__attribute__((constructor)) static void json_memory_init(void)
{
	json_set_alloc_funcs(json_memory_malloc, json_memory_free);
}

/* jansson's json_load_callback_t. */
static size_t json_memory_piece(void *to, size_t room, void *ctx)
{
	struct json_memory *reading = ctx;
	size_t len = reading->left;

	if (reading->rc != 0)
		return 0;
	if (len > JSON_MEMORY_PIECE)
		len = JSON_MEMORY_PIECE;
	if (len > room)
		len = room;
	memcpy(to, reading->text, len);
	reading->text += len;
	reading->left -= len;
	return len;
}

int wcs_json_load(const char *text, size_t len, size_t flags, json_t **json, json_error_t *why)
{
	struct json_memory reading = {.text = text, .left = len};
	json_t *made;

	reading.limit = atomic_load_explicit(&json_memory_limit, memory_order_relaxed);
	reading.reserve = malloc(JSON_MEMORY_RESERVE + 2 * len);
	if (!reading.reserve)
		return -ENOMEM;
	json_memory_reading = &reading;
	made = json_load_callback(json_memory_piece, &reading, flags, why);
	json_memory_reading = NULL;
	free(reading.reserve);
	if (made && reading.rc == 0) {
		*json = made;
		return 0;
	}
	json_decref(made);
	return reading.rc != 0 ? reading.rc : -EINVAL;
}
