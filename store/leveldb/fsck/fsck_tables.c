/* SPDX-License-Identifier: MIT */
/*
 * Judges the tables' descriptions and the counters.
 *
 * A description that can be read, but has a wrong name, delimiter or policy, is corrected, since
 * all rows of its table depend on it. Any other damaged one is restored from the copy, or removed;
 * fsck_cells.c then makes one for the cells that there are.
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <inttypes.h>
#include <stdio.h>

#include "store/disk/directory.h"
#include "store/keys/keys.h"
#include "store/leveldb/encoding/bytes.h"

/* ---- Tables ------------------------------------------------------------------------------ */

struct ldb_fsck_table *ldb_fsck_find(const struct ldb_fsck *f, uint32_t id)
{
	for (size_t i = 0; i < f->table_count; i++)
		if (f->tables[i].id == id)
			return &f->tables[i];
	return NULL;
}

static bool tables_has_name(const struct ldb_fsck *f, const char *name)
{
	for (size_t i = 0; i < f->table_count; i++)
		if (strcmp(f->tables[i].schema.name, name) == 0)
			return true;
	return false;
}

void ldb_fsck_table_name(const struct ldb_fsck *f, uint32_t id, char name[WCS_TABLE_NAME_MAX + 1])
{
	const struct ldb_fsck_table *table = ldb_fsck_find(f, id);
	int len = table ? snprintf(name, WCS_TABLE_NAME_MAX + 1, "%s", table->schema.name)
			: snprintf(name, WCS_TABLE_NAME_MAX + 1, "lost-%" PRIu32, id);

	while (!table && tables_has_name(f, name) && len < (int)WCS_TABLE_NAME_MAX) {
		name[len++] = '_';
		name[len] = '\0';
	}
}

uint32_t ldb_fsck_table_id(struct ldb_fsck *f, struct ldb_fsck_table *table)
{
	if (table->to == 0)
		table->to = table->id <= LDB_FSCK_TABLE_MAX ? table->id : ++f->last_table;
	return table->to;
}

/* Takes over the contents of schema. */
static int tables_insert(struct ldb_fsck *f, uint32_t id, const struct wcs_table_schema *schema)
{
	if (f->table_count == WCS_TABLES_MAX)
		return wcs_fault_set(f->fsck->fault, -EMFILE,
				     "it has more than %u tables, which no store can have",
				     WCS_TABLES_MAX);
	if (grow(&f->tables, &f->table_room, f->table_count + 1, 64, sizeof(*f->tables)))
		return -ENOMEM;
	f->tables[f->table_count++] =
		(struct ldb_fsck_table){.id = id, .changed = true, .schema = *schema};
	if (id <= LDB_FSCK_TABLE_MAX && id > f->last_table)
		f->last_table = id;
	return 0;
}

/* Its id may be above the counter: that is not reported once more. */
int ldb_fsck_add_table(struct ldb_fsck *f, uint32_t id)
{
	struct wcs_table_schema schema = {.delimiter = WCS_DELIMITER_DEFAULT};

	ldb_fsck_table_name(f, id, schema.name);
	f->fsck->result->tables++;
	return tables_insert(f, id, &schema);
}

int ldb_fsck_add_family(struct ldb_fsck_table *table, const char *name)
{
	struct wcs_table_schema *schema = &table->schema;
	size_t at = schema->family_count;
	struct wcs_family *families =
		reallocarray(schema->families, at + 1, sizeof(*schema->families));

	if (!families)
		return -ENOMEM;
	schema->families = families;
	for (; at > 0 && strcmp(families[at - 1].name, name) > 0; at--)
		families[at] = families[at - 1];
	families[at] = (struct wcs_family){.type = WCS_BYTES, .gc = strdup("never")};
	snprintf(families[at].name, sizeof(families[at].name), "%s", name);
	schema->family_count++;
	table->changed = true;
	return families[at].gc ? 0 : -ENOMEM;
}

void ldb_fsck_tables_free(struct ldb_fsck *f)
{
	for (size_t i = 0; i < f->table_count; i++)
		wcs_table_schema_clear(&f->tables[i].schema);
	free(f->tables);
	f->tables = NULL;
	f->table_count = f->table_room = 0;
	f->next_table = f->last_table = f->described = 0;
	f->next_value = 0;
	f->copy_at = 0;
	ldb_copy_free(&f->copy);
}

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
	if (!rc && (!wcs_table_name_valid(schema->name) || tables_has_name(f, schema->name))) {
		*wrong = "its name is none, or another table's";
		ldb_fsck_table_name(f, id, schema->name);
	}
	if (!rc)
		rc = tables_correct_policies(schema, wrong);
	if (rc)
		wcs_table_schema_clear(schema);
	return rc;
}

