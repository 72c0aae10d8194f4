/* SPDX-License-Identifier: MIT */
/* Makes the tree of tree.h: through store.h, in batches, and with plain calls. */
#include "tests/bench/fill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/leveldb/engine.h"
#include "store/table/table.h"
#include "tests/bench/peer.h"

enum { GROUP = 500 };

static void must(int rc, const char *what)
{
	if (rc != 0)
		peer_die(what, -rc);
}

static struct wcs_slice text(const char *bytes)
{
	return (struct wcs_slice){bytes, strlen(bytes)};
}

/* ---- A store ----------------------------------------------------------------------------- */

struct fill {
	const struct tree *tree;
	struct wcs_table *table;
	struct wcs_entry entries[GROUP];
	char rows[GROUP][64], names[GROUP][TREE_COLUMNS][TREE_NAME_MAX];
	size_t count;
};

static void fill_apply(struct fill *fill)
{
	size_t applied;

	must(wcs_rows_mutate(fill->table, fill->entries, fill->count, &applied), "rows");
	for (size_t i = 0; i < fill->count; i++)
		wcs_mutation_free(fill->entries[i].mutation);
	fill->count = 0;
}

/* The row's cells in the columns that fill->names has for it, from the next entry on. */
static void fill_add(struct fill *fill, unsigned int columns, struct wcs_slice value)
{
	struct wcs_entry *entry = &fill->entries[fill->count];

	entry->row = text(fill->rows[fill->count]);
	entry->mutation = wcs_mutation_new();
	if (!entry->mutation)
		peer_die("rows", ENOMEM);
	for (unsigned int i = 0; i < columns; i++)
		must(wcs_mutation_set(entry->mutation, "f", text(fill->names[fill->count][i]),
				      TREE_TS, value),
		     "a cell");
	if (++fill->count == GROUP)
		fill_apply(fill);
}

static void fill_rows(struct fill *fill)
{
	for (uint32_t row = 0; row < fill->tree->rows; row++) {
		snprintf(fill->rows[fill->count], sizeof(fill->rows[0]), "w#" TREE_NAME, row);
		for (unsigned int i = 0; i < TREE_COLUMNS; i++)
			snprintf(fill->names[fill->count][i], TREE_NAME_MAX, "%c", 'a' + (int)i);
		fill_add(fill, TREE_COLUMNS, text(TREE_VALUE));
	}
}

static void fill_below(struct fill *fill)
{
	uint32_t each = (fill->tree->below + TREE_SEGMENTS - 1) / TREE_SEGMENTS;

	for (uint32_t row = 0; row < each * TREE_SEGMENTS; row++) {
		snprintf(fill->rows[fill->count], sizeof(fill->rows[0]), "d#" TREE_NAME "#%06u",
			 row / each, row % each);
		strcpy(fill->names[fill->count][0], "a");
		fill_add(fill, 1, text(TREE_VALUE));
	}
}

static void fill_columns(struct fill *fill, const char *row, uint32_t count, uint64_t size)
{
	char *value = malloc(size + 1);

	if (!value)
		peer_die("a value", ENOMEM);
	tree_value(value, size);
	for (uint32_t i = 0; i < count; i++) {
		strcpy(fill->rows[fill->count], row);
		snprintf(fill->names[fill->count][0], TREE_NAME_MAX, TREE_NAME, i);
		fill_add(fill, 1, (struct wcs_slice){value, size});
		if (size > WCS_VALUE_INLINE)
			fill_apply(fill);
	}
	if (fill->count > 0)
		fill_apply(fill);
	free(value);
}

void fill_store(const char *path, const struct tree *tree)
{
	struct wcs_options options = {.gc_interval = 0};
	struct fill *fill = calloc(1, sizeof(*fill));
	struct wcs_store *store;
	struct ldb *db;

	if (!fill)
		peer_die(path, ENOMEM);
	fill->tree = tree;
	must(wcs_store_create(path, NULL, false, NULL, NULL), path);
	must(wcs_store_open(path, &options, &store, NULL), path);
	must(wcs_table_create(store, "t"), "a table");
	must(wcs_table_open(store, "t", &fill->table), "a table");
	must(wcs_family_create(fill->table, "f"), "a family");
	fill_rows(fill);
	fill_below(fill);
	fill_columns(fill, "c", tree->files, strlen(TREE_VALUE));
	fill_columns(fill, "e", TREE_CELLS, 0);
	fill_columns(fill, "l", TREE_CELLS, tree->large);
	fill_columns(fill, "b", 1, tree->big);
	db = store->engine.db;
	leveldb_compact_range(db->db, NULL, 0, NULL, 0);
	wcs_table_close(fill->table);
	wcs_store_close(store);
	free(fill);
}

/* ---- Plain files ------------------------------------------------------------------------- */

static void file_make(int dir, const char *name, uint64_t size)
{
	static char block[1 << 16];
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0644);

	if (fd < 0)
		peer_die(name, errno);
	tree_value(block, size < sizeof(block) ? size : sizeof(block));
	while (size > 0) {
		size_t piece = size < sizeof(block) ? size : sizeof(block);

		if (write(fd, block, piece) != (ssize_t)piece)
			peer_die(name, errno);
		size -= piece;
	}
	close(fd);
}

/* Everything at and below a place, whose directory is open as dir. */
static void files_make(const struct tree *tree, int dir, uint64_t place)
{
	char name[TREE_NAME_MAX];
	int below;

	for (uint32_t i = 0; i < tree_count(tree, place); i++) {
		uint64_t child = tree_child(tree, place, i, name);

		if (!tree_is_directory(child)) {
			file_make(dir, name, tree_size(tree, child));
			continue;
		}
		if (mkdirat(dir, name, 0755) != 0)
			peer_die(name, errno);
		below = openat(dir, name, O_RDONLY | O_DIRECTORY);
		if (below < 0)
			peer_die(name, errno);
		files_make(tree, below, child);
		close(below);
	}
}

void fill_files(const char *directory, const struct tree *tree)
{
	int dir = open(directory, O_RDONLY | O_DIRECTORY);

	if (dir < 0)
		peer_die(directory, errno);
	files_make(tree, dir, tree_root());
	close(dir);
}
