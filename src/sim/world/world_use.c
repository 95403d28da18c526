/* Carries out commands of tests, and answers their questions about nodes. */
#include "sim/world/inside.h"

#include <stdio.h>

#include <sherd/allocation.h>

#include "base/check.h"
#include "sim/seed/streams.h"

uint64_t world_seed(const struct world *world)
{
    return world->settings.seed;
}

uint64_t world_clock(const struct world *world, uint32_t index)
{
    return clock_now(&world->sites.items[index]->clock, world->now);
}

uint64_t world_now(const struct world *world)
{
    return world->now;
}

uint64_t world_events(const struct world *world)
{
    return world->events_done;
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
    world->steps_watched = world->steps_watched || observer->step;
}

uint32_t world_node_count(const struct world *world)
{
    return world->sites.count;
}

const struct world_node *world_node(const struct world *world, uint32_t index)
{
    static const struct world_node none;

    return index < world->sites.count ? &world->sites.items[index]->face
                                      : &none;
}

struct world_harm world_harm(const struct world *world, uint32_t index)
{
    struct world_harm harm = { 0 };

    if (index >= world->sites.count)
        return harm;
    harm = world->sites.items[index]->harm;
    harm.held = world->sites.items[index]->parked.ever;
    harm.unanswered = world->sites.items[index]->calls.ever;
    return harm;
}

struct disk_backend *world_backend(struct world *world)
{
    return world->stores[0].store;
}

uint32_t world_store_count(const struct world *world)
{
    return world->settings.stores;
}

struct disk_backend *world_store_at(struct world *world, uint32_t index)
{
    check(index < world->settings.stores);
    return world->stores[index].store;
}

struct database *world_database_at(struct world *world, uint32_t index)
{
    check(index < world->settings.stores);
    return world->stores[index].database;
}

void world_store_observe(struct world *world, uint32_t index,
                         const struct disk_backend_observer *observer)
{
    if (world_database_at(world, index))
        database_observe(world_database_at(world, index), observer);
    else
        disk_backend_observe(world_store_at(world, index), observer);
}

void world_store_power_loss(struct world *world, uint32_t index)
{
    if (world_database_at(world, index))
        database_crash(world_database_at(world, index), world->now);
    else
        disk_backend_power_loss(world_store_at(world, index), world->now);
    backend_arm(world);
}

void world_store_reopen(struct world *world, uint32_t index)
{
    if (world_database_at(world, index))
        database_restart(world_database_at(world, index), world->now);
    else
        disk_backend_reopen(world_store_at(world, index), world->now);
    backend_arm(world);
}

void world_database_faults(struct world *world, bool on)
{
    for (uint32_t i = 0; i < world->settings.stores; i++)
        if (world->stores[i].database)
            database_faults(world->stores[i].database, world->now, on);
    backend_arm(world);
}

struct node_settings world_node_settings(struct world *world, uint32_t index,
                                         const struct sherd_entity_type *types,
                                         uint32_t type_count)
{
    static const struct address first = { "n0", 2551 };
    struct rng *rng = &world_site(world, index)->life_rng;
    struct node_settings settings = {
        .identity = { "akka", "World", { { "", 2551 }, 0 } },
        .seed_nodes = &first,
        .seed_node_count = index ? 1 : 0,
        .alone = !index,
        .lanes = 2,
        .trace_level = TRACE_INFO,
        .log_verbose = true,
        .types = types,
        .type_count = type_count,
        .late_types_max = 2,
        .number_of_shards = 20,
        .buffer_size = 10000,
        .rebalance_interval = SECOND,
        .rebalance_absolute_limit = 20,
        .rebalance_relative_limit = 1.0,
        .passivate_idle_after = 120 * SECOND,
    };

    settings.identity.node.uid = rng_next(rng) >> 1 | 1;
    settings.seed = rng_next(rng);
    (void)snprintf(settings.identity.node.address.host, HOST_MAX, "n%u",
                   index);
    return settings;
}

void world_start(struct world *world, uint32_t index,
                 const struct node_settings *settings)
{
    struct site *site = world_site(world, index);
    struct address key = { .port = settings->identity.node.address.port };

    check(!site->face.node);
    site->face.settings = *settings;
    site->address = settings->identity.node.address;
    memcpy(key.host, site->address.host, sizeof key.host);
    map_put(&world->by_address, slice_of(&key, sizeof key), site);
    life_start(world, site);
}

