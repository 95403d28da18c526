/* Runs the callers: plain actors that send by ref and by path, pass messages on, start entities,
 * and spawn and stop actors. They draw from their own stream. */
#include <stdio.h>

#include "base/check.h"
#include "base/timers.h"
#include "sim/workload/workload_inside.h"

#define SEED_OF_CALLS UINT64_C(0x63616c6c73) /* apart from the workload's own stream */
#define CALL_TELL 60u
#define CALL_PASS 61u /* passed on by callers that the parcel does not name */
#define CALL_PATH 62u
#define CALLED_TELL 63u
#define TICK 1
#define START_MS 10000 /* time-out of an acknowledged start */
#define WAIT_MAX_MS 2000 /* between two acts of a caller */
#define TELLS_MAX 4      /* to a spawned actor before its stop */

enum act { ACT_TELL, ACT_PASS, ACT_PATH, ACT_STOP, ACT_START, ACTS };

/* An actor of a caller. Kept until both have ended. */
struct called {
    struct called *next;
    struct called *self; /* the bytes that the actor gets */
    struct sherd_ref ref;
    uint32_t node;
    uint32_t told;
    uint32_t given;
    bool is_stopped; /* sherd_stop was called after these messages */
    bool has_ended;
    bool is_heard_of; /* its caller heard of its end, or has ended */
};

struct caller {
    struct sherd_ref self;
    struct caller *next;
    struct caller **link;
    struct called *called; /* null: none */
    uint64_t stream;
    uint32_t node;
    bool is_started;
};

struct calls {
    struct rng rng;
    struct caller *callers; /* live ones */
    uint32_t count;
    struct called *called;
};

/* An actor by path is the same in each incarnation of a node. */
static struct sherd_ref by_path(uint32_t node)
{
    return (struct sherd_ref){ 1, node };
}

void calls_fini(struct workload *workload)
{
    struct calls *calls = workload->calls;

    while (calls->called) {
        struct called *called = calls->called;

        calls->called = called->next;
        mem_free(called);
    }
    mem_free(calls);
}

/* ---- spawned actors ---- */

static void sweep(struct calls *calls)
{
    for (struct called **link = &calls->called; *link;) {
        struct called *called = *link;

        if (!called->has_ended || !called->is_heard_of) {
            link = &called->next;
            continue;
        }
        *link = called->next;
        mem_free(called);
    }
}

static enum sherd_next called_receive(struct sherd_ctx *ctx, void *self,
                                      const struct sherd_msg *msg)
{
    struct called **called = self;

    if (msg->kind == SHERD_STARTED) {
        check(msg->body.size == sizeof *called);
        memcpy(called, msg->body.data, sizeof *called);
    } else if (msg->kind == SHERD_MESSAGE) {
        (*called)->given++;
        (void)workload_delivered(workload_current, (*called)->node, msg,
                                 sherd_self(ctx));
    } else if (msg->kind == SHERD_STOPPING && (*called)->is_stopped &&
               (*called)->given != (*called)->told) {
        workload_violation(workload_current, "stop-after-messages", (*called)->node,
                           "an actor is stopped after %u messages, before it was stopped it was told %u",
                           (*called)->given, (*called)->told);
    }
    return SHERD_CONTINUE;
}

static void called_release(void *self)
{
    struct called *called = *(struct called **)self;

    if (workload_current && called)
        called->has_ended = true;
}

/* ---- acts ---- */

static struct sherd_bytes body_for(struct workload *workload,
                                   const struct caller *caller,
                                   uint64_t stream, struct sherd_ref to,
                                   struct sherd_ref end)
{
    const struct parcel parcel = { .value = caller->self.actor, .ref = end };

    return workload_body(workload, caller->node, stream, to, &parcel);
}

static const struct caller *draw_caller(struct calls *calls)
{
    const struct caller *caller = calls->callers;

    for (uint64_t skip = rng_below(&calls->rng, calls->count); skip; skip--)
        caller = caller->next;
    return caller;
}

