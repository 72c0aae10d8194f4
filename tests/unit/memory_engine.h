/* SPDX-License-Identifier: MIT */
/* An engine that keeps everything in memory and forgets it when it is closed. */
#ifndef MEMORY_ENGINE_H
#define MEMORY_ENGINE_H

#include "store/backend.h"

extern const struct wcs_backend wcs_backend_memory;

#endif
