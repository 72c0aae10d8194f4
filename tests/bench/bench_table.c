/* SPDX-License-Identifier: MIT */
/*
 * The table of ratios: rowfs beside the layers below it. Side by side on the same data: the null
 * server (the ceiling of FUSE), LevelDB's C API alone, and ext4 with the same tree as plain files.
 * They take turns, in another order each; of each turn the ratio to rowfs is taken, and of the
 * ratios the median, with the smallest and the largest.
 *
 * Three sizes, each ten times the one before. For the largest:
 *   BENCH_ROWS=N    rows of four cells (default 50,000)
 *   BENCH_BELOW=N   rows below 1,000 segments (default 500,000)
 *   BENCH_FILES=N   columns of one row (default 20,000)
 *   BENCH_MADE=N    files that are made (default 2,000)
 *   BENCH_EXT4=N    plain files that ext4 is given at most (default 100,000)
 * For all:
 *   BENCH_OPS=N     random files that are looked at in a turn (default 1,000)
 *   BENCH_ROUNDS=N  turns (default 5)
 *   BENCH_OTHER=OPTIONS  in the place of the null server, rowfs mounted with these options
 *   BENCH_ONLY=TEXT rows whose name has that text
 *   SCALE=full      10,000,000 rows, 1,000,000 columns, 100,000 files that are made
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/bench/client.h"
#include "tests/bench/fill.h"
#include "tests/bench/measure.h"
#include "tests/bench/peer.h"
#include "tests/bench/raw.h"

/* ---- The rows ---------------------------------------------------------------------------- */

enum { ROWS_RAW = PEER_MOUNTS, ROWS_PEERS }; /* behind the peers that are mounted */

enum rows_start {
	ROWS_COLD, /* the kernel has no names, attributes and pages of it */
	ROWS_WARM, /* the same was done just before */
	ROWS_NEW   /* the work is done on files that do not exist yet */
};

/* How much one size of the table is. */
struct rows_size {
	struct tree tree;
	uint32_t ops;			  /* on single files of c */
	uint32_t made;			  /* files that are made, one by one or by tar */
	uint32_t segments, cells, firsts; /* of d; of l and e; listings that are begun */
	uint32_t large_kib, big_mib;	  /* of a cell */
};

/* With LevelDB alone. */
enum raw_kind { RAW_NONE, RAW_SEGMENTS, RAW_CELLS, RAW_FIRST, RAW_STAT, RAW_READ, RAW_CREATE };

struct rows_row {
	const char *what;
	const char *unit;
	const char *aim;
	bool peers[ROWS_PEERS];
	enum rows_start start;
	unsigned int clients;
	size_t many, units; /* members of struct rows_size: the size of the whole; the work of all
			       clients */
	const char *path;   /* the directory that is listed */
	void (*work)(const struct client *client);
	enum raw_kind raw;
};

/* clang-format off */
#define N(member) offsetof(struct rows_size, member)
#define ALL    {[PEER_ROWFS] = true, [PEER_NULL] = true, [PEER_EXT4] = true, [ROWS_RAW] = true}
#define MOUNTS {[PEER_ROWFS] = true, [PEER_NULL] = true, [PEER_EXT4] = true}

