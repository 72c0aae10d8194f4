/* SPDX-License-Identifier: MIT */
/* A directory of a test's own: see place.h. */
#include "tests/unit/place.h"

#include <dirent.h>

struct wcs_fault place_fault;

static char place_base[192];

void place_begin(void)
{
	snprintf(place_base, sizeof(place_base), "%s/place.XXXXXX", suite_directory());
	ck_assert_ptr_nonnull(mkdtemp(place_base));
}

const char *place_path(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%.50s", place_base, name);
	return path;
}

void place_store(char path[256], const char *name)
{
	place_begin();
	strcpy(path, place_path(name));
	SUITE_OK(wcs_store_create(path, NULL, false, NULL, &place_fault));
}

void place_expect_names(const char *path, const char *expected)
{
	struct dirent **entries;
	char text[512] = "";
	int count = scandir(path, &entries, NULL, alphasort);

	ck_assert_int_ge(count, 0);
	for (int i = 0; i < count; i++) {
		if (entries[i]->d_name[0] != '.') {
			strcat(text, entries[i]->d_name);
			strcat(text, " ");
		}
		free(entries[i]);
	}
	free(entries);
	ck_assert_str_eq(text, expected);
}

void place_write(const char *path, const char *name, const char *text)
{
	char whole[512];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s/%s", path, name);
	file = fopen(whole, "w");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

void place_expect_fault(int rc, int expected, const char *words)
{
	ck_assert_msg(rc == expected, "%d instead of %d: %s", rc, expected, place_fault.text);
	ck_assert_msg(strstr(place_fault.text, words) != NULL, "no \"%s\" in: %s", words,
		      place_fault.text);
}

void place_expect_create(const char *path, bool force, int expected, const char *words)
{
	place_expect_fault(wcs_store_create(path, NULL, force, NULL, &place_fault), expected,
			   words);
}

void place_expect_open(const char *path, int expected, const char *words)
{
	struct wcs_store *store;

	place_expect_fault(wcs_store_open(path, NULL, &store, &place_fault), expected, words);
}

void place_check_opens(const char *path)
{
	struct wcs_store *store;
	int rc = wcs_store_open(path, NULL, &store, &place_fault);

	ck_assert_msg(rc == 0, "%d %s", rc, place_fault.text);
	wcs_store_close(store);
}
