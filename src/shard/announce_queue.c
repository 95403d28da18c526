/* Queues a coordinator's announcements until they are stored and a step has room for them. */
#include "base/limits.h"
#include "shard/coordinator_state.h"

void coordinator_room_fill(struct coordinator_room *room)
{
    *room = (struct coordinator_room){ COORDINATOR_TELLS_MAX,
                                       COORDINATOR_PLACES_MAX,
                                       COORDINATOR_PACKS_MAX,
                                       COORDINATOR_VIEWS_MAX };
}

void announce_fini(struct home_announcements *announcements)
{
    vec_fini(&announcements->unstored);
    vec_fini(&announcements->ready);
}

bool announce_waits(const struct coordinator *coordinator)
{
    const struct home_announcements *announcements = &coordinator->announcements;

    return announcements->head < announcements->ready.count ||
           (announcements->has_welcomes && coordinator->is_active);
}

uint32_t announce_room(const struct coordinator *coordinator)
{
    return announce_waits(coordinator) ? 0 : coordinator->announcements.room->tells;
}

void announce_charge(struct coordinator *coordinator, uint32_t messages)
{
    uint32_t *room = &coordinator->announcements.room->tells;

    *room = *room > messages ? *room - messages : 0;
}

void announce_wait(struct coordinator *coordinator, struct shard *shard)
{
    struct home_announcements *announcements = &coordinator->announcements;

    if (shard->is_due)
        return;
    shard->is_due = true;
    if (is_kept(coordinator, shard->version))
        vec_push(&announcements->ready, shard);
    else
        vec_push(&announcements->unstored, shard);
}

void announce_later(struct coordinator *coordinator, struct shard *shard,
                    enum audience audience)
{
    if (!shard->is_announced || shard->audience < audience)
        shard->audience = audience;
    shard->is_announced = true;
    shard->announced_to = 0;
    announce_wait(coordinator, shard);
}

bool shard_is_tellable(const struct coordinator *coordinator,
                       const struct shard *shard)
{
    return is_kept(coordinator, shard->version) && !shard->is_host_due;
}

void announce_home(struct coordinator *coordinator, const struct shard *shard,
                   const struct registrant *region, struct outbox *outbox)
{
    announce_charge(coordinator, 1);
    coordinator_tell(coordinator, region,
                     (struct shard_message){ .kind = SHARD_HOME,
                                             .shard = shard->id,
                                             .ref = shard->home->ref,
                                             .fence = shard->fence },
                     outbox);
}

void shard_tell_home(struct coordinator *coordinator, struct shard *shard,
                     struct registrant *region, struct outbox *outbox)
{
    if (!shard_is_tellable(coordinator, shard)) {
        shard_wait(shard, region);
        announce_later(coordinator, shard, AUDIENCE_ASKED);
        return;
    }
    shard_probe(coordinator, PROBE_HOME_TOLD, shard, PROBE_HOME_ALLOCATED);
    announce_home(coordinator, shard, region, outbox);
}
