/* Implements the states of the shards that one lane owns, and holds the messages that wait for
 * them. */
#include "shard/owned_shards_inside.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/mark.h"
#include "base/zoo.h"

void owned_init(struct hosted *hosted, const struct owned_options *options)
{
    check(options->shard_count > 0 && options->shard_count <= SHARDS_MAX);
    check(options->budget);
    *hosted = (struct hosted){ 0 };
    hosted->shard_count = options->shard_count;
    hosted->persists = options->persists;
    hosted->stop_timeout =
        options->stop_timeout ? options->stop_timeout : HOSTED_STOP_TIMEOUT;
    hosted->claim_retry =
        options->claim_retry ? options->claim_retry : HOSTED_CLAIM_RETRY;
    hosted->budget = options->budget;
    hosted->trace = options->trace;
    hosted->type = options->type ? options->type : "";
    hosted->probes = options->probes;
    hosted->type_index = options->type_index;
    size_t size = 2 * (size_t)options->shard_count - 1;
    hosted->state = mem_alloc(size);
    hosted->shards = mem_alloc(size * sizeof *hosted->shards);
}

static void shard_free(struct hosted *hosted, int64_t index)
{
    struct owned_shard *at = hosted->shards[index];
    check(at->waiting.count == 0);
    if (!ZOO(H1))
        mem_free(at->debts);
    mem_free(at);
    hosted->shards[index] = NULL;
}

void owned_fini(struct hosted *hosted)
{
    if (!hosted || !hosted->state)
        return;
    for (int64_t i = 0; i < 2 * (int64_t)hosted->shard_count - 1; i++) {
        if (hosted->shards[i])
            shard_free(hosted, i);
    }
    timers_fini(&hosted->timers);
    mem_free(hosted->state);
    mem_free(hosted->shards);
    mem_free(hosted->early);
    mem_free(hosted->news);
    *hosted = (struct hosted){ 0 };
}

static int64_t index_of(struct hosted *hosted, int32_t shard)
{
    int64_t index = shard_index(shard, hosted->shard_count);
    if (index < 0)
        hosted->counters.invalid++;
    return index;
}

static void tell(struct hosted *hosted, struct owned_news news)
{
    if (hosted->news_count == hosted->news_capacity) {
        hosted->news_capacity =
            hosted->news_capacity ? hosted->news_capacity * 2 : 8;
        hosted->news = mem_resize(hosted->news, hosted->news_capacity *
                                                    sizeof *hosted->news);
    }
    hosted->news[hosted->news_count++] = news;
}

bool owned_next_news(struct hosted *hosted, struct owned_news *news)
{
    if (hosted->news_first == hosted->news_count) {
        hosted->news_first = hosted->news_count = 0;
        return false;
    }
    *news = hosted->news[hosted->news_first++];
    return true;
}

static void tell_fence(struct hosted *hosted, enum owned_news_kind kind,
                       int32_t shard, struct fence fence)
{
    tell(hosted,
         (struct owned_news){ .kind = kind, .shard = shard, .fence = fence });
}

static void set_due(struct hosted *hosted, int64_t index, uint64_t due)
{
    hosted->shards[index]->due = due;
    if (due != NEVER)
        timers_put(&hosted->timers, due, 0, (uint64_t)index, 0);
}

static int32_t shard_at(const struct hosted *hosted, int64_t index)
{
    return (int32_t)(index - hosted->shard_count + 1);
}

/* From STARTING on, entities may run here until all have ended. */
static void probe_state(const struct hosted *hosted, int64_t index,
                        enum owned_state old, enum owned_state state)
{
    struct probe probe = { .kind = PROBE_SHARD_ENDED,
                           .type = hosted->type_index,
                           .shard = shard_at(hosted, index),
                           .fence = hosted->shards[index]->order };

    if (old >= HOSTED_STARTING && state <= HOSTED_STARTING)
        probes_put(hosted->probes, &probe);
    probe.kind = PROBE_SHARD_HOSTED;
    if (state == HOSTED_STARTING)
        probes_put(hosted->probes, &probe);
    probe.kind = PROBE_SHARD_STOPPING;
    if (state == HOSTED_STOPPING)
        probes_put(hosted->probes, &probe);
}

