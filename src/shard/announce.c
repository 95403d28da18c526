/* Paces the coordinator's announcements: no step sends more messages than it may.
 *
 * A lost node or a stored change may be news of all shards for all regions, which would block the
 * node in one step. So the rest waits here, and the coordinator is due again at once. A shard's
 * home gets its order before others learn it, and a region is welcomed before it gets homes. A
 * shard that changes meanwhile waits for its write. */
#include "base/mark.h"
#include "shard/coordinator_state.h"
#include "shard/handoff.h"

#define READY_KEPT 64 /* capacity that is kept when the list is empty */
#define HOMES_A_MESSAGE 16 /* homes in a list that cost one message */
#define REGIONS_A_MESSAGE 256 /* regions that cost one message to search */
#define HOST_DOUBLINGS 16
#define HOST_PAUSE_MS 10000 /* longest pause between HostShards, Akka's own */

/* A home with a thousand shards to start is not faster when asked again. */
static uint64_t host_wait_ms(const struct coordinator *coordinator,
                             const struct shard *shard)
{
    uint64_t first = coordinator->settings.shard_start_timeout_ms;
    uint64_t wait = first << (shard->unanswered < HOST_DOUBLINGS
                                  ? shard->unanswered
                                  : HOST_DOUBLINGS);

    if (wait <= HOST_PAUSE_MS)
        return wait;
    return first > HOST_PAUSE_MS ? first : HOST_PAUSE_MS;
}

static void host(struct coordinator *coordinator, uint64_t now,
                 struct shard *shard, struct outbox *outbox)
{
    shard->is_host_due = false;
    shard_probe(coordinator, PROBE_HOME_TOLD, shard, PROBE_HOME_ALLOCATED);
    timers_put(&coordinator->timers,
               now + host_wait_ms(coordinator, shard) * MS,
               TIMER_HOST, shard->index, shard->generation);
    announce_charge(coordinator, 1);
    coordinator_tell(coordinator, shard->home,
                     (struct shard_message){ .kind = SHARD_HOST,
                                             .shard = shard->id,
                                             .fence = shard->fence },
                     outbox);
}

/* Continues with the first region that was not told. False: no room is left. */
static bool announce(struct coordinator *coordinator, struct shard *shard,
                     struct outbox *outbox)
{
    uint64_t mark = ++coordinator->mark;

    if (!shard->announced_to) /* once for each announcement */
        shard_probe(coordinator, PROBE_HOME_TOLD, shard, PROBE_HOME_ALLOCATED);
    for (uint32_t i = 0; i < shard->waiting.count; i++)
        shard->waiting.items[i]->mark = mark;
    for (uint32_t i = 0; i < coordinator->regions.count; i++) {
        struct registrant *region = coordinator->regions.items[i];
        bool is_told =
            shard->audience == AUDIENCE_ALL || region->mark == mark ||
            (shard->audience == AUDIENCE_UNSURE && region->has_old_homes);

        if (region->number <= shard->announced_to || region->is_terminating ||
            !is_told)
            continue;
        if (!coordinator->announcements.room->tells)
            return false;
        shard->announced_to = region->number;
        announce_home(coordinator, shard, region, outbox);
    }
    shard->is_announced = false;
    shard->waiting.count = 0;
    return true;
}

static void order(struct coordinator *coordinator, uint64_t now,
                  struct shard *shard, struct outbox *outbox)
{
    shard->is_started = false;
    shard->generation++;
    if (is_kept(coordinator, shard->version) && announce_room(coordinator)) {
        host(coordinator, now, shard, outbox);
        return;
    }
    shard->is_host_due = true;
    announce_wait(coordinator, shard);
}

void shard_host(struct coordinator *coordinator, uint64_t now,
                struct shard *shard, struct outbox *outbox)
{
    shard->unanswered = 0;
    order(coordinator, now, shard, outbox);
}

void shard_host_again(struct coordinator *coordinator, uint64_t now,
                      struct shard *shard, struct outbox *outbox)
{
    shard->unanswered++;
    order(coordinator, now, shard, outbox);
}

/* ---- waiting announcements ---- */

static void greet(struct coordinator *coordinator, struct registrant *region,
                  struct outbox *outbox)
{
    uint32_t homes;

