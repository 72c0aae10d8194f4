/* SPDX-License-Identifier: MIT */
/*
 * The rows that a key names, and a look at them: the engine's own, or else scans.
 *
 * A delimiter is an ASCII byte above NUL: a row's own range therefore ends before the range of the
 * rows below it starts, and the delimiter has a next byte.
 */
#include "store/engine/engine.h"

#include <errno.h>
#include <string.h>

/* ---- Subtrees ---------------------------------------------------------------------------- */

/* Writes a bound: the key and one more byte. */
static struct wcs_slice subtree_bound(unsigned char *to, const struct wcs_slice *key,
				      unsigned char last)
{
	if (key->len > 0)
		memcpy(to, key->data, key->len);
	to[key->len] = last;
	return (struct wcs_slice){to, key->len + 1};
}

int wcs_subtree_init(struct wcs_subtree *subtree, const struct wcs_slice *key,
		     unsigned char delimiter)
{
	struct wcs_range *own = &subtree->ranges[0], *below = &subtree->ranges[1];

	*own = *below = (struct wcs_range){.start = {NULL, 0}};
	subtree->count = 1;
	if (!key)
		return 0;
	if (key->len > WCS_ROW_KEY_MAX)
		return -ENAMETOOLONG;
	if (key->len > 0 && !key->data)
		return -EINVAL;
	own->end = subtree_bound(subtree->past, key, '\0');
	own->start = (struct wcs_slice){subtree->past, key->len};
	below->start = subtree_bound(subtree->start, key, delimiter);
	below->end = subtree_bound(subtree->end, key, (unsigned char)(delimiter + 1));
	subtree->count = 2;
	return 0;
}

/* ---- Keys -------------------------------------------------------------------------------- */

/* Whether the view shows a cell in the range; *expires falls to the time when it hides that cell.
 */
static int key_shows(const struct wcs_engine *engine, const struct wcs_view *view, uint32_t table,
		     const struct wcs_range *range, bool *shows, int64_t *expires)
{
	static const struct wcs_filter first = {.each = WCS_EACH_ROW};
	struct wcs_cell cell;
	int rc = engine_first(engine, view, table, range, 1, &first, &cell);

	*shows = rc > 0;
	if (rc > 0 && cell.info.expires < *expires)
		*expires = cell.info.expires;
	return rc < 0 ? rc : 0;
}

int engine_key(const struct wcs_engine *engine, const struct wcs_view *view, uint32_t table,
	       struct wcs_slice key, unsigned char delimiter, struct wcs_key_info *info)
{
	struct wcs_key_info known = {false, false, WCS_TS_MAX};
	struct wcs_subtree subtree;
	int rc;

	if (engine->backend->key_get != NULL && !wcs_view_hides_rows(view))
		return engine->backend->key_get(engine->db, table, key, delimiter, info);
	rc = wcs_subtree_init(&subtree, &key, delimiter);
	if (rc == 0 && key.len > 0)
		rc = key_shows(engine, view, table, &subtree.ranges[0], &known.row, &known.expires);
	if (rc == 0)
		rc = key_shows(engine, view, table, &subtree.ranges[1], &known.prefix,
			       &known.expires);
	if (rc == 0)
		*info = known;
	return rc;
}
