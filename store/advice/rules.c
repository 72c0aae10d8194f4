/* SPDX-License-Identifier: MIT */
/*
 * The rules, the gravest first in each group. Where a limit is Bigtable's, it is in units of 1024,
 * as its pages say, and the source is the page with the limit. The source "rowfs" means that the
 * limit was chosen here.
 */
#include <stddef.h>

#include "store/advice/advice_private.h"

#define MIB		 1048576.0
#define BIGTABLE	 "https://cloud.google.com/bigtable/docs/"
#define BIGTABLE_SCHEMA	 BIGTABLE "schema-design"
#define BIGTABLE_LIMITS	 "https://cloud.google.com/bigtable/quotas#limits-data-size"
#define BIGTABLE_SERIES	 BIGTABLE "schema-design-time-series"
#define BIGTABLE_GARBAGE BIGTABLE "garbage-collection"
#define BIGTABLE_HEAT	 BIGTABLE "keyvis-patterns"
#define ROWFS		 "rowfs"

static bool rules_peak(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	const struct advice_peak *peak =
		(const void *)((const char *)&advice->stats + finding->rule->of);

	(void)at;
	finding->value = (double)peak->value;
	finding->key = peak->row > 0 ? &peak->key : NULL;
	finding->family = peak->family ? peak->family->name : NULL;
	return true;
}

static bool rules_families(const struct wcs_advice *advice, size_t at,
			   struct advice_finding *finding)
{
	(void)at;
	finding->value = (double)advice->family_count;
	return true;
}

/* The value is 1 for a family without a cell in a table that was read whole. */
static bool rules_empty(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	const struct advice_family *family = &advice->families[at];

	if (!family->declared || advice->stats.sample || advice->stats.rows < ADVICE_ROWS)
		return false;
	finding->value = family->cells == 0;
	finding->family = family->name;
	return true;
}

/* The bytes of names for each byte of a value; names of a few bytes are short for any value. A few
 * large values change the quotient, and a sample may lack them. */
static bool rules_names(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	const struct advice_family *family = &advice->families[at];

	if (advice->stats.sample || family->filled < ADVICE_ROWS ||
	    family->names <= RULES_NAME * family->filled)
		return false;
	finding->value = (double)family->names / (double)family->values;
	finding->family = family->name;
	finding->key = &family->key;
	return true;
}

