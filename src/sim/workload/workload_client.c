/* Runs the clients, which draw what to do, and keep book of their asks and watches. */
#include "base/check.h"
#include "base/hash.h"
#include "base/timers.h"
#include "sim/workload/workload_inside.h"

#define TICK 1 /* tag of the timer that begins a burst */

void client_free(struct client *client)
{
    vec_fini(&client->watches);
    mem_free(client);
}

static void tick_later(struct workload *workload, struct sherd_ctx *ctx,
                       struct client *client)
{
    uint64_t delay =
        1 + rng_below(&workload->rng, WORKLOAD_WAIT_MAX(workload));

    client->round_due = sherd_now(ctx) + delay;
    sherd_timer(ctx, TICK, delay);
}

/* ---- sending ---- */

static struct parcel draw_parcel(struct workload *workload, enum workload_op op)
{
    struct parcel parcel = {
        .type = workload_draw_type(workload, op == WORKLOAD_COUNT),
        .value = ++workload->serials
    };

    if (parcel.type == WORKLOAD_TYPE_COUNT) /* none persists */
        parcel.type = workload_draw_type(workload, false);
    parcel.id = workload_fit_id(workload, parcel.type,
                                workload_draw_id(workload));
    return parcel;
}

static struct sherd_bytes body_of(struct workload *workload,
                                  const struct client *client,
                                  const struct parcel *parcel)
{
    return workload_body(workload, client->node, client->stream,
                         check_entity(parcel->type, parcel->id), parcel);
}

static void tell(struct workload *workload, struct sherd_ctx *ctx,
                 const struct client *client, enum workload_op op,
                 const struct parcel *parcel)
{
    struct parcel told = *parcel;
    char id[ID_TEXT_MAX];

    told.tells = true;
    if (workload_tells_region(workload, parcel)) {
        sherd_region_tell(ctx, workload_type_text(parcel->type), op,
                          body_of(workload, client, &told));
        return;
    }
    sherd_entity_tell(ctx, workload_type_text(parcel->type),
                      workload_id(id, parcel->id), op,
                      body_of(workload, client, &told));
}

bool client_ask(struct workload *workload, struct sherd_ctx *ctx,
                struct client *client, enum workload_op op,
                const struct parcel *parcel, uint64_t timeout)
{
    uint32_t tag = client->next_tag++;
    struct open_ask *ask = &client->asks[tag % OPEN_ASKS_MAX];
    char id[ID_TEXT_MAX];

    if (ask->is_open) {
        workload->counts.skipped++;
        return false;
    }
    *ask = (struct open_ask){ .is_open = true,
                              .op = (uint8_t)op,
                              .tag = tag,
                              .type = parcel->type,
                              .id = parcel->id,
                              .serial = parcel->value,
                              .asked_at = workload_now(workload),
                              .due = sherd_now(ctx) + timeout };
    if (!client->open++ || ask->due < client->first_due)
        client->first_due = ask->due;
    workload->counts.asks++;
    sherd_entity_ask(ctx, workload_type_text(parcel->type),
                     workload_id(id, parcel->id), op,
                     body_of(workload, client, parcel), tag, timeout);
    return true;
}

static void ask(struct workload *workload, struct sherd_ctx *ctx,
                struct client *client, enum workload_op op,
                const struct parcel *parcel)
{
    (void)client_ask(workload, ctx, client, op, parcel,
                     1 + rng_below(&workload->rng,
                                   workload->settings.ask_ms_max));
}

/* Sends to many unused ids, each in another shard if there are enough; not of remembered types,
 * which would stay forever. */
static void storm(struct workload *workload, struct sherd_ctx *ctx,
                  const struct client *client)
{
    struct parcel parcel = { .type = workload_draw_type(workload, false) };
    uint32_t first = (uint32_t)rng_below(&workload->rng, 1000000);

    if (workload_type_remembers(parcel.type))
        return;
    for (uint32_t i = 0; i < workload->settings.storm; i++) {
        parcel.id = first + i;
        parcel.value = ++workload->serials;
        tell(workload, ctx, client, WORKLOAD_TELL, &parcel);
    }
}

