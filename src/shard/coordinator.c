/* Implements the coordinator's interface: creation and end, members, timers. */
#include "shard/coordinator.h"

#include <stdio.h>

#include "base/limits.h"
#include "base/mark.h"
#include "base/rng.h"
#include "shard/coordinator_state.h"
#include "shard/handoff.h"
#include "shard/home_log.h"
#include "shard/operations.h"
#include "shard/shard_id.h"
#include "shard/strategy.h"

#define PROXIES_TIME (2 * SECOND) /* for stored proxies to register before the first hand-off */

/* hand-offs of one term, a million, stay below the next term's numbers */
#define ATTEMPTS_OF_TERM_BITS 20

#define LAST_ANSWERS (3 * SECOND)

static void fill_in_defaults(struct coordinator_settings *settings)
{
    if (!settings->handoff_timeout_ms)
        settings->handoff_timeout_ms = 60000;
    if (!settings->shard_start_timeout_ms)
        settings->shard_start_timeout_ms = 10000;
    if (!settings->rebalance_interval_ms)
        settings->rebalance_interval_ms = 10000;
    if (!settings->waiting_for_state_timeout_ms)
        settings->waiting_for_state_timeout_ms = 2000;
    if (!settings->updating_state_timeout_ms)
        settings->updating_state_timeout_ms = 5000;
    if (!settings->failure_backoff_ms)
        settings->failure_backoff_ms = 5000;
    if (!settings->query_interval_ms)
        settings->query_interval_ms = 1000;
    if (settings->relative_limit == 0)
        settings->relative_limit = 0.1;
    if (!settings->threshold)
        settings->threshold = 1;
    if (!settings->simultaneous_max)
        settings->simultaneous_max = 3;
    if (!settings->min_members)
        settings->min_members = 1;
}

struct coordinator *coordinator_new(const struct coordinator_options *options,
                                    uint64_t now)
{
    struct coordinator *coordinator = mem_alloc(sizeof *coordinator);
    struct rng rng;
    char uid[16];

    coordinator->identity = options->identity;
    coordinator->trace = options->trace;
    coordinator->probes = options->probes;
    coordinator->type_index = options->type_index;
    coordinator->names = options->names;
    coordinator->settings = options->settings;
    fill_in_defaults(&coordinator->settings);
    coordinator->strategy.custom = options->strategy;
    coordinator->strategy.describe = options->describe;
    coordinator->strategy.user = options->user;
    coordinator->strategy.number = options->requests;
    coordinator->type = mem_text(options->type);
    rng_init(&rng, options->seed);
    (void)snprintf(uid, sizeof uid, "#%u", (unsigned)(1 + rng_below(&rng, INT32_MAX)));
    guardian_path_put(&coordinator->guardian, options->guardian);
    coordinator_path_put(&coordinator->path, options->guardian, coordinator->type);
    buf_put_text(&coordinator->path, uid);
    timers_put(&coordinator->timers,
               now + coordinator->settings.rebalance_interval_ms * MS,
               TIMER_REBALANCE, 0, 0);
    timers_put(&coordinator->timers,
               now + coordinator->settings.query_interval_ms * MS, TIMER_QUERY,
               0, 0);
    state_store_init(coordinator);
    coordinator->announcements.room =
        options->room ? options->room : &coordinator->announcements.own;
    coordinator_room_fill(&coordinator->announcements.own);
    coordinator_probe(coordinator, PROBE_COORDINATOR_STARTED);
    return coordinator;
}

