/* SPDX-License-Identifier: MIT */
/* Damages a store by commands: see forge.h. */
#include "tests/unit/forge.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/disk/crc.h"
#include "store/leveldb/engine.h"
#include "store/leveldb/formats/manifest.h"
#include "store/leveldb/formats/tablefile.h"
#include "tests/unit/forge_write.h"

enum { WORDS = 40, BYTES_MAX = 1 << 20, ENTRIES_MAX = 1000, LARGE = 4096 };

static const char *forge_store;
static char *forge_words[WORDS + 1]; /* of the command, with NULL behind the last */
static unsigned char forge_bytes[BYTES_MAX];

static void forge_need(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "damage: %s %s: %s\n", forge_words[0], forge_words[1], what);
	exit(1);
}

static uint64_t forge_number(const char *word)
{
	return strtoull(word, NULL, 10);
}

/* Bytes in hexadecimal; returns how many there are. */
static size_t forge_hex(const char *word, unsigned char *to)
{
	size_t len = strlen(word) / 2;
	unsigned int byte;

	for (size_t i = 0; i < len; i++) {
		forge_need(sscanf(word + 2 * i, "%2x", &byte) == 1, "not hexadecimal");
		to[i] = (unsigned char)byte;
	}
	return len;
}

static int forge_directory(void)
{
	char path[512];
	int dir;

	snprintf(path, sizeof(path), "%s/data", forge_store);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	forge_need(dir >= 0, "no data/");
	return dir;
}

/* ---- LevelDB's keys ---------------------------------------------------------------------- */

static void forge_log(void *ctx, enum wcs_log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	fprintf(stderr, "damage: %s\n", text);
}

/* Prints the value of the key, or all keys. */
static void forge_get(struct ldb *db, const char *key, size_t key_len)
{
	leveldb_iterator_t *iter = ldb_db_iterate(db);
	size_t len;

	for (leveldb_iter_seek(iter, key, key_len); leveldb_iter_valid(iter);
	     leveldb_iter_next(iter)) {
		const unsigned char *found = ldb_iter_key(iter, &len);

		if (key_len > 0) {
			forge_need(len == key_len && memcmp(found, key, len) == 0, "no such key");
			found = (const unsigned char *)leveldb_iter_value(iter, &len);
		}
		for (size_t i = 0; i < len; i++)
			printf("%02x", found[i]);
		putchar('\n');
		if (key_len > 0)
			break;
	}
	leveldb_iter_destroy(iter);
}

static void forge_key(char **words)
{
	static const struct wcs_options options = {.log = forge_log};
	static char bytes[BYTES_MAX];
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	const char *key = (const char *)forge_bytes;
	size_t len = words[1] ? forge_hex(words[1], forge_bytes) : 0;
	struct wcs_fault fault = {.text = ""};
	char data[512];
	struct ldb *db;

	snprintf(data, sizeof(data), "%s/data", forge_store);
	forge_need(ldb_engine_open_raw(data, false, &options, &db, &fault) == 0, fault.text);
	if (*words[0] == 'p')
		leveldb_writebatch_put(batch, key, len, bytes,
				       forge_hex(words[2], (unsigned char *)bytes));
	else if (*words[0] == 'd')
		leveldb_writebatch_delete(batch, key, len);
	else
		forge_get(db, key, len);
	forge_need(ldb_commit(db, batch, true) == 0, "no write");
	leveldb_writebatch_destroy(batch);
	ldb_engine_close_raw(db);
}

/* ---- Files ------------------------------------------------------------------------------- */

off_t forge_file(const char *store, const char *file, char path[512])
{
	const struct dirent *entry;
	off_t most = -1;
	struct stat st;
	DIR *stream;

	snprintf(path, 512, "%s/%s", store, file);
	if (stat(path, &st) == 0)
		return st.st_size;
	forge_store = store;
	stream = fdopendir(forge_directory());
	while ((entry = readdir(stream)))
		if (strstr(entry->d_name, file) &&
		    fstatat(dirfd(stream), entry->d_name, &st, 0) == 0 && st.st_size > most) {
			most = st.st_size;
			snprintf(path, 512, "%s/data/%.100s", store, entry->d_name);
		}
	closedir(stream);
	forge_need(most >= 0, "no such file");
	return most;
}

static void forge_name(char **words)
{
	char path[512], to[512];

	forge_file(forge_store, words[1], path);
	snprintf(to, sizeof(to), "%s/data/%s", forge_store, words[2] ? words[2] : "");
	forge_need((words[2] ? rename(path, to) : unlink(path)) == 0, "cannot be done");
}

static void forge_content(char **words)
{
	char path[512];
	off_t size = forge_file(forge_store, words[1], path);
	off_t at = (off_t)forge_number(words[2]);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	size_t len = 0;

	at += at < 0 ? size : 0;
	if (*words[0] == 'c') {
		forge_need(ftruncate(fd, at) == 0, "not cut");
	} else if (*words[0] == 'f') {
		len = (size_t)pread(fd, forge_bytes, 1, at);
		forge_need(len == 1, "beyond the end");
		forge_bytes[0] ^= (unsigned char)(1 << at % 8);
	} else if (*words[0] == 'z') {
		len = forge_number(words[3]);
		memset(forge_bytes, 0, len);
	} else {
		len = forge_hex(words[3], forge_bytes);
	}
	forge_need(pwrite(fd, forge_bytes, len, at) == (ssize_t)len, "not written");
	close(fd);
}

