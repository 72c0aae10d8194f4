/* SPDX-License-Identifier: MIT */
/* What a store must be to be replaced by another. Private to store/. */
#ifndef WCS_STORE_REPLACE_H
#define WCS_STORE_REPLACE_H

#include "store/disk/directory.h"

/* Is there nothing in a store's directory, which is locked, but a store's own? -EEXIST: there is
 * something else, which fault names; -EPERM: one of its tables is protected; -EINVAL: the store is
 * of an engine that is not known. */
int store_replace_check(const struct directory *directory, struct wcs_fault *fault);

#endif
