/* Implements operations.h, and coordinator_operate.
 *
 * An operation has no steps of its own. It begins a hand-off, names the shard's next home to the
 * allocation, and reads its state from what the coordinator has. */
#include "shard/operations.h"

#include "base/bound.h"
#include "base/limits.h"
#include "base/mark.h"
#include "shard/handoff.h"
#include "shard/strategy.h"

struct operation {
    struct buf id;
    struct node_id asker;
    struct shard *shard;
    struct address target;
    uint64_t from;     /* number of the home that the shard leaves */
    uint64_t until;    /* it begins before */
    uint64_t ends_by;  /* it fails then, whatever goes on */
    uint64_t hold;     /* ns, from its end */
    uint64_t began_at; /* of the hand-off; 0: not begun */
    uint64_t stall;    /* ns */
    enum sherd_operation_state state;
    enum sherd_operation_code code;
};

static void drop(struct operation *operation)
{
    buf_fini(&operation->id);
    mem_free(operation);
}

void operations_drop(struct coordinator *coordinator)
{
    struct coordinator_operations *operations = &coordinator->operations;

    for (uint32_t i = 0; i < operations->open.count; i++)
        drop(operations->open.items[i]);
    for (uint32_t i = 0; i < operations->ended.count; i++)
        drop(operations->ended.items[i]);
    vec_fini(&operations->open);
    vec_fini(&operations->ended);
    buf_fini(&operations->pause);
}

static struct registrant *region_at(const struct coordinator *coordinator,
                                    const struct address *address)
{
    for (uint32_t i = 0; i < coordinator->regions.count; i++) {
        struct registrant *region = coordinator->regions.items[i];

        if (!region->is_proxy && address_equal(&region->node.address, address))
            return region;
    }
    return NULL;
}

struct registrant *operations_wish(const struct coordinator *coordinator,
                                   const struct shard *shard)
{
    for (uint32_t i = 0; i < coordinator->operations.open.count; i++) {
        const struct operation *operation = coordinator->operations.open.items[i];
        struct registrant *target;

        if (operation->shard != shard)
            continue;
        target = region_at(coordinator, &operation->target);
        return target && strategy_takes(target) ? target : NULL;
    }
    return NULL;
}

bool operations_hold(const struct coordinator *coordinator, const struct shard *shard,
                     uint64_t now)
{
    if (now < shard->held_until)
        return true;
    for (uint32_t i = 0; i < coordinator->operations.open.count; i++)
        if (coordinator->operations.open.items[i]->shard == shard)
            return true;
    return false;
}

/* ---- reports ---- */

static const char *text_of(enum sherd_operation_state state, enum sherd_operation_code code)
{
    static const char *const texts[SHERD_OPERATION_CODE_COUNT] = {
        [SHERD_OPERATION_OK] = "",
        [SHERD_OPERATION_NO_HOME] = "the shard has no home",
        [SHERD_OPERATION_NOT_OPEN] = "the coordinator does not know all nodes yet",
        [SHERD_OPERATION_STATE] = "the cluster is about to end",
        [SHERD_OPERATION_NOT_CANDIDATE] =
            "the target does not take shards: it has no region of the type, leaves or is cordoned",
        [SHERD_OPERATION_MOVING] = "the shard is moved already, and not to the target",
        [SHERD_OPERATION_HANDOFF] = "the hand-off failed, and the shard stays: see the home's log",
        [SHERD_OPERATION_ELSEWHERE] = "the shard went to another node",
        [SHERD_OPERATION_TIMEOUT] = "it did not end in time",
        [SHERD_OPERATION_SAME_ID] = "another operation has the same id",
        [SHERD_OPERATION_FULL] = "too many operations of the type are open",
    };

    if (code == SHERD_OPERATION_OK && state == SHERD_OPERATION_DONE)
        return "it is as it should be";
    return texts[code] ? texts[code] : "";
}

static void report(const struct coordinator *coordinator, const struct node_id *to,
                   struct slice id, enum sherd_operation_state state,
                   enum sherd_operation_code code, uint64_t stall, struct outbox *outbox)
{
    operation_report(outbox, to,
                     &(struct operation_progress){ .id = id,
                                                   .state = state,
                                                   .code = code,
                                                   .text = slice_text(text_of(state, code)),
                                                   .term = coordinator->term,
                                                   .stall_us = stall / 1000 });
}

