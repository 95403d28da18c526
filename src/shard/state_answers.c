/* Takes the answers to reads and writes of a coordinator's state, and values that another coordinator
 * has written. */
#include "base/mark.h"
#include "shard/coordinator_state.h"
#include "shard/stored.h"

#define PAUSE (100 * MS) /* after a failure; doubled by each further one, up to the setting */
#define PAUSE_DOUBLINGS 12

/* This node cannot know which side has a majority, so it tries for ever, as Akka does. */
static void failed(struct coordinator *coordinator, uint64_t now,
                   const char *what)
{
    struct state_store *state_store = &coordinator->state_store;
    uint32_t doublings = state_store->failures < PAUSE_DOUBLINGS
                             ? state_store->failures
                             : PAUSE_DOUBLINGS;
    uint64_t most = coordinator->settings.failure_backoff_ms * MS;
    uint64_t pause = PAUSE << doublings < most ? PAUSE << doublings : most;

    state_store->failures++;
    trace_put(coordinator->trace,
              state_store->failures < 5 ? TRACE_WARNING : TRACE_ERROR,
              "coordinator",
              "coordinator's state not %s, tried again type=%s failures=%u "
              "hint=\"check that most members with the role are reachable\"",
              what, coordinator->type, state_store->failures);
    state_store->is_paused = true;
    timers_put(&coordinator->timers, now + pause, TIMER_KEEP, 0,
               ++state_store->generation);
}

static bool is_awaited(struct coordinator *coordinator, uint64_t ticket)
{
    struct state_store *state_store = &coordinator->state_store;

    if (!state_store->is_asked || ticket != state_store->ticket) {
        coordinator->counters.stale++;
        return false;
    }
    state_store->is_asked = false;
    return !coordinator->is_stopped;
}

void coordinator_written(struct coordinator *coordinator, uint64_t now,
                         uint64_t ticket, bool is_good, struct outbox *outbox)
{
    struct state_store *state_store = &coordinator->state_store;

    if (!is_awaited(coordinator, ticket))
        return;
    state_store->has_handed_over = state_store->hands_over;
    SOMETIMES("a coordinator ends and some member has not confirmed its state",
              state_store->has_handed_over && !is_good);
    if (!is_good) {
        coordinator->counters.failed_writes++;
        if (!state_store->has_handed_over)
            failed(coordinator, now, "written");
        coordinator_settle(coordinator, now, outbox);
        return;
    }
    coordinator->counters.writes++;
    SOMETIMES("changes came while a coordinator's state was written",
              state_store->version > state_store->writing);
    state_store->failures = 0;
    state_store->written = state_store->writing;
    state_store_probe(coordinator, PROBE_STATE_STORED, ticket, (struct slice){ 0 });
    if (!coordinator->is_active)
        coordinator_activate(coordinator, now, outbox);
    if (coordinator->is_active)
        announce_stored(coordinator, now, outbox);
    coordinator_settle(coordinator, now, outbox);
}

/* An unchanged value counts as written; the rest is written again. */
static void settle_loaded(struct coordinator *coordinator, bool is_exact)
{
    struct state_store *state_store = &coordinator->state_store;

    state_store->written = state_store->version;
    for (uint32_t i = 0; i < coordinator->shards.count; i++) {
        struct shard *shard = coordinator->shards.items[i];
        uint64_t version = shard->version;

        keep_shard(coordinator, shard); /* so that its part is packed */
        shard->version = version ? shard->version : 0;
    }
    for (uint32_t i = 0; i < coordinator->regions.count; i++)
        if (coordinator->regions.items[i]->version)
            keep_region(coordinator, coordinator->regions.items[i]);
    if (!is_exact)
        keep_regions(coordinator, 0);
}

void coordinator_read(struct coordinator *coordinator, uint64_t now,
                      uint64_t ticket, bool is_good, struct slice state,
                      struct slice fences, struct outbox *outbox)
{
    struct state_store *state_store = &coordinator->state_store;
    struct stored stored;

    if (!is_awaited(coordinator, ticket))
        return;
    if (!is_good) {
        coordinator->counters.failed_reads++;
        failed(coordinator, now, "read");
        return;
    }
    state_store->failures = 0;
    state_store->is_read = true;
    state_store_probe(coordinator, PROBE_STATE_READ, ticket, state);
    state_store_probe(coordinator, PROBE_FENCES_READ, ticket, fences);
    if (stored_read(&stored, state, fences)) {
        state_store_load(coordinator, &stored);
        settle_loaded(coordinator, true);
        stored_fini(&stored);
    } else {
        coordinator->counters.malformed++;
        trace_put(coordinator->trace, TRACE_ERROR, "coordinator",
                  "stored state of the coordinator is unreadable, rebuilt from "
                  "reports of regions type=%s "
                  "hint=\"run one version on all members\"",
                  coordinator->type);
        state_store->is_anew = true;
        settle_loaded(coordinator, false);
    }
    coordinator_news_put(coordinator, COORDINATOR_NEWS_NEEDS_TERM,
                         coordinator->term_seen);
    coordinator_settle(coordinator, now, outbox);
}

static void outdo(struct coordinator *coordinator, struct slice id,
                  struct fence fence)
{
    struct shard *shard = shard_get(coordinator, id);

    if (!shard || fence_compare(fence, shard->fence) <= 0)
        return;
    if (!shard->home) {
        shard->fence = fence;
        keep_shard(coordinator, shard);
    } else if (!shard->is_disputed) {
        shard->is_disputed = true; /* as if another region had it */
        coordinator->disputed++;
    }
}

void coordinator_other_state(struct coordinator *coordinator, uint64_t now,
                         struct slice fences, struct outbox *outbox)
{
    struct state_store *state_store = &coordinator->state_store;
    uint64_t seen = 0;
    struct stored stored;

    if (!state_store->is_read || coordinator->is_stopped)
        return;
    REACHED("another coordinator's value arrives after the read");
    coordinator->counters.overwritten++;
    state_store->state_version = state_store->fences_version = ++state_store->version;
    if (!stored_read(&stored, slice_of(NULL, 0), fences)) {
        coordinator->counters.malformed++;
    } else {
        if (stored.term <= FENCE_PART_MAX)
            seen = stored.term;
        for (uint32_t i = 0; i < stored.fence_count; i++) {
            struct fence fence = stored.fences[i].fence;

            if (fence.term > FENCE_PART_MAX || fence.epoch > FENCE_PART_MAX) {
                coordinator->counters.malformed++;
                continue;
            }
            seen = fence.term > seen ? fence.term : seen;
            outdo(coordinator, stored.fences[i].shard, fence);
        }
        stored_fini(&stored);
    }
    trace_put(coordinator->trace, TRACE_WARNING, "coordinator",
              "state of another coordinator found, overwritten type=%s "
              "own=%llu seen=%llu "
              "hint=\"check for a partition or a suspended member\"",
              coordinator->type, (unsigned long long)coordinator->term,
              (unsigned long long)seen);
    if (coordinator->is_active) /* a term that two clocks made equal belongs to neither */
        coordinator_outbid(coordinator, now,
                           seen == coordinator->term ? seen + 1 : seen);
    else if (seen > coordinator->term_seen)
        coordinator->term_seen = seen;
    coordinator_settle(coordinator, now, outbox);
}
