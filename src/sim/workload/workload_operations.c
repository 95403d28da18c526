/* Implements workload_operations.h. */
#include "sim/workload/workload_operations.h"

#include <stdio.h>

#include "base/check.h"
#include "base/rng.h"
#include "base/timers.h"
#include "base/vec.h"
#include "node/mail/operate_call.h"
#include "sim/check/facts.h"
#include "sim/seed/streams.h"

#define OPEN_MAX 64 /* of the whole world */
#define HOLD_MAX_MS 5000 /* a held shard keeps a cluster out of balance */

/* An incarnation that may be cordoned. */
struct cordoned_life {
    uint32_t node;
    uint32_t life;
};

/* A type whose rebalances may be paused, in the data center of a node. */
struct paused_type {
    uint32_t type;
    uint32_t center;
};

struct operation_load {
    struct operation_load_settings settings;
    struct world *world;
    struct check_operations *check;
    struct rng rng;
    VEC(struct cordoned_life) cordoned;
    VEC(struct paused_type) paused;
    uint64_t number;
    bool is_stopped;
};

static uint64_t harm_to(const struct operation_load *load, uint32_t node)
{
    struct world_harm harm = world_harm(load->world, node);

    return harm.held + harm.slow_turns;
}

static bool is_running(const struct operation_load *load, uint32_t node)
{
    const struct world_node *place = world_node(load->world, node);

    return place->node && !place->is_paused;
}

/* The number of the node at an address. */
static uint32_t place_of(const struct operation_load *load, const struct address *address)
{
    uint32_t i = 0;

    while (i < world_node_count(load->world) &&
           !address_equal(&world_node(load->world, i)->settings.identity.node.address, address))
        i++;
    return i;
}

static uint64_t uid_of(const struct operation_load *load, uint32_t node)
{
    return world_node(load->world, node)->settings.identity.node.uid;
}

/* The program on `node` asks. */
static void begin(struct operation_load *load, uint32_t node, enum sherd_operation_kind kind,
                  const struct sherd_operation_options *options,
                  struct check_operations_begin *begun)
{
    struct operate_call *call;

    begun->number = ++load->number;
    begun->node = node;
    begun->kind = kind;
    begun->now = world_now(load->world);
    begun->within = (uint64_t)options->timeout_ms * MS;
    begun->harm = harm_to(load, node);
    check(operate_call_new(kind, options, &call) == 0);
    call->number = load->number;
    check_operations_begun(load->check, begun);
    world_operate(load->world, node, call);
}

static void may_be_cordoned(struct operation_load *load, uint32_t node)
{
    uint32_t life = world_node(load->world, node)->life;

    for (uint32_t i = 0; i < load->cordoned.count; i++)
        if (load->cordoned.items[i].node == node && load->cordoned.items[i].life == life)
            return;
    vec_push(&load->cordoned, ((struct cordoned_life){ node, life }));
}

static void is_uncordoned(struct operation_load *load, uint32_t node)
{
    for (uint32_t i = load->cordoned.count; i-- > 0;)
        if (load->cordoned.items[i].node == node)
            vec_remove(&load->cordoned, i);
}

static void cordon(struct operation_load *load, uint32_t node, uint32_t target,
                   enum sherd_operation_kind kind)
{
    const struct world_node *place = world_node(load->world, target);
    struct check_operations_begin begun = { .uid = uid_of(load, target) };
    struct sherd_operation_options options = {
        .timeout_ms = 5000 + (uint32_t)rng_below(&load->rng, 30000),
    };
    char address[ADDRESS_TEXT_MAX];

    options.node = address_text(&place->settings.identity.node.address, address, sizeof address);
    if (kind != SHERD_UNCORDON)
        may_be_cordoned(load, target);
    begin(load, node, kind, &options, &begun);
}

