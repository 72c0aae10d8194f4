/* SPDX-License-Identifier: MIT */
/*
 * The store and its tables in memory. Private to store/, but not for the engines.
 *
 * Locks, in the order in which they are taken: a table's admin, the store's admin, the store's
 * lock, a table's gate, collecting. The gate is held for reading across each engine call that names
 * the table, so it must not be taken twice by one thread: a waiting writer would block the second.
 * space_lock comes last, also under the row locks of an engine.
 */
#ifndef WCS_TABLE_H
#define WCS_TABLE_H

#include "store/backend.h"
#include "store/keys/keys.h"
#include "store/policy/view.h"

#include <pthread.h>
#include <stdatomic.h>

struct directory;
struct wcs_collector;
struct wcs_watch;

struct wcs_store {
	struct wcs_engine engine;
	struct wcs_options options;  /* log and now are never NULL */
	struct directory *directory; /* NULL: the store has none around its engine */
	struct wcs_collector *collector;
	struct heat *heat;	    /* NULL: it counts nothing, see heat_count.h */
	pthread_mutex_t collecting; /* held around each slice of the engine's collect */
	int64_t created;
	_Atomic uint64_t wrong_salt;	       /* see struct wcs_stats */
	_Atomic uint64_t cells_old;	       /* see struct wcs_stats */
	_Atomic(struct resolve_edits *) edits; /* see resolve.h */
	_Atomic uint64_t writing;	       /* bytes that calls under way write, see room.c */
	pthread_mutex_t space_lock;	       /* guards space and space_read */
	struct wcs_space space;		       /* the last reading */
	int64_t space_read;		       /* when that was, by clock_ns; 0: never */
	pthread_mutex_t admin; /* one table is made or removed, or the format raised, at a time */
	pthread_rwlock_t lock; /* guards the fields below; a change takes admin, too */
	size_t table_count;
	struct wcs_table *tables[WCS_TABLES_MAX]; /* by name */
};

struct table_family {
	struct wcs_family family; /* never changes; a change puts another in its place */
	/* Counts the calls that wrote to it, each after its engine call and before it leaves the
	 * gate: see table_change.c. */
	atomic_uint_fast64_t writes;
	_Atomic int64_t hidden_told; /* the last warning of hidden_tell, by clock_ns; 0: none yet */
};

struct wcs_table {
	struct wcs_store *store;
	uint32_t id;
	char name[WCS_TABLE_NAME_MAX + 1];
	int64_t created;
	atomic_size_t handles; /* the store's own is one of them */
	pthread_mutex_t admin; /* one change of the table, or one drop, at a time */
	pthread_rwlock_t gate; /* guards the fields below; a change takes admin, too */
	atomic_bool removed;   /* set under the gate */
	/* These two are also read without the gate. */
	atomic_bool protected;
	_Atomic unsigned char delimiter;
	size_t family_count;
	struct table_family **families; /* by name */
	struct wcs_policies *policies;	/* of the families */
	/* NULL: a plain table. Read without the gate; see wcs_table_keys. */
	_Atomic(const struct wcs_keys *) keys;
	struct table_keys *designs;		 /* that it has or had; freed with the table */
	_Atomic uint32_t layout;		 /* see wcs_table_layout */
	_Atomic(const struct wcs_watch *) watch; /* see rows.h; NULL: none */
};

/* A change of a table's description. */
struct table_edit {
	size_t at;		     /* in families */
	bool removes;		     /* the family at `at` goes */
	struct table_family *adds;   /* comes in its place, or before it; the edit's until made */
	unsigned char delimiter;     /* 0: as it is */
	const struct wcs_keys *keys; /* NULL: as it is */
	enum wcs_protection protection; /* open: as it is */
	bool needs_empty; /* the family at `at` must hold no cell; of delimiter and keys: the table
			   */
};

