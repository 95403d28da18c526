/* Changes the states of owned shards, with what every change does, and keeps their news. */
#include "shard/owned_shards_inside.h"

#include "base/check.h"

int64_t owned_index(struct owned_shards *owned, int32_t shard)
{
    int64_t index = shard_index(shard, owned->shard_count);
    if (index < 0)
        owned->counters.invalid++;
    return index;
}

void owned_put_news(struct owned_shards *owned, struct owned_news news)
{
    if (owned->news_count == owned->news_capacity) {
        owned->news_capacity =
            owned->news_capacity ? owned->news_capacity * 2 : 8;
        owned->news = mem_resize(owned->news, owned->news_capacity *
                                                    sizeof *owned->news);
    }
    owned->news[owned->news_count++] = news;
}

bool owned_next_news(struct owned_shards *owned, struct owned_news *news)
{
    if (owned->news_first == owned->news_count) {
        owned->news_first = owned->news_count = 0;
        return false;
    }
    *news = owned->news[owned->news_first++];
    return true;
}

void owned_set_due(struct owned_shards *owned, int64_t index, uint64_t due)
{
    owned->shards[index]->due = due;
    if (due != NEVER)
        timers_put(&owned->timers, due, OWNED_TIMER_STATE, (uint64_t)index, 0);
}

int32_t owned_shard_at(const struct owned_shards *owned, int64_t index)
{
    return (int32_t)(index - owned->shard_count + 1);
}

void owned_put_fence(struct owned_shards *owned, enum owned_news_kind kind, int64_t index)
{
    owned_put_news(owned, (struct owned_news){ .kind = kind,
                                               .shard = owned_shard_at(owned, index),
                                               .fence = owned->shards[index]->order });
}

/* From STARTING on, entities may run here until all have ended. */
static void probe_state(const struct owned_shards *owned, int64_t index,
                        enum owned_state old, enum owned_state state)
{
    struct probe probe = { .kind = PROBE_SHARD_ENDED,
                           .type = owned->type_index,
                           .shard = owned_shard_at(owned, index),
                           .fence = owned->shards[index]->order };

    if (old >= OWNED_STARTING && state <= OWNED_STARTING)
        probes_put(owned->probes, &probe);
    probe.kind = PROBE_SHARD_HOSTED;
    if (state == OWNED_STARTING)
        probes_put(owned->probes, &probe);
    probe.kind = PROBE_SHARD_STOPPING;
    if (state == OWNED_STOPPING)
        probes_put(owned->probes, &probe);
}

void owned_set_state(struct owned_shards *owned, int64_t index,
                      enum owned_state state)
{
    uint8_t old = owned->state[index];
    owned->state[index] = (uint8_t)state;
    if (owned->probes)
        probe_state(owned, index, (enum owned_state)old, state);
    if (old == OWNED_ABSENT && state != OWNED_ABSENT)
        owned->count++;
    else if (old != OWNED_ABSENT && state == OWNED_ABSENT)
        owned->count--;
    trace_put(owned->trace, TRACE_DEBUG, "owned-shards",
              "shard state changed type=%s shard=%d from=%s to=%s", owned->type,
              (int)(index - owned->shard_count + 1),
              owned_state_name((enum owned_state)old),
              owned_state_name(state));
}

const char *owned_state_name(enum owned_state state)
{
    static const char *const names[] = { "absent",   "releasing", "leasing",
                                         "claiming", "starting",  "running",
                                         "draining", "stopping",  "fenced" };
    return (unsigned)state < sizeof names / sizeof *names ? names[state]
                                                          : "invalid";
}
