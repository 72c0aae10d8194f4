/* SPDX-License-Identifier: MIT */
/* The names of views against the contract: each form of an argument, good and wrong. */
#include "store/chain/views.h"
#include "tests/unit/suite.h"

#include <inttypes.h>

#define NOT_READ INT64_C(-99)

/* Prints a step's fields as the cases below have them. */
static const char *step_text(const struct wcs_step *step)
{
	static char text[16384];
	char *key = wcs_text_encode(step->bytes);
	int used = snprintf(text, sizeof(text), "%s", key);

	free(key);
	if (step->within)
		used += sprintf(text + used, " within %.*s", (int)step->within->len,
				(const char *)step->within->data);
	if (step->number > 0)
		used += sprintf(text + used, " n%" PRIu64, step->number);
	if (step->ago || step->time != 0)
		used += sprintf(text + used, " %s%" PRId64, step->ago ? "-" : "t", step->time);
	for (size_t i = 0; i < step->column_count; i++) {
		char *qualifier = wcs_text_encode(step->columns[i].qualifier);

		used += sprintf(text + used, " %.*s", (int)step->columns[i].family.len,
				(const char *)step->columns[i].family.data);
		if (step->columns[i].qualifier.data)
			used += sprintf(text + used, ":%s", qualifier);
		free(qualifier);
	}
	return text[0] == ' ' ? text + 1 : text;
}

