/* SPDX-License-Identifier: MIT */
/* Makes the tree of tree.h: as a store, and as plain files. */
#ifndef BENCH_FILL_H
#define BENCH_FILL_H

#include "tests/bench/tree.h"

/* A new store, compacted, so that no later measurement includes compactions of the filled data. */
void fill_store(const char *path, const struct tree *tree);
/* Without the rows below d's segments, which no listing of them meets. */
void fill_files(const char *directory, const struct tree *tree);

#endif
