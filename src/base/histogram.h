/* Counts durations in 15 fixed ranges, for metrics. */
#ifndef SHERD_BASE_HISTOGRAM_H
#define SHERD_BASE_HISTOGRAM_H

#include <stdint.h>

/* The upper bounds: nanoseconds, and seconds as OpenMetrics writes them. */
#define HISTOGRAM_BOUNDS(X) \
    X(10000, "1e-05") \
    X(30000, "3e-05") \
    X(100000, "0.0001") \
    X(300000, "0.0003") \
    X(1000000, "0.001") \
    X(3000000, "0.003") \
    X(10000000, "0.01") \
    X(30000000, "0.03") \
    X(100000000, "0.1") \
    X(300000000, "0.3") \
    X(1000000000, "1.0") \
    X(3000000000, "3.0") \
    X(10000000000, "10.0") \
    X(30000000000, "30.0")

#define HISTOGRAM_RANGES 15 /* the last one has no bound */

struct histogram {
    uint64_t counts[HISTOGRAM_RANGES]; /* each without those below */
    uint64_t sum_ns;
};

static inline void histogram_add(struct histogram *histogram, uint64_t ns)
{
    static const uint64_t bounds[HISTOGRAM_RANGES - 1] = {
#define X(bound, text) UINT64_C(bound),
        HISTOGRAM_BOUNDS(X)
#undef X
    };
    uint32_t range = 0;

    while (range < HISTOGRAM_RANGES - 1 && ns > bounds[range])
        range++;
    histogram->counts[range]++;
    histogram->sum_ns += ns;
}

static inline void histogram_join(struct histogram *sum, const struct histogram *part)
{
    for (uint32_t i = 0; i < HISTOGRAM_RANGES; i++)
        sum->counts[i] += part->counts[i];
    sum->sum_ns += part->sum_ns;
}

#endif
