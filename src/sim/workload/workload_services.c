/* Runs a singleton and daemons on the nodes of a world, asks the one and changes the number of the
 * others. */
#include "sim/workload/workload_services.h"

#include <stdio.h>
#include <string.h>

#include <sherd/daemon.h>
#include <sherd/singleton.h>

#include "base/check.h"
#include "base/vec.h"
#include "sim/seed/streams.h"
#include "sim/world/verdict.h"

#define TICK 1
#define CHANGE 2 /* tag of a change */
#define CHANGE_MS 30000
#define CHANGE_ODDS 30 /* one in so many ticks of a node */
#define DAEMONS 3
#define DAEMONS_MOST 6
#define KEEP_ALIVE_MS 3000
#define ASK_MS 5000
#define SLOW_STOP_MS 300 /* of an instance that obeys its stop message late */

enum { WHO = 1, CLOSE, FAIL_NOW };

/* The actor on each node that opens the singleton and asks it. */
struct client {
    uint32_t node;
    uint32_t round; /* of the last answer */
    uint32_t asked_round, change_round;
    bool is_open; /* an ask */
    bool has_started, is_released;
    bool is_gone; /* its node has ended */
    bool changes; /* the number of daemons; an answer is due */
    bool has_changed; /* in this round */
    struct sherd_ref singleton;
    struct sherd_ref daemons;
};

struct services_load {
    struct services_load_settings settings;
    struct world *world;
    struct check_services *check;
    struct rng rng;
    VEC(struct client *) clients;
    bool is_stopped;
    uint32_t round;
    struct sherd_daemons daemons;
    struct sherd_daemons_type daemons_type;
    struct sherd_entity_type *types; /* of the nodes */
    struct services_load_counts counts;
};

static struct services_load *current;

/* ---- the instance ---- */

struct instance {
    uint32_t node;
    bool has_started;
    bool is_closing;
};

static enum sherd_next instance_receive(struct sherd_ctx *ctx, void *self,
                                        const struct sherd_msg *msg)
{
    struct instance *instance = self;

    if (msg->kind == SHERD_STARTED) {
        memcpy(&instance->node, msg->body.data, sizeof instance->node);
        instance->has_started = true;
        check_services_started(current->check, instance->node, SERVICE_SINGLETON);
        return SHERD_CONTINUE;
    }
    check_services_runs(current->check, instance->node);
    if (msg->kind == SHERD_TIMER) {
        return SHERD_STOP;
    } else if (msg->kind == SHERD_MESSAGE && msg->msg == CLOSE) {
        instance->is_closing = true;
        sherd_timer(ctx, TICK, 1 + rng_below(&current->rng, SLOW_STOP_MS));
    } else if (msg->kind == SHERD_MESSAGE && msg->msg == FAIL_NOW) {
        return SHERD_FAIL;
    } else if (msg->kind == SHERD_MESSAGE && !instance->is_closing) {
        sherd_reply(ctx, WHO, (struct sherd_bytes){ NULL, 0 });
    }
    return SHERD_CONTINUE;
}

static void instance_release(void *self)
{
    struct instance *instance = self;

    if (instance->has_started)
        check_services_ended(current->check, instance->node, SERVICE_SINGLETON);
}

/* ---- daemons ---- */

struct worker {
    uint32_t node;
    uint32_t number;
    bool has_started;
};

static uint32_t node_of(struct world *world, uint64_t uid)
{
    for (uint32_t i = 0; i < world_node_count(world); i++)
        if (world_node(world, i)->settings.identity.node.uid == uid)
            return i;
    check(!"a node");
    return 0;
}

static enum sherd_next worker_receive(struct sherd_ctx *ctx, void *self,
                                      const struct sherd_msg *msg)
{
    struct worker *worker = self;
    struct sherd_daemon daemon;

    if (msg->kind == SHERD_STARTED) {
        check(sherd_daemon(ctx, &daemon));
        worker->node = node_of(current->world, sherd_self(ctx).node);
        worker->number = daemon.number;
        worker->has_started = true;
        check_services_started(current->check, worker->node, SERVICE_DAEMON + worker->number);
    } else if (msg->kind == SHERD_MESSAGE && msg->msg == CLOSE) {
        sherd_timer(ctx, TICK, 1 + rng_below(&current->rng, SLOW_STOP_MS));
    }
    return msg->kind == SHERD_TIMER ? SHERD_STOP : SHERD_CONTINUE;
}

