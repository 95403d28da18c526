/* Implements the states of the shards that one lane owns, and buffers the messages that wait for
 * them. */
#include "shard/owned_shards_inside.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/mark.h"

void owned_init(struct owned_shards *owned, const struct owned_options *options)
{
    check(options->shard_count > 0 && options->shard_count <= SHARDS_MAX);
    check(options->budget);
    *owned = (struct owned_shards){ 0 };
    owned->shard_count = options->shard_count;
    owned->persists = options->persists;
    owned->stop_timeout =
        options->stop_timeout ? options->stop_timeout : OWNED_STOP_TIMEOUT;
    owned->claim_retry =
        options->claim_retry ? options->claim_retry : OWNED_CLAIM_RETRY;
    owned->leases = options->leases;
    owned->lease_retry = options->lease_retry ? options->lease_retry : OWNED_LEASE_RETRY;
    owned->release_timeout =
        options->release_timeout ? options->release_timeout : OWNED_LEASE_RETRY;
    owned->budget = options->budget;
    owned->trace = options->trace;
    owned->type = options->type ? options->type : "";
    owned->probes = options->probes;
    owned->type_index = options->type_index;
    size_t size = 2 * (size_t)options->shard_count - 1;
    owned->state = mem_alloc(size);
    owned->shards = mem_alloc(size * sizeof *owned->shards);
}

static void shard_free(struct owned_shards *owned, int64_t index)
{
    struct owned_shard *at = owned->shards[index];
    check(at->waiting.count == 0);
    mem_free(at->debts);
    mem_free(at);
    owned->shards[index] = NULL;
}

void owned_fini(struct owned_shards *owned)
{
    if (!owned || !owned->state)
        return;
    for (int64_t i = 0; i < 2 * (int64_t)owned->shard_count - 1; i++) {
        if (owned->shards[i])
            shard_free(owned, i);
    }
    timers_fini(&owned->timers);
    mem_free(owned->state);
    mem_free(owned->shards);
    mem_free(owned->early);
    mem_free(owned->news);
    *owned = (struct owned_shards){ 0 };
}

static void stop_entities(struct owned_shards *owned, uint64_t now, int64_t index)
{
    const struct owned_shard *at = owned->shards[index];

    owned_set_state(owned, index, OWNED_STOPPING);
    owned_set_due(owned, index,
                  at->stop_until > now + OWNED_STOP_MIN ? at->stop_until : now + OWNED_STOP_MIN);
    owned_put_fence(owned, OWNED_STOP_ENTITIES, index);
}

static void drain(struct owned_shards *owned, uint64_t now, int64_t index)
{
    struct owned_shard *at = owned->shards[index];
    if (at->debt_count == 0) {
        stop_entities(owned, now, index);
        return;
    }
    owned_set_state(owned, index, OWNED_DRAINING);
    owned_set_due(owned, index, at->drain_until);
}

/* All entities have ended. The next owner would find the lease taken, so the shard's end waits for
 * the answer. */
static void let_go(struct owned_shards *owned, uint64_t now, int64_t index)
{
    owned_set_state(owned, index, OWNED_RELEASING);
    owned_set_due(owned, index, now + owned->release_timeout);
    owned_lease_give_up(owned, index);
}

/* A shard without its lease has no entities to stop. */
static void drain_leasing(struct owned_shards *owned, uint64_t now, int64_t index)
{
    struct owned_shard *at = owned->shards[index];
    if (at->debt_count == 0) {
        REACHED("a shard that waits for its lease is handed off");
        let_go(owned, now, index);
        return;
    }
    owned_set_due(owned, index, at->drain_until);
}

static void drain_further(struct owned_shards *owned, uint64_t now, int64_t index)
{
    if (owned->state[index] == OWNED_DRAINING)
        drain(owned, now, index);
    else if (owned->state[index] == OWNED_LEASING)
        drain_leasing(owned, now, index);
}

/* Waiting messages enter first: nothing else is accepted until the caller has taken them. */
static void run(struct owned_shards *owned, int64_t index)
{
    struct owned_shard *at = owned->shards[index];
    owned_set_state(owned, index, OWNED_STARTING);
    at->due = NEVER;
    owned->counters.started++;
    owned_put_fence(owned, OWNED_STARTED, index);
}