static const struct rows_row rows_all[] = {
	{"ls -f of rows", "entry", "0.8 of the slower of null and raw", ALL, ROWS_COLD, 1,
	 N(tree.rows), N(tree.rows), "t/w", client_list, RAW_SEGMENTS},
	{"ls -f of 1,000 above many rows", "entry", "does not grow", ALL, ROWS_COLD, 1,
	 N(tree.below), N(segments), "t/d", client_list, RAW_SEGMENTS},
	{"first entry of rows", "listing", "under 1,000 us", ALL, ROWS_WARM, 1,
	 N(tree.rows), N(firsts), NULL, client_first, RAW_FIRST},
	{"ls -l of columns", "file", "0.9 of null", ALL, ROWS_COLD, 1,
	 N(tree.files), N(tree.files), "t/c/f", client_long_list, RAW_CELLS},
	{"find, rows of 4 cells", "file", "0.9 of null", MOUNTS, ROWS_COLD, 1,
	 N(tree.rows), N(ops), NULL, client_find, RAW_NONE},
	{"stat, cold", "file", "1.5 of null", ALL, ROWS_COLD, 1,
	 N(tree.files), N(ops), NULL, client_stat, RAW_STAT},
	{"stat, cold, 4 clients", "file", "1 of null", MOUNTS, ROWS_COLD, 4,
	 N(tree.files), N(ops), NULL, client_stat, RAW_NONE},
	{"stat, warm", "file", "0.9 of null", MOUNTS, ROWS_WARM, 1,
	 N(tree.files), N(ops), NULL, client_stat, RAW_NONE},
	{"open+read+close, cold", "file", "1.5 of null", ALL, ROWS_COLD, 1,
	 N(tree.files), N(ops), NULL, client_read, RAW_READ},
	{"open+read+close, cold, 4 clients", "file", "1 of null", MOUNTS, ROWS_COLD, 4,
	 N(tree.files), N(ops), NULL, client_read, RAW_NONE},
	{"open+read+close, warm", "file", "0.9 of null", MOUNTS, ROWS_WARM, 1,
	 N(tree.files), N(ops), NULL, client_read, RAW_NONE},
	{"open+read+close, warm, 4 clients", "file", "0.9 of null", MOUNTS, ROWS_WARM, 4,
	 N(tree.files), N(ops), NULL, client_read, RAW_NONE},
	{"create+write+close", "file", "0.8 of null", ALL, ROWS_NEW, 1,
	 N(made), N(made), NULL, client_create, RAW_CREATE},
	{"tar x", "file", "0.8 of null", MOUNTS, ROWS_NEW, 1,
	 N(made), N(made), NULL, client_tar, RAW_NONE},
	{"read of a cell of so many MiB", "MiB", "0.5 of null", MOUNTS, ROWS_COLD, 1,
	 N(big_mib), N(big_mib), NULL, client_read_big, RAW_NONE},
	{"write of a cell of so many MiB", "MiB", "0.5 of null", MOUNTS, ROWS_NEW, 1,
	 N(big_mib), N(big_mib), NULL, client_write_big, RAW_NONE},
	{"ls -l of 100 empty cells", "file", "", ALL, ROWS_COLD, 1,
	 N(cells), N(cells), "t/e/f", client_long_list, RAW_CELLS},
	{"ls -l of 100 cells of so many KiB", "file", "as of empty ones", ALL, ROWS_COLD, 1,
	 N(large_kib), N(cells), "t/l/f", client_long_list, RAW_CELLS},
	{"mixed, 1 client", "op", "", MOUNTS, ROWS_COLD, 1,
	 N(tree.files), N(ops), NULL, client_mixed, RAW_NONE},
	{"mixed, 8 clients", "op", "rises with the cores", MOUNTS, ROWS_COLD, 8,
	 N(tree.files), N(ops), NULL, client_mixed, RAW_NONE},
};
/* clang-format on */

enum { ROWS = sizeof(rows_all) / sizeof(rows_all[0]) };

static uint32_t rows_number(const struct rows_size *size, size_t member)
{
	uint32_t number;

	memcpy(&number, (const char *)size + member, sizeof(number));
	return number;
}

/* ---- With LevelDB alone ------------------------------------------------------------------ */

/* Other numbers in each round, and none twice in one. */
static uint32_t random_file(const struct rows_size *size, uint32_t i, unsigned int round)
{
	return (uint32_t)((i + round * UINT64_C(7919)) * 1000003 % size->tree.files);
}

static void must_be(uint32_t found, uint32_t expected)
{
	if (found != expected)
		peer_die("raw: a listing is not complete", 0);
}

