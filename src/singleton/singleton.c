/* Implements the singleton manager's states; oldest.c determines the oldest member. */
#include "singleton/singleton.h"

#include <stdio.h>

#include "base/check.h"
#include "base/mark.h"
#include "base/rng.h"
#include "singleton/singleton_state.h"

static const char hand_over_to_me[] = "A";
static const char hand_over_in_progress[] = "B";
static const char hand_over_done[] = "C";
static const char take_over_from_me[] = "D";

static const char *const state_texts[] = {
#define X(name, text) text,
    SINGLETON_STATES(X)
#undef X
};

const char *singleton_state_text(enum singleton_state state)
{
    return state_texts[state];
}

struct singleton *singleton_new(const struct singleton_options *options,
                                uint64_t now)
{
    struct singleton *singleton = mem_alloc(sizeof *singleton);
    struct singleton_settings *settings = &singleton->settings;
    struct rng rng;
    char uid[16];
    uint64_t margin_retries;

    singleton->identity = options->identity;
    singleton->trace = options->trace;
    *settings = options->settings;
    if (!settings->retry_interval_ms)
        settings->retry_interval_ms = 1000;
    if (!settings->retries_min)
        settings->retries_min = 15;
    if (!settings->lease_retry_ms)
        settings->lease_retry_ms = 5000;
    if (!settings->release_timeout_ms)
        settings->release_timeout_ms = 5000;
    margin_retries =
        settings->removal_margin_ms / settings->retry_interval_ms + 3;
    singleton->hand_over_retries = margin_retries > settings->retries_min
                                       ? (uint32_t)margin_retries
                                       : settings->retries_min;
    singleton->take_over_retries = singleton->hand_over_retries > 4
                                       ? singleton->hand_over_retries - 3
                                       : 1;
    rng_init(&rng, options->seed);
    (void)snprintf(uid, sizeof uid, "#%u",
                   (unsigned)(1 + rng_below(&rng, INT32_MAX)));
    buf_put_text(&singleton->path, options->path);
    buf_put_text(&singleton->path, uid);
    timers_put(&singleton->timers, now + CLEANUP_INTERVAL, TIMER_CLEANUP, 0, 0);
    return singleton;
}

void singleton_free(struct singleton *singleton)
{
    if (!singleton)
        return;
    singleton_members_fini(singleton);
    singleton_forget_previous(singleton);
    vec_fini(&singleton->changes);
    vec_fini(&singleton->news);
    timers_fini(&singleton->timers);
    buf_fini(&singleton->path);
    buf_fini(&singleton->successor_path);
    mem_free(singleton);
}

static void send(struct singleton *singleton, const struct node_id *to,
                 struct slice recipient, const char *manifest, bool selection,
                 struct outbox *outbox)
{
    if (singleton->is_preparing)
        return; /* full shutdown: no member takes over */
    outbox_put(outbox, &(struct outbound){
                           .to = *to,
                           .recipient = recipient,
                           .sender = buf_slice(&singleton->path),
                           .manifest = slice_text(manifest),
                           .serializer = SINGLETON_SERIALIZER,
                           .stream = STREAM_ORDINARY,
                           .selection = selection,
                       });
}

static void send_peer(struct singleton *singleton, const struct node_id *to,
                      const char *manifest, struct outbox *outbox)
{
    send(singleton, to, path_plain(buf_slice(&singleton->path)), manifest, true,
         outbox);
}

static void answer(struct singleton *singleton, const struct inbound *inbound,
                   const char *manifest, struct outbox *outbox)
{
    send(singleton, &inbound->from, inbound->sender, manifest, false, outbox);
}

/* Every change of state passes here, which voids earlier timers. */
static void enter(struct singleton *singleton, enum singleton_state state)
{
    trace_put(singleton->trace, TRACE_INFO, "singleton",
              "singleton state changed path=%.*s from=%s to=%s",
              (int)path_plain(buf_slice(&singleton->path)).size,
              singleton->path.data, singleton_state_text(singleton->state),
              singleton_state_text(state));
    singleton->state = state;
    singleton->generation++;
    singleton->retry = 0;
}

static void retry_later(struct singleton *singleton, uint64_t now)
{
    singleton->retry++;
    timers_put(&singleton->timers,
               now + singleton->settings.retry_interval_ms * MS, TIMER_RETRY, 0,
               singleton->generation);
}