static void open_shard(struct owned_shards *owned, int64_t index)
{
    struct owned_shard *at = owned->shards[index];
    if (!at->drains) {
        owned_set_state(owned, index, OWNED_RUNNING);
        return;
    }
    owned_set_state(owned, index, OWNED_DRAINING);
    owned_set_due(owned, index, at->debt_count == 0 ? 0 : at->drain_until);
}

/* Types that persist claim first. */
static void claim_or_run(struct owned_shards *owned, int64_t index)
{
    struct owned_shard *at = owned->shards[index];
    at->due = NEVER;
    if (!owned->persists) {
        run(owned, index);
        return;
    }
    at->claim_delay = owned->claim_retry;
    owned_set_state(owned, index, OWNED_CLAIMING);
    owned_put_fence(owned, OWNED_CLAIM, index);
}

/* Starts under at->order; types with leases get theirs first. */
static void begin(struct owned_shards *owned, uint64_t now, int64_t index)
{
    struct owned_shard *at = owned->shards[index];
    at->fence = at->order;
    at->restarts = false;
    at->due = NEVER;
    if (!owned->leases || at->is_leased) {
        claim_or_run(owned, index);
        return;
    }
    owned_set_state(owned, index, OWNED_LEASING);
    owned_lease_ask(owned, index);
    if (at->drains)
        drain_leasing(owned, now, index);
}

static void fence_off(struct owned_shards *owned, int64_t index)
{
    struct owned_shard *at = owned->shards[index];
    owned_set_state(owned, index, OWNED_FENCED_STOPPING);
    at->due = NEVER;
    owned->counters.fenced++;
    owned_put_fence(owned, OWNED_FENCED, index);
}

static void start_again(struct owned_shards *owned, struct owned_shard *at,
                        struct fence fence)
{
    if (fence_is_none(fence)) {
        /* Without fences a late repeat looks like a new order. A new order will be repeated. */
        owned->counters.stale++;
        return;
    }
    at->restarts = true;
    at->restart = fence;
    marker_debts_forget(at);
}

/* For a present shard; the fence is not older. */
static void start_here(struct owned_shards *owned, uint64_t now, int64_t index,
                       struct fence fence, int order)
{
    struct owned_shard *at = owned->shards[index];
    switch ((enum owned_state)owned->state[index]) {
    case OWNED_LEASING:
        if (!fence_is_none(fence)) {
            marker_debts_forget(at);
            at->due = NEVER;
        }
        at->order = at->fence = fence;
        return;
    case OWNED_CLAIMING:
        if (!fence_is_none(fence))
            marker_debts_forget(at);
        if (order > 0) {
            at->order = fence;
            begin(owned, now, index);
        }
        return;
    case OWNED_DRAINING:
        if (order == 0 && !fence_is_none(fence)) {
            marker_debts_forget(at);
            at->due = NEVER;
            owned_set_state(owned, index, OWNED_RUNNING);
            owned_put_fence(owned, OWNED_STARTED, index);
            return;
        }
        /* fall through */
    case OWNED_STARTING:
    case OWNED_RUNNING:
        if (order == 0 && owned->state[index] == OWNED_STARTING &&
            !fence_is_none(fence))
            marker_debts_forget(at);
        if (order > 0) {
            /* The running shard may lack another owner's events. */
            REACHED("a shard that runs starts again under a higher fence");
            start_again(owned, at, fence);
            fence_off(owned, index);
        } else if (owned->state[index] == OWNED_RUNNING) {
            owned_put_fence(owned, OWNED_STARTED, index);
        }
        return;
    case OWNED_STOPPING:
    case OWNED_RELEASING:
        REACHED("a stopping shard must start again");
        start_again(owned, at, fence);
        return;
    case OWNED_FENCED_STOPPING:
        if (order > 0)
            start_again(owned, at, fence);
        else
            owned->counters.stale++;
        return;
    case OWNED_ABSENT:
        check(owned->state[index] != OWNED_ABSENT);
        return;
    }
}

