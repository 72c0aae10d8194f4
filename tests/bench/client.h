/* SPDX-License-Identifier: MIT */
/*
 * Clients of a mount, as plain system calls: the calls that take most of the time of `ls`, `find`,
 * `cat`, `cp` and others. Each client checks its results, as far as that costs nothing.
 */
#ifndef BENCH_CLIENT_H
#define BENCH_CLIENT_H

#include "tests/bench/tree.h"

struct client {
	const char *mount;
	const struct tree *tree;
	const char *path;    /* below the mount: the directory that is listed */
	unsigned int round;  /* new in each call, so that its files are new */
	unsigned int number; /* of the client */
	unsigned int all;    /* of them */
	uint32_t count;	     /* operations of one client */
};

/* ls -f of the client's path; ls -l of it; find over some rows of t/w, with attributes. */
void client_list(const struct client *client);
void client_long_list(const struct client *client);
void client_find(const struct client *client);
/* The first entries of t/w, count times. */
void client_first(const struct client *client);
/* stat, open+read+close, of random files of t/c/f, no file twice. */
void client_stat(const struct client *client);
void client_read(const struct client *client);
/* create+write+close of new files in t/n/f. */
void client_create(const struct client *client);
/* Of ten: five are read, three are asked for attributes, one is made, one row is listed. */
void client_mixed(const struct client *client);
/* The cell t/b/f/00000000, and a new one of its size, which is removed. */
void client_read_big(const struct client *client);
void client_write_big(const struct client *client);
/* tar x of the archive "archive" into a new directory. */
void client_tar(const struct client *client);

/* Runs so many of them side by side, each in a process of its own; seconds until all are done. */
double client_run(struct client *client, unsigned int clients,
		  void (*work)(const struct client *client));

#endif
