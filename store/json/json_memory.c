/* SPDX-License-Identifier: MIT */
/*
 * Reading JSON when memory ends. jansson's reader takes no notice of an allocation that fails while
 * it gathers the bytes of a string or number: it goes on without them, and may read beyond what it
 * has or end the program. So it never learns of one: what it allocates while it reads is kept on a
 * list, and where there is no more it is left by a jump and the list is freed.
 *
 * So a text that would take more than the process may have for one is left, too: a tree takes up to
 * ninety times its text. And texts of which that is much are read one at a time.
 *
 * Every block of jansson's has a head. The blocks that one reading made are a ring, from which each
 * goes when it is freed; as the tree, they are one thread's at a time.
 */
#include "store/json/json_memory.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "store/json/json.h"

struct json_memory_head {
	alignas(max_align_t) struct json_memory_head *next;
	struct json_memory_head *last;
};

/* A reading under way. */
struct json_memory {
	struct json_memory_head ring; /* of its blocks, and this one */
	size_t used, limit;	      /* bytes of them */
	int error;		      /* why it is left */
	jmp_buf out;
};

#define JSON_MEMORY_LARGE (256u << 10) /* bytes of a text */

static size_t json_memory_limit; /* bytes; 0: none. Atomic */
static pthread_mutex_t json_memory_large = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static _Thread_local struct json_memory *json_memory_reading;

void wcs_json_limit(size_t bytes)
{
	__atomic_store_n(&json_memory_limit, bytes, __ATOMIC_RELAXED);
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
	malloc_trim(0); /* what is freed in each thread's arena would otherwise stay there */
#endif
	pthread_mutex_unlock(&json_memory_large);
}

static void json_memory_leave(struct json_memory *reading, int error)
{
	reading->error = error;
	longjmp(reading->out, 1);
}

static void json_memory_link(struct json_memory_head *head, struct json_memory_head *ring)
{
	head->next = ring;
	head->last = ring->last;
	ring->last->next = head;
	ring->last = head;
}

static void json_memory_unlink(struct json_memory_head *head)
{
	head->next->last = head->last;
	head->last->next = head->next;
}

static void *json_memory_malloc(size_t size)
{
	struct json_memory *reading = json_memory_reading;
	struct json_memory_head *head = NULL;

	if (reading && reading->limit > 0 && size > reading->limit - reading->used)
		json_memory_leave(reading, -EFBIG);
	if (size <= SIZE_MAX - sizeof(*head))
		head = malloc(sizeof(*head) + size);
	if (!head && reading)
		json_memory_leave(reading, -ENOMEM);
	if (!head)
		return NULL;
	head->next = head->last = head;
	if (!reading)
		return head + 1;
	json_memory_link(head, &reading->ring);
	reading->used += malloc_usable_size(head);
	if (reading->limit > 0 && reading->used > reading->limit)
		json_memory_leave(reading, -EFBIG);
	return head + 1;
}

static void json_memory_free(void *block)
{
	struct json_memory_head *head = block;

	if (!block)
		return;
	head--;
	if (json_memory_reading)
		json_memory_reading->used -= malloc_usable_size(head);
	json_memory_unlink(head);
	free(head);
}

/* Before anything else of jansson is called: what it frees must have a head. */
__attribute__((constructor)) static void json_memory_init(void)
{
	json_set_alloc_funcs(json_memory_malloc, json_memory_free);
}

int wcs_json_load(const char *text, size_t len, size_t flags, json_t **json, json_error_t *error)
{
	struct json_memory reading;
	json_t *made;

	reading.ring.next = reading.ring.last = &reading.ring;
	reading.used = 0;
	reading.limit = __atomic_load_n(&json_memory_limit, __ATOMIC_RELAXED);
	if (setjmp(reading.out)) {
		json_memory_reading = NULL;
		while (reading.ring.next != &reading.ring)
			json_memory_free(reading.ring.next + 1);
		return reading.error;
	}
	json_memory_reading = &reading;
	made = json_loadb(text, len, flags, error);
	json_memory_reading = NULL;
	json_memory_unlink(&reading.ring);
	if (!made)
		return -EINVAL;
	*json = made;
	return 0;
}