/* want: the step in words; or, behind a '!', the offset of the fault. */
static const struct {
	const char *view, *argument, *want;
} cases[] = {
	{"from", "STC", "STC"},
	{"from", "STC#22", "STC#22"},
	{"from", "%", ""},
	{"from", "a%2Fb", "a/b"},
	{"from", "%2E%2E", ".."},
	{"from", ".rows", ".rows"},
	{"from", "%61", "a"},
	{"from", "%FF%00%25", "%FF%00%25"},
	{"from", "\xC3\xA9", "\xC3\xA9"},
	{"from", "", "!1"},
	{"from", "%%", "!1"},
	{"from", "a%", "!2"},
	{"from", "ab%2", "!3"},
	{"from", "ab%2f", "!3"},
	{"from", "a%zz", "!2"},
	{"to", "b#", "b#"},
	{"prefix", "STC#2", "STC#2"},
	{"prefix", "%23", "#"},
	{"reverse", "", ""},
	{"reverse", "1", "!1"},
	{"first", "0", ""},
	{"first", "1", "n1"},
	{"last", "18446744073709551615", "n18446744073709551615"},
	{"last", "18446744073709551616", "!20"},
	{"newest", "10", "n10"},
	{"newest", "", "!1"},
	{"newest", "01", "!2"},
	{"newest", "00", "!2"},
	{"newest", "1x", "!2"},
	{"newest", "-1", "!1"},
	{"newest", "+1", "!1"},
	{"newest", " 1", "!1"},
	{"newest", "1.0", "!2"},
	{"newest", "%31", "!1"},
	{"sample", "1", "n1000000000"},
	{"sample", "0.5", "n500000000"},
	{"sample", "0.000000001", "n1"},
	{"sample", "0.999999999", "n999999999"},
	{"sample", "0.0000000001", "!12"},
	{"sample", "0.10", "!4"},
	{"sample", "0.0", "!3"},
	{"sample", "0.", "!3"},
	{"sample", "0", "!2"},
	{"sample", "", "!1"},
	{"sample", "1.0", "!2"},
	{"sample", "1.", "!2"},
	{"sample", "2", "!1"},
	{"sample", ".5", "!1"},
	{"sample", "00.5", "!2"},
	{"sample", "0,5", "!2"},
	{"sample", "0.5x", "!4"},
	{"sample", "0.-1", "!3"},
	{"key", "STC#2.*", "STC#2.*"},
	{"key", "a%2Fb%25", "a/b%25"},
	{"key", "100%", "!4"},
	{"key", "(", "("},
	{"column", "[a-z]+", "[a-z]+"},
	{"value", "%2E", "."},
	{"has", "meta", "meta"},
	{"has", "meta:driver", "meta:driver"},
	{"has", "meta:a:b", "meta:a:b"},
	{"has", "meta:%", "meta:"},
	{"has", "meta:%25", "meta:%25"},
	{"has", ".meta", ".meta"},
	{"has", "%2Emeta", ".meta"},
	{"has", "meta:%2F", "meta:/"},
	{"has", "meta:", "!5"},
	{"has", ":q", "!1"},
	{"has", "me ta", "!1"},
	{"has", "me%00ta", "!1"},
	{"has", "meta:%2", "!6"},
	{"has", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "!1"},
	{"family", "meta", "meta"},
	{"family", "meta:q", "!5"},
	{"family", "me,ta", "!1"},
	{"columns", "a", "a"},
	{"columns", "a:q,b", "a:q b"},
	{"columns", "a:q%2Cr,b:%,c", "a:q,r b: c"},
	{"columns", "a,", "!3"},
	{"columns", ",a", "!1"},
	{"columns", "a,,b", "!3"},
	{"columns", "a:q,b:", "!6"},
	{"where", "meta:driver=Ann", "Ann meta:driver"},
	{"where", "meta:driver=", " meta:driver"},
	{"where", "meta:a:b=c=d", "c=d meta:a:b"},
	{"where", "meta:a%3Db=c", "c meta:a=b"},
	{"where", "meta:%=x", "x meta:"},
	{"where", "meta:q=a%2Fb%0A", "a/b%0A meta:q"},
	{"where", "meta:q", "!7"},
	{"where", "meta=x", "!7"},
	{"where", "meta:=x", "!5"},
	{"where", ":q=x", "!1"},
	{"where", "meta:q=%", "!8"},
	{"at", "0", ""},
	{"at", "1700000000000000", "t1700000000000000"},
	{"at", "9223372036854775807", "t9223372036854775807"},
	{"at", "9223372036854775808", "!1"},
	{"at", "01", "!1"},
	{"at", "-1", "!1"},
	{"at", "1970-01-02", "t86400000000"},
	{"at", "1970-01-01T00:00:01Z", "t1000000"},
	{"at", "1970-01-01T01:00", "t3600000000"},
	{"at", "1970-01-01T01:00:00.5+01:00", "t500000"},
	{"at", "1969-12-31", "!1"},
	{"at", "2024-02-30", "!1"},
	{"at", "2024-1-1", "!1"},
	{"at", "now", "-0"},
	{"at", "NOW", "!1"},
	{"since", "90s", "-90000000"},
	{"since", "15m", "-900000000"},
	{"since", "1h", "-3600000000"},
	{"until", "7d", "-604800000000"},
	{"until", "0d", "-0"},
	{"until", "07d", "!1"},
	{"until", "d", "!1"},
	{"until", "1w", "!1"},
	{"until", "1ms", "!1"},
	{"until", "1h30m", "!1"},
	{"until", "106751991d", "-9223372022400000000"},
	{"until", "106751992d", "!1"},
	{"until", "", "!1"},
};

SUITE_LOOP(each_form_of_an_argument, sizeof(cases) / sizeof(cases[0]), 5)
{
	const struct wcs_view_name *view = wcs_view_find(cases[_i].view, strlen(cases[_i].view));
	struct wcs_view_text argument = {.text = {cases[_i].argument, strlen(cases[_i].argument)},
					 .delimiter = '#'};
	bool wrong = cases[_i].want[0] == '!';
	struct wcs_fault fault = {.column = -1};
	struct wcs_view_step step;
	int rc;

	ck_assert_ptr_nonnull(view);
	rc = wcs_view_parse(view, &argument, &step, &fault);
	ck_assert_msg(rc == (wrong ? -EINVAL : 0), ".%s/%s: %d", cases[_i].view, cases[_i].argument,
		      rc);
	if (wrong)
		ck_assert_msg(fault.column == atoi(cases[_i].want + 1) && fault.text[0],
			      ".%s/%s: at %d, not %s: %s", cases[_i].view, cases[_i].argument,
			      fault.column, cases[_i].want + 1, fault.text);
	else
		ck_assert_str_eq(step_text(&step.step),
				 cases[_i].want[0] == ' ' ? cases[_i].want + 1 : cases[_i].want);
}