void owned_start(struct owned_shards *owned, uint64_t now, int32_t shard,
                  struct fence fence)
{
    int64_t index = owned_index(owned, shard);
    if (index < 0)
        return;
    if (owned->state[index] == OWNED_ABSENT) {
        if (!owned->shards[index])
            owned->shards[index] = mem_alloc(sizeof(struct owned_shard));
        owned->shards[index]->order = fence;
        owned_early_drop_below(owned, shard, fence);
        begin(owned, now, index);
        return;
    }
    const struct owned_shard *at = owned->shards[index];
    int order = fence_compare(fence, at->restarts ? at->restart : at->order);
    if (order < 0)
        owned->counters.stale++;
    else
        start_here(owned, now, index, fence, order);
}

void owned_claimed(struct owned_shards *owned, uint64_t now, int32_t shard,
                    struct fence fence, struct fence claimed,
                    enum claim_result result)
{
    int64_t index = owned_index(owned, shard);
    if (index < 0)
        return;
    struct owned_shard *at = owned->shards[index];
    if (owned->state[index] != OWNED_CLAIMING ||
        fence_compare(fence, at->order) != 0) {
        owned->counters.stale++;
        return;
    }
    switch (result) {
    case CLAIM_OK:
        at->fence = claimed;
        run(owned, index);
        return;
    case CLAIM_STALE:
        REACHED("a claim was refused: a higher fence is stored");
        fence_off(owned, index);
        return;
    case CLAIM_ERROR:
        REACHED("a claim failed and is repeated");
        owned->counters.claim_errors++;
        owned_set_due(owned, index, now + at->claim_delay);
        if (at->claim_delay < 8 * owned->claim_retry)
            at->claim_delay *= 2;
        return;
    }
}

void owned_drain(struct owned_shards *owned, uint64_t now, int32_t shard,
                  struct attempt attempt, const struct owing *owing,
                  uint32_t count, uint64_t deadline)
{
    int64_t index = owned_index(owned, shard);
    if (index < 0)
        return;
    if (count > OWING_MAX) {
        owned->counters.invalid++;
        count = OWING_MAX;
    }
    struct owned_shard *at = owned->shards[index];
    if (owned->state[index] == OWNED_ABSENT) {
        owned_put_news(owned, (struct owned_news){ .kind = OWNED_STOPPED,
                                           .shard = shard,
                                           .attempt = attempt });
        return;
    }
    int order = at->attempted ? attempt_compare(attempt, at->attempt) : 1;
    if (order == 0 && at->drains)
        return;
    if (order <= 0 ||
        fence_compare(attempt.fence,
                      at->restarts ? at->restart : at->order) < 0) {
        owned->counters.stale++;
        return;
    }
    at->attempt = attempt;
    at->attempted = true;
    at->drains = true;
    at->drain_until = deadline;
    at->stop_until = now + owned->stop_timeout;
    marker_debts_set(owned, at, owing, count);
    owned_early_pay(owned, shard, at);
    switch ((enum owned_state)owned->state[index]) {
    case OWNED_RUNNING:
    case OWNED_DRAINING:
        drain(owned, now, index);
        return;
    case OWNED_LEASING:
        drain_leasing(owned, now, index);
        return;
    case OWNED_STOPPING:
    case OWNED_RELEASING:
        /* A later attempt: messages arrived since the last one, to handle before the shard goes. */
        REACHED("a second attempt hands off a stopping shard");
        at->restarts = true;
        at->restart = at->order;
        return;
    case OWNED_CLAIMING:
    case OWNED_STARTING:
    case OWNED_FENCED_STOPPING:
    case OWNED_ABSENT:
        return; /* open_shard and owned_entities_stopped handle it */
    }
}