/* ---- The copy of them -------------------------------------------------------------------- */

static int tables_read_copy(struct ldb_fsck *f)
{
	int rc = ldb_copy_read(f->dir, &f->copy);

	if (rc == 0 || rc == -ENOENT)
		return 0;
	if (rc == -EIO)
		return ldb_fsck_found(f, WCS_FOUND_DAMAGE,
				      "the copy of the tables' descriptions is damaged",
				      "made anew", DIRECTORY_TABLES);
	return wcs_fault_set(f->fsck->fault, directory_error(-rc), DIRECTORY_TABLES ": %s",
			     strerror(-rc));
}

/* Can LevelDB's descriptions be older than the copy's, or missing, because of damage? */
static bool tables_copy_wins(const struct ldb_fsck *f)
{
	return f->files.fault_count > 0 || f->next_table < f->copy.next;
}

/* Judges a description. record: LevelDB's, copied: the copy's; NULL data: there is none. */
static int tables_description(struct ldb_fsck *f, uint32_t id, struct wcs_slice record,
			      struct wcs_slice copied)
{
	const char *done = "put right", *wrong = NULL, *other;
	struct ldb_id_key key = ldb_key_description(id);
	bool differs = copied.data && wcs_slice_compare(copied, record) != 0;
	struct wcs_table_schema schema;
	int rc = record.data ? tables_decode(f, id, record, &schema, &wrong) : -ENOENT;

	if (rc == -EIO || rc == -ENOENT)
		wrong = rc == -EIO ? "its description is damaged" : "its description is missing";
	else if (!rc && !wrong && differs && tables_copy_wins(f))
		wrong = "its description can be an old one, since newer ones were damaged";
	if (wrong && differs) {
		if (!rc)
			wcs_table_schema_clear(&schema);
		rc = tables_decode(f, id, copied, &schema, &other);
		done = "put back from " DIRECTORY_TABLES;
	} else if (!rc && !wrong && id > LDB_FSCK_TABLE_MAX) {
		wrong = "its number leaves no room for more tables";
		done = "it has another number";
	}
	if (rc == -EIO) {
		snprintf(f->place, sizeof(f->place), "table %" PRIu32, id);
		rc = ldb_fsck_found(f, WCS_FOUND_DAMAGE, "its description is damaged",
				    LDB_FSCK_TAKEN, f->place);
		return rc ? rc : ldb_fsck_delete(f, (struct wcs_slice){key.data, key.len});
	}
	if (!rc && (rc = tables_insert(f, id, &schema)) != 0)
		wcs_table_schema_clear(&schema);
	if (rc)
		return rc;
	f->fsck->result->tables++;
	ldb_fsck_find(f, id)->changed = wrong != NULL;
	snprintf(f->place, sizeof(f->place), "table %s", schema.name);
	return wrong ? ldb_fsck_found(f, WCS_FOUND_DAMAGE, wrong, done, f->place) : 0;
}

/* Restores the tables of the copy below that id, which LevelDB does not have; without cells they
 * were removed. *copied: the copy's record of that id, if it has one. */
static int tables_compare_copy(struct ldb_fsck *f, uint64_t id, struct wcs_slice *copied)
{
	struct wcs_slice record, none = {NULL, 0};
	size_t next = f->copy_at;
	uint32_t at;
	int rc = 0;

	*copied = none;
	while (!rc && ldb_copy_next(&f->copy, &next, &at, &record) && at <= id) {
		bool lost = tables_copy_wins(f);

		f->copy_at = next;
		if (at == id) {
			*copied = record;
			continue;
		}
		rc = lost ? 0 : ldb_copy_has_cells(f->db, at, &lost);
		if (!rc && lost)
			rc = tables_description(f, at, none, record);
	}
	return rc;
}

static bool tables_is(struct wcs_slice key, const struct ldb_id_key *known)
{
	return wcs_slice_compare(key, (struct wcs_slice){known->data, known->len}) == 0;
}

