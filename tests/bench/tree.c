/* SPDX-License-Identifier: MIT */
/* The tree that all peers of the table of ratios show: see tree.h. */
#include "tests/bench/tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char letters[] = "bcdelnw";

static uint64_t place_of(enum tree_kind kind, char top, uint32_t index, uint32_t column)
{
	return (uint64_t)kind << 56 | (uint64_t)(unsigned char)top << 48 | (uint64_t)index << 8 |
	       column;
}

static char top_of(uint64_t place)
{
	return (char)(place >> 48 & 0xff);
}

static uint32_t index_of(uint64_t place)
{
	return (uint32_t)(place >> 8);
}

uint64_t tree_root(void)
{
	return 1;
}

enum tree_kind tree_kind_of(uint64_t place)
{
	return place == 1 ? TREE_ROOT : (enum tree_kind)(place >> 56);
}

bool tree_is_directory(uint64_t place)
{
	enum tree_kind kind = tree_kind_of(place);

	return kind != TREE_CELL && kind != TREE_MADE_FILE;
}

uint64_t tree_size(const struct tree *tree, uint64_t place)
{
	if (tree_kind_of(place) != TREE_CELL)
		return 0;
	switch (top_of(place)) {
	case 'b':
		return tree->big;
	case 'l':
		return tree->large;
	case 'e':
		return 0;
	default:
		return strlen(TREE_VALUE);
	}
}

void tree_value(char *value, size_t size)
{
	uint64_t state = 88172645463325252u;

	for (size_t i = 0; i < size; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		value[i] = (char)(state >> 32);
	}
	if (size == strlen(TREE_VALUE))
		memcpy(value, TREE_VALUE, size);
}

static uint32_t family_count(const struct tree *tree, char top)
{
	switch (top) {
	case 'b':
		return 1;
	case 'c':
		return tree->files;
	case 'e':
	case 'l':
		return TREE_CELLS;
	case 'w':
		return TREE_COLUMNS;
	default:
		return 0;
	}
}

uint32_t tree_count(const struct tree *tree, uint64_t place)
{
	char top = top_of(place);

	switch (tree_kind_of(place)) {
	case TREE_ROOT:
		return 1;
	case TREE_TABLE:
		return (uint32_t)strlen(letters);
	case TREE_TOP:
		return top == 'w' ? tree->rows : top == 'd' ? TREE_SEGMENTS : 1;
	case TREE_ROW:
		return top == 'w';
	case TREE_FAMILY:
		return family_count(tree, top);
	default:
		return 0;
	}
}

uint64_t tree_child(const struct tree *tree, uint64_t place, uint32_t i, char *name)
{
	char top = top_of(place);

	(void)tree;
	switch (tree_kind_of(place)) {
	case TREE_ROOT:
		strcpy(name, "t");
		return place_of(TREE_TABLE, 0, 0, 0);
	case TREE_TABLE:
		snprintf(name, TREE_NAME_MAX, "%c", letters[i]);
		return place_of(TREE_TOP, letters[i], 0, 0);
	case TREE_TOP:
		if (top == 'w' || top == 'd') {
			snprintf(name, TREE_NAME_MAX, TREE_NAME, i);
			return place_of(TREE_ROW, top, i, 0);
		}
		strcpy(name, "f");
		return place_of(TREE_FAMILY, top, 0, 0);
	case TREE_ROW:
		strcpy(name, "f");
		return place_of(TREE_FAMILY, top, index_of(place), 0);
	default:
		if (top == 'w') {
			snprintf(name, TREE_NAME_MAX, "%c", 'a' + (char)i);
			return place_of(TREE_CELL, top, index_of(place), i);
		}
		snprintf(name, TREE_NAME_MAX, TREE_NAME, i);
		return place_of(TREE_CELL, top, i, 0);
	}
}

/* Which child of the directory a name would be; any number where it is none. */
static uint32_t number_of(uint64_t place, const char *name)
{
	enum tree_kind kind = tree_kind_of(place);
	const char *letter;

	if (kind == TREE_TABLE) {
		letter = name[0] ? strchr(letters, name[0]) : NULL;
		return letter ? (uint32_t)(letter - letters) : 0;
	}
	if (kind == TREE_FAMILY && top_of(place) == 'w')
		return (uint32_t)(unsigned char)name[0] - 'a';
	return (uint32_t)strtoul(name, NULL, 10);
}

uint64_t tree_lookup(const struct tree *tree, uint64_t place, const char *name)
{
	uint32_t i = number_of(place, name);
	char found[TREE_NAME_MAX];
	uint64_t child;

	if (i >= tree_count(tree, place))
		return 0;
	child = tree_child(tree, place, i, found);
	return strcmp(found, name) == 0 ? child : 0;
}

uint64_t tree_made(enum tree_kind kind, uint32_t number)
{
	return place_of(kind, 0, number, 0);
}

void tree_format(const struct tree *tree, char *text)
{
	snprintf(text, TREE_TEXT_MAX, "%u,%u,%u,%" PRIu64 ",%" PRIu64, tree->rows, tree->below,
		 tree->files, tree->large, tree->big);
}

bool tree_parse(struct tree *tree, const char *text)
{
	return sscanf(text, "%" SCNu32 ",%" SCNu32 ",%" SCNu32 ",%" SCNu64 ",%" SCNu64, &tree->rows,
		      &tree->below, &tree->files, &tree->large, &tree->big) == 5;
}
