/* SPDX-License-Identifier: MIT */
/* Views: which policy goes with which family. */
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
	bool hides_rows;
	size_t count;
	struct view_policy policies[]; /* by family */
};

static void policies_free(struct wcs_policies *policies)
{
	for (size_t i = 0; i < policies->count; i++)
		wcs_gc_free(policies->policies[i].gc);
	free(policies);
}

static int policies_add(struct wcs_policies *policies, const struct wcs_family *family)
{
	struct view_policy *policy = &policies->policies[policies->count];
	int rc = wcs_gc_parse(family->gc, &policy->gc, NULL);

	if (rc != 0)
		return rc;
	if (!wcs_gc_hides(policy->gc)) {
		wcs_gc_free(policy->gc);
		return 0;
	}
	strcpy(policy->family, family->name);
	policies->hides_rows |= wcs_gc_hides_newest(policy->gc);
	policies->count++;
	return 0;
}

int wcs_policies_new(const struct wcs_family *const *families, size_t count,
		     struct wcs_policies **policies)
{
	struct wcs_policies *made = calloc(1, sizeof(*made) + count * sizeof(made->policies[0]));
	int rc = made ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = policies_add(made, families[i]);
	if (rc == 0 && made->count > 0) {
		atomic_init(&made->holders, 1);
		*policies = made;
		return 0;
	}
	if (made)
		policies_free(made);
	if (rc == 0)
		*policies = NULL;
	return rc;
}

int wcs_policies_all(const char *family, struct wcs_policies **policies)
{
	struct wcs_policies *made = calloc(1, sizeof(*made) + sizeof(made->policies[0]));
	struct wcs_gc *gc = wcs_gc_all();

	if (!made || !gc) {
		free(made);
		wcs_gc_free(gc);
		return -ENOMEM;
	}
	atomic_init(&made->holders, 1);
	made->hides_rows = true;
	made->count = 1;
	strcpy(made->policies[0].family, family);
	made->policies[0].gc = gc;
	*policies = made;
	return 0;
}

struct wcs_policies *wcs_policies_hold(struct wcs_policies *policies)
{
	if (policies)
		atomic_fetch_add(&policies->holders, 1);
	return policies;
}

void wcs_policies_drop(struct wcs_policies *policies)
{
	if (policies && atomic_fetch_sub(&policies->holders, 1) == 1)
		policies_free(policies);
}

static int policy_compare(const void *name, const void *policy)
{
	return strcmp(name, ((const struct view_policy *)policy)->family);
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