/* The segments, or the columns, of the letter in t/LETTER. */
static void raw_list_all(struct raw *raw, const struct rows_row *row, uint32_t expected)
{
	char prefix[] = {row->path[2], '#', '\0'}, name[] = {row->path[2], '\0'};

	if (row->raw == RAW_SEGMENTS)
		must_be(raw_list(raw, prefix, UINT32_MAX), expected);
	else
		must_be(raw_columns(raw, name), expected);
}

/* The i-th of the row's units. A read is the seek of a lookup, and then the value. */
static void raw_do_one(struct raw *raw, enum raw_kind kind, const struct rows_size *size,
		       uint32_t i, unsigned int round)
{
	if (kind == RAW_FIRST)
		must_be(raw_list(raw, "w#", 1), 1);
	if (kind == RAW_STAT || kind == RAW_READ)
		raw_seek(raw, random_file(size, i, round));
	if (kind == RAW_READ)
		raw_get(raw, random_file(size, i, round));
	if (kind == RAW_CREATE)
		raw_put(raw, round * size->made + i);
}

static void raw_do(struct raw *raw, const struct rows_row *row, const struct rows_size *size,
		   unsigned int round)
{
	uint32_t units = rows_number(size, row->units);

	if (row->raw == RAW_SEGMENTS || row->raw == RAW_CELLS) {
		raw_list_all(raw, row, units);
		return;
	}
	for (uint32_t i = 0; i < units; i++)
		raw_do_one(raw, row->raw, size, i, round);
}

enum { SIZES = 3, ROUNDS_MAX = 100, IDLE_MS = 2000, CACHE_MIB = 1 };
enum { FIRSTS = 50 };
enum { LARGE = 1 << 20, BIG = 100 << 20 };
enum { EVEN = 80 }; /* so that each of 8 clients does whole tens */
#define TURN 0.02   /* seconds of work that a turn has at least */

static const char *const names[ROWS_PEERS] = {"rowfs", "null", "ext4", "raw"};
static const int columns[] = {PEER_NULL, ROWS_RAW, PEER_EXT4}; /* as they are printed */

/* Of one row in one size. */
struct result {
	double times[ROWS_PEERS][ROUNDS_MAX]; /* seconds */
	bool has[ROWS_PEERS];
	uint32_t many, units;
};

/* The absolute numbers of one size, which are no ratios. */
struct absolute {
	double mount[2][ROUNDS_MAX]; /* seconds; of rowfs, of null */
	double idle;		     /* seconds of processor time in a second */
	double empty, held;	     /* bytes of memory, with no inode and with all */
};

static struct result results[ROWS][SIZES];
static struct absolute absolutes[SIZES];
static struct rows_size sizes[SIZES];
static unsigned int rounds, calls;

/* ---- Sizes ------------------------------------------------------------------------------- */

static void set_sizes(void)
{
	const char *scale = getenv("SCALE");
	bool full = scale && strcmp(scale, "full") == 0;
	struct rows_size most = {
		.tree = {.rows = measure_setting("BENCH_ROWS", full ? 10000000 : 50000),
			 .below = measure_setting("BENCH_BELOW", full ? 10000000 : 500000),
			 .files = measure_setting("BENCH_FILES", full ? 1000000 : 20000),
			 .large = full ? 16 * LARGE : LARGE,
			 .big = BIG},
		.ops = measure_setting("BENCH_OPS", full ? 10000 : 1000),
		.made = measure_setting("BENCH_MADE", full ? 100000 : 2000),
		.segments = TREE_SEGMENTS,
		.cells = TREE_CELLS,
		.firsts = FIRSTS};

	rounds = measure_setting("BENCH_ROUNDS", 5);
	if (rounds > ROUNDS_MAX)
		rounds = ROUNDS_MAX;
	for (uint32_t i = SIZES, part = 1; i-- > 0; part *= 10) {
		sizes[i] = most;
		sizes[i].tree.rows /= part;
		sizes[i].tree.below /= part;
		sizes[i].tree.files /= part;
		sizes[i].tree.large /= part;
		sizes[i].tree.big /= part;
		sizes[i].made /= part;
		sizes[i].large_kib = (uint32_t)(sizes[i].tree.large >> 10);
		sizes[i].big_mib = (uint32_t)(sizes[i].tree.big >> 20);
		if (sizes[i].ops > sizes[i].tree.files)
			sizes[i].ops = sizes[i].tree.files;
		sizes[i].ops -= sizes[i].ops % EVEN;
	}
	if (sizes[0].ops == 0 || sizes[0].tree.rows < sizes[0].ops || sizes[0].made == 0)
		peer_die("BENCH_ROWS, BENCH_FILES, BENCH_OPS, BENCH_MADE: too small", 0);
}