/* One line to the store's log. */
void store_log(const struct wcs_store *store, enum wcs_log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static inline int64_t store_now(const struct wcs_store *store)
{
	return store->options.now(store->options.now_ctx);
}

/* Logs a warning, without the key, if a cell of that size brings the row's values over WCS_ROW_WARN
 * bytes: once for a row that is read from its beginning. bytes: the cell's included. */
void store_weigh_row(const struct wcs_table *table, uint64_t bytes, uint64_t size);
/* Logs a warning if a value of that size, which was made, is over WCS_VALUE_WARN. */
void store_weigh_value(const struct wcs_store *store, const char *family, uint64_t size);

/* Has the slice at most max bytes; is it a row key? -ENAMETOOLONG, -EINVAL. */
int store_check_slice(struct wcs_slice slice, size_t max);
int store_check_row(struct wcs_slice row);

/* The rows that this thread has read, see wcs_rows_read. */
extern _Thread_local uint64_t store_rows_read;

/* Warns if the view hides a cell of an applied mutation; that it hides one of the family: once for
 * a family and hour, without key and value. The caller has entered the table. */
void hidden_tell_mutation(struct wcs_table *table, const struct wcs_mutation *mutation);
void hidden_tell(struct wcs_table *table, const char *family);

/* ---- room.c: the caller of the last one has entered the table ---- */
/* A change that takes room: how many quarters of the reserve it leaves. */
enum room_for {
	ROOM_RECORDS = 3, /* moves large values, which can be renamed on a full medium */
	ROOM_BEGUN = 4,	  /* commits a value for which wcs_store_room was asked */
	ROOM_NEW = 5	  /* any other: there is room for as much as wcs_store_space tells */
};
/* Reserves room for a write of that size. -ENOSPC; 0: the caller calls room_leave(size) afterwards.
 */
int room_enter(struct wcs_store *store, uint64_t size, enum room_for what);
void room_leave(struct wcs_store *store, uint64_t size);
/* Reserves room for the writes of checked mutations, as far as these tell. */
int room_enter_writes(const struct wcs_table *table, const struct wcs_entry *entries, size_t count,
		      enum room_for what, uint64_t *size);

/* A table object as described, which only its handle holds. -EINVAL: a name or delimiter is not
 * valid, or a family is named twice. */
int table_new(struct wcs_store *store, const struct wcs_table_schema *schema,
	      struct wcs_table **made);
/* Where the table is, or would be; the caller holds the store's lock or admin. */
bool table_find(const struct wcs_store *store, const char *name, size_t *at);
/* Puts the table there, which takes the handle. The caller holds the store's admin. */
void table_insert(struct wcs_store *store, size_t at, struct wcs_table *table);
/* Fills the store's tables from its engine. */
int table_load(struct wcs_store *store);
/* Releases the store's tables. */
void table_unload(struct wcs_store *store);
/* Makes a table as described, open parts as their defaults; its creation time is the present.
 * -EEXIST, -EINVAL, -EMFILE. */
int table_make(struct wcs_store *store, const struct wcs_table_schema *schema);
/* Describes the table with these families, whose policies the description borrows. The caller frees
 * described->families, and has entered the table or holds admin. -ENOMEM: it has no families. */
int table_describe(const struct wcs_table *table, struct table_family *const *families,
		   size_t count, struct wcs_table_schema *described);
/* Has the family no cell but hidden ones? -ENOTEMPTY. The caller holds admin. */
int table_check_shown(struct wcs_table *table, const struct table_family *family);
/* May the table's delimiter (0: as it is) and design (NULL: as it is) become these? Sets *differs.
 * Errors as of wcs_table_set_keys. The caller holds admin. */
int table_check_layout(struct wcs_table *table, unsigned char delimiter,
		       const struct wcs_keys *keys, bool *differs, struct wcs_fault *fault);
/* Sets both. */
int table_set_layout(struct wcs_table *table, unsigned char delimiter, const struct wcs_keys *keys,
		     struct wcs_fault *fault);
/* Makes the edit, durably. The caller holds the table's admin. -ENOTEMPTY, -EBUSY. */
int table_change(struct wcs_table *table, struct table_edit *edit);
/* Takes the gate for reading. -ENOENT: the table was removed; the gate is not held then. */
int table_enter(struct wcs_table *table);
void table_leave(struct wcs_table *table);
/* A copy of the design with that delimiter, NULL if it is plain; free it, or give it to the table.
 * The caller of the second holds the gate, or has the only handle. -ENOMEM. */
int table_keys_new(const struct wcs_keys *keys, unsigned char delimiter, struct table_keys **made);
void table_keys_adopt(struct wcs_table *table, struct table_keys *made);
/* The present view of the table. The caller has entered it; the view is valid until it leaves, or
 * as long as it holds the policies. */
struct wcs_view table_view(const struct wcs_table *table);
/* Takes a reference. Returns table. */
struct wcs_table *table_hold(struct wcs_table *table);
/* Takes admin. -ENOENT: the table was removed; admin is not held then. */
int table_lock(struct wcs_table *table);
void table_unlock(struct wcs_table *table);

/* Makes a family as described. -EEXIST. */
int family_make(struct wcs_table *table, const struct wcs_family *family);
/* Could the family get the type and policy of `wanted` now, if they are not open, or be made with
 * them? opens: the table loses its protection before. The caller holds admin. -ENOTEMPTY, -EPERM;
 * -EINVAL: no policy. */
int family_may_change(struct wcs_table *table, const struct wcs_family *wanted, bool opens);
/* A copy of the description, open parts as their defaults. NULL: no memory. */
struct table_family *family_new(const struct wcs_family *family);
void family_free(struct table_family *family);
/* Logs a warning where there are more than WCS_FAMILIES_WARN. The caller holds gate or admin. */
void family_warn_count(const struct wcs_table *table);
/* Where the family is, or would be, among the table's; the caller holds gate or admin. */
bool family_find(const struct wcs_table *table, struct wcs_slice name, size_t *at);
/* The family of that name, or NULL. The caller as above. */
struct table_family *family_of(const struct wcs_table *table, const char *name);

#endif
