/* Implements the phi accrual failure detector: suspicion as a number that grows with silence
 * (Hayashibara et al. 2004; Akka's PhiAccrualFailureDetector).
 *
 * Times are monotonic nanoseconds, rounded down to milliseconds as in Akka. exp, log and the square
 * root use + - * / instead of libm, so that all compilers decide alike. */
#ifndef SHERD_MEMBER_PHI_H
#define SHERD_MEMBER_PHI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct phi_settings {
    double threshold;
    uint32_t samples_max;
    uint32_t deviation_ms; /* the smallest standard deviation */
    uint32_t pause_ms;     /* acceptable-heartbeat-pause */
    uint32_t interval_ms;  /* first estimate of the interval */
};

/* Zero has no heartbeat. */
struct phi {
    VEC(uint32_t) samples; /* intervals in ms; a ring once full */
    uint32_t oldest;       /* index in samples */
    uint64_t sum;          /* of the samples */
    uint64_t square_sum;
    uint64_t last_ms; /* last heartbeat; with is_monitoring */
    bool is_monitoring; /* a heartbeat was recorded */
};

void phi_fini(struct phi *phi); /* Also resets it to zero. */
void phi_heartbeat(struct phi *phi, const struct phi_settings *settings,
                   uint64_t now);
/* Subtracts time in which this node did not listen: it is no silence. */
void phi_unheard(struct phi *phi, uint64_t length, uint64_t now);
/* 0: no heartbeat so far; infinite after very long silence. */
double phi_value(const struct phi *phi, const struct phi_settings *settings,
                 uint64_t now);
bool phi_is_available(const struct phi *phi,
                      const struct phi_settings *settings, uint64_t now);
double phi_mean(const struct phi *phi);
double phi_variance(const struct phi *phi); /* The population's variance. */
/* Phi after elapsed; mean includes the acceptable pause. All in one unit. */
double phi_of(double elapsed, double mean, double deviation);

#endif
