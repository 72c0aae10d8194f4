/* SPDX-License-Identifier: MIT */
/* Policies: the canonical spelling is a policy, and means the same; policies hide the same cells as
 * a naive model. */
#include "tests/fuzz/fuzz.h"

#include "store/policy/gc.h"
#include "store/policy/view.h"

struct gc_fuzz {
	const uint8_t *data;
	size_t size;
};

static unsigned int gc_fuzz_pick(struct gc_fuzz *fuzz, unsigned int n)
{
	return fuzz_byte(&fuzz->data, &fuzz->size) % n;
}

/* ---- The model: a tree, evaluated from the definitions, written with varied spelling ------ */

struct gc_model {
	char kind; /* n, v, a, & or | */
	long bound;
	struct gc_model *left, *right;
};

static struct gc_model *gc_model_new(struct gc_fuzz *fuzz, int depth)
{
	struct gc_model *m = calloc(1, sizeof(*m));

	FUZZ_CHECK(m);
	m->kind = "nva&|"[gc_fuzz_pick(fuzz, depth > 0 ? 5 : 3)];
	m->bound = 1 + (long)gc_fuzz_pick(fuzz, 5);
	if (m->kind == '&' || m->kind == '|') {
		m->left = gc_model_new(fuzz, depth - 1);
		m->right = gc_model_new(fuzz, depth - 1);
	}
	return m;
}

static void gc_model_free(struct gc_model *m)
{
	if (!m)
		return;
	gc_model_free(m->left);
	gc_model_free(m->right);
	free(m);
}

static bool gc_model_collects(const struct gc_model *m, uint64_t rank, int64_t ts, int64_t now)
{
	bool left = m->left && gc_model_collects(m->left, rank, ts, now);
	bool right = m->right && gc_model_collects(m->right, rank, ts, now);

	switch (m->kind) {
	case 'v':
		return rank > (uint64_t)m->bound;
	case 'a':
		return now - ts > m->bound * 1000;
	case '&':
		return left && right;
	case '|':
		return left || right;
	default:
		return false;
	}
}

static void gc_model_print(const struct gc_model *m, struct gc_fuzz *fuzz, FILE *out)
{
	bool parentheses = m->right && m->right->right;

	if (m->kind == 'n')
		fputs("never", out);
	if (m->kind == 'v')
		fprintf(out, "maxversions=%ld", m->bound);
	if (m->kind == 'a')
		fprintf(out, "maxage=%ldms", m->bound);
	if (!m->right)
		return;
	gc_model_print(m->left, fuzz, out);
	if (m->kind == '&')
		fputs(gc_fuzz_pick(fuzz, 2) ? " and " : "&&", out);
	else
		fputs(gc_fuzz_pick(fuzz, 2) ? " or " : "||", out);
	if (!parentheses && gc_fuzz_pick(fuzz, 4) == 0)
		parentheses = true;
	fputs(parentheses ? "( " : "", out);
	gc_model_print(m->right, fuzz, out);
	fputs(parentheses ? ")" : "", out);
}

/* ---- The policies ------------------------------------------------------------------------- */

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

/* The number of newer cells is the least behind which a cell has an end, if it has none by itself.
 */
static void gc_fuzz_newer(const struct wcs_gc *gc, int64_t ts)
{
	uint64_t newer = wcs_gc_newer(gc, ts);

	if (wcs_gc_expiry(gc, 1, ts) != INT64_MAX)
		return;
	if (newer == 0)
		FUZZ_CHECK(wcs_gc_expiry(gc, UINT64_MAX, ts) == INT64_MAX);
	else
		FUZZ_CHECK(wcs_gc_expiry(gc, newer, ts) == INT64_MAX &&
			   wcs_gc_expiry(gc, newer + 1, ts) != INT64_MAX);
}

static void gc_fuzz_text(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), *canonical;
	struct wcs_fault fault = {.text = ""};
	struct wcs_gc *gc = NULL, *same;
	int error = wcs_gc_parse(text, &gc, &fault);
	static const int64_t times[] = {0, 1, 999, 86400000000, INT64_MAX - 1, INT64_MAX};
	uint64_t last;
	int64_t expiry, before;

	FUZZ_CHECK(error == 0 || error == -EINVAL);
	FUZZ_CHECK((error != 0) == (fault.text[0] != '\0'));
	FUZZ_CHECK(fault.column >= 0 && (size_t)fault.column <= strlen(text) + 1);
	free(text);
	if (error)
		return;
	canonical = gc_fuzz_canonical(gc);
	same = gc_fuzz_parse(canonical);
	/* The promises of gc.h about expiries, at some cells. */
	last = wcs_gc_last_rank(gc);
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
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		gc_fuzz_newer(gc, times[i]);
	free(canonical);
	wcs_gc_free(gc);
	wcs_gc_free(same);
}

/* As reads and the collector ask. The ranks and times go past every bound of a model's. */
static bool gc_fuzz_collects(const struct wcs_gc *gc, uint64_t rank, int64_t ts)
{
	struct wcs_view view = {.policies = NULL, .now = 7000};

	return wcs_view_hides(&view, wcs_view_expiry(gc, rank, ts));
}

static void gc_fuzz_agrees(const struct gc_model *model, const struct wcs_gc *gc)
{
	for (uint64_t rank = 1; rank <= 7; rank++)
		for (int64_t ts = 0; ts <= 8000; ts += 1000)
			FUZZ_CHECK(gc_fuzz_collects(gc, rank, ts) ==
				   gc_model_collects(model, rank, ts, 7000));
}

static bool gc_fuzz_within(const struct gc_model *model, const struct gc_model *other)
{
	for (uint64_t rank = 1; rank <= 7; rank++)
		for (int64_t ts = 0; ts <= 8000; ts += 1000)
			if (gc_model_collects(model, rank, ts, 7000) &&
			    !gc_model_collects(other, rank, ts, 7000))
				return false;
	return true;
}

/* The policy that the model is; NULL where its text may be too long in canonical spelling. */
static struct wcs_gc *gc_fuzz_of(const struct gc_model *model, struct gc_fuzz *fuzz)
{
	struct wcs_gc *gc = NULL, *again;
	char *text = NULL, *canonical;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	FUZZ_CHECK(out);
	gc_model_print(model, fuzz, out);
	fclose(out);
	if (len <= WCS_GC_TEXT_MAX / 2) {
		gc = gc_fuzz_parse(text);
		gc_fuzz_agrees(model, gc);
		canonical = gc_fuzz_canonical(gc);
		again = gc_fuzz_parse(canonical);
		gc_fuzz_agrees(model, again);
		wcs_gc_free(again);
		free(canonical);
	}
	free(text);
	return gc;
}

static void gc_fuzz_model(const uint8_t *data, size_t size)
{
	struct gc_fuzz fuzz = {data, size};
	struct gc_model *model = gc_model_new(&fuzz, 5), *other;
	struct wcs_gc *gc = gc_fuzz_of(model, &fuzz), *other_gc;

	other = gc_model_new(&fuzz, 3);
	other_gc = gc_fuzz_of(other, &fuzz);
	if (gc && other_gc) {
		FUZZ_CHECK(wcs_gc_is_within(gc, other_gc) == gc_fuzz_within(model, other));
		FUZZ_CHECK(wcs_gc_is_within(other_gc, gc) == gc_fuzz_within(other, model));
	}
	wcs_gc_free(gc);
	wcs_gc_free(other_gc);
	gc_model_free(model);
	gc_model_free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (fuzz_byte(&data, &size) % 2 == 0)
		gc_fuzz_text(data, size);
	else
		gc_fuzz_model(data, size);
	return 0;
}
