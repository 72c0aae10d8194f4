/* SPDX-License-Identifier: MIT */
/* The errors of several users, by a model: a list of lines of which the rules of fs/report/errors.h
 * remove some. A line's path is USER/NUMBER. */
#include "fs/report/errors.h"
#include "tests/unit/suite.h"

enum { OWNER = 500, A = 1001, B, C, D, E, MANY = 2000, LINES = 20000 };

/* The user fails so many times. */
struct step {
	uid_t user;
	unsigned count;
};

struct model {
	struct {
		uid_t user;
		unsigned number;
	} lines[LINES];
	size_t count;
};

static bool model_other(uid_t user)
{
	return user != 0 && user != OWNER;
}

static size_t model_of(const struct model *model, uid_t user)
{
	size_t found = 0;

	for (size_t i = 0; i < model->count; i++)
		found += model->lines[i].user == user;
	return found;
}

/* The user with the most lines; of two, the one whose last line is older. */
static uid_t model_most(const struct model *model, bool others)
{
	size_t most = 0;
	uid_t user = 0;

	for (size_t i = 0; i < model->count; i++) {
		uid_t at = model->lines[i].user;
		size_t older = 0;

		for (size_t j = 0; j <= i; j++)
			older += model->lines[j].user == at;
		if ((!others || model_other(at)) && older > most) {
			most = older;
			user = at;
		}
	}
	return user;
}

static void model_remove(struct model *model, uid_t user)
{
	size_t i = 0;

	while (model->lines[i].user != user)
		i++;
	model->count--;
	for (; i < model->count; i++)
		model->lines[i] = model->lines[i + 1];
}

static void model_add(struct model *model, uid_t user, unsigned number)
{
	size_t others = 0;

	for (size_t i = 0; i < model->count; i++)
		others += model_other(model->lines[i].user);
	if (model_other(user) && model_of(model, user) == 250)
		model_remove(model, user);
	else if (model_other(user) && others == 750)
		model_remove(model, model_most(model, true));
	else if (model->count == 1000)
		model_remove(model, model_most(model, false));
	model->lines[model->count].user = user;
	model->lines[model->count++].number = number;
}

static char *errors_text(struct errors *errors)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	errors_print(errors, to);
	fclose(to);
	return text;
}

static void expect_lines(struct errors *errors, const struct model *model)
{
	char *text = errors_text(errors), *line = text, path[32];

	for (size_t i = 0; i < model->count; i++) {
		snprintf(path, sizeof(path), "Z %u/%u: failed\n", model->lines[i].user,
			 model->lines[i].number);
		ck_assert_msg(line && strchr(line, 'Z') &&
				      strncmp(strchr(line, 'Z'), path, strlen(path)) == 0,
			      "line %zu of %zu: %s", i, model->count, path);
		line = strchr(line, '\n') + 1;
	}
	ck_assert_str_eq(line, "");
	free(text);
}

static void errors_steps(const struct step *step)
{
	struct fs fs = {.options.uid = OWNER, .errors = errors_new()};
	struct model *model = calloc(1, sizeof(*model));
	unsigned number = 0;
	char path[32];

	ck_assert_ptr_nonnull(fs.errors);
	for (; step->count > 0; step++) {
		for (unsigned i = 0; i < step->count; i++) {
			snprintf(path, sizeof(path), "%u/%u", step->user, ++number);
			errors_add(&fs, step->user, path, 0, "failed");
			model_add(model, step->user, number);
		}
		expect_lines(fs.errors, model);
	}
	ck_assert_uint_eq(errors_count(fs.errors), number);
	free(model);
	errors_free(fs.errors);
}

SUITE_TEST(test_errors_of_one, 60)
{
	errors_steps((const struct step[]){{0, 1005}, {0}});
	errors_steps((const struct step[]){{A, 1100}, {0, 1}, {A, 3}, {0}});
	errors_steps((const struct step[]){{0, 3}, {A, 1100}, {0, 2}, {A, 1100}, {OWNER, 1}, {0}});
}

SUITE_TEST(test_errors_of_several, 60)
{
	errors_steps((const struct step[]){{0, 1000}, {A, 300}, {0, 10}, {B, 20}, {0, 10}, {0}});
	errors_steps((const struct step[]){
		{0, 260}, {A, 300}, {B, 300}, {C, 300}, {D, 1}, {E, 30}, {0, 300}, {D, 9}, {0}});
	errors_steps((const struct step[]){{OWNER, 700}, {A, 100}, {0, 900}, {OWNER, 700}, {0}});
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

/* Remarks take at most 100 lines of a user. */
SUITE_TEST(test_remarks_leave_room_for_errors, 60)
{
	static const struct {
		uid_t user;
		unsigned kept;
	} users[] = {{0, 1000}, {A, 250}};

	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++) {
		struct fs fs = {.errors = errors_new()};
		struct model model = {.count = 0};
		char path[32];

		for (unsigned number = 1; number <= 2100; number++) {
			snprintf(path, sizeof(path), "%u/%u", users[i].user, number);
			if (number <= 1000)
				errors_add(&fs, users[i].user, path, 0, "failed");
			else
				errors_remark(&fs, users[i].user, path, "failed");
			if (number > 1100 - users[i].kept && (number <= 1000 || number > 2000)) {
				model.lines[model.count].user = users[i].user;
				model.lines[model.count++].number = number;
			}
		}
		expect_lines(fs.errors, &model);
		ck_assert_uint_eq(errors_count(fs.errors), 1000);
		errors_free(fs.errors);
	}
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
