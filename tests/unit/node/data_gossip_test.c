/* Tests many keys with long names and without deltas: statuses of ten chunks leave at once, and are
 * more bytes than may wait on a link. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "cast.h"
#include "node/control/control.h"

#include <sherd/ddata.h>

#define KEYS 5200u    /* chunks of 500 */
#define KEY_SIZE 200u /* bytes: ten statuses have a megabyte */

static const char *key_of(uint32_t index, char key[KEY_SIZE + 1])
{
    (void)snprintf(key, KEY_SIZE + 1, "%0*u", (int)KEY_SIZE, index);
    return key;
}

static enum sherd_next put_all(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    const struct sherd_change change = { .verb = SHERD_SWITCH_ON };
    char key[KEY_SIZE + 1];

    (void)self;
    for (uint32_t i = 0; msg->kind == SHERD_STARTED && i < KEYS; i++)
        sherd_data_update(ctx, key_of(i, key), SHERD_FLAG, &change, 1, NULL,
                          1);
    return SHERD_CONTINUE;
}

static void start(struct world *world, uint32_t index)
{
    struct node_settings settings =
        world_node_settings(world, index, cast_types, CAST_TYPES);

    settings.lanes = 1;
    world_start(world, index, &settings);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
}

/* arg: number of nodes. */
static bool all_have_all(struct world *world, void *arg)
{
    uint32_t nodes = *(uint32_t *)arg;
    char key[KEY_SIZE + 1];

    for (uint32_t node = 0; node < nodes; node++) {
        struct control *control =
            node_machine(world_node(world, node)->node, 0)->control;

        for (uint32_t i = 0; i < KEYS; i++)
            if (!replicator_look(data_replicator(control),
                                 slice_text(key_of(i, key))))
                return false;
    }
    return true;
}

static void a_node_that_joins_later_gets_all_keys(void **state)
{
    static const struct sherd_behavior behavior = { .name = "writer",
                                                    .receive = put_all };
    struct world *world = cast_new(71);
    uint32_t nodes = 1;

    (void)state;
    start(world, 0);
    world_spawn(world, 0, 0, &behavior, NULL, 0);
    assert_true(world_until(world, all_have_all, &nodes, 10 * SECOND));
    start(world, 1);
    nodes = 2;
    assert_true(world_until(world, all_have_all, &nodes, 30 * SECOND));
    world_free(world);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_that_joins_later_gets_all_keys),
    };

    return cmocka_run_group_tests_name("node_data_gossip", tests, NULL, NULL);
}
