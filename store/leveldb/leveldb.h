/* SPDX-License-Identifier: MIT */
/* The engine on LevelDB, as the store sees it. */
#ifndef WCS_LEVELDB_LEVELDB_H
#define WCS_LEVELDB_LEVELDB_H

struct wcs_backend;

extern const struct wcs_backend wcs_backend_leveldb;

#endif
