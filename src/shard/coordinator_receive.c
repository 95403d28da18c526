/* Passes each message for the coordinator to the function that answers it. */
#include "base/mark.h"
#include "shard/coordinator.h"
#include "shard/coordinator_state.h"
#include "shard/handoff.h"

static struct registrant *registrant_in(struct coordinator *coordinator,
                                const struct inbound *inbound,
                                const struct shard_message *message)
{
    struct registrant *region = NULL;
    struct address address;
    struct slice path;

    if (ref_parse(coordinator->identity, message->ref, &address, &path) &&
        address_equal(&address, &inbound->from.address))
        region = registrant_of(coordinator, &inbound->from, path);
    if (!region)
        coordinator->counters.stranger++;
    return region;
}

static void receive_started(struct coordinator *coordinator,
                            const struct inbound *inbound,
                            const struct shard_message *message)
{
    struct shard *shard = shard_find(coordinator, message->shard);
    struct registrant *region =
        registrant_of(coordinator, &inbound->from, inbound->sender);

    if (!shard || !region || shard->home != region ||
        (region->lanes && fence_compare(message->fence, shard->fence))) {
        REACHED("a former home reports a shard's start");
        coordinator->counters.stale++;
        return;
    }
    shard->is_started = true;
    shard->is_refused = false;
    shard->refusals = 0;
    shard->generation++;
}

static void receive_no_region(struct coordinator *coordinator,
                              const struct inbound *inbound,
                              const struct shard_message *message,
                              uint64_t now, struct outbox *outbox)
{
    struct coordinator_member *member = coordinator_member_of(coordinator, &inbound->from);

    if (!member || !slice_is(message->type, coordinator->type)) {
        coordinator->counters.stranger++;
        return;
    }
    member->has_answered = true;
    for (uint32_t i = coordinator->regions.count; i-- > 0;) {
        struct registrant *region = coordinator->regions.items[i];

        if (region->is_registered || region->is_proxy ||
            !node_equal(&region->node, &inbound->from))
            continue;
        REACHED("a stored region no longer exists");
        registrant_remove(coordinator, now, region, PROBE_HOME_REGION_RENEWED, outbox);
    }
}

static void receive_shutdown(struct coordinator *coordinator,
                             const struct inbound *inbound,
                             const struct shard_message *message,
                             struct outbox *outbox)
{
    struct registrant *region = registrant_in(coordinator, inbound, message);

    if (!region || region->is_proxy)
        return;
    /* An order on its way would cross the region's stop. */
    SOMETIMES("a leaving region asks to stop while a shard moves to it",
              message->idle && region->shards.count);
    region->is_dismissed = message->idle && coordinator->term &&
                           is_kept(coordinator, coordinator->term_version) &&
                           !region->shards.count;
    if (region->is_dismissed)
        coordinator_tell(coordinator, region,
                         (struct shard_message){
                             .kind = SHARD_DISMISSED,
                             .fence = { coordinator->term, 0 },
                             .idle = message->idle },
                         outbox);
    if (region->is_shutting_down)
        return;
    region->is_shutting_down = true; /* settling starts the hand-offs */
    coordinator->may_fill = true;
    trace_put(coordinator->trace, TRACE_INFO, "coordinator",
              "region shuts down, its shards are handed off type=%s "
              "region=%.*s shards=%u",
              coordinator->type, (int)region->ref.size, region->ref.data,
              region->shards.count);
}

static void answer_regions(struct coordinator *coordinator,
                           const struct inbound *inbound,
                           struct outbox *outbox)
{
    struct address *addresses =
        mem_alloc(coordinator->regions.count * sizeof *addresses);
    struct shard_message message = { .kind = SHARD_CURRENT_REGIONS,
                                     .addresses = addresses };

    for (uint32_t i = 0; i < coordinator->regions.count; i++)
        if (!coordinator->regions.items[i]->is_proxy)
            addresses[message.address_count++] =
                coordinator->regions.items[i]->node.address;
    shard_message_send(outbox, &inbound->from, inbound->sender,
                       buf_slice(&coordinator->path), &message,
                       coordinator->identity);
    mem_free(addresses);
}

static void dispatch(struct coordinator *coordinator, uint64_t now,
                     const struct inbound *inbound,
                     const struct shard_message *message,
                     struct outbox *outbox)
{
    struct registrant *region;

    switch (message->kind) {
    case SHARD_REGISTER:
    case SHARD_REGISTER_PROXY:
        registration_receive(coordinator, now, inbound, message, outbox);
        break;
    case SHARD_GET_HOME:
        shard_homes_receive(coordinator, now, inbound, message, outbox);
        break;
    case SHARD_HOST_STARTED:
        receive_started(coordinator, inbound, message);
        break;
    case SHARD_BEGIN_HAND_OFF_ACK:
    case SHARD_HOST_STOPPED:
    case SHARD_HAND_OFF_FAILED:
        handoff_receive(coordinator, now, inbound, message, outbox);
        break;
    case SHARD_GRACEFUL_SHUTDOWN:
        receive_shutdown(coordinator, inbound, message, outbox);
        break;
    case SHARD_REGION_STOPPED:
        region = registrant_in(coordinator, inbound, message);
        if (region)
            registrant_stopped(coordinator, now, region, outbox);
        break;
    case SHARD_NO_REGION:
        receive_no_region(coordinator, inbound, message, now, outbox);
        break;
    case SHARD_GET_CURRENT_REGIONS:
        if (inbound->sender.size)
            answer_regions(coordinator, inbound, outbox);
        break;
    case SHARD_GET_CLUSTER_STATS:
        cluster_stats_ask(coordinator, now, inbound, message, outbox);
        break;
    case SHARD_REGION_STATS:
        cluster_stats_answer(coordinator, inbound, message, outbox);
        break;
    default: /* messages from coordinators or between regions */
        coordinator->counters.unknown++;
        break;
    }
}

void coordinator_receive(struct coordinator *coordinator, uint64_t now,
                         const struct inbound *inbound, struct outbox *outbox)
{
    struct shard_message message;

    if (coordinator->is_stopped)
        return;
    if (!shard_message_read(&message, inbound->serializer, inbound->manifest,
                            inbound->payload)) {
        coordinator->counters.malformed++;
        return;
    }
    dispatch(coordinator, now, inbound, &message, outbox);
    shard_message_fini(&message);
    coordinator_settle(coordinator, now, outbox);
}