static void set_state(struct hosted *hosted, int64_t index,
                      enum owned_state state)
{
    uint8_t old = hosted->state[index];
    hosted->state[index] = (uint8_t)state;
    if (hosted->probes)
        probe_state(hosted, index, (enum owned_state)old, state);
    if (old == HOSTED_ABSENT && state != HOSTED_ABSENT)
        hosted->count++;
    else if (old != HOSTED_ABSENT && state == HOSTED_ABSENT)
        hosted->count--;
    trace_put(hosted->trace, TRACE_DEBUG, "hosted",
              "shard state changed type=%s shard=%d from=%s to=%s", hosted->type,
              (int)(index - hosted->shard_count + 1),
              owned_state_name((enum owned_state)old),
              owned_state_name(state));
}

static void stop_entities(struct hosted *hosted, uint64_t now, int64_t index)
{
    set_state(hosted, index, HOSTED_STOPPING);
    set_due(hosted, index, now + hosted->stop_timeout);
    tell_fence(hosted, HOSTED_STOP_ENTITIES, shard_at(hosted, index),
               hosted->shards[index]->order);
}

static void drain(struct hosted *hosted, uint64_t now, int64_t index)
{
    struct owned_shard *at = hosted->shards[index];
    if (at->debt_count == 0) {
        stop_entities(hosted, now, index);
        return;
    }
    set_state(hosted, index, HOSTED_DRAINING);
    set_due(hosted, index, at->drain_until);
}

/* Waiting messages enter first: nothing else is accepted until the caller has taken them. */
static void run(struct hosted *hosted, int64_t index)
{
    struct owned_shard *at = hosted->shards[index];
    set_state(hosted, index, HOSTED_STARTING);
    at->due = NEVER;
    hosted->counters.started++;
    tell_fence(hosted, HOSTED_STARTED, shard_at(hosted, index), at->order);
}

static void open_shard(struct hosted *hosted, int64_t index)
{
    struct owned_shard *at = hosted->shards[index];
    if (!at->drains) {
        set_state(hosted, index, HOSTED_RUNNING);
        return;
    }
    set_state(hosted, index, HOSTED_DRAINING);
    set_due(hosted, index, at->debt_count == 0 ? 0 : at->drain_until);
}

/* Starts under at->order; types that persist claim first. */
static void begin(struct hosted *hosted, int64_t index)
{
    struct owned_shard *at = hosted->shards[index];
    at->fence = at->order;
    at->restarts = false;
    at->due = NEVER;
    if (!hosted->persists) {
        run(hosted, index);
        return;
    }
    at->claim_delay = hosted->claim_retry;
    set_state(hosted, index, HOSTED_CLAIMING);
    tell_fence(hosted, HOSTED_CLAIM, shard_at(hosted, index), at->order);
}

static void fence_off(struct hosted *hosted, int64_t index)
{
    struct owned_shard *at = hosted->shards[index];
    set_state(hosted, index, HOSTED_FENCED_STOPPING);
    at->due = NEVER;
    hosted->counters.fenced++;
    tell_fence(hosted, HOSTED_FENCED, shard_at(hosted, index), at->order);
}

static void start_again(struct hosted *hosted, struct owned_shard *at,
                        struct fence fence)
{
    if (fence_is_none(fence)) {
        /* Without fences a late repeat looks like a new order. A new order will be repeated. */
        hosted->counters.stale++;
        return;
    }
    at->restarts = true;
    at->restart = fence;
    marker_debts_forget(at);
}

/* For a present shard; the fence is not older. */
static void start_here(struct hosted *hosted, int64_t index,
                       struct fence fence, int order)
{
    struct owned_shard *at = hosted->shards[index];
    switch ((enum owned_state)hosted->state[index]) {
    case HOSTED_CLAIMING:
        if (!fence_is_none(fence))
            marker_debts_forget(at);
        if (order > 0) {
            at->order = fence;
            begin(hosted, index);
        }
        return;
    case HOSTED_DRAINING:
        if (order == 0 && !fence_is_none(fence)) {
            marker_debts_forget(at);
            at->due = NEVER;
            set_state(hosted, index, HOSTED_RUNNING);
            tell_fence(hosted, HOSTED_STARTED, shard_at(hosted, index),
                       at->order);
            return;
        }
        /* fall through */
    case HOSTED_STARTING:
    case HOSTED_RUNNING:
        if (order == 0 && hosted->state[index] == HOSTED_STARTING &&
            !fence_is_none(fence))
            marker_debts_forget(at);
        if (order > 0) {
            /* The running shard may lack another owner's events. */
            REACHED("a shard that runs starts again under a higher fence");
            start_again(hosted, at, fence);
            fence_off(hosted, index);
        } else if (hosted->state[index] == HOSTED_RUNNING) {
            tell_fence(hosted, HOSTED_STARTED, shard_at(hosted, index),
                       at->order);
        }
        return;
    case HOSTED_STOPPING:
        REACHED("a stopping shard must start again");
        start_again(hosted, at, fence);
        return;
    case HOSTED_FENCED_STOPPING:
        if (order > 0)
            start_again(hosted, at, fence);
        else
            hosted->counters.stale++;
        return;
    case HOSTED_ABSENT:
        check(hosted->state[index] != HOSTED_ABSENT);
        return;
    }
}

