/* SPDX-License-Identifier: MIT */
/*
 * Checks the tables' descriptions, the counters and the collector's note.
 *
 * A description that can be read, but has a wrong name, delimiter or policy, is corrected, since
 * all rows of its table depend on it. Any other damaged one is restored from the copy, or removed,
 * and fsck_cells.c removes its rows.
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <inttypes.h>
#include <stdio.h>

#include "store/disk/directory.h"
#include "store/keys/keys.h"
#include "store/leveldb/encoding/bytes.h"

/* ---- Descriptions ------------------------------------------------------------------------ */

/* Replaces an invalid policy by "never", which hides and deletes nothing. */
static int tables_correct_policies(struct wcs_table_schema *schema, const char **wrong)
{
	for (size_t i = 0; i < schema->family_count; i++) {
		struct wcs_family *family = &schema->families[i];
		char *canonical = NULL;
		int rc = wcs_gc_canonical(family->gc, &canonical, NULL);

		if (rc == -EINVAL) {
			canonical = strdup("never");
			rc = canonical ? 0 : -ENOMEM;
		}
		if (rc)
			return rc;
		if (strcmp(canonical, family->gc) != 0)
			*wrong = "a family's policy is none, or not canonical";
		free(family->gc);
		family->gc = canonical;
	}
	return 0;
}

/* A description: its table and key, the record in LevelDB (data NULL: none), and the one that
 * counts, which is LevelDB's or the copy's. restored: why it is the copy's; NULL: it is LevelDB's.
 */
struct tables_description {
	uint32_t id;
	struct wcs_slice key, old, record;
	const char *restored;
};

/* Adds the table of a description that can be used. wrong: what was corrected in it; NULL: nothing.
 */
static int tables_known(struct ldb_fsck *f, const struct tables_description *one,
			const struct wcs_table_schema *schema, const char *wrong)
{
	const char *done = "put right; what it was is in the quarantine, raw.json";
	unsigned char *record = NULL;
	size_t len;
	bool may;
	int rc = 0;

	if (one->restored) {
		wrong = one->restored;
		done = one->old.data ? "put back from " DIRECTORY_TABLES
				       "; what it was is in the quarantine, raw.json"
				     : "put back from " DIRECTORY_TABLES;
	}
	f->fsck->result->tables++;
	may = wrong && ldb_fsck_may(f);
	if (may) {
		record = ldb_record_table(schema, &len);
		rc = record ? 0 : -ENOMEM;
		if (!rc && one->old.data)
			rc = wcs_quarantine_raw(f->fsck->quarantine, wrong, one->key, one->old);
		if (!rc)
			rc = ldb_fsck_put(f, one->key, (struct wcs_slice){record, len});
		free(record);
	}
	if (!rc && wrong)
		wcs_fsck_found(f->fsck, WCS_FOUND_DAMAGE, wrong, may ? done : NULL, "table %s",
			       schema->name);
	if (!rc)
		rc = grow(&f->tables, &f->table_room, f->table_count + 1, 64, sizeof(*f->tables));
	if (!rc)
		f->tables[f->table_count++] = (struct ldb_fsck_table){one->id, *schema};
	return rc;
}

/* Decodes and corrects a record. *wrong: what was wrong with it; NULL: nothing. -EIO: it is
 * damaged; -EPROTO: a newer program's, the fault is filled. After an error the caller has nothing
 * to clear. */
static int tables_decode(struct ldb_fsck *f, uint32_t id, struct wcs_slice record,
			 struct wcs_table_schema *schema, const char **wrong)
{
	int rc = ldb_record_table_decode(record.data, record.len, schema);
	const struct wcs_family *families;
	char why[LDB_RECORD_WHY];

	if (rc == -EPROTO) {
		ldb_record_newer(record.data, record.len, id, why);
		wcs_fault_set(f->fsck->fault, rc, "%s", why);
	}
	if (rc)
		return rc;
	*wrong = NULL;
	families = schema->families;
	if (id == 0 || schema->created < 0)
		rc = -EIO;
	for (size_t i = 0; i < schema->family_count; i++)
		if (!wcs_family_name_valid(families[i].name) ||
		    (i > 0 && strcmp(families[i - 1].name, families[i].name) >= 0))
			rc = -EIO;
	if (!rc && !wcs_delimiter_valid(schema->delimiter)) {
		*wrong = "its delimiter is none";
		schema->delimiter = WCS_DELIMITER_DEFAULT;
		if (schema->keys)
			schema->keys->delimiter = WCS_DELIMITER_DEFAULT;
	}
	if (!rc && (!wcs_table_name_valid(schema->name) || ldb_fsck_has_name(f, schema->name))) {
		*wrong = "its name is none, or another table's";
		ldb_fsck_table_name(f, id, schema->name);
	}
	if (!rc)
		rc = tables_correct_policies(schema, wrong);
	if (rc)
		ldb_record_table_clear(schema);
	return rc;
}

