/* SPDX-License-Identifier: MIT */
/*
 * The wide-column store: tables of rows, sorted by their key's bytes; a row has cells, each
 * addressed by (family, qualifier, timestamp). The data model is Bigtable's and HBase's.
 *
 * This header promises only what a remote store could keep as well: atomicity within one row,
 * scans that resume by key, calls that may block or fail for a while, no snapshot across calls.
 *
 * Errors. A call returns 0 or a negative errno of this list:
 *   -ENOENT     the table, family, row or cell does not exist
 *   -EEXIST     the thing to make exists
 *   -EINVAL     an argument is malformed; for a mutation: a timestamp that cannot be set, an
 *               increment of a value that is no integer, a value that the family's type refuses
 *   -ENAMETOOLONG  a row key or qualifier over its limit
 *   -EFBIG      a value over its limit; a history over the limit of a move
 *   -EOVERFLOW  an integer or a timestamp would leave its range
 *   -EPERM      the table is protected from that
 *   -ENOTEMPTY  the thing to remove or change still holds rows, cells or families
 *   -EMFILE     the store cannot hold another table; when a store is opened, made or checked:
 *               this process cannot open another file
 *   -ENFILE     the machine cannot open another file
 *   -ECANCELED  a condition of the mutation does not hold; nothing was applied
 *   -EBUSY      another process uses the store, or a writer keeps writing to the family to remove;
 *               of an engine with other clients: they keep changing the row
 *   -ETIMEDOUT -EACCES  the engine did not answer in time, or refuses access
 *   -EINTR      a read ended as the options' interrupted asked
 *   -ELOOP -E2BIG  a chain has too many views; an expression took too many steps (chain.h)
 *   -EROFS      a write failed before; the store takes no more until it is opened again
 *   -EOPNOTSUPP the engine cannot do it
 *   -ENOSPC -EIO -ENOMEM -EPROTO  no room (deletes still have some), a damaged or unreadable
 *               block, no memory, a store of a newer format
 * Out-parameters are written on success only. The function that first sees a fault puts the reason
 * in words, once: into the struct wcs_fault of its call, or else to the log callback.
 *
 * Threads. Any thread may call any function on a store or table. A scan, a listing, a value and a
 * mutation belong to one thread at a time.
 *
 * Ownership. A slice is borrowed for the call; a mutation borrows its slices until it is freed. An
 * object that a call hands over has a _free or _close, which takes NULL.
 */
#ifndef WCS_STORE_H
#define WCS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WCS_ROW_KEY_MAX	      4096u	   /* bytes of a stored key; at least 1 */
#define WCS_QUALIFIER_MAX     16384u	   /* bytes */
#define WCS_VALUE_MAX	      (100u << 20) /* bytes */
#define WCS_VALUE_WARN	      (10u << 20)  /* bytes; logged */
#define WCS_ROW_WARN	      (100u << 20) /* bytes of values; logged when they are read */
#define WCS_VALUE_INLINE      4096u	   /* bytes; values up to this come with their cell */
#define WCS_MOVE_CELLS_MAX    100000u	   /* cells of a column that gets another name */
#define WCS_MOVE_BYTES_MAX    (32u << 20)  /* row key, qualifier, inline value of each of them */
#define WCS_FAMILY_NAME_MAX   64u	   /* bytes of [-_.a-zA-Z0-9]; at least 1 */
#define WCS_FAMILIES_WARN     100u	   /* families in a table; logged */
#define WCS_TABLE_NAME_MAX    50u	   /* bytes, [_a-zA-Z0-9][-_.a-zA-Z0-9]* */
#define WCS_TABLES_MAX	      1000u	   /* tables in a store */
#define WCS_DELIMITER_DEFAULT '#'

#define WCS_AGGREGATE_VALUE_MAX 24578u /* bytes; of a value of an aggregate family */
#define WCS_AGGREGATE_LINE_MAX	8u     /* bytes; of the value that one line stands for */

#define WCS_TS_MAX    INT64_MAX /* microseconds since 1970 */
#define WCS_TS_NEWEST (-1)	/* read: the newest cell */
#define WCS_TS_NONE   (-1)	/* no cell */
#define WCS_TS_SERVER (-1)	/* write: the present, later than the newest cell */

/* Bytes that somebody else owns. data may be NULL when len is 0. */
struct wcs_slice {
	const void *data;
	size_t len;
};
/* Orders by unsigned bytes, and a prefix before a longer slice: negative, 0 or positive. */
int wcs_slice_compare(struct wcs_slice a, struct wcs_slice b);
/* The number of bytes that both have at their start. */
size_t wcs_slice_shared(struct wcs_slice a, struct wcs_slice b);
/* The number of whole segments that two keys both have at their start. */
size_t wcs_slice_shared_segments(struct wcs_slice a, struct wcs_slice b, unsigned char delimiter);

struct wcs_store; /* an open store */
struct wcs_table; /* a handle on one table */
struct wcs_chain; /* views of a table, see chain.h */
struct wcs_keys;  /* a key design, see keys/keys.h */

/* The reason of a failure, and its place in a text: line and column from 1; 0: not known. */
struct wcs_fault {
	int line;
	int column;
	char text[384];
};

/* Moves the column into the text, as ", at character N". Returns the text, which is the fault's. */
const char *wcs_fault_words(struct wcs_fault *fault);

/* ---- Store ------------------------------------------------------------------------------- */

enum wcs_log_level { WCS_LOG_ERROR = 0, WCS_LOG_WARNING = 1, WCS_LOG_INFO = 2, WCS_LOG_DEBUG = 3 };