/* ---- Edits and batches ------------------------------------------------------------------- */

static void forge_append(int fd, const void *record, size_t len)
{
	uint64_t at = (uint64_t)lseek(fd, 0, SEEK_END);

	forge_need(write_record(fd, &at, record, len) == 0, "not written");
}

static int forge_manifest(struct ldb_manifest *manifest)
{
	char name[LDB_FILE_NAME_MAX];
	int dir = forge_directory();

	forge_need(ldb_manifest_current(dir, name, NULL) == 0 &&
			   ldb_manifest_read(dir, name, manifest, NULL) == 0,
		   "no MANIFEST");
	return dir;
}

static size_t forge_item(unsigned char *to, const struct ldb_manifest_table *table,
			 const char *word)
{
	static const char items[] = "NLSAZ";
	const uint64_t values[] = {table->number,	table->level,	    table->size,
				   table->smallest.len, table->largest.len, forge_number(word)};
	const char *item = strchr(items, *word);
	size_t len = write_varint(to, values[item ? item - items : 5]);

	if (*word != 'A' && *word != 'Z')
		return len;
	memcpy(to + len, *word == 'A' ? table->smallest.data : table->largest.data,
	       values[item - items]);
	return len + values[item - items];
}

/* Appends an edit; the first of the words is passed over. */
static void forge_append_edit(int dir, const struct ldb_manifest *manifest,
			      const struct ldb_manifest_table *table, char **words)
{
	int fd = openat(dir, manifest->name, O_RDWR | O_CLOEXEC);
	size_t len = 0;

	for (int i = 1; words[i]; i++)
		len += forge_item(forge_bytes + len, table, words[i]);
	forge_append(fd, forge_bytes, len);
	close(fd);
}

static void forge_edit(char **words)
{
	struct ldb_manifest manifest;
	int dir = forge_manifest(&manifest);

	forge_append_edit(dir, &manifest, manifest.tables, words);
	ldb_manifest_free(&manifest);
	close(dir);
}

