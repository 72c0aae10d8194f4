/* SPDX-License-Identifier: MIT */
/* Shared by the files of this room only. */
#ifndef WCS_HEAT_PRIVATE_H
#define WCS_HEAT_PRIVATE_H

#include "store/heat/heat.h"
#include "store/heat/heat_count.h"

enum {
	HEAT_RANGES = 4096,	 /* that are counted at once, of all tables */
	HEAT_TABLE_RANGES = 600, /* of one table; also spans of a table in a record */
	HEAT_SHARDS = 8,
	HEAT_HOT = 64,	       /* keys that a shard's summary counts */
	HEAT_SAMPLES = 2048,   /* keys that a shard samples between two folds */
	HEAT_SAMPLE_MAX = 120, /* bytes of them; a longer key is cut */
	HEAT_BOUND = 256,      /* bytes of a range's bound; longer ones make less ranges */
	HEAT_PARTS = 256,      /* into which one fold divides all traffic by its samples */
	HEAT_SEVERAL = 32,     /* rows of a batch or scan for one that is sampled, on average */
	/* Bytes of a record: shared by the tables as they share the operations, and in all. */
	HEAT_RECORD = 10 << 10,
	HEAT_RECORD_MAX = 40 << 10,
	HEAT_MEMORY_RECORD = 2048, /* the same of a record in memory */
	HEAT_MEMORY_RECORD_MAX = 3072,
};

#define HEAT_COUNTS 5
union heat_counts {
	struct {
		uint64_t reads, writes, bytes;
		uint64_t nanoseconds, timed; /* of so many gets and mutations */
	};
	uint64_t each[HEAT_COUNTS]; /* in the order of a record */
};
static inline void heat_counts_add(union heat_counts *to, const union heat_counts *more)
{
	for (size_t i = 0; i < HEAT_COUNTS; i++)
		to->each[i] += more->each[i];
}
static inline uint64_t heat_counts_ops(const union heat_counts *counts)
{
	return counts->reads + counts->writes;
}
/* The parts [from, to) of so many equal ones (at most 2^20), which add up to the whole. */
union heat_counts heat_counts_part(const union heat_counts *counts, uint64_t from, uint64_t to,
				   uint64_t parts);

/* ---- spans.c: key ranges with counts, and their bytes ---- */
/* Memory that is freed at once. All zero is an empty one. */
struct heat_arena {
	struct heat_block *blocks;
	size_t left; /* bytes of the first block */
};
/* A copy of the bytes with `behind` zeros behind them. data NULL: no memory. */
struct wcs_slice heat_arena_copy(struct heat_arena *arena, struct wcs_slice bytes, size_t behind);
void heat_arena_free(struct heat_arena *arena);

/* Stored keys [start, end) and their counts; end.data NULL: to the table's end. */
struct heat_span {
	struct wcs_slice start, end;
	union heat_counts counts;
};
/* Ascending spans without overlap. */
struct heat_spans {
	struct heat_span *spans; /* freed by heat_spans_free; their bytes are an arena's */
	size_t count, room;
};
int heat_spans_add(struct heat_spans *spans, const struct heat_span *span);
uint64_t heat_spans_ops(const struct heat_spans *spans);
void heat_spans_free(struct heat_spans *spans);
/* Orders ends of ranges: none is the greatest. */
int heat_compare_ends(struct wcs_slice a, struct wcs_slice b);

/* ---- rows.c: all keys of a table, divided ---- */
struct heat_row {
	struct wcs_slice start; /* the end is the next one's start */
	double weight;
};
struct heat_rows {
	unsigned char delimiter;
	struct heat_row *rows; /* the first has the empty start */
	size_t count;
	struct heat_arena bytes; /* of the starts */
};
/* One row. -ENOMEM. */
int heat_rows_init(struct heat_rows *rows, unsigned char delimiter);
void heat_rows_free(struct heat_rows *rows);
/* Divides rows at the bounds of the spans, and adds their operations times scale to the weights. */
int heat_rows_add(struct heat_rows *rows, const struct heat_spans *spans, double scale);
/* A row with a start over HEAT_BOUND bytes counts as so many. */
static inline size_t heat_bound_size(struct wcs_slice start)
{
	return 1 + start.len / HEAT_BOUND;
}
/* The number of rows, counted so. */
size_t heat_rows_size(const struct heat_rows *rows);
/* Joins neighbours until that is at most `limit`. Rows have about equal weight then; a heavy one
 * stays for itself, and bounds with fewer delimiters stay rather than others. ends: an empty first
 * or last row, before the first key seen and behind the last, also stays for itself, if there is
 * room.
 */