/* How a store is opened. All zero is the default. */
struct wcs_options {
	/* Called with one line without newline, from any thread; no key or value below DEBUG. It
	 * and now are called with locks held, so they must not call the store. */
	void (*log)(void *ctx, enum wcs_log_level level, const char *text);
	void *log_ctx;
	/* The present in microseconds since 1970; NULL: the system's clock. Any thread. */
	int64_t (*now)(void *ctx);
	void *now_ctx;
	/* Whether the call under way on this thread should end: asked now and then by reads that
	 * pass over many cells, which then return -EINTR. `interrupted` may wait for other reads;
	 * `ends` is asked instead under a lock that these may need. NULL: never. */
	bool (*interrupted)(void);
	bool (*ends)(void);
	/* Called, from any thread and also in a signal handler, before the engine ends the process
	 * with exit code 1: forged files, or no memory. NULL: the line goes to standard error. Of
	 * the process, as the last store opened says. */
	void (*fatal)(const char *why);
	size_t cache_bytes;  /* block cache; 0: the engine's default */
	bool sync;	     /* every mutation is durable when its call returns */
	bool heat;	     /* reads and writes are counted by key range, see heat/heat.h */
	bool heat_in_memory; /* and the counts are not stored */
	/* Garbage collection, microseconds: the time from the start of one pass to that of the
	 * next (0: passes only when asked), and the grace: for so long after a change of a policy,
	 * or a jump of the clock, the collector leaves the cells alone that these hide. */
	int64_t gc_interval;
	int64_t gc_grace;
};

/* Lets the caller of wcs_store_create give up access to all but three directories: the one that
 * becomes the store (made), the one around it (parent), and a store that is replaced (old; -1:
 * none). 0, or a negative errno, which ends the call, with fault filled. */
struct wcs_confine {
	int (*call)(void *ctx, int parent, int made, int old, struct wcs_fault *fault);
	void *ctx;
};

/*
 * Makes a store at path, with the tables of schema (may be NULL). path must not exist, or be an
 * empty directory; with force it may also be a store that no process uses and that holds nothing
 * else, which is replaced. The store appears whole or not at all, as a directory of the caller's
 * with mode 0700. -EEXIST: path is something else. fault says why. confine (may be NULL) is called
 * before the engine makes files.
 */
struct wcs_schema;
int wcs_store_create(const char *path, const struct wcs_schema *schema, bool force,
		     const struct wcs_confine *confine, struct wcs_fault *fault);

/*
 * Opens the store at path. -ENOENT: there is no store; -EBUSY: in use, also a second later, fault
 * names the pid where it is known; -EPROTO: a newer format; -EINVAL: an engine that this program
 * does not have; -EIO: damaged or unreadable. fault is filled whenever the call fails. After a
 * fork only the process that opened it may use the store.
 */
int wcs_store_open(const char *path, const struct wcs_options *options, struct wcs_store **store,
		   struct wcs_fault *fault);

/* Closes the store. Every table, scan, listing and value of it must be closed before. */
void wcs_store_close(struct wcs_store *store);

/* Returns when every mutation whose call returned before survives a power cut. */
int wcs_store_sync(struct wcs_store *store);

/* Has a write failed? Then the store takes no more (-EROFS) until it is opened again. */
bool wcs_store_failed(struct wcs_store *store);
/* Were the store's files removed while it was open? Then wcs_store_room and reads of files that are
 * not open give -EIO; so does the next write, and later ones -EROFS. */
bool wcs_store_gone(struct wcs_store *store);

/* The time the store was made, microseconds since 1970. */
int64_t wcs_store_created(const struct wcs_store *store);

/* The room on the medium of the store. */
struct wcs_space {
	uint64_t total;	     /* bytes */
	uint64_t free;	     /* bytes that the store may take */
	uint64_t available;  /* of these, for values; a value needs three times its size */
	uint64_t files;	     /* files (inodes) of the medium; 0: it does not tell */
	uint64_t files_free; /* of these, free */
	bool lacks_files;    /* free files bound what is available, not free bytes */
};
int wcs_store_space(struct wcs_store *store, struct wcs_space *space);

/* Is there room for a value of that size, now? -ENOSPC; -EIO: wcs_store_gone. Batches and moves ask
 * that themselves. A caller that gathers a value piece by piece asks with each piece;
 * wcs_row_mutate then applies it also if the last of that room has gone meanwhile. */
int wcs_store_room(struct wcs_store *store, uint64_t size);

/* The microseconds for which a name or a size may be cached, as other clients change the store too.
 * INT64_MAX: no other client does. */
int64_t wcs_store_fresh(const struct wcs_store *store);

/* The engine's name and version in a word or two; static. */
const char *wcs_store_engine(const struct wcs_store *store);

#define WCS_LEVELS_MAX	      16u
#define WCS_STATS_PENDING_MAX 100000u