static void tell_called(struct workload *workload, struct sherd_ctx *ctx,
                        const struct caller *caller, struct called *called)
{
    uint64_t tells = 1 + rng_below(&workload->calls->rng, TELLS_MAX);

    while (tells--) {
        called->told++;
        sherd_tell(ctx, called->ref, CALLED_TELL,
                   body_for(workload, caller, caller->stream, called->ref,
                            called->ref));
    }
}

/* Spawns an actor, or stops the last one. */
static void stop(struct workload *workload, struct sherd_ctx *ctx,
                 struct caller *caller)
{
    struct calls *calls = workload->calls;
    struct called *called = caller->called;

    if (called && called->is_stopped)
        return;
    if (called) {
        tell_called(workload, ctx, caller, called);
        called->is_stopped = true;
        workload->counts.calls_stopped++;
        sherd_stop(ctx, called->ref);
        return;
    }
    sweep(calls);
    called = mem_alloc(sizeof *called);
    called->self = called;
    called->node = caller->node;
    called->ref = sherd_spawn(ctx, &workload->called,
                              (struct sherd_bytes){ &called->self,
                                                    sizeof called->self });
    if (!called->ref.actor) { /* refused */
        mem_free(called);
        return;
    }
    called->next = calls->called;
    calls->called = called;
    caller->called = called;
    sherd_watch(ctx, called->ref);
    tell_called(workload, ctx, caller, called);
}

static void tell_by_path(struct workload *workload, struct sherd_ctx *ctx,
                         const struct caller *caller,
                         const struct caller *other)
{
    char path[100];

    (void)snprintf(path, sizeof path, "akka://World@n%u:2551/user/a%016llx",
                   other->node, (unsigned long long)other->self.actor);
    sherd_path_tell(ctx, path, CALL_PATH,
                    body_for(workload, caller, 0, by_path(other->node),
                             other->self));
}

/* Starts no entity of a remembered type, whose start would stay forever. */
static void start_entity(struct workload *workload, struct sherd_ctx *ctx)
{
    struct calls *calls = workload->calls;
    uint32_t at = (uint32_t)rng_below(&calls->rng, workload->type_count);
    uint32_t id = (uint32_t)rng_below(&calls->rng, workload->settings.ids);
    char text[ID_TEXT_MAX];

    if (workload_type_remembers(workload->type_of[at]))
        return;
    if (workload->settings.extractor)
        sherd_entity_start_ask(ctx, workload_type_text(workload->type_of[at]),
                               workload_id(text, id), id, START_MS);
    else
        sherd_entity_start(ctx, workload_type_text(workload->type_of[at]),
                           workload_id(text, id));
}

static void do_act(struct workload *workload, struct sherd_ctx *ctx,
                   struct caller *caller)
{
    struct calls *calls = workload->calls;
    const struct caller *other = draw_caller(calls);
    const struct caller *third = draw_caller(calls);
    enum act act = (enum act)rng_below(
        &calls->rng, workload->settings.callers_start ? ACTS : ACT_START);

    workload->counts.calls++;
    switch (act) {
    case ACT_TELL:
        sherd_tell(ctx, other->self, CALL_TELL,
                   body_for(workload, caller, caller->stream, other->self,
                            other->self));
        break;
    case ACT_PASS:
        sherd_tell(ctx, other->self, CALL_PASS,
                   body_for(workload, caller, caller->stream, other->self,
                            third->self));
        break;
    case ACT_PATH:
        tell_by_path(workload, ctx, caller, other);
        break;
    case ACT_STOP:
        stop(workload, ctx, caller);
        break;
    default:
        start_entity(workload, ctx);
        break;
    }
}

/* ---- received messages ---- */

static bool is_same(struct sherd_ref left, struct sherd_ref right)
{
    return left.node == right.node && left.actor == right.actor;
}

static void given(struct workload *workload, struct sherd_ctx *ctx,
                  const struct caller *caller, const struct sherd_msg *msg)
{
    struct sherd_ref self =
        msg->msg == CALL_PATH ? by_path(caller->node) : caller->self;
    struct parcel parcel;

    if (!workload_read(msg->body, &parcel))
        return;
    /* If the receiver's node does not know the sender's node yet, a passed message has no
     * sender. */
    if (msg->sender.actor != parcel.value &&
        (msg->sender.actor || msg->msg != CALL_PASS))
        workload_violation(workload, "right-receiver", caller->node,
                           "a message of actor %llx has the sender %llx",
                           (unsigned long long)parcel.value,
                           (unsigned long long)msg->sender.actor);
    if (msg->msg != CALL_PASS || is_same(parcel.ref, caller->self)) {
        (void)workload_delivered(workload, caller->node, msg, self);
        return;
    }
    workload->counts.calls_passed++;
    workload_passed(workload, caller->node, msg, self, parcel.ref);
    sherd_forward(ctx, parcel.ref);
}