void heat_rows_reduce(struct heat_rows *rows, size_t limit, bool ends);
/* Changes the weights so that rows of about equal weight show a busy prefix as a band among those
 * beside it: by traffic alone it would fill most rows, and all would look alike. A row of the store
 * that has three parts in `limit` of all keeps its weight. -ENOMEM. */
int heat_rows_spread(struct heat_rows *rows, size_t limit);
/* Divides the counts of each span among the rows that it covers, by their weights. counts has
 * rows->count elements. */
void heat_rows_fill(const struct heat_rows *rows, const struct heat_spans *spans,
		    union heat_counts *counts);
/* Joins lists of spans into one of at most `limit` spans, whose bytes are the rows', which are
 * made. */
int heat_rows_join(struct heat_rows *rows, unsigned char delimiter,
		   const struct heat_spans *const *lists, size_t list_count, size_t limit,
		   struct heat_spans *joined);

/* ---- count.c: the most frequent keys ---- */
struct heat_entry {
	union heat_counts counts; /* since the key has this entry: no more than there were */
	uint32_t offers;
	uint32_t table;
	uint32_t len;
	unsigned char key[WCS_ROW_KEY_MAX];
};
struct heat_summary {
	uint64_t hashes[HEAT_HOT]; /* of table and key; 0: the entry is free */
	uint64_t ops[HEAT_HOT];	   /* operations, at least as many as there were */
	struct heat_entry entries[HEAT_HOT];
};

/* ---- axis.c: the ranges that are counted ---- */
struct heat_part {
	uint32_t table;
	uint32_t first, count; /* ranges, ascending by their keys */
	unsigned char delimiter;
};
struct heat_axis {
	uint64_t number; /* of axes before it */
	size_t part_count, count;
	struct heat_part parts[WCS_TABLES_MAX]; /* by table */
	struct heat_row ranges[HEAT_RANGES];
	struct heat_arena bytes;
};
void heat_axis_free(struct heat_axis *axis);
/* The part of a table; NULL: it has none. */
const struct heat_part *heat_axis_part(const struct heat_axis *axis, uint32_t table);
/* Is there no room for another table? */
bool heat_axis_full(const struct heat_axis *axis);
/* Adds a table, unless it is there, with these ranges (NULL: one), as far as there is room. */
void heat_axis_add(struct heat_axis *axis, uint32_t table, unsigned char delimiter,
		   const struct heat_rows *rows);
/* The range of the part with the key. */
size_t heat_axis_find(const struct heat_axis *axis, const struct heat_part *part,
		      struct wcs_slice key);
/* The end of a range of the part; data NULL: none. */
struct wcs_slice heat_axis_end(const struct heat_axis *axis, const struct heat_part *part,
			       size_t at);

/* ---- heat.c ---- */
struct heat_sample {
	uint32_t table;
	uint32_t len;
	unsigned char key[HEAT_SAMPLE_MAX];
};
struct heat_shard {
	pthread_mutex_t lock; /* guards all below */
	uint64_t random;
	uint64_t owed; /* rows until the next of several is sampled */
	uint64_t seen; /* operations offered as samples */
	size_t sample_count;
	struct heat_sample samples[HEAT_SAMPLES];
	struct heat_summary summary;
	union heat_counts counts[HEAT_RANGES]; /* of heat->axis */
};
struct heat {
	struct wcs_store *store;
	bool in_store; /* records go to the engine, and to memory while it takes none */
	int64_t since; /* counting began, microseconds since 1970 */
	pthread_t thread;
	pthread_cond_t wake;
	/* Locks, in the order in which they are taken. Counting takes none that is held while the
	 * engine is called. */
	pthread_mutex_t mapping; /* one map is made at a time */
	pthread_mutex_t folding; /* one fold is made at a time; guards folded */
	pthread_mutex_t lock;	 /* guards stop and axis; then those of shards, by number */
	pthread_mutex_t keeping; /* guards kept */
	int64_t folded;		 /* the last fold, microseconds since 1970 */
	bool stop;
	/* Changed with the lock and those of all shards; read with any of them. */
	struct heat_axis *axis;
	struct heat_kept *kept; /* records in memory, by their number */
	struct heat_shard shards[HEAT_SHARDS];
};

