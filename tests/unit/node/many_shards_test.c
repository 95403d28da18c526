/* Tests a type with the largest number of shards: its registrations and its coordinator's state fit
 * their frames, also after the oldest node has left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/hash.h"
#include "cast.h"
#include "node/entity_type.h"

#define BATCH 2000
#define IDS 60000

static uint32_t first;

static void tell_batch(struct sherd_ctx *ctx, struct player *player)
{
    char id[16];
    (void)player;

    for (uint32_t i = first; i < first + BATCH; i++) {
        (void)snprintf(id, sizeof id, "e%u", i);
        sherd_entity_tell(ctx, "E", id, SILENT, (struct sherd_bytes){ NULL, 0 });
    }
}

/* Sends to all shards that the ids have. */
static void tell_all(struct player *player)
{
    for (first = 0; first < IDS; first += BATCH) {
        player_do(player, tell_batch);
        world_run(player->world, SECOND);
    }
    world_run(player->world, 20 * SECOND);
}

static uint32_t shards_at(struct world *world, uint32_t node)
{
    struct sherd_status status = world_status(world, node);
    uint32_t shards = status.types[0].shards_here;

    assert_int_equal(status.undelivered[SHERD_REASON_BUFFER_FULL], 0);
    world_status_fini(&status);
    return shards;
}

/* The number of different shards of the ids. */
static uint32_t shards_of_ids(void)
{
    static bool has[TYPE_SHARDS_MAX];
    uint32_t count = 0;

    for (uint32_t i = 0; i < IDS; i++) {
        char id[16];
        int32_t shard;

        (void)snprintf(id, sizeof id, "e%u", i);
        shard = hash_shard(slice_text(id), TYPE_SHARDS_MAX);
        count += !has[shard];
        has[shard] = true;
    }
    return count;
}

static void the_largest_type_has_homes_for_all_its_shards(void **state)
{
    struct world *world = cast_new(61);
    struct player player;
    uint32_t shards = shards_of_ids();
    (void)state;

    assert_in_range(shards, TYPE_SHARDS_MAX * 9 / 10, TYPE_SHARDS_MAX);
    cast_begin();
    for (uint32_t i = 0; i < 3; i++) {
        struct node_settings settings = world_node_settings(world, i, cast_types, 1);

        settings.lanes = 1;
        settings.number_of_shards = TYPE_SHARDS_MAX;
        settings.buffer_size = IDS;
        world_start(world, i, &settings);
    }
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    player_spawn(&player, world, 2, 0);
    tell_all(&player);
    assert_int_equal(shards_at(world, 0) + shards_at(world, 1) + shards_at(world, 2), shards);
    world_leave(world, 0);
    world_run(world, 120 * SECOND);
    assert_null(world_node(world, 0)->node);
    tell_all(&player);
    assert_int_equal(shards_at(world, 1) + shards_at(world, 2), shards);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_type_has_homes_for_all_its_shards),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
