/* Restarts a shard's entities at the configured pace, and runs the timers. */
#include "shard/remember_inside.h"

#include "base/check.h"
#include "base/mark.h"
#include "shard/shard_id.h"

#define ALL_STEP 1000u    /* restarts in one step, with any strategy */
#define WINDOW_MAX 1024u
#define BATCH_LATEST SECOND /* after the last batch, even if the store is slow */

void remember_due_put(struct remember *remember, struct remember_shard *at,
                    struct remembered *entity)
{
    check(!entity->due_at);
    vec_push(&at->dues, entity);
    entity->due_at = at->dues.count;
    remember->dues++;
}

void remember_due_drop(struct remember *remember, struct remember_shard *at,
                     struct remembered *entity)
{
    if (!entity->due_at)
        return;
    at->dues.items[entity->due_at - 1] = NULL;
    entity->due_at = 0;
    remember->dues--;
}

void remember_dues_drop(struct remember *remember, struct remember_shard *at)
{
    for (uint32_t i = at->due_head; i < at->dues.count; i++)
        if (at->dues.items[i])
            remember_due_drop(remember, at, at->dues.items[i]);
    vec_fini(&at->dues);
    at->due_head = 0;
}

void remember_line_up(struct remember *remember, uint64_t now,
                      const struct remember_shard *at, int32_t shard)
{
    if (!at->runs || !at->dues.count)
        return;
    if (!remember->runs.count && remember->batch_at < now)
        remember->batch_at = now;
    vec_push(&remember->runs, shard);
}

void remember_run(struct remember *remember, uint64_t now, int32_t shard)
{
    struct remember_shard *at = remember_shard_of(remember, shard);

    if (!at || at->runs)
        return;
    at->runs = true;
    remember_line_up(remember, now, at, shard);
}

void remember_halt(struct remember *remember, int32_t shard)
{
    struct remember_shard *at = remember_shard_of(remember, shard);

    if (!at)
        return;
    remember_dues_drop(remember, at);
    remember_moves_drop(remember, at);
    at->runs = false; /* a second read starts nothing either */
}

static void halve(struct remember *remember)
{
    remember->window = remember->window > 1 ? remember->window / 2 : 1;
}

/* Time of a single read: a lower mean counts at once. A batch of one counts when its mean no longer
 * falls. */
static void measure_alone(struct remember *remember, uint64_t latency)
{
    bool is_alone = remember->window == 1;

    if (latency < remember->alone ||
        (is_alone && remember->single && latency >= remember->single))
        remember->alone = latency;
    remember->single = is_alone ? latency : 0;
}

/* No batch size makes a read faster than a single one. At twice that, reads wait half the time for
 * their batch: the store is busy, and its queue short. */
static uint64_t target_of(const struct remember *remember)
{
    uint64_t target = remember->options.target;

    return target > 2 * remember->alone ? target : 2 * remember->alone;
}

static bool is_slow(struct remember *remember,
                    const struct remember_pressure *pressure)
{
    if (pressure->reads == remember->reads)
        return false;
    measure_alone(remember, pressure->latency);
    SOMETIMES("restarts are paced: a single read exceeds the target time",
              remember->alone > remember->options.target);
    return pressure->latency > target_of(remember);
}

static void begin_paced(struct remember *remember, uint64_t now,
                        const struct remember_pressure *pressure)
{
    if (now < remember->batch_at ||
        (pressure->recovering && now < remember->batch_by))
        return;
    if (is_slow(remember, pressure)) {
        uint64_t pause = pressure->latency < BATCH_LATEST ? pressure->latency
                                                          : BATCH_LATEST;

        REACHED("restarts are paced: the store is slower than wanted");
        halve(remember);
        remember->batch_at = now + pause; /* leaves half of the store's time to others */
    } else if (pressure->recovering) {
        REACHED("restarts are paced: a batch has not recovered in time for the next one");
        halve(remember);
    } else if (remember->window < WINDOW_MAX) {
        remember->window *= 2;
    }
    remember->batch_by = now + BATCH_LATEST;
    remember->budget = remember->window;
    remember->reads = pressure->reads;
    remember->counters.batches++;
}

