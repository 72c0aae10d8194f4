/* SPDX-License-Identifier: MIT */
/*
 * LevelDB's files as such: which are in use, and which are damaged or missing. What LevelDB takes
 * without a word, and loses, is told here.
 */
#ifndef WCS_LEVELDB_FILES_H
#define WCS_LEVELDB_FILES_H

#include "store/leveldb/encoding/buffer.h"
#include "store/leveldb/formats/manifest.h"

/* What is wrong with a file. */
struct ldb_files_fault {
	enum ldb_file_kind kind;
	uint64_t number;
	char name[LDB_FILE_NAME_MAX];
	bool missing;
	bool another;	    /* a table, but not the one that the MANIFEST means */
	uint64_t right;	    /* that one has the name of this number; 0: it is not there */
	bool right_damaged; /* not all of it */
	uint64_t stands;    /* as right, where a repair has changed names since */
	char what[192];
};

/* A table that stands under another's name, or under one that the MANIFEST does not know. */
struct ldb_files_table {
	uint64_t number; /* of its name */
	uint64_t size;
	bool good;			     /* all of it can be read */
	bool taken;			     /* it is some fault's right one */
	struct ldb_buffer smallest, largest; /* of what can be read; none: nothing */
};

struct ldb_files {
	int dir;
	bool whole;			 /* the MANIFEST could be read */
	char current[LDB_FILE_NAME_MAX]; /* the MANIFEST that is used; "": none */
	bool current_good;		 /* CURRENT names it */
	struct ldb_manifest manifest;
	uint64_t count;	   /* files looked at */
	uint64_t bytes;	   /* read so far */
	uint64_t all;	   /* bytes of all files there are */
	uint64_t largest;  /* number of any file */
	uint64_t unlisted; /* tables and logs that the MANIFEST does not name, or not any more */
	size_t fault_count, fault_room;
	struct ldb_files_fault *faults;
	size_t astray_count, astray_room;
	struct ldb_files_table *astray;
	/* Now and then; not 0 ends it, and is returned. */
	int (*progress)(void *ctx, uint64_t done, uint64_t total);
	/* A log or the MANIFEST is torn behind that place (logfile.h), which is no fault. */
	int (*torn)(struct ldb_files *files, const char *name, uint64_t end);
	void *ctx;
};

/* Reads what is in use. path: of LevelDB's directory. -ENOMEM, -EIO: no such directory. */
int ldb_files_open(const char *path, struct ldb_files *files, struct wcs_fault *fault);
void ldb_files_close(struct ldb_files *files);
/* Looks at the logs that are in use, and tells which are torn. */
int ldb_files_logs(struct ldb_files *files);
/* Looks at the tables that are in use, all of them, or those with keys of a key space. */
int ldb_files_tables(struct ldb_files *files);
int ldb_files_tables_of(struct ldb_files *files, unsigned char space);
/* Looks at those only that are missing or of a wrong size, at no cost but for those. */
int ldb_files_sizes(struct ldb_files *files);
/* Behind ldb_files_tables: finds tables that are missing, or not what their names say, under other
 * names. */
int ldb_files_names(struct ldb_files *files);
/* Behind all these: where files are missing and others are there of which the MANIFEST says
 * nothing, its end is missing, and it is a fault, too, and not whole any more. */
int ldb_files_end(struct ldb_files *files);
/* Calls each for all of LevelDB's files there are, until one returns another number than 0. */
int ldb_files_each(const struct ldb_files *files,
		   int (*each)(void *ctx, const char *name, enum ldb_file_kind kind,
			       uint64_t number),
		   void *ctx);
/* The table under either of its names; -1. */
int ldb_files_open_table(struct ldb_files *files, uint64_t number, uint64_t *size);

/* Before LevelDB opens it: may it? What is torn is cut, kept beside, and logged. -EIO: fault names
 * the file. */
int ldb_files_check(const char *path, const struct wcs_options *options, struct wcs_fault *fault);
/* LevelDB or a read behind its opening failed: names the damaged file where one is found. Returns
 * error. */
int ldb_files_blame(const char *path, int error, struct wcs_fault *fault);

#endif