    region->is_welcome_due = false;
    homes = registration_greet(coordinator, region, outbox);
    handoff_greeted(coordinator, region);
    announce_charge(coordinator,
                   1 + homes / HOMES_A_MESSAGE +
                       coordinator->regions.count / REGIONS_A_MESSAGE);
}

/* False: no room is left. */
static bool welcome_due(struct coordinator *coordinator, struct outbox *outbox)
{
    struct home_announcements *announcements = &coordinator->announcements;

    for (uint32_t i = 0; i < coordinator->regions.count; i++) {
        struct registrant *region = coordinator->regions.items[i];

        if (!region->is_welcome_due || !is_kept(coordinator, region->version))
            continue;
        if (!announcements->room->tells)
            return false;
        greet(coordinator, region, outbox);
    }
    announcements->has_welcomes = false;
    return true;
}

void announce_welcome(struct coordinator *coordinator,
                     struct registrant *region, struct outbox *outbox)
{
    bool is_stored = is_kept(coordinator, region->version);

    if (is_stored && announce_room(coordinator)) {
        greet(coordinator, region, outbox);
        return;
    }
    region->is_welcome_due = true;
    coordinator->announcements.has_welcomes |= is_stored;
}

static bool tell_one(struct coordinator *coordinator, uint64_t now,
                     struct shard *shard, struct outbox *outbox)
{
    if (!shard->home || shard->home->is_terminating) {
        shard->is_due = shard->is_host_due = shard->is_announced = false;
        return true;
    }
    if (!is_kept(coordinator, shard->version)) {
        REACHED("a shard changes while its home is announced");
        shard->is_due = false;
        announce_wait(coordinator, shard);
        return true;
    }
    if (shard->is_host_due)
        host(coordinator, now, shard, outbox);
    if (shard->is_announced && !announce(coordinator, shard, outbox))
        return false;
    shard->is_due = false;
    return true;
}

static void tell_ready(struct coordinator *coordinator, uint64_t now,
                       struct outbox *outbox)
{
    struct home_announcements *announcements = &coordinator->announcements;

    if (announcements->has_welcomes && coordinator->is_active &&
        !welcome_due(coordinator, outbox))
        return;
    while (announcements->head < announcements->ready.count &&
           announcements->room->tells) {
        if (!tell_one(coordinator, now, announcements->ready.items[announcements->head],
                      outbox))
            return;
        announcements->head++;
    }
    if (announcements->head < announcements->ready.count)
        return;
    announcements->head = 0;
    vec_empty(&announcements->ready, READY_KEPT);
}

void shard_announce(struct coordinator *coordinator, uint64_t now,
                    struct shard *shard, enum audience audience,
                    struct outbox *outbox)
{
    bool is_now = is_kept(coordinator, shard->version) && !shard->is_due &&
                  announce_room(coordinator);

    announce_later(coordinator, shard, audience);
    if (is_now)
        tell_ready(coordinator, now, outbox);
}

void announce_stored(struct coordinator *coordinator, uint64_t now,
                    struct outbox *outbox)
{
    struct home_announcements *announcements = &coordinator->announcements;
    uint32_t left = 0;

    for (uint32_t i = 0; i < announcements->unstored.count; i++) {
        struct shard *shard = announcements->unstored.items[i];

        if (is_kept(coordinator, shard->version))
            vec_push(&announcements->ready, shard);
        else
            announcements->unstored.items[left++] = shard;
    }
    announcements->unstored.count = left;
    announcements->has_welcomes = true;
    tell_ready(coordinator, now, outbox);
    SOMETIMES("homes of one stored write are announced in several steps",
              announce_waits(coordinator));
}

void announce_step(struct coordinator *coordinator, uint64_t now,
                  struct outbox *outbox)
{
    coordinator_room_fill(&coordinator->announcements.own);
    if (announce_waits(coordinator))
        tell_ready(coordinator, now, outbox);
}

bool coordinator_is_busy(const struct coordinator *coordinator)
{
    return !coordinator->is_stopped &&
           (announce_waits(coordinator) || coordinator->state_store.pack_steps ||
            (coordinator->is_active && !coordinator->is_ending &&
             (coordinator->is_placing || coordinator->is_filling ||
             coordinator->is_beginning || coordinator->has_questions ||
              coordinator->is_rebalancing ||
              coordinator->moves_head < coordinator->moves.count)));
}
