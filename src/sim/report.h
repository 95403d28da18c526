/* What a campaign of many seeds adds up to, as text for a person: only what was counted. */
#ifndef SHERD_SIM_REPORT_H
#define SHERD_SIM_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "sim/cells.h"
#include "sim/run.h"

#define REPORT_DEAD_MAX 16 /* dead seeds that are named; all are counted */

/* Zero is an empty one; wall_s, first_seed, marks and build are the caller's. */
struct report {
    uint64_t first_seed;
    uint64_t last_seed;
    uint64_t seeds;
    uint64_t failed;
    uint64_t dead; /* and have not failed */
    uint64_t dead_seeds[REPORT_DEAD_MAX]; /* the first ones to end */
    uint64_t doubled;   /* seeds that ran twice */
    uint64_t different; /* of them with two digests */
    double cpu_s;
    double wall_s;
    double simulated_s;
    uint64_t events;
    uint32_t marks, marks_reached; /* the caller's, of SOMETIMES and REACHED; 0: unknown */
    const char *build;             /* the caller's, which program: a seed means nothing without it; null: unknown */
    uint64_t lives;
    uint64_t strays; /* of them: ended since they were not in the cluster when the faults were over and it had had its time */
    uint64_t homes; /* that were asked for in the quiet, and told */
    uint64_t left, gentle, still, silent; /* seeds of which that was judged, as in run_result */
    uint64_t faults[FAULT_VERBS];
    uint64_t faults_skipped;
    struct nemesis_effect effects[FAULT_VERBS];
    struct cells cells;
    struct run_wait waits[RUN_WAITS];
    struct run_work work;
    uint64_t slowest_seed;
    double slowest_s;
};

/* twice: 0 it ran once, 1 twice with one digest, 2 with two. */
void report_add(struct report *report, const struct run_result *result,
                double cpu_s, bool is_bad, int twice);
void report_put(const struct report *report, struct buf *text); /* lines */
/* "1,322,450" into text (size NUMBER_TEXT_MAX is enough); returns text. */
#define NUMBER_TEXT_MAX 28
char *number_text(uint64_t number, char *text, size_t size);

#endif