/* Counters for an operator. 0: none, or the engine does not tell. */
struct wcs_stats {
	/* Since the store was opened. */
	uint64_t cells_written;	   /* replacements too; a move counts here and as a delete */
	uint64_t cells_old;	   /* written with a timestamp from 10^8 to 10^14: before 1973, or
				    * later in seconds or milliseconds */
	uint64_t cells_deleted;	   /* also by drops */
	uint64_t bytes_written;	   /* given to the engine, keys and its own records included */
	uint64_t value_bytes_read; /* by wcs_value_read and scans */
	uint64_t values_reclaimed; /* deleted large values whose space was freed */
	uint64_t compactions;	   /* of ranges that were emptied */
	uint64_t rows_wrong_salt;  /* rows met by reads whose key has not its salt */
	/* At this moment. */
	uint64_t values_pending; /* deleted large values that still take space; counted up to
				  * WCS_STATS_PENDING_MAX */
	uint64_t drops;		 /* calls of wcs_rows_drop */
	uint64_t compactions_pending;
	uint64_t bytes_pending; /* that deletes left on the medium, about */
	uint64_t cache_bytes;	/* room in the block cache */
	uint64_t memory_bytes;	/* that the engine has filled, the cache's included */
	bool failed;		/* as wcs_store_failed */
	/* Files on the medium, by level where the engine has levels. */
	size_t level_count;
	struct {
		uint64_t files;
		uint64_t bytes; /* as exact as the engine tells: some engines in MiB */
	} levels[WCS_LEVELS_MAX];
};
int wcs_store_stats(struct wcs_store *store, struct wcs_stats *stats);

/* The engine's report on itself, in lines for a person; the caller frees it. NULL: no memory. */
char *wcs_store_engine_text(struct wcs_store *store);

/* ---- Schema ------------------------------------------------------------------------------ */

/* The type of a family's cells. The numbers are on disk, but for WCS_TYPE_NONE: a schema leaves the
 * type open. */
enum wcs_type {
	WCS_TYPE_NONE = -1,
	WCS_BYTES = 0,
	WCS_INTSUM = 1,
	WCS_INTMIN = 2,
	WCS_INTMAX = 3,
	WCS_INTHLL = 4
};

/* Whether a table is protected: calls that drop rows, remove the table or a family, or set a policy
 * that may hide more than the present one give -EPERM then. */
enum wcs_protection { WCS_PROTECTION_OPEN = 0, WCS_UNPROTECTED, WCS_PROTECTED };

/* A schema from JSON or from a caller may leave a type, policy, delimiter, protection or design of
 * keys open: an existing table or family keeps its own then, a new one gets the default. A schema
 * from a store leaves none open, but for the design of a plain table. */
struct wcs_family {
	char name[WCS_FAMILY_NAME_MAX + 1];
	enum wcs_type type; /* default: WCS_BYTES */
	char *gc; /* its policy in canonical spelling; "never", the default: none; NULL: open */
	int64_t gc_changed; /* when it was last changed, microseconds since 1970; 0: never, or (in
			     * a schema from JSON) not known */
};

struct wcs_table_schema {
	char name[WCS_TABLE_NAME_MAX + 1];
	unsigned char delimiter;	/* an ASCII byte, by default '#'; 0: open */
	enum wcs_protection protection; /* default: WCS_UNPROTECTED */
	int64_t created;       /* microseconds since 1970; 0: not known (a schema from JSON) */
	struct wcs_keys *keys; /* the schema's own; NULL: open, or in a store a plain table */
	size_t family_count;
	struct wcs_family *families; /* sorted by name */
};

struct wcs_schema {
	size_t table_count;
	struct wcs_table_schema *tables; /* sorted by name */
};

/*
 * Reads a schema from JSON text: {"version":1,"tables":{T:{"delimiter":D,"protected":B,"keys":K,
 * "families":{F:{"gc":P,"type":Y}}}}}; all but the names may be left out (and is open then), F:P is
 * short for a policy alone; K as of wcs_keys_json (store/keys/keys.h), checked against D. A
 * repeated or unknown member is an error. -EINVAL: fault has the line and names the member.
 */
int wcs_schema_parse(const char *text, size_t len, struct wcs_schema **schema,
		     struct wcs_fault *fault);

/* The schema as JSON that wcs_schema_parse takes, indented, ending in a newline; sorted, so the
 * same schema gives the same bytes; what is open is left out, and in a schema from a store that a
 * table is not protected. The caller frees it. NULL: no memory. */
char *wcs_schema_format(const struct wcs_schema *schema);
/* The schema as such JSON in one line. */
char *wcs_schema_line(const struct wcs_schema *schema);

void wcs_schema_free(struct wcs_schema *schema);
/* Frees the families and keys of a table, which has none then. */
void wcs_table_schema_clear(struct wcs_table_schema *table);
/* The table of that name, and the family, which are the schema's; NULL: none. */
struct wcs_table_schema *wcs_schema_table(const struct wcs_schema *schema, const char *name);
const struct wcs_family *wcs_schema_family(const struct wcs_table_schema *table, const void *name,
					   size_t len);

/* A copy of the store's schema as it is now. */
int wcs_schema_get(struct wcs_store *store, struct wcs_schema **schema);

/*
 * Brings the store's schema up to this one: makes missing tables and families, and sets differing
 * properties; removes nothing, and leaves open properties as they are. -ENOTEMPTY: a type,
 * delimiter or key design differs where there are cells (-EBUSY: hidden ones); -EMFILE: too many
 * tables; -EPERM: a policy may hide more in a table that is and stays protected. fault names the
 * table and family. schema is valid, as from wcs_schema_parse or wcs_schema_get. A refused schema
 * is applied in no part. A later failure leaves the changes before it applied: another thread
 * changed the store meanwhile, a writer kept writing to a family whose type should change (-EBUSY),
 * or memory or the engine failed.
 */
int wcs_schema_apply(struct wcs_store *store, const struct wcs_schema *schema,
		     struct wcs_fault *fault);

/* The names of the types: "bytes", "intsum", … NULL for a number that is none. */
const char *wcs_type_name(enum wcs_type type);
/* The type of that name. -EINVAL: none. */
int wcs_type_parse(const char *name, enum wcs_type *type);