bool ldb_fsck_tables_has(struct wcs_slice key)
{
	uint32_t id;

	return ldb_key_description_decode(key.data, key.len, &id) ||
	       tables_is(key, &ldb_key_next_table) || tables_is(key, &ldb_key_next_value);
}

static int tables_entry(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice value)
{
	struct wcs_slice copied;
	uint32_t id;

	if (ldb_key_description_decode(key.data, key.len, &id)) {
		int rc = tables_compare_copy(f, id, &copied);

		return rc ? rc : tables_description(f, id, value, copied);
	}
	if (tables_is(key, &ldb_key_next_table) && value.len == 4)
		f->next_table = get_be32(value.data);
	if (tables_is(key, &ldb_key_next_value) && value.len == 8)
		f->next_value = get_be64(value.data);
	return 0;
}

/* The counters stand before the descriptions. */
int ldb_fsck_tables_read(struct ldb_fsck *f)
{
	leveldb_iterator_t *iter;
	struct wcs_slice key, value;
	int rc;

	ldb_fsck_tables_free(f);
	f->fsck->result->tables = 0;
	rc = tables_read_copy(f);
	if (rc)
		return rc;
	iter = ldb_db_iterate(f->db);
	leveldb_iter_seek(iter, "m", 1);
	for (; !rc && leveldb_iter_valid(iter); leveldb_iter_next(iter)) {
		key.data = ldb_iter_key(iter, &key.len);
		if (*(const char *)key.data != 'm')
			break;
		value.data = leveldb_iter_value(iter, &value.len);
		rc = tables_entry(f, key, value);
	}
	rc = ldb_db_iter_end(f->db, iter, rc);
	if (!rc)
		rc = tables_compare_copy(f, UINT64_MAX, &value);
	if (f->last_table + 1 < f->copy.next && f->copy.next <= LDB_FSCK_TABLE_MAX)
		f->last_table = f->copy.next - 1;
	f->described = f->last_table;
	return rc;
}

/* ---- Writing ----------------------------------------------------------------------------- */

/* The counter of tables or of values. needed: less than that is damage; least: it is written with
 * that at least. */
static int tables_counter(struct ldb_fsck *f, bool tables, uint64_t needed, uint64_t least)
{
	struct ldb_id_key key = tables ? ldb_key_next_table : ldb_key_next_value;
	uint64_t most = tables ? LDB_FSCK_TABLE_MAX : LDB_FSCK_VALUE_MAX;
	uint64_t next = tables ? f->next_table : f->next_value;
	size_t len = tables ? 4 : 8;
	unsigned char record[8];
	const char *wrong = NULL;
	int rc = 0;

	if (next < needed)
		wrong = next == 0 ? "missing or damaged"
				  : "too low: what is there would be written over";
	else if (next > most && next > least)
		wrong = "too high: it leaves no room for more";
	if (wrong)
		rc = ldb_fsck_found(f, WCS_FOUND_DAMAGE, wrong, "counted again",
				    tables ? "counter of tables" : "counter of values");
	put_be64(record, wrong || next < least ? least : next);
	return rc ? rc
		  : ldb_fsck_put(f, (struct wcs_slice){key.data, key.len},
				 (struct wcs_slice){record + 8 - len, len});
}

static int tables_write_one(struct ldb_fsck *f, struct ldb_fsck_table *table)
{
	uint32_t id = ldb_fsck_table_id(f, table);
	struct ldb_id_key key = ldb_key_description(id), old = ldb_key_description(table->id);
	struct wcs_slice record;
	unsigned char *made;
	int rc = 0;

	if (id != table->id)
		rc = ldb_fsck_delete(f, (struct wcs_slice){old.data, old.len});
	if (rc || (!table->changed && id == table->id))
		return rc;
	record.data = made = ldb_record_table(&table->schema, &record.len);
	rc = made ? ldb_fsck_put(f, (struct wcs_slice){key.data, key.len}, record) : -ENOMEM;
	free(made);
	return rc;
}

int ldb_fsck_tables_write(struct ldb_fsck *f)
{
	uint64_t value = f->last_value > f->copied_value ? f->last_value : f->copied_value;
	int rc = 0;

	for (size_t i = 0; !rc && f->to && i < f->table_count; i++)
		rc = tables_write_one(f, &f->tables[i]);
	if (!rc)
		rc = tables_counter(f, true, (uint64_t)f->described + 1,
				    (uint64_t)f->last_table + 1);
	return rc ? rc : tables_counter(f, false, f->last_value + 1, value + 1);
}
