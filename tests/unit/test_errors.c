/* SPDX-License-Identifier: MIT */
/* The errors of several users: the lines that the rules of fs/report/errors.h keep. A line's path
 * is USER/NUMBER. */
#include "fs/report/errors.h"
#include "tests/unit/suite.h"

enum { OWNER = 500, A = 1001, B, C, D, E, MANY = 2000 };

static char *errors_text(struct errors *errors)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	errors_print(errors, to);
	fclose(to);
	return text;
}

/* The lines are these: "USER:FIRST-LAST" of each run of numbers, with a space before it. */
static void expect_lines(struct errors *errors, const char *expected)
{
	char *text = errors_text(errors), runs[512] = "";
	unsigned user, number, last_user = 0, first = 0, last = 0;

	for (const char *at = text; (at = strchr(at, 'Z')) != NULL; at++) {
		ck_assert_int_eq(sscanf(at, "Z %u/%u: failed", &user, &number), 2);
		if (last > 0 && (user != last_user || number != last + 1)) {
			sprintf(runs + strlen(runs), " %u:%u-%u", last_user, first, last);
			last = 0;
		}
		first = last > 0 ? first : number;
		last_user = user;
		last = number;
	}
	sprintf(runs + strlen(runs), " %u:%u-%u", last_user, first, last);
	ck_assert_str_eq(runs, expected);
	free(text);
}

static const struct {
	struct {
		uid_t user;
		unsigned count; /* of failures; then remarks */
		unsigned remarks;
	} steps[9];
	const char *kept; /* the numbers go on from step to step */
} cases[] = {
	{{{0, 1005, 0}}, " 0:6-1005"},
	{{{A, 1100, 0}, {0, 1, 0}, {A, 3, 0}}, " 1001:854-1100 0:1101-1101 1001:1102-1104"},
	{{{0, 3, 0}, {A, 1100, 0}, {0, 2, 0}, {A, 1100, 0}, {OWNER, 1, 0}},
	 " 0:1-3 0:1104-1105 1001:1956-2205 500:2206-2206"},
	/* Where all lines are taken, the user with the most loses the oldest. */
	{{{0, 1000, 0}, {A, 300, 0}, {0, 10, 0}, {B, 20, 0}, {0, 10, 0}},
	 " 0:291-1000 1001:1051-1300 0:1301-1310 1002:1311-1330 0:1331-1340"},
	{{{0, 260, 0},
	  {A, 300, 0},
	  {B, 300, 0},
	  {C, 300, 0},
	  {D, 1, 0},
	  {E, 30, 0},
	  {0, 300, 0},
	  {D, 9, 0}},
	 " 1001:325-560 1002:624-860 1003:924-1160 1004:1161-1161 1005:1162-1191 0:1242-1491 "
	 "1004:1492-1500"},
	{{{OWNER, 700, 0}, {A, 100, 0}, {0, 900, 0}, {OWNER, 700, 0}},
	 " 1001:701-800 0:1252-1700 500:1950-2400"},
	/* Remarks take at most 100 lines of a user. */
	{{{0, 1000, 1100}}, " 0:101-1000 0:2001-2100"},
	{{{A, 1000, 1100}}, " 1001:851-1000 1001:2001-2100"},
};

SUITE_LOOP(test_lines_of_users, sizeof(cases) / sizeof(cases[0]), 60)
{
	struct fs fs = {.options.uid = OWNER, .errors = errors_new()};
	unsigned number = 0, failed = 0;
	char path[32];

	ck_assert_ptr_nonnull(fs.errors);
	for (size_t step = 0; cases[_i].steps[step].count > 0; step++) {
		uid_t user = cases[_i].steps[step].user;

		for (unsigned i = 0; i < cases[_i].steps[step].count; i++) {
			snprintf(path, sizeof(path), "%u/%u", user, ++number);
			errors_add(&fs, user, path, 0, "failed");
			failed++;
		}
		for (unsigned i = 0; i < cases[_i].steps[step].remarks; i++) {
			snprintf(path, sizeof(path), "%u/%u", user, ++number);
			errors_remark(&fs, user, path, "failed");
		}
	}
	expect_lines(fs.errors, cases[_i].kept);
	ck_assert_uint_eq(errors_count(fs.errors), failed);
	errors_free(fs.errors);
}

/* As many users as a user namespace has leave a quarter to root. */
SUITE_TEST(test_errors_of_many, 60)
{
	struct fs fs = {.errors = errors_new()};
	char path[32], *text;

	for (unsigned i = 1; i <= 300; i++) {
		snprintf(path, sizeof(path), "0/%u", i);
		errors_add(&fs, 0, path, 0, "failed");
	}
	for (uid_t user = MANY; user < MANY + 3000; user++) {
		errors_add(&fs, user, "many/1", 0, "failed");
		errors_miss(&fs, user, "many/2", "missed");
	}
	text = errors_text(fs.errors);
	ck_assert_ptr_null(strstr(text, "Z 0/50: failed"));
	ck_assert_ptr_nonnull(strstr(text, "Z 0/51: failed"));
	ck_assert_ptr_nonnull(strstr(text, "Z 0/300: failed"));
	free(text);
	errors_free(fs.errors);
}

/* The paths of the lines are these. */
static void expect_paths(struct errors *errors, const char *paths)
{
	char *text = errors_text(errors), found[256] = "";

	for (const char *at = text; (at = strchr(at, 'Z')) != NULL; at++)
		strncat(found, at + 1, strcspn(at, ":"));
	ck_assert_str_eq(found, paths);
	free(text);
}

SUITE_TEST(test_misses, 60)
{
	struct fs fs = {.errors = errors_new()};

	errors_miss(&fs, 0, "/root1", "missed");
	errors_add(&fs, A, "/a1", 0, "failed");
	expect_paths(fs.errors, " /root1: /a1:");
	errors_miss(&fs, A, "/a1", "missed"); /* the error says more */
	errors_miss(&fs, B, "/b1", "missed");
	errors_miss(&fs, A, "/a2", "missed");
	errors_found(&fs, A + 5);
	expect_paths(fs.errors, " /root1: /a1: /b1: /a2:");
	errors_miss(&fs, B, "/b2", "missed");
	errors_found(&fs, A);
	expect_paths(fs.errors, " /root1: /a1: /b2:");
	for (uid_t user = MANY; user < MANY + 1000; user++) {
		errors_miss(&fs, user, "/many", "missed");
		errors_found(&fs, user);
	}
	expect_paths(fs.errors, " /root1: /a1: /b2:");
	errors_add(&fs, 0, "/root2", 0, "failed");
	expect_paths(fs.errors, " /a1: /b2: /root2:");
	errors_free(fs.errors);
}
