/* Crashes, pauses, cuts off and removes nodes under traffic, in any order of a seed. Acknowledged
 * events are never lost or doubled, asks end once, and at the end all entities answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cast.h"

#define NODES 4
#define ENTITIES 24
#define ASKS_MAX 65536
#define EVENTS_MAX 16384

struct run {
    struct world *world;
    struct rng rng;
    uint64_t seed;
    struct player players[NODES];
    bool plays[NODES];
    uint8_t entity_of[ASKS_MAX];
    uint8_t ends[ASKS_MAX];
    bool lost[ASKS_MAX]; /* the asker's node crashed */
    uint8_t asker[ASKS_MAX];
    uint32_t asks;
    uint64_t highest[ENTITIES];
    bool acknowledged[ENTITIES][EVENTS_MAX];
    uint32_t answers;
    uint32_t faults;
};

static struct run *running;

static void fault(struct run *run, const char *what, uint64_t a, uint64_t b)
{
    run->faults++;
    print_message("seed %llu at %.3f: %s (%llu, %llu)\n",
                  (unsigned long long)run->seed,
                  (double)world_now(run->world) / 1e9, what, (unsigned long long)a,
                  (unsigned long long)b);
}

static void hears(struct player *player, const struct heard *heard)
{
    struct run *run = running;
    uint32_t entity;

    (void)player;
    if (heard->kind != SHERD_ANSWER && heard->kind != SHERD_NO_ANSWER)
        return;
    entity = run->entity_of[heard->tag];
    if (run->ends[heard->tag]++)
        fault(run, "an ask ended twice", heard->tag, entity);
    if (heard->kind == SHERD_NO_ANSWER)
        return;
    run->answers++;
    if (heard->value >= EVENTS_MAX ||
        run->acknowledged[entity][heard->value])
        fault(run, "an event was acknowledged twice", entity, heard->value);
    else
        run->acknowledged[entity][heard->value] = true;
    if (heard->value > run->highest[entity])
        run->highest[entity] = heard->value;
}

static void ask_some(struct sherd_ctx *ctx, struct player *player)
{
    struct run *run = running;

    for (uint64_t i = 1 + rng_below(&run->rng, 4);
         i > 0 && run->asks < ASKS_MAX; i--) {
        uint32_t entity = (uint32_t)rng_below(&run->rng, ENTITIES);
        char id[8];

        (void)snprintf(id, sizeof id, "k%u", entity);
        run->entity_of[run->asks] = (uint8_t)entity;
        run->asker[run->asks] = (uint8_t)player->node;
        sherd_entity_ask(ctx, "P", id, STORE,
                         (struct sherd_bytes){ NULL, 0 }, run->asks++, 5000);
    }
}

static void traffic(struct run *run, uint64_t most)
{
    uint64_t end = world_now(run->world) + 1 + rng_below(&run->rng, most);

    while (world_now(run->world) < end) {
        uint32_t node = (uint32_t)rng_below(&run->rng, NODES);

        world_run(run->world, rng_below(&run->rng, 40 * MS));
        if (world_node(run->world, node)->has_ended)
            run->plays[node] = false;
        if (run->plays[node] && !world_node(run->world, node)->is_paused)
            player_do(&run->players[node], ask_some);
    }
}

static void forget_asks(struct run *run, uint32_t node)
{
    run->plays[node] = false;
    for (uint32_t i = 0; i < run->asks; i++)
        if (run->asker[i] == node)
            run->lost[i] = true;
}

static void start(struct run *run, uint32_t index)
{
    static const struct address seeds[] = { { "n0", 2551 },
                                            { "n1", 2551 },
                                            { "n2", 2551 },
                                            { "n3", 2551 } };
    struct node_settings settings =
        world_node_settings(run->world, index, cast_types, CAST_TYPES);

    settings.lanes = 1 + (uint32_t)rng_below(&run->rng, 3);
    settings.seed_nodes = seeds;
    settings.seed_node_count = NODES;
    settings.alone = false;
    world_start(run->world, index, &settings);
}

static void all_well(struct run *run)
{
    if (!world_until(run->world, world_all_up, NULL, 120 * SECOND))
        fault(run, "not all nodes are up again", 0, 0);
    for (uint32_t i = 0; i < NODES; i++) {
        if (run->plays[i] || !world_node(run->world, i)->node)
            continue;
        player_spawn(&run->players[i], run->world, i, 0);
        run->players[i].hears = hears;
        run->plays[i] = true;
    }
}

/* A member that is up downs the node. */
static void down(struct run *run, uint32_t node)
{
    for (uint32_t i = 1; i < NODES; i++) {
        uint32_t other = (node + i) % NODES;

        if (!run->plays[other] || !world_node(run->world, other)->node)
            continue;
        world_down(run->world, other, node);
        return;
    }
}

static void crash(struct run *run, uint32_t node)
{
    forget_asks(run, node);
    world_crash(run->world, node);
    traffic(run, 6 * SECOND);
    if (rng_below(&run->rng, 4)) {
        down(run, node);
        traffic(run, 10 * SECOND);
    }
    start(run, node);
}

