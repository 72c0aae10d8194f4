/* SPDX-License-Identifier: MIT */
/* The command line: getopt for options, a table for -o; unknown -o options go to libfuse. */
#include "fs/options.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/mount/privilege.h"
#include "lib/system/message.h"

enum { GC_INTERVAL = 300, GC_GRACE = 3600 }; /* seconds */

const char options_usage[] =
	"Usage: rowfs [-f] [-d] [-o OPTION[,OPTION...]] STORE MOUNTPOINT\n"
	"\n"
	"Mounts the wide-column store STORE, and returns once it serves.\n"
	"\n"
	"  -f             stays in the foreground, and logs to standard error\n"
	"  -d             the same, and logs every request\n"
	"  --status       lists mounted stores: mountpoints, processes, versions\n"
	"  -h, --help     prints this; -V, --version: prints the version\n"
	"\n"
	"Options of -o:\n"
	"  ro             nothing can be changed\n"
	"  check          has fsck.rowfs -n check the store, and mounts none with faults\n"
	"  table=T        shows table T alone: it is the root\n"
	"  uid=U, gid=G   owner of everything, names or numbers (default: who mounts)\n"
	"  umask=OCTAL    bits that files and directories lack (default: 022)\n"
	"  strict         refuses chmod and chown, which are ignored else\n"
	"  autodir        directories of rows and families need no mkdir\n"
	"  sync           every change survives a power cut when it returns\n"
	"  cache=MIB      memory for blocks of the store (default: 64)\n"
	"  gcinterval=S   seconds between garbage collections (default: 300; 0: off)\n"
	"  gcgrace=S      seconds they leave alone what a changed policy hides (3600)\n"
	"  keyvis=off     counts nothing for the heat map, /.rowfs/keyvis\n"
	"and libfuse's own: allow_other, auto_unmount, ... (mount.fuse3(8)).\n"
	"Unmount with: fusermount3 -u MOUNTPOINT. More in rowfs(8) and rowfs(5).\n";

static int wrong(const char *what, const char *why)
{
	message("rowfs", "%s: %s; see rowfs --help", what, why);
	return -EINVAL;
}

/* An option with a number. */
struct number {
	const char *name;
	int base;
	unsigned max;
	unsigned *to;
};

static int parse_number(const char *option, const char *text, const struct number *number)
{
	unsigned long value;
	char why[64], *end;

	errno = 0;
	value = strtoul(text, &end, number->base);
	*number->to = (unsigned)value;
	if (errno == 0 && end != text && *end == 0 && *text != '-' && value <= number->max)
		return 0;
	snprintf(why, sizeof(why),
		 number->base == 8 ? "its value must be octal, 0 to %o"
				   : "its value must be 0 to %u",
		 number->max);
	return wrong(option, why);
}

/* A user's or group's name, or its number. */
static int parse_id(const char *option, const char *text, const struct number *number)
{
	bool group = strcmp(number->name, "gid") == 0;
	const struct group *named_group = group ? getgrnam(text) : NULL;
	const struct passwd *named_user = group ? NULL : getpwnam(text);

	if (named_group)
		*number->to = named_group->gr_gid;
	else if (named_user)
		*number->to = named_user->pw_uid;
	else if (*text == 0 || text[strspn(text, "0123456789")] == 0)
		return parse_number(option, text, number);
	else
		return wrong(option, group ? "no group of that name" : "no user of that name");
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

/* An option that is on or off. */
static int parse_switch(const char *option, const char *text, bool *to)
{
	*to = strcmp(text, "on") == 0;
	return *to || strcmp(text, "off") == 0 ? 0 : wrong(option, "its value must be on or off");
}

/* The options with a value. -ENOENT: libfuse is to have it, too. */
static int set_valued(struct options *options, const char *option)
{
	const struct number numbers[] = {{"uid", 10, UINT32_MAX - 1, &options->fs.uid},
					 {"gid", 10, UINT32_MAX - 1, &options->fs.gid},
					 {"umask", 8, 0777, &options->fs.umask},
					 {"cache", 10, 1 << 20, &options->cache},
					 {"gcinterval", 10, INT32_MAX, &options->gc_interval},
					 {"gcgrace", 10, INT32_MAX, &options->gc_grace},
					 {"max_read", 10, UINT32_MAX, &options->fs.max_read}};
	const char *value = value_of(option, "table");
	int rc;

	if (value) {
		if (!wcs_table_name_valid(value))
			return wrong(option, "not a table's name");
		free(options->fs.table);
		options->fs.table = strdup(value);
		return options->fs.table ? 0 : wrong(option, "no memory");
	}
	value = value_of(option, "keyvis");
	if (value)
		return parse_switch(option, value, &options->fs.keyvis);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		value = value_of(option, numbers[i].name);
		if (!value)
			continue;
		rc = numbers[i].to == &options->fs.uid || numbers[i].to == &options->fs.gid
			     ? parse_id(option, value, &numbers[i])
			     : parse_number(option, value, &numbers[i]);
		/* libfuse takes max_read from the mount's options and from the program, and wants
		 * both to agree. */
		return rc == 0 && numbers[i].to == &options->fs.max_read ? -ENOENT : rc;
	}
	return -ENOENT;
}

