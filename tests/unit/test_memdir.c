/* SPDX-License-Identifier: MIT */
/* Directories in memory: paths, their order, removal, families, and the limit. A path is written
 * "Sa/Ff": the letter of each part and its bytes, where ~ is a NUL. */
#include "fs/inode/memdir.h"
#include "tests/unit/suite.h"

static struct memdir_path path_of(const char *text)
{
	struct memdir_path path = {0};

	while (*text) {
		size_t len = strcspn(text, "/");
		char bytes[64];

		for (size_t i = 1; i < len; i++)
			bytes[i - 1] = (char)(text[i] == '~' ? 0 : text[i]);
		SUITE_OK(memdir_path_add(&path, (enum memdir_part)text[0],
					 (struct wcs_slice){bytes, len - 1}));
		text += len + (text[len] == '/');
	}
	return path;
}

static void add(struct memdirs *dirs, const char *text)
{
	struct memdir_path path = path_of(text);

	SUITE_OK(memdirs_add(dirs, &path));
	memdir_path_clear(&path);
}

static bool ask(struct memdirs *dirs, const char *text,
		bool (*question)(struct memdirs *dirs, const struct memdir_path *path))
{
	struct memdir_path path = path_of(text);
	bool answer = question(dirs, &path);

	memdir_path_clear(&path);
	return answer;
}

/* The children of a path of that part, each followed by a space. */
static void expect_children(struct memdirs *dirs, const char *text, enum memdir_part part,
			    const char *expected)
{
	struct memdir_path path = path_of(text);
	struct wcs_slice child = {0};
	char found[256] = "";
	size_t len = 0;

	while (memdirs_next(dirs, &path, part, child.data ? &child : NULL, &child) == 0) {
		const char *bytes = child.data;

		for (size_t i = 0; i < child.len; i++)
			found[len++] = (char)(bytes[i] ? bytes[i] : '~');
		found[len++] = ' ';
	}
	ck_assert_str_eq(found, expected);
	memdir_path_clear(&path);
}

/* The tree after paths were added: a path and all above it, but nothing beside it. */
SUITE_TEST(test_exists, 10)
{
	static const struct {
		const char *path;
		bool exists, has_children;
	} cases[] = {
		{"Tt", true, true},	   {"Tt/Sa", true, true},
		{"Tt/Sa/Sb", true, false}, {"Tt/Sa/Sb/Sc", false, false},
		{"Tt/Sab", false, false},  {"Tt/Fa", false, false},
		{"Tt/Sa~", true, true},	   {"Tt/Sa~/Ff", true, false},
		{"Tt/Sa~b", false, false}, {"Tu", false, false},
		{"Tt/Sz", true, false},
	};
	struct memdirs *dirs = memdirs_new();

	add(dirs, "Tt/Sa/Sb");
	add(dirs, "Tt/Sa~/Ff");
	add(dirs, "Tt/Sz");
	add(dirs, "Tt/Sz");
	ck_assert_uint_eq(memdirs_count(dirs), 3);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_msg(ask(dirs, cases[i].path, memdirs_exists) == cases[i].exists, "%s",
			      cases[i].path);
		ck_assert_msg(ask(dirs, cases[i].path, memdirs_has_children) ==
				      cases[i].has_children,
			      "below %s", cases[i].path);
	}
	memdirs_free(dirs);
}

SUITE_TEST(test_children_in_order, 10)
{
	static const char *const paths[] = {"Tt/Sb",  "Tt/Sa~", "Tt/Sa/Sx", "Tt/Sa",  "Tt/Fa",
					    "Tt/Sa!", "Tt/S",	"Tt/Sa/Sy", "Tt/Sa~~"};
	struct memdirs *dirs = memdirs_new();

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		add(dirs, paths[i]);
	expect_children(dirs, "Tt", MEMDIR_SEGMENT, " a a~ a~~ a! b ");
	expect_children(dirs, "Tt", MEMDIR_FAMILY, "a ");
	expect_children(dirs, "Tt/Sa", MEMDIR_SEGMENT, "x y ");
	expect_children(dirs, "Tt/Sb", MEMDIR_SEGMENT, "");
	memdirs_free(dirs);
}

SUITE_TEST(test_remove, 10)
{
	struct memdirs *dirs = memdirs_new();
	struct memdir_path path = path_of("Tt/Sa");

	add(dirs, "Tt/Sa/Sx/Ff");
	add(dirs, "Tt/Sa/Sy");
	add(dirs, "Tt/Sab");
	memdirs_remove(dirs, &path);
	ck_assert_uint_eq(memdirs_count(dirs), 1);
	expect_children(dirs, "Tt", MEMDIR_SEGMENT, "ab ");
	memdirs_remove(dirs, &path);
	memdir_path_clear(&path);
	memdirs_free(dirs);
}

/* The rows of a removed family stay as directories, once each, and other families stay whole. */
SUITE_TEST(test_remove_family, 10)
{
	struct memdirs *dirs = memdirs_new();
	struct memdir_path table = path_of("Tt"), family = path_of("Ff");

	add(dirs, "Tt/Sa/Ff/Hq");
	add(dirs, "Tt/Sa/Ff/Hr/Dx");
	add(dirs, "Tt/Sb/Fg/Hq");
	add(dirs, "Tt/Sf");
	add(dirs, "Tu/Sa/Ff");
	memdirs_remove_family(dirs, &table, &family);
	ck_assert(ask(dirs, "Tt/Sa", memdirs_exists));
	ck_assert(!ask(dirs, "Tt/Sa", memdirs_has_children));
	ck_assert(ask(dirs, "Tt/Sb/Fg/Hq", memdirs_exists));
	ck_assert(ask(dirs, "Tt/Sf", memdirs_exists));
	ck_assert(ask(dirs, "Tu/Sa/Ff", memdirs_exists));
	ck_assert_uint_eq(memdirs_count(dirs), 4);
	memdir_path_clear(&table);
	memdir_path_clear(&family);
	memdirs_free(dirs);
}

SUITE_TEST(test_limit, 60)
{
	struct memdirs *dirs = memdirs_new();
	struct memdir_path path;
	char text[32];

	for (unsigned i = 0; i < MEMDIRS_MAX; i++) {
		snprintf(text, sizeof(text), "Tt/S%08u", i);
		add(dirs, text);
	}
	path = path_of("Tt/Sz");
	ck_assert_int_eq(memdirs_add(dirs, &path), -ENOSPC);
	add(dirs, text); /* is there already */
	memdir_path_clear(&path);
	memdirs_free(dirs);
}
