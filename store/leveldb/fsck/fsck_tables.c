/* SPDX-License-Identifier: MIT */
/*
 * The tables' descriptions, the counters and the collector's note.
 *
 * A description that can be read but is not as it must be is put right, since all rows of its table
 * hang on it; one that cannot be read goes, and its rows with it (fsck_cells.c).
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <inttypes.h>
#include <stdio.h>

#include "store/disk/directory.h"
#include "store/leveldb/encoding/bytes.h"

/* ---- What is known of tables ------------------------------------------------------------- */

/* Where the table is, or would be. */
static size_t tables_at(const struct ldb_fsck *f, uint32_t id)
{
	size_t low = 0, high = f->table_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->tables[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct ldb_fsck_table *ldb_fsck_find(const struct ldb_fsck *f, uint32_t id)
{
	size_t at = tables_at(f, id);

	return at < f->table_count && f->tables[at].id == id ? &f->tables[at] : NULL;
}

const struct wcs_family *ldb_fsck_family(const struct ldb_fsck_table *table, const char *name)
{
	size_t low = 0, high = table->schema.family_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct wcs_family *family = &table->schema.families[middle];
		int order = strcmp(family->name, name);

		if (order == 0)
			return family;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static bool tables_have_name(const struct ldb_fsck *f, const char *name)
{
	for (size_t i = 0; i < f->table_count; i++)
		if (strcmp(f->tables[i].schema.name, name) == 0)
			return true;
	return false;
}

void ldb_fsck_lost_name(const struct ldb_fsck *f, uint32_t id, char name[WCS_TABLE_NAME_MAX + 1])
{
	int len = snprintf(name, WCS_TABLE_NAME_MAX + 1, "lost-%" PRIu32, id);

	while (tables_have_name(f, name) && len < (int)WCS_TABLE_NAME_MAX) {
		name[len++] = '_';
		name[len] = '\0';
	}
}

/* ---- Descriptions ------------------------------------------------------------------------ */

static int tables_add(struct ldb_fsck *f, uint32_t id, const struct wcs_table_schema *schema)
{
	if (f->table_count == f->table_room) {
		struct ldb_fsck_table *tables =
			ldb_buffer_more(f->tables, &f->table_room, 64, sizeof(*tables));

		if (!tables)
			return -ENOMEM;
		f->tables = tables;
	}
	f->tables[f->table_count++] = (struct ldb_fsck_table){id, *schema};
	return 0;
}

static bool tables_delimiter_valid(unsigned char byte)
{
	return byte > 0 && byte < 0x80 && byte != '/' && byte != '%' && byte != '.';
}

static int tables_compare(const void *left, const void *right)
{
	const struct wcs_family *a = left, *b = right;

	return strcmp(a->name, b->name);
}

/* Puts the families in order, and takes out those whose names cannot be. Returns what was wrong, or
 * NULL. */
static const char *tables_mend_families(struct wcs_table_schema *schema)
{
	const char *wrong = NULL;
	size_t kept = 0;

	for (size_t i = 1; i < schema->family_count; i++)
		if (tables_compare(&schema->families[i - 1], &schema->families[i]) >= 0)
			wrong = "its families are not in order";
	if (wrong)
		qsort(schema->families, schema->family_count, sizeof(*schema->families),
		      tables_compare);
	for (size_t i = 0; i < schema->family_count; i++) {
		struct wcs_family *family = &schema->families[i];

		if (!wcs_family_name_valid(family->name) ||
		    (kept > 0 && tables_compare(&schema->families[kept - 1], family) == 0)) {
			wrong = "a family's name is none, or there twice";
			free(family->gc);
			continue;
		}
		schema->families[kept++] = *family;
	}
	schema->family_count = kept;
	return wrong;
}

/* A policy that is none becomes "never", which hides and deletes nothing. */
static int tables_mend_policies(struct wcs_table_schema *schema, const char **wrong)
{
	for (size_t i = 0; i < schema->family_count; i++) {
		struct wcs_family *family = &schema->families[i];
		char *canonical = NULL;
		int err = wcs_gc_canonical(family->gc, &canonical, NULL);

		if (err == -EINVAL) {
			canonical = strdup("never");
			err = canonical ? 0 : -ENOMEM;
		}
		if (err)
			return err;
		if (strcmp(canonical, family->gc) != 0)
			*wrong = "a family's policy is none, or not canonical";
		free(family->gc);
		family->gc = canonical;
	}
	return 0;
}

/* *wrong: what was not as it must be, NULL: nothing. */
static int tables_mend(struct ldb_fsck *f, uint32_t id, struct wcs_table_schema *schema,
		       const char **wrong)
{
	*wrong = tables_mend_families(schema);
	if (!tables_delimiter_valid(schema->delimiter)) {
		*wrong = "its delimiter is none";
		schema->delimiter = WCS_DELIMITER_DEFAULT;
	}
	if (!wcs_table_name_valid(schema->name) || tables_have_name(f, schema->name)) {
		*wrong = "its name is none, or another table's";
		ldb_fsck_lost_name(f, id, schema->name);
	}
	if (schema->created < 0) {
		*wrong = "its time is none";
		schema->created = 0;
	}
	return tables_mend_policies(schema, wrong);
}

/* old: the description before, NULL: none. */
static int tables_put(struct ldb_fsck *f, const struct wcs_table_schema *schema,
		      struct wcs_slice key, struct wcs_slice old, const char *wrong)
{
	size_t len;
	unsigned char *record = ldb_record_table(schema, &len);
	int err = !record ? -ENOMEM : old.data ? ldb_fsck_keep(f, wrong, key, old) : 0;

	if (!err)
		err = ldb_fsck_put(f, key, (struct wcs_slice){record, len});
	free(record);
	return err;
}

/* A description that can be used; old: what is there. restored: why it is the copy's, NULL: it is
 * LevelDB's. */
static int tables_known(struct ldb_fsck *f, uint32_t id, struct wcs_slice key, struct wcs_slice old,
			struct wcs_table_schema *schema, const char *restored)
{
	const char *wrong = NULL, *done = "put right; what it was is in the quarantine, raw.json";
	int err = tables_mend(f, id, schema, &wrong);
	bool may;

	if (err)
		return err;
	if (restored) {
		wrong = restored;
		done = old.data ? "put back from " DIRECTORY_TABLES
				  "; what it was is in the quarantine, raw.json"
				: "put back from " DIRECTORY_TABLES;
	}
	f->fsck->result->tables++;
	may = wrong && ldb_fsck_may(f);
	if (may)
		err = tables_put(f, schema, key, old, wrong);
	if (!err && wrong)
		wcs_fsck_found(f->fsck, WCS_FOUND_DAMAGE, wrong, may ? done : NULL, "table %s",
			       schema->name);
	return err ? err : tables_add(f, id, schema);
}

static int tables_description(struct ldb_fsck *f, uint32_t id, struct wcs_slice key,
			      struct wcs_slice old, struct wcs_slice record, const char *restored)
{
	struct wcs_table_schema schema;
	int err = ldb_record_table_decode(record.data, record.len, &schema);

	if (id > f->last_table)
		f->last_table = id;
	if (err == -EIO || (!err && id == 0)) {
		if (!err)
			ldb_record_table_clear(&schema);
		snprintf(f->place, sizeof(f->place), "table %" PRIu32, id);
		return ldb_fsck_take(f, WCS_FOUND_DAMAGE, "its description is damaged", f->place,
				     key, old);
	}
	if (err)
		return err;
	err = tables_known(f, id, key, old, &schema, restored);
	if (err)
		ldb_record_table_clear(&schema);
	return err;
}

/* ---- The copy of them -------------------------------------------------------------------- */

/* Can LevelDB's be older than the copy's, or gone, since what had it was damaged? */
static bool tables_copy_wins(const struct ldb_fsck *f)
{
	return f->copy_wins || f->next_table < f->copy.next;
}

/* Why LevelDB's gives way to the copy's, which is another; NULL: it stays. */
static const char *tables_worse(struct ldb_fsck *f, uint32_t id, struct wcs_slice record)
{
	struct wcs_table_schema schema;
	const char *wrong = NULL;

	if (ldb_record_table_decode(record.data, record.len, &schema))
		return "its description is damaged";
	if (tables_mend(f, id, &schema, &wrong))
		wrong = NULL;
	ldb_record_table_clear(&schema);
	if (wrong || !tables_copy_wins(f))
		return wrong;
	return "its description can be an old one, since newer ones were damaged";
}

/* Where a table that is in the copy alone was removed, it has no cells. */
static int tables_missing(struct ldb_fsck *f, uint32_t id, struct wcs_slice record)
{
	bool lost = tables_copy_wins(f);
	struct ldb_id_key key;
	int err = lost ? 0 : ldb_copy_has_cells(f->db, id, &lost);

	if (err)
		return wcs_fault_set(f->fsck->fault, err, "data: read: %s", strerror(-err));
	ldb_key_description(&key, id);
	return lost ? tables_description(f, id, (struct wcs_slice){key.data, key.len},
					 (struct wcs_slice){NULL, 0}, record,
					 "its description is missing")
		    : 0;
}

/* Those of the copy with lesser ids, which LevelDB has not; then the copy's of that id, if any. */
static int tables_compare_copy(struct ldb_fsck *f, uint64_t id, struct wcs_slice *copied)
{
	size_t next = f->copy_at;
	struct wcs_slice record;
	uint32_t found;
	int err = 0;

	while (!err && ldb_copy_next(&f->copy, &next, &found, &record) && found <= id) {
		f->copy_at = next;
		if (found == id)
			*copied = record;
		else
			err = tables_missing(f, found, record);
	}
	return err;
}

static int tables_one(struct ldb_fsck *f, uint32_t id, struct wcs_slice key,
		      struct wcs_slice record)
{
	struct wcs_slice copied = record;
	const char *worse = NULL;
	int err = tables_compare_copy(f, id, &copied);

	if (err)
		return err;
	if (copied.len != record.len || memcmp(copied.data, record.data, record.len) != 0)
		worse = tables_worse(f, id, record);
	return tables_description(f, id, key, record, worse ? copied : record, worse);
}

/* ---- Counters and the note --------------------------------------------------------------- */

/* As store/collect/collector_pass.c writes it. */
static bool tables_note_good(struct wcs_slice value)
{
	const unsigned char *data = value.data;

	return value.len >= 9 && data[8] <= WCS_TABLE_NAME_MAX && value.len - 9 >= data[8] &&
	       value.len - 9 - data[8] <= LDB_KEY_MAX && ldb_get64(data) <= INT64_MAX;
}

static bool tables_is(struct wcs_slice key, const struct ldb_id_key *known)
{
	return key.len == known->len && memcmp(key.data, known->data, key.len) == 0;
}

static int tables_meta(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice value)
{
	struct ldb_id_key next_table, next_value, note;
	uint32_t id;

	ldb_key_next_table(&next_table);
	ldb_key_next_value(&next_value);
	ldb_key_note(&note);
	if (ldb_key_description_decode(key.data, key.len, &id))
		return tables_one(f, id, key, value);
	if (tables_is(key, &next_table)) {
		f->next_table = value.len == 4 ? ldb_get32(value.data) : 0;
		return 0;
	}
	if (tables_is(key, &next_value)) {
		f->next_value = value.len == 8 ? ldb_get64(value.data) : 0;
		return 0;
	}
	if (!tables_is(key, &note))
		return ldb_fsck_take(f, WCS_FOUND_DAMAGE, "a key of no kind that there is",
				     ldb_fsck_key_place(f, key), key, value);
	return tables_note_good(value)
		       ? 0
		       : ldb_fsck_take(f, WCS_FOUND_DAMAGE,
				       "the note of where the collector was is damaged",
				       ldb_fsck_key_place(f, key), key, value);
}

/* The line that rows in the quarantine stand below. */
static int tables_schema_line(struct ldb_fsck *f)
{
	struct wcs_schema schema = {.table_count = f->table_count};
	char *line;

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

int ldb_fsck_tables(struct ldb_fsck *f)
{
	leveldb_iterator_t *iter = ldb_fsck_iterate(f);
	struct wcs_slice none;
	int err = ldb_fsck_read_copy(f);

	leveldb_iter_seek(iter, "m", 1);
	while (!err && leveldb_iter_valid(iter)) {
		struct wcs_slice key = ldb_fsck_key(iter);

		if (*(const char *)key.data != 'm')
			break;
		err = tables_meta(f, key, ldb_fsck_value(iter));
		if (!err)
			err = ldb_fsck_looked(f, "tables");
		leveldb_iter_next(iter);
	}
	err = ldb_fsck_end(f, iter, err);
	if (!err)
		err = tables_compare_copy(f, UINT64_MAX, &none);
	if (f->last_table + 1 < f->copy.next)
		f->last_table = f->copy.next - 1;
	if (!err && f->table_count > WCS_TABLES_MAX)
		wcs_fsck_found(f->fsck, WCS_FOUND_DAMAGE,
			       "more tables than a store can have; it cannot be mounted", NULL,
			       "schema");
	if (!err && f->fsck->quarantine)
		err = tables_schema_line(f);
	return err;
}

/* A counter that is missing, or lets something be written over. */
static int tables_counter(struct ldb_fsck *f, const struct ldb_id_key *key, const char *of,
			  uint64_t next, uint64_t needed, size_t len)
{
	unsigned char record[8], *from = record + 8 - len;
	struct wcs_slice value = {from, len};
	bool may;
	int err = 0;

	if (next >= needed)
		return 0;
	may = ldb_fsck_may(f);
	ldb_put64(record, needed);
	if (may)
		err = ldb_fsck_put(f, (struct wcs_slice){key->data, key->len}, value);
	if (!err)
		wcs_fsck_found(f->fsck, WCS_FOUND_DAMAGE,
			       next == 0 ? "missing or damaged"
					 : "too low: what is there would be written over",
			       may ? "counted anew" : NULL, "counter of %s", of);
	return err;
}

int ldb_fsck_counters(struct ldb_fsck *f)
{
	struct ldb_id_key key;
	int err;

	ldb_key_next_table(&key);
	err = tables_counter(f, &key, "tables", f->next_table, (uint64_t)f->last_table + 1, 4);
	ldb_key_next_value(&key);
	return err ? err : tables_counter(f, &key, "values", f->next_value, f->last_value + 1, 8);
}