/* ext4 takes long to fill with more. */
static bool has_ext4(const struct rows_size *size)
{
	return geteuid() == 0 && TREE_COLUMNS * size->tree.rows + size->tree.files <=
					 measure_setting("BENCH_EXT4", 100000);
}

/* ---- One row ----------------------------------------------------------------------------- */

struct bench {
	const struct rows_size *size;
	struct peer peers[PEER_MOUNTS];
	struct raw *raw;
	bool ext4;
};

static double measure_once(struct bench *bench, const struct rows_row *row, int peer)
{
	struct client client = {.mount = bench->peers[peer < PEER_MOUNTS ? peer : 0].mount,
				.tree = &bench->size->tree,
				.round = ++calls,
				.path = row->path,
				.count = rows_number(bench->size, row->units) / row->clients};
	double start = measure_now();

	if (peer == ROWS_RAW) {
		raw_do(bench->raw, row, bench->size, client.round);
		return measure_now() - start;
	}
	if (row->start == ROWS_COLD)
		peer_cool(&bench->peers[peer]);
	if (row->start == ROWS_WARM)
		client_run(&client, row->clients, row->work);
	return client_run(&client, row->clients, row->work);
}

static double measure_turn(struct bench *bench, const struct rows_row *row, int peer)
{
	unsigned int times = 0;
	double seconds = 0;

	for (; seconds < TURN; times++)
		seconds += measure_once(bench, row, peer);
	return seconds / times;
}

static void measure_row(struct bench *bench, const struct rows_row *row, struct result *result)
{
	int peers[ROWS_PEERS];
	unsigned int count = 0;

	result->many = rows_number(bench->size, row->many);
	result->units = rows_number(bench->size, row->units);
	for (int peer = 0; peer < ROWS_PEERS; peer++) {
		result->has[peer] = row->peers[peer] && (peer != PEER_EXT4 || bench->ext4);
		if (result->has[peer])
			peers[count++] = peer;
	}
	for (unsigned int round = 0; round < rounds; round++)
		for (unsigned int i = 0; i < count; i++) {
			int peer = peers[(i + round) % count];

			result->times[peer][round] = measure_turn(bench, row, peer);
		}
}

/* ---- One size ---------------------------------------------------------------------------- */

/* Files in directories of 100, as rows with one family. */
static void make_archive(uint32_t files)
{
	peer_shell("rm -rf archive plain && mkdir plain && cd plain && "
		   "for row in $(seq $(((%u + 99) / 100))); do mkdir -p $row/f && "
		   "for i in $(seq -w 100); do echo 53.41740 >$row/f/$i; done; done && "
		   "tar cf ../archive . && cd .. && rm -rf plain",
		   files);
}

static void measure_mounts(struct bench *bench, struct absolute *absolute)
{
	struct peer peer;

	for (unsigned int round = 0; round < rounds; round++)
		for (int kind = PEER_ROWFS; kind <= PEER_NULL; kind++) {
			peer = (struct peer){.kind = PEER_ROWFS};
			absolute->mount[kind][round] =
				peer_start(&peer, (enum peer_kind)kind, &bench->size->tree);
			peer_stop(&peer);
		}
}

