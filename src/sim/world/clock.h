/* Keeps a node's clocks: a monotonic one that may run too fast or slow, and a wall clock that may
 * jump. Untouched, both follow the world's time exactly. */
#ifndef SHERD_SIM_WORLD_CLOCK_H
#define SHERD_SIM_WORLD_CLOCK_H

#include <stdint.h>

#define CLOCK_RATE 1000000u /* ppm of the world's time */
#define CLOCK_RATE_MIN 950000u
#define CLOCK_RATE_MAX 1050000u

struct clock {
    uint64_t since;   /* the world's time when the rate was set */
    uint64_t shown;   /* ns that the monotonic clock showed then */
    uint32_t rate;    /* ppm */
    int64_t wall_ms;  /* wall clock minus monotonic clock */
};

/* wall_ms: the wall clock at the world's time 0. Both clocks start exact. */
void clock_init(struct clock *clock, int64_t wall_ms);
uint64_t clock_now(const struct clock *clock, uint64_t now); /* monotonic, ns */
int64_t clock_wall(const struct clock *clock, uint64_t now); /* ms */
/* Returns the earliest world time at which the monotonic clock shows at least `shown`; NEVER for
 * NEVER. */
uint64_t clock_when(const struct clock *clock, uint64_t shown);
void clock_drift(struct clock *clock, uint64_t now, uint32_t rate); /* from now on */
void clock_jump(struct clock *clock, int64_t ms);

#endif