static void exit_done(struct singleton *singleton)
{
    if (singleton->has_exited && !singleton->is_exit_told) {
        singleton->is_exit_told = true;
        singleton_news_put(singleton, SINGLETON_NEWS_EXIT_DONE);
    }
}

static void stop_manager(struct singleton *singleton)
{
    singleton_lease_drop(singleton);
    enter(singleton, SINGLETON_STOPPED);
    exit_done(singleton);
}

static void start_instance(struct singleton *singleton)
{
    enter(singleton, SINGLETON_OLDEST);
    if (singleton->is_preparing)
        return;
    check(!singleton->has_instance);
    singleton->has_instance = true;
    singleton->counters.starts++;
    singleton_news_put(singleton, SINGLETON_NEWS_START);
}

static void become_oldest(struct singleton *singleton)
{
    singleton_forget_previous(singleton);
    if (!singleton->settings.uses_lease) {
        start_instance(singleton);
        return;
    }
    enter(singleton, SINGLETON_ACQUIRING);
    singleton_lease_ask(singleton);
}

static void begin_anew(struct singleton *singleton)
{
    REACHED("a hand-over is given up and begins anew");
    singleton->counters.stuck++;
    trace_put(singleton->trace, TRACE_ERROR, "singleton",
              "hand-over timed out, started again "
              "hint=\"see the log of the previous oldest member\" path=%.*s",
              (int)path_plain(buf_slice(&singleton->path)).size,
              singleton->path.data);
    singleton_forget_previous(singleton);
    singleton->changes.count = 0;
    singleton->begins_anew = true;
    enter(singleton, SINGLETON_STARTING);
    singleton_view_anew(singleton); /* an exiting member that did not answer may still run it */
}

/* The instance has ended, or there was none: the successor may start. */
static void hand_over_is_done(struct singleton *singleton,
                              struct outbox *outbox)
{
    bool has_successor = singleton->has_successor;

    if (has_successor) {
        send(singleton, &singleton->successor,
             buf_slice(&singleton->successor_path), hand_over_done, false,
             outbox);
        singleton->counters.hand_overs++;
    }
    singleton->has_successor = false;
    if (singleton->is_self_removed) {
        stop_manager(singleton);
        return;
    }
    enter(singleton, has_successor ? SINGLETON_ENDED : SINGLETON_YOUNGER);
    exit_done(singleton);
}

/* HANDING_OVER or STOPPING, and the instance and its lease are gone. */
static void finish(struct singleton *singleton, struct outbox *outbox)
{
    if (singleton->state == SINGLETON_HANDING_OVER) {
        hand_over_is_done(singleton, outbox);
    } else if (singleton->is_stuck) {
        singleton->is_stuck = false;
        begin_anew(singleton);
    } else {
        stop_manager(singleton);
    }
}

/* The next node would find the lease taken, so the end waits for the release. */
static void instance_has_ended(struct singleton *singleton, struct outbox *outbox)
{
    if (!singleton_lease_lets_go(singleton))
        finish(singleton, outbox);
}

/* Whether the instance, or the lease, must end before another node may take over. */
static bool is_occupied(const struct singleton *singleton)
{
    return singleton->has_instance || singleton->is_lease_asked || singleton->is_releasing;
}

/* Ends the instance without a successor. */
static void stop_all(struct singleton *singleton)
{
    if (singleton->state == SINGLETON_STOPPING ||
        singleton->state == SINGLETON_STOPPED)
        return;
    if (!is_occupied(singleton)) {
        stop_manager(singleton);
        return;
    }
    if (singleton->state != SINGLETON_HANDING_OVER && singleton->has_instance)
        singleton_news_put(singleton, SINGLETON_NEWS_STOP);
    enter(singleton, SINGLETON_STOPPING);
    if (!singleton->has_instance && !singleton->is_releasing)
        (void)singleton_lease_lets_go(singleton); /* true, as it is occupied */
}

/* inbound null: no successor. */
static void hand_over(struct singleton *singleton,
                      const struct inbound *inbound, struct outbox *outbox)
{
    singleton->has_successor = inbound != NULL;
    buf_clear(&singleton->successor_path);
    if (inbound) {
        singleton->successor = inbound->from;
        buf_put_slice(&singleton->successor_path, inbound->sender);
    }
    if (!is_occupied(singleton)) {
        hand_over_is_done(singleton, outbox);
        return;
    }
    if (inbound)
        answer(singleton, inbound, hand_over_in_progress, outbox);
    enter(singleton, SINGLETON_HANDING_OVER);
    if (singleton->has_instance)
        singleton_news_put(singleton, SINGLETON_NEWS_STOP);
    else
        instance_has_ended(singleton, outbox);
    if (singleton->is_preparing)
        stop_manager(singleton); /* without waiting, as in Akka */
}