void owned_marker(struct owned_shards *owned, uint64_t now, int32_t shard,
                   struct attempt attempt, uint64_t uid, uint32_t lane)
{
    int64_t index = owned_index(owned, shard);
    if (index < 0)
        return;
    if (lane >= LANES_MAX) {
        owned->counters.invalid++;
        return;
    }
    owned->counters.markers++;
    struct owned_shard *at = owned->shards[index];
    struct hosted_early marker = { shard, attempt, uid, UINT64_C(1) << lane };
    if (owned->state[index] == OWNED_ABSENT) {
        owned_early_keep(owned, &marker);
        return;
    }
    int order = at->attempted ? attempt_compare(attempt, at->attempt) : 1;
    if (fence_compare(attempt.fence, at->order) < 0 || order < 0 ||
        (order == 0 && !at->drains)) {
        REACHED("a marker arrives for a hand-off that has ended");
        owned->counters.markers_stale++;
        return;
    }
    if (order > 0) {
        owned_early_keep(owned, &marker);
        return;
    }
    if (!marker_debts_pay(at, uid, marker.lanes)) {
        owned->counters.markers_stale++;
        return;
    }
    if (at->debt_count == 0)
        drain_further(owned, now, index);
}

void owned_node_gone(struct owned_shards *owned, uint64_t now, uint64_t uid)
{
    for (int64_t i = 0; i < 2 * (int64_t)owned->shard_count - 1; i++) {
        struct owned_shard *at = owned->shards[i];
        if (!at || at->debt_count == 0)
            continue;
        while (marker_debts_pay(at, uid, UINT64_MAX))
            REACHED("a removed node owes no marker any more");
        if (at->debt_count == 0)
            drain_further(owned, now, i);
    }
    owned_early_node_gone(owned, uid);
}

/* was_ordered: a hand-off ends, which is answered. */
static void end(struct owned_shards *owned, int64_t index, bool was_ordered)
{
    struct owned_shard *at = owned->shards[index];
    struct attempt attempt = at->attempt;
    if (at->is_lease_asked)
        owned_lease_give_up(owned, index);
    marker_debts_forget(at);
    owned_set_state(owned, index, OWNED_ABSENT);
    owned->counters.stopped++;
    if (at->waiting.count == 0)
        shard_free(owned, index);
    if (was_ordered)
        owned_put_news(owned, (struct owned_news){ .kind = OWNED_STOPPED,
                                           .shard = owned_shard_at(owned, index),
                                           .attempt = attempt });
}

static void begin_again(struct owned_shards *owned, uint64_t now, int64_t index)
{
    owned->shards[index]->order = owned->shards[index]->restart;
    begin(owned, now, index);
}

void owned_entities_stopped(struct owned_shards *owned, uint64_t now,
                             int32_t shard)
{
    int64_t index = owned_index(owned, shard);
    if (index < 0)
        return;
    struct owned_shard *at = owned->shards[index];
    if (owned->state[index] != OWNED_STOPPING &&
        owned->state[index] != OWNED_FENCED_STOPPING)
        return;
    bool was_ordered = owned->state[index] == OWNED_STOPPING || at->drains;
    if (at->restarts)
        begin_again(owned, now, index);
    else if (was_ordered && at->is_lease_asked)
        let_go(owned, now, index);
    else
        end(owned, index, was_ordered);
}

/* ---- leases ---- */

void owned_leased(struct owned_shards *owned, uint64_t now, int32_t shard, uint32_t ticket,
                  uint64_t until)
{
    int64_t index = owned_index(owned, shard);
    if (index < 0)
        return;
    if (!owned_lease_is(owned, index, OWNED_LEASING, ticket)) {
        owned->counters.stale++;
        return;
    }
    if (until <= now) {
        REACHED("a lease is over before its shard hears of it");
        owned_lease_wait(owned, now, index);
        return;
    }
    owned_lease_got(owned, index, until);
    claim_or_run(owned, index);
}

void owned_lease_denied(struct owned_shards *owned, uint64_t now, int32_t shard, uint32_t ticket)
{
    int64_t index = owned_index(owned, shard);
    if (index >= 0 && owned_lease_is(owned, index, OWNED_LEASING, ticket))
        owned_lease_wait(owned, now, index);
}

static void released(struct owned_shards *owned, uint64_t now, int64_t index)
{
    if (owned->shards[index]->restarts)
        begin_again(owned, now, index);
    else
        end(owned, index, true);
}

void owned_released(struct owned_shards *owned, uint64_t now, int32_t shard, uint32_t ticket)
{
    int64_t index = owned_index(owned, shard);
    if (index >= 0 && owned_lease_is(owned, index, OWNED_RELEASING, ticket))
        released(owned, now, index);
}

