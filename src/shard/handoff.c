/* Implements hand-offs; docs/protocol/shard.md has the order of messages. */
#include "shard/handoff.h"

#include "base/bound.h"
#include "base/limits.h"
#include "base/mark.h"
#include "shard/home_log.h"
#include "shard/shard_id.h"
#include "shard/strategy.h"

#define DRAINS_MAX 16u             /* hand-offs at a time from a region that is drained */
#define DRAIN_PAUSE (10 * SECOND)  /* after a hand-off from there has failed */
#define MOVES_WAIT_MAX (300 * SECOND) /* or the time of a hand-off, if longer */

static void probe(const struct coordinator *coordinator,
                  const struct handoff *handoff, enum probe_handoff state)
{
    struct probe probe = { .kind = PROBE_HANDOFF,
                           .type = coordinator->type_index,
                           .shard = INT32_MIN,
                           .fence = handoff->shard->fence,
                           .first = handoff->attempt,
                           .second = state };

    if (!coordinator->probes)
        return;
    (void)shard_number(coordinator->names, handoff->shard->id, &probe.shard);
    probes_put(coordinator->probes, &probe);
}

static void finish(struct coordinator *coordinator, struct handoff *handoff,
                   enum probe_handoff state)
{
    probe(coordinator, handoff, state);
    handoff->shard->handoff = NULL;
    for (uint32_t i = 0; i < coordinator->handoffs.count; i++) {
        if (coordinator->handoffs.items[i] == handoff) {
            vec_remove(&coordinator->handoffs, i);
            break;
        }
    }
    vec_fini(&handoff->remaining);
    vec_fini(&handoff->holding);
    vec_fini(&handoff->uninformed);
    mem_free(handoff);
}

void handoff_cancel(struct coordinator *coordinator, struct shard *shard)
{
    if (!shard->handoff)
        return;
    REACHED("a hand-off is given up: its shard has another owner");
    finish(coordinator, shard->handoff, PROBE_HANDOFF_GIVEN_UP);
}

static void tell_begin(struct coordinator *coordinator,
                       const struct handoff *handoff,
                       const struct registrant *region, struct outbox *outbox)
{
    const struct shard *shard = handoff->shard;

    coordinator_tell(coordinator, region,
                     (struct shard_message){ .kind = SHARD_BEGIN_HAND_OFF,
                                             .shard = shard->id,
                                             .ref = shard->home->ref,
                                             .fence = shard->fence,
                                             .attempt = handoff->attempt },
                     outbox);
}

/* False: no room is left. */
static bool begin_uninformed(struct coordinator *coordinator,
                             struct handoff *handoff, struct outbox *outbox)
{
    while (handoff->informed < handoff->uninformed.count) {
        if (!announce_room(coordinator))
            return false;
        tell_begin(coordinator, handoff,
                   handoff->uninformed.items[handoff->informed++], outbox);
        announce_charge(coordinator, 1);
    }
    handoff->informed = 0;
    vec_empty(&handoff->uninformed, 0);
    return true;
}

void handoff_tell_on(struct coordinator *coordinator, struct outbox *outbox)
{
    for (uint32_t i = 0; i < coordinator->handoffs.count; i++)
        if (!begin_uninformed(coordinator, coordinator->handoffs.items[i], outbox))
            return;
    coordinator->is_beginning = false;
}

bool handoff_start(struct coordinator *coordinator, uint64_t now,
                   struct shard *shard, struct outbox *outbox)
{
    struct handoff *handoff;

    check(shard->home && !shard->handoff);
    if (coordinator->handoffs.count >= COORDINATOR_HANDOFFS_MAX) {
        REACHED("the limit of concurrent hand-offs is reached");
        return false;
    }
    handoff = mem_alloc(sizeof *handoff);
    handoff->shard = shard;
    handoff->began_at = now;
    handoff->attempt = ++coordinator->attempt;
    handoff->state = HANDOFF_BEGINNING;
    handoff->is_only = coordinator->moves_max == 1;
    shard->handoff = handoff;
    vec_push(&coordinator->handoffs, handoff);
    BOUNDED("hand-offs at a time", coordinator->handoffs.count,
            COORDINATOR_HANDOFFS_MAX);
    probe(coordinator, handoff, PROBE_HANDOFF_BEGUN);
    timers_put(&coordinator->timers,
               now + coordinator->settings.handoff_timeout_ms * MS,
               TIMER_HANDOFF, handoff->attempt, 0);
    for (uint32_t i = 0; i < coordinator->regions.count; i++) {
        struct registrant *region = coordinator->regions.items[i];

        if (region->is_terminating || !region->is_registered)
            continue;
        vec_push(&handoff->remaining, region);
        vec_push(&handoff->uninformed, region);
    }
    if (!begin_uninformed(coordinator, handoff, outbox))
        coordinator->is_beginning = true;
    home_log_handing_off(coordinator, handoff);
    return true;
}

