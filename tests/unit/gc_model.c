/* SPDX-License-Identifier: MIT */
/* Policies once more: see gc_model.h. */
#include "tests/unit/gc_model.h"

#include <stdlib.h>

struct gc_model {
	char kind; /* n, v, a, & or | */
	long bound;
	struct gc_model *left, *right;
};

static unsigned int gc_model_pick(const struct gc_model_source *source, unsigned int n)
{
	return source->pick(source->ctx, n);
}

struct gc_model *gc_model_new(const struct gc_model_source *source, int depth)
{
	struct gc_model *m = calloc(1, sizeof(*m));

	if (!m)
		abort();
	m->kind = "nva&|"[gc_model_pick(source, depth > 0 ? 5 : 3)];
	m->bound = 1 + (long)gc_model_pick(source, 5);
	if (m->kind == '&' || m->kind == '|') {
		m->left = gc_model_new(source, depth - 1);
		m->right = gc_model_new(source, depth - 1);
	}
	return m;
}

void gc_model_free(struct gc_model *m)
{
	if (!m)
		return;
	gc_model_free(m->left);
	gc_model_free(m->right);
	free(m);
}

bool gc_model_collects(const struct gc_model *m, uint64_t rank, int64_t ts, int64_t now)
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

static void gc_model_print_leaf(const struct gc_model *m, FILE *out)
{
	if (m->kind == 'n')
		fputs("never", out);
	if (m->kind == 'v')
		fprintf(out, "maxversions=%ld", m->bound);
	if (m->kind == 'a')
		fprintf(out, "maxage=%ldms", m->bound);
}

void gc_model_print(const struct gc_model *m, const struct gc_model_source *source, FILE *out)
{
	bool parentheses = m->right && m->right->right;

	gc_model_print_leaf(m, out);
	if (!m->right)
		return;
	gc_model_print(m->left, source, out);
	if (m->kind == '&')
		fputs(gc_model_pick(source, 2) ? " and " : "&&", out);
	else
		fputs(gc_model_pick(source, 2) ? " or " : "||", out);
	if (!parentheses && gc_model_pick(source, 4) == 0)
		parentheses = true;
	fputs(parentheses ? "( " : "", out);
	gc_model_print(m->right, source, out);
	fputs(parentheses ? ")" : "", out);
}
