/* SPDX-License-Identifier: MIT */
/*
 * Repairs that are interrupted, and MANIFESTs that were cut.
 *
 * A repair is stopped at every call with which it writes, once by an error and once by the end of
 * the process, and at each place where it asks whether to go on. The store is then refused, or all
 * is there; it is never one that can be mounted and has lost something, or has something older. The
 * next repair makes of it what the first one would have made.
 */
#include "tests/unit/stores.h"

#include "tests/crash/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS_MAX = 2000 };

/* ---- Repairs ----------------------------------------------------------------------------- */

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
		.repair = true, .quarantine = stores_quarantine, .progress = go_on};

	asked = 0;
	return wcs_store_check(stores_copy, &options, result, fault);
}

/* A repair that nothing stops; what is there then. */
static void repair_whole(struct stores_seen *seen, const char *what)
{
	struct wcs_check_result result;
	struct wcs_fault fault = {.text = ""};
	int rc;

	suite_remove(stores_quarantine);
	stop_at = 0;
	rc = repair(&result, &fault);
	ck_assert_msg(rc == 0, "%s: error %d of a repair: %s", what, rc, fault.text);
	ck_assert_msg(result.found == result.corrected, "%s: not all corrected", what);
	suite_remove(stores_quarantine);
	ck_assert_int_eq(repair(&result, &fault), 0);
	ck_assert_msg(result.found == 0, "%s: something is found the second time", what);
	rc = stores_look(seen, &fault);
	ck_assert_msg(rc == 0, "%s: %s", what, fault.text);
}

/* After a repair that something stopped. */
static void expect_mended(const struct stores_damage *damage, const struct stores_seen *mended,
			  const char *what)
{
	struct wcs_fault fault = {.text = ""};
	struct stores_seen seen;
	int rc;

	if (damage->refused) {
		rc = stores_look(&seen, &fault);
		ck_assert_msg(rc == 0 || (rc == -EIO && strstr(fault.text, "fsck.rowfs")),
			      "%s: error %d: %s", what, rc, fault.text);
		if (rc == 0)
			stores_expect(&seen, stores_generations[1], STORES_BIG, what);
	}
	repair_whole(&seen, what);
	stores_expect(&seen, mended->generations, mended->big, what);
}

static void inflict(const struct stores_damage *damage)
{
	stores_replace(stores_base, stores_copy);
	suite_remove(stores_quarantine);
	damage->inflict();
}

static void mend(const struct stores_damage *damage, struct stores_seen *mended)
{
	int kept = 0;

	inflict(damage);
	repair_whole(mended, damage->name);
	if (damage->all)
		stores_expect(mended, stores_generations[1], STORES_BIG, damage->name);
	for (int i = 0; i < STORES_ROWS; i++)
		kept += mended->generations[i] != 0;
	ck_assert_msg(kept >= STORES_ROWS - 16, "%s: %d rows", damage->name,
		      kept); /* but for a block's */
}

/* ---- The tests --------------------------------------------------------------------------- */

static void arm(uint64_t at, int error)
{
	struct fault *fault = fault_control();

	snprintf(fault->below, sizeof(fault->below), "%s", stores_place);
	fault->count = fault->fired = fault->stays = 0;
	fault->error = (uint64_t)error;
	fault->at = at;
}

/* False: there is no such call. */
static bool fail_call(const struct stores_damage *damage, const struct stores_seen *mended,
		      uint64_t n)
{
	struct wcs_check_result result;
	struct wcs_fault fault = {.text = ""};
	char what[80];
	int rc;

	snprintf(what, sizeof(what), "%s, call %d fails", damage->name, (int)n);
	inflict(damage);
	arm(n, n % 2 ? ENOSPC : EIO);
	rc = repair(&result, &fault);
	fault_control()->at = 0;
	if (!fault_control()->fired)
		return false;
	ck_assert_msg(rc == 0 || fault.text[0], "%s: error %d without words", what, rc);
	if (rc == 0 && result.found == result.corrected) {
		struct stores_seen seen;

		ck_assert_int_eq(stores_look(&seen, &fault), 0);
		stores_expect(&seen, mended->generations, mended->big, what);
	}
	expect_mended(damage, mended, what);
	return true;
}

START_TEST(test_every_call_fails)
{
	const struct stores_damage *damage = &stores_damages[_i];
	struct stores_seen mended;
	uint64_t n = 1;

	stores_make();
	mend(damage, &mended);
	while (fail_call(damage, &mended, n)) {
		n++;
		ck_assert_uint_lt(n, CALLS_MAX);
	}
	ck_assert_uint_gt(n, 5);
	stores_remove();
}
END_TEST

