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
	unsigned from = STDERR_FILENO + 1;

	if (but > STDERR_FILENO) {
		if ((unsigned)but > from)
			close_range(from, (unsigned)but - 1, 0);
		from = (unsigned)but + 1;
	}
	close_range(from, ~0U, 0);
}