void owned_start(struct hosted *hosted, uint64_t now, int32_t shard,
                  struct fence fence)
{
    (void)now;
    int64_t index = index_of(hosted, shard);
    if (index < 0)
        return;
    if (hosted->state[index] == HOSTED_ABSENT) {
        if (!hosted->shards[index])
            hosted->shards[index] = mem_alloc(sizeof(struct owned_shard));
        hosted->shards[index]->order = fence;
        owned_early_drop_below(hosted, shard, fence);
        begin(hosted, index);
        return;
    }
    const struct owned_shard *at = hosted->shards[index];
    int order = fence_compare(fence, at->restarts ? at->restart : at->order);
    if (order < 0)
        hosted->counters.stale++;
    else
        start_here(hosted, index, fence, order);
}

void owned_claimed(struct hosted *hosted, uint64_t now, int32_t shard,
                    struct fence fence, struct fence claimed,
                    enum claim_result result)
{
    int64_t index = index_of(hosted, shard);
    if (index < 0)
        return;
    struct owned_shard *at = hosted->shards[index];
    if (hosted->state[index] != HOSTED_CLAIMING ||
        fence_compare(fence, at->order) != 0) {
        hosted->counters.stale++;
        return;
    }
    switch (result) {
    case CLAIM_OK:
        at->fence = claimed;
        run(hosted, index);
        return;
    case CLAIM_STALE:
        REACHED("a claim was refused: a higher fence is stored");
        fence_off(hosted, index);
        return;
    case CLAIM_ERROR:
        REACHED("a claim failed and is repeated");
        hosted->counters.claim_errors++;
        set_due(hosted, index, now + at->claim_delay);
        if (at->claim_delay < 8 * hosted->claim_retry)
            at->claim_delay *= 2;
        return;
    }
}

