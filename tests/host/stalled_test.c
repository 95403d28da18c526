/* Tests a node with a lane that a handler blocks: it is not ready, and it leaves or ends although
 * its other threads work. It may be unable to leave, as that lane may carry the others' gossip. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <uv.h>

#include <sherd/sherd.h>

#include "members.h"

#define PATIENCE_MS 60000

static atomic_int blocks, blocked, said;

static enum sherd_next block(struct sherd_ctx *ctx, void *self,
                             const struct sherd_msg *msg)
{
    (void)ctx;
    (void)self;
    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    atomic_fetch_add(&blocked, 1);
    while (atomic_load(&blocks))
        uv_sleep(1);
    return SHERD_CONTINUE;
}

static void look_at_line(void *user, enum sherd_log_level level,
                         const char *module, const char *line)
{
    (void)user;
    (void)level;
    (void)module;
    if (strstr(line, "a handler blocks: the node leaves") &&
        strstr(line, "lane="))
        atomic_fetch_add(&said, 1);
}

static struct sherd_system *start(uint16_t seed)
{
    const struct sherd_entity_type type = {
        .name = "Thing",
        .shards = 10,
        .behavior = { .name = "thing", .state_size = 4, .receive = block },
    };
    char address[32];
    const char *seeds[] = { address, NULL };
    const struct sherd_options options = {
        .name = "Stalled",
        .alone = !seed,
        .seed_nodes = seed ? seeds : NULL,
        .port = SHERD_PORT_ANY,
        .lanes = 2,
        .log = look_at_line,
        .config_text = "sherd.stalled-lane.leave-after = 6 s\n"
                       "akka.coordinated-shutdown.phases"
                       ".cluster-sharding-shutdown-region.timeout = 1 s"
    };
    struct sherd_system *system;

    (void)snprintf(address, sizeof address, "127.0.0.1:%u", (unsigned)seed);
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_entity_register(system, &type), 0);
    assert_false(sherd_is_ready(system));
    assert_int_equal(sherd_start(system), 0);
    return system;
}

static bool are_ready(struct sherd_system *const *systems)
{
    return sherd_is_ready(systems[0]) && sherd_is_ready(systems[1]) &&
           member_count(systems[0]) == 2 && member_count(systems[1]) == 2;
}

/* The only other member sees it as unreachable. */
static bool is_missed(struct sherd_system *other)
{
    struct sherd_status status;
    uint32_t reachable = 0;

    assert_int_equal(sherd_get_status(other, &status), 0);
    for (uint32_t i = 0; i < status.member_count; i++)
        reachable += status.members[i].reachable != 0;
    sherd_status_free(&status);
    return reachable == 1; /* itself */
}

static void a_node_with_a_blocked_lane_is_not_ready_and_leaves(void **state)
{
    struct sherd_system *systems[2];
    int waited, stalled, error;

    (void)state;
    atomic_store(&blocks, 1);
    systems[0] = start(0);
    systems[1] = start(sherd_port(systems[0]));
    for (waited = 0; waited < PATIENCE_MS && !are_ready(systems); waited += 10)
        uv_sleep(10);
    assert_true(are_ready(systems));
    /* Either node may be its home. */
    assert_int_equal(sherd_system_entity_tell(systems[0], "Thing", "x", 1,
                                              (struct sherd_bytes){ 0 }),
                     0);
    for (waited = 0; waited < PATIENCE_MS && sherd_is_ready(systems[0]) &&
                     sherd_is_ready(systems[1]);
         waited += 10)
        uv_sleep(10);
    assert_int_equal(atomic_load(&blocked), 1);
    stalled = sherd_is_ready(systems[0]) ? 1 : 0;
    assert_true(sherd_is_ready(systems[1 - stalled]));
    assert_int_equal(atomic_load(&said), 0);
    error = sherd_wait(systems[stalled]);
    assert_true(error == 0 || error == SHERD_ESTALLED);
    assert_int_equal(atomic_load(&said), 1);
    for (waited = 0; waited < PATIENCE_MS && !is_missed(systems[1 - stalled]);
         waited += 10)
        uv_sleep(10);
    assert_true(is_missed(systems[1 - stalled]));
    atomic_store(&blocks, 0);
    sherd_close(systems[stalled]);
    sherd_close(systems[1 - stalled]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_with_a_blocked_lane_is_not_ready_and_leaves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