/* Is it intsum, intmin, intmax or inthll? */
bool wcs_type_aggregates(enum wcs_type type);

/*
 * Values of aggregate families, and text. A value of intsum, intmin and intmax has 8 bytes,
 * big-endian, two's complement; one of inthll is a state of HyperLogLog++ (docs/format.md). Such a
 * family takes no other value.
 */
/* A decimal integer: digits, perhaps behind a sign. -EINVAL: something else; -EOVERFLOW: one that
 * is no int64. */
int wcs_integer_parse(const char *text, size_t len, int64_t *number);
/* The value that a line of text (without its newline) stands for: a decimal integer; for inthll
 * any bytes, an element. value has room for WCS_AGGREGATE_LINE_MAX bytes. -EINVAL: no integer, or a
 * type that is no aggregate. */
int wcs_aggregate_line(enum wcs_type type, const char *line, size_t len, unsigned char *value,
		       size_t *value_len);
/* The value that lines of an inthll stand for together, each with its newline. value has room for
 * WCS_AGGREGATE_VALUE_MAX bytes. -ENOMEM. */
int wcs_hll_elements(struct wcs_slice lines, unsigned char *value, size_t *value_len);
/* The integer, or the estimate, that the value stands for. -EINVAL: it is no value of the type. */
int wcs_aggregate_number(enum wcs_type type, struct wcs_slice value, int64_t *number);

/* Are these bytes a table's, a family's name? */
bool wcs_table_name_valid(const char *name);
bool wcs_family_name_valid(const char *name);

/*
 * Brings a garbage-collection policy into its canonical spelling, which the caller frees.
 * Grammar of cbt setgcpolicy: never, maxversions=N, maxage=N(ms|s|m|h|d), and/&&, or/||,
 * parentheses, left-associative without precedence. -EINVAL: fault has the column, or 0 where it is
 * wrong at none: too long.
 */
int wcs_gc_canonical(const char *text, char **canonical, struct wcs_fault *fault);

/* ---- Tables ------------------------------------------------------------------------------ */

/* Makes a table without families, with the delimiter '#'. -EEXIST, -EINVAL (name), -EMFILE. */
int wcs_table_create(struct wcs_store *store, const char *name);

/* Removes a table that has no rows and no families. -ENOTEMPTY otherwise; -EPERM. */
int wcs_table_remove(struct wcs_store *store, const char *name);

/* Drops all rows, as wcs_rows_drop, and removes the table with its families. -EPERM. Where it
 * fails, or a crash comes, some of the rows may be dropped. */
int wcs_table_drop(struct wcs_table *table);

/* A handle on a table, good until wcs_table_close; when the table is removed meanwhile, calls
 * with it give -ENOENT. */
int wcs_table_open(struct wcs_store *store, const char *name, struct wcs_table **table);
void wcs_table_close(struct wcs_table *table);
/* Was it removed? Takes no lock. */
bool wcs_table_removed(const struct wcs_table *table);

/* The first table whose name is greater than after (NULL: the first of all). name has room for
 * WCS_TABLE_NAME_MAX + 1 bytes. -ENOENT: none. */
int wcs_table_next(struct wcs_store *store, const char *after, char *name);

const char *wcs_table_name(const struct wcs_table *table);
/* The time the table was made, microseconds since 1970. */
int64_t wcs_table_created(const struct wcs_table *table);
unsigned char wcs_table_delimiter(struct wcs_table *table);

/* Does a policy of the table look at ages so that it hides newest cells, and thereby rows? */
bool wcs_table_ages(struct wcs_table *table);

/* Sets the delimiter to an ASCII byte other than '/', NUL, '%' and '.'. -EINVAL: another one, or
 * one that the key design can make; -ENOTEMPTY where the table has a row; -EBUSY where it has only
 * cells that their policies hide, until the collector has run. fault has the reason of -EINVAL. */
int wcs_table_set_delimiter(struct wcs_table *table, unsigned char delimiter,
			    struct wcs_fault *fault);

/* The key design; NULL: of a plain table. Valid as long as the handle. A table without cells may
 * get another: a reader that works meanwhile may have read the old one. */
const struct wcs_keys *wcs_table_keys(const struct wcs_table *table);
/* Counts the changes of delimiter and design since the store was opened: what was read from a shown
 * form before a change means another key behind it. */
uint32_t wcs_table_layout(const struct wcs_table *table);
/* Sets the key design, which is copied; a plain one ends it. Errors as of the delimiter, and those
 * of a write; of -EINVAL fault has the reason. -EBUSY also if writers keep writing to the table. */
int wcs_table_set_keys(struct wcs_table *table, const struct wcs_keys *keys,
		       struct wcs_fault *fault);

bool wcs_table_protected(struct wcs_table *table);
/* Protects the table, or ends that. */
int wcs_table_set_protected(struct wcs_table *table, bool protect);

/* Makes a family of type bytes with the policy never. -EEXIST, -EINVAL (name). */
int wcs_family_create(struct wcs_table *table, const char *name);

/* Removes a family that holds no cell; its cost grows with the table's rows. -ENOTEMPTY, -EPERM. */
int wcs_family_remove(struct wcs_table *table, const char *name);

/* Deletes all cells of a family. Not atomic, not for one row either: a reader may see some of a
 * row's cells while others are gone, and a failure or crash half way leaves it so. What is written
 * meanwhile may stay. Its cost grows with the table's rows. -ENOENT, -EPERM. */
int wcs_family_drop(struct wcs_table *table, const char *name);

