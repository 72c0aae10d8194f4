/* SPDX-License-Identifier: MIT */
/* The destination of the log; fs_log in fs.h writes to it. */
#ifndef FS_LOG_H
#define FS_LOG_H

#include <stdarg.h>

#include "fs/fs.h"

/* Sets where the log goes from here on: to syslog, or to standard error. debug: all levels. Any
 * thread, one at a time. */
void log_init(bool to_syslog, bool debug);

/* libfuse's own messages go to the same log: for fuse_set_log_func. Any thread. */
void log_fuse(enum fuse_log_level level, const char *format, va_list args);

#endif