static bool is_head(const struct singleton *singleton,
                    const struct node_id *node)
{
    const struct kept_member *head = kept_members_last(&singleton->previous);

    return head && kept_member_is(head, node);
}

static bool previous_are_removed(const struct singleton *singleton)
{
    const struct kept_member *peer;

    for (uint32_t at = 0; (peer = kept_members_next(&singleton->previous, &at));) {
        struct node_id node = kept_member_node(peer);

        if (!singleton_is_removed(singleton, &node))
            return false;
    }
    return true;
}

/* Handles the first view since this node is up. */
static void start(struct singleton *singleton, uint64_t now)
{
    struct node_id oldest;
    bool is_safe = singleton_find_previous(singleton);
    bool has_oldest = singleton_oldest(singleton, &oldest);
    bool is_self =
        has_oldest && node_equal(&oldest, &singleton->identity->node);

    singleton->begins_anew = false;
    if (is_self && is_safe) {
        become_oldest(singleton);
    } else if (is_self) {
        enter(singleton, SINGLETON_BECOMING_OLDEST);
        retry_later(singleton, now);
    } else {
        enter(singleton, SINGLETON_YOUNGER);
    }
}

static void younger_changed(struct singleton *singleton, uint64_t now,
                            const struct oldest_change *change,
                            struct outbox *outbox)
{
    if (!change->is_any)
        return;
    if (!node_equal(&change->node, &singleton->identity->node)) {
        singleton_put_previous(singleton, &change->node);
    } else if (singleton_self_exits(singleton)) {
        return; /* others already pass this node over */
    } else if (previous_are_removed(singleton)) {
        become_oldest(singleton);
    } else {
        struct node_id head = kept_member_node(kept_members_last(&singleton->previous));

        enter(singleton, SINGLETON_BECOMING_OLDEST);
        retry_later(singleton, now);
        REACHED("the next oldest asks for the hand-over");
        SOMETIMES("more than one older node has not been removed",
                  singleton->previous.count > 1);
        send_peer(singleton, &head, hand_over_to_me, outbox);
    }
}

static void oldest_changed(struct singleton *singleton, uint64_t now,
                           const struct oldest_change *change,
                           struct outbox *outbox)
{
    if (change->is_any &&
        node_equal(&change->node, &singleton->identity->node))
        return;
    if (change->is_any && !singleton->has_exited &&
        singleton_is_removed(singleton, &change->node)) {
        hand_over(singleton, NULL, outbox);
        return;
    }
    if (!change->is_any && singleton->has_exited) {
        stop_all(singleton); /* no successor */
        return;
    }
    enter(singleton, SINGLETON_WAS_OLDEST);
    singleton->has_new_oldest = change->is_any;
    singleton->new_oldest = change->node;
    retry_later(singleton, now);
    if (change->is_any)
        send_peer(singleton, &change->node, take_over_from_me, outbox);
}

/* Asks the head of `previous`, which became it when the former one was removed. Akka asks it after
 * hand-over-retry-interval, and never if the former one had said that it hands over. */
static void ask_next_head(struct singleton *singleton, uint64_t now,
                          struct outbox *outbox)
{
    const struct kept_member *head = kept_members_last(&singleton->previous);
    struct node_id node;

    singleton->has_next_head = false;
    if (singleton->state != SINGLETON_BECOMING_OLDEST || !head ||
        singleton_self_exits(singleton))
        return;
    REACHED("the member asked for the hand-over is removed, and the next is asked");
    node = kept_member_node(head);
    singleton->generation++;
    singleton->retry = 0;
    retry_later(singleton, now);
    send_peer(singleton, &node, hand_over_to_me, outbox);
}

