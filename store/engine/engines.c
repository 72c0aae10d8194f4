/* SPDX-License-Identifier: MIT */
/* The engines of this program. The first one is that of every new store. */
#include "store/backend.h"

#include <string.h>

static const struct wcs_backend *const backends[] = {&wcs_backend_leveldb};

const struct wcs_backend *wcs_backend_find(const char *name)
{
	if (name == NULL)
		return backends[0];
	for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++)
		if (strcmp(backends[i]->name, name) == 0)
			return backends[i];
	return NULL;
}