void world_crash_as(struct world *world, uint32_t index, enum world_crash how)
{
    static const enum life_end ends[] = {
        [WORLD_KILLED] = LIFE_KILLED,
        [WORLD_RESET] = LIFE_RESET,
        [WORLD_DARK] = LIFE_DARK,
    };
    struct site *site = world_site(world, index);

    check(site->face.node != NULL);
    life_end(world, site, ends[how]);
}

void world_crash(struct world *world, uint32_t index)
{
    static const enum world_crash drawn[] = { WORLD_KILLED, WORLD_KILLED,
                                              WORLD_RESET, WORLD_DARK };
    struct site *site = world_site(world, index);

    world_crash_as(world, index, drawn[rng_below(&site->fate_rng, 4)]);
}

void world_pause(struct world *world, uint32_t index, bool paused)
{
    struct site *site = world_site(world, index);

    if (!site->face.node || site->face.is_paused == paused)
        return;
    site->face.is_paused = paused;
    backend_pause(world, site);
    world->paused += paused ? 1 : UINT32_MAX;
    if (paused)
        return;
    world_release(world, &site->parked);
    for (uint32_t i = 0; i < site->out.count; i++)
        pipe_write(world, site->out.items[i]);
}

uint32_t world_paused(const struct world *world)
{
    return world->paused;
}

void world_slow(struct world *world, uint32_t index, uint32_t factor)
{
    world_site(world, index)->slow = factor;
}

/* Sets the next turns anew after a change of a clock. */
static void look_again(struct world *world, struct site *site)
{
    for (uint32_t i = 0; site->face.node && i < site->machines; i++)
        worker_turn_at(world, &site->workers[i], world_soon(world));
}

void world_wall_jump(struct world *world, uint32_t index, int64_t ms)
{
    struct site *site = world_site(world, index);

    clock_jump(&site->clock, ms);
    look_again(world, site);
}

void world_drift(struct world *world, uint32_t index, uint32_t ppm)
{
    struct site *site = world_site(world, index);

    clock_drift(&site->clock, world->now, ppm);
    look_again(world, site);
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
    for (uint32_t i = 0; i < world->sites.count; i++) {
        const struct world_node *face = &world->sites.items[i]->face;

        if (face->node && !face->is_up)
            return false;
        count += face->node != NULL;
    }
    for (uint32_t i = 0; i < world->sites.count; i++)
        if (world->sites.items[i]->face.node && !sees_all(world, i, count))
            return false;
    return true;
}

bool world_node_ended(struct world *world, void *index)
{
    return world_node(world, *(uint32_t *)index)->has_ended;
}

/* ---- commands from outside ---- */

/* Uses the machine's channel to itself, which nothing else uses and which pauses with the node. */
static void give_later(struct world *world, struct site *site, uint32_t to,
                       struct mail mail)
{
    struct channel *channel = &site->channels[to * site->machines + to];

    vec_push(&channel->mail, ((struct piped_mail){ mail, world->now }));
    if (!event_waits(&channel->event))
        events_put(&world->events, &channel->event, world->now);
}

static void give(struct world *world, uint32_t index, uint32_t to,
                 struct mail mail)
{
    struct site *site = world_site(world, index);
    struct worker *worker;

    check(site->face.node != NULL);
    if (site->face.is_paused) {
        give_later(world, site, to, mail);
        return;
    }
    worker = &site->workers[to];
    machine_mail(worker->machine, site_runs(world, site), &mail,
                 1);
    worker->inputs++;
    worker_turn_at(world, worker, world->now);
}

void world_spawn_as(struct world *world, uint32_t node, uint32_t lane,
                    const struct node_spawn *spawn)
{
    struct mail mail;

    check(node_mail_spawn(spawn, &mail));
    give(world, node, 1 + lane, mail);
}

void world_spawn(struct world *world, uint32_t node, uint32_t lane,
                 const struct sherd_behavior *behavior, const void *init,
                 size_t size)
{
    world_spawn_as(world, node, lane,
                   &(struct node_spawn){ .behavior = behavior,
                                         .init = { init, size } });
}

struct sherd_ref world_reserve(struct world *world, uint32_t node,
                               uint32_t lane)
{
    return machine_reserve(
        world_site(world, node)->workers[1 + lane].machine);
}

void world_tell_entity(struct world *world, uint32_t node, const char *type,
                       const char *id, uint32_t msg,
                       struct sherd_bytes body)
{
    struct mail mail;
    uint32_t to;

    check(node_mail_entity_tell(world_node(world, node)->node, type, id, msg,
                                body, &mail, &to));
    give(world, node, to, mail);
}