void coordinator_free(struct coordinator *coordinator)
{
    if (!coordinator)
        return;
    while (coordinator->handoffs.count)
        handoff_cancel(coordinator, coordinator->handoffs.items[0]->shard);
    strategy_fini(coordinator);
    operations_drop(coordinator);
    for (uint32_t i = 0; i < coordinator->queries.count; i++)
        cluster_stats_drop(coordinator->queries.items[i]);
    for (uint32_t i = 0; i < coordinator->members.count; i++)
        coordinator_member_drop(coordinator->members.items[i]);
    for (uint32_t i = 0; i < coordinator->regions.count; i++)
        registrant_drop(coordinator->regions.items[i]);
    for (uint32_t i = 0; i < coordinator->shards.count; i++)
        shard_drop(coordinator->shards.items[i]);
    state_store_fini(coordinator);
    home_log_fini(&coordinator->home_log);
    announce_fini(&coordinator->announcements);
    vec_fini(&coordinator->moves);
    vec_fini(&coordinator->queries);
    vec_fini(&coordinator->members);
    map_fini(&coordinator->by_uid);
    vec_fini(&coordinator->regions);
    vec_fini(&coordinator->shards);
    vec_fini(&coordinator->handoffs);
    vec_fini(&coordinator->news);
    map_fini(&coordinator->shard_ids);
    timers_fini(&coordinator->timers);
    buf_fini(&coordinator->path);
    buf_fini(&coordinator->guardian);
    mem_free(coordinator->type);
    mem_free(coordinator);
}

struct slice coordinator_path(const struct coordinator *coordinator)
{
    return buf_slice(&coordinator->path);
}

/* Two regions hold a shard under one fence: raises the home's. */
static void settle_disputes(struct coordinator *coordinator, uint64_t now,
                            struct outbox *outbox)
{
    for (uint32_t i = 0;
         coordinator->disputed && i < coordinator->shards.count; i++) {
        struct shard *shard = coordinator->shards.items[i];

        if (!shard->is_disputed)
            continue;
        shard->is_disputed = false;
        coordinator->disputed--;
        handoff_cancel(coordinator, shard);
        shard_raise(coordinator, shard, shard_next_fence(coordinator, shard));
        coordinator->counters.lost_claims++;
        shard_host(coordinator, now, shard, outbox);
        shard_announce(coordinator, now, shard, AUDIENCE_ALL, outbox);
    }
}

static bool has_orders_out(const struct coordinator *coordinator)
{
    for (uint32_t i = 0; i < coordinator->shards.count; i++) {
        const struct shard *shard = coordinator->shards.items[i];

        if (shard->home && !shard->is_started && !shard->is_refused &&
            !shard->home->is_terminating && shard->home->is_registered)
            return true; /* an unregistered region got no order */
    }
    return false;
}

/* Others already send to an announced home. If its region reported to the next coordinator before
 * HostShard came, the shard would get another home, and those messages none. */
static bool waits_for_answers(struct coordinator *coordinator)
{
    bool hands_over = state_store_hands_over(coordinator);

    if (!coordinator->is_active || !has_orders_out(coordinator))
        return hands_over;
    REACHED("a stopping coordinator has unanswered directives");
    return true;
}

static void end(struct coordinator *coordinator, uint64_t now)
{
    if (announce_waits(coordinator))
        return; /* first sends all that was decided */
    if (waits_for_answers(coordinator)) {
        if (!coordinator->ends_at) {
            coordinator->ends_at = now + LAST_ANSWERS;
            timers_put(&coordinator->timers, coordinator->ends_at, TIMER_END, 0, 0);
        }
        if (now < coordinator->ends_at)
            return;
    }
    coordinator->is_stopped = true;
    home_log_flush(coordinator);
    coordinator_probe(coordinator, PROBE_COORDINATOR_ENDED);
    coordinator_news_put(coordinator, COORDINATOR_NEWS_STOPPED, 0);
}

static void settle(struct coordinator *coordinator, uint64_t now,
                   struct outbox *outbox)
{
    if (coordinator->is_ending && !coordinator->is_stopped)
        end(coordinator, now);
    if (!coordinator->is_active || coordinator->is_ending)
        return;
    if (!coordinator->has_opened && !coordinator_has_to_ask(coordinator) &&
        (now >= coordinator->proxies_until ||
         !coordinator_awaits_proxies(coordinator)))
        coordinator->has_opened = true;
    if (coordinator->has_questions)
        registration_ask_on(coordinator, outbox);
    settle_disputes(coordinator, now, outbox);
    if (coordinator->is_beginning)
        handoff_tell_on(coordinator, outbox);
    shard_homes_place_all(coordinator, now, outbox);
    shard_homes_rebalance_on(coordinator, now);
    shard_homes_move(coordinator, now, outbox);
    if (coordinator->has_opened)
        handoff_fill(coordinator, now, outbox);
    if (coordinator->operations.open.count)
        operations_follow(coordinator, now, outbox);
}

