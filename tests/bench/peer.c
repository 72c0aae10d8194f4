/* SPDX-License-Identifier: MIT */
/* The filesystems that the table of ratios compares: see peer.h. */
#include "tests/bench/peer.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/measure.h"

enum { START_MS = 60000, END_MS = 20000 };
#define DISK "16G" /* sparse: takes only the written bytes */

static const char *const names[PEER_MOUNTS] = {"rowfs", "null", "ext4"};

/* Shared with the process that waits. */
static volatile pid_t *servers;

_Noreturn void peer_die(const char *what, int errnum)
{
	fprintf(stderr, "bench: %s%s%s\n", what, errnum ? ": " : "",
		errnum ? strerror(errnum) : "");
	exit(EXIT_FAILURE);
}

void peer_shell(const char *format, ...)
{
	char line[1000];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (system(line) != 0)
		peer_die(line, 0);
}

/* ---- The process that waits -------------------------------------------------------------- */

static volatile sig_atomic_t told;

static void on_signal(int number)
{
	told = number;
}

static void unmount_lazily(const char *mount)
{
	char line[400];

	while (umount2(mount, MNT_DETACH) == 0)
		continue;
	if (errno != EPERM)
		return;
	snprintf(line, sizeof(line), "fusermount3 -uz '%s' 2>/dev/null", mount);
	if (system(line) != 0)
		return;
}

/* The servers end when they are unmounted; the others are made to. */
static void end_servers(void)
{
	for (int i = 0; i < END_MS / 10 && waitpid(-1, NULL, WNOHANG) >= 0; i++)
		measure_pause(10);
	for (int kind = 0; kind < PEER_MOUNTS; kind++)
		if (servers[kind] > 0)
			kill(servers[kind], SIGKILL);
}

static void clean(const char *directory)
{
	char path[300];

	for (int kind = 0; kind < PEER_MOUNTS; kind++) {
		snprintf(path, sizeof(path), "%s/%s", directory, names[kind]);
		unmount_lazily(path);
	}
	end_servers();
	snprintf(path, sizeof(path), "rm -rf --one-file-system '%s'", directory);
	if (system(path) != 0)
		fprintf(stderr, "bench: %s: could not be removed\n", directory);
}

