/* Tests actors that threads of the program spawn: their refs are valid at once. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "host/thread.h"

#include <sherd/sherd.h>

#define PATIENCE 30 /* s */

enum { PASS_ON = 1, COUNT };

static const struct sherd_bytes nothing;
static atomic_int counted, blocked, released;

static enum sherd_next receive(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    struct sherd_ref to;

    (void)self;
    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    counted += msg->msg == COUNT;
    if (msg->msg == PASS_ON) {
        memcpy(&to, msg->body.data, sizeof to);
        sherd_tell(ctx, to, COUNT, nothing);
    }
    return SHERD_CONTINUE;
}

static enum sherd_next block(struct sherd_ctx *ctx, void *self,
                             const struct sherd_msg *msg)
{
    (void)ctx;
    (void)self;
    (void)msg;
    blocked = 1;
    while (!released)
        uv_sleep(1);
    return SHERD_STOP;
}

static const struct sherd_behavior counter = { .name = "counter",
                                               .receive = receive };
static const struct sherd_behavior blocker = { .name = "blocker",
                                               .receive = block };

static struct sherd_system *open_node(void)
{
    const struct sherd_options options = { .alone = 1,
                                           .port = SHERD_PORT_ANY,
                                           .lanes = 2,
                                           .config_text = "sherd.slow-handler.report-after = off",
                                           .log_level = SHERD_LOG_WARNING };
    const struct sherd_entity_type type = { .name = "Passer",
                                            .behavior = counter };
    struct sherd_system *system;

    counted = blocked = released = 0;
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_entity_register(system, &type), 0);
    assert_int_equal(sherd_start(system), 0);
    return system;
}

static void await(atomic_int *number, int value)
{
    for (int i = 0; i < PATIENCE * 1000 && *number != value; i++)
        uv_sleep(1);
    assert_int_equal(*number, value);
}

/* Entities of the other lane send to the ref, too: their messages may come before the spawn. */
static void a_ref_is_valid_before_its_actor_starts(void **state)
{
    struct sherd_system *system = open_node();
    struct sherd_ref ref, other;

    (void)state;
    for (int i = 0; i < 100; i++) {
        char id[2] = { (char)('a' + i % 26), 0 };

        assert_int_equal(sherd_system_spawn(system, &counter, nothing, &ref), 0);
        assert_int_equal(sherd_system_tell(system, ref, COUNT, nothing), 0);
        assert_int_equal(sherd_system_entity_tell(
                             system, "Passer", id, PASS_ON,
                             (struct sherd_bytes){ &ref, sizeof ref }),
                         0);
        await(&counted, 2 * (i + 1));
    }
    assert_int_equal(sherd_system_spawn(system, &counter, nothing, &other), 0);
    assert_memory_not_equal(&ref, &other, sizeof ref);
    assert_int_equal(sherd_system_spawn_named(system, "named", &counter,
                                              nothing, &ref),
                     0);
    assert_int_equal(sherd_system_tell(system, ref, COUNT, nothing), 0);
    await(&counted, 201);
    sherd_close(system);
}

static void a_failed_spawn_gives_no_ref(void **state)
{
    struct sherd_system *system = open_node();
    const struct sherd_behavior none = { .name = "none" };
    const struct sherd_ref nobody = { 0, 0 };
    struct sherd_ref ref = { 1, 1 };

    (void)state;
    assert_int_equal(sherd_system_spawn(system, &none, nothing, &ref),
                     SHERD_EINVAL);
    assert_memory_equal(&ref, &nobody, sizeof ref);
    ref.node = 1;
    assert_int_equal(sherd_system_spawn_named(system, "$a", &counter, nothing,
                                              &ref),
                     SHERD_EINVAL);
    assert_memory_equal(&ref, &nobody, sizeof ref);
    sherd_halt(system);
    ref.node = 1;
    assert_int_equal(sherd_system_spawn(system, &counter, nothing, &ref),
                     SHERD_ESTATE);
    assert_memory_equal(&ref, &nobody, sizeof ref);
    sherd_close(system);
}

static void a_blocked_lane_bounds_the_actors_that_wait(void **state)
{
    struct sherd_system *system = open_node();
    struct sherd_ref refs[RESERVED_REFS_MAX];
    int count = 0;
    int result;

    (void)state;
    assert_int_equal(sherd_system_spawn(system, &blocker, nothing, NULL), 0);
    await(&blocked, 1);
    while ((result = sherd_system_spawn(system, &counter, nothing,
                                        &refs[count])) == 0 &&
           ++count < RESERVED_REFS_MAX)
        ;
    assert_int_equal(sherd_system_spawn(system, &counter, nothing, NULL),
                     SHERD_EFULL);
    assert_in_range(count, RESERVED_REFS_MAX / 2 - 1, RESERVED_REFS_MAX);
    for (int i = 0; i < count; i++)
        assert_int_equal(sherd_system_tell(system, refs[i], COUNT, nothing), 0);
    released = 1;
    await(&counted, count);
    for (int i = 0; i < PATIENCE * 1000 && result; i++) {
        uv_sleep(1);
        result = sherd_system_spawn(system, &counter, nothing, NULL);
    }
    assert_int_equal(result, 0);
    sherd_close(system);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ref_is_valid_before_its_actor_starts),
        cmocka_unit_test(a_failed_spawn_gives_no_ref),
        cmocka_unit_test(a_blocked_lane_bounds_the_actors_that_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
