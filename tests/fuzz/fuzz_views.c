/* SPDX-License-Identifier: MIT */
/* Arguments of views: any text is read or refused at one of its bytes, and a row key that is
 * spelled as KEY, in chunks, is read back. */
#include "tests/fuzz/fuzz.h"

#include "lib/names.h"
#include "store/chain/views.h"

static struct wcs_view_step step;

static void views_fuzz_argument(const struct wcs_view_name *view,
				const struct wcs_view_text *argument)
{
	struct wcs_fault fault = {.column = 0};
	int rc = wcs_view_parse(view, argument, &step, &fault);

	FUZZ_CHECK(rc == 0 || rc == -EINVAL || rc == -ENAMETOOLONG);
	if (rc == -EINVAL)
		FUZZ_CHECK(fault.text[0] && fault.column >= 1 &&
			   (size_t)fault.column <= argument->text.len + 1);
	if (rc == 0)
		FUZZ_CHECK(step.step.bytes.len <= WCS_ROW_KEY_MAX && step.step.time >= 0);
}

static void views_fuzz_key(struct wcs_slice row, const struct wcs_slice *key)
{
	static char joined[3 * WCS_ROW_KEY_MAX + 3];
	struct wcs_view_text argument = {.key = key, .delimiter = '#'};
	struct wcs_fault fault;
	size_t len = 0;
	bool more = true;
	char *text, *at;

	if (wcs_view_key(NULL, row, key, '#', &text) != 0)
		return;
	for (at = strtok(text, "/"); at; at = strtok(NULL, "/"))
		FUZZ_CHECK(more && names_join(NAMES_TEXT, joined, len, at, strlen(at), joined, &len,
					      &more) == 0);
	argument.text = (struct wcs_slice){joined, len};
	FUZZ_CHECK(!more &&
		   wcs_view_parse(wcs_view_find("from", 4), &argument, &step, &fault) == 0);
	FUZZ_CHECK(fuzz_same(step.step.bytes.data, step.step.bytes.len, row.data, row.len));
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int view = fuzz_byte(&data, &size), cut = fuzz_byte(&data, &size);
	struct wcs_slice key = {data, cut < size ? cut : size};
	struct wcs_view_text argument = {.text = {data, size}, .delimiter = '#'};

	views_fuzz_argument(wcs_view_name(view % 18), &argument);
	if (size > 0 && size <= WCS_ROW_KEY_MAX) {
		views_fuzz_key(argument.text, NULL);
		views_fuzz_key(argument.text, &key);
	}
	return 0;
}
