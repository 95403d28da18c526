/* Runs the clients of the versioned store in a world. */
#include "sim/workload/workload_kvstore.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/timers.h"
#include "base/vec.h"
#include "sim/check/check_kvstore.h"
#include "sim/seed/streams.h"
#include "sim/world/verdict.h"

#define TICK 1
#define CALLS_MAX 16   /* open ones of one client */
#define SEEN_MAX 64    /* values of one answer */
#define CLIENTS 2      /* of each node */
#define WRITES_MAX 150 /* of one key; then another one takes its place */
#define BODY_MAX 300   /* bytes of a value */
#define REPLICAS 3
/* of one view: brokers hear of it in milliseconds, by their own clocks */
#define CALM_AFTER (5 * SECOND)
#define KEEP_DELETED_MS 5000 /* short, so that a run forgets deletions; calls in flight need them */
#define NO_KEY UINT32_MAX

struct slot {
    uint32_t key;
    uint32_t writes;
    bool is_final; /* read at the end */
};

/* The last value that a client read or wrote; its next write replaces it. */
struct known {
    uint32_t key; /* NO_KEY: nothing */
    uint32_t count;
    uint64_t values[SEEN_MAX];
    size_t size;
    uint8_t context[KVSTORE_CONTEXT_SIZE_MAX];
};

struct call {
    bool is_open;
    bool is_read;
    bool is_final;
    uint32_t tag;
    uint32_t slot;
    uint32_t key;
    uint64_t number; /* of a write */
    struct check_kvstore_read read;
};

struct client {
    uint32_t node;
    uint64_t uid;
    bool has_started;
    bool is_released; /* its actor has ended */
    bool is_gone;     /* its node has ended */
    bool is_keeper;   /* starts the broker, and makes no calls */
    uint32_t next_tag;
    uint32_t open;
    struct call calls[CALLS_MAX];
    struct known known;
};

struct broker_of {
    uint64_t uid; /* of the node's incarnation */
    struct sherd_ref store;
};

struct kvstore_load {
    struct kvstore_load_settings settings;
    struct world *world;
    struct verdict *verdict;
    struct check_kvstore *check;
    struct rng rng;
    struct slot *slots;
    VEC(struct broker_of) brokers; /* by node */
    VEC(struct client *) clients;
    bool is_stopped;
    bool reads_finals;
    uint64_t changed_at;
    struct kvstore_load_counts counts;
};

static struct kvstore_load *current;

static void slot_begin(struct kvstore_load *load, uint32_t index)
{
    load->slots[index] =
        (struct slot){ .key = check_kvstore_key(load->check) };
}

/* ---- calls ---- */

static struct call *call_begin(struct kvstore_load *load, struct client *client,
                               uint32_t slot, bool is_read)
{
    uint32_t tag = client->next_tag++;
    struct call *call = &client->calls[tag % CALLS_MAX];

    if (call->is_open) {
        load->counts.skipped++;
        return NULL;
    }
    *call = (struct call){ .is_open = true,
                           .is_read = is_read,
                           .tag = tag,
                           .slot = slot,
                           .key = load->slots[slot].key };
    client->open++;
    return call;
}

static const char *key_text(char text[32], uint32_t key)
{
    (void)snprintf(text, 32, "key-%u", key); /* fits */
    return text;
}

/* Half of all calls ask a majority, so that W + R > N holds for them. */
static struct sherd_store_level draw_level(struct kvstore_load *load)
{
    struct sherd_store_level level = { 0, load->settings.timeout_ms };

    level.replicas = rng_below(&load->rng, 2)
                         ? REPLICAS / 2 + 1
                         : 1 + (uint32_t)rng_below(&load->rng, REPLICAS);
    return level;
}

static struct sherd_ref store_of(const struct kvstore_load *load,
                                 const struct client *client)
{
    return load->brokers.items[client->node].store;
}

/* Some nodes may be permanently dead. */
static uint32_t all_replicas(const struct kvstore_load *load)
{
    uint32_t living = 0;

    for (uint32_t i = 0; i < world_node_count(load->world); i++)
        living += world_node(load->world, i)->node != NULL;
    return living < REPLICAS ? living : REPLICAS;
}

static void read_key(struct kvstore_load *load, struct sherd_ctx *ctx,
                     struct client *client, uint32_t slot, bool is_final)
{
    struct sherd_store_level level = draw_level(load);
    struct call *call = call_begin(load, client, slot, true);
    char text[32];

