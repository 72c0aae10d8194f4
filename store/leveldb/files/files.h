/* SPDX-License-Identifier: MIT */
/*
 * Checks LevelDB's files without LevelDB: which are in use, damaged, missing or misnamed. It finds
 * what LevelDB ignores silently (files.c). One thread for each struct.
 */
#ifndef WCS_LEVELDB_FILES_H
#define WCS_LEVELDB_FILES_H

#include "store/leveldb/encoding/buffer.h"
#include "store/leveldb/formats/manifest.h"

/* A fault of a file. */
struct ldb_files_fault {
	enum ldb_file_kind kind;
	uint64_t number;
	char name[LDB_FILE_NAME_MAX];
	bool missing;
	bool another; /* a table, but not the one that the MANIFEST describes */
	bool foreign; /* and none of its other tables */
	uint64_t size;
	uint64_t entries;		     /* that can be read */
	uint64_t bytes;			     /* of the table's blocks */
	uint64_t sequence;		     /* the table's highest one */
	struct ldb_damage damage;	     /* blocks or records that cannot be read */
	struct ldb_buffer smallest, largest; /* internal keys of a table that is read; else empty */
	char what[192];			     /* the fault */
};

/* A file of LevelDB's. */
struct ldb_files_name {
	enum ldb_file_kind kind;
	uint64_t number;
};

struct ldb_files {
	int dir;
	struct ldb_files_name *list; /* all that there are */
	size_t list_count, list_room;
	bool whole;			 /* MANIFEST and names say which files are in use */
	char current[LDB_FILE_NAME_MAX]; /* the MANIFEST that was read; "": there is none */
	struct ldb_manifest manifest;
	uint64_t count; /* files checked */
	uint64_t bytes; /* read so far */
	uint64_t all;	/* bytes of all files */
	uint64_t most;	/* a higher number of a file or change is a fault; LDB_NUMBER_MAX */
	size_t fault_count, fault_room;
	struct ldb_files_fault *faults;
	/* Each may be NULL. A result other than 0 ends the check, which returns it. */
	int (*progress)(void *ctx, uint64_t done, uint64_t total);
	/* A log or the MANIFEST is torn behind `end` (logfile.h), which is no fault. */
	int (*torn)(struct ldb_files *files, const char *name, uint64_t end, uint64_t zeros_at);
	/* A change in a log, in the order of the log, or an entry of a table. tag: as of an
	 * internal key. */
	int (*change)(void *ctx, uint64_t tag, struct wcs_slice key, struct wcs_slice value);
	/* Entries of a table between two internal keys cannot be read. An empty one: not known. */
	int (*lost)(void *ctx, uint64_t number, struct wcs_slice from, struct wcs_slice to);
	void *ctx;
};

/* The calls below return 0, also where they find faults, -ENOMEM, or what a callback returned. */

/* Reads CURRENT and the MANIFEST. path: of LevelDB's directory. -EIO: there is no such directory.
 */
int ldb_files_open(const char *path, struct ldb_files *files, struct wcs_fault *fault);
void ldb_files_close(struct ldb_files *files);
/* Checks the logs in use; without a MANIFEST, all logs. */
int ldb_files_logs(struct ldb_files *files);
/* Checks the tables in use; without a MANIFEST, all tables. A table under another's name clears
 * `whole`. spaces: reads those only that may have keys starting with one of these bytes, or have a
 * wrong size; NULL: reads all. */
int ldb_files_tables(struct ldb_files *files, const char *spaces);
/* After all these: if files are missing and the MANIFEST does not list others that exist, its last
 * edits are missing, which is a fault, and clears `whole`. */
int ldb_files_end(struct ldb_files *files);
/* Does the MANIFEST name that table, or is that log one of those in use? True for other files. */
bool ldb_files_is_used(const struct ldb_files *files, const struct ldb_files_name *file);
/* Gives the entries of all tables and logs in use, which a check has looked at: the newest one of a
 * key last, but those of one level in the order of internal keys. If it is not known which files
 * are in use, gives the entries of all that there are, but for foreign tables, in any order. Notes
 * no faults. */
int ldb_files_entries(struct ldb_files *files);

/* Gives the entries of the tables that the MANIFEST does not list, in any order. Notes no faults.
 */
int ldb_files_unlisted(struct ldb_files *files);

/* Before LevelDB opens the directory: cuts torn files, keeps what it cuts beside, and logs that.
 * -EIO: a file is damaged; fault names it. */
int ldb_files_check(const char *path, const struct wcs_options *options, struct wcs_fault *fault);
/* After LevelDB failed to open the directory, or to read from it: sets the fault to the first
 * damaged file, if it finds one. Returns error. */
int ldb_files_blame(const char *path, int error, struct wcs_fault *fault);

#endif