/* The signals of a terminal reach the other process by themselves; the rest is passed on. */
static int wait_for(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		kill(child, SIGTERM);
	for (int kind = 0; kind < PEER_MOUNTS; kind++)
		if (servers[kind] > 0 && told)
			kill(servers[kind], SIGTERM);
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

int peers_run(void (*run)(void))
{
	const char *tmp = getenv("TMPDIR");
	struct sigaction action = {.sa_handler = on_signal};
	char directory[150];
	int status;
	pid_t child;

	snprintf(directory, sizeof(directory), "%s/rowfs-bench.XXXXXX", tmp ? tmp : "/tmp");
	servers = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (servers == MAP_FAILED || !mkdtemp(directory))
		peer_die(directory, errno);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	child = fork();
	if (child == 0) {
		action.sa_handler = SIG_DFL;
		sigaction(SIGINT, &action, NULL);
		sigaction(SIGTERM, &action, NULL);
		sigaction(SIGHUP, &action, NULL);
		if (chdir(directory) != 0)
			peer_die(directory, errno);
		run();
		exit(EXIT_SUCCESS);
	}
	status = child < 0 ? EXIT_FAILURE : wait_for(child);
	clean(directory);
	return status;
}

/* ---- Servers ----------------------------------------------------------------------------- */

static _Noreturn void exec_server(const struct peer *peer)
{
	const char *other = getenv("BENCH_OTHER");
	char program[300], numbers[TREE_TEXT_MAX];

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (!freopen("log", "a", stderr))
		_exit(127);
	tree_format(peer->tree, numbers);
	if (peer->kind == PEER_ROWFS || other) {
		measure_program("../rowfs", program, sizeof(program));
		execl(program, program, "-f", "-o",
		      peer->kind == PEER_ROWFS ? peer->options : other, peer->store, peer->mount,
		      (char *)NULL);
	} else {
		measure_program("null", program, sizeof(program));
		execl(program, program, numbers, peer->mount, (char *)NULL);
	}
	perror(program);
	_exit(127);
}

static _Noreturn void die_of_server(const struct peer *peer, int errnum)
{
	peer_shell("cat log >&2");
	peer_die(names[peer->kind], errnum);
}

static void start_server(struct peer *peer)
{
	dev_t below = measure_device(peer->mount);

	peer->server = fork();
	if (peer->server == 0)
		exec_server(peer);
	servers[peer->kind] = peer->server;
	for (int i = 0; i < START_MS && measure_device(peer->mount) == below; i++) {
		if (waitpid(peer->server, NULL, WNOHANG) != 0)
			die_of_server(peer, ECHILD);
		measure_pause(1);
	}
	if (measure_device(peer->mount) == below)
		die_of_server(peer, ETIMEDOUT);
}

double peer_start(struct peer *peer, enum peer_kind kind, const struct tree *tree)
{
	char directory[100];
	double start;

	if (!getcwd(directory, sizeof(directory)))
		peer_die("getcwd", errno);
	peer->kind = kind;
	peer->tree = tree;
	snprintf(peer->mount, sizeof(peer->mount), "%s/%s", directory, names[kind]);
	snprintf(peer->store, sizeof(peer->store), "%s/%s", directory,
		 kind == PEER_NULL ? "other" : "store");
	if (mkdir(peer->mount, 0700) != 0 && errno != EEXIST)
		peer_die(peer->mount, errno);
	if (peer->options[0] == '\0')
		strcpy(peer->options, "rw");
	start = measure_now();
	if (kind == PEER_EXT4)
		peer_shell("truncate -s %s disk && mkfs.ext4 -q -F -N %u disk && "
			   "mount -o loop disk ext4",
			   DISK, 8 * tree->rows + 2 * tree->files + 100000);
	else
		start_server(peer);
	return measure_now() - start;
}

void peer_stop(struct peer *peer)
{
	int status;

	for (int i = 0; umount2(peer->mount, 0) != 0; i++) {
		if (errno == EPERM) {
			peer_shell("fusermount3 -u '%s'", peer->mount);
			break;
		}
		if (errno != EBUSY || i > 100)
			peer_die(peer->mount, errno);
		measure_pause(50);
	}
	if (peer->server == 0)
		return;
	if (waitpid(peer->server, &status, 0) != peer->server || status != 0)
		die_of_server(peer, 0);
	servers[peer->kind] = 0;
	peer->server = 0;
}

/* A remount makes the kernel drop all unused names. */
void peer_cool(struct peer *peer)
{
	if (mount(NULL, peer->mount, NULL, MS_REMOUNT | MS_NOSUID | MS_NODEV, NULL) == 0)
		return;
	if (errno != EPERM)
		peer_die(peer->mount, errno);
	peer_stop(peer);
	peer_start(peer, peer->kind, peer->tree);
}

/* ---- Memory and processor time of the servers -------------------------------------------- */

uint64_t peer_memory(const struct peer *peer)
{
	unsigned long all, resident = 0;
	char path[64];
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)peer->server);
	in = fopen(path, "r");
	if (!in || fscanf(in, "%lu %lu", &all, &resident) != 2)
		peer_die(path, errno);
	fclose(in);
	return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

double peer_processor(const struct peer *peer)
{
	clockid_t clock;
	struct timespec at;

	if (clock_getcpuclockid(peer->server, &clock) != 0 || clock_gettime(clock, &at) != 0)
		peer_die("processor time", errno);
	return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

/* ---- Bigtable's emulator ----------------------------------------------------------------- */

bool peer_emulator(char *path, size_t size)
{
	FILE *in = popen("command -v cbtemulator || "
			 "for tool in cbt gcloud; do "
			 "tool=$(readlink -f \"$(command -v $tool)\") || continue; "
			 "sdk=${tool%/*}/../platform/bigtable-emulator; "
			 "[ -x \"$sdk/cbtemulator\" ] && realpath \"$sdk/cbtemulator\" && break; "
			 "done",
			 "r");
	bool found;

	if (!in)
		peer_die("sh", errno);
	found = fgets(path, (int)size, in) != NULL;
	pclose(in);
	if (found)
		path[strcspn(path, "\n")] = '\0';
	return found;
}