void world_tell(struct world *world, uint32_t node, struct sherd_ref to,
                uint32_t msg, struct sherd_bytes body)
{
    struct mail mail;
    uint32_t machine;

    check(node_mail_tell(world_node(world, node)->node, to, msg, body,
                         &mail, &machine));
    give(world, node, machine, mail);
}

void world_wake(struct world *world, uint32_t node, struct sherd_ref actor)
{
    uint32_t machine;
    struct mail mail = node_mail_wake(actor, &machine);

    give(world, node, machine, mail);
}

void world_leave_from(struct world *world, uint32_t node,
                      enum sherd_phase from)
{
    observe(world, node_leaves, node);
    give(world, node, 0, node_mail_leave(from));
}

void world_leave(struct world *world, uint32_t node)
{
    world_leave_from(world, node, SHERD_BEFORE_SERVICE_UNBIND);
}

void world_prepare_shutdown(struct world *world, uint32_t node)
{
    give(world, node, 0, node_mail_command(NODE_PREPARE_SHUTDOWN, NULL));
}

void world_join(struct world *world, uint32_t node, uint32_t which)
{
    give(world, node, 0,
         node_mail_command(NODE_JOIN, &world_site(world, which)->address));
}

void world_leave_member(struct world *world, uint32_t node, uint32_t which)
{
    give(world, node, 0,
         node_mail_command(NODE_LEAVE_MEMBER, &world_site(world, which)->address));
}

void world_down(struct world *world, uint32_t node, uint32_t which)
{
    give(world, node, 0,
         node_mail_command(NODE_DOWN, &world_site(world, which)->address));
}

void world_active_limit(struct world *world, uint32_t node, const char *type,
                        uint32_t entities, uint64_t bytes)
{
    struct mail mail;

    if (node_mail_active_limit(world_site(world, node)->face.node, type, entities, bytes,
                               &mail))
        give(world, node, 0, mail);
}

void world_allocate(struct world *world, uint32_t node,
                    const struct sherd_allocation_choice *choice)
{
    struct address region;

    if (!choice->address || address_parse(&region, choice->address, NULL, NULL))
        give(world, node, 0,
             node_mail_allocation(choice, choice->address ? &region : NULL));
}

static void call_type(struct world *world, uint32_t node, enum type_call call, uint32_t type)
{
    struct type_part *part = mem_alloc(sizeof *part);

    part->call = call;
    part->type = type;
    give(world, node, 0, node_mail_type_call(part));
}

void world_add_type(struct world *world, uint32_t node, const struct sherd_entity_type *type)
{
    call_type(world, node, TYPE_ADD, node_prepare_type(world_site(world, node)->face.node, type));
}

void world_stop_region(struct world *world, uint32_t node, const char *type)
{
    call_type(world, node, TYPE_STOP_REGION,
              node_type_index(world_site(world, node)->face.node, type));
}

void world_query(struct world *world, uint32_t node, const char *type,
                 enum node_query query, uint64_t timeout)
{
    struct query_part *part = mem_alloc(sizeof *part);
    struct mail mail;

    part->query = query;
    part->timeout = timeout;
    if (node_mail_query(world_site(world, node)->face.node, type, part, &mail))
        give(world, node, 0, mail);
    else
        mem_free(part);
}

void world_look(struct world *world, uint32_t node, struct look_call *call)
{
    give(world, node, 0, node_mail_look(call));
}

void world_operate(struct world *world, uint32_t node, struct operate_call *call)
{
    give(world, node, 0, node_mail_operate(call));
}

void world_look_cancel(struct world *world, uint32_t node, uint64_t number)
{
    give(world, node, 0, node_mail_look_cancel(number));
}

/* ---- status and observers ---- */

static struct sherd_status ask_status(struct world *world, uint32_t index,
                                      bool is_brief)
{
    struct site *site = world_site(world, index);

    check(site->face.node != NULL);
    memset(&site->status, 0, sizeof site->status);
    for (uint32_t i = 0; i < site->machines; i++) {
        struct status_part *part = mem_alloc(sizeof *part);
        struct mail mail = node_mail_status(part);
        struct worker *worker = &site->workers[i];

        part->is_brief = is_brief;
        life_facts(world, worker); /* the status already counts inputs that had no turn yet */
        machine_mail(worker->machine, site_runs(world, site),
                     &mail, 1);
        worker_carry_out(world, worker);
    }
    return site->status;
}

struct sherd_status world_status(struct world *world, uint32_t index)
{
    return ask_status(world, index, false);
}

struct sherd_status world_counts(struct world *world, uint32_t index)
{
    return ask_status(world, index, true);
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