static void worker_release(void *self)
{
    struct worker *worker = self;

    if (worker->has_started)
        check_services_ended(current->check, worker->node, SERVICE_DAEMON + worker->number);
}

/* The number of daemons that each data center must have in this round. */
static uint32_t target(const struct services_load *load)
{
    return 1 + load->round % DAEMONS_MOST;
}

static void change_daemons(struct services_load *load, struct sherd_ctx *ctx,
                           struct client *client)
{
    uint32_t count = load->is_stopped ? target(load)
                                      : 1 + (uint32_t)rng_below(&load->rng, DAEMONS_MOST);

    if (client->changes)
        return;
    client->changes = true;
    client->change_round = load->round;
    sherd_daemons_set_count(ctx, client->daemons, count, CHANGE, CHANGE_MS);
}

/* One node of each data center makes the change of a round. */
static bool is_first(const struct services_load *load, const struct client *client)
{
    uint32_t centers = load->settings.centers;

    for (uint32_t i = 0; i < load->clients.count; i++) {
        const struct client *other = load->clients.items[i];

        if (!other->is_gone && other->node < client->node &&
            other->node % centers == client->node % centers)
            return false;
    }
    return true;
}

static void changed(struct services_load *load, struct client *client,
                    const struct sherd_msg *msg)
{
    bool is_made = msg->kind == SHERD_ANSWER && msg->msg == SHERD_DAEMONS_CHANGED;

    client->changes = false;
    load->counts.changes += is_made;
    load->counts.refused += !is_made;
    if (is_made && load->is_stopped && client->change_round == load->round)
        client->has_changed = true;
}

/* ---- clients ---- */

static void open_singleton(struct sherd_ctx *ctx, struct client *client)
{
    const struct sherd_singleton singleton = {
        .name = SERVICES_SINGLETON,
        .behavior = { .name = "sim-singleton",
                      .state_size = sizeof(struct instance),
                      .receive = instance_receive,
                      .release = instance_release },
        .init = { &client->node, sizeof client->node },
        .stop_msg = CLOSE,
    };

    check(!sherd_singleton_open(ctx, &singleton, &client->singleton));
    check(!sherd_daemons_open(ctx, &current->daemons, &client->daemons));
}

