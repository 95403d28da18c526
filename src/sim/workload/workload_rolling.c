/* Asks entities during restarts of nodes. */
#include "sim/workload/workload_rolling.h"

#include <stdio.h>
#include <string.h>

#include <sherd/actor.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/timers.h"
#include "base/vec.h"
#include "sim/seed/streams.h"
#include "sim/world/verdict.h"

#define TICK 1
#define TICK_MS 50 /* between two asks of a node, at most twice */
#define IDS 50
#define SHARDS 20
#define OPEN_MAX 1024 /* asks of one node; a power of two */
#define ASK 1

/* The actor on each incarnation of a node that asks. */
struct asker {
    uint32_t node;
    uint32_t asked;
    bool has_started, is_released;
    bool is_gone;  /* its node has ended */
    bool is_known; /* to all members as up */
    bool is_leaving;
    uint64_t since[OPEN_MAX]; /* of asks, by tag */
};

struct rolling_load {
    struct world *world;
    struct check_restart *check;
    struct rng rng;
    bool asks;
    VEC(struct asker *) askers;
    struct sherd_entity_type *types; /* of the nodes */
};

static struct rolling_load *current;

/* ---- entities ---- */

static enum sherd_next entity_receive(struct sherd_ctx *ctx, void *self,
                                      const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_MESSAGE)
        sherd_reply(ctx, ASK, (struct sherd_bytes){ NULL, 0 });
    return SHERD_CONTINUE;
}

static const struct sherd_entity_type type = {
    .name = "rolling",
    .behavior = { .name = "rolling", .receive = entity_receive },
    .shards = SHARDS,
    .allocation = "least-shard",
    .idle_ms = UINT64_MAX,
    .remember = -1,
};

/* ---- askers ---- */

static void ask_one(struct rolling_load *load, struct sherd_ctx *ctx, struct asker *asker)
{
    uint32_t tag = asker->asked++ % OPEN_MAX;
    char id[16];

    (void)snprintf(id, sizeof id, "r%u", (unsigned)rng_below(&load->rng, IDS)); /* fits */
    asker->since[tag] = world_now(load->world);
    sherd_entity_ask(ctx, type.name, id, ASK, (struct sherd_bytes){ NULL, 0 }, tag,
                     ROLLING_ASK_MS);
}

static void act(struct rolling_load *load, struct sherd_ctx *ctx, struct asker *asker)
{
    sherd_timer(ctx, TICK, 1 + rng_below(&load->rng, 2 * TICK_MS));
    if (load->asks && asker->is_known && !asker->is_leaving)
        ask_one(load, ctx, asker);
}

static void ended(struct rolling_load *load, const struct asker *asker,
                  const struct sherd_msg *msg)
{
    const char *failure = msg->kind == SHERD_ANSWER ? NULL : sherd_reason_text(msg->reason);

    if (!asker->is_leaving)
        check_restart_asked(load->check, world_now(load->world), asker->node,
                            asker->since[msg->tag % OPEN_MAX], failure);
}

static enum sherd_next asker_receive(struct sherd_ctx *ctx, void *self,
                                     const struct sherd_msg *msg)
{
    struct rolling_load *load = current;
    struct asker *asker = *(struct asker **)self;

    switch (msg->kind) {
    case SHERD_STARTED:
        memcpy(self, msg->body.data, sizeof asker);
        asker = *(struct asker **)self;
        asker->has_started = true;
        act(load, ctx, asker);
        break;
    case SHERD_TIMER:
        act(load, ctx, asker);
        break;
    case SHERD_ANSWER:
    case SHERD_NO_ANSWER:
        ended(load, asker, msg);
        break;
    default:
        break;
    }
    return SHERD_CONTINUE;
}

static void asker_release(void *self)
{
    struct asker *asker = *(struct asker **)self;

    if (asker)
        asker->is_released = true;
}

/* ---- reports of the world ---- */

static void node_started(void *user, uint32_t node, uint64_t uid)
{
    static const struct sherd_behavior behavior = {
        .name = "rolling-asker",
        .state_size = sizeof(struct asker *),
        .receive = asker_receive,
        .release = asker_release,
    };
    struct rolling_load *load = user;
    struct asker *asker = mem_alloc(sizeof *asker);
    uint32_t lanes = world_node(load->world, node)->settings.lanes;

    (void)uid;
    asker->node = node;
    vec_push(&load->askers, asker);
    world_spawn(load->world, node, (node + 1) % lanes, &behavior, &asker, sizeof asker);
}

static void node_ended(void *user, uint32_t node, bool crashed, int error)
{
    struct rolling_load *load = user;

    (void)crashed;
    (void)error;
    check_restart_node_ended(load->check, world_now(load->world), node);
    for (uint32_t i = load->askers.count; i-- > 0;) {
        struct asker *asker = load->askers.items[i];

        if (asker->node == node)
            asker->is_gone = true;
        if (!asker->is_gone || (asker->has_started && !asker->is_released))
            continue;
        mem_free(asker);
        vec_remove(&load->askers, i);
    }
}

static void probe(void *user, uint32_t node, uint32_t machine, const struct probe *probe)
{
    struct rolling_load *load = user;

    (void)machine;
    check_restart_probe(load->check, world_now(load->world), node, probe);
}

/* ---- lifetime ---- */

struct rolling_load *rolling_load_new(struct world *world)
{
    struct rolling_load *load = mem_alloc(sizeof *load);
    struct world_observer observer = { .user = load,
                                       .node_started = node_started,
                                       .node_ended = node_ended,
                                       .probe = probe };

    check(!current);
    load->world = world;
    load->rng = stream_rng(world_seed(world), STREAM_ROLLING, 0);
    load->check = check_restart_new(world_verdict(world));
    world_observe(world, &observer);
    current = load;
    return load;
}

void rolling_load_free(struct rolling_load *load)
{
    if (!load)
        return;
    for (uint32_t i = 0; i < load->askers.count; i++)
        mem_free(load->askers.items[i]);
    vec_fini(&load->askers);
    check_restart_free(load->check);
    mem_free(load->types);
    mem_free(load);
    current = NULL;
}

const struct sherd_entity_type *rolling_load_types(struct rolling_load *load,
                                                   const struct sherd_entity_type *types,
                                                   uint32_t count)
{
    load->types = mem_alloc((count + 1) * sizeof *types);
    if (count)
        memcpy(load->types, types, count * sizeof *types);
    load->types[count] = type;
    return load->types;
}

/* ---- a run ---- */

void rolling_load_ask(struct rolling_load *load)
{
    load->asks = true;
    for (uint32_t i = 0; i < load->askers.count; i++)
        load->askers.items[i]->is_known = true;
}

void rolling_load_stop(struct rolling_load *load)
{
    load->asks = false;
}

void rolling_load_leaves(struct rolling_load *load, uint32_t node)
{
    for (uint32_t i = 0; i < load->askers.count; i++)
        if (load->askers.items[i]->node == node)
            load->askers.items[i]->is_leaving = true;
}

void rolling_load_judge(struct rolling_load *load, bool on)
{
    if (on)
        check_restart_begin(load->check, world_now(load->world));
    else
        check_restart_end(load->check, world_now(load->world));
}

struct check_restart_counts rolling_load_counts(const struct rolling_load *load)
{
    return check_restart_counts(load->check);
}
