/* SPDX-License-Identifier: MIT */
/*
 * The connector: a second process that opens connections and passes their descriptors, because the
 * process behind a mount may open none. It has the user and the privileges of that process, holds
 * none of its files, and ends with it. This process has one.
 */
#ifndef LIB_CONNECTOR_H
#define LIB_CONNECTOR_H

#include <stdbool.h>

/* Starts it. From the main thread before others start, behind sandbox_enter and before
 * sandbox_harden. 0 or a negative errno. */
int connector_start(void);

/* Connects to syslog. *stream: a NUL ends each message. Returns the descriptor, close-on-exec, for
 * the caller to close, or a negative errno. Any thread may call it. */
int connector_syslog(bool *stream);

/* Ends it, and waits until it has ended. */
void connector_end(void);

#endif