/* Ends its entities at once. It starts again where it is, unless it was about to stop. */
static void lose_lease(struct owned_shards *owned, int64_t index)
{
    struct owned_shard *at = owned->shards[index];
    owned_lease_drop(owned, index);
    if (owned->state[index] == OWNED_FENCED_STOPPING)
        return;
    SOMETIMES("a shard loses its lease while it drains", owned->state[index] == OWNED_DRAINING);
    SOMETIMES("a shard loses its lease while it stops", owned->state[index] == OWNED_STOPPING);
    if (!at->restarts && owned->state[index] != OWNED_STOPPING) {
        at->restarts = true;
        at->restart = at->order;
    }
    owned->counters.leases_lost++;
    owned_set_state(owned, index, OWNED_FENCED_STOPPING);
    at->due = NEVER;
    owned_put_fence(owned, OWNED_LEASE_LOST, index);
}

void owned_leases_lost(struct owned_shards *owned, uint64_t now)
{
    (void)now;
    owned->lease_until = 0;
    for (int64_t i = 0; owned->leased && i < 2 * (int64_t)owned->shard_count - 1; i++)
        if (owned->shards[i] && owned->shards[i]->is_leased)
            lose_lease(owned, i);
}

/* ---- other owners ---- */

void owned_fenced(struct owned_shards *owned, uint64_t now, int32_t shard,
                   struct fence fence)
{
    (void)now;
    int64_t index = owned_index(owned, shard);
    if (index < 0)
        return;
    switch ((enum owned_state)owned->state[index]) {
    case OWNED_STARTING:
    case OWNED_RUNNING:
    case OWNED_DRAINING:
    case OWNED_STOPPING:
        if (fence_compare(fence, owned->shards[index]->fence) >= 0) {
            SOMETIMES("a shard is fenced off while it drains",
                      owned->state[index] == OWNED_DRAINING);
            SOMETIMES("a shard is fenced off while it stops",
                      owned->state[index] == OWNED_STOPPING);
            fence_off(owned, index);
            return;
        }
        break;
    case OWNED_LEASING:
    case OWNED_CLAIMING: /* a write of the last incarnation */
    case OWNED_RELEASING:
    case OWNED_FENCED_STOPPING:
    case OWNED_ABSENT:
        break;
    }
    owned->counters.stale++;
}

void owned_lost(struct owned_shards *owned, uint64_t now, int32_t shard,
                 struct fence fence)
{
    (void)now;
    int64_t index = owned_index(owned, shard);
    if (index < 0)
        return;
    struct owned_shard *at = owned->shards[index];
    if (owned->state[index] == OWNED_ABSENT ||
        (!fence_is_none(fence) &&
         fence_compare(fence, at->restarts ? at->restart : at->order) <= 0)) {
        owned->counters.stale++;
        return;
    }
    if (owned->state[index] == OWNED_FENCED_STOPPING && !at->restarts)
        return;
    REACHED("a shard ends: the coordinator named another home");
    if (at->restarts)
        at->order = at->restart;
    at->restarts = false;
    fence_off(owned, index);
}

static void drain_failed(struct owned_shards *owned, int64_t index)
{
    struct owned_shard *at = owned->shards[index];
    REACHED("markers did not come in time");
    marker_debts_forget(at);
    if (owned->state[index] == OWNED_DRAINING)
        owned_set_state(owned, index, OWNED_RUNNING);
    owned->counters.drains_failed++;
    owned_put_news(owned, (struct owned_news){ .kind = OWNED_DRAIN_FAILED,
                                       .shard = owned_shard_at(owned, index),
                                       .attempt = at->attempt,
                                       .reason = "markers are missing" });
}