static inline void heat_shards_lock(struct heat *heat)
{
	for (size_t i = 0; i < HEAT_SHARDS; i++)
		pthread_mutex_lock(&heat->shards[i].lock);
}
static inline void heat_shards_unlock(struct heat *heat)
{
	for (size_t i = 0; i < HEAT_SHARDS; i++)
		pthread_mutex_unlock(&heat->shards[i].lock);
}

/* ---- record.c: the counts of a time as bytes ---- */
struct heat_table {
	uint32_t table;
	unsigned char delimiter;
	struct heat_spans spans;
};
struct heat_record {
	struct heat_table *tables; /* ascending */
	size_t count, room;
	struct heat_arena bytes;
};
/* The spans of the table, which is added if need be; NULL: no memory. */
struct heat_spans *heat_record_table(struct heat_record *record, uint32_t table,
				     unsigned char delimiter);
/* The spans of the table, or NULL. */
struct heat_spans *heat_record_find(const struct heat_record *record, uint32_t table);
void heat_record_free(struct heat_record *record);
/* The bytes of the record; *bytes is the caller's. */
int heat_record_encode(const struct heat_record *record, int64_t slot, unsigned char **bytes,
		       size_t *len);
/* The bytes that the spans of one table take. */
size_t heat_record_size(const struct heat_spans *spans);
/* Adds the tables of the bytes, or the one wanted (0: all). -EIO: they are none of that slot. */
int heat_record_decode(struct heat_record *record, int64_t slot, uint32_t wanted,
		       const unsigned char *bytes, size_t len);

/* ---- fold.c: the counts of the shards as a record ---- */
/* Takes all counts, into an empty record; *ops: the operations. The caller holds the lock. -ENOMEM:
 * counts are lost. */
int heat_fold_take(struct heat *heat, struct heat_record *record, uint64_t *ops);

/* ---- axis.c: the next axis ---- */
struct heat_live {
	size_t count;
	uint32_t tables[WCS_TABLES_MAX]; /* ids */
};
/* The tables that the store has. The caller holds no lock of heat. */
void heat_live_read(struct heat_live *live, struct wcs_store *store);
/* Divides the axis anew by its weights, which decay, and the operations of the record, without the
 * tables that were removed. The caller holds the lock. -ENOMEM: the axis stays. */
int heat_axis_divide(struct heat *heat, const struct heat_live *live,
		     const struct heat_record *seen, uint64_t ops, double decay);

/* ---- merge.c ---- */
/* Adds the sums of some records to an empty one. */
int heat_record_join(struct heat_record *to, const struct heat_record *parts, size_t count);
/* Joins spans, and at last removes the tables with the fewest operations, until the record has
 * about `share` bytes and at most `most`. */
int heat_record_fit(struct heat_record *record, size_t share, size_t most);

/* ---- keep.c: records by window and slot, the number of a step since 1970 ---- */
extern const struct heat_window {
	int64_t step; /* microseconds */
	uint16_t columns;
	uint16_t first; /* number of its first record */
} heat_windows[WCS_HEAT_WINDOWS];
/* Fills an empty record with that of a slot. -ENOENT: there is none, or none that can be read.
 * wanted: a table; 0: all. */
int heat_keep_read(struct heat *heat, enum wcs_heat_window window, int64_t slot, uint32_t wanted,
		   struct heat_record *record);
/* Keeps the record of a minute, which is made to fit, and those of the coarser windows' slots with
 * it. -ENOMEM. */
int heat_keep_minute(struct heat *heat, int64_t minute, struct heat_record *record);
bool heat_keep_init(struct heat *heat);
void heat_keep_free(struct heat *heat);

#endif
