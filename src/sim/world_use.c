/* What tests do to a world, and ask of it. */
#include "sim/inside.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"

struct world *world_new(const struct world_settings *settings)
{
    struct world *world = mem_alloc(sizeof *world);
    struct world_settings *own = &world->settings;
    char error[STORE_ERROR_MAX];

    *own = *settings;
    own->link_min = own->link_min ? own->link_min : MS / 20;
    own->link_mean = own->link_mean ? own->link_mean : MS / 2;
    own->mail_delay = own->mail_delay ? own->mail_delay : 20000;
    own->store_delay = own->store_delay ? own->store_delay : 2 * MS;
    own->pipe_size = own->pipe_size ? own->pipe_size : 256 * 1024;
    rng_init(&world->rng, own->seed);
    world->now = SECOND;
    world->verdict = verdict_new(own->seed, &world->now);
    world->traces = getenv("WORLD_TRACE") != NULL;
    if (own->store) {
        world->store =
            own->store->open(own->store_options, STORE_WRITER, error);
        check(world->store);
    }
    return world;
}

uint64_t world_seed(const struct world *world)
{
    return world->settings.seed;
}

uint64_t world_now(const struct world *world)
{
    return world->now;
}

uint64_t world_digest(const struct world *world)
{
    return world->digest;
}

struct verdict *world_verdict(struct world *world)
{
    return world->verdict;
}

void world_observe(struct world *world, const struct world_observer *observer)
{
    vec_push(&world->observers, *observer);
}

uint32_t world_node_count(const struct world *world)
{
    return world->node_count;
}

const struct world_node *world_node(const struct world *world, uint32_t index)
{
    static const struct world_node none;

    return index < world->node_count ? &world->sites[index].face : &none;
}

void world_store_fails(struct world *world, bool fails)
{
    world->store_fails = fails;
}

void world_store_stops(struct world *world, bool stops)
{
    world->store_stops = stops;
}

struct node_settings world_node_settings(struct world *world, uint32_t index,
                                         const struct sherd_entity_type *types,
                                         uint32_t type_count)
{
    static const struct address first = { "n0", 2551 };
    struct node_settings settings = {
        .identity = { "akka", "World", { { "", 2551 }, 0 } },
        .seed_nodes = &first,
        .seed_node_count = index ? 1 : 0,
        .alone = !index,
        .lanes = 2,
        .trace_level = TRACE_INFO,
        .types = types,
        .type_count = type_count,
        .number_of_shards = 20,
        .buffer_size = 10000,
        .rebalance_interval = SECOND,
        .rebalance_absolute_limit = 20,
        .rebalance_relative_limit = 1.0,
        .passivate_idle_after = 120 * SECOND,
    };

    settings.identity.node.uid = rng_next(&world->rng) >> 1 | 1;
    settings.seed = rng_next(&world->rng);
    (void)snprintf(settings.identity.node.address.host, HOST_MAX, "n%u",
                   index); /* fits */
    return settings;
}

void world_start(struct world *world, uint32_t index,
                 const struct node_settings *settings)
{
    struct site *node = &world->sites[index];
    char error[200];

    check(index < PLACES && !node->face.node);
    node->face.settings = *settings;
    node->face.settings.now = world->now;
    node->address = settings->identity.node.address;
    node->face.life++;
    if (index >= world->node_count)
        world->node_count = index + 1;
    node->machines = settings->lanes + 1;
    node->channels = mem_alloc((size_t)node->machines * node->machines *
                               sizeof *node->channels);
    node->face.is_paused = node->face.is_up = node->face.has_ended = false;
    node->stored_at = 0;
    node->face.node = node_new(&node->face.settings, error, sizeof error);
    check(node->face.node);
    for (uint32_t i = 0; i < node->machines; i++) {
        node->turn_at[i] = NEVER;
        machine_start(node_machine(node->face.node, i), world->now,
                      WORLD_WALL_MS + (int64_t)(world->now / MS));
        world_want_turn(world, index, i, world->now);
    }
    observe(world, node_started, index, settings->identity.node.uid);
}