static void tell_stop(struct coordinator *coordinator,
                      const struct handoff *handoff, struct outbox *outbox)
{
    struct shard_owing *owing =
        mem_alloc(handoff->holding.count * sizeof *owing);
    uint32_t count = 0;

    for (uint32_t i = 0; i < handoff->holding.count; i++) {
        const struct registrant *region = handoff->holding.items[i];

        if (!region->lanes) /* a JVM owes no marker */
            continue;
        owing[count++] = (struct shard_owing){ region->ref, region->node.uid,
                                               region->lanes };
    }
    coordinator_tell(coordinator, handoff->shard->home,
                     (struct shard_message){ .kind = SHARD_HAND_OFF,
                                             .shard = handoff->shard->id,
                                             .fence = handoff->shard->fence,
                                             .attempt = handoff->attempt,
                                             .owing = owing,
                                             .owing_count = count },
                     outbox);
    mem_free(owing);
}

/* All regions buffer for the shard: the owner stops it when the markers of all lanes are in. */
static void stop_shard(struct coordinator *coordinator,
                       struct handoff *handoff, struct outbox *outbox)
{
    handoff->state = HANDOFF_STOPPING;
    handoff->ticks = 0;
    probe(coordinator, handoff, PROBE_HANDOFF_STOPPING);
    tell_stop(coordinator, handoff, outbox);
}

void handoff_hurry(struct coordinator *coordinator)
{
    for (uint32_t i = 0; i < coordinator->handoffs.count; i++)
        if (coordinator->handoffs.items[i]->ticks > 1)
            coordinator->handoffs.items[i]->ticks = 1;
}

static bool is_uninformed(const struct handoff *handoff,
                          const struct registrant *region)
{
    for (uint32_t i = handoff->informed; i < handoff->uninformed.count; i++)
        if (handoff->uninformed.items[i] == region)
            return true;
    return false;
}

void handoff_greeted(struct coordinator *coordinator, struct registrant *region)
{
    for (uint32_t i = 0; region->lanes && i < coordinator->handoffs.count;
         i++) {
        struct handoff *handoff = coordinator->handoffs.items[i];

        for (uint32_t j = 0; j < handoff->remaining.count; j++) {
            if (handoff->remaining.items[j] != region ||
                is_uninformed(handoff, region))
                continue;
            REACHED("a region is acknowledged after a hand-off has begun");
            vec_push(&handoff->uninformed, region);
            coordinator->is_beginning = true;
            break;
        }
    }
}

/* Only nodes of this library get them. */
static void tell_again(struct coordinator *coordinator,
                       struct handoff *handoff, bool is_holding)
{
    uint32_t count = is_holding ? handoff->holding.count
                                : handoff->remaining.count;

    for (uint32_t i = 0; i < count; i++) {
        struct registrant *region = is_holding ? handoff->holding.items[i]
                                               : handoff->remaining.items[i];

        if (region->lanes)
            vec_push(&handoff->uninformed, region);
    }
    coordinator->is_beginning = true;
}

void handoff_ask_again(struct coordinator *coordinator, struct outbox *outbox)
{
    for (uint32_t i = 0; i < coordinator->handoffs.count; i++) {
        struct handoff *handoff = coordinator->handoffs.items[i];
        uint32_t ticks = ++handoff->ticks;

        if (ticks < 2 || ticks & (ticks - 1) || handoff->uninformed.count)
            continue;
        REACHED("a step of a hand-off is requested again");
        if (handoff->state == HANDOFF_STOPPING &&
            handoff->shard->home->lanes)
            tell_stop(coordinator, handoff, outbox);
        /* The connection may have lost their markers during the stop. */
        tell_again(coordinator, handoff, handoff->state == HANDOFF_STOPPING);
    }
}

/* Slow links or homes may let no hand-off end, and delay other messages. So each failure halves the
 * number that may begin, down to one, and each success doubles it. If one fails alone, the home
 * needs longer than a hand-off may take. Then no move starts for that time, and for twice as long
 * after each further failure. */
static void begin_fewer(struct coordinator *coordinator, uint64_t now,
                        const struct handoff *failed)
{
    uint64_t least = coordinator->settings.handoff_timeout_ms * MS;
    uint64_t longest = least > MOVES_WAIT_MAX ? least : MOVES_WAIT_MAX;
    uint32_t most = coordinator->moves_max ? coordinator->moves_max
                                           : coordinator->handoffs.count;

    coordinator->moves_max = most > 1 ? most / 2 : 1;
    if (!failed->is_only)
        return;
    coordinator->moves_wait =
        coordinator->moves_wait ? 2 * coordinator->moves_wait : least;
    if (coordinator->moves_wait > longest)
        coordinator->moves_wait = longest;
    coordinator->moves_after = now + coordinator->moves_wait;
    coordinator->is_rebalancing = false;
}

