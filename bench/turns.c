/* Measures time, and prints medians of turns; see turns.h. */
#define _GNU_SOURCE
#include "turns.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/timers.h"

#define SYNCS 500

uint64_t turns_now(void)
{
    struct timespec now;

    check(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

double turns_since(uint64_t start)
{
    return (double)(turns_now() - start) / 1e9;
}

double turns_us(uint64_t start)
{
    return (double)(turns_now() - start) / 1e3;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return a < b ? -1 : a > b;
}

double turns_part(double *values, int count, double part)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[(int)(part * (count - 1) + 0.5)];
}

double turns_median(double *values, int count)
{
    return turns_part(values, count, 0.5);
}

void turns_tell(const char *row, const char *what, const char *unit, double *ours, double *limit,
                int count, struct goal goal)
{
    double our = turns_median(ours, count);
    double their = turns_median(limit, count);

    (void)printf("row %s  %-34s ours %9.2f  limit %9.2f %s  %5.1f %% of "
                 "limit  (%.2f..%.2f / %.2f..%.2f)",
                 row, what, our, their, unit, 100 * our / their, ours[0], ours[count - 1],
                 limit[0], limit[count - 1]);
    if (goal.sign)
        (void)printf("  goal %s %g %s", goal.sign, goal.value, goal.unit);
    (void)printf("\n");
    (void)fflush(stdout);
}

double turns_sync_us(const char *path)
{
    static uint8_t page[4096];
    static double waits[SYNCS];
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    check(file >= 0);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < SYNCS; i++) {
            uint64_t began = turns_now();

            check(pwrite(file, page, sizeof page, i * 4096) == 4096);
            if (round == 0)
                continue;
            check(fdatasync(file) == 0);
            waits[i] = turns_us(began);
        }
        check(fsync(file) == 0);
    }
    (void)close(file); /* its data is not needed */
    (void)unlink(path);
    return turns_median(waits, SYNCS);
}