/* ---- Where a view stands ----------------------------------------------------------------- */

SUITE_TEST(a_key_continues_the_prefix_of_its_directory, 5)
{
	struct wcs_slice key = {"STC#22", 6}, empty = {NULL, 0};
	struct wcs_view_text argument = {.text = {"1", 1}, .key = &key, .delimiter = '#'};
	struct wcs_fault fault;
	struct wcs_view_step step;

	ck_assert_int_eq(wcs_view_parse(wcs_view_find("from", 4), &argument, &step, &fault), 0);
	ck_assert_str_eq(step_text(&step.step), "STC#22#1");
	ck_assert_int_eq(wcs_view_parse(wcs_view_find("last", 4), &argument, &step, &fault), 0);
	ck_assert_str_eq(step_text(&step.step), "within STC#22 n1");
	argument.key = &empty;
	argument.text = (struct wcs_slice){"%", 1};
	ck_assert_int_eq(wcs_view_parse(wcs_view_find("to", 2), &argument, &step, &fault), 0);
	ck_assert_str_eq(step_text(&step.step), "#");
}

/* ---- Limits ------------------------------------------------------------------------------ */

SUITE_TEST(arguments_have_255_bytes_and_keys_4096, 5)
{
	static char text[3 * WCS_ROW_KEY_MAX + 3];
	struct wcs_slice key = {text, 1};
	struct wcs_view_text argument = {.delimiter = '#'};
	struct wcs_fault fault;
	struct wcs_view_step step;

	memset(text, 'a', sizeof(text));
	argument.text = (struct wcs_slice){text, WCS_ARGUMENT_MAX};
	ck_assert_int_eq(wcs_view_parse(wcs_view_find("key", 3), &argument, &step, &fault), 0);
	argument.text.len++;
	ck_assert_int_eq(wcs_view_parse(wcs_view_find("key", 3), &argument, &step, &fault),
			 -ENAMETOOLONG);
	argument.text.len = WCS_ROW_KEY_MAX;
	ck_assert_int_eq(wcs_view_parse(wcs_view_find("to", 2), &argument, &step, &fault), 0);
	ck_assert_uint_eq(step.step.bytes.len, WCS_ROW_KEY_MAX);
	argument.text.len++;
	ck_assert_int_eq(wcs_view_parse(wcs_view_find("to", 2), &argument, &step, &fault),
			 -ENAMETOOLONG);
	argument.text.len = WCS_ROW_KEY_MAX - 1;
	argument.key = &key;
	ck_assert_int_eq(wcs_view_parse(wcs_view_find("to", 2), &argument, &step, &fault),
			 -ENAMETOOLONG);
	for (size_t i = 0; i < WCS_ROW_KEY_MAX; i++)
		memcpy(text + 3 * i, "%41", 3);
	argument.key = NULL;
	argument.text.len = (size_t)3 * WCS_ROW_KEY_MAX;
	ck_assert_int_eq(wcs_view_parse(wcs_view_find("to", 2), &argument, &step, &fault), 0);
	ck_assert_uint_eq(step.step.bytes.len, WCS_ROW_KEY_MAX);
}

SUITE_TEST(as_many_columns_as_fit, 5)
{
	char text[WCS_ARGUMENT_MAX + 1] = "a";
	struct wcs_view_text argument = {.text = {text, WCS_ARGUMENT_MAX}};
	struct wcs_fault fault;
	struct wcs_view_step step;

	for (size_t i = 1; i < WCS_ARGUMENT_MAX; i += 2)
		memcpy(text + i, ",a", 2);
	ck_assert_int_eq(wcs_view_parse(wcs_view_find("columns", 7), &argument, &step, &fault), 0);
	ck_assert_uint_eq(step.step.column_count, WCS_ARGUMENT_MAX / 2 + 1);
}

/* ---- Names ------------------------------------------------------------------------------- */

