/* SPDX-License-Identifier: MIT */
/* Runs a program of unit tests: the functions of suite.h that need libcheck's runner, or replace
 * it. */
#include "tests/unit/suite.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SUITE_NET = 1500 }; /* seconds on the clock, for a test that waits for ever */

static char suite_base[160];
static pid_t suite_child; /* the child that runs the tests */
static bool suite_forks;  /* it runs each in a process of its own */

/* The tests of this program, in the order of its text: constructors run in that order. */
static struct suite_entry {
	const TTest *test;
	int count;
	double seconds;
	const char *contract; /* NULL: none is named */
} suite_entries[64];
static size_t suite_entry_count;
static const char *suite_paragraph; /* of the tests that register next */

void suite_contract(const char *paragraph)
{
	suite_paragraph = paragraph;
}

void suite_register(const TTest *test, int count, double seconds)
{
	if (suite_entry_count == sizeof(suite_entries) / sizeof(suite_entries[0]))
		abort();
	suite_entries[suite_entry_count++] =
		(struct suite_entry){test, count, seconds, suite_paragraph};
}

void suite_limit(double seconds)
{
	struct rlimit limit;

	if (!suite_forks || getrlimit(RLIMIT_CPU, &limit) != 0)
		return;
	limit.rlim_cur = (rlim_t)seconds;
	if (setrlimit(RLIMIT_CPU, &limit) != 0)
		abort();
}

static TCase *suite_case(const struct suite_entry *entry)
{
	TCase *tcase = tcase_create(entry->test->name);

	tcase_set_timeout(tcase, entry->seconds > SUITE_NET ? entry->seconds : SUITE_NET);
	tcase_add_loop_test(tcase, entry->test, 0, entry->count);
	return tcase;
}

static void suite_forward(int number)
{
	kill(suite_child, number);
}

/* Prints the paragraph of the contract that each failed test checks. */
static void suite_print_contracts(SRunner *runner)
{
	int failed = srunner_ntests_failed(runner);
	TestResult **results = srunner_failures(runner);

	for (int i = 0; i < failed; i++)
		for (size_t k = 0; k < suite_entry_count; k++)
			if (suite_entries[k].contract != NULL &&
			    strcmp(tr_tcname(results[i]), suite_entries[k].test->name) == 0)
				printf("%s: the contract is %s\n", suite_entries[k].test->name,
				       suite_entries[k].contract);
	free(results);
}

static int suite_run(const char *name, void (*make)(Suite *suite))
{
	Suite *suite = suite_create(name);
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_forks = srunner_fork_status(runner) == CK_FORK;
	for (size_t i = 0; i < suite_entry_count; i++)
		suite_add_tcase(suite, suite_case(&suite_entries[i]));
	if (make != NULL)
		make(suite);
	srunner_run_all(runner, CK_NORMAL);
	suite_print_contracts(runner);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}

/* The tests run in a child, so that the parent removes their files also when they crash or get a
 * signal to end. */
int suite_main(const char *name, void (*make)(Suite *suite))
{
	struct sigaction forward = {.sa_handler = suite_forward};
	const char *parent = getenv("TMPDIR");
	int status = 0;

	snprintf(suite_base, sizeof(suite_base), "%s/rowfs-unit.XXXXXX",
		 parent != NULL ? parent : "/tmp");
	if (mkdtemp(suite_base) == NULL) {
		perror(suite_base);
		return 1;
	}
	suite_child = fork();
	if (suite_child == 0)
		exit(suite_run(name, make));
	if (suite_child > 0) {
		sigaction(SIGTERM, &forward, NULL);
		sigaction(SIGINT, &forward, NULL);
		while (waitpid(suite_child, &status, 0) < 0 && errno == EINTR)
			;
	}
	suite_remove(suite_base);
	return suite_child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

void suite_mark(const char *file, int line)
{
	static _Thread_local int sent[256];
	int *slot = &sent[line % 256];

	if (*slot != line)
		(_mark_point)(file, line);
	*slot = line;
}

int suite_apart(void (*checks)(void))
{
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		checks();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return status;
}

const char *suite_directory(void)
{
	return suite_base;
}

__attribute__((weak)) int main(void)
{
	return suite_main(program_invocation_short_name, NULL);
}
