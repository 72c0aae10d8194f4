/* SPDX-License-Identifier: MIT */
/*
 * Directories that stand where a file of LevelDB's belongs: somebody made them, and LevelDB cannot
 * go on there. One goes to the quarantine with all that is in it; what the file held is then a
 * file that is missing, and mended as such (fsck_files.c).
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "store/disk/directory.h"

struct places {
	struct ldb_fsck *f;
	bool left; /* one that is told, and still there */
	int err;
};

static bool places_may(struct ldb_fsck *f, const char *name)
{
	char what[192];

	snprintf(what, sizeof(what),
		 "There is a directory where the file data/%.80s belongs. Move it to the "
		 "quarantine, with all that is in it?",
		 name);
	return wcs_fsck_agreed_one(f->fsck, what);
}

/* *left: why it is still there, though it has been copied; 0: it is not. */
static int places_move(struct wcs_fsck *fsck, int dir, const char *name, int *left)
{
	int err = wcs_quarantine_directory(fsck->quarantine, dir, name);

	if (err)
		return err;
	*left = directory_remove(dir, name);
	if (!*left && fsync(dir))
		*left = -EIO;
	return 0;
}

static int places_one(void *ctx, int dir, const char *name)
{
	struct places *places = ctx;
	struct wcs_fsck *fsck = places->f->fsck;
	char what[128], done[128];
	int left = 0;
	bool may;

	if (!ldb_file_owns(name) || !directory_is_place(dir, name))
		return 0;
	may = places_may(places->f, name);
	if (may)
		places->err = places_move(fsck, dir, name, &left);
	if (places->err)
		return places->err;
	snprintf(what, sizeof(what), "it is a directory where a file belongs%s%s",
		 left ? "; move it away by hand: " : "", left ? strerror(-left) : "");
	snprintf(done, sizeof(done), "moved to the quarantine, files/%.80s", name);
	wcs_fsck_found(fsck, WCS_FOUND_DAMAGE, what, may && !left ? done : NULL, "data/%s", name);
	places->left |= !may || left;
	return 0;
}

int ldb_fsck_places(struct ldb_fsck *f, bool *left)
{
	struct places places = {.f = f};
	int dir = open(f->data, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int err = dir < 0 ? -EIO : directory_each(dir, places_one, &places);

	if (err && !places.err)
		wcs_fault_set(f->fsck->fault, err, "%s: %s", directory_name(f->data),
			      strerror(dir < 0 ? errno : -err));
	if (dir >= 0)
		close(dir);
	if (!err)
		*left = places.left;
	return err;
}