/* A copy of a family, to be released with wcs_family_clear. -ENOENT. */
int wcs_family_get(struct wcs_table *table, const char *name, struct wcs_family *family);
void wcs_family_clear(struct wcs_family *family);

/* The type of a family. -ENOENT. */
int wcs_family_type(struct wcs_table *table, const char *name, enum wcs_type *type);

/* Is there a family of that name? The name need not end in NUL. */
bool wcs_family_exists(struct wcs_table *table, struct wcs_slice name);
/* Answers as wcs_family_exists does: for struct names_families (lib/names.h). */
bool wcs_families_has(void *table, const void *name, size_t len);

/* The first family whose name is greater than after (NULL: the first of all); name has room for
 * WCS_FAMILY_NAME_MAX + 1 bytes. -ENOENT: none. */
int wcs_family_next(struct wcs_table *table, const char *after, char *name);

/* Sets the policy. -EINVAL: fault has the column; -EPERM. */
int wcs_family_set_gc(struct wcs_table *table, const char *name, const char *policy,
		      struct wcs_fault *fault);

/* Sets the type of a family that holds no cell. -ENOTEMPTY. */
int wcs_family_set_type(struct wcs_table *table, const char *name, enum wcs_type type);

/* ---- Garbage collection ------------------------------------------------------------------ */

/*
 * A family's policy hides cells from all reads; a thread of the store, the collector, deletes
 * hidden cells slowly in the background. For the grace of the options it leaves the cells alone
 * that a changed policy hides, or all, after the clock jumped by more than a day: they are shown
 * again when the user puts the policy or the clock right. A write of a cell that its policy hides
 * at once, for its age or behind other cells of the mutation, is a warning in the log, once an hour
 * for a family.
 */

/* Runs one pass over the whole store, at full speed and without grace. -ECANCELED: wcs_gc_end was
 * called meanwhile; or the error that stopped it. */
int wcs_gc_run(struct wcs_store *store);

/* Ends garbage collection until the store is opened again, and wakes callers of wcs_gc_run: call it
 * before you wait for their threads. */
void wcs_gc_end(struct wcs_store *store);

/* Stops the passes in the background, or lets them go on. */
void wcs_gc_pause(struct wcs_store *store, bool paused);

struct wcs_gc_status {
	bool paused;
	bool running;
	/* Where a pass is, or was interrupted and goes on; "": in none. */
	char table[WCS_TABLE_NAME_MAX + 1];
	size_t row_len; /* of the row there; 0: at the table's start */
	unsigned char row[WCS_ROW_KEY_MAX];
	int64_t next; /* when the next pass begins by itself; 0: none will */
	/* Since the store was opened. */
	uint64_t passes; /* that went through */
	uint64_t cells;	 /* deleted */
	uint64_t bytes;	 /* their keys and values */
	uint64_t looked; /* cells looked at */
	/* The pass under way, or the last one begun. */
	int64_t pass_started; /* microseconds since 1970; 0: none was */
	uint64_t pass_cells;
	/* The last one that went through. */
	int64_t last_started, last_ended;
	uint64_t last_cells;
	uint64_t left; /* families with a policy that it left alone, for the grace */
};
void wcs_gc_status(struct wcs_store *store, struct wcs_gc_status *status);

/* ---- Checking ---------------------------------------------------------------------------- */

/* A finding of a check. The first two kinds are counted, and can be corrected. */
enum wcs_found {
	WCS_FOUND_DAMAGE,   /* something is lost, unreadable or malformed */
	WCS_FOUND_LEFTOVER, /* a crash left it: it takes space, or waits to be finished */
	WCS_FOUND_NOTICE,   /* not a fault */
};

struct wcs_finding {
	enum wcs_found kind;
	const char *where; /* a file, key or place in a table, as text */
	const char *what;
	const char *done; /* how a repair that comes to its end corrects it; NULL: none does */
};

struct wcs_check_options {
	bool repair; /* else nothing in the store's directory is changed */
	/* The directory in which a repair keeps the store as it was, see docs/format.md. The repair
	 * makes it when it first needs it; an existing one must be empty. */
	const char *quarantine;
	/* Called for each finding; NULL: for none. */
	void (*found)(void *ctx, const struct wcs_finding *finding);
	/* Asked once, before the first change; NULL: it is agreed to. what: in words. */
	bool (*agree)(void *ctx, const char *what);
	/* Called now and then, total 0: not known; false ends the check: -ECANCELED. NULL: none. */
	bool (*progress)(void *ctx, const char *what, uint64_t done, uint64_t total);
	void *ctx;
};

/* Counts of a check; found: of damage and leftovers. */
struct wcs_check_result {
	uint64_t files;
	bool counted; /* the whole of the rest; otherwise without a meaning */
	uint64_t tables, rows, cells;
	uint64_t values; /* that are stored apart from their cell */
	uint64_t found, corrected;
	bool quarantined; /* the store as it was is in the quarantine */
};

/*
 * Checks all of the store at path, which no process may have open: checksums, keys, records,
 * values, schema, leftovers; and repairs it. Memory is constant but for the schema and the names of
 * files; larger data goes to files in $TMPDIR. 0: the check is complete, see *result. Errors, with
 * fault filled: those of wcs_store_open; -ECANCELED; -EOPNOTSUPP: this engine, a remote one, cannot
 * be checked from here; -ENOSPC and -EIO of a repair. A repair copies what can stay into a new
 * directory, checks that, and exchanges the two in one step. One that ends early can be started
 * again. *result is written in any case.
 */
