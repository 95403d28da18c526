/* Answers a registration with the coordinator's acknowledgement and the known homes. */
#include "base/limits.h"
#include "shard/coordinator_state.h"
#include "shard/strategy.h"

uint32_t registration_send_homes(struct coordinator *coordinator,
                                 struct registrant *to,
                                 const struct registrant *only,
                                 struct outbox *outbox)
{
    struct shard_home *homes = mem_alloc(SHARD_HOMES_MAX * sizeof *homes);
    struct shard_message list = { .kind = SHARD_HOMES, .homes = homes };
    uint32_t messages = 0, homes_sent = 0;

    for (uint32_t i = 0; i < coordinator->regions.count; i++) {
        const struct registrant *home = coordinator->regions.items[i];

        if (home->is_terminating || (only && only != home))
            continue;
        for (uint32_t j = 0; j < home->shards.count; j++) {
            struct shard *shard = home->shards.items[j];

            if (shard->handoff)
                continue;
            if (!shard_is_tellable(coordinator, shard)) {
                if (home != to)
                    shard_tell_home(coordinator, shard, to, outbox);
                continue;
            }
            if (messages == SHARD_HOMES_MESSAGES_MAX) {
                coordinator->counters.homes_left++;
                continue;
            }
            homes[list.home_count++] = (struct shard_home){
                home->ref, shard->id, shard->fence
            };
            homes_sent++;
            if (list.home_count < SHARD_HOMES_MAX)
                continue;
            coordinator_tell(coordinator, to, list, outbox);
            list.home_count = 0;
            messages++;
        }
    }
    if (list.home_count)
        coordinator_tell(coordinator, to, list, outbox);
    mem_free(homes);
    return homes_sent;
}

/* False also while the coordinator does not know all regions. */
static bool is_alone(const struct coordinator *coordinator,
                     const struct registrant *region)
{
    bool is_alone = coordinator->has_opened;

    for (uint32_t i = 0; i < coordinator->regions.count; i++)
        is_alone &= coordinator->regions.items[i] == region ||
                    !strategy_takes(coordinator->regions.items[i]);
    return is_alone;
}

void registration_acknowledge(struct coordinator *coordinator,
                              const struct registrant *region,
                              struct outbox *outbox)
{
    struct shard_message ack = { .kind = SHARD_REGISTER_ACK,
                                 .fence = { coordinator->term, 0 },
                                 .proof = { coordinator->term,
                                            coordinator->proof },
                                 .cordon = region->cordon,
                                 .is_alone = is_alone(coordinator, region) };
    struct buf ref = { 0 };

    ref_put(&ref, coordinator->identity, &coordinator->identity->node.address,
            buf_slice(&coordinator->path));
    ack.ref = buf_slice(&ref);
    coordinator_tell(coordinator, region, ack, outbox);
    buf_fini(&ref);
}

uint32_t registration_greet(struct coordinator *coordinator,
                            struct registrant *region, struct outbox *outbox)
{
    /* Akka sends the homes first to a new region. A region of this library forgets older fences at
     * the acknowledgement. */
    bool is_ack_first = region->is_known || region->lanes;
    uint32_t homes;

    if (is_ack_first)
        registration_acknowledge(coordinator, region, outbox);
    homes = registration_send_homes(coordinator, region, NULL, outbox);
    if (!is_ack_first)
        registration_acknowledge(coordinator, region, outbox);
    return homes;
}
