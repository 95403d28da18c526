/* Tests the callers on one node; a behavior between them and the node breaks each rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/timers.h"
#include "sim/world/verdict.h"
#include "sim/workload/workload_inside.h"
#include "sim/workload/workload_world.h"

typedef enum sherd_next lie(struct sherd_ctx *ctx, void *self,
                            const struct sherd_msg *msg);

static struct sherd_behavior caller; /* the honest ones */
static struct sherd_behavior called;
static struct world *world;
static struct workload_world *load;
static struct workload *workload;

/* One node whose callers and their actors receive what the test wants. */
static void begin(lie *to_callers, lie *to_called)
{
    struct world_settings settings = { .seed = 1 };
    struct workload_settings what = { .types = 1u << WORKLOAD_STREAM,
                                      .ids = 5,
                                      .callers = 3,
                                      .callers_start = true };
    struct node_settings node;

    world = world_new(&settings);
    load = workload_world_new(world, &what);
    workload = workload_world_of(load);
    check_message_others(workload_check(workload));
    caller = workload->caller;
    called = workload->called;
    if (to_callers)
        workload->caller.receive = to_callers;
    if (to_called)
        workload->called.receive = to_called;
    node = world_node_settings(world, 0, workload->types, 1);
    node.probes = true;
    world_start(world, 0, &node);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
}

static void end(void)
{
    world_free(world);
    workload_world_free(load);
}

static void drain_until_found(const char *invariant, const char *text)
{
    const struct violation *violation;

    world_run(world, 60 * SECOND);
    (void)workload_world_drain(load, 60 * SECOND);
    violation = verdict_find(world_verdict(world), invariant);
    assert_non_null(violation);
    if (!strstr(violation->text, text))
        print_message("%s\n", violation->text);
    assert_non_null(strstr(violation->text, text));
    end();
}

static void honest_actors_break_no_rule(void **state)
{
    struct workload_counts counts;

    (void)state;
    begin(NULL, NULL);
    world_run(world, 60 * SECOND);
    workload_world_sample(load);
    assert_true(workload_world_drain(load, 60 * SECOND));
    assert_int_equal(verdict_count(world_verdict(world)), 0);
    counts = workload_counts(workload);
    assert_true(counts.calls > 50 && counts.calls_passed > 5 &&
                counts.calls_stopped > 5);
    end();
}

static enum sherd_next end_twice(struct sherd_ctx *ctx, void *self,
                                 const struct sherd_msg *msg)
{
    if (msg->kind == SHERD_TERMINATED)
        (void)caller.receive(ctx, self, msg);
    return caller.receive(ctx, self, msg);
}

static void an_end_that_is_heard_twice_is_found(void **state)
{
    (void)state;
    begin(end_twice, NULL);
    drain_until_found("watch-ends-once", "which it does not watch");
}

static enum sherd_next no_end(struct sherd_ctx *ctx, void *self,
                              const struct sherd_msg *msg)
{
    return msg->kind == SHERD_TERMINATED ? SHERD_CONTINUE
                                         : caller.receive(ctx, self, msg);
}

static void an_end_that_is_not_heard_is_found(void **state)
{
    (void)state;
    begin(no_end, NULL);
    drain_until_found("stop-after-messages", "has ended, its watcher was not told");
}

static enum sherd_next other_sender(struct sherd_ctx *ctx, void *self,
                                    const struct sherd_msg *msg)
{
    struct sherd_msg other = *msg;

    if (msg->kind == SHERD_MESSAGE)
        other.sender.actor++;
    return caller.receive(ctx, self, &other);
}

static void another_sender_is_found(void **state)
{
    (void)state;
    begin(other_sender, NULL);
    drain_until_found("right-receiver", "has the sender");
}

static enum sherd_next given_twice(struct sherd_ctx *ctx, void *self,
                                   const struct sherd_msg *msg)
{
    if (msg->kind == SHERD_MESSAGE)
        (void)caller.receive(ctx, self, msg);
    return caller.receive(ctx, self, msg);
}

static void a_message_passed_on_twice_is_found(void **state)
{
    (void)state;
    begin(given_twice, NULL);
    drain_until_found("at-most-once", "is delivered twice");
}

static enum sherd_next not_given(struct sherd_ctx *ctx, void *self,
                                 const struct sherd_msg *msg)
{
    return msg->kind == SHERD_MESSAGE ? SHERD_CONTINUE
                                      : called.receive(ctx, self, msg);
}

static void an_actor_stopped_before_its_messages_is_found(void **state)
{
    (void)state;
    begin(NULL, not_given);
    drain_until_found("stop-after-messages", "is stopped after 0 messages");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(honest_actors_break_no_rule),
        cmocka_unit_test(an_end_that_is_heard_twice_is_found),
        cmocka_unit_test(an_end_that_is_not_heard_is_found),
        cmocka_unit_test(another_sender_is_found),
        cmocka_unit_test(a_message_passed_on_twice_is_found),
        cmocka_unit_test(an_actor_stopped_before_its_messages_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