static const struct advice_rule rules[] = {
	/* ---- Traffic ---- */
	{"hot-row", ADVICE_WARNING, ADVICE_HOT, rules_traffic, WCS_HEAT_HOT_ROW_SHARE / 100.0, 0,
	 ADVICE_UNIT_SHARE, "of the operations of 6 hours went to one row",
	 "No key design and no salt divides one row. If the row is written, make a row for "
	 "each of a few writers, with the number of the writer as another last segment, and "
	 "read these rows as one prefix; a counter becomes an intsum in each of them. If it "
	 "is read, keep its value in the readers for a few seconds.",
	 "a-hot-row", BIGTABLE_HEAT, WCS_HEAT_HOT_ROW},
	{"hot-prefix", ADVICE_WARNING, ADVICE_HOT, rules_traffic, WCS_HEAT_HOT_PREFIX_SHARE / 100.0,
	 0, ADVICE_UNIT_SHARE, "of the operations of 6 hours went to keys with one prefix",
	 "Copy the table, its .rows through jq, to one whose keys have a segment that varies "
	 "before the hot prefix or directly behind it. If the keys must stay, give the copy a "
	 "salt over so many segments that the rows of the prefix are in all buckets.",
	 "hot-ranges-salt", BIGTABLE_HEAT, WCS_HEAT_HOT_PREFIX},
	{"hot-end", ADVICE_WARNING, ADVICE_TABLE, rules_traffic, WCS_HEAT_SEQUENTIAL_SHARE / 100.0,
	 0, ADVICE_UNIT_SHARE,
	 "of the writes of 6 hours went to one range of keys, which moves with time",
	 "Of several machines one would do all this work. Copy the "
	 "table to one whose keys begin with a segment that differs among the writers of a "
	 "moment, such as the device, and have the time or number last. On one machine this "
	 "is no fault.",
	 "time-first", BIGTABLE_SERIES, WCS_HEAT_SEQUENTIAL},

	/* ---- Order of the keys ---- */
	{"writes-at-end", ADVICE_WARNING, ADVICE_TABLE, rules_order, RULES_MOST, 0,
	 ADVICE_UNIT_SHARE,
	 "of pairs of rows, with times or numbers first, were written in the order of their keys",
	 "New rows come at one end of the table. Before the table moves to several machines, "
	 "copy it to one whose keys begin with a segment that differs among the writers of a "
	 "moment. If the keys have no such segment, declare the codec reverse for a number "
	 "that queries know whole, or a salt with about one bucket for each machine. On one "
	 "machine this is no fault.",
	 "time-first", BIGTABLE_SERIES, 0},
	{"time-first", ADVICE_NOTE, ADVICE_TABLE, rules_time_first, RULES_MOST, 0,
	 ADVICE_UNIT_SHARE, "of the keys have a time as the first segment that differs",
	 "If rows are written at the time that their key has, all writes of a moment go to "
	 "one range. Put the segment that queries always know first and the time last; for "
	 "retention use a policy maxage instead of the key.",
	 "time-first", BIGTABLE_SERIES, 0},
	{"number-first", ADVICE_NOTE, ADVICE_TABLE, rules_number_first, RULES_MOST, 0,
	 ADVICE_UNIT_SHARE,
	 "of the keys have a number as the first segment that differs, most one of their own",
	 "If the numbers count up as rows are written, all writes of a moment go to one "
	 "range: begin the keys with a segment that differs among the writers of a moment, or "
	 "declare the codec reverse for the number. If they do not, leave it.",
	 "time-first", BIGTABLE_SERIES, 0},
	{"salt-uneven", ADVICE_WARNING, ADVICE_TABLE, rules_salt_uneven, 2, 0, ADVICE_UNIT_NUMBER,
	 "times its even share of the rows is in the fullest bucket of the salt",
	 "The segments that the salt hashes have too few values. Copy the table to one whose "
	 "salt hashes more segments, or the whole key (segments 0), or has fewer buckets.",
	 "hot-ranges-salt", ROWFS, 0},
	{"salt-idle", ADVICE_NOTE, ADVICE_TABLE, rules_salt_idle, 1, 0, ADVICE_UNIT_NUMBER,
	 "buckets are read for each range of keys",
	 "The keys begin with no time or number, were not written in their order, and have no "
	 "hot prefix, so writes are spread without a salt. Copy the table to one with the "
	 "same segments and no salt.",
	 "hot-ranges-salt", ROWFS, 0},

	/* ---- Form of the keys ---- */
	{"hashed-keys", ADVICE_WARNING, ADVICE_TABLE, rules_hashed, RULES_MOST, 0,
	 ADVICE_UNIT_SHARE, "of the keys begin with a hash or with random characters",
	 "No prefix has a meaning, so each query but that for one key is a scan. Begin the "
	 "keys with the name that queries know (tenant, device, domain); if only the load is "
	 "to be spread, use the name and a salt. A hash may stay as the last segment.",
	 "hot-ranges-salt", BIGTABLE_SCHEMA, 0},
	{"binary-keys", ADVICE_NOTE, ADVICE_SEGMENT, rules_class, 0.01, 0, ADVICE_UNIT_SHARE,
	 "of the values of this segment have control bytes or are not UTF-8",
	 "Such bytes are %XX in names, and may hold the delimiter. Write numbers as digits "
	 "and store them with the codec pad, times with time, and other bytes in hexadecimal "
	 "digits.",
	 "what-names-can-hold", BIGTABLE_SCHEMA, SEGMENT_BINARY},
	{"unpadded-numbers", ADVICE_NOTE, ADVICE_SEGMENT, rules_numbers, RULES_MOST, 0,
	 ADVICE_UNIT_SHARE,
	 "of the values of this segment are numbers of different lengths, without "
	 "leading zeros",
	 "They are not in the order of the numbers: 10 comes before 9. If ranges of them are "
	 "read, copy the table to one that declares the codec pad for the segment, with the "
	 "width of the largest number to come.",
	 "numbers-pad", BIGTABLE_SCHEMA, 0},
	{"domains-forward", ADVICE_NOTE, ADVICE_SEGMENT, rules_class, RULES_MOST, 0,
	 ADVICE_UNIT_SHARE, "of the values of this segment are domains with the top level last",
	 "Hosts of one domain are spread over the table. Copy it to one that declares the "
	 "codec reverse-domain for the segment: the shown keys stay the same.",
	 "domains-reverse-domain", BIGTABLE_SCHEMA, SEGMENT_DOMAIN},
	{"uneven-segments", ADVICE_NOTE, ADVICE_TABLE, rules_depths, 0.25, 0, ADVICE_UNIT_SHARE,
	 "of the keys have more or fewer segments than is usual in the table",
	 "A segment at one place has several meanings, so no design can declare it and no "
	 "listing is of one kind. Put kinds of rows into tables of their own, or give an "
	 "absent segment a value. If the delimiter is part of the data, choose another one "
	 "in an empty table.",
	 "begin-with-the-questions", ROWFS, 0},
	{"personal-keys", ADVICE_WARNING, ADVICE_TABLE, rules_personal, 0.01, 0, ADVICE_UNIT_SHARE,
	 "of the keys have a mail or network address",
	 "Keys show up in logs, heat maps and names of files, and cannot be changed or "
	 "encrypted in place. Put an id of the person into the key and the address into a "
	 "column, then drop the old table.",
	 "personal-data", ROWFS, 0},

	/* ---- Sizes ---- */
	{"row-256mib", ADVICE_ERROR, ADVICE_TABLE, rules_peak, 256 * MIB, 0, ADVICE_UNIT_BYTES,
	 "are the values of the largest row",
	 "Bigtable cannot read such a row. Give data without an end a row for each event, "
	 "hour or day, with the time as the last segment, and set maxversions or maxage on "
	 "families with histories.",
	 "tall-or-wide", BIGTABLE_LIMITS, offsetof(struct advice_stats, row_bytes)},
	{"row-100mib", ADVICE_ERROR, ADVICE_TABLE, rules_peak, 100 * MIB, 256 * MIB,
	 ADVICE_UNIT_BYTES, "are the values of the largest row",
	 "Bigtable recommends smaller rows, since it reads a row as a whole. Give data "
	 "without an end a row for each event, hour or day, and set maxversions or maxage on "
	 "families with histories.",
	 "tall-or-wide", BIGTABLE_LIMITS, offsetof(struct advice_stats, row_bytes)},
	{"row-10mib", ADVICE_WARNING, ADVICE_TABLE, rules_peak, 10 * MIB, 100 * MIB,
	 ADVICE_UNIT_BYTES, "are the values of the largest row",
	 "If the row grows with time, it will become too large: split it by hour or day "
	 "before that. If it is complete, leave it.",
	 "tall-or-wide", ROWFS, offsetof(struct advice_stats, row_bytes)},
	{"cell-10mib", ADVICE_WARNING, ADVICE_TABLE, rules_peak, 10 * MIB, 0, ADVICE_UNIT_BYTES,
	 "is the largest cell",
	 "Bigtable recommends smaller cells. Store the object in files or an object store "
	 "and its name in the cell, or split it over columns 0000, 0001, ... of one family.",
	 "tall-or-wide", BIGTABLE_LIMITS, offsetof(struct advice_stats, cell_bytes)},
	{"cell-1mib", ADVICE_NOTE, ADVICE_TABLE, rules_peak, MIB, 10 * MIB, ADVICE_UNIT_BYTES,
	 "is the largest cell",
	 "Each read of the row's family reads the whole cell. Put large values into a family "
	 "of their own with maxversions=1, so that reads of the other columns do not load "
	 "them.",
	 "families-by-retention", ROWFS, offsetof(struct advice_stats, cell_bytes)},
	{"many-columns", ADVICE_WARNING, ADVICE_TABLE, rules_peak, 100000, 0, ADVICE_UNIT_NUMBER,
	 "columns are in one row",
	 "A set that grows without an end needs a row for each element: move the qualifier "
	 "to the end of the key as another segment.",
	 "values-as-qualifiers", ROWFS, offsetof(struct advice_stats, columns)},
	{"many-versions", ADVICE_WARNING, ADVICE_TABLE, rules_peak, 1000, 0, ADVICE_UNIT_NUMBER,
	 "versions are in one column, and no policy of its family is known",
	 "The column keeps each version for good. Set maxversions=N or maxage=N in "
	 ".families/F/gc; explain/POLICY beside it counts the cells that a policy would hide. "
	 "If all versions matter, make each a row with the time as the last segment.",
	 "families-by-retention", BIGTABLE_GARBAGE, offsetof(struct advice_stats, versions)},
	{"many-families", ADVICE_WARNING, ADVICE_TABLE, rules_families, 100, 0, ADVICE_UNIT_NUMBER,
	 "families or more are in the table",
	 "Bigtable recommends at most 100. Join families that have the same policy and are "
	 "read together: the old family's name becomes the beginning of the qualifier.",
	 "families-by-retention", BIGTABLE_SCHEMA, 0},
	{"empty-family", ADVICE_NOTE, ADVICE_FAMILY, rules_empty, 0, 0, ADVICE_UNIT_NONE,
	 "the family has no cell in the table",
	 "If nothing will be written to it, remove it with rmdir .families/F; a family that "
	 "waits for its first rows may stay.",
	 "families-by-retention", ROWFS, 0},
	{"long-names", ADVICE_NOTE, ADVICE_FAMILY, rules_names, 1, 0, ADVICE_UNIT_NUMBER,
	 "bytes of family and qualifier are stored for each byte of a value",
	 "Each cell carries these names. Copy the table with shorter ones, or keep fields "
	 "that are read and written together as JSON in one column.",
	 "json-in-one-column", BIGTABLE_SCHEMA, 0},
	{"small-tables", ADVICE_NOTE, ADVICE_STORE, rules_tables, 10, 0, ADVICE_UNIT_NUMBER,
	 "tables have the same families and at most 10000 rows each",
	 "Make them one table, with the name of the old table as the first segment of its "
	 "keys: cat OLD/.rows through jq to NEW/.rows.",
	 "a-tenant-is-a-prefix", BIGTABLE_SCHEMA, 0},
};

void rules_check(const struct wcs_advice *advice, const size_t *places, const char *table)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		for (size_t at = 0; at < places[rules[i].scope]; at++) {
			const struct advice_rule *rule = &rules[i];
			struct advice_finding finding = {.rule = rule, .table = table};

			if (rule->find(advice, at, &finding) && finding.value > rule->threshold &&
			    (rule->next <= 0 || finding.value <= rule->next))
				print_finding(advice, &finding);
		}
}