/* Makes the next id from this one; fast, because many are tried. Returns its size; *hash: its
 * hash_java. */
static size_t next_id(char text[ID_TEXT_MAX], size_t size, int32_t *hash)
{
    size_t at = size;

    if (text[size - 1] != '9') { /* the last digit is added to the hash of those before */
        text[size - 1]++;
        *hash = (int32_t)((uint32_t)*hash + 1);
        return size;
    }
    while (text[--at] == '9')
        text[at] = '0';
    if (at) {
        text[at]++;
    } else { /* 9, 99, ... */
        text[1] = '1';
        text[size++] = '0';
        text[size] = 0;
    }
    *hash = hash_java(slice_of(text, size));
    return size;
}

static void narrow(struct workload *workload)
{
    uint32_t first = workload_draw_id(workload);
    uint32_t shards = workload->settings.shards;
    char text[ID_TEXT_MAX];
    size_t size = strlen(workload_id(text, first));
    int32_t hash = hash_java(slice_of(text, size));
    int32_t shard = hash_shard_of(hash, shards);

    workload->narrow.count = 0;
    for (uint32_t i = 0; i < shards * NARROW_IDS_MAX &&
                         workload->narrow.count < NARROW_IDS_MAX;
         i++) {
        if (hash_shard_of(hash, shards) == shard)
            vec_push(&workload->narrow, first + i);
        size = next_id(text, size, &hash);
    }
    workload->narrow_until = workload_now(workload) + SECOND +
                             rng_below(&workload->rng, 20 * SECOND);
}

static enum workload_op draw_op(struct workload *workload)
{
    uint64_t at = rng_below(&workload->rng, workload->weights_sum);
    uint32_t op = 0;

    while (at >= workload->settings.weights[op])
        at -= workload->settings.weights[op++];
    return (enum workload_op)op;
}

static void do_op(struct workload *workload, struct sherd_ctx *ctx,
                  struct client *client)
{
    enum workload_op op = draw_op(workload);
    struct parcel parcel;

    workload->counts.ops[op]++;
    if (op == WORKLOAD_STORM) {
        storm(workload, ctx, client);
        return;
    }
    if (op == WORKLOAD_NARROW) {
        narrow(workload);
        return;
    }
    parcel = draw_parcel(workload, op);
    switch (op) {
    case WORKLOAD_ECHO:
    case WORKLOAD_COUNT:
    case WORKLOAD_PASSIVATE:
    case WORKLOAD_WATCH:
    case WORKLOAD_JOB:
        ask(workload, ctx, client, op, &parcel);
        break;
    case WORKLOAD_FAIL:
        if (rng_below(&workload->rng, 2)) {
            ask(workload, ctx, client, op, &parcel);
            break;
        }
        /* fall through */
    default:
        tell(workload, ctx, client, op, &parcel);
        break;
    }
}

/* Time-outs fire in order: at a client's round, its asks that were due before have ended. */
static void look_for_late(struct workload *workload,
                          const struct sherd_ctx *ctx, struct client *client)
{
    uint64_t now = client->round_due;
    uint64_t first = UINT64_MAX;

    if (sherd_now(ctx) < now)
        workload_violation(workload, "timer-on-time", client->node,
                           "a client's timer comes %llu ms too early",
                           (unsigned long long)(now - sherd_now(ctx)));
    if (!client->open || client->first_due + WORKLOAD_DUE_MS >= now)
        return;
    for (uint32_t i = 0; i < OPEN_ASKS_MAX; i++) {
        const struct open_ask *ask = &client->asks[i];

        if (!ask->is_open)
            continue;
        if (ask->due + WORKLOAD_DUE_MS < now)
            workload_violation(workload, "ask-ends-once", client->node,
                               "an ask (%s) of entity k%u of %s is open %llu ms after its time-out",
                               workload_op_text((enum workload_op)ask->op),
                               ask->id, workload_type_text(ask->type),
                               (unsigned long long)(now - ask->due));
        if (ask->due < first)
            first = ask->due;
    }
    client->first_due = first;
}

