/* SPDX-License-Identifier: MIT */
/* The command line: getopt for options, a table for -o; unknown -o options go to libfuse. */
#include "fs/options.h"

#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GC_INTERVAL INT64_C(300000000) /* microseconds */
#define GC_GRACE    INT64_C(3600000000)

const char options_usage[] =
	"Usage: rowfs [-f] [-d] [-o OPTION[,OPTION...]] STORE MOUNTPOINT\n"
	"\n"
	"Mounts the wide-column store STORE, and returns once it serves.\n"
	"\n"
	"  -f             stays in the foreground, and logs to standard error\n"
	"  -d             the same, and logs every request\n"
	"  --status       lists mounted stores, their mountpoints and processes\n"
	"  -h, --help     prints this\n"
	"  -V, --version  prints the version\n"
	"\n"
	"Options of -o:\n"
	"  ro             nothing can be changed\n"
	"  table=T        shows table T alone: it is the root\n"
	"  uid=U, gid=G   owner of everything, names or numbers (default: who mounts)\n"
	"  umask=OCTAL    bits that files and directories lack (default: 022)\n"
	"  strict         refuses chmod and chown, which are ignored else\n"
	"  autodir        directories of rows and families need no mkdir\n"
	"  sync           every change survives a power cut when it returns\n"
	"  cache=MIB      memory for blocks of the store (default: 64)\n"
	"  gcinterval=S   seconds between garbage collections (default: 300; 0: off)\n"
	"  gcgrace=S      seconds they leave alone what a changed policy hides (3600)\n"
	"and libfuse's own: allow_other, auto_unmount, ... (mount.fuse3(8)).\n"
	"\n"
	"Unmount with: fusermount3 -u MOUNTPOINT. More in rowfs(8) and rowfs(5).\n";

static int wrong(const char *what, const char *why)
{
	fprintf(stderr, "rowfs: %s: %s; see rowfs --help\n", what, why);
	return -EINVAL;
}

static int parse_number(const char *option, const char *text, int base, unsigned long max,
			unsigned long *number)
{
	char why[64];
	char *end;

	errno = 0;
	*number = strtoul(text, &end, base);
	if (errno == 0 && end != text && *end == 0 && *text != '-' && *number <= max)
		return 0;
	snprintf(why, sizeof(why),
		 base == 8 ? "its value must be octal, 0 to %lo" : "its value must be 0 to %lu",
		 max);
	return wrong(option, why);
}

/* A user's or group's name, or its number. */
static int parse_id(const char *option, const char *text, bool group, unsigned long *number)
{
	const struct group *named_group = group ? getgrnam(text) : NULL;
	const struct passwd *named_user = group ? NULL : getpwnam(text);

	if (named_group)
		*number = named_group->gr_gid;
	else if (named_user)
		*number = named_user->pw_uid;
	else if (*text == 0 || text[strspn(text, "0123456789")] == 0)
		return parse_number(option, text, 10, UINT32_MAX - 1, number);
	else
		return wrong(option, group ? "no group of that name" : "no user of that name");
	return 0;
}

/* Adds an option for libfuse. */
static int pass_on(struct options *options, const char *option)
{
	char *joined;

	if (asprintf(&joined, "%s%s%s", options->passed ? options->passed : "",
		     options->passed ? "," : "", option) < 0)
		return -ENOMEM;
	free(options->passed);
	options->passed = joined;
	return 0;
}

/* NULL: another option. */
static const char *value_of(const char *option, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(option, name, len) != 0)
		return NULL;
	return option[len] == '=' ? option + len + 1 : option[len] == 0 ? "" : NULL;
}

/* The options with a value. -ENOENT: none of them. */
static int set_valued(struct options *options, const char *option)
{
	unsigned long number = 0;
	const char *value;
	int rc;

	if ((value = value_of(option, "table")) != NULL) {
		if (!wcs_table_name_valid(value))
			return wrong(option, "not a table's name");
		free(options->table);
		options->fs.table = options->table = strdup(value);
		return options->table ? 0 : wrong(option, "no memory");
	}
	if ((value = value_of(option, "uid")) != NULL) {
		rc = parse_id(option, value, false, &number);
		options->fs.uid = (uid_t)number;
	} else if ((value = value_of(option, "gid")) != NULL) {
		rc = parse_id(option, value, true, &number);
		options->fs.gid = (gid_t)number;
	} else if ((value = value_of(option, "umask")) != NULL) {
		rc = parse_number(option, value, 8, 0777, &number);
		options->fs.umask = (mode_t)number;
	} else if ((value = value_of(option, "cache")) != NULL) {
		rc = parse_number(option, value, 10, 1 << 20, &number);
		options->cache_bytes = (size_t)number << 20;
	} else if ((value = value_of(option, "gcinterval")) != NULL) {
		rc = parse_number(option, value, 10, INT32_MAX, &number);
		options->gc_interval = (int64_t)number * 1000000;
	} else if ((value = value_of(option, "gcgrace")) != NULL) {
		rc = parse_number(option, value, 10, INT32_MAX, &number);
		options->gc_grace = (int64_t)number * 1000000;
	} else if ((value = value_of(option, "max_read")) != NULL) {
		rc = parse_number(option, value, 10, UINT32_MAX, &number);
		options->fs.max_read = (unsigned)number;
		/* libfuse takes it from the mount's options and from the program, and wants both
		 * to agree. */
		rc = rc == 0 ? -ENOENT : rc;
	} else {
		rc = -ENOENT;
	}
	return rc;
}