void world_crash(struct world *world, uint32_t index)
{
    world_end_node(world, index, true);
}

void world_pause(struct world *world, uint32_t index, bool paused)
{
    world->sites[index].face.is_paused = paused;
}

void net_part(struct world *world, uint32_t left, uint32_t right, bool cut)
{
    world->cut[left][right] = world->cut[right][left] = cut;
}

void world_mail_delay(struct world *world, uint64_t most)
{
    world->settings.mail_delay = most;
}

/* ---- conditions ---- */

static bool sees_all(struct world *world, uint32_t index, uint32_t count)
{
    struct sherd_status status = world_status(world, index);
    bool all = status.member_count == count;

    for (uint32_t i = 0; i < status.member_count; i++)
        all &= status.members[i].status == SHERD_UP &&
               status.members[i].reachable;
    world_status_fini(&status);
    return all;
}

bool world_all_up(struct world *world, void *arg)
{
    uint32_t count = 0;

    (void)arg;
    for (uint32_t i = 0; i < PLACES; i++)
        count += world->sites[i].face.node != NULL;
    for (uint32_t i = 0; i < PLACES; i++)
        if (world->sites[i].face.node &&
            (!world->sites[i].face.is_up || !sees_all(world, i, count)))
            return false;
    return true;
}

bool world_node_ended(struct world *world, void *index)
{
    return world->sites[*(uint32_t *)index].face.has_ended;
}

/* ---- from outside actors ---- */

static void give(struct world *world, uint32_t index, uint32_t to,
                 struct mail mail)
{
    struct site *node = &world->sites[index];

    check(node->face.node);
    machine_mail(node_machine(node->face.node, to), world->now, &mail, 1);
    world_want_turn(world, index, to, world->now);
}

void world_spawn(struct world *world, uint32_t node, uint32_t lane,
                 const struct sherd_behavior *behavior, const void *init,
                 size_t size)
{
    struct sherd_bytes bytes = { init, size };
    uint32_t to;
    struct mail mail =
        node_mail_spawn(world->sites[node].face.node, behavior, bytes, &to);

    give(world, node, 1 + lane, mail);
}

void world_tell_entity(struct world *world, uint32_t node, const char *type,
                       const char *id, uint32_t msg)
{
    struct mail mail;
    uint32_t to;

    check(node_mail_entity_tell(world->sites[node].face.node, type, id, msg,
                                (struct sherd_bytes){ NULL, 0 }, &mail, &to));
    give(world, node, to, mail);
}

void world_tell(struct world *world, uint32_t node, struct sherd_ref to,
                uint32_t msg, struct sherd_bytes body)
{
    struct mail mail;
    uint32_t machine;

    check(node_mail_tell(world->sites[node].face.node, to, msg, body,
                         &mail, &machine));
    give(world, node, machine, mail);
}

void world_leave(struct world *world, uint32_t node)
{
    give(world, node, 0, node_mail_command(NODE_LEAVE, NULL));
}

void world_down(struct world *world, uint32_t node, uint32_t which)
{
    give(world, node, 0,
         node_mail_command(NODE_DOWN, &world->sites[which].address));
}

/* ---- looking ---- */

struct sherd_status world_status(struct world *world, uint32_t index)
{
    struct site *node = &world->sites[index];

    check(node->face.node);
    memset(&node->status, 0, sizeof node->status);
    for (uint32_t i = 0; i < node->machines; i++) {
        struct status_part *part = mem_alloc(sizeof *part);
        struct mail mail = node_mail_status(part);

        machine_mail(node_machine(node->face.node, i), world->now, &mail, 1);
        world_carry_out(world, index, i);
    }
    return node->status;
}

void world_status_fini(struct sherd_status *status)
{
    mem_free(status->members); /* as sherd_status_free does, which is in the other driver */
    mem_free(status->types);
    memset(status, 0, sizeof *status);
}

bool world_logged(const struct world *world, uint32_t node, const char *text)
{
    for (uint32_t i = 0; i < world->lines.count; i++)
        if (world->lines.items[i].node == node &&
            strstr(world->lines.items[i].text, text))
            return true;
    return false;
}