void coordinator_settle(struct coordinator *coordinator, uint64_t now,
                        struct outbox *outbox)
{
    settle(coordinator, now, outbox);
    state_store_settle(coordinator);
}

void coordinator_term(struct coordinator *coordinator, uint64_t now,
                      struct proof proof, struct outbox *outbox)
{
    uint64_t term = proof.term;

    if (coordinator->is_active || coordinator->is_stopped ||
        !coordinator->state_store.is_read)
        return;
    if (term <= coordinator->term_seen || term <= coordinator->term) {
        REACHED("the journal gave a term that is not the highest");
        /* 0: the journal gave none and logged why */
        trace_put(coordinator->trace, term ? TRACE_ERROR : TRACE_DEBUG, "coordinator",
                  "the journal gave an old term, asked again type=%s term=%llu "
                  "seen=%llu hint=\"check whether another cluster uses this journal\"",
                  coordinator->type, (unsigned long long)term, (unsigned long long)coordinator->term_seen);
        timers_put(&coordinator->timers, now + SECOND, TIMER_TERM, 0, 0);
        return;
    }
    coordinator->is_term_wanted = false;
    coordinator->term = term;
    coordinator->proof = proof.value;
    /* Markers and answers of an earlier term's attempts are older than all of this term's. */
    if (coordinator->attempt < term << ATTEMPTS_OF_TERM_BITS)
        coordinator->attempt = term << ATTEMPTS_OF_TERM_BITS;
    keep_term(coordinator);
    coordinator_settle(coordinator, now, outbox);
}

void coordinator_activate(struct coordinator *coordinator, uint64_t now,
                          struct outbox *outbox)
{
    uint64_t term = coordinator->term;

    if (!term || !is_kept(coordinator, coordinator->term_version))
        return;
    if (term <= coordinator->term_seen) {
        if (coordinator->is_term_wanted)
            return;
        REACHED("a higher term was reported while one was being stored");
        coordinator->is_term_wanted = true;
        coordinator_news_put(coordinator, COORDINATOR_NEWS_NEEDS_TERM, coordinator->term_seen);
        return;
    }
    coordinator->is_active = true;
    coordinator->proxies_until = now + PROXIES_TIME;
    coordinator_probe(coordinator, PROBE_COORDINATOR_ACTIVE);
    coordinator_news_put(coordinator, COORDINATOR_NEWS_ACTIVE, term);
    trace_put(coordinator->trace, TRACE_INFO, "coordinator",
              "active type=%s term=%llu regions=%u shards=%u awaited=%u",
              coordinator->type, (unsigned long long)term,
              coordinator->regions.count, coordinator->shards.count,
              coordinator_awaited(coordinator));
    for (uint32_t i = 0; i < coordinator->shards.count; i++) {
        struct shard *shard = coordinator->shards.items[i];

        SOMETIMES("a coordinator adopts a shard that has not started", shard->home && !shard->is_started);
        if (!shard->home || shard->is_started || shard->handoff ||
            !shard->home->is_registered)
            continue;
        if (shard->refusals || shard->is_refused) { /* needs another fence */
            shard->refusals = 0;
            shard->rehosted_at = 0;
            shard_rehost(coordinator, now, shard, outbox);
        } else {
            shard_host(coordinator, now, shard, outbox);
        }
    }
    for (uint32_t i = 0; i < coordinator->regions.count; i++)
        if (!coordinator->regions.items[i]->is_terminating)
            registration_welcome(coordinator, coordinator->regions.items[i], false, outbox);
    registration_ask_all(coordinator, false, outbox);
    registration_ask_proxies(coordinator, outbox);
}