/* With a small cache, so that only the inodes make the memory grow. */
static void measure_memory(struct bench *bench, struct absolute *absolute)
{
	struct client client = {.tree = &bench->size->tree, .all = 1};
	struct peer peer = {.kind = PEER_ROWFS};
	double before;

	snprintf(peer.options, sizeof(peer.options), "cache=%d", CACHE_MIB);
	peer_start(&peer, PEER_ROWFS, &bench->size->tree);
	client.mount = peer.mount;
	measure_pause(200);
	before = peer_processor(&peer);
	measure_pause(IDLE_MS);
	absolute->idle = (peer_processor(&peer) - before) / (IDLE_MS / 1000.0);
	client.count = 1;
	client_first(&client);
	absolute->empty = (double)peer_memory(&peer);
	client.path = "t/c/f";
	client.count = bench->size->tree.files;
	client_long_list(&client);
	absolute->held = (double)peer_memory(&peer);
	peer_stop(&peer);
}

static void make_places(struct bench *bench)
{
	for (int kind = 0; kind < PEER_MOUNTS; kind++)
		if (kind != PEER_EXT4 || bench->ext4)
			peer_shell("mkdir -p %s/t/n/f", bench->peers[kind].mount);
}

static void size_begin(struct bench *bench)
{
	const struct tree *tree = &bench->size->tree;

	fprintf(stderr, "bench: making %u rows, %u below segments, %u columns\n", tree->rows,
		tree->below, tree->files);
	fill_store("store", tree);
	make_archive(bench->size->made);
	peer_shell("cp -a store/data raw && cp -a store other");
}

static void size_mount(struct bench *bench)
{
	const struct tree *tree = &bench->size->tree;

	for (int kind = 0; kind < PEER_MOUNTS; kind++)
		if (kind != PEER_EXT4 || bench->ext4)
			peer_start(&bench->peers[kind], (enum peer_kind)kind, tree);
	if (bench->ext4)
		fill_files(bench->peers[PEER_EXT4].mount, tree);
	make_places(bench);
	bench->raw = raw_open("raw");
}

static void size_end(struct bench *bench)
{
	raw_close(bench->raw);
	for (int kind = 0; kind < PEER_MOUNTS; kind++)
		if (kind != PEER_EXT4 || bench->ext4)
			peer_stop(&bench->peers[kind]);
	peer_shell("rm -rf store other raw disk archive");
}

static bool is_wanted(const struct rows_row *row)
{
	const char *only = getenv("BENCH_ONLY");

	return !only || strstr(row->what, only);
}

static void measure_size(unsigned int at)
{
	struct bench bench = {.size = &sizes[at], .ext4 = has_ext4(&sizes[at])};

	size_begin(&bench);
	measure_mounts(&bench, &absolutes[at]);
	measure_memory(&bench, &absolutes[at]);
	size_mount(&bench);
	for (int i = 0; i < ROWS; i++)
		if (is_wanted(&rows_all[i])) {
			fprintf(stderr, "bench: %s, %u\n", rows_all[i].what,
				rows_number(bench.size, rows_all[i].many));
			measure_row(&bench, &rows_all[i], &results[i][at]);
		}
	size_end(&bench);
}

/* ---- The table --------------------------------------------------------------------------- */

static double median_of(const double *times)
{
	double sorted[ROUNDS_MAX];

	memcpy(sorted, times, rounds * sizeof(*times));
	return measure_median(sorted, rounds);
}

static void print_ratio(const struct result *result, int peer)
{
	double ratios[ROUNDS_MAX];

	if (!result->has[peer]) {
		printf(" |");
		return;
	}
	for (unsigned int round = 0; round < rounds; round++)
		ratios[round] = result->times[peer][round] / result->times[PEER_ROWFS][round];
	measure_sort(ratios, rounds);
	printf(" %.2f (%.2f to %.2f) |", measure_quantile(ratios, rounds, 0.5), ratios[0],
	       ratios[rounds - 1]);
}