void handoff_soon(struct coordinator *coordinator)
{
    coordinator->moves_wait = coordinator->moves_after = 0;
}

static void begin_more(struct coordinator *coordinator)
{
    handoff_soon(coordinator);
    coordinator->moves_max *= 2;
    if (coordinator->moves_max >= COORDINATOR_HANDOFFS_MAX)
        coordinator->moves_max = 0;
}

static void fail(struct coordinator *coordinator, uint64_t now,
                 struct handoff *handoff, const char *reason,
                 size_t reason_size, struct outbox *outbox)
{
    struct shard *shard = handoff->shard;
    char home[ADDRESS_TEXT_MAX];

    coordinator->counters.failed_moves++;
    trace_put(coordinator->trace, TRACE_WARNING, "coordinator",
              "hand-off failed, %s type=%s shard=%.*s home=%s attempt=%llu "
              "missing=%u hint=\"see the home's log; check slow nodes\" reason=\"%.*s\"",
              shard->home->is_terminating
                  ? "its node was removed: the shard gets another home"
                  : "the shard stays at its home and moves later",
              coordinator->type, (int)shard->id.size,
              (const char *)shard->id.data,
              address_text(&shard->home->node.address, home, sizeof home),
              (unsigned long long)handoff->attempt, handoff->remaining.count,
              (int)reason_size, reason);
    if (shard->home->is_terminating) { /* all regions buffer until it is removed */
        finish(coordinator, handoff, PROBE_HANDOFF_GIVEN_UP);
        return;
    }
    shard->home->is_shutting_down = false; /* the region asks again, as in Akka */
    shard->home->drain_at = now + DRAIN_PAUSE;
    begin_fewer(coordinator, now, handoff);
    finish(coordinator, handoff, PROBE_HANDOFF_FAILED);
    shard_host(coordinator, now, shard, outbox);
    shard_announce(coordinator, now, shard, AUDIENCE_ALL, outbox);
}

static void receive_ack(struct coordinator *coordinator,
                        struct handoff *handoff, struct registrant *region,
                        struct outbox *outbox)
{
    for (uint32_t i = 0; i < handoff->remaining.count; i++) {
        if (handoff->remaining.items[i] != region)
            continue;
        vec_remove(&handoff->remaining, i);
        vec_push(&handoff->holding, region);
        if (!handoff->remaining.count)
            stop_shard(coordinator, handoff, outbox);
        return;
    }
    REACHED("a region acknowledged a hand-off twice");
    coordinator->counters.stale++;
}

static void receive_stopped(struct coordinator *coordinator, uint64_t now,
                            struct handoff *handoff, struct registrant *region)
{
    struct shard *shard = handoff->shard;
    uint64_t began_at = handoff->began_at;

    if (region != shard->home || handoff->state != HANDOFF_STOPPING) {
        REACHED("a shard stopped before the request to stop");
        coordinator->counters.stale++;
        return;
    }
    coordinator->counters.moves++;
    finish(coordinator, handoff, PROBE_HANDOFF_MOVED);
    begin_more(coordinator);
    shard_unlink(coordinator, shard, PROBE_HOME_STOPPED);
    home_log_handed_off(shard, now - began_at);
    shard->is_pushed = true;
    shard_needs_home(coordinator, shard); /* gets a home at once, even without traffic */
}

void handoff_receive(struct coordinator *coordinator, uint64_t now,
                     const struct inbound *inbound,
                     const struct shard_message *message,
                     struct outbox *outbox)
{
    struct shard *shard = shard_find(coordinator, message->shard);
    struct registrant *region =
        registrant_of(coordinator, &inbound->from, inbound->sender);
    struct handoff *handoff = shard ? shard->handoff : NULL;

    if (!region) {
        coordinator->counters.stranger++;
        return;
    }
    /* A JVM repeats neither fence nor attempt. */
    if (!handoff ||
        (region->lanes && (message->attempt != handoff->attempt ||
                           fence_compare(message->fence, shard->fence)))) {
        SOMETIMES("a shard's end is reported after its hand-off has ended",
                  message->kind == SHARD_HOST_STOPPED);
        SOMETIMES("an answer to an earlier hand-off of the shard",
                  handoff != NULL);
        coordinator->counters.stale++;
        return;
    }
    if (message->kind == SHARD_BEGIN_HAND_OFF_ACK)
        receive_ack(coordinator, handoff, region, outbox);
    else if (message->kind == SHARD_HOST_STOPPED)
        receive_stopped(coordinator, now, handoff, region);
    else if (region == shard->home)
        fail(coordinator, now, handoff, (const char *)message->reason.data,
             message->reason.size > 200 ? 200 : message->reason.size, outbox);
    else
        coordinator->counters.stale++;
}

