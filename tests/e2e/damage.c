/* SPDX-License-Identifier: MIT */
/*
 * Damages a store at the level of LevelDB's keys, past everything that the store promises.
 *
 *   damage STORE put KEY VALUE      VALUE in hexadecimal
 *   damage STORE delete KEY
 *   damage STORE get KEY            prints the value in hexadecimal
 *   damage STORE keys               prints all keys in hexadecimal
 *
 * KEY is one of cell:TABLE:ROW:FAMILY:QUALIFIER:TS, chunk:ID:INDEX, garbage:ID, table:ID, drop:ID,
 * next-table, next-value, note, hex:BYTES. Tables are numbers. Exits with 1 and a line where it
 * cannot.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/leveldb/engine.h"

static _Noreturn void die(const char *what, const char *why)
{
	fprintf(stderr, "damage: %s: %s\n", what, why);
	exit(1);
}

static void log_line(void *ctx, enum wcs_log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	fprintf(stderr, "damage: %s\n", text);
}

static size_t parse_hex(const char *text, unsigned char *to, size_t room)
{
	size_t len = strlen(text) / 2;

	if (len > room || strlen(text) % 2)
		die(text, "not so many bytes in hexadecimal");
	for (size_t i = 0; i < len; i++) {
		unsigned int byte;

		if (sscanf(text + 2 * i, "%2x", &byte) != 1)
			die(text, "not hexadecimal");
		to[i] = (unsigned char)byte;
	}
	return len;
}

static void print_hex(const void *data, size_t len)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < len; i++)
		printf("%02x", bytes[i]);
	putchar('\n');
}

/* Cuts the next part off, at a colon. */
static const char *part(char **rest)
{
	const char *found = strsep(rest, ":");

	if (!found)
		die("key", "a part is missing");
	return found;
}

static uint64_t number(char **rest)
{
	return strtoull(part(rest), NULL, 10);
}

static struct wcs_slice slice(const char *text)
{
	return (struct wcs_slice){text, strlen(text)};
}

static void parse_cell(char **rest, struct ldb_key *key)
{
	uint32_t table = (uint32_t)number(rest);

	ldb_key_row(key, table, slice(part(rest)));
	ldb_key_family(key, part(rest));
	ldb_key_qualifier(key, slice(part(rest)));
	ldb_key_ts(key, (int64_t)number(rest));
}

static void parse_key(char *text, struct ldb_key *key)
{
	char *rest = text;
	const char *kind = part(&rest);
	struct ldb_id_key id;
	uint64_t n;

	if (strcmp(kind, "cell") == 0) {
		parse_cell(&rest, key);
		return;
	}
	if (strcmp(kind, "hex") == 0) {
		key->len = parse_hex(part(&rest), key->data, sizeof(key->data));
		return;
	}
	if (strcmp(kind, "chunk") == 0) {
		n = number(&rest);
		id = ldb_key_extent(n, (uint32_t)number(&rest));
	} else if (strcmp(kind, "garbage") == 0) {
		id = ldb_key_garbage(number(&rest));
	} else if (strcmp(kind, "table") == 0) {
		id = ldb_key_description((uint32_t)number(&rest));
	} else if (strcmp(kind, "drop") == 0) {
		id = ldb_key_drop(number(&rest));
	} else if (strcmp(kind, "next-table") == 0) {
		id = ldb_key_next_table;
	} else if (strcmp(kind, "next-value") == 0) {
		id = ldb_key_next_value;
	} else if (strcmp(kind, "note") == 0) {
		id = ldb_key_note;
	} else {
		die(kind, "no kind of key");
	}
	key->len = id.len;
	memcpy(key->data, id.data, id.len);
}

/* hex: the value; NULL: the key is deleted. */
static void write_key(struct ldb *db, const struct ldb_key *key, const char *hex)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	unsigned char *value = malloc(hex ? strlen(hex) / 2 + 1 : 1);
	size_t len = hex ? parse_hex(hex, value, strlen(hex) / 2) : 0;

	if (hex)
		leveldb_writebatch_put(batch, (const char *)key->data, key->len,
				       (const char *)value, len);
	else
		leveldb_writebatch_delete(batch, (const char *)key->data, key->len);
	if (ldb_commit(db, batch, true))
		die("write", "it failed");
	leveldb_writebatch_destroy(batch);
	free(value);
}

static void get(struct ldb *db, const struct ldb_key *key)
{
	char *text = NULL, *value;
	size_t len;

	value = leveldb_get(db->db, db->read, (const char *)key->data, key->len, &len, &text);
	if (text || !value)
		die("get", text ? text : "there is no such key");
	print_hex(value, len);
	leveldb_free(value);
}

static void keys(struct ldb *db)
{
	leveldb_iterator_t *iter = ldb_db_iterate(db);

	for (leveldb_iter_seek_to_first(iter); leveldb_iter_valid(iter); leveldb_iter_next(iter)) {
		size_t len;
		const unsigned char *key = ldb_iter_key(iter, &len);

		print_hex(key, len);
	}
	leveldb_iter_destroy(iter);
}

int main(int argc, char **argv)
{
	static const struct wcs_options options = {.log = log_line};
	static struct ldb_key key;
	struct wcs_fault fault = {0};
	char data[4096];
	struct ldb *db;

	if (argc < 3)
		die("usage", "damage STORE put|delete|get|keys [KEY [VALUE]]");
	snprintf(data, sizeof(data), "%s/data", argv[1]);
	if (ldb_engine_open_raw(data, false, &options, &db, &fault))
		die(argv[1], fault.text);
	if (argc > 3)
		parse_key(argv[3], &key);
	if (strcmp(argv[2], "put") == 0 && argc == 5)
		write_key(db, &key, argv[4]);
	else if (strcmp(argv[2], "delete") == 0 && argc == 4)
		write_key(db, &key, NULL);
	else if (strcmp(argv[2], "get") == 0 && argc == 4)
		get(db, &key);
	else if (strcmp(argv[2], "keys") == 0 && argc == 3)
		keys(db);
	else
		die(argv[2], "no such command, or not with these arguments");
	ldb_engine_close_raw(db);
	return 0;
}