int wcs_store_check(const char *path, const struct wcs_check_options *options,
		    struct wcs_check_result *result, struct wcs_fault *fault);

/* ---- Reading ----------------------------------------------------------------------------- */

/* A cell without its value. */
struct wcs_cell_info {
	int64_t ts;    /* microseconds since 1970 */
	uint64_t size; /* of the value, bytes */
	uint32_t etag; /* with ts: which stored value this is; replacing it gives another */
	/* When its family's policy will hide it for its age, microseconds since 1970; WCS_TS_MAX:
	 * never. A change of the column or of the policy may hide it before. */
	int64_t expires;
};

/* The cell of a column with timestamp ts, or its newest (WCS_TS_NEWEST). -ENOENT: none. */
int wcs_cell_get(struct wcs_table *table, struct wcs_slice row, const char *family,
		 struct wcs_slice qualifier, int64_t ts, struct wcs_cell_info *info);

/*
 * Opens the value of such a cell: one immutable value, whatever is written or deleted afterwards.
 * A small value is held in memory; a large one keeps its space on the medium while it is open.
 */
struct wcs_value;
int wcs_value_open(struct wcs_table *table, struct wcs_slice row, const char *family,
		   struct wcs_slice qualifier, int64_t ts, struct wcs_value **value);
/* Opens the value of a cell whose row is given by its stored key, with the table's salt (chain.h,
 * RAW). */
int wcs_value_open_stored(struct wcs_table *table, struct wcs_slice row, const char *family,
			  struct wcs_slice qualifier, int64_t ts, struct wcs_value **value);
void wcs_value_close(struct wcs_value *value);
const struct wcs_cell_info *wcs_value_info(const struct wcs_value *value);

/* Copies up to len bytes from offset on into buf; *got is less than len only at the end. Several
 * threads may read one value at once. */
int wcs_value_read(struct wcs_value *value, void *buf, size_t len, uint64_t offset, size_t *got);

/* The row and the rows below it that a key names. */
struct wcs_key_info {
	bool row;	 /* the row exists */
	bool prefix;	 /* rows exist whose key is this one, the delimiter, and more */
	int64_t expires; /* both hold until then, unless a write or delete changes them; as above */
};
/* Neither is not an error. key may be empty here: it is then the prefix of keys that start with
 * the delimiter. */
int wcs_key_get(struct wcs_table *table, struct wcs_slice key, struct wcs_key_info *info);

/* The cells that a scan gives: every one, or the first of each column, family or row. */
enum wcs_each { WCS_EACH_CELL = 0, WCS_EACH_COLUMN, WCS_EACH_FAMILY, WCS_EACH_ROW };

/* Which cells a scan gives. All zero: every cell. All conditions hold together. */
struct wcs_filter {
	enum wcs_each each;
	const char *const *families; /* only these; NULL: all */
	size_t family_count;
	/* Only qualifiers in [from, to); a NULL data of `to`: no upper end. To name one column, let
	 * `to` be `from` with a NUL byte behind it. */
	struct wcs_slice qualifier_from;
	struct wcs_slice qualifier_to;
	int64_t ts_from; /* only timestamps in [ts_from, ts_to); ts_to 0: no upper end */
	int64_t ts_to;
	uint32_t newest; /* only so many of each column, the newest of those above; 0: all */
	bool reverse;	 /* rows in the opposite order; the cells of each as otherwise */
	struct wcs_chain *chain; /* only its rows and cells, see chain.h; NULL: all */
	bool uncounted;		 /* its rows are no traffic, see heat/heat.h */
};

/* Rows from start on, up to but not with end. A NULL data of end: to the last row. */
struct wcs_range {
	struct wcs_slice start;
	struct wcs_slice end;
};

/* The parts of a cell's address, in their order. */
enum wcs_part { WCS_PART_ROW, WCS_PART_FAMILY, WCS_PART_QUALIFIER, WCS_PART_TS };

/* A cell that a scan found; its slices are good until the next call on that scan. */
struct wcs_cell {
	/* The first part that differs from the cell before; WCS_PART_ROW also for the first cell,
	 * and for the first one behind a seek. */
	enum wcs_part differs;
	struct wcs_slice row;
	struct wcs_slice family;
	struct wcs_slice qualifier;
	struct wcs_cell_info info;
	struct wcs_slice value; /* where info.size <= WCS_VALUE_INLINE; else use wcs_scan_read */
};

/*
 * A scan gives cells in order: rows and qualifiers by unsigned bytes ascending, families by name,
 * cells of a column newest first. All cells of one row come from one moment. It holds resources
 * of the engine: close it soon, and resume by key.
 *
 * A scan reads the rows of any number of ranges, which are ascending and do not overlap (else
 * -EINVAL); an empty range is ignored. A scan in reverse order reads them from the last row to the
 * first; -EOPNOTSUPP: the engine cannot.
 */
struct wcs_scan;
int wcs_scan_open(struct wcs_table *table, const struct wcs_range *ranges, size_t range_count,
		  const struct wcs_filter *filter, struct wcs_scan **scan);
/* 1: *cell is the next one; 0: the end; or an error, of which -EINTR is no fault: close the scan.
 */
int wcs_scan_next(struct wcs_scan *scan, struct wcs_cell *cell);
/* Goes on at the first row of the ranges from this one on, or in reverse order at the last row
 * before this one; it may go either way. Cheaper than another scan. There is no cell to read until
 * the next one. */