void coordinator_peer(struct coordinator *coordinator, uint64_t now,
                      const struct member_info *peer, struct outbox *outbox)
{
    struct coordinator_member *member = coordinator_member_of(coordinator, &peer->node);
    bool was_asked = member && coordinator_member_is_asked(member);
    bool is_new = !member;

    if (is_new) {
        member = mem_alloc(sizeof *member);
        member->is_late = coordinator->has_opened;
        vec_push(&coordinator->members, member);
    } else if (!member->kept.reachable && peer->reachable) {
        handoff_hurry(coordinator);
        handoff_soon(coordinator);
        state_store_hurry(coordinator, now);
    }
    coordinator_member_set(member, peer);
    if (is_new) {
        (void)map_put(&coordinator->by_uid, map_u64(&peer->node.uid),
                      member); /* an incarnation has one address */
        coordinator_outbid_anew(coordinator, now);
        handoff_soon(coordinator);
    }
    if (peer->status == MEMBER_PREPARING_FOR_SHUTDOWN ||
        peer->status == MEMBER_READY_FOR_SHUTDOWN)
        coordinator->is_cluster_stopping = true;
    if (coordinator->is_active &&
        ((!was_asked && coordinator_member_is_asked(member)) ||
         (member->is_early && peer->status == MEMBER_UP))) {
        SOMETIMES("a region registers before the coordinator sees its node as up",
                  member->is_early);
        member->is_early = false;
        registration_ask(coordinator, member, outbox);
    }
    coordinator_settle(coordinator, now, outbox);
}

void coordinator_peer_jvm(struct coordinator *coordinator, uint64_t now,
                              const struct node_id *node,
                              struct outbox *outbox)
{
    struct coordinator_member *member = coordinator_member_of(coordinator, node);

    if (member)
        member->has_answered = member->is_jvm = true;
    coordinator_settle(coordinator, now, outbox);
}

static void drop_member(struct coordinator *coordinator,
                        const struct node_id *node)
{
    struct coordinator_member *member =
        coordinator_member_of(coordinator, node);
    uint32_t at = 0;

    if (!member)
        return;
    while (coordinator->members.items[at] != member)
        at++;
    vec_remove(&coordinator->members, at);
    (void)map_take(&coordinator->by_uid, map_u64(&node->uid));
    coordinator_member_drop(member);
}

void coordinator_peer_removed(struct coordinator *coordinator, uint64_t now,
                              const struct node_id *node,
                              struct outbox *outbox)
{
    uint64_t margin = coordinator->settings.removal_margin_ms;

    drop_member(coordinator, node);
    state_store_hurry(coordinator, now);
    coordinator_outbid_anew(coordinator, now);
    handoff_soon(coordinator);
    for (uint32_t i = coordinator->regions.count; i-- > 0;) {
        struct registrant *region = coordinator->regions.items[i];

        if (!node_equal(&region->node, node) || region->is_terminating)
            continue;
        if (margin && !region->is_proxy) {
            region->is_terminating = true;
            timers_put(&coordinator->timers, now + margin * MS, TIMER_MARGIN, region->number, 0);
        } else {
            registrant_remove(coordinator, now, region, PROBE_HOME_NODE_REMOVED, outbox);
        }
    }
    coordinator_settle(coordinator, now, outbox);
}

/* Null if there is none or it has stopped. */
static const struct registrant *
own_region(const struct coordinator *coordinator)
{
    for (uint32_t i = 0; i < coordinator->regions.count; i++) {
        const struct registrant *region = coordinator->regions.items[i];

        if (!region->is_proxy &&
            node_equal(&region->node, &coordinator->identity->node))
            return region;
    }
    return NULL;
}

void coordinator_stop(struct coordinator *coordinator, uint64_t now,
                      struct outbox *outbox)
{
    const struct registrant *region = own_region(coordinator);

    if (coordinator->is_stopping)
        return;
    coordinator->is_stopping = true;
    if (region && region->is_registered && coordinator->is_active) {
        SOMETIMES("a coordinator is to stop during a hand-off",
                  coordinator->handoffs.count > 0);
        coordinator_news_put(coordinator, COORDINATOR_NEWS_STOP_REGION, 0);
        registration_acknowledge(coordinator, region, outbox);
        return;
    }
    coordinator->is_ending = true;
    coordinator_settle(coordinator, now, outbox);
}

void coordinator_abandon(struct coordinator *coordinator)
{
    if (coordinator->is_stopped)
        return;
    coordinator->is_stopped = true;
    home_log_flush(coordinator);
    coordinator_probe(coordinator, PROBE_COORDINATOR_ENDED);
}

