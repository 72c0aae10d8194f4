/* SPDX-License-Identifier: MIT */
/*
 * Logs, torn and damaged.
 *
 * A power cut leaves zeros from some write, or from some sector of one, on, when the filesystem has
 * the length of a log but not its last bytes: just the changes whose records end before it must be
 * there. A log whose records have damaged headers is none that was being written: it is an error
 * before the store opens, and a repair loses just that record.
 */
#include "tests/unit/damage.h"

#include <unistd.h>

enum { HEAD = 7, SECTOR = 512, CHANGES = 22, LAST = CHANGES - 1, FILE_MAX = 1 << 17 };

/* Small records, and some that span blocks of LevelDB's. */
static const struct damage_shape torn = {
	.sessions = 1, .rows = 40, .size = 300, .changes = CHANGES, .limit = 900, .longs = true};
/* All records are in one block. */
static const struct damage_shape short_log = {
	.sessions = 1, .rows = 40, .size = 300, .changes = CHANGES, .limit = 60};

static char log_path[512], manifest_path[512];
static const char *log_name, *manifest_name;
static unsigned char *bytes; /* of the log */
static size_t size;

static void make_log(const struct damage_shape *shape)
{
	int records = 0;

	damage_make(shape);
	damage_fresh();
	bytes = damage_bytes(".log", &size);
	damage_file(".log", log_path);
	log_name = strrchr(log_path, '/') + 1;
	damage_file("MANIFEST-", manifest_path);
	manifest_name = strrchr(manifest_path, '/') + 1;
	for (int i = 0; i < damage_piece_count; i++)
		records += damage_pieces[i].ends;
	ck_assert_int_eq(records, CHANGES);
}

static void remove_log(void)
{
	free(bytes);
	damage_remove();
}

/* ---- Torn logs --------------------------------------------------------------------------- */

/* The cells behind the changes whose records end before the place. */
static const char *cells_before(off_t place)
{
	int changes = 0;

	for (int i = 0; i < damage_piece_count && damage_pieces[i].end <= place; i++)
		changes += damage_pieces[i].ends;
	return damage_states[changes];
}

/* Places where a tear loses nothing but the changes behind it. */
static bool may_tear(off_t place)
{
	bool starts = false;

	for (int i = 0; i < damage_piece_count; i++)
		starts |= damage_pieces[i].at == place;
	return starts || place % SECTOR == 0;
}

/* In the middle of a record LevelDB would call it damage: it is cut, and said. */
static bool is_cut(off_t place)
{
	for (int i = 0; i < damage_piece_count; i++)
		if (place > damage_pieces[i].at && place < damage_pieces[i].end)
			return true;
		else if (place == damage_pieces[i].at)
			return i > 0 && !damage_pieces[i - 1].ends;
	return false;
}

static void zero(const char *name, off_t from, off_t to)
{
	damage_fresh();
	damage_put(name, from, NULL, (size_t)(to - from));
}

static void tear(off_t place)
{
	char what[64];
	int rc;

	snprintf(what, sizeof(what), "zeros from %lld", (long long)place);
	zero(".log", place, (off_t)size);
	rc = damage_look();
	ck_assert_msg(rc == 0 || (rc == -EIO && !may_tear(place)), "%s: %s", what,
		      damage_seen.fault.text);
	if (rc != 0)
		return;
	damage_expect(cells_before(place), what);
	if (!may_tear(place))
		return;
	ck_assert_msg(damage_seen.warnings == is_cut(place), "%s: %d warnings", what,
		      damage_seen.warnings);
	ck_assert(!damage_seen.warnings || strstr(damage_seen.warning, log_name));
	ck_assert_int_eq(damage_look(), 0);
	damage_expect(cells_before(place), what);
	ck_assert_int_eq(damage_seen.warnings, 0);
}

SUITE_TEST(test_zeros_to_the_end, 120)
{
	make_log(&torn);
	for (int i = 0; i < damage_piece_count; i++)
		tear(damage_pieces[i].at);
	for (off_t place = SECTOR; place < (off_t)size; place += 4 * SECTOR)
		tear(place);
	for (off_t place = (off_t)size / SECTOR * SECTOR; place > (off_t)size - 4096;
	     place -= SECTOR)
		tear(place);
	for (off_t place = 100; place < (off_t)size; place += 5003)
		tear(place);
	remove_log();
}

SUITE_TEST(test_data_behind, 60)
{
	make_log(&torn);
	for (int i = 1; i < damage_piece_count - 1; i += 3) {
		zero(".log", damage_pieces[i].at, damage_pieces[i].end);
		damage_expect_refused(log_name, "zeros in place of a record");
		zero(".log", damage_pieces[i].at, (off_t)size - 1);
		damage_expect_refused(log_name, "a byte behind zeros");
	}
	remove_log();
}

