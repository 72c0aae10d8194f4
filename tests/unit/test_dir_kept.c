/* SPDX-License-Identifier: MIT */
/* What a listing keeps of its last children: random steps against a model that keeps all of them,
 * and where what is kept ends. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "dir_kept.h"

enum { STEPS = 200, STRIDE = 900, LEN_MAX = 40, LAST = 20000 };

/* The child before an offset: told by it and by how often the listing was begun. */
static struct wcs_slice child_of(off_t offset, unsigned begun, char *buf, enum node_kind *kind)
{
	size_t len = (size_t)offset * 7919 % LEN_MAX;

	for (size_t i = 0; i < len; i++)
		buf[i] = (char)((size_t)offset * 31 + begun * 7 + i);
	*kind = offset % 3 == 0 ? NODE_PREFIX : offset % 3 == 1 ? NODE_FAMILY : NODE_CHUNK;
	return (struct wcs_slice){buf, len};
}

static void add(struct dir_kept *kept, off_t offset, unsigned begun)
{
	char buf[LEN_MAX];
	enum node_kind kind;
	struct wcs_slice bytes = child_of(offset, begun, buf, &kind);

	if (dir_kept_add(kept, offset, kind, bytes) != 0)
		ck_abort_msg("no memory");
}

/* Is it there, as it was added last? What is there and is not right fails. */
static bool find(const struct dir_kept *kept, off_t offset, unsigned begun)
{
	char buf[LEN_MAX];
	enum node_kind kind, found_kind;
	struct wcs_slice bytes = child_of(offset, begun, buf, &kind), found;

	if (!dir_kept_find(kept, offset, &found_kind, &found))
		return false;
	if (found_kind != kind || found.len != bytes.len ||
	    (bytes.len > 0 && memcmp(found.data, bytes.data, bytes.len) != 0))
		ck_abort_msg("another child is before %lld", (long long)offset);
	return true;
}

START_TEST(test_nothing_at_first)
{
	struct dir_kept kept = {.last = {.first = 0}};

	for (off_t offset = 0; offset < 4; offset++)
		ck_assert(!find(&kept, offset, 0));
	dir_kept_clear(&kept);
}
END_TEST

START_TEST(test_the_last_are_kept_and_no_more_than_twice_as_many)
{
	struct dir_kept kept = {.last = {.first = 0}};
	const off_t first = 3, end = first + 10 * DIR_KEPT + 5;
	off_t oldest = end;

	for (off_t offset = first; offset < end; offset++) {
		add(&kept, offset, 0);
		if (!find(&kept, offset, 0) ||
		    (offset - first >= DIR_KEPT && !find(&kept, offset - DIR_KEPT + 1, 0)))
			ck_abort_msg("one of the last before %lld is gone", (long long)offset);
	}
	while (find(&kept, oldest - 1, 0))
		oldest--;
	ck_assert_int_ge(end - oldest, DIR_KEPT);
	ck_assert_int_le(end - oldest, 2 * DIR_KEPT);
	ck_assert(!find(&kept, end, 0));
	ck_assert(!find(&kept, first, 0));
	dir_kept_clear(&kept);
}
END_TEST

/* Around the next offset `at`, of a sequence that started at `from`: what was added last, or
 * nothing. */
static void check_around(const struct dir_kept *kept, off_t from, off_t at, const unsigned *begun)
{
	for (off_t offset = at > 5000 ? at - 5000 : 0; offset < at + 500;
	     offset += 1 + rand() % 9) {
		bool found = find(kept, offset, begun[offset]);

		bool may = offset >= from && offset < at, must = may && at - offset <= DIR_KEPT;

		if (found ? !may : must)
			ck_abort_msg("%lld, before %lld: %d", (long long)offset, (long long)at,
				     found);
	}
}

/* Goes on, back to what is kept, or elsewhere. */
START_TEST(test_random_places)
{
	static unsigned begun[LAST + 2 * STRIDE]; /* the step in which each was added last */
	struct dir_kept kept = {.last = {.first = 0}};
	off_t from = 3, at = 3;

	srand((unsigned)_i);
	for (unsigned step = 1; step < STEPS; step++) {
		for (off_t end = at + 1 + rand() % STRIDE; at < end; at++) {
			begun[at] = step;
			add(&kept, at, step);
		}
		check_around(&kept, from, at, begun);
		if (step % 7 == 0 || at >= LAST)
			at = 3 + rand() % LAST;
		else if (step % 3 == 0 && at > from)
			at -= rand() % (at - from < DIR_KEPT ? (int)(at - from) : DIR_KEPT);
		if (at < from || at >= LAST || !find(&kept, at - 1, begun[at - 1]))
			from = at;
	}
	dir_kept_clear(&kept);
}
END_TEST

START_TEST(test_what_comes_again_replaces_what_was_behind_it)
{
	struct dir_kept kept = {.last = {.first = 0}};

	for (off_t offset = 3; offset < 3 + DIR_KEPT + 100; offset++)
		add(&kept, offset, 1);
	for (off_t again = DIR_KEPT + 50; again > DIR_KEPT - 50; again -= 25) {
		add(&kept, again, 2);
		ck_assert(find(&kept, again, 2));
		ck_assert(find(&kept, again - 1, 1));
		ck_assert(!find(&kept, again + 1, 1));
	}
	add(&kept, 100000, 3);
	ck_assert(find(&kept, 100000, 3));
	ck_assert(!find(&kept, 4, 1));
	dir_kept_clear(&kept);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("dir_kept");
	TCase *tests = tcase_create("dir_kept");
	SRunner *runner;
	int failed;

	tcase_add_test(tests, test_nothing_at_first);
	tcase_add_test(tests, test_the_last_are_kept_and_no_more_than_twice_as_many);
	tcase_add_loop_test(tests, test_random_places, 0, 4);
	tcase_add_test(tests, test_what_comes_again_replaces_what_was_behind_it);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
