/* SPDX-License-Identifier: MIT */
/*
 * The filesystems that the table of ratios compares, each mounted in a directory of its own: rowfs,
 * the null server of null.c, and ext4 with the tree as plain files.
 *
 * A fault ends the program with a line on standard error. The process that peers_run leaves waiting
 * then ends all started processes and removes all files, also after Ctrl-C.
 */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/bench/tree.h"

enum peer_kind { PEER_ROWFS, PEER_NULL, PEER_EXT4, PEER_MOUNTS };

struct peer {
	enum peer_kind kind;
	pid_t server;	  /* 0: the kernel */
	char store[200];  /* the store that rowfs mounts */
	char mount[200];  /* where its tree is */
	char options[64]; /* of rowfs, for -o */
	const struct tree *tree;
};

/* Runs the benchmark in a process of its own, in a private directory that is its working
 * directory; its exit status. */
int peers_run(void (*run)(void));

/* Ends the program with the message `subject: reason`; errnum 0 omits the reason. */
_Noreturn void peer_die(const char *what, int errnum);
/* Runs a command line of the shell, which must succeed. */
void peer_shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Mounts it; returns once it serves, with the seconds that this took. rowfs's store must be
 * there. */
double peer_start(struct peer *peer, enum peer_kind kind, const struct tree *tree);
void peer_stop(struct peer *peer);
/* Has the kernel forget names and attributes. */
void peer_cool(struct peer *peer);
/* Bytes of memory that the server takes, and seconds of processor time that it took. */
uint64_t peer_memory(const struct peer *peer);
double peer_processor(const struct peer *peer);

/* The path of Google's emulator of Bigtable: cbtemulator on PATH, or in the platform folder of the
 * google-cloud-sdk that has cbt or gcloud. False: it is not installed. */
bool peer_emulator(char *path, size_t size);

#endif