static int tables_description(struct ldb_fsck *f, const struct tables_description *one)
{
	struct wcs_table_schema schema;
	const char *wrong;
	int rc = tables_decode(f, one->id, one->record, &schema, &wrong);

	if (one->id > f->last_table)
		f->last_table = one->id;
	if (rc == -EIO) {
		snprintf(f->place, sizeof(f->place), "table %" PRIu32, one->id);
		return ldb_fsck_take(f, WCS_FOUND_DAMAGE, "its description is damaged", f->place,
				     one->key, one->old);
	}
	if (rc)
		return rc;
	rc = tables_known(f, one, &schema, wrong);
	if (rc)
		ldb_record_table_clear(&schema);
	return rc;
}

/* ---- The copy of them -------------------------------------------------------------------- */

/* Reads the copy; a damaged one goes to the quarantine. At the end fsck.c writes a new one. */
static int tables_read_copy(struct ldb_fsck *f)
{
	int rc = ldb_copy_read(f->dir, &f->copy);
	bool may;

	if (rc != 0 && rc != -ENOENT && rc != -EIO)
		return wcs_fault_set(f->fsck->fault, directory_error(-rc), DIRECTORY_TABLES ": %s",
				     strerror(-rc));
	if (rc != -EIO)
		return 0;
	may = ldb_fsck_may(f);
	rc = may ? wcs_quarantine_directory(f->fsck->quarantine, f->dir, DIRECTORY_TABLES) : 0;
	if (rc)
		return rc;
	rc = may ? directory_remove(f->dir, DIRECTORY_TABLES) : 0;
	if (rc)
		return wcs_fault_set(f->fsck->fault, rc, DIRECTORY_TABLES ": %s", strerror(-rc));
	wcs_fsck_found(f->fsck, WCS_FOUND_DAMAGE, "the copy of the tables' descriptions is damaged",
		       may ? "rebuilt; what it was is in the quarantine, files/" DIRECTORY_TABLES
			   : NULL,
		       DIRECTORY_TABLES);
	return 0;
}

/* Can LevelDB's descriptions be older than the copy's, or missing, because of the damage? */
static bool tables_copy_wins(const struct ldb_fsck *f)
{
	return f->copy_wins || f->next_table < f->copy.next;
}

/* Restores the tables of the copy below that id, which LevelDB does not have; without cells they
 * were removed. *copied: the copy's record of that id, if it has one. */
static int tables_compare_copy(struct ldb_fsck *f, uint64_t id, struct wcs_slice *copied)
{
	struct tables_description one = {.restored = "its description is missing"};
	size_t next = f->copy_at;
	struct ldb_id_key key;
	int rc = 0;

	while (!rc && ldb_copy_next(&f->copy, &next, &one.id, &one.record) && one.id <= id) {
		bool lost = tables_copy_wins(f);

		f->copy_at = next;
		if (one.id == id) {
			*copied = one.record;
			continue;
		}
		rc = lost ? 0 : ldb_copy_has_cells(f->db, one.id, &lost);
		if (rc)
			return wcs_fault_set(f->fsck->fault, rc, "data: read: %s", strerror(-rc));
		key = ldb_key_description(one.id);
		one.key = (struct wcs_slice){key.data, key.len};
		if (lost)
			rc = tables_description(f, &one);
	}
	return rc;
}

static int tables_one(struct ldb_fsck *f, uint32_t id, struct wcs_slice key,
		      struct wcs_slice record)
{
	struct tables_description one = {.id = id, .key = key, .old = record, .record = record};
	struct wcs_slice copied = record;
	struct wcs_table_schema schema;
	int rc = tables_compare_copy(f, id, &copied);

	if (rc)
		return rc;
	if (wcs_slice_compare(copied, record) != 0) {
		rc = tables_decode(f, id, record, &schema, &one.restored);
		if (rc == 0)
			ldb_record_table_clear(&schema);
		else if (rc == -EIO)
			one.restored = "its description is damaged";
		else
			return rc;
		if (!one.restored && tables_copy_wins(f))
			one.restored =
				"its description can be an old one, since newer ones were damaged";
	}
	if (one.restored)
		one.record = copied;
	return tables_description(f, &one);
}