void singleton_settle(struct singleton *singleton, uint64_t now,
                      struct outbox *outbox)
{
    if (singleton->has_next_head)
        ask_next_head(singleton, now, outbox);
    if (singleton->state == SINGLETON_STARTING &&
        singleton_self_counts(singleton))
        start(singleton, now);
    /* One change at a time, and only in a settled state. */
    while (singleton->changes.count &&
           (singleton->state == SINGLETON_YOUNGER ||
            singleton->state == SINGLETON_ACQUIRING ||
            singleton->state == SINGLETON_OLDEST)) {
        struct oldest_change change = singleton->changes.items[0];

        vec_remove(&singleton->changes, 0);
        if (singleton->state == SINGLETON_YOUNGER)
            younger_changed(singleton, now, &change, outbox);
        else
            oldest_changed(singleton, now, &change, outbox);
    }
}

void singleton_removed(struct singleton *singleton,
                       const struct kept_member *peer)
{
    struct node_id copy = kept_member_node(peer);
    const struct node_id *node = &copy;
    struct kept_member *previous =
        kept_members_find(&singleton->previous, node->uid, &node->address);

    singleton_remember_removed(singleton, peer);
    /* An exiting node does not take over: the removed member may have handed over to a younger
     * one. */
    if (singleton->state == SINGLETON_BECOMING_OLDEST && previous &&
        previous_are_removed(singleton) && !singleton_self_exits(singleton)) {
        become_oldest(singleton);
        return;
    }
    if (singleton->state != SINGLETON_YOUNGER &&
        singleton->state != SINGLETON_BECOMING_OLDEST)
        return;
    if (!previous)
        return;
    singleton->has_next_head |= singleton->state == SINGLETON_BECOMING_OLDEST &&
                                is_head(singleton, node);
    kept_members_remove(&singleton->previous, previous);
}

void singleton_self_lost(struct singleton *singleton, bool is_removed)
{
    singleton->is_self_removed |= is_removed;
    switch (singleton->state) {
    case SINGLETON_ACQUIRING:
    case SINGLETON_OLDEST:
    case SINGLETON_WAS_OLDEST:
        stop_all(singleton);
        break;
    case SINGLETON_HANDING_OVER: /* ends when the instance has ended */
    case SINGLETON_STOPPING:
    case SINGLETON_STOPPED:
        break;
    case SINGLETON_STARTING:
    case SINGLETON_YOUNGER:
    case SINGLETON_BECOMING_OLDEST:
    case SINGLETON_ENDED:
        SOMETIMES("a node that becomes the oldest is downed or removed",
                  singleton->state == SINGLETON_BECOMING_OLDEST);
        stop_manager(singleton); /* a downed member sees others removed, but must not take over */
        break;
    }
}

/* The expected successor has gone. */
void singleton_new_oldest_removed(struct singleton *singleton,
                                  const struct node_id *node)
{
    SOMETIMES("the new oldest node is removed before it took over",
              singleton->state == SINGLETON_WAS_OLDEST &&
                  node_equal(&singleton->new_oldest, node));
    if (singleton->state == SINGLETON_WAS_OLDEST && !singleton->has_exited &&
        singleton->has_new_oldest && node_equal(&singleton->new_oldest, node))
        hand_over(singleton, NULL, NULL); /* sends nothing */
}

void singleton_prepares(struct singleton *singleton)
{
    singleton->is_preparing = true;
    if (singleton->state == SINGLETON_HANDING_OVER ||
        singleton->state == SINGLETON_STOPPING)
        stop_manager(singleton);
}

static void receive_hand_over_to_me(struct singleton *singleton,
                                    const struct inbound *inbound,
                                    struct outbox *outbox)
{
    switch (singleton->state) {
    case SINGLETON_YOUNGER:
        /* This node was restarted after the sender saw it as the oldest. */
        REACHED("a younger node is asked to hand over");
        if (!singleton_self_leaves(singleton))
            answer(singleton, inbound, hand_over_done, outbox);
        break;
    case SINGLETON_ACQUIRING:
    case SINGLETON_OLDEST:
    case SINGLETON_WAS_OLDEST:
        hand_over(singleton, inbound, outbox);
        break;
    case SINGLETON_HANDING_OVER:
        if (singleton->has_successor &&
            node_equal(&singleton->successor, &inbound->from))
            answer(singleton, inbound, hand_over_in_progress, outbox);
        else
            singleton->counters.ignored++;
        break;
    case SINGLETON_STARTING:
    case SINGLETON_BECOMING_OLDEST:
    case SINGLETON_STOPPING:
    case SINGLETON_ENDED:
    case SINGLETON_STOPPED:
        singleton->counters.ignored++;
        break;
    }
}