/* A place of zeros in the middle of a record that has several pieces. */
static off_t tear_record(void)
{
	off_t place = 0;

	for (int i = 0; i < damage_piece_count; i++)
		if (damage_pieces[i].end - damage_pieces[i].at > 4 * SECTOR)
			place = (damage_pieces[i].at / SECTOR + 2) * SECTOR;
	zero(".log", place, (off_t)size);
	return place;
}

/* A file there has the log's bytes behind its last whole record, up to the zeros. */
static void expect_kept(const char *directory, const char *below, off_t place)
{
	unsigned char kept[1 << 17];
	off_t start = 0, end = place;
	char path[600];
	size_t got;
	FILE *file;

	for (int i = 0; i < damage_piece_count && damage_pieces[i].end <= place; i++)
		if (damage_pieces[i].ends)
			start = damage_pieces[i].end;
	while (bytes[end - 1] == 0)
		end--;
	snprintf(path, sizeof(path), "%s%s/torn-%s-%lld", directory, below, log_name,
		 (long long)start);
	file = fopen(path, "r");
	ck_assert_msg(file, "%s is missing", path);
	got = fread(kept, 1, sizeof(kept), file);
	fclose(file);
	ck_assert_int_eq((off_t)got, end - start);
	ck_assert_int_eq(memcmp(kept, bytes + start, got), 0);
}

/* A mount cuts the log; the copy of the cut part stays in the store until a repair takes it. */
static off_t cut_record(void)
{
	off_t place = tear_record();

	ck_assert_int_eq(damage_look(), 0);
	damage_expect(cells_before(place), "a torn record");
	ck_assert_ptr_nonnull(strstr(damage_seen.warning, "torn-"));
	expect_kept(damage_copy, "", place);
	return place;
}

SUITE_TEST(test_kept, 60)
{
	char path[300];
	off_t place;

	make_log(&torn);
	place = cut_record();
	ck_assert_int_eq(damage_check(true, "what a mount cut"), 0);
	expect_kept(damage_quarantine, "/files", place);
	cut_record();
	snprintf(path, sizeof(path), "%s/ROWFS", damage_copy);
	SUITE_OK(unlink(path));
	ck_assert_int_eq(damage_check(false, "no marker, beside what a mount cut"), 1);
	cut_record();
	SUITE_OK(wcs_store_create(damage_copy, NULL, true, NULL, NULL));
	remove_log();
}

/* Neither check finds anything. Only a repair cuts, and it takes the part that it cuts. */
SUITE_TEST(test_check, 60)
{
	off_t place = 0;

	make_log(&torn);
	for (int repair = 0; repair < 2; repair++) {
		place = tear_record();
		ck_assert_int_eq(damage_check(repair, "a torn log"), 0);
		ck_assert_int_eq(damage_look(), 0);
		damage_expect(cells_before(place), "a torn log");
		ck_assert_int_eq(damage_seen.warnings, !repair);
	}
	expect_kept(damage_quarantine, "/files", place);
	remove_log();
}

/* Edits up to one that crosses a sector's end; from there on it is zeros. */
SUITE_TEST(test_torn_manifest, 60)
{
	off_t end;

	make_log(&torn);
	do
		end = damage_append_edit();
	while (end % SECTOR == 0 || end % SECTOR >= HEAD + 3);
	damage_put("MANIFEST-", end / SECTOR * SECTOR, NULL, (size_t)(end % SECTOR));
	ck_assert_msg(damage_look() == 0, "%s", damage_seen.fault.text);
	damage_expect(damage_all, "a torn MANIFEST");
	ck_assert_int_eq(damage_seen.warnings, 1);
	ck_assert_ptr_nonnull(strstr(damage_seen.warning, manifest_name));
	remove_log();
}

/* ---- Damaged headers --------------------------------------------------------------------- */

/* clang-format off */
#define BYTES(literal) {literal, sizeof(literal) - 1}
#define LENGTH "a record of a wrong length"
#define TYPE "a record of an unknown type"
#define CHECKSUM "a record whose checksum is wrong"
/* clang-format on */

