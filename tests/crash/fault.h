/* SPDX-License-Identifier: MIT */
/*
 * A failing disk: calls that write below a directory are counted, and one of them fails.
 *
 * Linked into a program, or preloaded into one (fault.so) with ROWFS_FAULT naming a file of
 * sizeof(struct fault) bytes, which is shared memory then: any process that maps or writes it can
 * set the fault while the program runs.
 */
#ifndef FAULT_H
#define FAULT_H

#include <stdatomic.h>
#include <stdint.h>

struct fault {
	_Atomic uint64_t count; /* of calls so far */
	_Atomic uint64_t at;	/* the call that fails; 0: none */
	_Atomic uint64_t fired; /* how many failed */
	_Atomic uint64_t error; /* an errno; 0: the process is killed there, before the call */
	_Atomic uint64_t stays; /* those behind it fail as well */
	char below[472];	/* the directory, without a link in its path */
};

struct fault *fault_control(void);

#endif
