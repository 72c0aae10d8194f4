/* SPDX-License-Identifier: MIT */
/*
 * The writes that a power cut loses just after LevelDB began another log: it closes the log before
 * without a sync. The simulated medium holds each file as this program's own syncs saw it. No table
 * is ever done, since their syncs wait; so the two logs hold all writes.
 */
#include "tests/unit/engine.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	POWER_FILES = 100,
	POWER_ROWS_MAX = 20000,
	POWER_VALUE = 20 << 20 /* more than a log takes, less than two do */
};

static pthread_mutex_t power_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t power_go = PTHREAD_COND_INITIALIZER;
static bool power_held; /* under power_lock, as all below: tables wait */
static struct {
	ino_t ino;
	off_t size;
} power_synced[POWER_FILES];
static int power_count;

static bool power_is_table(int fd)
{
	char link[64], path[4096];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	return len > 4 && strncmp(path + len - 4, ".ldb", 4) == 0;
}

/* LevelDB's calls come here, too. */
int fdatasync(int fd)
{
	struct stat st;
	int i = 0;

	pthread_mutex_lock(&power_lock);
	while (power_held && power_is_table(fd))
		pthread_cond_wait(&power_go, &power_lock);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		while (i < power_count && power_synced[i].ino != st.st_ino)
			i++;
		if (i == POWER_FILES)
			abort();
		power_count += i == power_count;
		power_synced[i].ino = st.st_ino;
		power_synced[i].size = st.st_size;
	}
	pthread_mutex_unlock(&power_lock);
	return 0;
}

static void power_hold(bool hold)
{
	pthread_mutex_lock(&power_lock);
	power_held = hold;
	pthread_cond_broadcast(&power_go);
	pthread_mutex_unlock(&power_lock);
}

static off_t power_size(const struct stat *st)
{
	off_t size = 0;

	pthread_mutex_lock(&power_lock);
	for (int i = 0; i < power_count; i++)
		if (power_synced[i].ino == st->st_ino)
			size = power_synced[i].size;
	pthread_mutex_unlock(&power_lock);
	return size < st->st_size ? size : st->st_size; /* that number may be another file's now */
}

static int count_logs(const char *path)
{
	char newest[64];

	return suite_store_files(path, ".log", newest);
}

/* The content of the medium, as another store. */
static void power_cut(const struct engine *engine, struct engine *after)
{
	const struct dirent *entry;
	char data[300], from[600], to[600];
	DIR *dir;

	*after = *engine;
	snprintf(after->path, sizeof(after->path), "%s/after.XXXXXX", suite_directory());
	ck_assert_ptr_nonnull(mkdtemp(after->path));
	snprintf(data, sizeof(data), "%s/data", after->path);
	SUITE_OK(mkdir(data, 0700));
	snprintf(data, sizeof(data), "%s/data", engine->path);
	dir = opendir(data);
	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir))) {
		int in;
		int out;
		char buf[1 << 16];
		struct stat st;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(from, sizeof(from), "%s/%s", data, entry->d_name);
		snprintf(to, sizeof(to), "%s/data/%s", after->path, entry->d_name);
		/* Copies as much of a file as was synced. */
		in = open(from, O_RDONLY | O_CLOEXEC);
		out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		ck_assert_int_ge(in, 0);
		ck_assert_int_ge(out, 0);
		SUITE_OK(fstat(in, &st));
		for (off_t left = power_size(&st); left > 0;) {
			ssize_t got = read(in, buf,
					   left < (off_t)sizeof(buf) ? (size_t)left : sizeof(buf));

			ck_assert_int_gt(got, 0);
			ck_assert_int_eq(write(out, buf, (size_t)got), got);
			left -= got;
		}
		close(in);
		close(out);
	}
	closedir(dir);
}

static void power_row(char row[16], int number)
{
	snprintf(row, 16, "r%05d", number);
}

static int sync_store(struct engine *engine)
{
	return wcs_backend_leveldb.local->sync(engine->db);
}

static void make_files(const struct engine *engine, int from, int to)
{
	char path[300];

	for (int i = from; i < to; i++) {
		snprintf(path, sizeof(path), "%s/data/other%d", engine->path, i);
		close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	}
}

