/* SPDX-License-Identifier: MIT */
/* mkfs.rowfs: makes a store, whole or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mkfs/base/program.h"

static const struct program program = {
	.name = (char[]){"mkfs.rowfs"},
	.help = "Usage: mkfs.rowfs [--schema FILE] [--force] STORE\n"
		"\n"
		"Makes a store: a directory that rowfs mounts, of mode 0700. STORE must not\n"
		"exist, or be an empty directory.\n"
		"\n"
		"  --schema FILE  makes the tables and families that FILE describes, in JSON:\n"
		"                   {\"tables\": {\"vehicles\": {\"delimiter\": \"#\", "
		"\"families\": {\n"
		"                     \"loc\": {\"gc\": \"maxversions=3\", \"type\": \"bytes\"},\n"
		"                     \"meta\": \"maxage=30d\"}}}}\n"
		"                 All but the names may be left out. gc is what is not kept:\n"
		"                 never, maxversions=N, maxage=N(ms|s|m|h|d), and, or, ( ).\n"
		"                 A table may also have \"keys\", codecs and a salt for its row\n"
		"                 keys, and \"protected\"; see mkfs.rowfs(8).\n"
		"  --force        replaces a rowfs store that nobody uses, and what it holds;\n"
		"                 nothing else\n"
		"  --foreign      as root, uses another user's store without Landlock, too\n"
		"  -h, --help     prints this\n"
		"  -V, --version  prints the version\n"
		"\n"
		"Ends with 0, 1 when it failed (nothing is made then), 2 for wrong usage.\n",
};

static int mkfs_confine(void *none, int parent, int made, int old, struct wcs_fault *fault)
{
	const struct sandbox_place places[] = {
		{made, SANDBOX_ALL}, {old, SANDBOX_ALL}, {parent, SANDBOX_ENTRIES}};
	const char *how, *why = NULL;
	int rc = sandbox_enter(places, sizeof(places) / sizeof(places[0]), &how);

	(void)none;
	if (rc < 0)
		why = strerror(-rc);
	else if (rc == 0 && program_is_foreign(parent))
		why = program_foreign;
	if (why)
		snprintf(fault->text, sizeof(fault->text), "the directory around it: %s", why);
	return why ? -EPERM : 0;
}

/* The store in the place of a user's belongs to that user, too. */
static int mkfs_own(const char *path)
{
	int old = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int rc = old < 0 ? 0 : sandbox_own(old);

	if (old >= 0)
		close(old);
	return rc == 0 ? PROGRAM_OK
		       : program_fail(&program, "%s: its owner's rights: %s", path, strerror(-rc));
}

static int mkfs_create(const char *path, const char *schema_path, bool force)
{
	const struct wcs_confine confine = {mkfs_confine, NULL};
	struct wcs_schema *schema = NULL;
	struct wcs_fault fault = {0};
	int exit_code = schema_path ? program_schema(&program, schema_path, &schema) : PROGRAM_OK;
	sigset_t signals, before;

	if (exit_code == PROGRAM_OK && force)
		exit_code = program_release(&program, path);
	if (exit_code == PROGRAM_OK)
		exit_code = mkfs_own(path);
	/* An interrupt would leave an incomplete store beside the place; making one is short. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, &before);
	if (exit_code == PROGRAM_OK && wcs_store_create(path, schema, force, &confine, &fault))
		exit_code = program_fail(&program, "%s", fault.text);
	sigprocmask(SIG_SETMASK, &before, NULL);
	wcs_schema_free(schema);
	return exit_code;
}

int main(int argc, char **argv)
{
	const char *schema_path = NULL;
	bool force = false;
	const struct program_option options[] = {
		{"schema", .text = &schema_path}, {"force", .flag = &force}, {NULL}};
	int exit_code = program_options(&program, argc, argv, options);

	if (exit_code >= 0)
		return exit_code;
	if (optind == argc)
		return program_misuse(&program, "STORE is missing");
	if (optind + 1 < argc)
		return program_misuse(&program, "%s: one STORE only", argv[optind + 1]);
	return mkfs_create(argv[optind], schema_path, force);
}
