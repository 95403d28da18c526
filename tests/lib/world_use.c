/* What tests do to a world, and ask of it. */
#include "world.h"

#include <stdio.h>

#include "base/check.h"
#include "host/store_memory.h"

struct world *world_new(uint64_t seed)
{
    static uint32_t worlds; /* a test that failed leaves its own behind */
    struct world *world = mem_alloc(sizeof *world);
    struct store_options options = { .cluster = "World" };
    char error[STORE_ERROR_MAX];
    char name[16];

    (void)snprintf(name, sizeof name, "world%u", worlds++); /* fits */
    options.path = name;

    rng_init(&world->rng, seed);
    world->now = SECOND;
    world->link_delay = MS;
    world->mail_delay = 20000;
    world->store_delay = 2 * MS;
    world->pipe_size = 256 * 1024;
    world->store = store_memory.open(&options, STORE_WRITER, error);
    check(world->store);
    return world;
}

struct node_settings world_settings(struct world *world, uint32_t index,
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
    struct world_node *node = &world->nodes[index];
    char error[200];

    check(!node->node);
    node->settings = *settings;
    node->settings.now = world->now;
    node->address = settings->identity.node.address;
    node->life++;
    node->machines = settings->lanes + 1;
    node->channels = mem_alloc((size_t)node->machines * node->machines *
                               sizeof *node->channels);
    node->is_paused = node->is_up = node->has_ended = false;
    node->stored_at = 0;
    node->node = node_new(&node->settings, error, sizeof error);
    check(node->node);
    for (uint32_t i = 0; i < node->machines; i++) {
        node->turn_at[i] = NEVER;
        machine_start(node_machine(node->node, i), world->now,
                      WORLD_WALL_MS + (int64_t)(world->now / MS));
        world_want_turn(world, index, i, world->now);
    }
}

void world_crash(struct world *world, uint32_t index)
{
    world_end_node(world, index, true);
}

void world_pause(struct world *world, uint32_t index, bool paused)
{
    world->nodes[index].is_paused = paused;
}

void world_cut(struct world *world, uint32_t left, uint32_t right, bool cut)
{
    world->cut[left][right] = world->cut[right][left] = cut;
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
    for (uint32_t i = 0; i < WORLD_NODES_MAX; i++)
        count += world->nodes[i].node != NULL;
    for (uint32_t i = 0; i < WORLD_NODES_MAX; i++)
        if (world->nodes[i].node &&
            (!world->nodes[i].is_up || !sees_all(world, i, count)))
            return false;
    return true;
}

bool world_node_ended(struct world *world, void *index)
{
    return world->nodes[*(uint32_t *)index].has_ended;
}

/* ---- from outside actors ---- */

static void give(struct world *world, uint32_t index, uint32_t to,
                 struct mail mail)
{
    struct world_node *node = &world->nodes[index];

    check(node->node);
    machine_mail(node_machine(node->node, to), world->now, &mail, 1);
    world_want_turn(world, index, to, world->now);
}

void world_spawn(struct world *world, uint32_t node, uint32_t lane,
                 const struct sherd_behavior *behavior, const void *init,
                 size_t size)
{
    struct sherd_bytes bytes = { init, size };
    uint32_t to;
    struct mail mail =
        node_mail_spawn(world->nodes[node].node, behavior, bytes, &to);

    give(world, node, 1 + lane, mail);
}

void world_tell_entity(struct world *world, uint32_t node, const char *type,
                       const char *id, uint32_t msg)
{
    struct mail mail;
    uint32_t to;

    check(node_mail_entity_tell(world->nodes[node].node, type, id, msg,
                                (struct sherd_bytes){ NULL, 0 }, &mail, &to));
    give(world, node, to, mail);
}

void world_tell(struct world *world, uint32_t node, struct sherd_ref to,
                uint32_t msg, struct sherd_bytes body)
{
    struct mail mail;
    uint32_t machine;

    check(node_mail_tell(world->nodes[node].node, to, msg, body,
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
         node_mail_command(NODE_DOWN, &world->nodes[which].address));
}

/* ---- looking ---- */

struct sherd_status world_status(struct world *world, uint32_t index)
{
    struct world_node *node = &world->nodes[index];

    check(node->node);
    memset(&node->status, 0, sizeof node->status);
    for (uint32_t i = 0; i < node->machines; i++) {
        struct status_part *part = mem_alloc(sizeof *part);
        struct mail mail = node_mail_status(part);

        machine_mail(node_machine(node->node, i), world->now, &mail, 1);
        world_carry_out(world, index, i);
    }
    return node->status;
}

void world_status_fini(struct sherd_status *status)
{
    sherd_status_free(status);
}

bool world_logged(const struct world *world, uint32_t node, const char *text)
{
    for (uint32_t i = 0; i < world->lines.count; i++)
        if (world->lines.items[i].node == node &&
            strstr(world->lines.items[i].text, text))
            return true;
    return false;
}
