/* Phi accrual failure detector: suspicion as a number that grows with silence (Hayashibara et al. 2004; behaviour 3.1).
 *
 * Times are monotonic nanoseconds, looked at in whole milliseconds as the reference does. No libm: exp, log and the square root
 * are made here of + - * /, so that every compiler decides alike. */
#ifndef SHERD_MEMBER_PHI_H
#define SHERD_MEMBER_PHI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct phi_settings {
    double threshold;
    uint32_t samples_max;
    uint32_t deviation_ms; /* the smallest standard deviation */
    uint32_t pause_ms;     /* acceptable heartbeat pause */
    uint32_t interval_ms;  /* first estimate of the time between heartbeats */
};

/* Zero is one that never heard a heartbeat. */
struct phi {
    VEC(uint32_t) samples; /* intervals in ms; a ring once it is full */
    uint32_t oldest;       /* index in samples */
    uint64_t sum;          /* of the samples */
    uint64_t square_sum;
    uint64_t last_ms; /* the last heartbeat; 0 = none: see is_monitoring */
    bool is_monitoring; /* a heartbeat was recorded */
};

void phi_fini(struct phi *phi); /* and forgets all */
void phi_heartbeat(struct phi *phi, const struct phi_settings *settings,
                   uint64_t now);
/* So long nobody listened: it is no silence. */
void phi_unheard(struct phi *phi, uint64_t length, uint64_t now);
/* 0 when it never heard a heartbeat; infinite after a very long silence. */
double phi_value(const struct phi *phi, const struct phi_settings *settings,
                 uint64_t now);
bool phi_is_available(const struct phi *phi,
                      const struct phi_settings *settings, uint64_t now);
double phi_mean(const struct phi *phi);
double phi_variance(const struct phi *phi); /* of the population */
/* The suspicion after elapsed, where mean includes the acceptable pause; all in the same unit. */
double phi_of(double elapsed, double mean, double deviation);

#endif