SUITE_TEST(views_are_found_by_name, 5)
{
	const struct wcs_view_name *view;
	size_t i = 0;

	for (; (view = wcs_view_name(i)) != NULL; i++) {
		ck_assert_ptr_eq(wcs_view_find(view->name, strlen(view->name)), view);
		ck_assert(i == 0 || strcmp(wcs_view_name(i - 1)->name, view->name) < 0);
	}
	ck_assert_uint_eq(i, 19);
	ck_assert_ptr_null(wcs_view_find("rows", 4));
	ck_assert_ptr_null(wcs_view_find("fro", 3));
	ck_assert_ptr_null(wcs_view_find("", 0));
}

/* ---- Keys -------------------------------------------------------------------------------- */

static void check_key(const char *row, const char *key, const char *want)
{
	struct wcs_slice above = {key, key ? strlen(key) : 0};
	char *text = NULL;
	int rc = wcs_view_key(NULL, (struct wcs_slice){row, strlen(row)}, key ? &above : NULL, '#',
			      &text);

	ck_assert_int_eq(rc, want ? 0 : -ENOENT);
	if (want)
		ck_assert_str_eq(text, want);
	free(text);
}

SUITE_TEST(a_row_key_as_an_argument, 5)
{
	check_key("STC#22", NULL, "STC#22");
	check_key("STC#22#1", "STC", "22#1");
	check_key("STC#", "STC", "%");
	check_key("STC", "STC", NULL);
	check_key("STD#22", "STC", NULL);
	check_key("STC#22#1", "STC#22#1#", NULL);
	check_key("#a", "", "a");
	check_key("a/b%\n", NULL, "a%2Fb%25%0A");
	check_key(".", NULL, "%2E");
	check_key("..", NULL, "%2E%2E");
	check_key(".x", NULL, ".x");
	check_key("\xFF", NULL, "%FF");
}

/* ---- Chains ------------------------------------------------------------------------------ */

SUITE_LEVELDB_STORE(a_chain_as_text, 30)
{
	static const struct {
		const char *text, *fault;
	} chains[] = {
		{".from/b/.to/c", NULL},
		{".reverse/.first/2", NULL},
		{".first/2/.reverse", NULL},
		{".has/a:q/.newest/1/", NULL},
		{"", NULL},
		{".raw/.first/1", NULL},
		{".first/1/.raw", ".raw: .raw must be the first view, in the table"},
		{".rows", ".rows: there is no such view"},
		{".newest/1/k/.first/1", NULL},
		{"k/%/l", NULL},
		{".first/1/k/.raw", ".raw: .raw must be the first view, in the table"},
		{".first/1/a/.last/1", "a: it is a family, in which no view stands"},
		{".first/1/k#l/.last/1", "k#l: it holds the delimiter, at which keys become paths"},
		{".first/1/%6B", "%6B: it is no name of a segment (rowfs(5))"},
		{".from/a/.newest/01/.reverse", ".newest/01: it is a whole number below 2^64, "
						"without leading zeros, at character 2"},
		{".from/a%", ".from/a%: " WCS_VIEW_SPLIT ", at character 1"},
		{".family", ".family: a family's name is 1 to 64 of -_.a-zA-Z0-9, at character 1"},
	};
	struct wcs_view_place place;
	struct wcs_fault fault;
	struct wcs_chain *chain;
	char text[4 * 270] = ".from/", *to = text + 6;

	for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++) {
		int rc = wcs_view_chain(s->table, chains[i].text, &chain, &place, &fault);

		ck_assert_msg(rc == (chains[i].fault ? -EINVAL : 0), "%s: %s", chains[i].text,
			      fault.text);
		if (chains[i].fault)
			ck_assert_str_eq(fault.text, chains[i].fault);
		else
			wcs_chain_free(chain);
	}
	for (size_t i = 0; i < 3; i++, to += 232) {
		memset(to, 'k', 230);
		memcpy(to + 230, "%/", 2);
	}
	strcpy(to, "k/.to/l");
	ck_assert_int_eq(wcs_view_chain(s->table, text, &chain, &place, &fault), 0);
	wcs_chain_free(chain);
	ck_assert_int_eq(wcs_view_chain(s->table, "k/.from/x/%/.first/1", &chain, &place, &fault),
			 0);
	wcs_chain_free(chain);
	ck_assert(place.depth == 2 && place.len == 2 && memcmp(place.key, "k#", 2) == 0);
}