static void move(struct operation_load *load, uint32_t node, uint32_t target)
{
    const struct operation_load_settings *settings = &load->settings;
    uint32_t type = (uint32_t)rng_below(&load->rng, settings->type_count);
    int32_t shard = (int32_t)rng_below(&load->rng, settings->shards);
    struct check_operations_begin begun = {
        .place = target,
        .type = fact_type(settings->centers ? settings->centers : 1, node, (uint16_t)type),
        .shard = shard,
    };
    struct sherd_operation_options options = {
        .type = settings->types[type].name,
        .hold_ms = SHERD_NO_HOLD,
        .timeout_ms = 100 + (uint32_t)rng_below(&load->rng, 40000),
    };
    char address[ADDRESS_TEXT_MAX], id[16];

    options.node = address_text(&world_node(load->world, target)->settings.identity.node.address,
                                address, sizeof address);
    (void)snprintf(id, sizeof id, "%d", (int)shard);
    options.shard = id;
    if (rng_below(&load->rng, 2))
        options.hold_ms = 1 + rng_below(&load->rng, HOLD_MAX_MS);
    begun.is_dry_run = rng_below(&load->rng, 16) == 0;
    options.dry_run = begun.is_dry_run;
    begin(load, node, SHERD_MOVE_SHARD, &options, &begun);
}

/* Uncordons the first cordoned incarnation, if it still runs. */
static void uncordon_one(struct operation_load *load, uint32_t node)
{
    struct cordoned_life first = load->cordoned.items[0];

    if (world_node(load->world, first.node)->node &&
        world_node(load->world, first.node)->life == first.life)
        cordon(load, node, first.node, SHERD_UNCORDON);
    else
        vec_remove(&load->cordoned, 0);
}

static uint32_t center_of(const struct operation_load *load, uint32_t node)
{
    return load->settings.centers > 1 ? node % load->settings.centers : 0;
}

/* Returns its place, or the count of all. */
static uint32_t paused_at(const struct operation_load *load, uint32_t type, uint32_t center)
{
    uint32_t i = 0;

    while (i < load->paused.count && (load->paused.items[i].type != type ||
                                      load->paused.items[i].center != center))
        i++;
    return i;
}

static void pause(struct operation_load *load, uint32_t node, uint32_t type,
                  enum sherd_operation_kind kind)
{
    struct check_operations_begin begun = { .is_dry_run = false };
    const struct sherd_operation_options options = {
        .type = load->settings.types[type].name,
        .timeout_ms = 5000 + (uint32_t)rng_below(&load->rng, 30000),
    };
    uint32_t center = center_of(load, node);

    if (kind == SHERD_PAUSE_REBALANCE && paused_at(load, type, center) == load->paused.count)
        vec_push(&load->paused, ((struct paused_type){ type, center }));
    begin(load, node, kind, &options, &begun);
}

/* A pause or a resumption has ended. */
static void pause_ended(struct operation_load *load, uint32_t node, const struct operate_call *call)
{
    uint32_t type = 0, center = center_of(load, node), at;

    while (!slice_is(buf_slice(&call->type), load->settings.types[type].name))
        type++;
    at = paused_at(load, type, center);
    if (call->kind == SHERD_PAUSE_REBALANCE && at == load->paused.count)
        vec_push(&load->paused, ((struct paused_type){ type, center }));
    else if (call->kind == SHERD_RESUME_REBALANCE && call->state == SHERD_OPERATION_DONE &&
             at < load->paused.count)
        vec_remove(&load->paused, at);
}

/* Resumes a type of the node's data center. */
static bool resume_one(struct operation_load *load, uint32_t node)
{
    for (uint32_t i = 0; i < load->paused.count; i++) {
        if (load->paused.items[i].center != center_of(load, node))
            continue;
        pause(load, node, load->paused.items[i].type, SHERD_RESUME_REBALANCE);
        return true;
    }
    return false;
}

static void draw(struct operation_load *load, uint32_t node, uint32_t target)
{
    uint64_t what = rng_below(&load->rng, 8);

    if (what == 0)
        cordon(load, node, target, rng_below(&load->rng, 3) ? SHERD_CORDON : SHERD_DRAIN);
    else if (what == 1 && load->cordoned.count)
        uncordon_one(load, node);
    else if (what == 2 && load->settings.type_count && rng_below(&load->rng, 2))
        pause(load, node, (uint32_t)rng_below(&load->rng, load->settings.type_count),
              SHERD_PAUSE_REBALANCE);
    else if (what == 2)
        (void)resume_one(load, node);
    else if (load->settings.type_count)
        move(load, node, target);
}

static void act_later(struct operation_load *load);

