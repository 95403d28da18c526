/* Computes clocks with integers only, so times are equal on every machine. */
#include "sim/world/clock.h"

#include "base/check.h"
#include "base/timers.h"

void clock_init(struct clock *clock, int64_t wall_ms)
{
    *clock = (struct clock){ .rate = CLOCK_RATE, .wall_ms = wall_ms };
}

uint64_t clock_now(const struct clock *clock, uint64_t now)
{
    uint64_t passed = now - clock->since;

    if (clock->rate == CLOCK_RATE)
        return clock->shown + passed;
    /* Two parts, because a product of hours and ppm would not fit. */
    return clock->shown + passed / CLOCK_RATE * clock->rate +
           passed % CLOCK_RATE * clock->rate / CLOCK_RATE;
}

int64_t clock_wall(const struct clock *clock, uint64_t now)
{
    return clock->wall_ms + (int64_t)(clock_now(clock, now) / MS);
}

uint64_t clock_when(const struct clock *clock, uint64_t shown)
{
    uint64_t left = shown - clock->shown;

    if (shown == NEVER)
        return NEVER;
    if (shown <= clock->shown)
        return clock->since;
    if (clock->rate == CLOCK_RATE)
        return clock->since + left;
    if (left / clock->rate >= NEVER / CLOCK_RATE / 2)
        return NEVER;
    return clock->since + left / clock->rate * CLOCK_RATE +
           (left % clock->rate * CLOCK_RATE + clock->rate - 1) / clock->rate;
}

void clock_drift(struct clock *clock, uint64_t now, uint32_t rate)
{
    check(rate >= CLOCK_RATE_MIN && rate <= CLOCK_RATE_MAX);
    clock->shown = clock_now(clock, now);
    clock->since = now;
    clock->rate = rate;
}

void clock_jump(struct clock *clock, int64_t ms)
{
    clock->wall_ms += ms;
}