int wcs_scan_seek(struct wcs_scan *scan, struct wcs_slice row);
/* Like wcs_value_read, of the cell that wcs_scan_next gave last. -EINVAL: it gave none. */
int wcs_scan_read(struct wcs_scan *scan, void *buf, size_t len, uint64_t offset, size_t *got);
void wcs_scan_close(struct wcs_scan *scan);

/*
 * Lists the distinct first segments of the row keys that start with prefix, that is the bytes
 * between prefix and the next delimiter or the key's end; in the order of the first row of each,
 * those behind `after` only (NULL: all). The key that equals prefix itself counts as the
 * empty segment if prefix ends in the delimiter. Skips from child to child: its cost grows with
 * the segments given, not with the rows below them. To resume, open another with the last one: if
 * rows change meanwhile, segments that always have a row are given once all the same.
 *
 * chain: counts only the rows that it shows (NULL: all). If these are in descending order, a
 * segment stands at the last of its rows.
 */
struct wcs_list;

/* A segment that a list gave. If only `segment` is set, the list resumes behind the key
 * prefix·segment. */
struct wcs_list_child {
	struct wcs_slice segment;
	bool below;		/* wcs_list_is_below */
	struct wcs_slice given; /* wcs_list_given */
};
int wcs_list_open(struct wcs_table *table, struct wcs_slice prefix,
		  const struct wcs_list_child *after, struct wcs_chain *chain,
		  struct wcs_list **list);
/* 1: *segment is the next, good until the next call; 0: the end; or an error. */
int wcs_list_next(struct wcs_list *list, struct wcs_slice *segment);
/* Does the last segment given stand at a row below it, and not at the row of its own key? */
bool wcs_list_is_below(const struct wcs_list *list);
/* The caller gave a segment of its own before the last one, as if that had a row of its own key. */
void wcs_list_gave(struct wcs_list *list, struct wcs_slice segment);
/* The list's memory of the segments given before that one, as opaque bytes: which of its beginnings
 * they are. Good until the next call on the list. */
struct wcs_slice wcs_list_given(const struct wcs_list *list, struct wcs_slice segment);
void wcs_list_close(struct wcs_list *list);

/* How many rows the calls of this thread have read since it began: rows that a scan gave cells of,
 * children that a listing gave, and looks at a cell, a value or a key. */
uint64_t wcs_rows_read(void);

/* ---- Writing ----------------------------------------------------------------------------- */

/*
 * A mutation of one row: any number of conditions, deletes and writes. Applied atomically:
 * conditions are looked at first, and when one does not hold nothing is applied; then the
 * deletes; then the writes in the order in which they were added. A reader of the row sees all or
 * nothing of it. Families and bytes are borrowed until the mutation is freed. The calls that add
 * to it return 0, or an error of the arguments (-EINVAL, -ENAMETOOLONG, -EFBIG), or -ENOMEM; the
 * mutation is then as it was.
 */
struct wcs_mutation;
struct wcs_mutation *wcs_mutation_new(void); /* NULL: no memory */
void wcs_mutation_free(struct wcs_mutation *mutation);

/* Condition: the column's newest value is this; expected NULL: the column has no cell. */
int wcs_mutation_if(struct wcs_mutation *mutation, const char *family, struct wcs_slice qualifier,
		    const struct wcs_slice *expected);

int wcs_mutation_delete_row(struct wcs_mutation *mutation);
int wcs_mutation_delete_family(struct wcs_mutation *mutation, const char *family);
int wcs_mutation_delete_column(struct wcs_mutation *mutation, const char *family,
			       struct wcs_slice qualifier);
/* One cell. To delete a thing that does not exist is no error, in all four. */
int wcs_mutation_delete_cell(struct wcs_mutation *mutation, const char *family,
			     struct wcs_slice qualifier, int64_t ts);

/* Sets a cell. ts: a timestamp, whose cell is replaced where it exists, or WCS_TS_SERVER. */
int wcs_mutation_set(struct wcs_mutation *mutation, const char *family, struct wcs_slice qualifier,
		     int64_t ts, struct wcs_slice value);

/* Sets a cell that becomes the newest: with ts where the newest cell is not later (it is replaced
 * where equal), else with the server's timestamp. */
int wcs_mutation_set_newest(struct wcs_mutation *mutation, const char *family,
			    struct wcs_slice qualifier, int64_t ts, struct wcs_slice value);

/* Makes a new cell, with the server's timestamp, of the newest value with data behind it. An
 * absent column counts as empty. replaces: the timestamp of a cell that the new one stands for, or
 * WCS_TS_NONE: that cell goes; where it is the newest, the new one takes its timestamp. -EFBIG from
 * wcs_row_mutate. */
int wcs_mutation_append(struct wcs_mutation *mutation, const char *family,
			struct wcs_slice qualifier, struct wcs_slice data, int64_t replaces);

/* Makes a new cell, with the server's timestamp, of the newest value plus delta; values are
 * 8 bytes, big-endian, two's complement, as in Bigtable. An absent column counts as 0. -EINVAL
 * (the newest value is not 8 bytes) and -EOVERFLOW from wcs_row_mutate. */
int wcs_mutation_increment(struct wcs_mutation *mutation, const char *family,
			   struct wcs_slice qualifier, int64_t delta);

/*
 * Aggregate families: merges a value of the family's type into a cell: of ts, or the column's
 * newest (WCS_TS_NEWEST). Where there is none it is made of the value alone, with ts or the
 * server's timestamp. Several merges add up in their order. An increment of an intsum is a merge
 * into the newest cell; otherwise such families take neither increments nor appends. From
 * wcs_row_mutate: -EOVERFLOW: a sum leaves its range; -EINVAL: the value is none of the type, or
 * the family holds bytes; -EIO: what the cell has is none of the type.
 */
