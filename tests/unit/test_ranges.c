/* SPDX-License-Identifier: MIT */
/* Locked ranges: the ends of a file, splitting, merging, and random steps against a model that
 * knows the owners of each byte. */

#include "fs/file/ranges.h"
#include "tests/unit/suite.h"

enum { ROOM = 1000 };

static const char handles[2]; /* two open files, by their addresses */

static struct range range(uint64_t owner, uint64_t start, uint64_t end, bool exclusive)
{
	return (struct range){.owner = owner,
			      .start = start,
			      .end = end,
			      .exclusive = exclusive,
			      .handle = &handles[0]};
}

/* For so many ranges, of root. */
static void room_init(struct ranges_room *room, uint64_t all)
{
	room->fs = NULL;
	share_init(&room->share, (struct share_limits){all, 0, 0});
}

static size_t count(const struct ranges *ranges)
{
	size_t n = 0;

	for (const struct range *at = ranges->first; at; at = at->next)
		n++;
	return n;
}

/* Is there just one range from start to end? */
static bool has(const struct ranges *ranges, uint64_t owner, uint64_t start, uint64_t end,
		bool exclusive)
{
	int found = 0;

	for (const struct range *at = ranges->first; at; at = at->next)
		found += at->owner == owner && at->start == start && at->end == end &&
			 at->exclusive == exclusive;
	return found == 1;
}

static void take(struct ranges *ranges, struct range want, struct ranges_room *room)
{
	SUITE_OK(ranges_take(ranges, &want, room));
}

static void give(struct ranges *ranges, struct range want, struct ranges_room *room)
{
	SUITE_OK(ranges_give(ranges, &want, room));
}

static void give_all(struct ranges *ranges, uint64_t owner, struct ranges_room *room)
{
	give(ranges, range(owner, 0, RANGES_END, false), room);
}

SUITE_TEST(test_last_byte, 10)
{
	struct range last = range(2, RANGES_END, RANGES_END, true);
	struct ranges ranges = {0};
	struct ranges_room room;

	room_init(&room, ROOM);
	take(&ranges, range(1, 5, RANGES_END, false), &room);
	ck_assert_ptr_nonnull(ranges_conflict(ranges.first, &last));
	last.exclusive = false;
	ck_assert_ptr_null(ranges_conflict(ranges.first, &last));
	give(&ranges, range(1, RANGES_END, RANGES_END, false), &room);
	ck_assert(has(&ranges, 1, 5, RANGES_END - 1, false));
	last.exclusive = true;
	ck_assert_ptr_null(ranges_conflict(ranges.first, &last));
	give_all(&ranges, 1, &room);
}

SUITE_TEST(test_no_room_changes_nothing, 10)
{
	struct range more = range(1, 0, 0, true), middle = range(1, 15, 15, false);
	struct ranges ranges = {0};
	struct ranges_room room;

	room_init(&room, 2);
	take(&ranges, range(1, 10, 19, true), &room);
	middle.exclusive = false;
	ck_assert_int_eq(ranges_take(&ranges, &middle, &room), -ENOLCK);
	ck_assert_uint_eq(share_held(&room.share), 1);
	ck_assert(has(&ranges, 1, 10, 19, true));
	take(&ranges, range(2, 30, 39, true), &room);
	ck_assert_int_eq(ranges_take(&ranges, &more, &room), -ENOLCK);
	ck_assert_int_eq(ranges_give(&ranges, &middle, &room), -ENOLCK);
	ck_assert_uint_eq(count(&ranges), 2);
	ck_assert_uint_eq(share_held(&room.share), 2);
	give(&ranges, range(1, 18, 25, false), &room);
	ck_assert(has(&ranges, 1, 10, 17, true));
	give_all(&ranges, 1, &room);
	give_all(&ranges, 2, &room);
	ck_assert_uint_eq(share_held(&room.share), 0);
}

SUITE_TEST(test_a_process_has_a_limit, 10)
{
	struct range want = range(1, 0, 0, true), other = want;
	struct ranges_room room;
	struct ranges ranges = {0};

	room_init(&room, 2 * RANGES_PROCESS_MAX);
	want.pid = 7;
	for (uint64_t i = 0; i < RANGES_PROCESS_MAX; i++) {
		want.start = want.end = 2 * i;
		take(&ranges, want, &room);
	}
	want.owner = 2; /* another open file of the process */
	want.start = want.end = 2 * RANGES_PROCESS_MAX;
	ck_assert_int_eq(ranges_take(&ranges, &want, &room), -ENOLCK);
	ck_assert_uint_eq(share_held(&room.share), RANGES_PROCESS_MAX);
	other.pid = 8;
	other.start = other.end = 2 * RANGES_PROCESS_MAX;
	take(&ranges, other, &room);
	give_all(&ranges, 1, &room);
	ck_assert_uint_eq(share_held(&room.share), 0);
}

