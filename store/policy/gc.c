/* SPDX-License-Identifier: MIT */
/*
 * Garbage-collection policies, in the grammar of cbt setgcpolicy:
 *
 *   policy = term { ("and" | "&&" | "or" | "||") term }      left-associative, no precedence
 *   term   = "never" | "maxversions=" N | "maxage=" N ("ms"|"s"|"m"|"h"|"d") | "(" policy ")"
 *
 * A policy is a binary tree, its nodes in one array. Invariant: the right child of an operator is
 * never the same operator. a or (b or c) is stored as (a or b) or c, which means the same: one
 * meaning has one spelling.
 */
#include "store/policy/gc.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/backend.h"

#define GC_SPACES "\t\n\v\f\r "
/* Enough nodes: a term takes at least the 5 bytes of "never", an operator 2. */
#define GC_NODES_MAX (WCS_GC_TEXT_MAX / 3)

enum gc_kind { GC_NEVER, GC_MAXVERSIONS, GC_MAXAGE, GC_AND, GC_OR };

struct gc_node {
	enum gc_kind kind;
	int64_t bound;	    /* GC_MAXVERSIONS: cells; GC_MAXAGE: microseconds */
	size_t left, right; /* GC_AND, GC_OR */
};

struct wcs_gc {
	size_t root;
	size_t count;
	struct gc_node nodes[];
};

struct gc_input {
	const char *text;
	size_t pos;
	unsigned int depth;
	struct wcs_gc *gc;
	struct wcs_fault *fault;
};

/* Largest first. */
static const struct gc_unit {
	const char *name;
	int64_t microseconds;
} gc_units[] = {
	{"d", INT64_C(86400000000)}, {"h", INT64_C(3600000000)}, {"m", INT64_C(60000000)},
	{"s", INT64_C(1000000)},     {"ms", INT64_C(1000)},
};
#define GC_UNITS (sizeof(gc_units) / sizeof(gc_units[0]))

static int gc_fault(const struct gc_input *in, size_t pos, const char *why)
{
	wcs_fault_set(in->fault, -EINVAL, "%s", why);
	if (in->fault)
		in->fault->column = (int)pos + 1;
	return -EINVAL;
}

static size_t gc_add(struct wcs_gc *gc, struct gc_node node)
{
	gc->nodes[gc->count] = node;
	return gc->count++;
}

/* Joins two trees. A right tree of the same operator is taken apart from its left end on. */
static size_t gc_join(struct wcs_gc *gc, enum gc_kind kind, size_t left, size_t right)
{
	struct gc_node *node = &gc->nodes[right];

	if (node->kind != kind)
		return gc_add(gc, (struct gc_node){.kind = kind, .left = left, .right = right});
	node->left = gc_join(gc, kind, left, node->left);
	return right;
}

static size_t gc_word(const char *text)
{
	return strspn(text, "abcdefghijklmnopqrstuvwxyz");
}

static bool gc_is(const char *text, size_t len, const char *word)
{
	return len == strlen(word) && memcmp(text, word, len) == 0;
}

/* Reads the number at pos, and moves pos behind it. */
static int gc_number(struct gc_input *in, int64_t max, int64_t *number)
{
	size_t start = in->pos, digits = strspn(in->text + start, "0123456789");

	if (digits == 0)
		return gc_fault(in, start, "a number must follow '='");
	in->pos += digits;
	if (wcs_integer_parse(in->text + start, digits, number) || *number > max)
		return gc_fault(in, start, "the number is too large");
	return *number > 0 ? 0 : gc_fault(in, start, "the number must be at least 1");
}

static int gc_age(struct gc_input *in, int64_t *age)
{
	size_t start = in->pos, len;
	int64_t n;
	int rc = gc_number(in, INT64_MAX, &n);

	if (rc)
		return rc;
	len = gc_word(in->text + in->pos);
	for (size_t i = 0; i < GC_UNITS; i++) {
		if (!gc_is(in->text + in->pos, len, gc_units[i].name))
			continue;
		if (n > INT64_MAX / gc_units[i].microseconds)
			return gc_fault(in, start, "the number is too large");
		*age = n * gc_units[i].microseconds;
		in->pos += len;
		return 0;
	}
	return gc_fault(in, in->pos, "a unit must follow the number: ms, s, m, h or d");
}