static void act(struct services_load *load, struct sherd_ctx *ctx, struct client *client)
{
    const struct sherd_bytes none = { NULL, 0 };

    sherd_timer(ctx, TICK, 1 + rng_below(&load->rng, 2 * load->settings.interval_ms));
    if (load->is_stopped ? !client->has_changed && is_first(load, client)
                         : !rng_below(&load->rng, CHANGE_ODDS))
        change_daemons(load, ctx, client);
    if (load->is_stopped && client->round == load->round)
        return;
    if (!load->is_stopped && !rng_below(&load->rng, 200))
        sherd_tell(ctx, client->singleton, FAIL_NOW, none);
    if (client->is_open)
        return;
    client->is_open = true;
    client->asked_round = load->round;
    load->counts.asked++;
    sherd_ask(ctx, client->singleton, WHO, none, TICK, ASK_MS);
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    struct services_load *load = current;
    struct client *client = *(struct client **)self;

    switch (msg->kind) {
    case SHERD_STARTED:
        memcpy(self, msg->body.data, sizeof client);
        client = *(struct client **)self;
        client->has_started = true;
        open_singleton(ctx, client);
        sherd_timer(ctx, TICK, 1);
        break;
    case SHERD_TIMER:
        act(load, ctx, client);
        break;
    case SHERD_ANSWER:
        if (msg->tag == CHANGE) {
            changed(load, client, msg);
            break;
        }
        client->is_open = false;
        client->round = client->asked_round;
        load->counts.answered++;
        break;
    case SHERD_NO_ANSWER:
        if (msg->tag == CHANGE) {
            changed(load, client, msg);
            break;
        }
        client->is_open = false;
        load->counts.failed++;
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

static void node_started(void *user, uint32_t node, uint64_t uid)
{
    static const struct sherd_behavior behavior = {
        .name = "services-client",
        .state_size = sizeof(struct client *),
        .receive = receive,
        .release = release,
    };
    struct services_load *load = user;
    struct client *client = mem_alloc(sizeof *client);
    uint32_t lanes = world_node(load->world, node)->settings.lanes;

    (void)uid;
    client->node = node;
    vec_push(&load->clients, client);
    world_spawn(load->world, node, node % lanes, &behavior, &client, sizeof client);
}

static void node_ended(void *user, uint32_t node, bool crashed, int error)
{
    struct services_load *load = user;

    (void)crashed;
    (void)error;
    check_services_node_ended(load->check, node);
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

/* ---- lifetime ---- */

struct services_load *services_load_new(struct world *world,
                                        const struct services_load_settings *settings)
{
    struct services_load *load = mem_alloc(sizeof *load);
    struct world_observer observer = { .user = load,
                                       .node_started = node_started,
                                       .node_ended = node_ended };

    check(!current);
    load->settings = *settings;
    if (!load->settings.interval_ms)
        load->settings.interval_ms = 1000;
    if (!load->settings.centers)
        load->settings.centers = 1;
    load->world = world;
    load->rng = stream_rng(world_seed(world), STREAM_SERVICES, 0);
    load->check = check_services_new(world_verdict(world), load->settings.centers);
    load->daemons = (struct sherd_daemons){
        .name = "sim",
        .count = DAEMONS,
        .behavior = { .name = "sim-daemon",
                      .state_size = sizeof(struct worker),
                      .receive = worker_receive,
                      .release = worker_release },
        .stop_msg = CLOSE,
        .keep_alive_ms = KEEP_ALIVE_MS,
    };
    check(!sherd_daemons_type(&load->daemons, &load->daemons_type));
    world_observe(world, &observer);
    current = load;
    return load;
}

const struct sherd_entity_type *services_load_types(struct services_load *load,
                                                    const struct sherd_entity_type *types,
                                                    uint32_t count)
{
    load->types = mem_alloc((count + 1) * sizeof *types);
    if (count)
        memcpy(load->types, types, count * sizeof *types);
    load->types[count] = load->daemons_type.type;
    return load->types;
}

void services_load_set_shards(struct services_load *load, uint32_t count, uint32_t shards)
{
    for (uint32_t i = 0; i < count; i++)
        load->types[i].shards = shards;
}

void services_load_safety(struct services_load *load, const struct check_safety *safety)
{
    check_services_safety(load->check, safety);
}

void services_load_leases(struct services_load *load, check_singleton_has *has, void *user)
{
    check_services_leases(load->check, has, user);
}

void services_load_free(struct services_load *load)
{
    if (!load)
        return;
    for (uint32_t i = 0; i < load->clients.count; i++)
        mem_free(load->clients.items[i]);
    vec_fini(&load->clients);
    check_services_free(load->check);
    mem_free(load->types);
    mem_free(load);
    current = NULL;
}

/* ---- a run ---- */

void services_load_stop(struct services_load *load)
{
    load->is_stopped = true;
    load->round++;
    for (uint32_t i = 0; i < load->clients.count; i++) {
        load->clients.items[i]->round = load->round;
        load->clients.items[i]->has_changed = true;
    }
}

void services_load_resume(struct services_load *load)
{
    load->is_stopped = false;
}

void services_load_round(struct services_load *load)
{
    load->round++;
    for (uint32_t i = 0; i < load->clients.count; i++)
        load->clients.items[i]->has_changed = false;
}

bool services_load_daemons_run(const struct services_load *load, char *why, size_t size)
{
    for (uint32_t i = 0; i < load->clients.count; i++) {
        const struct client *client = load->clients.items[i];
        uint32_t center = client->node % load->settings.centers;

        if (client->is_gone || !is_first(load, client))
            continue;
        if (!client->has_changed) {
            (void)snprintf(why, size, "node %u could not change their number", client->node);
            return false;
        }
        if (!check_services_daemons(load->check, center, target(load), why, size))
            return false;
    }
    return true;
}

bool services_load_reached(const struct services_load *load, char *why, size_t size)
{
    for (uint32_t i = 0; i < load->clients.count; i++) {
        const struct client *client = load->clients.items[i];
        uint32_t center = client->node % load->settings.centers;

        if (client->is_gone)
            continue;
        if (client->round != load->round) {
            (void)snprintf(why, size, "node %u has no answer of the singleton", client->node);
            return false;
        }
        if (check_services_live(load->check, center, SERVICE_SINGLETON) != 1) {
            (void)snprintf(why, size, "no instance of center %u lives", center);
            return false;
        }
    }
    return true;
}

struct services_load_counts services_load_counts(const struct services_load *load)
{
    struct services_load_counts counts = load->counts;

    counts.check = check_services_counts(load->check);
    return counts;
}