static void print_row(const struct rows_row *row, const struct result *of)
{
	for (int at = 0; at < SIZES; at++) {
		double us = 1e6 * median_of(of[at].times[PEER_ROWFS]) / of[at].units;

		printf("| %s | %u | %.4g us a%s %s |", at == 0 ? row->what : "", of[at].many, us,
		       strchr("aeiou", row->unit[0]) ? "n" : "", row->unit);
		for (unsigned int i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
			print_ratio(&of[at], columns[i]);
		printf(" %s |\n", at == 0 ? row->aim : "");
	}
}

static void print_absolute(void)
{
	printf("\n| cells | mount | of null | idle, of a processor | memory at first | a held "
	       "inode "
	       "|\n|---|---|---|---|---|---|\n");
	for (int at = 0; at < SIZES; at++) {
		const struct tree *tree = &sizes[at].tree;
		const struct absolute *a = &absolutes[at];

		printf("| %u | %.0f ms | %.0f ms | %.3f %% | %.1f MiB | %.0f bytes |\n",
		       TREE_COLUMNS * tree->rows + tree->below + tree->files,
		       1e3 * median_of(a->mount[PEER_ROWFS]), 1e3 * median_of(a->mount[PEER_NULL]),
		       100 * a->idle, a->empty / (1 << 20), (a->held - a->empty) / tree->files);
	}
	printf("\nAims: mount under 500 ms, idle 0, memory 64 MiB + cache (here %d MiB) + 200 "
	       "bytes "
	       "an inode.\n",
	       CACHE_MIB);
}

static const struct result *result_of(const char *what, int at)
{
	for (int i = 0; i < ROWS; i++)
		if (strcmp(rows_all[i].what, what) == 0)
			return &results[i][at];
	peer_die(what, 0);
}

/* The rates of rowfs at two kinds of work, one to the other. */
static void print_between(const char *what, const char *to)
{
	if (result_of(what, 0)->units == 0 || result_of(to, 0)->units == 0)
		return;
	printf("%s, to %s:", what, to);
	for (int at = 0; at < SIZES; at++) {
		const struct result *a = result_of(what, at), *b = result_of(to, at);

		printf(" %.2f", median_of(b->times[PEER_ROWFS]) / b->units /
					(median_of(a->times[PEER_ROWFS]) / a->units));
	}
	printf("\n");
}

static void print_table(void)
{
	char emulator[300] = "";

	printf("Rates of rowfs, as ratios to those of the others: median of %u turns (smallest to "
	       "largest).\n\n| work | how many | %s |",
	       rounds, names[PEER_ROWFS]);
	for (unsigned int i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		printf(" to %s |", columns[i] == PEER_NULL && getenv("BENCH_OTHER")
					   ? getenv("BENCH_OTHER")
					   : names[columns[i]]);
	printf(" aim |\n|---|---|---|---|---|---|---|\n");
	for (int i = 0; i < ROWS; i++)
		if (is_wanted(&rows_all[i]))
			print_row(&rows_all[i], results[i]);
	print_absolute();
	print_between("mixed, 8 clients", "mixed, 1 client");
	print_between("ls -l of 100 cells of so many KiB", "ls -l of 100 empty cells");
	if (geteuid() != 0)
		printf("ext4 is left out: to mount it takes root.\n");
	printf("cbt with the Bigtable emulator is left out: %s%s.\n",
	       peer_emulator(emulator, sizeof(emulator)) ? "the table has no row yet for "
							 : "it is not installed here",
	       emulator);
}

static void run(void)
{
	set_sizes();
	for (unsigned int at = 0; at < SIZES; at++)
		measure_size(at);
	print_table();
}

int main(void)
{
	return peers_run(run);
}