static int gc_leaf(struct gc_input *in, size_t *tree)
{
	const char *text = in->text + in->pos;
	size_t len = gc_word(text), start = in->pos;
	struct gc_node node = {.kind = GC_NEVER};
	int rc = 0;

	in->pos += len;
	if (gc_is(text, len, "maxversions") && text[len] == '=') {
		node.kind = GC_MAXVERSIONS;
		in->pos++;
		rc = gc_number(in, INT_MAX, &node.bound);
	} else if (gc_is(text, len, "maxage") && text[len] == '=') {
		node.kind = GC_MAXAGE;
		in->pos++;
		rc = gc_age(in, &node.bound);
	} else if (!gc_is(text, len, "never")) {
		return gc_fault(in, start,
				"expected never, maxversions=N, maxage=N(ms|s|m|h|d) or '('");
	}
	if (rc)
		return rc;
	if (in->text[in->pos] && !strchr(GC_SPACES "()&|", in->text[in->pos]))
		return gc_fault(in, in->pos, "expected and, or, ')' or the end");
	*tree = gc_add(in->gc, node);
	return 0;
}

static int gc_expression(struct gc_input *in, size_t *tree);

static int gc_term(struct gc_input *in, size_t *tree)
{
	size_t open, inner;
	int rc;

	in->pos += strspn(in->text + in->pos, GC_SPACES);
	if (in->text[in->pos] != '(')
		return gc_leaf(in, tree);
	open = in->pos++;
	if (in->depth == WCS_GC_DEPTH_MAX)
		return gc_fault(in, open, "too many parentheses inside each other");
	in->depth++;
	rc = gc_expression(in, &inner);
	in->depth--;
	if (rc)
		return rc;
	if (in->text[in->pos] != ')')
		return gc_fault(in, in->pos, "expected and, or or ')'");
	in->pos++;
	*tree = inner;
	return 0;
}

static int gc_expression(struct gc_input *in, size_t *tree)
{
	size_t left, right;
	int rc = gc_term(in, &left);

	while (!rc) {
		const char *text = in->text + in->pos + strspn(in->text + in->pos, GC_SPACES);
		size_t len = gc_word(text);
		enum gc_kind kind;

		in->pos = (size_t)(text - in->text);
		if (len == 0 && (strncmp(text, "&&", 2) == 0 || strncmp(text, "||", 2) == 0))
			len = 2;
		if (gc_is(text, len, "and") || gc_is(text, len, "&&")) {
			kind = GC_AND;
		} else if (gc_is(text, len, "or") || gc_is(text, len, "||")) {
			kind = GC_OR;
		} else {
			*tree = left;
			break;
		}
		in->pos += len;
		rc = gc_term(in, &right);
		if (!rc)
			left = gc_join(in->gc, kind, left, right);
	}
	return rc;
}

int wcs_gc_parse(const char *text, struct wcs_gc **gc, struct wcs_fault *fault)
{
	struct gc_input in = {.text = text, .fault = fault};
	char *spelling = NULL;
	int rc;

	if (strnlen(text, WCS_GC_TEXT_MAX + 1) > WCS_GC_TEXT_MAX)
		return wcs_fault_set(fault, -EINVAL, "longer than %u bytes", WCS_GC_TEXT_MAX);
	in.gc = malloc(sizeof(*in.gc) + GC_NODES_MAX * sizeof(in.gc->nodes[0]));
	if (!in.gc)
		return wcs_fault_set(fault, -ENOMEM, "no memory");
	in.gc->count = 0;
	rc = gc_expression(&in, &in.gc->root);
	if (!rc && text[in.pos])
		rc = gc_fault(&in, in.pos, "expected and, or or the end");
	if (!rc) {
		spelling = wcs_gc_format(in.gc);
		if (!spelling)
			rc = wcs_fault_set(fault, -ENOMEM, "no memory");
		else if (strlen(spelling) > WCS_GC_TEXT_MAX)
			rc = wcs_fault_set(fault, -EINVAL, "longer than %u bytes", WCS_GC_TEXT_MAX);
	}
	free(spelling);
	if (!rc)
		*gc = in.gc;
	else
		wcs_gc_free(in.gc);
	return rc;
}

struct wcs_gc *wcs_gc_all(void)
{
	struct wcs_gc *gc = calloc(1, sizeof(*gc) + sizeof(gc->nodes[0]));

	if (gc)
		gc_add(gc, (struct gc_node){.kind = GC_MAXVERSIONS, .bound = 0});
	return gc;
}

void wcs_gc_free(struct wcs_gc *gc)
{
	free(gc);
}