static void begin_batch(struct remember *remember, uint64_t now,
                        const struct remember_pressure *pressure)
{
    const struct remember_options *options = &remember->options;

    switch (options->strategy) {
    case REMEMBER_ALL:
        remember->budget = ALL_STEP;
        return;
    case REMEMBER_CONSTANT:
        if (now < remember->batch_at)
            return;
        remember->budget = options->batch;
        remember->batch_at = now + options->frequency;
        return;
    case REMEMBER_PACED:
        begin_paced(remember, now, pressure);
        return;
    }
}

/* Restarts from the first shard in the queue; false if none is left. */
static bool restart_some(struct remember *remember, int32_t shard)
{
    struct remember_shard *at = remember_here(remember, shard);

    while (at && at->due_head < at->dues.count) {
        struct remembered *entity = at->dues.items[at->due_head];

        if (entity && !remember->budget)
            return true;
        at->due_head++;
        if (!entity)
            continue;
        remember_tell(remember, REMEMBER_RESTART, shard, entity);
        entity->due_at = 0;
        remember->dues--;
        remember->budget--;
        remember->counters.restarted++;
    }
    if (at) {
        vec_fini(&at->dues);
        at->due_head = 0;
    }
    return false;
}

static void time_is_over(struct remember *remember, uint64_t now,
                         struct remember_shard *at, int32_t shard)
{
    char text[SHARD_TEXT_MAX];

    if (at->waits) {
        at->waits = false;
        remember->counters.loads++;
        remember_watch(remember, at, shard,
                   now + remember->options.load_timeout);
        remember_tell(remember, REMEMBER_LOAD, shard, NULL);
        return;
    }
    if (at->is_late)
        return;
    /* The store answers in the end, or fails. Asking again adds to its work. */
    at->is_late = true;
    trace_put(remember->options.trace, TRACE_WARNING, "shard",
              "%s of remembered entities takes long type=%s shard=%s "
              "hint=\"check the journal, or that the members are reachable\"",
              at->state == REMEMBER_READY ? "a write" : "a load",
              remember->options.type,
              shard_label(remember->options.names, shard, text));
}

void remember_step(struct remember *remember, uint64_t now,
                   const struct remember_pressure *pressure)
{
    struct timer timer;
    uint32_t done = 0;

    while (timers_take(&remember->timers, now, &timer)) {
        struct remember_shard *at;

        if (timer.kind == REMEMBER_TIMER_MOVE) {
            remember_move_again(remember, now, &timer);
            continue;
        }
        at = remember->shards.items[timer.id];
        if (at && at->due <= now)
            time_is_over(remember, now, at,
                         shard_at_place((uint32_t)timer.id));
    }
    if (!remember->runs.count)
        return;
    if (!remember->budget)
        begin_batch(remember, now, pressure);
    while (done < remember->runs.count && remember->budget) {
        if (restart_some(remember, remember->runs.items[done]))
            break;
        done++;
    }
    while (done--)
        vec_remove(&remember->runs, 0);
    if (!remember->runs.count || remember->options.strategy == REMEMBER_ALL)
        remember->budget = 0;
    remember->waits_for_store =
        remember->runs.count && pressure->recovering;
}

uint64_t remember_deadline(const struct remember *remember)
{
    uint64_t deadline = timers_deadline(&remember->timers);
    uint64_t batch = remember->batch_at;

    if (!remember->runs.count)
        return deadline;
    if (remember->budget || remember->options.strategy == REMEMBER_ALL)
        return 0;
    if (remember->options.strategy == REMEMBER_PACED &&
        remember->waits_for_store && batch < remember->batch_by)
        batch = remember->batch_by; /* its answers cause an earlier turn */
    return batch < deadline ? batch : deadline;
}
