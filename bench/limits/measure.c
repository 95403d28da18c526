/* Measures processor time and resident memory for the benchmarks. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <time.h>

#include "limits.h"

uint64_t bench_now(void)
{
    struct timespec time;

    /* no program here sleeps, and other load disturbs less */
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Reads smaps_rollup, because statm may lag by some hundred pages. */
static long resident_now(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long resident = 0;

    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Rss: %ld kB", &resident) == 1)
            break;
    if (file)
        fclose(file);
    return resident * 1024;
}

long bench_rss(void)
{
    static int called;

    if (!called++)
        (void)resident_now(); /* the first read may need new pages itself */
    return resident_now();
}
