/* SPDX-License-Identifier: MIT */
/* The policies of a table's families, found by the family's name. */
#include "store/policy/view.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct view_policy {
	char family[WCS_FAMILY_NAME_MAX + 1];
	struct wcs_gc *gc;
};

struct wcs_policies {
	atomic_size_t holders;
	struct wcs_policies *owner; /* of each gc; NULL: these own them */
	bool hides_rows;
	size_t count;
	struct view_policy policies[]; /* by family */
};

/* NULL: no memory. */
static struct wcs_policies *policies_alloc(size_t count)
{
	struct wcs_policies *made = calloc(1, sizeof(*made) + count * sizeof(made->policies[0]));

	if (made)
		atomic_init(&made->holders, 1);
	return made;
}

static void policies_add(struct wcs_policies *policies, const char *family, struct wcs_gc *gc)
{
	struct view_policy *policy = &policies->policies[policies->count++];

	strcpy(policy->family, family);
	policy->gc = gc;
	policies->hides_rows |= wcs_gc_hides_newest(gc);
}

/* Gives them away, or NULL where there are none. */
static int policies_give(struct wcs_policies *made, struct wcs_policies **policies)
{
	*policies = made->count > 0 ? made : NULL;
	if (made->count == 0)
		wcs_policies_drop(made);
	return 0;
}

/* A policy begins with its family's name: name may be a policy, too. */
static int policy_compare(const void *name, const void *policy)
{
	return strcmp(name, ((const struct view_policy *)policy)->family);
}

int wcs_policies_new(const struct wcs_family *families, size_t count,
		     struct wcs_policies **policies)
{
	struct wcs_policies *made = policies_alloc(count);

	if (!made)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct wcs_gc *gc = NULL;
		int rc = families[i].gc ? wcs_gc_parse(families[i].gc, &gc, NULL) : 0;

		if (rc != 0) {
			wcs_policies_drop(made);
			return rc;
		}
		if (gc && wcs_gc_hides(gc))
			policies_add(made, families[i].name, gc);
		else
			wcs_gc_free(gc);
	}
	qsort(made->policies, made->count, sizeof(made->policies[0]), policy_compare);
	return policies_give(made, policies);
}

int wcs_policies_all(const char *family, struct wcs_policies **policies)
{
	struct wcs_policies *made = policies_alloc(1);
	struct wcs_gc *gc = wcs_gc_all();

	if (!made || !gc) {
		wcs_policies_drop(made);
		wcs_gc_free(gc);
		return -ENOMEM;
	}
	policies_add(made, family, gc);
	*policies = made;
	return 0;
}

int wcs_policies_some(struct wcs_policies *all, bool (*takes)(void *ctx, const char *family),
		      void *ctx, struct wcs_policies **policies)
{
	struct wcs_policies *made = policies_alloc(all->count);

	if (!made)
		return -ENOMEM;
	made->owner = wcs_policies_hold(all);
	for (size_t i = 0; i < all->count; i++)
		if (takes(ctx, all->policies[i].family))
			policies_add(made, all->policies[i].family, all->policies[i].gc);
	return policies_give(made, policies);
}

struct wcs_policies *wcs_policies_hold(struct wcs_policies *policies)
{
	if (policies)
		atomic_fetch_add(&policies->holders, 1);
	return policies;
}

void wcs_policies_drop(struct wcs_policies *policies)
{
	if (!policies || atomic_fetch_sub(&policies->holders, 1) != 1)
		return;
	for (size_t i = 0; i < policies->count && !policies->owner; i++)
		wcs_gc_free(policies->policies[i].gc);
	wcs_policies_drop(policies->owner);
	free(policies);
}

const struct wcs_gc *wcs_view_gc(const struct wcs_view *view, const char *family)
{
	const struct wcs_policies *policies = view->policies;
	const struct view_policy *found = NULL;

	if (policies)
		found = bsearch(family, policies->policies, policies->count,
				sizeof(policies->policies[0]), policy_compare);
	return found ? found->gc : NULL;
}

bool wcs_view_hides_rows(const struct wcs_view *view)
{
	return view->policies && view->policies->hides_rows;
}