static void report_one(const struct coordinator *coordinator, const struct operation *operation,
                       struct outbox *outbox)
{
    report(coordinator, &operation->asker, buf_slice(&operation->id), operation->state,
           operation->code, operation->stall, outbox);
}

/* ---- one step ---- */

static bool is_at(const struct operation *operation, const struct registrant *home)
{
    return home && address_equal(&home->node.address, &operation->target);
}

static void set(struct operation *operation, enum sherd_operation_state state,
                enum sherd_operation_code code)
{
    operation->state = state;
    operation->code = code;
}

static void begin(struct coordinator *coordinator, uint64_t now, struct operation *operation,
                  struct outbox *outbox)
{
    struct shard *shard = operation->shard;

    if (!operations_wish(coordinator, shard)) {
        REACHED("the target of a move takes no shards any more");
        set(operation, SHERD_OPERATION_FAILED, SHERD_OPERATION_NOT_CANDIDATE);
    } else if (!shard->home->is_registered || shard->home->is_terminating ||
               !is_kept(coordinator, shard->version) || !announce_room(coordinator) ||
               !handoff_start(coordinator, now, shard, outbox)) {
        SOMETIMES("a move waits for its home or for room", true);
        if (now >= operation->until)
            set(operation, SHERD_OPERATION_FAILED, SHERD_OPERATION_TIMEOUT);
    } else {
        operation->from = shard->home->number;
        operation->began_at = now;
    }
}

/* The shard has a home and no hand-off. */
static void rest(struct coordinator *coordinator, uint64_t now, struct operation *operation,
                 struct outbox *outbox)
{
    const struct shard *shard = operation->shard;

    if (is_at(operation, shard->home)) {
        set(operation, shard->is_started ? SHERD_OPERATION_DONE : SHERD_OPERATION_STARTING,
            SHERD_OPERATION_OK);
        if (operation->began_at)
            operation->stall = now - operation->began_at;
    } else if (!operation->from) {
        begin(coordinator, now, operation, outbox);
    } else if (shard->home->is_terminating) {
        set(operation, SHERD_OPERATION_PLACING, SHERD_OPERATION_OK); /* its node has gone */
    } else if (shard->home->number == operation->from) {
        REACHED("the hand-off of an operation failed");
        set(operation, SHERD_OPERATION_FAILED, SHERD_OPERATION_HANDOFF);
    } else {
        REACHED("an operation's shard went to another node");
        set(operation, SHERD_OPERATION_FAILED, SHERD_OPERATION_ELSEWHERE);
    }
}

static void follow(struct coordinator *coordinator, uint64_t now, struct operation *operation,
                   struct outbox *outbox)
{
    const struct shard *shard = operation->shard;

    if (!shard->home && !operation->from)
        operation->from = UINT64_MAX; /* its node has gone: it moves without a hand-off */
    if (shard->home && !shard->handoff)
        rest(coordinator, now, operation, outbox);
    if (operation_is_final(operation->state))
        return;
    if (shard->handoff) {
        if (!operation->from) { /* begun for the same target, or by a rebalance */
            operation->from = shard->home->number;
            operation->began_at = shard->handoff->began_at;
        }
        set(operation,
            shard->handoff->state == HANDOFF_BEGINNING ? SHERD_OPERATION_HOLDING
                                                       : SHERD_OPERATION_STOPPING,
            SHERD_OPERATION_OK);
    } else if (!shard->home) {
        set(operation, SHERD_OPERATION_PLACING, SHERD_OPERATION_OK);
    }
    if (now >= operation->ends_by)
        set(operation, SHERD_OPERATION_FAILED, SHERD_OPERATION_TIMEOUT);
}

