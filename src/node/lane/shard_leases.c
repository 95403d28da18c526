/* Carries requests for leases of a lane's shards to control, and the answers to the shards; passes those
 * of singletons to their keepers. */
#include "node/lane/lane.h"

#include "base/check.h"

void lane_lease_ask(struct lane *lane, uint32_t type, const struct owned_news *news)
{
    struct mail_content content =
        mail_for_shard(type, news->shard,
                       MAIL(lease, .ticket = news->ticket,
                            .is_given_up = news->kind == OWNED_RELEASE));

    content = mail_from(lane->own, content);
    outputs_post(&lane->machine->outputs, 0, &content);
}

/* Another node has the lease as long as it lives, so this is normal after a crash. */
static void denied(struct lane *lane, const struct mail_content *content)
{
    const struct mail_leased *leased = mail_leased_of(content);
    char text[SHARD_TEXT_MAX];

    trace_put(lane->machine->trace, TRACE_WARNING, "lease",
              "lease of a shard not acquired, tried again type=%s shard=%s reason=\"%s\" "
              "hint=\"%s\"",
              lane->machine->node->names[content->type].name,
              shard_label(lane_shard_names(lane, content->type), content->shard, text),
              leased->is_unknown ? "the lease provider does not answer" : "another node has it",
              leased->is_unknown ? "check the lease provider and the network to it"
                                 : "normal after a crash, until the lease expires");
    owned_lease_denied(&lane->types[content->type].owned, lane->machine->now, content->shard,
                       leased->ticket);
}

static void about_all(struct lane *lane, const struct mail_leased *leased)
{
    for (uint32_t i = 0; i < lane->type_count; i++) {
        if (lane->machine->node->names[i].lease != leased->provider)
            continue;
        if (leased->kind == LEASE_GROUP_EXTENDED)
            owned_leases_extended(&lane->types[i].owned, leased->until);
        else
            owned_leases_lost(&lane->types[i].owned, lane->machine->now);
    }
    if (leased->kind == LEASE_GROUP_EXTENDED)
        actors_leases_extended(lane->actors, leased->provider, leased->until);
    else
        actors_leases_lost(lane->actors, leased->provider);
    lane->has_lost |= leased->kind == LEASE_GROUP_LOST;
}

void lane_leased(struct lane *lane, const struct mail_content *content)
{
    const struct mail_leased *leased = mail_leased_of(content);
    uint64_t now = lane->machine->now;

    switch (leased->kind) {
    case LEASE_GROUP_GRANTED:
        if (leased->until < lane->lease_end)
            lane->lease_end = leased->until;
        if (leased->actor) {
            lane->leases = true;
            actors_lease_granted(lane->actors, leased->actor, leased->provider, leased->until);
            break;
        }
        owned_leased(&lane->types[content->type].owned, now, content->shard, leased->ticket,
                     leased->until);
        break;
    case LEASE_GROUP_DENIED:
        denied(lane, content);
        break;
    case LEASE_GROUP_RELEASED:
        owned_released(&lane->types[content->type].owned, now, content->shard, leased->ticket);
        break;
    case LEASE_GROUP_EXTENDED:
    case LEASE_GROUP_LOST:
        about_all(lane, leased);
        break;
    }
}

/* No message of an actor here goes straight to an entity of a lost shard any more: it would start. */
static void close_lost(struct lane *lane, uint32_t type)
{
    enum owned_state state;
    uint32_t at = 0;
    int32_t shard;

    while (owned_next(&lane->types[type].owned, &at, &shard, &state))
        if (state == OWNED_FENCED_STOPPING)
            lane_open(lane, type, shard);
}

/* All lost shards are closed before the first one ends, because their ends deliver messages. */
static void tick_all(struct lane *lane)
{
    uint64_t now = lane->machine->now;

    for (uint32_t i = 0; i < lane->type_count; i++) {
        struct owned_shards *owned = &lane->types[i].owned;
        uint64_t lost = owned->counters.leases_lost;

        if (owned->leases && owned_deadline(owned) <= now)
            owned_tick(owned, now);
        lane->has_lost |= owned->counters.leases_lost != lost;
    }
    for (uint32_t i = 0; lane->has_lost && i < lane->type_count; i++)
        if (lane->types[i].owned.leases)
            close_lost(lane, i);
    lane->has_lost = false;
}

void lane_leases_look(struct lane *lane)
{
    if (!lane->ended && lane->lease_end <= lane->machine->now)
        tick_all(lane);
}

void lane_leases_step(struct lane *lane)
{
    uint64_t end;

    tick_all(lane);
    end = actors_leases_look(lane->actors, lane->machine->now);
    for (uint32_t i = 0; i < lane->type_count; i++) {
        struct owned_shards *owned = &lane->types[i].owned;

        if (!owned->leases)
            continue;
        lane_wire_owned(lane, i);
        if (owned->leased && owned->lease_until < end)
            end = owned->lease_until;
    }
    lane->lease_end = end;
    actors_set_end_of_leases(lane->actors, end);
}