/* With the option sync. */
static int sync_write(struct engine *engine)
{
	engine->options.sync = true;
	return engine_set(engine, "synced", 1, 10, 1);
}

/* A new table is durable, and so is all before it. */
static int sync_schema(struct engine *engine)
{
	struct wcs_table_schema schema = {.name = "t", .delimiter = '#'};
	uint32_t id = 0;

	return wcs_backend_leveldb.table_put(engine->db, &id, &schema);
}

/* A large directory is looked through once: then the system tells of new logs. */
static int sync_among_many(struct engine *engine)
{
	size_t names = engine->db->sync.names;

	ck_assert(engine->db->sync.known);
	make_files(engine, 1000, 1010);
	SUITE_OK(sync_store(engine));
	ck_assert(engine->db->sync.known);
	ck_assert_uint_eq(engine->db->sync.names, names);
	return 0;
}

static const struct {
	int (*sync)(struct engine *engine);
	int others; /* files that are not LevelDB's */
} syncs[] = {{sync_store, 0}, {sync_write, 0}, {sync_schema, 0}, {sync_among_many, 1000}};

SUITE_LOOP(test_sync_behind_a_new_log, sizeof(syncs) / sizeof(syncs[0]), 60)
{
	struct engine engine, after;
	char row[16];
	int rows, behind = 0, logs;

	engine_open(&engine);
	make_files(&engine, 0, syncs[_i].others);
	SUITE_OK(sync_store(&engine));
	power_hold(true);
	/* Until there is a second log, which has some of the rows. */
	for (rows = 0; (logs = count_logs(engine.path)) < 2 || behind < 10; rows++) {
		ck_assert_int_lt(rows, POWER_ROWS_MAX);
		behind += logs == 2;
		power_row(row, rows);
		SUITE_OK(engine_set(&engine, row, 1, 4000, (unsigned int)rows));
	}
	ck_assert_int_eq(count_logs(engine.path), 2);
	SUITE_OK(syncs[_i].sync(&engine));
	power_cut(&engine, &after);
	power_hold(false);
	engine_close(&engine);
	SUITE_OK(engine_try_open(&after));
	ck_assert_int_ge(engine_count(after.db, 'c'), rows);
	for (int i = 0; i < rows; i++) {
		power_row(row, i);
		engine_expect(&after, row, 4000, (unsigned int)i);
	}
	engine_close(&after);
}

/* The newer log has chunks of a value whose first ones, and their intent, went with the older. */
SUITE_TEST(test_chunks_behind_a_new_log, 60)
{
	char *value = suite_pattern(POWER_VALUE, 1), newest[64], path[400];
	struct engine engine, after;
	struct wcs_slice part = {value, POWER_VALUE};
	struct wcs_content content = {.parts = &part, .part_count = 1, .size = POWER_VALUE};
	struct stat st;
	uint64_t id;
	int fd;

	engine_open(&engine);
	power_hold(true);
	SUITE_OK(ldb_extent_reserve(engine.db, &id));
	SUITE_OK(ldb_extent_stream(engine.db, id, &content));
	ck_assert_int_eq(suite_store_files(engine.path, ".log", newest), 2);
	/* The newest log becomes durable, and no other. */
	snprintf(path, sizeof(path), "%s/%s", engine.path, newest);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	SUITE_OK(fdatasync(fd));
	SUITE_OK(fstat(fd, &st));
	close(fd);
	ck_assert_int_gt(st.st_size, MIB);
	power_cut(&engine, &after);
	power_hold(false);
	engine_close(&engine);
	SUITE_OK(engine_try_open(&after));
	engine_expect_chunks(after.db, 0);
	engine_close(&after);
	free(value);
}

/* The medium of this test loses unsynced data, or the other tests would show nothing. */
SUITE_TEST(test_unsynced_is_lost, 60)
{
	struct engine engine, after;

	engine_open(&engine);
	power_hold(true);
	SUITE_OK(engine_set(&engine, "r", 1, 10, 1));
	power_cut(&engine, &after);
	power_hold(false);
	engine_close(&engine);
	SUITE_OK(engine_try_open(&after));
	ck_assert_int_eq(engine_count(after.db, 'c'), 0);
	engine_close(&after);
}
