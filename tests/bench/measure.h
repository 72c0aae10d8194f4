/* SPDX-License-Identifier: MIT */
/* Shared by all benchmarks: clocks, settings from the environment, medians, programs. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stddef.h>
#include <sys/types.h>

/* Seconds of a clock that nobody sets. */
double measure_now(void);
/* Processor time of all threads: of use where other programs keep the machine busy. */
double measure_processor(void);
/* And of the calling thread. */
double measure_thread(void);
void measure_pause(long ms);
/* A number from the environment. */
unsigned int measure_setting(const char *name, unsigned int otherwise);
/* The device of what is there, which is another one once something is mounted; 0: nothing is. */
dev_t measure_device(const char *path);
/* The path of a program, relative to the directory of the benchmarks' programs. */
void measure_program(const char *name, char *path, size_t size);
void measure_sort(double *values, size_t count);
/* Of sorted values. */
double measure_quantile(const double *values, size_t count, double q);
/* Sorts them. */
double measure_median(double *values, size_t count);

#endif
