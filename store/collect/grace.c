/* SPDX-License-Identifier: MIT */
/* The grace of a changed policy, and jumps of the clock. */
#include "store/collect/collector_private.h"

#define GRACE_JUMP (24 * 3600 * GRACE_SECOND)

static bool grace_far(int64_t a, int64_t b)
{
	return (a > b ? a - b : b - a) > GRACE_JUMP;
}

void grace_since(struct grace *grace, int64_t last, int64_t now)
{
	if (grace_far(last, now))
		grace->jumped = grace_steady();
}

bool grace_look(struct grace *grace, int64_t now)
{
	int64_t steady = grace_steady(), offset = now - steady;
	bool jumped = grace_far(offset, grace->offset);

	if (jumped)
		grace->jumped = steady;
	grace->offset = offset;
	return jumped;
}

bool grace_covers(const struct grace *grace, const struct wcs_family *family, int64_t now)
{
	int64_t length = grace->length, end = INT64_MIN;

	if (family->gc_changed > now) /* the clock went back */
		return true;
	if (length <= 0)
		return false;
	if (family->gc_changed > 0 && family->gc_changed <= INT64_MAX - length)
		end = family->gc_changed + length;
	if (grace->jumped > 0 && grace->jumped + length + grace->offset > end)
		end = grace->jumped + length + grace->offset;
	return end > now;
}