/* Bytes put at a place of a record. */
static const struct damage {
	const char *name;
	int at;
	struct wcs_slice bytes;
	const char *found; /* the finding's words, where no zeros follow */
	bool not_last;	   /* in the last record it cannot be told from a power cut */
} damages[] = {
	{"a length that fits into the block", 5, BYTES("\x40"), LENGTH, false},
	{"a length beyond the block", 5, BYTES("\xf0"), LENGTH, false},
	{"a length and a byte of the record", 5, BYTES("\x40\x01zz"), LENGTH, true},
	{"a length and a checksum", 0, BYTES("zzzz\x20\x40"), LENGTH, true},
	{"no type", 6, BYTES("\x40"), CHECKSUM, false},
	{"a length, and no type", 5, BYTES("\x40\x40"), TYPE, false},
	{"a length, and the type zero", 5, BYTES("\x40\0"), TYPE, false},
	{"a length, and the type of a first piece", 5, BYTES("\x40\x02"), LENGTH, false},
	{"a length, and the type of a middle piece", 5, BYTES("\x40\x03"), LENGTH, false},
	{"a length, and the type of a last piece", 5, BYTES("\x40\x04"), LENGTH, false},
	{"garbage", 0, BYTES("garbage"), TYPE, false},
	{"bits that are all set", 0, BYTES("\xff\xff\xff\xff\xff\xff"), LENGTH, false},
	{"more garbage", 0, BYTES("garbage, and more of it"), TYPE, false},
};

enum { DAMAGES = sizeof(damages) / sizeof(damages[0]) };

/* A check finds that in the copy's log, and a repair leaves those cells. */
static void expect_repaired(const char *found, const char *cells, const char *what)
{
	damage_expect_refused(log_name, what);
	ck_assert_msg(damage_check(false, what) == 1 && strstr(damage_findings, found),
		      "%s: no %s, but %s", what, found, damage_findings);
	ck_assert_msg(damage_mend(what) == 1, "%s: not corrected", what);
	damage_expect(cells, what);
}

/* Takes the row of a change out. */
static void remove_row(char *cells, int change)
{
	char name[8], *start, *end;

	snprintf(name, sizeof(name), "r%03d/", short_log.rows + change);
	start = strstr(cells, name);
	ck_assert_ptr_nonnull(start);
	end = strchr(start, ' ') + 1;
	memmove(start, end, strlen(end) + 1);
}

/* In two records, which may be one, with so many zeros behind the log. */
static void damage_records(const struct damage *damage, int one, int other, size_t zeros)
{
	char *cells = strdup(damage_all), what[100], found[100];

	snprintf(found, sizeof(found), "%s: at %lld: %s", log_name,
		 (long long)damage_pieces[one].at, zeros ? "a record " : damage->found);
	snprintf(what, sizeof(what), "%s, in records %d and %d, %zu zeros", damage->name, one,
		 other, zeros);
	damage_fresh();
	remove_row(cells, one);
	damage_put(".log", damage_pieces[one].at + damage->at, damage->bytes.data,
		   damage->bytes.len);
	if (other != one) {
		remove_row(cells, other);
		damage_put(".log", damage_pieces[other].at + damage->at, damage->bytes.data,
			   damage->bytes.len);
	}
	damage_put(".log", (off_t)size, NULL, zeros);
	expect_repaired(found, cells, what);
	free(cells);
}

/* The cells between two damaged records stay as well. */
SUITE_LOOP(test_headers, DAMAGES, 30)
{
	const struct damage *damage = &damages[_i];

	make_log(&short_log);
	damage_records(damage, 0, 0, 0);
	damage_records(damage, 7, 7, 0);
	if (strcmp(damage->name, "garbage") == 0)
		damage_records(damage, 4, 12, 0);
	if (!damage->not_last) {
		damage_records(damage, LAST, LAST, 0);
		damage_records(damage, LAST, LAST, 40000);
	}
	remove_log();
}

/* A value that is the begin of another store's log, whose numbers are lower, stays a value. */
SUITE_TEST(test_log_in_value, 30)
{
	struct damage_shape shape = short_log;
	unsigned char *other;

	make_log(&short_log);
	other = bytes;
	shape.inner = (struct wcs_slice){other, (size_t)damage_pieces[5].at};
	damage_remove();
	make_log(&shape);
	for (int i = 0; i < DAMAGES; i++)
		damage_records(&damages[i], 7, 7, 0);
	remove_log();
	free(other);
}

/* ---- Other files ------------------------------------------------------------------------- */

SUITE_TEST(test_foreign, 30)
{
	char text[FILE_MAX];

	make_log(&short_log);
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = "This is some other file. "[i % 25];
	for (size_t len = HEAD; len < sizeof(text); len = 3 * len + 1) {
		damage_fresh();
		SUITE_OK(truncate(log_path, 0));
		damage_put(".log", 0, text, len);
		expect_repaired(".log: at 0: ", damage_states[0], "a text");
	}
	remove_log();
}

/* An edit between two others. */
SUITE_TEST(test_manifest, 30)
{
	off_t middle;

	make_log(&short_log);
	damage_fresh();
	damage_append_edit();
	middle = damage_append_edit() - HEAD - 3;
	damage_append_edit();
	damage_put("MANIFEST-", middle, "garbage", HEAD);
	damage_expect_refused(manifest_name, "a MANIFEST");
	ck_assert_int_ge(damage_mend("a MANIFEST"), 1);
	damage_expect(damage_all, "a MANIFEST");
	remove_log();
}