/* Repeats unanswered messages, once in a query interval. */
static void ask_again(struct coordinator *coordinator, struct outbox *outbox)
{
    const struct registrant *region = own_region(coordinator);

    if (!coordinator->is_active)
        return;
    registration_ask_all(coordinator, true, outbox);
    handoff_ask_again(coordinator, outbox);
    /* a region that stopped before this coordinator repeats that */
    if (coordinator->is_stopping && region)
        registration_acknowledge(coordinator, region, outbox);
}

static void step_timer(struct coordinator *coordinator, uint64_t now,
                       const struct timer *timer, struct outbox *outbox)
{
    struct shard *shard;

    switch ((enum timer_kind)timer->kind) {
    case TIMER_HOST:
        shard = coordinator->shards.items[timer->id];
        if (timer->generation != shard->generation || !shard->home)
            break;
        if (shard->handoff || shard->home->is_terminating ||
            !shard->home->is_registered)
            break;
        REACHED("HostShard is repeated: no answer came");
        if (shard->is_refused && coordinator->is_ending)
            break;
        if (shard->is_refused && coordinator->is_active)
            shard_rehost(coordinator, now, shard, outbox);
        else
            shard_host_again(coordinator, now, shard, outbox);
        break;
    case TIMER_HANDOFF:
        handoff_timeout(coordinator, now, timer->id, outbox);
        break;
    case TIMER_REBALANCE:
        timers_put(&coordinator->timers,
                   now + coordinator->settings.rebalance_interval_ms * MS,
                   TIMER_REBALANCE, 0, 0);
        shard_homes_rebalance(coordinator, now);
        break;
    case TIMER_QUERY:
        timers_put(&coordinator->timers,
                   now + coordinator->settings.query_interval_ms * MS,
                   TIMER_QUERY, 0, 0);
        home_log_flush(coordinator);
        coordinator->home_log.lines = 0;
        ask_again(coordinator, outbox);
        break;
    case TIMER_STATS:
        cluster_stats_timeout(coordinator, timer->id, outbox);
        break;
    case TIMER_MARGIN:
        for (uint32_t i = 0; i < coordinator->regions.count; i++) {
            if (coordinator->regions.items[i]->number == timer->id) {
                registrant_remove(coordinator, now,
                                  coordinator->regions.items[i],
                                  PROBE_HOME_NODE_REMOVED, outbox);
                break;
            }
        }
        break;
    case TIMER_END:
        break; /* settled after every step */
    case TIMER_REQUEST:
        strategy_request_due(coordinator, now, timer->id, timer->generation);
        break;
    case TIMER_KEEP:
        state_store_resume(coordinator, timer->generation);
        break;
    case TIMER_HURRY:
        state_store_hurry_due(coordinator, now);
        break;
    case TIMER_OUTBID:
        coordinator_outbid_due(coordinator, now);
        break;
    case TIMER_TERM:
        if (!coordinator->is_active)
            coordinator_news_put(coordinator, COORDINATOR_NEWS_NEEDS_TERM,
                                 coordinator->term_seen);
        break;
    }
}

void coordinator_answer(struct coordinator *coordinator, uint64_t now,
                        uint64_t request,
                        const struct coordinator_choice *choice,
                        struct outbox *outbox)
{
    if (coordinator->is_stopped)
        return;
    strategy_answered(coordinator, request, choice);
    coordinator_settle(coordinator, now, outbox);
}

void coordinator_step(struct coordinator *coordinator, uint64_t now,
                      struct outbox *outbox)
{
    struct timer timer;

    announce_step(coordinator, now, outbox);
    while (!coordinator->is_stopped &&
           timers_take(&coordinator->timers, now, &timer))
        step_timer(coordinator, now, &timer, outbox);
    coordinator_settle(coordinator, now, outbox);
}

uint64_t coordinator_deadline(const struct coordinator *coordinator)
{
    if (coordinator->is_stopped)
        return NEVER;
    return coordinator_is_busy(coordinator)
               ? 0
               : timers_deadline(&coordinator->timers);
}

const struct coordinator_counters *
coordinator_counters(const struct coordinator *coordinator)
{
    return &coordinator->counters;
}

bool coordinator_is_active(const struct coordinator *coordinator)
{
    return coordinator->is_active;
}

struct slice coordinator_pause(const struct coordinator *coordinator)
{
    return buf_slice(&coordinator->operations.pause);
}

