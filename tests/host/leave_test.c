/* Tests a node that leaves while messages wait for their shard's home: they are delivered first,
 * without a time-out. One node, so every region of the type shuts down. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "host/thread.h"

#include <sherd/shutdown.h>

#define MESSAGES 20
#define PATIENCE 30 /* s; shutdown's time-out is 60 */

static atomic_int received;

static enum sherd_next receive(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    (void)ctx;
    (void)self;
    received += msg->kind == SHERD_MESSAGE;
    return SHERD_CONTINUE;
}

static void run_and_leave(uint32_t lanes)
{
    const struct sherd_options options = { .alone = 1,
                                           .port = SHERD_PORT_ANY,
                                           .lanes = lanes,
                                           .log_level = SHERD_LOG_WARNING };
    const struct sherd_entity_type type = {
        .name = "Thing",
        .shards = 50,
        .behavior = { .name = "thing", .state_size = 4, .receive = receive },
    };
    struct sherd_system *system;
    time_t before;

    received = 0;
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_entity_register(system, &type), 0);
    assert_int_equal(sherd_start(system), 0);
    for (int i = 0; i < MESSAGES; i++) {
        char id[16];

        snprintf(id, sizeof id, "thing-%d", i);
        assert_int_equal(sherd_system_entity_tell(system, "Thing", id, 1,
                                                  (struct sherd_bytes){ 0 }),
                         0);
    }
    before = time(NULL);
    sherd_leave(system);
    assert_int_equal(sherd_wait(system), 0);
    assert_true(time(NULL) - before < PATIENCE);
    assert_int_equal(received, MESSAGES);
    sherd_close(system);
}

static void messages_waiting_for_a_home_are_delivered_before_the_end(void **state)
{
    (void)state;
    for (uint32_t lanes = 1; lanes <= 3; lanes++)
        run_and_leave(lanes);
}

static atomic_int ups, removals;

static void count(void *user)
{
    atomic_fetch_add((atomic_int *)user, 1);
}

static bool comes_to(atomic_int *number, int value)
{
    for (int i = 0; i < PATIENCE * 1000 && *number != value; i++)
        uv_sleep(1);
    return *number == value;
}

static atomic_int seen; /* reported removals when the last tasks run */
static atomic_int looking; /* actors with such a task */

static enum sherd_next look(struct sherd_ctx *ctx, void *self,
                            const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_STARTED &&
        sherd_shutdown_task(ctx, SHERD_BEFORE_ACTOR_SYSTEM_TERMINATE, "look"))
        return SHERD_FAIL;
    looking += msg->kind == SHERD_STARTED;
    if (msg->kind == SHERD_SHUTDOWN) {
        seen = removals;
        sherd_shutdown_done(ctx, SHERD_BEFORE_ACTOR_SYSTEM_TERMINATE);
    }
    return SHERD_CONTINUE;
}

static void events_of_the_own_membership_are_reported(void **state)
{
    const struct sherd_options options = { .alone = 1,
                                           .port = SHERD_PORT_ANY,
                                           .lanes = 1,
                                           .log_level = SHERD_LOG_WARNING };
    const struct sherd_behavior file_watch = { .name = "looks",
                                          .state_size = 4,
                                          .receive = look };
    struct sherd_system *system;
    (void)state;

    ups = removals = seen = 0;
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_on_up(system, NULL, NULL), SHERD_EINVAL);
    assert_int_equal(sherd_on_removed(system, NULL, NULL), SHERD_EINVAL);
    for (int i = 0; i < SYSTEM_CALLBACKS_MAX; i++)
        assert_int_equal(sherd_on_up(system, count, &ups), 0);
    assert_int_equal(sherd_on_up(system, count, &ups), SHERD_EFULL);
    assert_int_equal(sherd_on_removed(system, count, &removals), 0);
    assert_int_equal(ups, 0);
    assert_int_equal(sherd_start(system), 0);
    assert_true(comes_to(&ups, SYSTEM_CALLBACKS_MAX));
    assert_int_equal(sherd_on_up(system, count, &ups), 0); /* at once, as it is up */
    assert_int_equal(ups, SYSTEM_CALLBACKS_MAX + 1);
    assert_int_equal(removals, 0);
    assert_int_equal(sherd_system_spawn(system, &file_watch,
                                        (struct sherd_bytes){ 0 }, NULL),
                     0);
    sherd_leave(system);
    assert_int_equal(sherd_wait(system), 0);
    assert_int_equal(removals, 1);
    assert_int_equal(seen, 1); /* long before its end */
    assert_int_equal(sherd_on_removed(system, count, &removals), 0);
    assert_int_equal(removals, 2);
    sherd_close(system);
    assert_int_equal(ups, SYSTEM_CALLBACKS_MAX + 1);
    assert_int_equal(removals, 2);
}

