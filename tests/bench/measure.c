/* SPDX-License-Identifier: MIT */
/* Shared by all benchmarks: see measure.h. */
#include "tests/bench/measure.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double seconds(clockid_t id)
{
	struct timespec at;

	clock_gettime(id, &at);
	return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

double measure_now(void)
{
	return seconds(CLOCK_MONOTONIC);
}

double measure_processor(void)
{
	return seconds(CLOCK_PROCESS_CPUTIME_ID);
}

double measure_thread(void)
{
	return seconds(CLOCK_THREAD_CPUTIME_ID);
}

void measure_pause(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

unsigned int measure_setting(const char *name, unsigned int otherwise)
{
	const char *text = getenv(name);

	return text != NULL ? (unsigned int)strtoul(text, NULL, 10) : otherwise;
}

dev_t measure_device(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_dev : 0;
}

void measure_program(const char *name, char *path, size_t size)
{
	char self[200] = "";

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		self[0] = '\0';
	snprintf(path, size, "%s/%s", dirname(self), name);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void measure_sort(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare_doubles);
}

double measure_quantile(const double *values, size_t count, double q)
{
	size_t at = (size_t)(q * (double)count);

	return values[at < count ? at : count - 1];
}

double measure_median(double *values, size_t count)
{
	measure_sort(values, count);
	return measure_quantile(values, count, 0.5);
}
