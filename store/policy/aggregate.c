/* SPDX-License-Identifier: MIT */
/*
 * Aggregates: integers of 8 bytes, big-endian, two's complement, as in Bigtable, and HyperLogLog
 * states. A merge is associative and commutative, but a sum may leave its range on the way.
 */
#include "store/policy/aggregate.h"

#include <errno.h>
#include <string.h>

#include "lib/bytes.h"
#include "store/policy/hll.h"

enum { INTEGER = 8 }; /* bytes */

_Static_assert(WCS_AGGREGATE_VALUE_MAX == WCS_HLL_MAX, "the largest value is a state");
_Static_assert(WCS_AGGREGATE_LINE_MAX >= INTEGER && WCS_AGGREGATE_LINE_MAX >= WCS_HLL_ELEMENT,
	       "a line's value has room");

/* ---- Integers ---------------------------------------------------------------------------- */

int wcs_integer_parse(const char *text, size_t len, int64_t *number)
{
	bool negative = len > 0 && text[0] == '-';
	size_t at = len > 0 && (text[0] == '-' || text[0] == '+');
	int64_t sum = 0;
	bool beyond = false;

	if (at == len)
		return -EINVAL;
	for (; at < len; at++) {
		int digit = text[at] - '0';

		if (digit < 0 || digit > 9)
			return -EINVAL;
		beyond = beyond || __builtin_mul_overflow(sum, 10, &sum) ||
			 __builtin_add_overflow(sum, negative ? -digit : digit, &sum);
	}
	if (beyond)
		return -EOVERFLOW;
	*number = sum;
	return 0;
}

static const char *aggregate_refuses_value(enum wcs_type type, struct wcs_slice value)
{
	if (type == WCS_INTHLL)
		return wcs_hll_valid(value) ? NULL : "the value is no state of an inthll";
	return value.len == INTEGER ? NULL : "the value is not an 8-byte integer";
}

/* ---- As text ----------------------------------------------------------------------------- */

int wcs_aggregate_line(enum wcs_type type, const char *line, size_t len, unsigned char *value,
		       size_t *value_len)
{
	int64_t number;

	if (!wcs_type_aggregates(type))
		return -EINVAL;
	if (type == WCS_INTHLL) {
		wcs_hll_element((struct wcs_slice){line, len}, value);
		*value_len = WCS_HLL_ELEMENT;
		return 0;
	}
	if (wcs_integer_parse(line, len, &number) != 0)
		return -EINVAL;
	put_be64(value, (uint64_t)number);
	*value_len = INTEGER;
	return 0;
}

int wcs_aggregate_number(enum wcs_type type, struct wcs_slice value, int64_t *number)
{
	if (!wcs_type_aggregates(type) || aggregate_refuses_value(type, value) != NULL)
		return -EINVAL;
	*number = type == WCS_INTHLL ? wcs_hll_estimate(value) : (int64_t)get_be64(value.data);
	return 0;
}

/* ---- Writes ------------------------------------------------------------------------------ */

static bool aggregate_is_integer(enum wcs_type type)
{
	return wcs_type_aggregates(type) && type != WCS_INTHLL;
}

/* The reason that has an error of its own. */
static const char aggregate_beyond[] = "an integer beyond 64 bits";

int wcs_aggregate_error(const char *reason)
{
	return reason == NULL ? 0 : reason == aggregate_beyond ? -EOVERFLOW : -EINVAL;
}

static const char *aggregate_refuses_form(enum wcs_type type, enum wcs_form form,
					  struct wcs_slice value)
{
	bool integer = aggregate_is_integer(type);
	int64_t number;
	int rc;

	if (form == WCS_FORM_STATE && type != WCS_INTHLL)
		return integer ? "only an inthll has a state, but the family holds integers"
			       : "only an inthll has a state, but the family holds bytes";
	if (type == WCS_BYTES)
		return form == WCS_FORM_NUMBER
			       ? "a number, but the family holds bytes: put it in quotes"
			       : NULL;
	if (form == WCS_FORM_VALUE || form == WCS_FORM_STATE)
		return aggregate_refuses_value(type, value);
	if (!integer)
		return "an inthll is given as its \"state\"";
	rc = form == WCS_FORM_TEXT ? wcs_integer_parse(value.data, value.len, &number) : 0;
	return rc == 0		  ? NULL
	       : rc == -EOVERFLOW ? aggregate_beyond
				  : "must be a whole number within 64 bits";
}

const char *wcs_aggregate_refuses(const struct wcs_write *write)
{
	bool aggregates = wcs_type_aggregates(write->type);

	if (write->kind == WCS_WRITE_APPEND)
		return aggregates ? "an aggregate family takes no \"append\"" : NULL;
	if (write->kind == WCS_WRITE_INCREMENT)
		return aggregates && write->type != WCS_INTSUM
			       ? "of the aggregate families only an intsum takes \"increment\""
			       : NULL;
	if (!aggregates && (write->kind == WCS_WRITE_REPLACE ||
			    (write->kind == WCS_WRITE_MERGE && write->form != WCS_FORM_STATE)))
		return "the family holds bytes, which do not merge";
	return aggregate_refuses_form(write->type, write->form, write->value);
}

const char *wcs_aggregate_refuses_if(const struct wcs_condition *condition)
{
	if (condition->absent)
		return NULL;
	if (condition->type == WCS_INTHLL && condition->form != WCS_FORM_VALUE)
		return "of an inthll only null can be asked for";
	if (condition->form == WCS_FORM_VALUE)
		return NULL; /* a malformed value is expected in vain */
	return aggregate_refuses_form(condition->type, condition->form, condition->given);
}

/* The integer of a given value that was not refused. */
static int64_t aggregate_integer(enum wcs_form form, struct wcs_slice given, int64_t number)
{
	if (form == WCS_FORM_TEXT)
		wcs_integer_parse(given.data, given.len, &number);
	return form == WCS_FORM_VALUE ? (int64_t)get_be64(given.data) : number;
}

void wcs_aggregate_expect(struct wcs_condition *condition)
{
	condition->expected = condition->given;
	if (!aggregate_is_integer(condition->type) || condition->form == WCS_FORM_VALUE)
		return;
	put_be64(condition->integer,
		 (uint64_t)aggregate_integer(condition->form, condition->given, condition->number));
	condition->expected = (struct wcs_slice){condition->integer, INTEGER};
}

int wcs_aggregate_apply(const struct wcs_write *write, struct wcs_slice old, unsigned char *value,
			size_t *len)
{
	int64_t number = write->delta, before;

	if (old.data != NULL && aggregate_refuses_value(write->type, old) != NULL)
		return -EINVAL;
	if (write->type == WCS_INTHLL) {
		if (old.data != NULL) {
			*len = wcs_hll_merge(old, write->value, value);
			return 0;
		}
		memcpy(value, write->value.data, write->value.len);
		*len = write->value.len;
		return 0;
	}
	if (write->kind != WCS_WRITE_INCREMENT)
		number = aggregate_integer(write->form, write->value, number);
	if (old.data != NULL) {
		before = (int64_t)get_be64(old.data);
		if (write->type == WCS_INTSUM) {
			if (__builtin_add_overflow(before, number, &number))
				return -EOVERFLOW;
		} else if (write->type == WCS_INTMIN ? before < number : before > number) {
			number = before;
		}
	}
	put_be64(value, (uint64_t)number);
	*len = INTEGER;
	return 0;
}
