/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes the copy of the tables' descriptions:
 *
 *   TABLES   "rowfs tables" 01 next-table(4), for each table  table(4) length(4) record, crc(4)
 *
 * Tables are sorted by id. The crc is the CRC-32C of all bytes before it. A new file replaces the
 * old one in one step, so a reader sees a whole one or none.
 */
#include "store/leveldb/files/copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/disk/crc.h"
#include "store/disk/directory.h"
#include "store/leveldb/encoding/bytes.h"

#define COPY_TITLE "rowfs tables\x01"
#define COPY_HEAD  (sizeof(COPY_TITLE) - 1 + 4)
#define COPY_MAX   (64u << 20) /* bytes; a store that needs more has no copy */

/* ---- Reading ----------------------------------------------------------------------------- */

bool ldb_copy_next(const struct ldb_copy *copy, size_t *at, uint32_t *id, struct wcs_slice *record)
{
	const unsigned char *entry;
	size_t left;

	if (copy->next == 0)
		return false;
	if (*at == 0)
		*at = COPY_HEAD;
	entry = copy->bytes.data + *at;
	left = copy->bytes.len - 4 - *at;
	if (left < 8 || get_be32(entry + 4) > left - 8)
		return false;
	*id = get_be32(entry);
	*record = (struct wcs_slice){entry + 8, get_be32(entry + 4)};
	*at += 8 + record->len;
	return true;
}

/* Sets copy->next. */
static bool copy_is_good(struct ldb_copy *copy)
{
	const unsigned char *data = copy->bytes.data;
	size_t len = copy->bytes.len, at = COPY_HEAD;
	struct wcs_slice record;
	uint32_t id, last = 0;

	if (len < COPY_HEAD + 4 || memcmp(data, COPY_TITLE, sizeof(COPY_TITLE) - 1) != 0 ||
	    wcs_crc_extend(0, data, len - 4) != get_be32(data + len - 4))
		return false;
	copy->next = get_be32(data + COPY_HEAD - 4);
	for (; ldb_copy_next(copy, &at, &id, &record); last = id)
		if (id <= last)
			return false;
	return copy->next != 0 && at == len - 4;
}

int ldb_copy_read(int store, struct ldb_copy *copy)
{
	struct ldb_copy read = {.next = 0};
	char *data = NULL;
	int rc = directory_load(store, DIRECTORY_TABLES, COPY_MAX, &data, &read.bytes.len);

	if (rc)
		return rc == -ENOENT || directory_is_barred(-rc) ? rc : -EIO;
	read.bytes.data = (unsigned char *)data;
	if (!copy_is_good(&read)) {
		ldb_copy_free(&read);
		return -EIO;
	}
	*copy = read;
	return 0;
}

void ldb_copy_free(struct ldb_copy *copy)
{
	free(copy->bytes.data);
	*copy = (struct ldb_copy){.next = 0};
}

/* ---- Writing ----------------------------------------------------------------------------- */