static void sleep_a_while(struct run *run, uint32_t node, bool downed)
{
    world_pause(run->world, node, true);
    traffic(run, 15 * SECOND);
    if (downed) {
        down(run, node);
        traffic(run, 20 * SECOND);
    }
    world_pause(run->world, node, false);
    if (!downed)
        return;
    if (!world_until(run->world, world_node_ended, &node, 60 * SECOND)) {
        fault(run, "a node that was downed goes on", node, 0);
        world_crash(run->world, node);
    }
    forget_asks(run, node);
    start(run, node);
}

static void cut(struct run *run, uint32_t node)
{
    uint32_t other = (node + 1 + (uint32_t)rng_below(&run->rng, NODES - 1)) %
                     NODES;

    net_part(run->world, node, other, true);
    traffic(run, 10 * SECOND);
    net_part(run->world, node, other, false);
}

static void leave(struct run *run, uint32_t node)
{
    run->plays[node] = false;
    world_leave(run->world, node);
    for (int i = 0; i < 100 && !world_node(run->world, node)->has_ended; i++)
        traffic(run, 2 * SECOND);
    if (!world_node(run->world, node)->has_ended) {
        fault(run, "a node does not leave", node, 0);
        world_crash(run->world, node);
    }
    forget_asks(run, node);
    start(run, node);
}

static void check_all(struct run *run)
{
    char id[8];

    world_run(run->world, 10 * SECOND); /* open asks end */
    for (uint32_t i = 0; i < run->asks; i++)
        if (run->ends[i] != 1 && !run->lost[i])
            fault(run, "an ask did not end", i, run->ends[i]);
    for (uint32_t e = 0; e < ENTITIES; e++) {
        struct player *player = &run->players[e % NODES];
        const struct heard *heard;

        (void)snprintf(id, sizeof id, "k%u", e);
        player->hears = NULL;
        player->count = 0;
        player_ask(player, "P", id, STORE, 20000);
        heard = player_hears(player, 21 * SECOND);
        if (!heard || heard->kind != SHERD_ANSWER)
            fault(run, "an entity does not answer", e,
                  heard ? (uint64_t)heard->stage : 0);
        else if (heard->value <= run->highest[e])
            fault(run, "an acknowledged event is lost", e, heard->value);
    }
    for (uint32_t i = 0; i < NODES; i++) {
        struct sherd_status status = world_status(run->world, i);

        for (uint32_t t = 0; t < status.type_count; t++)
            if (status.types[t].waiting)
                fault(run, "messages wait for ever", i,
                      status.types[t].waiting);
        world_status_fini(&status);
    }
}

static uint32_t survives(uint64_t seed)
{
    struct run *run = calloc(1, sizeof *run);
    bool well = true;
    struct world_settings settings;
    uint32_t faults;

    cast_begin();
    running = run;
    run->seed = seed;
    rng_init(&run->rng, seed);
    settings = cast_settings(seed);
    settings.link_min = 1000;
    settings.link_mean = 1000 + rng_below(&run->rng, 10 * MS) / 2;
    settings.mail_delay = 1000 + rng_below(&run->rng, MS);
    settings.backend_delay = 1000 + rng_below(&run->rng, 50 * MS);
    run->world = world_new(&settings);
    for (uint32_t i = 0; i < NODES; i++)
        start(run, i);
    all_well(run);
    for (int i = 0; i < 8 && !run->faults; i++) {
        uint32_t node = (uint32_t)rng_below(&run->rng, NODES);

        traffic(run, 3 * SECOND);
        if (!run->plays[node])
            continue; /* it is starting just now */
        /* If a member welcomes a node and ends before any gossip, that node stays behind, as in
         * Akka. */
        switch (rng_below(&run->rng, well ? 5 : 3)) {
        case 0:
            sleep_a_while(run, node, false);
            break;
        case 1:
            cut(run, node);
            break;
        case 2:
            leave(run, node);
            break;
        case 3:
            crash(run, node);
            break;
        default:
            sleep_a_while(run, node, true);
            break;
        }
        well = rng_below(&run->rng, 2);
        if (well) /* else the next fault comes before this one is over */
            all_well(run);
    }
    if (!run->faults)
        all_well(run);
    if (!run->faults)
        check_all(run);
    if (run->answers < 20)
        fault(run, "hardly anything was answered", run->answers, run->asks);
    faults = run->faults;
    world_free(run->world);
    free(run);
    return faults;
}

static void acknowledged_events_are_stored_exactly_once(void **state)
{
    const char *one = getenv("CHAOS_SEED");
    const char *many = getenv("CHAOS_SEEDS");
    uint64_t first = one ? strtoull(one, NULL, 10) : 1;
    uint64_t last = one ? first : many ? strtoull(many, NULL, 10) : 6;
    uint32_t faults = 0;

    (void)state;
    for (uint64_t seed = first; seed <= last; seed++)
        faults += survives(seed);
    assert_int_equal(faults, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acknowledged_events_are_stored_exactly_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
