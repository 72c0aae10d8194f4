/* SPDX-License-Identifier: MIT */
/* Shared by all benchmarks: clocks, settings from the environment, medians. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stddef.h>

/* Seconds of a clock that nobody sets. */
double measure_now(void);
/* Processor time of all threads: of use where other programs keep the machine busy. */
double measure_processor(void);
/* And of the calling thread. */
double measure_thread(void);
void measure_pause(long ms);
/* A number from the environment. */
unsigned int measure_setting(const char *name, unsigned int otherwise);
void measure_sort(double *values, size_t count);
/* Of sorted values. */
double measure_quantile(const double *values, size_t count, double q);
/* Sorts them. */
double measure_median(double *values, size_t count);

#endif