static int copy_open_store(const struct ldb *db)
{
	return openat(db->dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Builds the copy of LevelDB's descriptions. */
static int copy_make(struct ldb *db, struct ldb_buffer *bytes)
{
	struct ldb_id_key first = ldb_key_description(0);
	leveldb_iterator_t *iter;
	unsigned char number[8];
	uint32_t next, id = 0;
	int rc = ldb_db_next_table(db, &next);

	if (rc)
		return rc;
	put_be32(number, next);
	rc = ldb_buffer_append(bytes, COPY_TITLE, sizeof(COPY_TITLE) - 1);
	if (!rc)
		rc = ldb_buffer_append(bytes, number, 4);
	iter = ldb_db_iterate(db);
	ldb_iter_seek_id(iter, first);
	for (; !rc && ldb_iter_in_space(iter, first); leveldb_iter_next(iter)) {
		size_t len;
		const char *data = leveldb_iter_key(iter, &len);

		if (!ldb_key_description_decode(data, len, &id))
			rc = -EIO;
		data = leveldb_iter_value(iter, &len);
		put_be32(number, id);
		put_be32(number + 4, (uint32_t)len);
		if (!rc)
			rc = ldb_buffer_append(bytes, number, 8);
		if (!rc)
			rc = ldb_buffer_append(bytes, data, len);
	}
	if (!rc)
		rc = ldb_db_iter_error(db, iter);
	leveldb_iter_destroy(iter);
	if (rc)
		return rc;
	put_be32(number, wcs_crc_extend(0, bytes->data, bytes->len));
	rc = ldb_buffer_append(bytes, number, 4);
	return rc || bytes->len <= COPY_MAX ? rc : -EFBIG;
}

int ldb_copy_remove(struct ldb *db)
{
	int store = copy_open_store(db), rc = 0;
	struct stat st;

	if (store < 0)
		return ldb_db_fail(db, directory_error(errno), strerror(errno));
	if (unlinkat(store, DIRECTORY_TABLES, 0) != 0 &&
	    fstatat(store, DIRECTORY_TABLES, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
		rc = directory_error(errno);
	else if (fsync(store) != 0) /* also if a failed write removed it before */
		rc = directory_error(errno);
	close(store);
	return rc ? ldb_db_fail(db, rc, "an old " DIRECTORY_TABLES " cannot be removed") : 0;
}

void ldb_copy_write(struct ldb *db)
{
	struct ldb_copy old = {.next = 0};
	struct ldb_buffer bytes = {0};
	int store = copy_open_store(db), rc = store < 0 ? -errno : copy_make(db, &bytes);

	if (!rc && (ldb_copy_read(store, &old) != 0 || old.bytes.len != bytes.len ||
		    memcmp(old.bytes.data, bytes.data, bytes.len) != 0)) {
		rc = directory_replace(store, DIRECTORY_TABLES_NEW, DIRECTORY_TABLES, bytes.data,
				       bytes.len);
		if (rc)
			unlinkat(store, DIRECTORY_TABLES, 0);
	}
	ldb_copy_free(&old);
	if (rc)
		ldb_db_log(db, WCS_LOG_WARNING,
			   DIRECTORY_TABLES ": the copy of the tables' descriptions cannot be "
					    "written: %s; the next mount tries again",
			   strerror(-rc));
	if (store >= 0)
		close(store);
	free(bytes.data);
}

/* ---- Damage ------------------------------------------------------------------------------ */

int ldb_copy_has_cells(struct ldb *db, uint32_t id, bool *has)
{
	leveldb_iterator_t *iter = ldb_db_iterate(db);
	struct ldb_key first;
	int rc;

	ldb_key_table(&first, id);
	ldb_iter_seek(iter, &first);
	*has = ldb_iter_within(iter, &first);
	rc = ldb_db_iter_error(db, iter);
	leveldb_iter_destroy(iter);
	return rc;
}

/* A new table would take the place of one with that number. */
static int copy_check_counter(struct ldb *db, uint32_t next)
{
	leveldb_iterator_t *iter = ldb_db_iterate(db);
	int rc = 0;

	ldb_iter_seek_id(iter, ldb_key_description(next));
	if (ldb_iter_in_space(iter, ldb_key_description(0)))
		rc = ldb_db_damaged(db, "the counter of tables is too low");
	return ldb_db_iter_end(db, iter, rc);
}

int ldb_copy_open(struct ldb *db)
{
	int store = copy_open_store(db);
	struct ldb_copy copy = {.next = 0};
	int rc = store < 0 ? -errno : ldb_copy_read(store, &copy);
	struct wcs_slice record;
	unsigned char *value;
	uint32_t next = 0, id;
	bool lost = false;
	size_t at = 0, len;

	if (store >= 0)
		close(store);
	if (rc != -ENOMEM) /* another error: there is no copy to compare */
		rc = ldb_db_next_table(db, &next);
	if (!rc)
		rc = copy_check_counter(db, next);
	while (!rc && !lost && ldb_copy_next(&copy, &at, &id, &record)) {
		rc = ldb_db_get(db, ldb_key_description(id), &value, &len);
		if (rc)
			break;
		if (!value)
			rc = ldb_copy_has_cells(db, id, &lost);
		leveldb_free(value);
	}
	if (!rc && (lost || next < copy.next))
		rc = ldb_db_damaged(db, "descriptions of tables are missing that " DIRECTORY_TABLES
					" has");
	ldb_copy_free(&copy);
	if (!rc)
		ldb_copy_write(db);
	return rc;
}