static bool is_previous(const struct singleton *singleton,
                        const struct node_id *node)
{
    return kept_members_find(&singleton->previous, node->uid, &node->address);
}

/* The sender has the instance: it would not offer it otherwise. Akka ignores the offer if it awaits
 * the hand-over from another member, which may have ended long ago. */
static void receive_take_over(struct singleton *singleton,
                              const struct inbound *inbound,
                              struct outbox *outbox)
{
    if (singleton->state == SINGLETON_OLDEST || singleton->state == SINGLETON_ACQUIRING) {
        answer(singleton, inbound, hand_over_to_me, outbox);
        return;
    }
    if (singleton->state != SINGLETON_BECOMING_OLDEST ||
        (singleton->previous.count &&
         !is_previous(singleton, &inbound->from))) {
        singleton->counters.ignored++;
        return;
    }
    SOMETIMES("a take-over is offered by another member than the one asked",
              !is_head(singleton, &inbound->from));
    singleton_put_head(singleton, &inbound->from);
    answer(singleton, inbound, hand_over_to_me, outbox);
}

void singleton_receive(struct singleton *singleton, uint64_t now,
                       const struct inbound *inbound, struct outbox *outbox)
{
    bool awaits = singleton->state == SINGLETON_BECOMING_OLDEST &&
                  is_head(singleton, &inbound->from);

    singleton->time = now;
    if (inbound->serializer != SINGLETON_SERIALIZER) {
        singleton->counters.unknown++;
    } else if (!inbound->sender.size ||
               !singleton_is_member(singleton, &inbound->from)) {
        singleton->counters.ignored++;
    } else if (slice_is(inbound->manifest, hand_over_to_me)) {
        receive_hand_over_to_me(singleton, inbound, outbox);
    } else if (slice_is(inbound->manifest, take_over_from_me)) {
        receive_take_over(singleton, inbound, outbox);
    } else if (slice_is(inbound->manifest, hand_over_in_progress)) {
        if (awaits)
            singleton->generation++; /* no more retries: it stops */
        else
            singleton->counters.ignored++;
    } else if (slice_is(inbound->manifest, hand_over_done)) {
        if (awaits)
            become_oldest(singleton);
        else
            singleton->counters.ignored++;
    } else {
        singleton->counters.unknown++;
    }
    singleton_settle(singleton, now, outbox);
}

void singleton_stopped(struct singleton *singleton, uint64_t now,
                       struct outbox *outbox)
{
    singleton->time = now;
    if (!singleton->has_instance)
        return; /* END came after STOP */
    singleton->has_instance = false;
    if (singleton->state == SINGLETON_HANDING_OVER || singleton->state == SINGLETON_STOPPING)
        instance_has_ended(singleton, outbox);
    else if (singleton->state == SINGLETON_ACQUIRING)
        singleton_lease_ask(singleton);
    singleton_settle(singleton, now, outbox);
}

void singleton_leased(struct singleton *singleton)
{
    if (!singleton->is_lease_asked || singleton->has_lease)
        return;
    singleton->has_lease = true;
    if (singleton->state == SINGLETON_ACQUIRING && !singleton->has_instance)
        start_instance(singleton);
}

void singleton_released(struct singleton *singleton, uint64_t now, struct outbox *outbox)
{
    singleton->time = now;
    if (!singleton->is_releasing)
        return;
    singleton->is_releasing = false;
    finish(singleton, outbox);
    singleton_settle(singleton, now, outbox);
}

void singleton_lease_lost(struct singleton *singleton, uint64_t now, struct outbox *outbox)
{
    singleton->time = now;
    if (singleton->is_releasing) {
        singleton_released(singleton, now, outbox);
        return;
    }
    if (!singleton->has_lease)
        return; /* it still waits for its lease */
    REACHED("a singleton loses its lease");
    SOMETIMES("a singleton that hands over loses its lease",
              singleton->state != SINGLETON_OLDEST);
    singleton->has_lease = singleton->is_lease_asked = false;
    singleton->counters.leases_lost++;
    if (singleton->has_instance)
        singleton_news_put(singleton, SINGLETON_NEWS_END);
    if (singleton->state != SINGLETON_OLDEST)
        return;
    enter(singleton, SINGLETON_ACQUIRING);
    if (!singleton->has_instance)
        singleton_lease_ask(singleton);
}

