/* SPDX-License-Identifier: MIT */
/*
 * The check's temporary directory, in $TMPDIR, else /var/tmp:
 *
 *   view/    LevelDB's files as a database of its own: links to the tables, which LevelDB never
 *            writes to, and copies of CURRENT, MANIFEST and logs. Opening a database changes it,
 *            and a check without repair must not change the store.
 *   index/   a database that sorts the large values by id; the cells come in another order:
 *            value-id(8) number(8) -> ref(1) size(8) key-of-the-cell
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/disk/directory.h"
#include "store/leveldb/encoding/bytes.h"

static int scratch_fail(struct ldb_fsck *f, const char *path, int error)
{
	return wcs_fault_set(f->fsck->fault, error == ENOSPC ? -ENOSPC : -EIO, "%s: %s",
			     directory_name(path), strerror(error));
}

char *ldb_fsck_scratch_path(const struct ldb_fsck *f, const char *name)
{
	char *path = NULL;

	return asprintf(&path, "%s/%s", f->scratch, name) < 0 ? NULL : path;
}

/* ---- The view ---------------------------------------------------------------------------- */

static int scratch_copy(struct ldb_fsck *f, int from_dir, int to_dir, const char *name)
{
	int from = openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct stat st;
	int rc = from < 0 || to < 0 || fstat(from, &st) ? -errno : 0;

	if (!rc)
		rc = ldb_file_copy(from, 0, (uint64_t)st.st_size, to);
	if (rc)
		wcs_fault_set(f->fsck->fault, rc, "data/%s cannot be copied to %s: %s", name,
			      directory_name(f->scratch), strerror(-rc));
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	return rc;
}

static int scratch_entry(void *ctx, int from, const char *name)
{
	struct ldb_fsck *f = ctx;
	char *target;
	uint64_t number;
	enum ldb_file_kind kind = ldb_file_parse(name, &number);
	int rc = 0;

	if (kind == LDB_FILE_OTHER)
		return 0;
	if (kind != LDB_FILE_TABLE)
		return scratch_copy(f, from, f->view, name);
	if (asprintf(&target, "%s/%s", f->data, name) < 0)
		return -ENOMEM;
	if (symlinkat(target, f->view, name))
		rc = scratch_fail(f, name, errno);
	free(target);
	return rc;
}

static int scratch_view(struct ldb_fsck *f)
{
	char *path = ldb_fsck_scratch_path(f, "view");
	int from = openat(f->dir, DIRECTORY_DATA, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = -ENOMEM;

	f->view = -1;
	if (path && from >= 0 && mkdir(path, 0700) == 0)
		f->view = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (path)
		rc = f->view < 0 ? scratch_fail(f, path, errno)
				 : ldb_fsck_each_name(f, from, path, scratch_entry);
	if (from >= 0)
		close(from);
	if (f->view >= 0)
		close(f->view);
	free(path);
	return rc;
}

int ldb_fsck_scratch(struct ldb_fsck *f, bool view)
{
	const char *below = getenv("TMPDIR");
	char *path = NULL;

	if (!below || *below != '/')
		below = "/var/tmp";
	if (asprintf(&path, "%s/fsck.rowfs.XXXXXX", below) < 0)
		return -ENOMEM;
	if (!mkdtemp(path)) {
		int rc = scratch_fail(f, below, errno);

		free(path);
		return rc;
	}
	f->scratch = path;
	return view ? scratch_view(f) : 0;
}

void ldb_fsck_scratch_remove(struct ldb_fsck *f)
{
	if (!f->scratch)
		return;
	directory_remove(AT_FDCWD, f->scratch);
	free(f->scratch);
	f->scratch = NULL;
}

/* ---- The index --------------------------------------------------------------------------- */

int ldb_fsck_index(struct ldb_fsck *f)
{
	char *path = ldb_fsck_scratch_path(f, "index");
	int rc = path ? ldb_engine_open_raw(path, true, NULL, &f->index, f->fsck->fault) : -ENOMEM;

	free(path);
	return rc;
}

int ldb_fsck_refer(struct ldb_fsck *f, uint64_t id, enum ldb_fsck_ref ref, uint64_t size,
		   struct wcs_slice cell)
{
	unsigned char key[16], value[9 + LDB_KEY_MAX];
	char *text = NULL;
	int rc = 0;

	put_be64(key, id);
	put_be64(key + 8, f->refs++);
	value[0] = (unsigned char)ref;
	put_be64(value + 1, size);
	memcpy(value + 9, cell.data, cell.len);
	leveldb_put(f->index->db, f->index->write, (char *)key, sizeof(key), (char *)value,
		    9 + cell.len, &text);
	if (text)
		rc = ldb_db_tell(f->index, text, f->fsck->fault);
	return rc;
}

bool ldb_fsck_ref_get(leveldb_iterator_t *iter, struct ldb_fsck_entry *entry)
{
	const unsigned char *data;
	size_t len;

	if (!leveldb_iter_valid(iter))
		return false;
	data = ldb_iter_key(iter, &len);
	entry->id = get_be64(data);
	data = (const unsigned char *)leveldb_iter_value(iter, &len);
	entry->ref = (enum ldb_fsck_ref)data[0];
	entry->size = get_be64(data + 1);
	entry->cell = (struct wcs_slice){data + 9, len - 9};
	return true;
}