static void burst(struct workload *workload, struct sherd_ctx *ctx,
                  struct client *client)
{
    uint64_t count = 1 + rng_below(&workload->rng, workload->settings.burst_max);

    look_for_late(workload, ctx, client);
    tick_later(workload, ctx, client);
    while (!workload->is_stopped && count--)
        do_op(workload, ctx, client);
    if (workload->is_stopped)
        roll_ask(workload, ctx, client);
}

/* ---- watching ---- */

static bool watches(const struct client *client, struct sherd_ref ref,
                    uint32_t *at)
{
    for (*at = 0; *at < client->watches.count; ++*at)
        if (client->watches.items[*at].node == ref.node &&
            client->watches.items[*at].actor == ref.actor)
            return true;
    return false;
}

static void watch(struct workload *workload, struct sherd_ctx *ctx,
                  struct client *client, struct sherd_ref ref)
{
    uint32_t at;

    if (watches(client, ref, &at))
        return;
    if (client->watches.count == WATCHES_MAX) {
        at = (uint32_t)rng_below(&workload->rng, WATCHES_MAX);
        sherd_unwatch(ctx, client->watches.items[at]);
        watched_end(workload, client->watches.items[at]);
        vec_remove(&client->watches, at);
    }
    workload->counts.watches++;
    watched_begin(workload, ref);
    vec_push(&client->watches, ref);
    sherd_watch(ctx, ref);
}

/* It runs, and the watcher's node has no reason to consider it gone. */
static bool must_live(struct workload *workload, const struct client *client,
                      struct sherd_ref ref)
{
    const struct place *place = workload_place(workload, ref.node);

    return !watched_has_ended(workload, ref) && place && place->runs &&
           !workload_is_parting(workload, place->index) &&
           !workload_is_parting(workload, client->node);
}

static void terminated(struct workload *workload, struct client *client,
                       struct sherd_ref ref)
{
    uint32_t at;

    workload->counts.terminated++;
    if (!watches(client, ref, &at)) {
        workload_violation(workload, "watch-ends-once", client->node,
                           "the end of actor %llx of node %llx, which is not watched (any more), was told",
                           (unsigned long long)ref.actor,
                           (unsigned long long)ref.node);
        return;
    }
    if (must_live(workload, client, ref))
        workload_violation(workload, "watch-ends-once", client->node,
                           "the end of actor %llx of node %llx, which lives, was told",
                           (unsigned long long)ref.actor,
                           (unsigned long long)ref.node);
    watched_end(workload, ref);
    vec_remove(&client->watches, at);
}

/* ---- replies ---- */

static struct open_ask *take_ask(struct workload *workload,
                                 struct client *client, uint32_t tag)
{
    struct open_ask *ask = &client->asks[tag % OPEN_ASKS_MAX];

    if (!ask->is_open || ask->tag != tag) {
        workload_violation(workload, "ask-ends-once", client->node,
                           "an ask that is not open has ended: tag=%u", tag);
        return NULL;
    }
    ask->is_open = false;
    client->open--;
    return ask;
}

static void answered(struct workload *workload, struct sherd_ctx *ctx,
                     struct client *client, const struct sherd_msg *msg)
{
    const struct open_ask *ask = take_ask(workload, client, msg->tag);
    struct parcel parcel;