/* It may never hear from a cluster. */
static void a_node_that_was_never_up_is_removed(void **state)
{
    const struct sherd_options options = { .port = SHERD_PORT_ANY,
                                           .lanes = 1,
                                           .log_level = SHERD_LOG_WARNING };
    struct sherd_system *system;
    (void)state;

    ups = removals = 0;
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_on_up(system, count, &ups), 0);
    assert_int_equal(sherd_on_removed(system, count, &removals), 0);
    assert_int_equal(sherd_start(system), 0);
    sherd_halt(system);
    assert_int_equal(removals, 1);
    sherd_close(system);
    assert_int_equal(removals, 1);
    assert_int_equal(ups, 0);
}

/* It leaves before its first task would run. */
static void shutdown_may_begin_with_a_later_phase(void **state)
{
    const struct sherd_options options = { .alone = 1,
                                           .port = SHERD_PORT_ANY,
                                           .lanes = 1,
                                           .log_level = SHERD_LOG_WARNING };
    const struct sherd_behavior file_watch = { .name = "looks",
                                          .state_size = 4,
                                          .receive = look };
    struct sherd_system *system;
    (void)state;

    ups = 0;
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_on_up(system, count, &ups), 0);
    assert_int_equal(sherd_start(system), 0);
    assert_true(comes_to(&ups, 1));
    assert_int_equal(sherd_system_spawn(system, &file_watch,
                                        (struct sherd_bytes){ 0 }, NULL),
                     0);
    removals = 0;
    assert_int_equal(sherd_on_removed(system, count, &removals), 0);
    assert_int_equal(sherd_leave_from(system, SHERD_CLUSTER_EXITING),
                     SHERD_EINVAL);
    assert_int_equal(sherd_leave_from(system, SHERD_CLUSTER_LEAVE), 0);
    assert_int_equal(sherd_leave_from(system, SHERD_SERVICE_STOP), 0); /* it has begun */
    assert_int_equal(sherd_wait(system), 0);
    assert_int_equal(removals, 1);
    sherd_close(system);
}

#define QUICK                                                                  \
    "akka.cluster { gossip-interval = 100ms, leader-actions-interval = 100ms, " \
    "periodic-tasks-initial-delay = 100ms }\n"

static struct sherd_system *start_with(const char *config, int alone)
{
    const struct sherd_options options = { .alone = alone,
                                           .port = SHERD_PORT_ANY,
                                           .lanes = 1,
                                           .config_text = config,
                                           .log_level = SHERD_LOG_ERROR };
    struct sherd_system *system;

    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_on_up(system, count, &ups), 0);
    assert_int_equal(sherd_start(system), 0);
    return system;
}

static void address_of(const struct sherd_system *system, char *text,
                       size_t size)
{
    (void)snprintf(text, size, "127.0.0.1:%u", (unsigned)sherd_port(system));
}