    if (!call)
        return;
    if (is_final)
        level.replicas = all_replicas(load);
    call->is_final = is_final;
    call->read = check_kvstore_read_begun(load->check, call->key, client->node,
                                        level.replicas);
    load->counts.gets++;
    check(!sherd_store_get(ctx, store_of(load, client),
                           key_text(text, call->key), &level, call->tag));
}

static void write_key(struct kvstore_load *load, struct sherd_ctx *ctx,
                      struct client *client, uint32_t slot)
{
    struct sherd_store_level level = draw_level(load);
    struct call *call = call_begin(load, client, slot, false);
    bool is_deletion = !rng_below(&load->rng, 8);
    bool is_blind = !rng_below(&load->rng, 4);
    size_t size = 8 + rng_below(&load->rng, BODY_MAX - 8);
    const struct known *known = &client->known;
    bool knows;
    uint8_t value[BODY_MAX] = { 0 };
    struct sherd_bytes context = { NULL, 0 };
    char text[32];

    if (!call)
        return;
    knows = known->key == call->key && !is_blind;
    if (knows)
        context = (struct sherd_bytes){ known->context, known->size };
    call->number = check_kvstore_write_begun(load->check, call->key,
                                           level.replicas, is_deletion,
                                           known->values,
                                           knows ? known->count : 0);
    load->slots[slot].writes++;
    for (int i = 0; i < 8; i++)
        value[i] = (uint8_t)(call->number >> 8 * i);
    if (is_deletion) {
        load->counts.deletes++;
        check(!sherd_store_delete(ctx, store_of(load, client),
                                  key_text(text, call->key), context, &level,
                                  call->tag));
    } else {
        load->counts.puts++;
        check(!sherd_store_put(ctx, store_of(load, client),
                               key_text(text, call->key), context,
                               (struct sherd_bytes){ value, size }, &level,
                               call->tag));
    }
}

/* ---- answers ---- */

static uint64_t number_of(struct sherd_bytes value)
{
    const uint8_t *bytes = value.data;
    uint64_t number = 0;

    for (int i = 0; i < 8 && value.size >= 8; i++)
        number |= (uint64_t)bytes[i] << 8 * i;
    return number;
}

static void know(struct client *client, uint32_t key,
                 const struct sherd_msg *msg)
{
    struct sherd_bytes context = sherd_store_context(msg);
    struct known *known = &client->known;

    known->key = key;
    known->size = context.size;
    check(context.size <= sizeof known->context);
    if (context.size)
        memcpy(known->context, context.data, context.size);
}

static void on_read(struct kvstore_load *load, struct client *client,
                    const struct call *call, const struct sherd_msg *msg)
{
    struct known *known = &client->known;
    struct sherd_bytes value;
    size_t at = 0;

    if (msg->msg != SHERD_STORE_FOUND && msg->msg != SHERD_STORE_NOT_FOUND)
        return;
    if (sherd_store_replicas(msg) < call->read.replicas)
        violation(load->verdict, "store-one-answer", client->node,
                  "a read of %u was answered by %u", call->read.replicas,
                  sherd_store_replicas(msg));
    known->count = 0;
    while (sherd_store_next(msg, &at, &value) && known->count < SEEN_MAX)
        known->values[known->count++] = number_of(value);
    know(client, call->key, msg);
    load->counts.siblings += known->count > 1;
    if (!call->is_final) {
        check_kvstore_read_ended(load->check, &call->read, known->values,
                               known->count);
    } else if (load->slots[call->slot].key == call->key) {
        check_kvstore_final(load->check, &call->read, known->values,
                          known->count);
        load->slots[call->slot].is_final = true;
    }
}

static void on_written(struct kvstore_load *load, struct client *client,
                       const struct call *call, const struct sherd_msg *msg)
{
    enum check_kvstore_end end = CHECK_STORE_DOUBTFUL;

    if (msg->kind == SHERD_ANSWER && msg->msg == SHERD_STORE_WRITTEN)
        end = CHECK_STORE_DONE;
    else if (msg->kind == SHERD_ANSWER && (msg->msg == SHERD_STORE_REFUSED ||
                                           msg->msg == SHERD_STORE_TOO_FEW))
        end = CHECK_STORE_REFUSED;
    check_kvstore_write_ended(load->check, call->number, end);
    if (end != CHECK_STORE_DONE || !sherd_store_context(msg).size)
        return;
    know(client, call->key, msg);
    client->known.values[0] = call->number;
    client->known.count = 1;
}

