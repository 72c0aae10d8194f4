/* SPDX-License-Identifier: MIT */
/*
 * Repairs that are interrupted, and MANIFESTs that were cut.
 *
 * A repair is stopped at every call with which it writes, once by an error and once by the end of
 * the process, and at each place where it asks whether to go on. The store is then refused, or it
 * is complete. A store that can be mounted has never lost data, and never shows older data. The
 * next repair gives the result that the first one would have given.
 */
#include "tests/unit/damage.h"

#include "tests/crash/fault.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS_MAX = 2000 };

/* ---- Damage ------------------------------------------------------------------------------ */

static void damage_table(void)
{
	damage_flip(".ldb", 200);
}

static void damage_log(void)
{
	damage_flip(".log", 350);
}

/* And the old table gets the highest number, as the output of a merge has. */
static void damage_manifest(void)
{
	char path[512], to[300];

	damage_flip("MANIFEST", 20);
	damage_file(".ldb", path);
	snprintf(to, sizeof(to), "%s/data/000090.ldb", damage_copy);
	SUITE_OK(rename(path, to));
}

static const struct damage {
	const char *name;
	void (*inflict)(void);
	bool all;     /* is there after a repair */
	bool refused; /* before it nothing can be opened */
} damages[] = {
	{"a table", damage_table, false, false},
	{"a log", damage_log, false, false},
	{"the MANIFEST", damage_manifest, true, true},
};

enum { DAMAGES = sizeof(damages) / sizeof(damages[0]) };

static char *mended; /* the cells that a repair leaves */

static void inflict(const struct damage *damage)
{
	damage_fresh();
	damage->inflict();
}

/* ---- Interrupted repairs ----------------------------------------------------------------- */

static int stop_at, asked;

static bool go_on(void *ctx, const char *what, uint64_t done, uint64_t total)
{
	(void)ctx;
	(void)what;
	(void)done;
	(void)total;
	return ++asked != stop_at;
}

static int repair(struct wcs_check_result *result, struct wcs_fault *fault)
{
	const struct wcs_check_options options = {
		.repair = true, .quarantine = damage_quarantine, .progress = go_on};

	asked = 0;
	return wcs_store_check(damage_copy, &options, result, fault);
}

static void arm(uint64_t at, int error)
{
	struct fault *fault = fault_control();

	snprintf(fault->below, sizeof(fault->below), "%s", damage_place);
	fault->count = fault->fired = fault->stays = 0;
	fault->error = (uint64_t)error;
	fault->at = at;
}

/* False: there is no such call. */
static bool fail_call(int n, const char *what)
{
	struct wcs_check_result result;
	struct wcs_fault fault = {.text = ""};
	int rc;

	arm((uint64_t)n, n % 2 ? ENOSPC : EIO);
	rc = repair(&result, &fault);
	fault_control()->at = 0;
	ck_assert_msg(rc == 0 || fault.text[0], "%s: error %d without words", what, rc);
	ck_assert_msg(rc == 0 || fault_control()->fired, "%s: %s", what, fault.text);
	if (fault_control()->fired && rc == 0 && result.found == result.corrected) {
		SUITE_OK(damage_write_and_look());
		damage_expect(mended, what);
	}
	return fault_control()->fired;
}

static bool kill_at(int n, const char *what)
{
	char number[24];
	pid_t pid = fork();
	int status;

	ck_assert_msg(pid >= 0, "%s", what);
	snprintf(number, sizeof(number), "%d", n);
	if (pid == 0) {
		execl("/proc/self/exe", "test_repair", number, damage_place, (char *)NULL);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status) || WTERMSIG(status) == SIGKILL);
	return !WIFEXITED(status);
}

/* By a signal, as the program asks for it. */
static bool stop(int n, const char *what)
{
	struct wcs_check_result result;
	struct wcs_fault fault;
	int rc;

	stop_at = n;
	rc = repair(&result, &fault);
	stop_at = 0;
	ck_assert_msg(rc == (asked == n ? -ECANCELED : 0), "%s: %d", what, rc);
	return rc != 0;
}

static const struct {
	const char *name;
	bool (*interrupt)(int n, const char *what);
	int least;
} ways[] = {{"call %d fails", fail_call, 5}, {"killed at call %d", kill_at, 5}, {"stop", stop, 0}};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

SUITE_LOOP(test_interrupted, DAMAGES *WAYS, 240)
{
	const struct damage *damage = &damages[_i / WAYS];
	bool interrupted = true;
	char what[80];
	int n;

	damage_make(&damage_usual);
	inflict(damage);
	damage_mend(damage->name);
	mended = strdup(damage_seen.cells);
	if (damage->all)
		damage_expect(damage_all, damage->name);
	ck_assert_int_le(damage_lost(true) + damage_lost(false), 16); /* a block's */
	for (n = 0; interrupted; n++) {
		ck_assert_int_lt(n, CALLS_MAX);
		snprintf(what, sizeof(what), "%s, %s %d", damage->name, ways[_i % WAYS].name,
			 n + 1);
		inflict(damage);
		interrupted = ways[_i % WAYS].interrupt(n + 1, what);
		if (interrupted) {
			/* After a repair that something stopped. */
			if (damage->refused && damage_write_and_look() == 0)
				damage_expect(damage_all, what);
			else if (damage->refused)
				damage_expect_refused("", what);
			damage_mend(what);
			damage_expect(mended, what);
		}
	}
	ck_assert_int_gt(n, ways[_i % WAYS].least);
	free(mended);
	damage_remove();
}

/* ---- MANIFESTs --------------------------------------------------------------------------- */

SUITE_TEST(test_cut_manifest, 240)
{
	const struct damage_shape shape = {.sessions = 3, .rows = 40, .size = 300, .big = true};
	char path[512], what[64];
	int edits = 0, damaged = 0;
	unsigned char *bytes;
	size_t size;
	off_t end = 0;

	damage_make(&shape);
	damage_make_many();
	damage_fresh();
	bytes = damage_bytes("MANIFEST", &size);
	for (bool whole = false; !whole; edits++) {
		whole = end >= (off_t)size;
		damage_fresh();
		damage_file("MANIFEST", path);
		if (!whole) {
			ck_assert_int_eq(bytes[end + 6], 1); /* a record in one piece */
			end += 7 + (bytes[end + 4] | bytes[end + 5] << 8);
			SUITE_OK(truncate(path, end));
		}
		snprintf(what, sizeof(what), "cut behind edit %d", edits);
		if (damage_check(false, what) > 0) {
			damaged++;
			/* or a table that the edits before the cut still name */
			damage_expect_refused("/data/", what);
		}
		damage_mend(what);
		damage_expect(damage_all, what);
	}
	ck_assert_int_gt(edits, 4);
	ck_assert_int_ge(damaged, 2);
	free(bytes);
	damage_remove();
}

int main(int argc, char **argv)
{
	if (argc == 3) {
		struct wcs_check_result result;
		struct wcs_fault fault;

		/* A process that is killed at a call: fork alone would leave it without LevelDB's
		 * threads. */
		damage_name(argv[2]);
		arm(strtoull(argv[1], NULL, 10), 0);
		repair(&result, &fault);
		return 0;
	}
	return suite_main("test_repair", NULL);
}