void singleton_exit(struct singleton *singleton, uint64_t now,
                    struct outbox *outbox)
{
    singleton->time = now;
    if (singleton->has_exited)
        return;
    singleton->has_exited = true;
    singleton_forget_self(singleton);
    switch (singleton->state) {
    case SINGLETON_STARTING:
    case SINGLETON_YOUNGER:
    case SINGLETON_BECOMING_OLDEST:
        enter(singleton, SINGLETON_ENDED); /* this node may leave at any time */
        exit_done(singleton);
        break;
    case SINGLETON_ENDED:
    case SINGLETON_STOPPED:
        exit_done(singleton);
        break;
    case SINGLETON_WAS_OLDEST:
        if (!singleton->has_new_oldest ||
            !singleton_is_member(singleton, &singleton->new_oldest))
            stop_all(singleton);
        break;
    case SINGLETON_ACQUIRING:
    case SINGLETON_OLDEST: /* the next settling finds another */
    case SINGLETON_HANDING_OVER:
    case SINGLETON_STOPPING:
        break;
    }
    singleton_settle(singleton, now, outbox);
}

void singleton_give_up(struct singleton *singleton, uint64_t now,
                       struct outbox *outbox)
{
    check(singleton->has_exited);
    singleton->time = now;
    REACHED("a hand-over is given up: the node has exited");
    stop_all(singleton);
    singleton_settle(singleton, now, outbox);
}

static void retry_hand_over(struct singleton *singleton, uint64_t now,
                            struct outbox *outbox)
{
    if (singleton->retry <= singleton->hand_over_retries) {
        if (singleton->previous.count) {
            struct node_id head =
                kept_member_node(kept_members_last(&singleton->previous));

            singleton->counters.retries++;
            REACHED("the request for a hand-over is repeated");
            send_peer(singleton, &head, hand_over_to_me, outbox);
        }
        retry_later(singleton, now);
    } else if (previous_are_removed(singleton) &&
               !singleton_self_exits(singleton)) {
        become_oldest(singleton);
    } else {
        begin_anew(singleton);
    }
}

static void retry_take_over(struct singleton *singleton, uint64_t now,
                            struct outbox *outbox)
{
    bool is_over = singleton->retry > singleton->take_over_retries;

    if (singleton->has_exited && (!singleton->has_new_oldest || is_over)) {
        stop_all(singleton);
    } else if (!is_over) {
        if (singleton->has_new_oldest) {
            singleton->counters.retries++;
            send_peer(singleton, &singleton->new_oldest, take_over_from_me,
                      outbox);
        }
        retry_later(singleton, now);
    } else if (is_occupied(singleton)) {
        stop_all(singleton);
        singleton->is_stuck = true;
    } else {
        begin_anew(singleton);
    }
}

void singleton_step(struct singleton *singleton, uint64_t now,
                    struct outbox *outbox)
{
    struct timer timer;

    singleton->time = now;
    while (timers_take(&singleton->timers, now, &timer)) {
        switch ((enum singleton_timer)timer.kind) {
        case TIMER_RETRY:
            if (timer.generation != singleton->generation)
                break;
            if (singleton->state == SINGLETON_BECOMING_OLDEST)
                retry_hand_over(singleton, now, outbox);
            else if (singleton->state == SINGLETON_WAS_OLDEST)
                retry_take_over(singleton, now, outbox);
            break;
        case TIMER_REMOVED:
            singleton_take_delayed(singleton, timer.id);
            break;
        case TIMER_CLEANUP:
            singleton_cleanup(singleton, now);
            timers_put(&singleton->timers, now + CLEANUP_INTERVAL,
                       TIMER_CLEANUP, 0, 0);
            break;
        case TIMER_LEASE:
            if (timer.generation == singleton->generation)
                singleton_lease_ask(singleton);
            break;
        case TIMER_RELEASE:
            if (timer.generation == singleton->release)
                singleton_released(singleton, now, outbox);
            break;
        }
    }
    singleton_settle(singleton, now, outbox);
}

uint64_t singleton_deadline(const struct singleton *singleton)
{
    return singleton->state == SINGLETON_STOPPED
               ? NEVER
               : timers_deadline(&singleton->timers);
}

enum singleton_state singleton_state(const struct singleton *singleton)
{
    return singleton->state;
}

struct slice singleton_path(const struct singleton *singleton)
{
    return buf_slice(&singleton->path);
}

const struct singleton_counters *
singleton_counters(const struct singleton *singleton)
{
    return &singleton->counters;
}