static void act(struct world *world, void *arg)
{
    struct operation_load *load = arg;
    uint32_t nodes = world_node_count(world);
    uint32_t node = nodes ? (uint32_t)rng_below(&load->rng, nodes) : 0;
    uint32_t target = nodes ? (uint32_t)rng_below(&load->rng, nodes) : 0;

    for (uint32_t i = 0; i < nodes; i++)
        if (is_running(load, i))
            check_operations_at(load->check, world_now(world), i, harm_to(load, i));
    if (nodes && check_operations_open(load->check) < OPEN_MAX && is_running(load, node) &&
        world_node(world, target)->node && !load->is_stopped)
        draw(load, node, target);
    act_later(load);
}

static void act_later(struct operation_load *load)
{
    world_at(load->world,
             world_now(load->world) +
                 (1 + rng_below(&load->rng, 2 * load->settings.interval_ms)) * MS,
             act, load);
}

/* ---- reports of the world ---- */

static void operated(void *user, uint32_t node, struct operate_call *call)
{
    struct operation_load *load = user;
    uint32_t target = place_of(load, &call->node);

    if ((call->kind == SHERD_CORDON || call->kind == SHERD_DRAIN) && target < world_node_count(load->world))
        may_be_cordoned(load, target); /* its last request may have come after an uncordon */
    else if (call->kind == SHERD_UNCORDON && call->state == SHERD_OPERATION_DONE)
        is_uncordoned(load, target);
    if (call->kind == SHERD_PAUSE_REBALANCE || call->kind == SHERD_RESUME_REBALANCE)
        pause_ended(load, node, call);
    check_operations_ended(load->check,
                           &(struct check_operations_end){ .number = call->number,
                                                           .node = node,
                                                           .now = world_now(load->world),
                                                           .result = call->result,
                                                           .state = call->state,
                                                           .code = call->code });
}

static void node_ended(void *user, uint32_t node, bool crashed, int error)
{
    struct operation_load *load = user;

    (void)crashed;
    (void)error;
    check_operations_node_ended(load->check, node);
}

static void probe(void *user, uint32_t node, uint32_t machine, const struct probe *probe)
{
    struct operation_load *load = user;
    struct probe copy;

    (void)machine;
    if (probe->kind != PROBE_HOME_SET)
        return;
    copy = *probe;
    if (load->settings.centers > 1)
        copy.type = fact_type(load->settings.centers, node, probe->type);
    check_operations_probe(load->check, world_now(load->world), node,
                           place_of(load, &probe->node.address), &copy);
}

/* ---- a run ---- */

struct operation_load *operation_load_new(struct world *world,
                                          const struct operation_load_settings *settings)
{
    struct operation_load *load = mem_alloc(sizeof *load);
    const struct world_observer observer = { .user = load,
                                             .node_ended = node_ended,
                                             .probe = probe,
                                             .operated = operated };

    load->settings = *settings;
    load->world = world;
    load->check = check_operations_new(world_verdict(world));
    load->rng = stream_rng(world_seed(world), STREAM_OPERATIONS, 0);
    world_observe(world, &observer);
    act_later(load);
    return load;
}

void operation_load_free(struct operation_load *load)
{
    if (!load)
        return;
    check_operations_free(load->check);
    vec_fini(&load->cordoned);
    vec_fini(&load->paused);
    mem_free(load);
}

void operation_load_safety(struct operation_load *load, const struct check_safety *safety)
{
    check_operations_safety(load->check, safety);
}

void operation_load_stop(struct operation_load *load)
{
    load->is_stopped = true;
}

void operation_load_resume(struct operation_load *load)
{
    load->is_stopped = false;
}

bool operation_load_idle(struct operation_load *load)
{
    bool is_open = check_operations_open(load->check) > 0;

    for (uint32_t i = 0; !is_open && load->cordoned.count && i < world_node_count(load->world); i++) {
        if (!is_running(load, i))
            continue;
        uncordon_one(load, i);
        break;
    }
    for (uint32_t i = 0; !is_open && i < world_node_count(load->world); i++)
        if (is_running(load, i) && resume_one(load, i))
            break;
    return !check_operations_open(load->check) && !load->cordoned.count && !load->paused.count;
}

struct check_operations_counts operation_load_counts(const struct operation_load *load)
{
    return check_operations_counts(load->check);
}
