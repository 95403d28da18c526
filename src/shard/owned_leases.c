/* Keeps which owned shards hold their leases, and asks for and gives up leases. */
#include "shard/owned_shards_inside.h"

#include "base/check.h"

static void put_news(struct owned_shards *owned, enum owned_news_kind kind, int64_t index)
{
    owned_put_news(owned, (struct owned_news){ .kind = kind,
                                               .shard = owned_shard_at(owned, index),
                                               .ticket = owned->shards[index]->lease_ticket });
}

void owned_lease_ask(struct owned_shards *owned, int64_t index)
{
    struct owned_shard *at = owned->shards[index];
    at->lease_ticket = ++owned->lease_tickets;
    at->is_lease_asked = true;
    put_news(owned, OWNED_LEASE, index);
}

void owned_lease_wait(struct owned_shards *owned, uint64_t now, int64_t index)
{
    owned->counters.leases_denied++;
    timers_put(&owned->timers, now + owned->lease_retry, OWNED_TIMER_LEASE, (uint64_t)index,
               owned->shards[index]->lease_ticket);
}

static void set_leased(struct owned_shards *owned, int64_t index, bool is_leased)
{
    struct owned_shard *at = owned->shards[index];
    struct probe probe = { .kind = is_leased ? PROBE_SHARD_LEASED : PROBE_SHARD_UNLEASED,
                           .type = owned->type_index,
                           .shard = owned_shard_at(owned, index),
                           .fence = at->order };
    if (at->is_leased == is_leased)
        return;
    at->is_leased = is_leased;
    owned->leased += is_leased ? 1 : UINT32_MAX;
    probes_put(owned->probes, &probe);
}

void owned_lease_got(struct owned_shards *owned, int64_t index, uint64_t until)
{
    check(!owned->shards[index]->is_leased);
    set_leased(owned, index, true);
    owned_leases_extended(owned, until);
}

void owned_lease_drop(struct owned_shards *owned, int64_t index)
{
    set_leased(owned, index, false);
    owned->shards[index]->is_lease_asked = false;
}

void owned_lease_give_up(struct owned_shards *owned, int64_t index)
{
    owned_lease_drop(owned, index);
    owned->shards[index]->lease_ticket = ++owned->lease_tickets;
    put_news(owned, OWNED_RELEASE, index);
}

bool owned_lease_is(const struct owned_shards *owned, int64_t index, enum owned_state state,
                    uint32_t ticket)
{
    return owned->state[index] == state && owned->shards[index]->lease_ticket == ticket;
}

void owned_leases_extended(struct owned_shards *owned, uint64_t until)
{
    if (until > owned->lease_until)
        owned->lease_until = until;
}

uint64_t owned_deadline(const struct owned_shards *owned)
{
    uint64_t deadline = timers_deadline(&owned->timers);
    return owned->leased && owned->lease_until < deadline ? owned->lease_until : deadline;
}