/* Ignored options: those of mount(8), systemd and /etc/fstab, and kinds of access time that libfuse
 * does not know (cells have no access time). */
static bool is_for_others(const char *option)
{
	static const char *const words[] = {
		"auto",	    "noauto",	  "defaults",	 "fail",	  "nofail",   "user",
		"nouser",   "users",	  "nousers",	 "owner",	  "noowner",  "group",
		"nogroup",  "_netdev",	  "loud",	 "silent",	  "diratime", "nodiratime",
		"relatime", "norelatime", "strictatime", "nostrictatime", "lazytime", "nolazytime",
	};
	static const char *const starts[] = {"x-", "X-", "user=", "comment="};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(option, words[i]) == 0)
			return true;
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (strncmp(option, starts[i], strlen(starts[i])) == 0)
			return true;
	return false;
}

static int set_option(struct options *options, const char *option)
{
	int rc;

	if (is_for_others(option))
		return 0;
	if (strcmp(option, "remount") == 0)
		return wrong(option, "options of a mount cannot be changed; unmount it, and mount "
				     "it anew");
	if (strcmp(option, "strict") == 0) {
		options->fs.strict = true;
		return 0;
	}
	if (strcmp(option, "autodir") == 0) {
		options->fs.autodir = true;
		return 0;
	}
	if (strcmp(option, "sync") == 0) {
		options->sync = true;
		return 0;
	}
	if (strcmp(option, "ro") == 0 || strcmp(option, "rw") == 0)
		options->read_only = strcmp(option, "ro") == 0;
	if (strcmp(option, "allow_other") == 0)
		options->allow_other = true;
	if (strcmp(option, "auto_unmount") == 0)
		options->auto_unmount = true;
	if (strcmp(option, "default_permissions") == 0)
		options->default_permissions = true;
	rc = set_valued(options, option);
	return rc == -ENOENT ? pass_on(options, option) : rc;
}

/* Parses a comma-separated list in a copy, since ps shows the original. */
static int set_list(struct options *options, const char *list)
{
	char *copy = strdup(list), *rest = copy, *option;
	int rc = copy ? 0 : wrong("-o", "no memory");

	while (rc == 0 && (option = strsep(&rest, ",")) != NULL)
		rc = *option ? set_option(options, option) : 0;
	free(copy);
	return rc;
}

static int take_operands(struct options *options, int count, char **operands)
{
	if (count != 2)
		return wrong(count < 2 ? "STORE and MOUNTPOINT" : operands[2],
			     count < 2 ? "both are needed" : "one argument too many");
	options->store = operands[0];
	options->mountpoint = operands[1];
	return 0;
}

int options_parse(int argc, char **argv, struct options *options)
{
	static const struct option words[] = {{"help", no_argument, NULL, 'h'},
					      {"version", no_argument, NULL, 'V'},
					      {"status", no_argument, NULL, 's'},
					      {0}};
	int letter, rc = 0;

	*options = (struct options){.fs = {.uid = getuid(), .gid = getgid(), .umask = 022},
				    .gc_interval = GC_INTERVAL,
				    .gc_grace = GC_GRACE};
	while (rc == 0 && (letter = getopt_long(argc, argv, "fdo:hV", words, NULL)) != -1) {
		switch (letter) {
		case 'f':
			options->foreground = true;
			break;
		case 'd':
			options->foreground = options->debug = true;
			break;
		case 'o':
			rc = set_list(options, optarg);
			break;
		case 'h':
			options->help = true;
			return 0;
		case 'V':
			options->version = true;
			return 0;
		case 's':
			options->status = true;
			return optind == argc ? 0 : wrong(argv[optind], "--status takes no names");
		default:
			return wrong("command line", "not understood");
		}
	}
	return rc == 0 ? take_operands(options, argc - optind, argv + optind) : rc;
}

void options_clear(struct options *options)
{
	free(options->passed);
	free(options->table);
}
