/* SPDX-License-Identifier: MIT */
/* Regular expressions by PCRE2, compiled to machine code where that is allowed. */
#include "store/chain/regex.h"
#include "store/backend.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <errno.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

enum {
	REGEX_STEPS = 1000000,	   /* of one match: some milliseconds */
	REGEX_STEPS_BYTE = 16,	   /* more of them for each byte: linear expressions end */
	REGEX_HEAP_KIB = 64 << 10, /* of one match, as the next */
	REGEX_STACK_MIN = 32 << 10,
	REGEX_STACK_MAX = 64 << 20,
};

struct regex {
	pcre2_code *code;
};

struct regex_room {
	pcre2_match_data *data;
	pcre2_match_context *limits;
	pcre2_jit_stack *stack;
};

int regex_compile(struct wcs_slice text, struct regex **regex, struct wcs_fault *fault)
{
	const uint32_t options = PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_DOTALL |
				 PCRE2_NEVER_UTF | PCRE2_NEVER_UCP;
	struct regex *made = malloc(sizeof(*made));
	char reason[sizeof(fault->text) / 2];
	PCRE2_SIZE offset;
	int error;

	if (made == NULL)
		return -ENOMEM;
	made->code = pcre2_compile(text.data != NULL ? text.data : (PCRE2_SPTR) "", text.len,
				   options, &error, &offset, NULL);
	if (made->code == NULL) {
		free(made);
		if (error == PCRE2_ERROR_NOMEMORY)
			return -ENOMEM;
		pcre2_get_error_message(error, (PCRE2_UCHAR *)reason, sizeof(reason));
		wcs_fault_set(fault, -EINVAL, "%s", reason);
		if (fault != NULL)
			fault->column = (int)offset + 1;
		return -EINVAL;
	}
	pcre2_jit_compile(made->code, PCRE2_JIT_COMPLETE); /* else it is interpreted */
	*regex = made;
	return 0;
}

void regex_free(struct regex *regex)
{
	if (regex == NULL)
		return;
	pcre2_code_free(regex->code);
	free(regex);
}

/* An alternative could begin with other bytes. A byte that may be absent is no beginning: its
 * quantifier may stand behind a comment or an escape. */
size_t regex_literal(struct wcs_slice text, unsigned char *to)
{
	const char *at = text.data, *end = at + text.len;
	size_t len = 0;

	if (text.len == 0 || memchr(at, '|', text.len) != NULL)
		return 0;
	while (at < end && *at != '\0' && strchr("^$.[(*+?{)", *at) == NULL) {
		if (*at == '\\' &&
		    (end - at < 2 || strchr("\\^$.[]()*+?{}/#-_,:@=%", at[1]) == NULL))
			break;
		at += *at == '\\';
		to[len++] = (unsigned char)*at++;
	}
	return at < end && len > 0 && strchr("*?{(\\", *at) != NULL ? len - 1 : len;
}

struct regex_room *regex_room_new(void)
{
	struct regex_room *room = calloc(1, sizeof(*room));

	if (room == NULL)
		return NULL;
	room->data = pcre2_match_data_create(1, NULL);
	room->limits = pcre2_match_context_create(NULL);
	room->stack = pcre2_jit_stack_create(REGEX_STACK_MIN, REGEX_STACK_MAX, NULL);
	if (room->data == NULL || room->limits == NULL) {
		regex_room_free(room);
		return NULL;
	}
	pcre2_set_heap_limit(room->limits, REGEX_HEAP_KIB);
	if (room->stack != NULL) /* NULL: this PCRE2 has no compiler */
		pcre2_jit_stack_assign(room->limits, NULL, room->stack);
	return room;
}

void regex_room_free(struct regex_room *room)
{
	if (room == NULL)
		return;
	pcre2_jit_stack_free(room->stack);
	pcre2_match_context_free(room->limits);
	pcre2_match_data_free(room->data);
	free(room);
}

int regex_match(const struct regex *regex, struct regex_room *room, struct wcs_slice bytes)
{
	uint64_t steps = REGEX_STEPS + (uint64_t)REGEX_STEPS_BYTE * bytes.len;
	int rc;

	pcre2_set_match_limit(room->limits, steps < UINT32_MAX ? (uint32_t)steps : UINT32_MAX);
	rc = pcre2_match(regex->code, bytes.len > 0 ? bytes.data : (PCRE2_SPTR) "", bytes.len, 0, 0,
			 room->data, room->limits);

	if (rc >= 0)
		return 1;
	return rc == PCRE2_ERROR_NOMATCH ? 0 : rc == PCRE2_ERROR_NOMEMORY ? -ENOMEM : -E2BIG;
}
