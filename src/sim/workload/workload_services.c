/* Runs a singleton on every node of a world, and asks it. */
#include "sim/workload/workload_services.h"

#include <stdio.h>
#include <string.h>

#include <sherd/singleton.h>

#include "base/check.h"
#include "base/vec.h"
#include "sim/seed/streams.h"
#include "sim/world/verdict.h"

#define TICK 1
#define ASK_MS 5000
#define SLOW_STOP_MS 300 /* of an instance that obeys its stop message late */

enum { WHO = 1, CLOSE, FAIL_NOW };

/* The actor on each node that opens the singleton and asks it. */
struct client {
    uint32_t node;
    uint32_t round; /* of the last answer */
    uint32_t asked_round;
    bool is_open; /* an ask */
    bool has_started, is_released;
    bool is_gone; /* its node has ended */
    struct sherd_ref singleton;
};

struct services_load {
    struct services_load_settings settings;
    struct world *world;
    struct check_services *check;
    struct rng rng;
    VEC(struct client *) clients;
    bool is_stopped;
    uint32_t round;
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
    } else if (msg->kind == SHERD_TIMER) {
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

/* ---- clients ---- */

static void open_singleton(struct sherd_ctx *ctx, struct client *client)
{
    const struct sherd_singleton singleton = {
        .name = "sim-singleton",
        .behavior = { .name = "sim-singleton",
                      .state_size = sizeof(struct instance),
                      .receive = instance_receive,
                      .release = instance_release },
        .init = { &client->node, sizeof client->node },
        .stop_msg = CLOSE,
    };

    check(!sherd_singleton_open(ctx, &singleton, &client->singleton));
}

static void act(struct services_load *load, struct sherd_ctx *ctx, struct client *client)
{
    const struct sherd_bytes none = { NULL, 0 };

    sherd_timer(ctx, TICK, 1 + rng_below(&load->rng, 2 * load->settings.interval_ms));
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
        client->is_open = false;
        client->round = client->asked_round;
        load->counts.answered++;
        break;
    case SHERD_NO_ANSWER:
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
    world_observe(world, &observer);
    current = load;
    return load;
}

void services_load_safety(struct services_load *load, const struct check_safety *safety)
{
    check_services_safety(load->check, safety);
}

void services_load_free(struct services_load *load)
{
    if (!load)
        return;
    for (uint32_t i = 0; i < load->clients.count; i++)
        mem_free(load->clients.items[i]);
    vec_fini(&load->clients);
    check_services_free(load->check);
    mem_free(load);
    current = NULL;
}

/* ---- a run ---- */

void services_load_stop(struct services_load *load)
{
    load->is_stopped = true;
    load->round++;
    for (uint32_t i = 0; i < load->clients.count; i++)
        load->clients.items[i]->round = load->round;
}

void services_load_resume(struct services_load *load)
{
    load->is_stopped = false;
}

void services_load_round(struct services_load *load)
{
    load->round++;
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