static bool kill_at(const struct stores_damage *damage, const struct stores_seen *mended,
		    uint64_t n)
{
	char what[80], number[24];
	int status;
	pid_t pid;

	snprintf(what, sizeof(what), "%s, killed at call %d", damage->name, (int)n);
	snprintf(number, sizeof(number), "%d", (int)n);
	inflict(damage);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		execl("/proc/self/exe", "test_repair", number, stores_place, (char *)NULL);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status))
		return false;
	ck_assert_int_eq(WTERMSIG(status), SIGKILL);
	expect_mended(damage, mended, what);
	return true;
}

START_TEST(test_killed_at_every_call)
{
	const struct stores_damage *damage = &stores_damages[_i];
	struct stores_seen mended;
	uint64_t n = 1;

	stores_make();
	mend(damage, &mended);
	while (kill_at(damage, &mended, n)) {
		n++;
		ck_assert_uint_lt(n, CALLS_MAX);
	}
	ck_assert_uint_gt(n, 5);
	stores_remove();
}
END_TEST

/* By a signal, as the program asks for it. */
START_TEST(test_stopped_everywhere)
{
	const struct stores_damage *damage = &stores_damages[_i];
	struct wcs_check_result result;
	struct wcs_fault fault;
	struct stores_seen mended;
	int rc = -ECANCELED;

	stores_make();
	mend(damage, &mended);
	for (int at = 1; rc != 0; at++) {
		inflict(damage);
		stop_at = at;
		rc = repair(&result, &fault);
		ck_assert_int_eq(rc, asked == at ? -ECANCELED : 0);
		expect_mended(damage, &mended, damage->name);
	}
	stores_remove();
}
END_TEST

/* The end of each of its records; -1 behind the last. */
static off_t record_end(int fd, int record)
{
	unsigned char head[7];
	off_t at = 0;

	for (; record >= 0; record--) {
		if (pread(fd, head, sizeof(head), at) != sizeof(head))
			return -1;
		ck_assert_int_eq(head[6], 1); /* whole in one piece */
		at += 7 + (head[4] | head[5] << 8);
	}
	return at;
}

START_TEST(test_cut_manifest)
{
	struct wcs_check_result result;
	struct wcs_check_options report = {.repair = false};
	struct wcs_fault fault = {.text = ""};
	struct stores_seen seen;
	char path[512], what[64];
	int edits = 0, damaged = 0;
	off_t end = 0;

	stores_make();
	stores_make_many();
	for (int edit = 0; end >= 0; edit++) {
		int fd;

		stores_replace(stores_merged, stores_copy);
		stores_file("MANIFEST", path);
		fd = open(path, O_RDWR | O_CLOEXEC);
		end = record_end(fd, edit);
		ck_assert(end < 0 || ftruncate(fd, end) == 0);
		close(fd);
		edits += end >= 0;
		snprintf(what, sizeof(what), "cut behind edit %d", edit);
		ck_assert_int_eq(wcs_store_check(stores_copy, &report, &result, &fault), 0);
		if (result.found > 0) {
			damaged++;
			ck_assert_int_eq(stores_look(&seen, &fault), -EIO);
		}
		repair_whole(&seen, what);
		stores_expect(&seen, stores_generations[0], STORES_BIG, what);
	}
	ck_assert_int_ge(edits, 4);
	ck_assert_int_ge(damaged, 2);
	stores_remove();
}
END_TEST

START_TEST(test_overlap)
{
	struct wcs_fault fault = {.text = ""};
	struct stores_seen seen;

	stores_make();
	inflict(&stores_overlap);
	ck_assert_int_eq(stores_look(&seen, &fault), -EIO);
	ck_assert_msg(strstr(fault.text, "MANIFEST-") && strstr(fault.text, " overlap; fsck.rowfs"),
		      "%s", fault.text);
	mend(&stores_overlap, &seen);
	stores_remove();
}
END_TEST

static void make(Suite *suite)
{
	TCase *repairs = tcase_create("repairs");

	tcase_set_timeout(repairs, 240);
	tcase_add_loop_test(repairs, test_every_call_fails, 0, STORES_DAMAGES);
	tcase_add_loop_test(repairs, test_killed_at_every_call, 0, STORES_DAMAGES);
	tcase_add_loop_test(repairs, test_stopped_everywhere, 0, STORES_DAMAGES);
	suite_add_tcase(suite, repairs);
	suite_add_once(suite, "a MANIFEST that was cut", test_cut_manifest, 60);
	suite_add_once(suite, "tables that overlap", test_overlap, 60);
}

/* A process that is killed at a call: fork alone would leave it without LevelDB's threads. */
static int be_killed(const char *number, const char *where)
{
	struct wcs_check_result result;
	struct wcs_fault fault;

	stores_name(where);
	arm(strtoull(number, NULL, 10), 0);
	repair(&result, &fault);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return be_killed(argv[1], argv[2]);
	return suite_main("leveldb: repairs", make);
}