/* A range counts for the user who took it, also where another one splits or releases it. */
SUITE_TEST(test_a_user_has_a_share, 10)
{
	struct range first = range(1, 10, 19, true), second = range(2, 40, 49, true), part = first;
	const struct fs fs = {0};
	struct ranges_room room = {.fs = &fs};
	struct ranges ranges = {0};

	share_init(&room.share, (struct share_limits){10, 3, 2});
	first.user = 1001;
	second.user = part.user = 1002;
	take(&ranges, first, &room);
	part.start = part.end = 15;
	give(&ranges, part, &room); /* of the first: 1001 has two now */
	first.start = first.end = 30;
	ck_assert_int_eq(ranges_take(&ranges, &first, &room), -ENOLCK);
	take(&ranges, second, &room);
	second.start = second.end = 60;
	ck_assert_int_eq(ranges_take(&ranges, &second, &room), -ENOLCK); /* three of both */
	part.start = 10;
	give(&ranges, part, &room); /* 10 to 14 of the first */
	take(&ranges, second, &room);
	ck_assert_int_eq(ranges_take(&ranges, &first, &room), -ENOLCK);
	first.user = 0;
	take(&ranges, first, &room);
	give_all(&ranges, 1, &room);
	give_all(&ranges, 2, &room);
	ck_assert_uint_eq(share_held(&room.share), 0);
	share_destroy(&room.share);
}

/* ---- The model ------------------------------------------------------------------------------ */

enum { BYTES = 24, OWNERS = 3, STEPS = 20000 };

/* The lock that each owner has on each byte: 0, or its kind and open file. The last byte stands for
 * all behind it. */
struct model {
	unsigned char has[OWNERS][BYTES];
};

static unsigned char code(const struct range *want)
{
	return (unsigned char)(1 + want->exclusive + 2 * (want->handle == &handles[1]));
}

static uint64_t byte_of(uint64_t at)
{
	return at == RANGES_END ? BYTES - 1 : at;
}

static void model_set(struct model *model, const struct range *want, unsigned char code)
{
	for (uint64_t b = want->start; b <= byte_of(want->end); b++)
		model->has[want->owner][b] = code;
}

static void model_give_handle(struct model *model, const void *handle)
{
	unsigned char first = handle == &handles[1] ? 3 : 1;

	for (int owner = 0; owner < OWNERS; owner++)
		for (int b = 0; b < BYTES; b++)
			if (model->has[owner][b] == first || model->has[owner][b] == first + 1)
				model->has[owner][b] = 0;
}

/* Where the lowest range begins that stops want; -1: none does. */
static int model_conflict(const struct model *model, const struct range *want)
{
	int lowest = -1;

	for (uint64_t owner = 0; owner < OWNERS; owner++) {
		const unsigned char *line = model->has[owner];

		if (owner == want->owner)
			continue;
		for (int b = (int)want->start; b <= (int)byte_of(want->end); b++) {
			int start = b;

			if (!line[b] || !(want->exclusive || ((line[b] - 1) & 1)))
				continue;
			while (start > 0 && line[start - 1] == line[b])
				start--;
			if (lowest < 0 || start < lowest)
				lowest = start;
		}
	}
	return lowest;
}

/* Copies a range into a model; false if its owner has those bytes already, or the range is
 * invalid. */
static bool model_add(struct model *model, const struct range *range)
{
	bool good =
		range->start <= range->end && (range->end < BYTES - 1 || range->end == RANGES_END);

	for (uint64_t b = range->start; good && b <= byte_of(range->end); b++)
		good = model->has[range->owner][b] == 0;
	if (good)
		model_set(model, range, code(range));
	return good;
}

/* Do the ranges equal the model, in the smallest possible number? */
static bool equal(const struct model *model, const struct ranges *ranges, size_t held)
{
	struct model seen = {0};
	size_t runs = 0;

	for (const struct range *at = ranges->first; at; at = at->next)
		if (!model_add(&seen, at))
			return false;
	for (int owner = 0; owner < OWNERS; owner++)
		for (int b = 0; b < BYTES; b++)
			runs += model->has[owner][b] &&
				(b == 0 || model->has[owner][b] != model->has[owner][b - 1]);
	return memcmp(&seen, model, sizeof(seen)) == 0 && count(ranges) == runs && held == runs;
}

static struct range random_range(void)
{
	uint64_t a = (uint64_t)(rand() % BYTES), b = (uint64_t)(rand() % BYTES);
	struct range want =
		range((uint64_t)(rand() % OWNERS), a < b ? a : b, a < b ? b : a, rand() % 3 == 0);

	if (want.end == BYTES - 1)
		want.end = RANGES_END;
	want.handle = &handles[rand() % 2];
	return want;
}

SUITE_LOOP(test_random_steps_agree_with_model, 4, 10)
{
	struct ranges ranges = {0};
	struct model model = {0};
	struct ranges_room room;

	room_init(&room, ROOM);
	srand((unsigned)_i + 1);
	for (int step = 0; step < STEPS; step++) {
		struct range want = random_range();
		const struct range *found = ranges_conflict_lowest(&ranges, &want);
		int expected = model_conflict(&model, &want);

		if ((found ? (int)found->start : -1) != expected ||
		    (ranges_conflict(ranges.first, &want) != NULL) != (expected >= 0))
			ck_abort_msg("step %d: another conflict", step);
		if (rand() % 100 == 0) {
			ranges_give_handle(&ranges, want.handle, &room);
			model_give_handle(&model, want.handle);
		} else if (rand() % 3 == 0) {
			give(&ranges, want, &room);
			model_set(&model, &want, 0);
		} else if (!found) {
			take(&ranges, want, &room);
			model_set(&model, &want, code(&want));
		}
		ck_assert_msg(equal(&model, &ranges, share_held(&room.share)), "step %d", step);
	}
	for (uint64_t owner = 0; owner < OWNERS; owner++)
		give_all(&ranges, owner, &room);
	ck_assert_uint_eq(share_held(&room.share), 0);
}
