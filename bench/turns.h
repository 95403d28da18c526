/* Contains what the benchmarks of journals share: time, medians, and a line of their output, which
 * bench/run reads. */
#ifndef SHERD_BENCH_TURNS_H
#define SHERD_BENCH_TURNS_H

#include <stdint.h>

#define REPS_MAX 50

/* A goal, and whether less is better. */
struct goal {
    const char *sign; /* "<=" or ">="; null: no goal */
    double value;
    const char *unit; /* "%" of the limit, or the unit of the line */
};

uint64_t turns_now(void);            /* monotonic ns */
double turns_since(uint64_t start);  /* seconds */
double turns_us(uint64_t start);     /* microseconds */
/* The value below which this part of all is; sorts them. */
double turns_part(double *values, int count, double part);
double turns_median(double *values, int count);
/* Prints the medians, the lowest and the highest of the turns; sorts them. */
void turns_tell(const char *row, const char *what, const char *unit, double *ours, double *limit,
                int count, struct goal goal);
/* The median time in us of a write and fdatasync of 4 KiB to a file, which is deleted. */
double turns_sync_us(const char *path);

#endif