static void heard(struct kvstore_load *load, struct client *client,
                  const struct sherd_msg *msg)
{
    struct call *call = &client->calls[msg->tag % CALLS_MAX];

    if (!call->is_open || call->tag != msg->tag) {
        violation(load->verdict, "store-one-answer", client->node,
                  "a call that is not open is answered: tag=%u message=%u",
                  msg->tag, msg->msg);
        return;
    }
    call->is_open = false;
    client->open--;
    if (msg->kind == SHERD_NO_ANSWER)
        load->counts.no_answers++;
    else if (msg->msg < SHERD_STORE_STATUS)
        load->counts.answers[msg->msg]++;
    if (!call->is_read)
        on_written(load, client, call, msg);
    else if (msg->kind == SHERD_ANSWER)
        on_read(load, client, call, msg);
}

/* ---- lifetime of a client ---- */

static void act(struct kvstore_load *load, struct sherd_ctx *ctx,
                struct client *client)
{
    uint32_t index = (uint32_t)rng_below(&load->rng, load->settings.slots);
    bool knows; /* mostly it writes what it has read */

    if (load->brokers.items[client->node].uid != client->uid) {
        load->counts.skipped++;
        return; /* it starts in a moment */
    }
    if (load->reads_finals) {
        for (uint32_t i = 0; i < load->settings.slots; i++)
            if (!load->slots[i].is_final && !client->open)
                read_key(load, ctx, client, i, true);
        return;
    }
    if (load->is_stopped)
        return;
    if (rng_below(&load->rng, 2)) {
        read_key(load, ctx, client, index, false);
        return;
    }
    knows = rng_below(&load->rng, 8) > 0;
    for (uint32_t i = 0; knows && i < load->settings.slots; i++)
        if (load->slots[i].key == client->known.key)
            index = i;
    write_key(load, ctx, client, index);
    if (load->slots[index].writes >= WRITES_MAX)
        slot_begin(load, index);
}

static void keep(struct kvstore_load *load, struct sherd_ctx *ctx,
                 const struct client *client)
{
    const struct sherd_store_settings settings = { .name = "load",
                                                   .replicas = REPLICAS,
                                                   .keep_deleted_ms = KEEP_DELETED_MS };
    struct broker_of *broker = &load->brokers.items[client->node];

    check(!sherd_store_open(ctx, &settings, &broker->store));
    broker->uid = client->uid;
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    struct kvstore_load *load = current;
    struct client *client = *(struct client **)self;

    switch (msg->kind) {
    case SHERD_STARTED:
        check(msg->body.size == sizeof client);
        memcpy(self, msg->body.data, sizeof client);
        client = *(struct client **)self;
        client->has_started = true;
        if (client->is_keeper)
            keep(load, ctx, client);
        else
            sherd_timer(ctx, TICK, 1);
        break;
    case SHERD_TIMER:
        sherd_timer(ctx, TICK,
                    1 + rng_below(&load->rng, 2 * load->settings.interval_ms));
        act(load, ctx, client);
        break;
    case SHERD_ANSWER:
    case SHERD_NO_ANSWER:
        heard(load, client, msg);
        break;
    default:
        break;
    }
    return SHERD_CONTINUE;
}

static void release(void *self)
{
    struct client *client = *(struct client **)self;

    if (client)
        client->is_released = true;
}

/* ---- reports of the world ---- */

static void changed(struct kvstore_load *load)
{
    load->changed_at = world_now(load->world);
    check_kvstore_changed(load->check);
}

static void node_started(void *user, uint32_t node, uint64_t uid)
{
    static const struct sherd_behavior behavior = {
        .name = "store-client",
        .state_size = sizeof(struct client *),
        .receive = receive,
        .release = release,
    };
    struct kvstore_load *load = user;
    uint32_t lanes = world_node(load->world, node)->settings.lanes;

    while (load->brokers.count <= node)
        vec_push(&load->brokers, (struct broker_of){ 0 });
    changed(load);
    for (uint32_t i = 0; i <= CLIENTS; i++) {
        struct client *client = mem_alloc(sizeof *client);

        client->node = node;
        client->uid = uid;
        client->is_keeper = !i;
        client->known.key = NO_KEY;
        vec_push(&load->clients, client);
        world_spawn(load->world, node, i % lanes, &behavior, &client,
                    sizeof client);
    }
}