int wcs_mutation_merge(struct wcs_mutation *mutation, const char *family,
		       struct wcs_slice qualifier, int64_t ts, struct wcs_slice value);

/* Aggregate families: sets the value of the column's newest cell, which keeps its timestamp. Where
 * there is none it is made, with the server's. Errors as of a merge. */
int wcs_mutation_replace(struct wcs_mutation *mutation, const char *family,
			 struct wcs_slice qualifier, struct wcs_slice value);

/*
 * Applies the mutation to a row. *ts (may be NULL) is the timestamp of the cell that the last
 * write made, 0 if there was none. -ENOENT: the table or a named family does not exist (deletes
 * included); -ECANCELED; -EOVERFLOW: a server's timestamp would leave the range; -EINVAL: a value
 * that an aggregate family does not take; -EINVAL, -ENAMETOOLONG: the row key. A mutation may be
 * applied again.
 */
int wcs_row_mutate(struct wcs_table *table, struct wcs_slice row, struct wcs_mutation *mutation,
		   int64_t *ts);

/* A row and its mutation in a batch. */
struct wcs_entry {
	struct wcs_slice row;
	struct wcs_mutation *mutation;
	int64_t ts; /* set where it is applied: as *ts of wcs_row_mutate */
};

/*
 * Applies many mutations, in order, each atomic for itself as by wcs_row_mutate, and much faster;
 * a row may come more than once. Stops at the first that fails and returns its error. *applied,
 * which is written in any case, is how many before it are applied; no other is.
 */
int wcs_rows_mutate(struct wcs_table *table, struct wcs_entry *entries, size_t count,
		    size_t *applied);

/* Cells that move within one family of a row, without their values being read. */
enum wcs_move_kind {
	/* The column `from` becomes the column `to`, with all its cells. Where `to` has a cell, the
	 * newest value of `from` becomes the newest cell of `to` instead, with its timestamp where
	 * that is later than the newest of `to`, else with the server's; and `from` goes. from and
	 * to being the same changes nothing. -EFBIG where `to` has no cell and `from` has more than
	 * WCS_MOVE_CELLS_MAX or WCS_MOVE_BYTES_MAX. */
	WCS_MOVE_COLUMN,
	/* Moves as WCS_MOVE_COLUMN does, but -EEXIST where `to` has a cell, also when both are the
	 * same. */
	WCS_MOVE_COLUMN_NEW,
	/* The cell (from, from_ts) becomes the newest cell of `to`: with its timestamp where `to`
	 * has no later or equal one, else with the server's. `to` must be another column. */
	WCS_MOVE_CELL_NEWEST,
	/* The cell (from, from_ts) becomes the cell (to, to_ts), in place of one that is there. */
	WCS_MOVE_CELL,
	/* The newest cell of `from` gets the timestamp to_ts. -EINVAL where that is not later than
	 * the next older cell. `to` is not looked at. */
	WCS_MOVE_STAMP,
};

struct wcs_move {
	enum wcs_move_kind kind;
	const char *family;
	struct wcs_slice from;
	int64_t from_ts; /* WCS_MOVE_CELL_NEWEST, WCS_MOVE_CELL */
	struct wcs_slice to;
	int64_t to_ts; /* WCS_MOVE_CELL, WCS_MOVE_STAMP */
};

/* Moves cells, atomically. *ts (may be NULL) is the timestamp of the cell that moved, of a column
 * its newest. -ENOENT: the table, the family, the column or the cell does not exist. */
int wcs_cells_move(struct wcs_table *table, struct wcs_slice row, const struct wcs_move *move,
		   int64_t *ts);

/*
 * Deletes the row `key` and all rows below it: those whose key is this one, the delimiter, and
 * more; NULL: all rows of the table. Not atomic across rows, but each row goes whole. After a crash
 * half way the next open of the store finishes the drop: a row that it reached stays dropped, a row
 * written after it stays. Other calls on the table go on meanwhile; changes of its schema and other
 * drops wait. key may be empty, as in wcs_key_get. -EPERM.
 */
int wcs_rows_drop(struct wcs_table *table, const struct wcs_slice *key);

/* Counts the rows below key (NULL: of the table), as far as the chain (NULL: none) shows them. Its
 * cost grows with their cells. */
struct wcs_count {
	uint64_t rows;
	uint64_t cells;
	uint64_t bytes; /* of their values */
};
int wcs_rows_count(struct wcs_table *table, const struct wcs_slice *key, struct wcs_chain *chain,
		   struct wcs_count *count);
/* Counts one family's cells, and the rows that have such cells. */
int wcs_family_count(struct wcs_table *table, const char *name, struct wcs_count *count);

/*
 * Counts the cells of a family that its policy shows and another policy would hide, as of now, and
 * the rows that have such cells. Calls each for every such cell, in the order of a scan; it stops
 * at the first error of each and returns it. -EINVAL: the text is no policy; fault has the column,
 * or 0. The cost grows with the family's cells.
 */
int wcs_family_explain(struct wcs_table *table, const char *name, const char *policy,
		       int (*each)(void *ctx, const struct wcs_cell *cell), void *ctx,
		       struct wcs_count *count, struct wcs_fault *fault);

/* The policy collects a cell with that timestamp once its column has so many newer cells, or from
 * then on at some age; 0: newer cells alone do not lead to that. */
int wcs_family_newer(struct wcs_table *table, const char *name, int64_t ts, uint64_t *newer);

#endif
