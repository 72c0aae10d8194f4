/* SPDX-License-Identifier: MIT */
/*
 * The tree that all peers of the table of ratios show, and its names. Each name is made of a
 * number, so that a server can answer from nothing, and a client knows its targets.
 *
 *   /t/w/NUMBER/f/a…d   rows of four cells
 *   /t/d/NUMBER         1,000 segments with many rows below them
 *   /t/c/f/NUMBER       one row with many columns
 *   /t/l/f/NUMBER       100 large cells, and /t/e/f/NUMBER 100 empty ones
 *   /t/b/f/0…0          one cell of up to 100 MiB
 *   /t/n/f              files that clients make, at first empty
 *
 * A place in it is a number of 64 bits, which is also its inode number: kind(8) top(8) index(40)
 * column(8).
 */
#ifndef BENCH_TREE_H
#define BENCH_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TREE_SEGMENTS 1000u
#define TREE_COLUMNS  4u /* of each row of w */
#define TREE_CELLS    100u
#define TREE_NAME     "%08u"
#define TREE_NAME_MAX 32u
#define TREE_VALUE    "53.41740\n" /* of each small cell */
#define TREE_TS	      INT64_C(1700000000000000)

struct tree {
	uint32_t rows;	/* of w */
	uint32_t below; /* rows below the segments of d, all together */
	uint32_t files; /* of c */
	uint64_t large; /* bytes of each cell of l */
	uint64_t big;	/* and of that of b */
};

enum tree_kind {
	TREE_NONE = 0,
	TREE_ROOT, /* also the number 1, the kernel's number of the root */
	TREE_TABLE,
	TREE_TOP,    /* a letter */
	TREE_ROW,    /* a number below w or d */
	TREE_FAMILY, /* f, below a row of w or a letter */
	TREE_CELL,
	TREE_MADE_DIRECTORY, /* by a client: a server need not know where */
	TREE_MADE_FILE
};

uint64_t tree_root(void);
enum tree_kind tree_kind_of(uint64_t place);
bool tree_is_directory(uint64_t place);
/* Bytes of the cell. */
uint64_t tree_size(const struct tree *tree, uint64_t place);
/* The bytes of a cell of that size: of a large one such as do not compress. */
void tree_value(char *value, size_t size);
/* How many children a directory has. */
uint32_t tree_count(const struct tree *tree, uint64_t place);
/* The i-th of them and its name, of TREE_NAME_MAX bytes. */
uint64_t tree_child(const struct tree *tree, uint64_t place, uint32_t i, char *name);
/* The child of that name; 0: there is none. */
uint64_t tree_lookup(const struct tree *tree, uint64_t place, const char *name);
/* A new place that a client makes. */
uint64_t tree_made(enum tree_kind kind, uint32_t number);

/* The numbers as one word of a command line, and back. */
#define TREE_TEXT_MAX 128u
void tree_format(const struct tree *tree, char *text);
bool tree_parse(struct tree *tree, const char *text);

#endif