static void forge_batches(char **words)
{
	unsigned char batch[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 'k'};
	char path[512];
	int fd;

	forge_file(forge_store, ".log", path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	for (int i = 1; words[i]; i++) {
		put_le64(batch, forge_number(words[i]));
		forge_append(fd, batch, sizeof(batch));
	}
	close(fd);
}

/* ---- Tables ------------------------------------------------------------------------------ */

/* The bytes of the table are forge_bytes. */
static struct forge_block {
	size_t at, len;
} forge_index, forge_data;
static struct forge_entry {
	unsigned char *key, *handle;
	size_t key_len, handle_len;
} forge_entries[ENTRIES_MAX];
static size_t forge_entry_count;
static unsigned char *forge_size; /* of the index, in the footer, where zeros follow */

static size_t forge_take(struct ldb_rest *rest)
{
	uint64_t n = 0;

	forge_need(ldb_rest_varint(rest, &n), "no table");
	return (size_t)n;
}

/* Writes it anew, with that number or the one behind its own, by an edit in its place. Returns its
 * size. */
static size_t forge_make_table(const char *which, const char *as, char path[512])
{
	struct ldb_manifest manifest;
	struct ldb_manifest_table old;
	int dir = forge_manifest(&manifest);
	char name[LDB_FILE_NAME_MAX], made[LDB_FILE_NAME_MAX], numbers[3][24];
	uint64_t size, number;

	old = manifest.tables[0];
	for (size_t i = 0; i < manifest.count; i++) {
		const struct ldb_manifest_table *table = &manifest.tables[i];

		if (*which == 'f'   ? old.size < LARGE
		    : *which == 'l' ? table->size > old.size
				    : table->number == forge_number(which))
			old = *table;
	}
	number = as ? forge_number(as) : old.number + 1;
	ldb_file_name(name, LDB_FILE_TABLE, old.number);
	ldb_file_name(made, LDB_FILE_TABLE, number);
	forge_need(write_table(dir, name, made, &size) == 0 && unlinkat(dir, name, 0) == 0,
		   "not made anew");
	snprintf(numbers[0], sizeof(numbers[0]), "%llu", (unsigned long long)number);
	snprintf(numbers[1], sizeof(numbers[1]), "%llu", (unsigned long long)size);
	snprintf(numbers[2], sizeof(numbers[2]), "%llu", (unsigned long long)number + 1);
	forge_append_edit(dir, &manifest, &old,
			  (char *[]){"edit", "6", "L", "N", "7", "L", numbers[0], numbers[1], "A",
				     "Z", number < manifest.next_file ? NULL : (char *)"3",
				     numbers[2], NULL});
	ldb_manifest_free(&manifest);
	close(dir);
	snprintf(path, 512, "%s/data/%s", forge_store, made);
	return size;
}

/* Finds its index and the entries of that, and the first block of data. */
static void forge_read_index(size_t size)
{
	struct ldb_rest rest = {forge_bytes + size - LDB_TABLEFILE_FOOTER, 40};

	forge_take(&rest);
	forge_take(&rest);
	forge_index.at = forge_take(&rest);
	forge_size = forge_bytes + (rest.data - forge_bytes);
	forge_index.len = forge_take(&rest);
	rest = (struct ldb_rest){forge_bytes + forge_index.at, forge_index.len - 8};
	for (forge_entry_count = 0; rest.len > 0; forge_entry_count++) {
		struct forge_entry *entry = &forge_entries[forge_entry_count];

		forge_need(forge_entry_count < ENTRIES_MAX, "too many blocks");
		forge_take(&rest);
		entry->key_len = forge_take(&rest);
		entry->handle_len = forge_take(&rest);
		entry->key = forge_bytes + (rest.data - forge_bytes);
		entry->handle = entry->key + entry->key_len;
		rest.data += entry->key_len + entry->handle_len;
		rest.len -= entry->key_len + entry->handle_len;
	}
	rest = (struct ldb_rest){forge_entries[0].handle, forge_entries[0].handle_len};
	forge_data.at = forge_take(&rest);
	forge_data.len = forge_take(&rest);
}

static void forge_seal(struct forge_block block)
{
	put_le32(forge_bytes + block.at + block.len + 1,
		 wcs_crc_mask(wcs_crc_extend(0, forge_bytes + block.at, block.len + 1)));
}

/* Of keys that stand together and have one length, the last one with sequence numbers that keep
 * their order: of the last keys of the table, if there are two or more, or of those before.
 */
static void forge_wide(void)
{
	struct forge_entry *last = &forge_entries[forge_entry_count - 1], *entry;

	while (last > forge_entries && last[-1].key_len != last->key_len)
		last--;
	forge_need(last > forge_entries, "no two keys of one length");
	for (entry = last; entry-- > forge_entries && entry->key_len == last->key_len;) {
		unsigned char *tag = entry->key + last->key_len - 8;

		memcpy(entry->key, last->key, last->key_len);
		put_le64(tag, get_le64(tag) + ((uint64_t)(last - entry + 1) << 8));
	}
}

/* Of those whose handles have one length. */
static void forge_swap(void)
{
	struct forge_entry *end = forge_entries + forge_entry_count - 1;
	unsigned char handle[20];

	for (struct forge_entry *entry = forge_entries; entry < end; entry++)
		if (entry->handle_len == entry[1].handle_len) {
			memcpy(handle, entry->handle, entry->handle_len);
			memcpy(entry->handle, entry[1].handle, entry->handle_len);
			memcpy(entry[1].handle, handle, entry->handle_len);
			entry++;
		}
}

static void forge_table(char **words)
{
	char path[512];
	size_t size =
		forge_make_table(words[1], strcmp(words[2], "plain") == 0 ? words[3] : NULL, path);
	int fd = open(path, O_RDWR | O_CLOEXEC);

	forge_need(size <= BYTES_MAX && read(fd, forge_bytes, size) == (ssize_t)size, "no table");
	forge_read_index(size);
	if (strcmp(words[2], "plain") == 0) {
		words[3] = NULL;
	} else if (strcmp(words[2], "wide") == 0) {
		forge_wide();
	} else if (strcmp(words[2], "swap") == 0) {
		forge_swap();
	} else if (strcmp(words[2], "size") == 0) {
		write_varint(forge_size, forge_number(words[3]));
	} else if (words[3]) {
		struct forge_block block = *words[2] == 'i' ? forge_index : forge_data;
		off_t at = (off_t)forge_number(words[3]);

		forge_hex(words[4], forge_bytes + block.at + (at < 0 ? block.len : 0) + at);
	}
	forge_seal(forge_data);
	forge_seal(forge_index);
	forge_need(pwrite(fd, forge_bytes, size, 0) == (ssize_t)size, "not written");
	close(fd);
}

/* ---- Commands ---------------------------------------------------------------------------- */

static const struct {
	const char *names;
	void (*run)(char **words);
} forge_commands[] = {
	{"put delete get keys", forge_key},
	{"flip write zero cut", forge_content},
	{"rm mv", forge_name},
	{"edit", forge_edit},
	{"batch", forge_batches},
	{"table", forge_table},
};

void forge(const char *store, const char *commands)
{
	char *text = strdup(commands), *rest = text, *command, *word;

	while ((command = strsep(&rest, ";"))) {
		size_t count = 0, i = 0;

		while ((word = strtok_r(command, " ", &command)) && count < WORDS)
			forge_words[count++] = word;
		forge_words[count] = NULL;
		forge_store = store;
		while (count > 0 && !strstr(forge_commands[i].names, forge_words[0]))
			forge_need(++i < sizeof(forge_commands) / sizeof(forge_commands[0]),
				   "no such command");
		if (count > 0)
			forge_commands[i].run(forge_words);
	}
	free(text);
}
