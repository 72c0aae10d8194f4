/* SPDX-License-Identifier: MIT */
/* Inherited and missing descriptors. */
#include "lib/system/descriptors.h"

#include <fcntl.h>
#include <unistd.h>

int descriptors_open_none(void)
{
	return open("/", O_PATH | O_CLOEXEC);
}

/* open returns the lowest number that is free. */
void descriptors_open_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    (descriptors_open_none() != fd || fcntl(fd, F_SETFD, 0) != 0))
			_exit(1); /* standard error may not exist */
}

void descriptors_close_inherited(int but)
{
	unsigned kept = but > STDERR_FILENO ? (unsigned)but : STDERR_FILENO;

	if (kept > STDERR_FILENO + 1)
		close_range(STDERR_FILENO + 1, kept - 1, 0);
	close_range(kept + 1, ~0U, 0);
}