/* Tells whether a downed node ran its actor's task. */
static bool downed_with(const char *config)
{
    const struct sherd_behavior file_watch = { .name = "looks",
                                          .state_size = 4,
                                          .receive = look };
    struct sherd_system *other, *system;
    char address[32];

    ups = removals = seen = looking = 0;
    other = start_with(QUICK, 1);
    system = start_with(config, 0);
    address_of(other, address, sizeof address);
    assert_int_equal(sherd_join(system, address), 0);
    assert_int_equal(sherd_on_removed(system, count, &removals), 0);
    assert_true(comes_to(&ups, 2));
    assert_int_equal(sherd_system_spawn(system, &file_watch,
                                        (struct sherd_bytes){ 0 }, NULL),
                     0);
    assert_true(comes_to(&looking, 1));
    address_of(system, address, sizeof address);
    assert_int_equal(sherd_down(other, address), 0);
    assert_int_equal(sherd_wait(system), SHERD_EDOWN);
    assert_int_equal(removals, 1);
    sherd_close(system);
    sherd_close(other);
    return seen == 1;
}

static void a_downed_node_runs_its_tasks_as_configured(void **state)
{
    (void)state;
    assert_true(downed_with(QUICK));
    assert_true(downed_with(
        QUICK "akka.cluster.run-coordinated-shutdown-when-down = on"));
    assert_false(downed_with(
        QUICK "akka.cluster.run-coordinated-shutdown-when-down = off"));
}

/* A handler may interrupt its thread anywhere, also while it holds a lock. */
static void a_signal_handler_may_start_leaving(void **state)
{
    const struct sherd_options options = { .alone = 1,
                                           .port = SHERD_PORT_ANY,
                                           .lanes = 1,
                                           .log_level = SHERD_LOG_WARNING };
    struct sherd_system *system;

    (void)state;
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_start(system), 0);
    (void)alarm(PATIENCE); /* ends a deadlock */
    uv_mutex_lock(&system->mutex);
    uv_mutex_lock(&system->threads[0].inbox.mutex);
    errno = 77;
    sherd_leave(system);
    assert_int_equal(errno, 77);
    uv_mutex_unlock(&system->threads[0].inbox.mutex);
    uv_mutex_unlock(&system->mutex);
    assert_int_equal(sherd_wait(system), 0);
    (void)alarm(0);
    sherd_close(system);
}

struct other {
    struct sherd_system *system;
    _Atomic bool goes;
    uint64_t delay; /* ns */
    bool halts;
};

static void end_it(void *argument)
{
    struct other *other = argument;
    uint64_t at;

    while (!other->goes)
        continue;
    at = uv_hrtime() + other->delay;
    while (uv_hrtime() < at)
        continue;
    if (other->halts)
        sherd_halt(other->system);
    else
        sherd_leave(other->system);
}

/* Also before its threads exist, which can be woken only later. */
static void another_thread_may_end_a_starting_system(void **state)
{
    const struct sherd_options options = { .alone = 1,
                                           .port = SHERD_PORT_ANY,
                                           .lanes = 8,
                                           .log_level = SHERD_LOG_ERROR };

    (void)state;
    (void)alarm(3 * PATIENCE);
    for (uint32_t i = 0; i < 60; i++) {
        struct other other = { .halts = i % 2 == 1,
                               .delay = UINT64_C(50000) * (i / 2) };
        uv_thread_t thread;
        int result;

        assert_int_equal(sherd_open(&other.system, &options), 0);
        assert_int_equal(uv_thread_create(&thread, end_it, &other), 0);
        other.goes = true;
        result = sherd_start(other.system);
        uv_thread_join(&thread);
        assert_true(result == 0 || result == SHERD_ESTATE);
        assert_int_equal(sherd_wait(other.system), 0);
        sherd_close(other.system);
    }
    (void)alarm(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_waiting_for_a_home_are_delivered_before_the_end),
        cmocka_unit_test(events_of_the_own_membership_are_reported),
        cmocka_unit_test(a_node_that_was_never_up_is_removed),
        cmocka_unit_test(shutdown_may_begin_with_a_later_phase),
        cmocka_unit_test(a_downed_node_runs_its_tasks_as_configured),
        cmocka_unit_test(a_signal_handler_may_start_leaving),
        cmocka_unit_test(another_thread_may_end_a_starting_system),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