void handoff_timeout(struct coordinator *coordinator, uint64_t now,
                     uint64_t attempt, struct outbox *outbox)
{
    for (uint32_t i = 0; i < coordinator->handoffs.count; i++) {
        struct handoff *handoff = coordinator->handoffs.items[i];

        if (handoff->attempt != attempt)
            continue;
        REACHED("a hand-off timed out");
        SOMETIMES("a hand-off timed out while its shard was stopping",
                  handoff->state == HANDOFF_STOPPING);
        fail(coordinator, now, handoff, "time-out", 8, outbox);
        return;
    }
}

void handoff_home_gone(struct coordinator *coordinator,
                       const struct registrant *region)
{
    for (uint32_t i = coordinator->handoffs.count; i-- > 0;) {
        struct handoff *handoff = coordinator->handoffs.items[i];

        if (handoff->shard->home != region)
            continue;
        REACHED("the owner is lost during the hand-off of its shard");
        finish(coordinator, handoff, PROBE_HANDOFF_GIVEN_UP);
    }
}

void handoff_region_gone(struct coordinator *coordinator, uint64_t now,
                         const struct registrant *region, struct outbox *outbox)
{
    (void)now;
    handoff_home_gone(coordinator, region);
    for (uint32_t i = coordinator->handoffs.count; i-- > 0;) {
        struct handoff *handoff = coordinator->handoffs.items[i];
        bool was_missing = false;

        for (uint32_t j = handoff->remaining.count; j-- > 0;) {
            if (handoff->remaining.items[j] == region) {
                vec_remove(&handoff->remaining, j);
                was_missing = true;
            }
        }
        for (uint32_t j = handoff->holding.count; j-- > 0;)
            if (handoff->holding.items[j] == region)
                vec_remove(&handoff->holding, j);
        for (uint32_t j = handoff->uninformed.count; j-- > 0;) {
            if (handoff->uninformed.items[j] != region)
                continue;
            vec_remove(&handoff->uninformed, j);
            handoff->informed -= j < handoff->informed;
        }
        SOMETIMES("a hand-off waits for a region that is lost", was_missing);
        if (was_missing && !handoff->remaining.count)
            stop_shard(coordinator, handoff, outbox);
    }
}

static bool has_taker(const struct coordinator *coordinator)
{
    for (uint32_t i = 0; i < coordinator->regions.count; i++)
        if (strategy_takes(coordinator->regions.items[i]))
            return true;
    return false;
}

/* A drain begins few hand-offs at a time, and fewer after failures. */
static bool may_drain(const struct coordinator *coordinator,
                      const struct registrant *region)
{
    uint32_t most = coordinator->moves_max && coordinator->moves_max < DRAINS_MAX
                        ? coordinator->moves_max
                        : DRAINS_MAX;
    uint32_t open = 0;

    for (uint32_t i = 0; i < coordinator->handoffs.count; i++)
        open += coordinator->handoffs.items[i]->shard->home == region;
    return open < most && !coordinator->is_cluster_stopping && !coordinator->is_stopping;
}

void handoff_fill(struct coordinator *coordinator, uint64_t now,
                  struct outbox *outbox)
{
    bool any = false;
    bool has_takers = has_taker(coordinator);

    coordinator->is_filling = false;
    for (uint32_t i = 0; coordinator->may_fill && i < coordinator->regions.count; i++) {
        struct registrant *region = coordinator->regions.items[i];

        if (region->is_terminating ||
            (!region->is_shutting_down && region->cordon != CORDON_DRAINING))
            continue;
        any = true;
        if (!region->is_shutting_down && (!has_takers || now < region->drain_at))
            continue;
        for (uint32_t j = 0; j < region->shards.count; j++) {
            struct shard *shard = region->shards.items[j];

            /* Else its waiting messages would never be read, and it would return here endlessly. */
            if (shard->handoff || (shard->is_last_resort && !shard->is_started) ||
                !is_kept(coordinator, shard->version))
                continue;
            if (!region->is_shutting_down &&
                (!region->is_registered || !may_drain(coordinator, region)))
                break;
            if (!announce_room(coordinator)) {
                REACHED("more hand-offs are due than one step begins");
                coordinator->is_filling =
                    coordinator->handoffs.count < COORDINATOR_HANDOFFS_MAX;
                return;
            }
            if (!handoff_start(coordinator, now, shard, outbox))
                return;
        }
    }
    coordinator->may_fill = any;
}

struct coordinator_moves coordinator_moves(const struct coordinator *coordinator)
{
    struct coordinator_moves moves = { 0, 0 };

    for (uint32_t i = 0; i < coordinator->handoffs.count; i++) {
        if (coordinator->handoffs.items[i]->state == HANDOFF_BEGINNING)
            moves.beginning++;
        else
            moves.stopping++;
    }
    return moves;
}