static void due(struct owned_shards *owned, uint64_t now, int64_t index)
{
    struct owned_shard *at = owned->shards[index];
    at->due = NEVER;
    switch ((enum owned_state)owned->state[index]) {
    case OWNED_CLAIMING:
        owned_put_fence(owned, OWNED_CLAIM, index);
        return;
    case OWNED_DRAINING:
        if (at->debt_count == 0)
            stop_entities(owned, now, index);
        else
            drain_failed(owned, index);
        return;
    case OWNED_LEASING:
        drain_failed(owned, index);
        return;
    case OWNED_STOPPING:
        REACHED("the stop of a shard's entities is forced");
        owned->counters.killed++;
        owned_put_fence(owned, OWNED_KILL_ENTITIES, index);
        return;
    case OWNED_RELEASING:
        REACHED("a shard ends before its lease is known to be released");
        released(owned, now, index);
        return;
    case OWNED_STARTING:
    case OWNED_RUNNING:
    case OWNED_FENCED_STOPPING:
    case OWNED_ABSENT:
        return;
    }
}

void owned_tick(struct owned_shards *owned, uint64_t now)
{
    struct timer timer;
    if (owned->leased && owned->lease_until <= now)
        owned_leases_lost(owned, now);
    while (timers_take(&owned->timers, now, &timer)) {
        int64_t index = (int64_t)timer.id;
        struct owned_shard *at = owned->shards[index];
        if (!at || owned->state[index] == OWNED_ABSENT)
            continue;
        if (timer.kind == OWNED_TIMER_LEASE) {
            if (owned_lease_is(owned, index, OWNED_LEASING, timer.generation))
                owned_lease_ask(owned, index);
        } else if (at->due <= now) { /* a timer of an earlier state finds another time here */
            due(owned, now, index);
        }
    }
}

bool owned_waits(const struct owned_shards *owned, int32_t shard)
{
    int64_t index = shard_index(shard, owned->shard_count);
    if (index < 0)
        return false;
    switch ((enum owned_state)owned->state[index]) {
    case OWNED_LEASING:
    case OWNED_CLAIMING:
    case OWNED_STARTING:
    case OWNED_STOPPING:
    case OWNED_RELEASING:
        return true;
    case OWNED_FENCED_STOPPING:
        return owned->shards[index]->restarts;
    case OWNED_RUNNING:
    case OWNED_DRAINING:
    case OWNED_ABSENT:
        break;
    }
    return false;
}

bool owned_hold(struct owned_shards *owned, uint64_t now, int32_t shard,
                 struct pending_item *held)
{
    if (!owned_waits(owned, shard))
        return false;
    int64_t index = shard_index(shard, owned->shard_count);
    return pending_put(&owned->shards[index]->waiting, owned->budget, now,
                    held);
}

struct pending_item *owned_take(struct owned_shards *owned, int32_t shard)
{
    int64_t index = shard_index(shard, owned->shard_count);
    if (index >= 0 && owned->state[index] == OWNED_STARTING)
        open_shard(owned, index);
    if (!owned_accepts(owned, shard))
        return NULL;
    return pending_take(&owned->shards[index]->waiting, owned->budget);
}

void owned_release(struct owned_shards *owned, int32_t shard,
                    struct pending_queue *queue)
{
    int64_t index = shard_index(shard, owned->shard_count);
    if (index < 0 || !owned->shards[index])
        return;
    pending_append(queue, &owned->shards[index]->waiting);
    if (owned->state[index] == OWNED_ABSENT)
        shard_free(owned, index);
}

void owned_adopt(struct owned_shards *owned, int32_t shard,
                  struct pending_queue *queue)
{
    int64_t index = shard_index(shard, owned->shard_count);
    check(index >= 0 && owned->state[index] != OWNED_ABSENT);
    pending_append(&owned->shards[index]->waiting, queue);
}

struct fence owned_fence(const struct owned_shards *owned, int32_t shard)
{
    int64_t index = shard_index(shard, owned->shard_count);
    return index >= 0 && owned->state[index] != OWNED_ABSENT
               ? owned->shards[index]->fence
               : (struct fence){ 0, 0 };
}

bool owned_next(const struct owned_shards *owned, uint32_t *at, int32_t *shard,
                 enum owned_state *state)
{
    while (*at < 2 * owned->shard_count - 1) {
        uint32_t index = (*at)++;
        if (owned->state[index] == OWNED_ABSENT)
            continue;
        *shard = owned_shard_at(owned, index);
        *state = (enum owned_state)owned->state[index];
        return true;
    }
    return false;
}