void owned_drain(struct hosted *hosted, uint64_t now, int32_t shard,
                  struct attempt attempt, const struct owing *owing,
                  uint32_t count, uint64_t deadline)
{
    int64_t index = index_of(hosted, shard);
    if (index < 0)
        return;
    if (count > OWING_MAX) {
        hosted->counters.invalid++;
        count = OWING_MAX;
    }
    struct owned_shard *at = hosted->shards[index];
    if (hosted->state[index] == HOSTED_ABSENT) {
        tell(hosted, (struct owned_news){ .kind = HOSTED_STOPPED,
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
        hosted->counters.stale++;
        return;
    }
    at->attempt = attempt;
    at->attempted = true;
    at->drains = true;
    at->drain_until = deadline;
    marker_debts_set(hosted, at, owing, count);
    owned_early_pay(hosted, shard, at);
    switch ((enum owned_state)hosted->state[index]) {
    case HOSTED_RUNNING:
    case HOSTED_DRAINING:
        drain(hosted, now, index);
        return;
    case HOSTED_STOPPING:
        /* A later attempt: messages arrived since the last one, to handle before the shard goes. */
        REACHED("a second attempt hands off a stopping shard");
        at->restarts = true;
        at->restart = at->order;
        return;
    case HOSTED_CLAIMING:
    case HOSTED_STARTING:
    case HOSTED_FENCED_STOPPING:
    case HOSTED_ABSENT:
        return; /* open_shard and owned_entities_stopped handle it */
    }
}

void owned_marker(struct hosted *hosted, uint64_t now, int32_t shard,
                   struct attempt attempt, uint64_t uid, uint32_t lane)
{
    int64_t index = index_of(hosted, shard);
    if (index < 0)
        return;
    if (lane >= LANES_MAX) {
        hosted->counters.invalid++;
        return;
    }
    hosted->counters.markers++;
    struct owned_shard *at = hosted->shards[index];
    struct hosted_early marker = { shard, attempt, uid, UINT64_C(1) << lane };
    if (hosted->state[index] == HOSTED_ABSENT) {
        owned_early_keep(hosted, &marker);
        return;
    }
    int order = at->attempted ? attempt_compare(attempt, at->attempt) : 1;
    if (fence_compare(attempt.fence, at->order) < 0 || order < 0 ||
        (order == 0 && !at->drains)) {
        REACHED("a marker arrives for a hand-off that has ended");
        hosted->counters.markers_stale++;
        return;
    }
    if (order > 0) {
        owned_early_keep(hosted, &marker);
        return;
    }
    if (!marker_debts_pay(at, uid, marker.lanes)) {
        hosted->counters.markers_stale++;
        return;
    }
    if (at->debt_count == 0 && hosted->state[index] == HOSTED_DRAINING)
        drain(hosted, now, index);
}

void owned_node_gone(struct hosted *hosted, uint64_t now, uint64_t uid)
{
    for (int64_t i = 0; i < 2 * (int64_t)hosted->shard_count - 1; i++) {
        struct owned_shard *at = hosted->shards[i];
        if (!at || at->debt_count == 0)
            continue;
        while (marker_debts_pay(at, uid, UINT64_MAX))
            REACHED("a removed node owes no marker any more");
        if (at->debt_count == 0 && hosted->state[i] == HOSTED_DRAINING)
            drain(hosted, now, i);
    }
    owned_early_node_gone(hosted, uid);
}

void owned_entities_stopped(struct hosted *hosted, uint64_t now,
                             int32_t shard)
{
    (void)now;
    int64_t index = index_of(hosted, shard);
    if (index < 0)
        return;
    struct owned_shard *at = hosted->shards[index];
    if (hosted->state[index] != HOSTED_STOPPING &&
        hosted->state[index] != HOSTED_FENCED_STOPPING)
        return;
    if (at->restarts) {
        at->order = at->restart;
        begin(hosted, index);
        return;
    }
    bool told = hosted->state[index] == HOSTED_STOPPING || at->drains;
    struct attempt attempt = at->attempt;
    marker_debts_forget(at);
    set_state(hosted, index, HOSTED_ABSENT);
    hosted->counters.stopped++;
    if (at->waiting.count == 0)
        shard_free(hosted, index);
    if (told)
        tell(hosted, (struct owned_news){ .kind = HOSTED_STOPPED,
                                           .shard = shard,
                                           .attempt = attempt });
}

void owned_fenced(struct hosted *hosted, uint64_t now, int32_t shard,
                   struct fence fence)
{
    (void)now;
    int64_t index = index_of(hosted, shard);
    if (index < 0)
        return;
    switch ((enum owned_state)hosted->state[index]) {
    case HOSTED_STARTING:
    case HOSTED_RUNNING:
    case HOSTED_DRAINING:
    case HOSTED_STOPPING:
        if (fence_compare(fence, hosted->shards[index]->fence) >= 0) {
            SOMETIMES("a shard is fenced off while it drains",
                      hosted->state[index] == HOSTED_DRAINING);
            SOMETIMES("a shard is fenced off while it stops",
                      hosted->state[index] == HOSTED_STOPPING);
            fence_off(hosted, index);
            return;
        }
        break;
    case HOSTED_CLAIMING: /* a write of the last incarnation */
    case HOSTED_FENCED_STOPPING:
    case HOSTED_ABSENT:
        break;
    }
    hosted->counters.stale++;
}

void owned_lost(struct hosted *hosted, uint64_t now, int32_t shard,
                 struct fence fence)
{
    (void)now;
    int64_t index = index_of(hosted, shard);
    if (index < 0)
        return;
    struct owned_shard *at = hosted->shards[index];
    if (hosted->state[index] == HOSTED_ABSENT ||
        (!fence_is_none(fence) &&
         fence_compare(fence, at->restarts ? at->restart : at->order) <= 0)) {
        hosted->counters.stale++;
        return;
    }
    if (hosted->state[index] == HOSTED_FENCED_STOPPING && !at->restarts)
        return;
    REACHED("a shard ends: the coordinator named another home");
    if (at->restarts)
        at->order = at->restart;
    at->restarts = false;
    fence_off(hosted, index);
}

static void due(struct hosted *hosted, uint64_t now, int64_t index)
{
    struct owned_shard *at = hosted->shards[index];
    int32_t shard = shard_at(hosted, index);
    at->due = NEVER;
    switch ((enum owned_state)hosted->state[index]) {
    case HOSTED_CLAIMING:
        tell_fence(hosted, HOSTED_CLAIM, shard, at->order);
        return;
    case HOSTED_DRAINING:
        if (at->debt_count == 0) {
            stop_entities(hosted, now, index);
            return;
        }
        REACHED("markers did not come in time");
        marker_debts_forget(at);
        set_state(hosted, index, HOSTED_RUNNING);
        hosted->counters.drains_failed++;
        tell(hosted, (struct owned_news){ .kind = HOSTED_DRAIN_FAILED,
                                           .shard = shard,
                                           .attempt = at->attempt,
                                           .reason = "markers are missing" });
        return;
    case HOSTED_STOPPING:
        REACHED("the stop of a shard's entities is forced");
        hosted->counters.killed++;
        tell_fence(hosted, HOSTED_KILL_ENTITIES, shard, at->order);
        return;
    case HOSTED_STARTING:
    case HOSTED_RUNNING:
    case HOSTED_FENCED_STOPPING:
    case HOSTED_ABSENT:
        return;
    }
}

void owned_tick(struct hosted *hosted, uint64_t now)
{
    struct timer timer;
    while (timers_take(&hosted->timers, now, &timer)) {
        int64_t index = (int64_t)timer.id;
        struct owned_shard *at = hosted->shards[index];
        /* A timer of an earlier state finds another time here. */
        if (at && hosted->state[index] != HOSTED_ABSENT && at->due <= now)
            due(hosted, now, index);
    }
}

uint64_t owned_deadline(const struct hosted *hosted)
{
    return timers_deadline(&hosted->timers);
}

bool owned_waits(const struct hosted *hosted, int32_t shard)
{
    int64_t index = shard_index(shard, hosted->shard_count);
    if (index < 0)
        return false;
    switch ((enum owned_state)hosted->state[index]) {
    case HOSTED_CLAIMING:
    case HOSTED_STARTING:
    case HOSTED_STOPPING:
        return true;
    case HOSTED_FENCED_STOPPING:
        return hosted->shards[index]->restarts;
    case HOSTED_RUNNING:
    case HOSTED_DRAINING:
    case HOSTED_ABSENT:
        break;
    }
    return false;
}

bool owned_hold(struct hosted *hosted, uint64_t now, int32_t shard,
                 struct held *held)
{
    if (!owned_waits(hosted, shard))
        return false;
    int64_t index = shard_index(shard, hosted->shard_count);
    return pending_put(&hosted->shards[index]->waiting, hosted->budget, now,
                    held);
}

struct held *owned_take(struct hosted *hosted, int32_t shard)
{
    int64_t index = shard_index(shard, hosted->shard_count);
    if (index >= 0 && hosted->state[index] == HOSTED_STARTING)
        open_shard(hosted, index);
    if (!owned_accepts(hosted, shard))
        return NULL;
    return pending_take(&hosted->shards[index]->waiting, hosted->budget);
}

void owned_release(struct hosted *hosted, int32_t shard,
                    struct pending_queue *queue)
{
    int64_t index = shard_index(shard, hosted->shard_count);
    if (index < 0 || !hosted->shards[index])
        return;
    pending_append(queue, &hosted->shards[index]->waiting);
    if (hosted->state[index] == HOSTED_ABSENT)
        shard_free(hosted, index);
}

void owned_adopt(struct hosted *hosted, int32_t shard,
                  struct pending_queue *queue)
{
    int64_t index = shard_index(shard, hosted->shard_count);
    check(index >= 0 && hosted->state[index] != HOSTED_ABSENT);
    pending_append(&hosted->shards[index]->waiting, queue);
}

struct fence owned_fence(const struct hosted *hosted, int32_t shard)
{
    int64_t index = shard_index(shard, hosted->shard_count);
    return index >= 0 && hosted->state[index] != HOSTED_ABSENT
               ? hosted->shards[index]->fence
               : (struct fence){ 0, 0 };
}

bool owned_next(const struct hosted *hosted, uint32_t *at, int32_t *shard,
                 enum owned_state *state)
{
    while (*at < 2 * hosted->shard_count - 1) {
        uint32_t index = (*at)++;
        if (hosted->state[index] == HOSTED_ABSENT)
            continue;
        *shard = shard_at(hosted, index);
        *state = (enum owned_state)hosted->state[index];
        return true;
    }
    return false;
}

const char *owned_state_name(enum owned_state state)
{
    static const char *const names[] = { "absent",   "claiming",
                                         "starting", "running",
                                         "draining", "stopping",
                                         "fenced" };
    return (unsigned)state < sizeof names / sizeof *names ? names[state]
                                                          : "invalid";
}
