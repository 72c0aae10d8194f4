/* SPDX-License-Identifier: MIT */
/* Policies: the canonical spelling is one, and means the same; policies hide what the model of the
 * unit tests says. */
#include "tests/fuzz/fuzz.h"

#include "store/policy/gc.h"
#include "tests/unit/gc_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct gc_fuzz {
	const uint8_t *data;
	size_t size;
};

static unsigned int gc_fuzz_pick(void *ctx, unsigned int n)
{
	struct gc_fuzz *fuzz = ctx;

	return fuzz_byte(&fuzz->data, &fuzz->size) % n;
}

static struct wcs_gc *gc_fuzz_parse(const char *text)
{
	struct wcs_gc *gc = NULL;

	FUZZ_CHECK(wcs_gc_parse(text, &gc, NULL) == 0);
	return gc;
}

/* The canonical spelling of a policy, which is its own. */
static char *gc_fuzz_canonical(const struct wcs_gc *gc)
{
	char *text = wcs_gc_format(gc), *again = NULL;

	FUZZ_CHECK(text && strlen(text) <= WCS_GC_TEXT_MAX);
	FUZZ_CHECK(wcs_gc_canonical(text, &again, NULL) == 0);
	FUZZ_CHECK(strcmp(text, again) == 0);
	free(again);
	return text;
}

/* What gc.h says of expiries, at some cells. */
static void gc_fuzz_expiries(const struct wcs_gc *gc, const struct wcs_gc *same)
{
	static const int64_t times[] = {0, 1, 999, 86400000000, INT64_MAX - 1, INT64_MAX};
	uint64_t last = wcs_gc_last_rank(gc);
	int64_t expiry, before;

	FUZZ_CHECK(last >= 1);
	for (uint64_t rank = 1; rank <= 6; rank++) {
		before = INT64_MIN;
		for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
			expiry = wcs_gc_expiry(gc, rank, times[i]);
			FUZZ_CHECK(expiry == wcs_gc_expiry(same, rank, times[i]));
			FUZZ_CHECK(expiry >= before);
			FUZZ_CHECK(wcs_gc_expiry(gc, rank + 1, times[i]) <= expiry);
			FUZZ_CHECK(rank < last || expiry == wcs_gc_expiry(gc, last, times[i]));
			FUZZ_CHECK(wcs_gc_hides(gc) || expiry == INT64_MAX);
			before = expiry;
		}
	}
}

static void gc_fuzz_text(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), *canonical;
	struct wcs_fault fault = {.text = ""};
	struct wcs_gc *gc = NULL, *same;
	int error = wcs_gc_parse(text, &gc, &fault);

	FUZZ_CHECK(error == 0 || error == -EINVAL);
	FUZZ_CHECK((error != 0) == (fault.text[0] != '\0'));
	FUZZ_CHECK(fault.column >= 0 && (size_t)fault.column <= strlen(text) + 1);
	free(text);
	if (error)
		return;
	canonical = gc_fuzz_canonical(gc);
	same = gc_fuzz_parse(canonical);
	gc_fuzz_expiries(gc, same);
	free(canonical);
	wcs_gc_free(gc);
	wcs_gc_free(same);
}

static void gc_fuzz_agrees(const struct gc_model *model, const struct wcs_gc *gc)
{
	for (uint64_t rank = 1; rank <= 7; rank++)
		for (int64_t ts = 0; ts <= 8000; ts += 500)
			FUZZ_CHECK((wcs_gc_expiry(gc, rank, ts) <= 7000) ==
				   gc_model_collects(model, rank, ts, 7000));
}

static void gc_fuzz_model(const uint8_t *data, size_t size)
{
	struct gc_fuzz fuzz = {data, size};
	struct gc_model_source source = {gc_fuzz_pick, &fuzz};
	struct gc_model *model = gc_model_new(&source, 5);
	char *text = NULL, *canonical;
	struct wcs_gc *gc;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	FUZZ_CHECK(out);
	gc_model_print(model, &source, out);
	fclose(out);
	if (len <= WCS_GC_TEXT_MAX / 2) { /* so short that it is no longer in canonical spelling */
		gc = gc_fuzz_parse(text);
		gc_fuzz_agrees(model, gc);
		canonical = gc_fuzz_canonical(gc);
		wcs_gc_free(gc);
		gc = gc_fuzz_parse(canonical);
		gc_fuzz_agrees(model, gc);
		wcs_gc_free(gc);
		free(canonical);
	}
	free(text);
	gc_model_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (fuzz_byte(&data, &size) % 2 == 0)
		gc_fuzz_text(data, size);
	else
		gc_fuzz_model(data, size);
	return 0;
}