uint32_t coordinator_unplaced(const struct coordinator *coordinator)
{
    return coordinator->unplaced;
}

bool coordinator_next_region(const struct coordinator *coordinator,
                             uint32_t *at, struct coordinator_region_view *view)
{
    const struct registrant *region;

    if (*at >= coordinator->regions.count)
        return false;
    region = coordinator->regions.items[(*at)++];
    *view = (struct coordinator_region_view){
        .ref = region->ref,
        .node = region->node,
        .shard_count = region->shards.count,
        .lanes = region->lanes,
        .is_proxy = region->is_proxy,
        .is_shutting_down = region->is_shutting_down,
        .cordon = region->cordon,
    };
    return true;
}

bool coordinator_next_shard(const struct coordinator *coordinator, uint32_t *at,
                            struct coordinator_shard_view *view)
{
    const struct shard *shard;

    if (*at >= coordinator->shards.count)
        return false;
    shard = coordinator->shards.items[(*at)++];
    *view = (struct coordinator_shard_view){
        .shard = shard->id,
        .fence = shard->fence,
        .is_started = shard->is_started,
        .is_moving = shard->handoff != NULL,
    };
    if (shard->home) {
        view->region = shard->home->ref;
        view->node = shard->home->node;
    }
    return true;
}

static bool is_registered(const struct coordinator *coordinator,
                          const struct registrant *region)
{
    for (uint32_t i = 0; i < coordinator->regions.count; i++)
        if (coordinator->regions.items[i] == region)
            return true;
    return false;
}

void coordinator_verify(const struct coordinator *coordinator)
{
    uint32_t listed = 0;
    uint32_t homed = 0;
    uint32_t moving = 0;
    uint32_t unplaced = 0;
    uint32_t disputed = 0;
    uint32_t blocked = 0;

    for (uint32_t i = 0; i < coordinator->regions.count; i++) {
        const struct registrant *region = coordinator->regions.items[i];

        check(!region->is_proxy || !region->shards.count);
        listed += region->shards.count;
        for (uint32_t j = 0; j < region->shards.count; j++)
            check(region->shards.items[j]->home == region);
    }
    for (uint32_t i = 0; i < coordinator->shards.count; i++) {
        const struct shard *shard = coordinator->shards.items[i];

        homed += shard->home != NULL;
        moving += shard->handoff != NULL;
        unplaced += shard->is_wanted;
        disputed += shard->is_disputed;
        blocked += strategy_awaits(shard);
        check(!shard->request || (shard->is_wanted && shard->request->shard == shard));
        check(!shard->home || !shard->is_wanted);
        check(!shard->home || is_registered(coordinator, shard->home));
        check(!shard->handoff || shard->home);
        check(!shard->handoff || shard->handoff->shard == shard);
        check(!shard->home || fence_compare(shard->fence, (struct fence){ 0, 0 }) >= 0);
        for (uint32_t j = 0; j < shard->waiting.count; j++)
            check(is_registered(coordinator, shard->waiting.items[j]));
        check(shard->is_due || (!shard->is_host_due && !shard->is_announced));
        check(!shard->home || !shard->handoff || shard->home->is_registered);
    }
    check(homed == listed); /* so no shard is in two lists */
    check(moving == coordinator->handoffs.count);
    check(unplaced == coordinator->unplaced);
    check(disputed == coordinator->disputed);
    check(blocked == coordinator->strategy.blocked);
    check(coordinator->strategy.open <= COORDINATOR_REQUESTS_MAX);
    for (uint32_t i = 0; i < coordinator->handoffs.count; i++) {
        const struct handoff *handoff = coordinator->handoffs.items[i];

        check((handoff->state == HANDOFF_STOPPING) ==
              !handoff->remaining.count);
        for (uint32_t j = 0; j < handoff->remaining.count; j++)
            check(is_registered(coordinator, handoff->remaining.items[j]));
        for (uint32_t j = 0; j < handoff->holding.count; j++)
            check(is_registered(coordinator, handoff->holding.items[j]));
        for (uint32_t j = 0; j < handoff->uninformed.count; j++)
            check(is_registered(coordinator, handoff->uninformed.items[j]));
    }
}