static void end(struct coordinator *coordinator, uint64_t now, struct operation *operation)
{
    struct coordinator_operations *operations = &coordinator->operations;

    if (operation->state == SHERD_OPERATION_DONE)
        operation->shard->held_until = now + operation->hold;
    trace_put(coordinator->trace, TRACE_INFO, "coordinator",
              "move ended type=%s shard=%.*s op=%.*s result=%s code=%s stall_ms=%llu",
              coordinator->type, (int)operation->shard->id.size, operation->shard->id.data,
              (int)operation->id.size, (const char *)operation->id.data,
              sherd_operation_state_text(operation->state),
              sherd_operation_code_text(operation->code),
              (unsigned long long)(operation->stall / MS));
    if (operations->ended.count < OPERATIONS_ENDED_MAX) {
        vec_push(&operations->ended, operation);
        return;
    }
    drop(operations->ended.items[operations->next]);
    operations->ended.items[operations->next] = operation;
    operations->next = (operations->next + 1) % OPERATIONS_ENDED_MAX;
}

void operations_follow(struct coordinator *coordinator, uint64_t now, struct outbox *outbox)
{
    struct coordinator_operations *operations = &coordinator->operations;

    for (uint32_t i = 0; i < operations->open.count;) {
        struct operation *operation = operations->open.items[i];
        enum sherd_operation_state before = operation->state;

        follow(coordinator, now, operation, outbox);
        if (operation->state != before)
            report_one(coordinator, operation, outbox);
        if (!operation_is_final(operation->state)) {
            i++;
            continue;
        }
        vec_remove(&operations->open, i);
        end(coordinator, now, operation);
    }
}

/* ---- requests ---- */

static struct operation *find(const struct coordinator *coordinator, struct slice id)
{
    const struct coordinator_operations *operations = &coordinator->operations;

    for (uint32_t i = 0; i < operations->open.count; i++)
        if (slice_equal(buf_slice(&operations->open.items[i]->id), id))
            return operations->open.items[i];
    for (uint32_t i = 0; i < operations->ended.count; i++)
        if (slice_equal(buf_slice(&operations->ended.items[i]->id), id))
            return operations->ended.items[i];
    return NULL;
}

static bool moves_elsewhere(const struct coordinator *coordinator, const struct shard *shard,
                            const struct address *target)
{
    for (uint32_t i = 0; i < coordinator->operations.open.count; i++) {
        const struct operation *operation = coordinator->operations.open.items[i];

        if (operation->shard == shard)
            return !address_equal(&operation->target, target);
    }
    return shard->handoff != NULL;
}

/* The first check that fails is the answer. Waiting: the asker asks again. */
static enum sherd_operation_state check_request(const struct coordinator *coordinator,
                                                const struct operation_request *request,
                                                enum sherd_operation_code *code)
{
    const struct shard *shard = shard_find(coordinator, request->shard);
    const struct registrant *target = region_at(coordinator, &request->node);

    *code = SHERD_OPERATION_NOT_OPEN;
    if (!coordinator->is_active || !coordinator->has_opened || coordinator->is_stopping)
        return SHERD_OPERATION_WAITING;
    *code = SHERD_OPERATION_STATE;
    if (coordinator->is_cluster_stopping)
        return SHERD_OPERATION_FAILED;
    *code = SHERD_OPERATION_NO_HOME;
    if (!shard || !shard->home)
        return shard && shard->is_wanted ? SHERD_OPERATION_WAITING : SHERD_OPERATION_FAILED;
    *code = SHERD_OPERATION_NOT_CANDIDATE;
    if (!target || !strategy_takes(target))
        return SHERD_OPERATION_FAILED;
    *code = SHERD_OPERATION_MOVING;
    if (shard->home != target && moves_elsewhere(coordinator, shard, &request->node))
        return SHERD_OPERATION_FAILED;
    *code = SHERD_OPERATION_FULL;
    if (coordinator->operations.open.count >= OPERATIONS_OF_TYPE_MAX)
        return SHERD_OPERATION_FAILED;
    *code = SHERD_OPERATION_OK;
    return SHERD_OPERATION_DONE;
}

/* ---- pauses ---- */

static void set_pause(struct coordinator *coordinator, const struct operation_request *request)
{
    struct buf *pause = &coordinator->operations.pause;

    buf_clear(pause);
    if (request->kind == SHERD_PAUSE_REBALANCE) {
        buf_put_slice(pause, request->by);
        buf_put_text(pause, ": ");
        buf_put_slice(pause, request->reason);
        coordinator->moves_head = coordinator->moves.count;
    }
    keep_term(coordinator);
    coordinator->operations.pause_version = coordinator->state_store.version;
    trace_put(coordinator->trace, TRACE_INFO, "coordinator", "rebalances %s type=%s op=%.*s by=\"%.*s\"",
              pause->size ? "are paused" : "go on", coordinator->type, (int)request->id.size,
              (const char *)request->id.data, (int)request->by.size, (const char *)request->by.data);
}