static void heard(struct workload *workload, struct caller *caller,
                  struct sherd_ref ref)
{
    struct called *called = caller->called;

    if (!called || !is_same(called->ref, ref) || !called->is_stopped ||
        !called->has_ended)
        workload_violation(workload, "watch-ends-once", caller->node,
                           "a caller is told of the end of actor %llx of node %llx, %s",
                           (unsigned long long)ref.actor,
                           (unsigned long long)ref.node,
                           called && is_same(called->ref, ref)
                               ? "which lives"
                               : "which it does not watch");
    if (!called)
        return;
    called->is_heard_of = true;
    caller->called = NULL;
}

static void started(struct workload *workload, struct sherd_ctx *ctx,
                    struct caller *caller, const struct sherd_msg *msg)
{
    struct calls *calls = workload->calls;

    check(msg->body.size == sizeof caller->node);
    memcpy(&caller->node, msg->body.data, sizeof caller->node);
    caller->is_started = true;
    caller->self = sherd_self(ctx);
    caller->stream = workload_stream(caller->self);
    caller->next = calls->callers;
    caller->link = &calls->callers;
    if (caller->next)
        caller->next->link = &caller->next;
    calls->callers = caller;
    calls->count++;
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    struct workload *workload = workload_current;
    struct caller *caller = self;
    char text[ID_TEXT_MAX];

    switch (msg->kind) {
    case SHERD_STARTED:
        started(workload, ctx, caller, msg);
        sherd_timer(ctx, TICK, 1);
        break;
    case SHERD_TIMER:
        sherd_timer(ctx, TICK,
                    1 + rng_below(&workload->calls->rng, WAIT_MAX_MS));
        if (!workload->is_stopped)
            do_act(workload, ctx, caller);
        break;
    case SHERD_MESSAGE:
        given(workload, ctx, caller, msg);
        break;
    case SHERD_ANSWER: /* the answer to a start; the tag is the entity */
        workload_shard_is(workload, caller->node, slice_text(workload_id(text, msg->tag)),
                          slice_of(msg->body.data, msg->body.size));
        break;
    case SHERD_TERMINATED:
        heard(workload, caller, msg->sender);
        break;
    default:
        break;
    }
    return SHERD_CONTINUE;
}

static void release(void *self)
{
    struct caller *caller = self;

    if (!workload_current || !caller->is_started)
        return;
    if (caller->called)
        caller->called->is_heard_of = true;
    *caller->link = caller->next;
    if (caller->next)
        caller->next->link = caller->link;
    workload_current->calls->count--;
}

/* ---- lifetime ---- */

void calls_init(struct workload *workload)
{
    struct calls *calls = mem_alloc(sizeof *calls);

    rng_init(&calls->rng, workload->settings.seed ^ SEED_OF_CALLS);
    workload->calls = calls;
    workload->caller = (struct sherd_behavior){
        .name = "caller",
        .state_size = sizeof(struct caller),
        .receive = receive,
        .release = release,
    };
    workload->called = (struct sherd_behavior){
        .name = "called",
        .state_size = sizeof(struct called *),
        .receive = called_receive,
        .release = called_release,
    };
}

uint64_t calls_drained(struct workload *workload)
{
    uint64_t open = 0;

    for (const struct called *called = workload->calls->called; called;
         called = called->next) {
        if (!called->is_stopped || called->is_heard_of)
            continue;
        open++;
        workload_violation(workload, "stop-after-messages", called->node,
                           "actor %llx was stopped and %s",
                           (unsigned long long)called->ref.actor,
                           called->has_ended
                               ? "has ended, its watcher was not told"
                               : "has not ended");
    }
    return open;
}
