/* Asks for thousands of shards without homes at once, from every node, while another node joins: no
 * message may end on the way, or go in circles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/timers.h"
#include "cast.h"

#define NODES 3
#define LANES 2
#define SHARDS 3000
#define TOLD_MAX 9000

struct burst {
    uint32_t next;  /* in the order of the tells */
    uint32_t each;  /* in one burst of a player */
    const char *type;
};

static struct burst burst;

/* About three players tell each id: all routes of all lanes are requested. */
static void tell_many(struct sherd_ctx *ctx, struct player *player)
{
    char id[16];

    (void)player;
    for (uint32_t i = 0; i < burst.each; i++) {
        (void)snprintf(id, sizeof id, "b%u", burst.next++ % (TOLD_MAX / 3));
        sherd_entity_tell(ctx, burst.type, id, SILENT,
                          (struct sherd_bytes){ NULL, 0 });
    }
}

static struct node_settings settings_of(struct world *world, uint32_t index,
                                        struct rng *rng)
{
    struct node_settings settings =
        world_node_settings(world, index, cast_types, CAST_TYPES);

    settings.lanes = LANES;
    settings.number_of_shards = SHARDS;
    settings.buffer_size = 100000;
    settings.rebalance_interval = 5 * MS + rng_below(rng, 200 * MS);
    settings.rebalance_absolute_limit = 1 + (uint32_t)rng_below(rng, 200);
    settings.retry_interval = 5 * MS + rng_below(rng, 500 * MS);
    return settings;
}

static uint32_t faults_of(struct world *world, uint64_t *delivered)
{
    uint32_t faults = 0;

    for (uint32_t i = 0; i < NODES; i++) {
        struct sherd_status status;

        if (!world_node(world, i)->node)
            continue;
        status = world_status(world, i);
        *delivered += status.delivered;
        for (uint32_t r = 1; r < SHERD_REASON_COUNT; r++) {
            if (!status.undelivered[r])
                continue;
            faults++;
            print_message("  n%u: %s: %llu\n", i,
                          sherd_reason_text((enum sherd_reason)r),
                          (unsigned long long)status.undelivered[r]);
        }
        for (uint32_t t = 0; t < status.type_count; t++)
            faults += status.types[t].waiting != 0;
        world_status_fini(&status);
    }
    return faults;
}

static uint32_t run_burst(uint64_t seed)
{
    struct world_settings how = cast_settings(seed);
    struct world *world;
    struct player players[NODES * LANES];
    struct rng rng;
    uint64_t before = 0;
    uint64_t delivered = 0;
    uint32_t turns = 0;
    uint32_t faults;

    cast_begin();
    rng_init(&rng, seed);
    how.link_mean = MS << rng_below(&rng, 7);
    how.backend_delay = MS << rng_below(&rng, 9);
    world = world_new(&how);
    burst = (struct burst){ .each = 50 + (uint32_t)rng_below(&rng, 1500),
                            .type = rng_below(&rng, 2) ? "E" : "P" };
    world_mail_delay(world, rng_below(&rng, MS << rng_below(&rng, 8)));
    for (uint32_t i = 0; i < NODES - 1; i++) {
        struct node_settings settings = settings_of(world, i, &rng);

        world_start(world, i, &settings);
    }
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    for (uint32_t i = 0; i < (NODES - 1) * LANES; i++)
        player_spawn(&players[i], world, i / LANES, i % LANES);
    (void)faults_of(world, &before);
    {
        struct node_settings settings = settings_of(world, NODES - 1, &rng);

        world_start(world, NODES - 1, &settings);
    }
    /* the node is up before, during or after the burst */
    world_run(world, rng_below(&rng, 3 * SECOND));
    for (; burst.next < TOLD_MAX; turns++) {
        player_do(&players[rng_below(&rng, (NODES - 1) * LANES)], tell_many);
        world_run(world, rng_below(&rng, 20 * MS));
    }
    world_run(world, 60 * SECOND);
    faults = faults_of(world, &delivered);
    if (delivered - before < burst.next + turns) {
        faults++;
        print_message("  told %u, delivered %llu\n", burst.next,
                      (unsigned long long)(delivered - before - turns));
    }
    if (faults)
        print_message("seed %llu: %u faults\n", (unsigned long long)seed,
                      faults);
    world_free(world);
    return faults;
}

static void a_burst_of_first_messages_reaches_its_entities(void **state)
{
    const char *many = getenv("BURST_SEEDS");
    uint64_t seeds = many ? strtoull(many, NULL, 10) : 4;
    const char *first = getenv("BURST_FIRST");
    uint64_t seed = first ? strtoull(first, NULL, 10) : 1;
    uint32_t faults = 0;

    (void)state;
    for (uint64_t i = 0; i < seeds; i++)
        faults += run_burst(seed + i);
    assert_int_equal(faults, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_of_first_messages_reaches_its_entities),
    };

    return cmocka_run_group_tests_name("node_burst", tests, NULL, NULL);
}