    (void)workload_delivered(workload, client->node, msg, sherd_self(ctx));
    workload->counts.answers++;
    if (!ask)
        return;
    roll_ended(workload, ask->type, ask->id, SHERD_REASON_NONE);
    if (!workload_read(msg->body, &parcel) || parcel.type != ask->type ||
        parcel.id != ask->id || msg->msg != ANSWER_MESSAGE + (uint32_t)ask->op) {
        workload_violation(workload, "right-receiver", client->node,
                           "k%u of %s was asked to %s, k%u of type %u answers message %u",
                           ask->id, workload_type_text(ask->type),
                           workload_op_text((enum workload_op)ask->op),
                           parcel.id, parcel.type, msg->msg - ANSWER_MESSAGE);
        return;
    }
    if (ask->op == WORKLOAD_COUNT && workload_type_persists(ask->type))
        workload_acknowledge(workload, client->node, ask->type, ask->id,
                             parcel.value, ask->serial);
    if (ask->op == WORKLOAD_WATCH)
        watch(workload, ctx, client, parcel.ref);
}

static void not_answered(struct workload *workload,
                         const struct sherd_ctx *ctx, struct client *client,
                         const struct sherd_msg *msg)
{
    const struct open_ask *ask = take_ask(workload, client, msg->tag);

    workload->counts.no_answers[msg->reason]++;
    if (!ask)
        return;
    roll_ended(workload, ask->type, ask->id, msg->reason);
    if (msg->reason == SHERD_REASON_TIMEOUT && sherd_now(ctx) < ask->due)
        workload_violation(workload, "ask-ends-once", client->node,
                           "an ask (%s) of entity k%u of %s runs out %llu ms too early",
                           workload_op_text((enum workload_op)ask->op),
                           ask->id, workload_type_text(ask->type),
                           (unsigned long long)(ask->due - sherd_now(ctx)));
}

/* ---- lifetime ---- */

static void started(struct workload *workload, struct sherd_ctx *ctx,
                    struct client **self, const struct sherd_msg *msg)
{
    check(msg->body.size == sizeof *self);
    memcpy(self, msg->body.data, sizeof *self);
    (*self)->started = true;
    (*self)->stream = workload_stream(sherd_self(ctx));
    workload->counts.clients++;
    tick_later(workload, ctx, *self);
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    struct workload *workload = workload_current;
    struct client *client = *(struct client **)self;

    switch (msg->kind) {
    case SHERD_STARTED:
        started(workload, ctx, self, msg);
        break;
    case SHERD_TIMER:
        burst(workload, ctx, client);
        break;
    case SHERD_ANSWER:
        answered(workload, ctx, client, msg);
        break;
    case SHERD_NO_ANSWER:
        if (msg->reason == SHERD_REASON_RECOVERY_FAILED && !msg->body.size)
            workload_violation(workload, "rejected-event", client->node,
                               "an asker does not learn why the entity could not be recovered");
        not_answered(workload, ctx, client, msg);
        break;
    case SHERD_CLUSTER:
    case SHERD_SHUTDOWN:
    case SHERD_DATA:
    case SHERD_JOB:
    case SHERD_DELIVERY:
        break;
    case SHERD_TERMINATED:
        terminated(workload, client, msg->sender);
        break;
    case SHERD_UNDELIVERED:
        workload->counts.undelivered++;
        if (msg->reason != SHERD_REASON_HANDLER_FAILED) /* it was delivered */
            workload->places.items[client->node]->undelivered++;
        break;
    case SHERD_MESSAGE:
        (void)workload_delivered(workload, client->node, msg, sherd_self(ctx));
        break;
    case SHERD_STOPPING:
        break;
    }
    return SHERD_CONTINUE;
}

/* Its asks end with it. */
static void release(void *self)
{
    struct client *client = *(struct client **)self;
    struct workload *workload = workload_current;

    if (!workload || !client)
        return;
    client->released = true;
    workload->counts.asks_dropped += client->open;
    client->open = 0;
    for (uint32_t i = 0; i < client->watches.count; i++)
        watched_end(workload, client->watches.items[i]);
    client->watches.count = 0;
}

const struct sherd_behavior workload_client_behavior = {
    .name = "client",
    .state_size = sizeof(struct client *),
    .receive = receive,
    .release = release,
    .wants_undelivered = 1,
};