/* ---- Counters and the note --------------------------------------------------------------- */

static bool tables_is(struct wcs_slice key, const struct ldb_id_key *known)
{
	return wcs_slice_compare(key, (struct wcs_slice){known->data, known->len}) == 0;
}

/* Checks a key of the key space of descriptions, counters and the note. */
static int tables_meta(void *ctx, struct wcs_slice key, struct wcs_slice value)
{
	struct ldb_fsck *f = ctx;
	const unsigned char *data = value.data;
	uint16_t number;
	uint32_t id;

	if (ldb_key_description_decode(key.data, key.len, &id))
		return tables_one(f, id, key, value);
	if (tables_is(key, &ldb_key_next_table)) {
		f->next_table = value.len == 4 ? get_be32(value.data) : 0;
		return 0;
	}
	if (tables_is(key, &ldb_key_next_value)) {
		f->next_value = value.len == 8 ? get_be64(value.data) : 0;
		return 0;
	}
	if (!ldb_key_note_decode(key.data, key.len, &number))
		return ldb_fsck_take(f, WCS_FOUND_DAMAGE, "a key of no kind that there is",
				     ldb_fsck_key_place(f, key), key, value);
	if (number > 0) /* a record of the heat map: a mount passes over a wrong one */
		return 0;
	/* as store/collect/collector_pass.c writes it */
	if (value.len >= 9 && data[8] <= WCS_TABLE_NAME_MAX && value.len - 9 >= data[8] &&
	    value.len - 9 - data[8] <= LDB_KEY_MAX && get_be64(data) <= INT64_MAX)
		return 0;
	return ldb_fsck_take(f, WCS_FOUND_DAMAGE, "the note of where the collector was is damaged",
			     ldb_fsck_key_place(f, key), key, value);
}

int ldb_fsck_tables(struct ldb_fsck *f)
{
	struct wcs_schema schema;
	struct wcs_slice none;
	char *line;
	int rc = tables_read_copy(f);

	if (!rc)
		rc = ldb_fsck_pass(f, 'm', "tables", tables_meta, f);
	if (!rc)
		rc = tables_compare_copy(f, UINT64_MAX, &none);
	if (f->last_table + 1 < f->copy.next)
		f->last_table = f->copy.next - 1;
	if (!rc && f->table_count > WCS_TABLES_MAX)
		wcs_fsck_found(f->fsck, WCS_FOUND_DAMAGE,
			       "more tables than a store can have; it cannot be mounted", NULL,
			       "schema");
	if (rc || !f->fsck->quarantine)
		return rc;
	schema = (struct wcs_schema){.table_count = f->table_count};
	schema.tables = calloc(f->table_count + 1, sizeof(*schema.tables));
	if (!schema.tables)
		return -ENOMEM;
	for (size_t i = 0; i < f->table_count; i++)
		schema.tables[i] = f->tables[i].schema;
	line = wcs_schema_line(&schema);
	free(schema.tables);
	if (!line)
		return -ENOMEM;
	wcs_quarantine_schema(f->fsck->quarantine, line);
	return 0;
}

/* Corrects a counter that is missing, or so low that new ids would be those of old data. */
static int tables_counter(struct ldb_fsck *f, const struct ldb_id_key *key, const char *of,
			  uint64_t next, uint64_t needed, size_t len)
{
	unsigned char record[8], *from = record + 8 - len;
	struct wcs_slice value = {from, len};
	bool may;
	int rc = 0;

	if (next >= needed)
		return 0;
	may = ldb_fsck_may(f);
	put_be64(record, needed);
	if (may)
		rc = ldb_fsck_put(f, (struct wcs_slice){key->data, key->len}, value);
	if (!rc)
		wcs_fsck_found(f->fsck, WCS_FOUND_DAMAGE,
			       next == 0 ? "missing or damaged"
					 : "too low: what is there would be written over",
			       may ? "counted again" : NULL, "counter of %s", of);
	return rc;
}

int ldb_fsck_counters(struct ldb_fsck *f)
{
	int rc = tables_counter(f, &ldb_key_next_table, "tables", f->next_table,
				(uint64_t)f->last_table + 1, 4);

	return rc ? rc
		  : tables_counter(f, &ldb_key_next_value, "values", f->next_value,
				   f->last_value + 1, 8);
}