/* Ignored options: those of mount(8), systemd and /etc/fstab, and kinds of access time that libfuse
 * does not know (cells have no access time). fsname and subtype are for mount.fuse3: a mount that
 * rowfs makes is named by its store, so that --status finds it. */
static bool is_for_others(const char *option)
{
	static const char *const words[] = {
		"auto",	    "noauto",	  "defaults",	 "fail",	  "nofail",   "user",
		"nouser",   "users",	  "nousers",	 "owner",	  "noowner",  "group",
		"nogroup",  "_netdev",	  "loud",	 "silent",	  "diratime", "nodiratime",
		"relatime", "norelatime", "strictatime", "nostrictatime", "lazytime", "nolazytime",
	};
	static const char *const starts[] = {
		"x-", "X-", "user=", "comment=", "fsname=", "subtype="};

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
	const struct {
		const char *name;
		bool *to;
		bool ours; /* not libfuse's, too */
	} flags[] = {{"strict", &options->fs.strict, true},
		     {"autodir", &options->fs.autodir, true},
		     {"sync", &options->sync, true},
		     {"check", &options->check, true},
		     {"ro", &options->read_only, false},
		     {"allow_other", &options->allow_other, false},
		     /* libfuse gives it to fusermount3, which root's mount does without. */
		     {"auto_unmount", &options->auto_unmount, privilege_mounts()},
		     {"default_permissions", &options->default_permissions, false}};
	int rc;

	if (is_for_others(option))
		return 0;
	if (strcmp(option, "remount") == 0)
		return wrong(option, "options of a mount cannot be changed; unmount it, and mount "
				     "it anew");
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (strcmp(option, flags[i].name) == 0) {
			*flags[i].to = true;
			if (flags[i].ours)
				return 0;
		}
	if (strcmp(option, "rw") == 0)
		options->read_only = false;
	rc = set_valued(options, option);
	if (rc != -ENOENT)
		return rc;
	return fuse_opt_add_opt(&options->passed, option) == 0 ? 0 : -ENOMEM;
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

int options_parse(int argc, char **argv, struct options *options)
{
	static const struct option words[] = {{"help", no_argument, NULL, 'h'},
					      {"version", no_argument, NULL, 'V'},
					      {"status", no_argument, NULL, 's'},
					      {0}};
	int letter, rc = 0;

	*options = (struct options){
		.fs = {.uid = getuid(), .gid = getgid(), .umask = 022, .keyvis = true},
		.gc_interval = GC_INTERVAL,
		.gc_grace = GC_GRACE};
	while (rc == 0 && (letter = message_getopt(argc, argv, "fdo:hV", words)) != -1) {
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
	if (rc != 0)
		return rc;
	if (argc - optind != 2)
		return argc - optind < 2 ? wrong("STORE and MOUNTPOINT", "both are needed")
					 : wrong(argv[optind + 2], "one argument too many");
	options->store = argv[optind];
	options->mountpoint = argv[optind + 1];
	return 0;
}

void options_clear(struct options *options)
{
	free(options->passed);
	free(options->fs.table);
}
