/* Adds up the results of a campaign of many seeds, and prints the figures. */
#ifndef SHERD_SIM_RUN_REPORT_H
#define SHERD_SIM_RUN_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "sim/run/cells.h"
#include "sim/run/run.h"

#define REPORT_DEAD_MAX 16 /* dead seeds that are named; all are counted */

/* The caller sets wall_s, first_seed, marks and build. */
struct report {
    uint64_t first_seed;
    uint64_t last_seed;
    uint64_t seeds;
    uint64_t failed;
    uint64_t dead; /* showed little without failing */
    uint64_t dead_seeds[REPORT_DEAD_MAX]; /* the first ones to end */
    uint64_t doubled;   /* seeds that ran twice */
    uint64_t different; /* those with two digests */
    double cpu_s;
    double wall_s;
    double simulated_s;
    uint64_t events;
    uint32_t marks, marks_reached; /* SOMETIMES and REACHED, from the caller; 0: unknown */
    const char *build;             /* the program, because seeds depend on it; null: unknown */
    uint64_t lives;
    uint64_t outsiders; /* ended because they were not in the cluster after the faults */
    uint64_t homes; /* requested and answered in the quiet phase */
    uint64_t left, gentle, still, silent; /* seeds for which that was judged, as in run_result */
    uint64_t faults[FAULT_VERBS];
    uint64_t faults_skipped;
    struct nemesis_effect effects[FAULT_VERBS];
    struct cells cells;
    struct run_wait waits[RUN_WAITS];
    struct run_work work;
    uint64_t slowest_seed;
    double slowest_s;
};

/* twice: 0 it ran once, 1 twice with one digest, 2 twice with two. */
void report_add(struct report *report, const struct run_result *result,
                double cpu_s, bool is_bad, int twice);
void report_put(const struct report *report, struct buf *text); /* lines */
/* Writes "1,322,450" into text (size NUMBER_TEXT_MAX is enough). Returns text. */
#define NUMBER_TEXT_MAX 28
char *number_text(uint64_t number, char *text, size_t size);

#endif