static void operate_pause(struct coordinator *coordinator, uint64_t now,
                          const struct node_id *asker, const struct operation_request *request,
                          struct outbox *outbox)
{
    struct coordinator_operations *operations = &coordinator->operations;
    bool is_there = (operations->pause.size != 0) == (request->kind == SHERD_PAUSE_REBALANCE);
    enum sherd_operation_state state = SHERD_OPERATION_DONE;
    enum sherd_operation_code code = SHERD_OPERATION_OK;

    if (!coordinator->is_active || coordinator->is_stopping) {
        state = SHERD_OPERATION_WAITING;
        code = SHERD_OPERATION_NOT_OPEN;
    } else if (!request->is_dry_run && !is_there &&
               operation_ids_have(&operations->pauses, request->id)) {
        REACHED("a request to pause or resume comes after a later one");
        state = SHERD_OPERATION_CANCELLED;
    } else if (!request->is_dry_run) {
        operation_ids_add(&operations->pauses, request->id);
        if (!is_there)
            set_pause(coordinator, request);
        coordinator_settle(coordinator, now, outbox);
        if (!is_kept(coordinator, operations->pause_version))
            state = SHERD_OPERATION_WAITING;
    }
    report(coordinator, asker, request->id, state, code, 0, outbox);
}

/* ---- moves ---- */

static void open(struct coordinator *coordinator, uint64_t now, const struct node_id *asker,
                 const struct operation_request *request)
{
    struct operation *operation = mem_alloc(sizeof *operation);

    buf_put_slice(&operation->id, request->id);
    operation->asker = *asker;
    operation->shard = shard_find(coordinator, request->shard);
    operation->target = request->node;
    operation->until = now + request->within_ms * MS;
    operation->ends_by = operation->until + 2 * coordinator->settings.handoff_timeout_ms * MS;
    operation->hold = request->hold_ms * MS;
    vec_push(&coordinator->operations.open, operation);
    BOUNDED("operations of a coordinator", coordinator->operations.open.count,
            OPERATIONS_OF_TYPE_MAX);
    trace_put(coordinator->trace, TRACE_INFO, "coordinator",
              "move begins type=%s shard=%.*s op=%.*s by=\"%.*s\" reason=\"%.*s\"",
              coordinator->type, (int)request->shard.size, request->shard.data,
              (int)request->id.size, (const char *)request->id.data, (int)request->by.size,
              (const char *)request->by.data, (int)request->reason.size,
              (const char *)request->reason.data);
}

void coordinator_operate(struct coordinator *coordinator, uint64_t now,
                         const struct node_id *asker, const struct operation_request *request,
                         struct outbox *outbox)
{
    struct operation *operation = find(coordinator, request->id);
    enum sherd_operation_state state;
    enum sherd_operation_code code;

    if (request->kind != SHERD_MOVE_SHARD) {
        operate_pause(coordinator, now, asker, request, outbox);
        return;
    }
    if (operation) {
        bool is_same = slice_equal(operation->shard->id, request->shard) &&
                       address_equal(&operation->target, &request->node);

        SOMETIMES("the id of an operation comes again with another shard", !is_same);
        if (is_same) {
            operation->asker = *asker;
            report_one(coordinator, operation, outbox);
        } else {
            report(coordinator, asker, request->id, SHERD_OPERATION_FAILED,
                   SHERD_OPERATION_SAME_ID, 0, outbox);
        }
        return;
    }
    state = check_request(coordinator, request, &code);
    if (state == SHERD_OPERATION_DONE && !request->is_dry_run) {
        open(coordinator, now, asker, request);
        coordinator_settle(coordinator, now, outbox);
        return;
    }
    SOMETIMES("an operation waits for a coordinator that is not open",
              state == SHERD_OPERATION_WAITING);
    report(coordinator, asker, request->id, state, code, 0, outbox);
}
