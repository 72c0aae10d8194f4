/* SPDX-License-Identifier: MIT */
/* The last children that a listing keeps: random steps in a directory that changes. The model knows
 * the name given with each offset, and the end of the kept part. */
#include "suite.h"

#include "fs/dir/dir_kept.h"

enum { STEPS = 300, STRIDE = 900, LEN_MAX = 40, CHILDREN = 20000, GIVEN = STEPS * STRIDE };

/* The child at a place: told by it and by how often that was changed. */
static struct wcs_list_child child_at(unsigned place, unsigned changed, char *buf,
				      enum node_kind *kind)
{
	size_t len = sizeof(place) + sizeof(changed) + place % (LEN_MAX / 2);

	memset(buf, (int)place, len);
	memcpy(buf, &place, sizeof(place));
	memcpy(buf + sizeof(place), &changed, sizeof(changed));
	*kind = place % 3 == 0 ? NODE_PREFIX : place % 3 == 1 ? NODE_FAMILY : NODE_CHUNK;
	return (struct wcs_list_child){{buf, len}, place % 5 == 0, {buf, place % 4}};
}

/* Gives the child at a place behind an offset: its own. */
static off_t give(struct dir_kept *kept, off_t offset, unsigned place, unsigned changed)
{
	char buf[LEN_MAX];
	enum node_kind kind;
	struct wcs_list_child child = child_at(place, changed, buf, &kind);
	off_t next = dir_kept_next(kept, offset, kind, &child);

	if (dir_kept_add(kept, next, kind, &child) != 0)
		ck_abort_msg("no memory");
	return next;
}

/* Is it there? With another child it fails. */
static bool find(const struct dir_kept *kept, off_t offset, unsigned place, unsigned changed)
{
	char buf[LEN_MAX];
	enum node_kind kind, found_kind;
	struct wcs_list_child child = child_at(place, changed, buf, &kind), found;

	if (!dir_kept_find(kept, offset, &found_kind, &found))
		return false;
	if (found_kind != kind || found.below != child.below ||
	    wcs_slice_compare(found.segment, child.segment) != 0 ||
	    wcs_slice_compare(found.given, child.given) != 0)
		ck_abort_msg("another child is before %lld", (long long)offset);
	return true;
}

SUITE_TEST(test_nothing_at_first, 10)
{
	struct dir_kept kept = {.turn = 0};

	for (off_t offset = 0; offset < 4; offset++)
		ck_assert(!find(&kept, offset, 0, 0));
	dir_kept_clear(&kept);
}

SUITE_TEST(test_the_last_are_kept_and_no_more_than_twice_as_many, 10)
{
	struct dir_kept kept = {.turn = 0};
	const unsigned first = 3, end = first + 10 * DIR_KEPT + 5;
	unsigned oldest = end;

	for (unsigned place = first; place < end; place++) {
		ck_assert_int_eq(give(&kept, place - 1, place, 0), place);
		if (!find(&kept, place, place, 0) ||
		    (place - first >= DIR_KEPT &&
		     !find(&kept, place - DIR_KEPT + 1, place - DIR_KEPT + 1, 0)))
			ck_abort_msg("one of the last before %u is gone", place);
	}
	while (find(&kept, oldest - 1, oldest - 1, 0))
		oldest--;
	ck_assert_int_ge(end - oldest, DIR_KEPT);
	ck_assert_int_le(end - oldest, 2 * DIR_KEPT);
	ck_assert(!find(&kept, end, end, 0));
	ck_assert(!find(&kept, first, first, 0));
	dir_kept_clear(&kept);
}

SUITE_TEST(test_what_did_not_change_has_the_same_offset_again, 10)
{
	struct dir_kept kept = {.turn = 0};

	for (unsigned round = 0; round < 3; round++)
		for (unsigned place = 3; place < 3 * DIR_KEPT; place++)
			ck_assert_int_eq(give(&kept, place - 1, place, 0), place);
	dir_kept_clear(&kept);
}

/* Gives the places up to `end`, whose children have changed that often, and notes their offsets.
 * again: these must be as they were. */
static void read_on(struct dir_kept *kept, off_t *offsets, unsigned from, unsigned end,
		    unsigned changed, bool again)
{
	for (unsigned place = from; place < end; place++) {
		off_t next = give(kept, offsets[place - 1], place, changed);

		if (again)
			ck_assert_int_eq(next, offsets[place]);
		ck_assert_int_eq(dir_kept_position(next), place);
		offsets[place] = next;
	}
}

SUITE_TEST(test_an_offset_keeps_its_place_when_a_look_back_meets_another, 10)
{
	enum { FIRST = 3, CHANGED = 10, END = 500 };
	struct dir_kept kept = {.turn = 0};
	off_t offsets[3][END] = {{0, 1, 2}};

	read_on(&kept, offsets[0], FIRST, END, 0, false);
	for (unsigned round = 1; round < 3; round++) {
		memcpy(offsets[round], offsets[0], sizeof(offsets[0]));
		read_on(&kept, offsets[round], FIRST, CHANGED, 0, true);
		read_on(&kept, offsets[round], CHANGED, END, round, false);
	}
	for (unsigned round = 0; round < 3; round++)
		for (unsigned place = CHANGED; place < END; place++)
			ck_assert(find(&kept, offsets[round][place], place, round));
	read_on(&kept, offsets[2], CHANGED, END, 2, true);
	offsets[2][CHANGED - 1] = offsets[0][CHANGED - 1];
	read_on(&kept, offsets[2], CHANGED, END, 2, true);
	dir_kept_clear(&kept);
}

static struct given {
	off_t offset;
	unsigned place, changed;
} given[GIVEN];

/* Each of the last is there, with its own child. */
static void check_last(const struct dir_kept *kept, size_t count)
{
	for (size_t back = 1; back <= count && back <= DIR_KEPT; back += 1 + (size_t)rand() % 9) {
		const struct given *one = &given[count - back];

		if (!find(kept, one->offset, one->place, one->changed))
			ck_abort_msg("%lld is gone", (long long)one->offset);
	}
}

/* Goes on, back to one of the last, or elsewhere; and all from some place on changes. */
SUITE_LOOP(test_random_places, 4, 10)
{
	static unsigned changed[CHILDREN + 1];
	struct dir_kept kept = {.turn = 0};
	unsigned place = 2;
	off_t offset = 2;
	size_t count = 0;

	srand((unsigned)_i);
	memset(changed, 0, sizeof(changed));
	for (unsigned step = 1; step < STEPS; step++) {
		for (unsigned left = 1 + (unsigned)rand() % (STRIDE - 1);
		     left > 0 && place < CHILDREN; left--) {
			place++;
			offset = give(&kept, offset, place, changed[place]);
			given[count++] = (struct given){offset, place, changed[place]};
		}
		check_last(&kept, count);
		if (step % 5 == 0 || place >= CHILDREN) {
			offset = place = 2 + (unsigned)rand() % (step % 2 ? CHILDREN : 9);
		} else if (step % 2 == 0 && count > 0) {
			size_t back = (size_t)rand() % (count < DIR_KEPT ? count : DIR_KEPT);

			offset = given[count - 1 - back].offset;
			place = given[count - 1 - back].place;
		}
		for (unsigned at = place + (unsigned)rand() % STRIDE;
		     step % 3 == 0 && at <= CHILDREN; at++)
			changed[at] = step;
	}
	dir_kept_clear(&kept);
}