static void node_ended(void *user, uint32_t node, bool crashed, int error)
{
    struct kvstore_load *load = user;

    (void)crashed;
    (void)error;
    changed(load);
    check_kvstore_lost(load->check);
    for (uint32_t i = load->clients.count; i-- > 0;) {
        struct client *client = load->clients.items[i];

        if (client->node == node)
            client->is_gone = true;
        if (!client->is_gone || (client->has_started && !client->is_released))
            continue;
        mem_free(client);
        vec_remove(&load->clients, i);
    }
}

static void probe(void *user, uint32_t node, uint32_t machine,
                  const struct probe *probe)
{
    (void)node;
    (void)machine;
    if (probe->kind == PROBE_MEMBER_SEEN || probe->kind == PROBE_MEMBER_DOWNED)
        changed(user);
}

/* ---- lifetime ---- */

struct kvstore_load *kvstore_load_new(struct world *world,
                                  const struct kvstore_load_settings *settings)
{
    struct kvstore_load *load = mem_alloc(sizeof *load);
    struct world_observer observer = { .user = load,
                                       .node_started = node_started,
                                       .node_ended = node_ended,
                                       .probe = probe };
    struct kvstore_load_settings *own = &load->settings;

    check(!current);
    *own = *settings;
    own->slots = own->slots ? own->slots : 6;
    own->interval_ms = own->interval_ms ? own->interval_ms : 200;
    own->timeout_ms = own->timeout_ms ? own->timeout_ms : 3000;
    load->world = world;
    load->verdict = world_verdict(world);
    load->rng = stream_rng(world_seed(world), STREAM_VERSIONS, 0);
    load->check = check_kvstore_new(load->verdict, REPLICAS);
    load->slots = mem_alloc(own->slots * sizeof *load->slots);
    for (uint32_t i = 0; i < own->slots; i++)
        slot_begin(load, i);
    world_observe(world, &observer);
    current = load;
    return load;
}

void kvstore_load_free(struct kvstore_load *load)
{
    if (!load)
        return;
    for (uint32_t i = 0; i < load->clients.count; i++)
        mem_free(load->clients.items[i]);
    vec_fini(&load->clients);
    vec_fini(&load->brokers);
    mem_free(load->slots);
    check_kvstore_free(load->check);
    mem_free(load);
    current = NULL;
}

/* ---- a run ---- */

void kvstore_load_stop(struct kvstore_load *load)
{
    load->is_stopped = true;
}

void kvstore_load_resume(struct kvstore_load *load)
{
    load->is_stopped = false;
    load->reads_finals = false;
}

bool kvstore_load_idle(const struct kvstore_load *load)
{
    for (uint32_t i = 0; i < load->clients.count; i++)
        if (load->clients.items[i]->open && !load->clients.items[i]->is_gone)
            return false;
    return true;
}

void kvstore_load_drained(struct kvstore_load *load)
{
    for (uint32_t i = 0; i < load->clients.count; i++) {
        const struct client *client = load->clients.items[i];

        if (client->open && !client->is_gone)
            violation(load->verdict, "store-one-answer", client->node,
                      "%u calls have no answer", client->open);
    }
}

void kvstore_load_sample(struct kvstore_load *load, bool is_converged)
{
    if (!is_converged)
        changed(load);
    else if (world_now(load->world) - load->changed_at >= CALM_AFTER)
        check_kvstore_calm(load->check);
}

void kvstore_load_finals_begin(struct kvstore_load *load)
{
    for (uint32_t i = 0; i < load->settings.slots; i++)
        load->slots[i].is_final = false;
    load->reads_finals = true;
}

uint32_t kvstore_load_finals_missing(const struct kvstore_load *load)
{
    uint32_t missing = 0;

    for (uint32_t i = 0; i < load->settings.slots; i++)
        missing += !load->slots[i].is_final;
    return missing;
}

struct kvstore_load_counts kvstore_load_counts(const struct kvstore_load *load)
{
    struct kvstore_load_counts counts = load->counts;
    struct check_kvstore_counts checked = check_kvstore_counts(load->check);

    counts.quorums = checked.quorums;
    counts.again = checked.again;
    counts.finals = checked.finals;
    return counts;
}