static void gc_print(const struct wcs_gc *gc, size_t at, FILE *out)
{
	const struct gc_node *node = &gc->nodes[at];
	size_t unit = 0;
	bool nested;

	switch (node->kind) {
	case GC_NEVER:
		fputs("never", out);
		break;
	case GC_MAXVERSIONS:
		fprintf(out, "maxversions=%" PRId64, node->bound);
		break;
	case GC_MAXAGE:
		while (node->bound % gc_units[unit].microseconds)
			unit++;
		fprintf(out, "maxage=%" PRId64 "%s", node->bound / gc_units[unit].microseconds,
			gc_units[unit].name);
		break;
	case GC_AND:
	case GC_OR:
		gc_print(gc, node->left, out);
		nested = gc->nodes[node->right].kind >= GC_AND;
		fputs(node->kind == GC_AND ? " and " : " or ", out);
		fputs(nested ? "(" : "", out);
		gc_print(gc, node->right, out);
		fputs(nested ? ")" : "", out);
		break;
	}
}

char *wcs_gc_format(const struct wcs_gc *gc)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	gc_print(gc, gc->root, out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

int wcs_gc_canonical(const char *text, char **canonical, struct wcs_fault *fault)
{
	struct wcs_gc *gc;
	char *spelling;
	int rc = wcs_gc_parse(text, &gc, fault);

	if (rc)
		return rc;
	spelling = wcs_gc_format(gc);
	wcs_gc_free(gc);
	if (!spelling)
		return wcs_fault_set(fault, -ENOMEM, "no memory");
	*canonical = spelling;
	return 0;
}

static int64_t gc_node_expiry(const struct wcs_gc *gc, size_t at, uint64_t rank, int64_t ts)
{
	const struct gc_node *node = &gc->nodes[at];
	int64_t left, right;

	switch (node->kind) {
	case GC_NEVER:
		return INT64_MAX;
	case GC_MAXVERSIONS:
		return rank > (uint64_t)node->bound ? INT64_MIN : INT64_MAX;
	case GC_MAXAGE:
		/* A cell is too old when it is older than the bound. */
		return ts > INT64_MAX - node->bound - 1 ? INT64_MAX : ts + node->bound + 1;
	case GC_AND:
	case GC_OR:
		break;
	}
	left = gc_node_expiry(gc, node->left, rank, ts);
	right = gc_node_expiry(gc, node->right, rank, ts);
	return (node->kind == GC_AND) == (left > right) ? left : right;
}

int64_t wcs_gc_expiry(const struct wcs_gc *gc, uint64_t rank, int64_t ts)
{
	return gc_node_expiry(gc, gc->root, rank, ts);
}

uint64_t wcs_gc_last_rank(const struct wcs_gc *gc)
{
	uint64_t last = 1;

	for (size_t i = 0; i < gc->count; i++) {
		const struct gc_node *node = &gc->nodes[i];

		if (node->kind == GC_MAXVERSIONS && (uint64_t)node->bound + 1 > last)
			last = (uint64_t)node->bound + 1;
	}
	return last;
}

uint64_t wcs_gc_newer(const struct wcs_gc *gc, int64_t ts)
{
	uint64_t least = 0;

	for (size_t i = 0; i < gc->count; i++) {
		uint64_t bound = (uint64_t)gc->nodes[i].bound;

		if (gc->nodes[i].kind == GC_MAXVERSIONS && (least == 0 || bound < least) &&
		    wcs_gc_expiry(gc, bound + 1, ts) != INT64_MAX)
			least = bound;
	}
	return least;
}

/* Two policies that agree on the first rank behind each bound agree on all ranks. Expiries of one
 * rank are sums of the timestamp and a bound, so one timestamp stands for all. */
bool wcs_gc_is_within(const struct wcs_gc *gc, const struct wcs_gc *other)
{
	bool within = wcs_gc_expiry(gc, 1, 0) >= wcs_gc_expiry(other, 1, 0);

	for (size_t i = 0; within && i < gc->count + other->count; i++) {
		const struct gc_node *node =
			i < gc->count ? &gc->nodes[i] : &other->nodes[i - gc->count];
		uint64_t rank = node->kind == GC_MAXVERSIONS ? (uint64_t)node->bound + 1 : 1;

		within = wcs_gc_expiry(gc, rank, 0) >= wcs_gc_expiry(other, rank, 0);
	}
	return within;
}

bool wcs_gc_hides(const struct wcs_gc *gc)
{
	return wcs_gc_expiry(gc, wcs_gc_last_rank(gc), 0) != INT64_MAX;
}

bool wcs_gc_hides_newest(const struct wcs_gc *gc)
{
	return wcs_gc_expiry(gc, 1, 0) != INT64_MAX;
}
