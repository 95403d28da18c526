/* Tests requests of a program's threads in a small world; an actor or an entity that lies breaks
 * each rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/timers.h"
#include "client/port.h"
#include "sim/workload/workload_requests.h"
#include "sim/world/verdict.h"

#define RULE "client-request-ends-once"

static struct world *world;
static struct request_load *load;
static uint32_t handled_each; /* how often an entity reports a message */

static enum sherd_next entity(struct sherd_ctx *ctx, void *self,
                              const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_MESSAGE && handled_each == 0 &&
        msg->msg == REQUEST_ASK)
        sherd_reply(ctx, REQUEST_ASK, msg->body); /* answers unseen */
    for (uint32_t i = 0; msg->kind == SHERD_MESSAGE && i < handled_each; i++)
        (void)request_load_handles(ctx, 0, msg);
    return SHERD_CONTINUE;
}

static struct sherd_entity_type type = { .name = "T",
                                         .shards = 5,
                                         .behavior = { .name = "t",
                                                       .receive = entity } };

static void start(uint32_t node)
{
    struct node_settings settings = world_node_settings(world, node, &type, 1);

    world_start(world, node, &settings);
}

/* Two nodes; the actors of ports receive what the test wants. */
static void begin(enum sherd_next (*receive)(struct sherd_ctx *ctx, void *self,
                                             const struct sherd_msg *msg))
{
    static struct sherd_behavior actor;
    struct world_settings settings = { .seed = 1 };
    struct request_load_settings what = { .types = &type,
                                          .type_count = 1,
                                          .ids = 10,
                                          .interval_ms = 50,
                                          .ask_ms_max = 1000,
                                          .actor = &actor };

    actor = port_behavior;
    if (receive)
        actor.receive = receive;
    handled_each = 1;
    world = world_new(&settings);
    load = request_load_new(world, &what);
    start(0);
    start(1);
}

static void end(void)
{
    world_free(world);
    request_load_free(load);
}

static void run(void)
{
    world_run(world, 30 * SECOND);
    request_load_stop(load);
    world_run(world, 3 * SECOND);
}

static void expect_violation(const char *text)
{
    const struct violation *violation;

    run();
    violation = verdict_find(world_verdict(world), RULE);
    assert_non_null(violation);
    if (!strstr(violation->text, text))
        print_message("%s\n", violation->text);
    assert_non_null(strstr(violation->text, text));
    end();
}

static void honest_nodes_break_no_rule(void **state)
{
    struct request_load_counts counts;

    (void)state;
    begin(NULL);
    world_run(world, 20 * SECOND);
    world_crash(world, 1);
    world_run(world, 5 * SECOND);
    start(1);
    run();
    assert_true(request_load_idle(load));
    counts = request_load_counts(load);
    assert_int_equal(verdict_count(world_verdict(world)), 0);
    assert_true(counts.asked > 500 && counts.told > 50 && counts.refused > 0);
    assert_true(counts.cancels > 50 && counts.closes > 0);
    assert_true(counts.handled > 500);
    for (int i = 0; i < SHERD_CLIENT_STATUS_COUNT; i++)
        if (i != SHERD_CLIENT_UNDELIVERED && i != SHERD_CLIENT_REFUSED)
            assert_true(counts.ended[i] > 0);
    end();
}

static enum sherd_next lie_of_bytes(struct sherd_ctx *ctx, void *self,
                                    const struct sherd_msg *msg)
{
    struct sherd_msg other = *msg;

    if (msg->kind == SHERD_ANSWER)
        other.body = (struct sherd_bytes){ "request x", 9 };
    return port_behavior.receive(ctx, self, &other);
}

static void another_answer_is_found(void **state)
{
    (void)state;
    begin(lie_of_bytes);
    expect_violation("with another answer");
}

/* Reports answers as if the message had not been sent, or as a time-out. */
static enum sherd_reason reason;

static enum sherd_next lie_of_ends(struct sherd_ctx *ctx, void *self,
                                   const struct sherd_msg *msg)
{
    struct sherd_msg other = *msg;

    if (msg->kind == SHERD_ANSWER) {
        other.kind = SHERD_NO_ANSWER;
        other.reason = reason;
        other.stage = reason == SHERD_REASON_TIMEOUT ? SHERD_STAGE_DELIVERED
                                                     : SHERD_STAGE_NONE;
    }
    return port_behavior.receive(ctx, self, &other);
}

static void a_sent_request_that_ends_as_refused_is_found(void **state)
{
    (void)state;
    reason = SHERD_REASON_BUFFER_FULL;
    begin(lie_of_ends);
    expect_violation("ends as not sent");
}

static void an_early_time_out_is_found(void **state)
{
    (void)state;
    reason = SHERD_REASON_TIMEOUT;
    begin(lie_of_ends);
    expect_violation("too early");
}

static enum sherd_next lie_by_silence(struct sherd_ctx *ctx, void *self,
                                      const struct sherd_msg *msg)
{
    if (msg->kind == SHERD_NO_ANSWER)
        return SHERD_CONTINUE;
    return port_behavior.receive(ctx, self, msg);
}

static void a_request_that_does_not_end_is_found(void **state)
{
    (void)state;
    begin(lie_by_silence);
    run();
    assert_false(request_load_idle(load));
    end();
}

static void a_request_that_is_handled_twice_is_found(void **state)
{
    (void)state;
    begin(NULL);
    handled_each = 2;
    expect_violation("is handled again");
}

static void an_answer_of_nobody_is_found(void **state)
{
    (void)state;
    begin(NULL);
    handled_each = 0;
    expect_violation("no entity has handled it");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(honest_nodes_break_no_rule),
        cmocka_unit_test(another_answer_is_found),
        cmocka_unit_test(a_sent_request_that_ends_as_refused_is_found),
        cmocka_unit_test(an_early_time_out_is_found),
        cmocka_unit_test(a_request_that_does_not_end_is_found),
        cmocka_unit_test(a_request_that_is_handled_twice_is_found),
        cmocka_unit_test(an_answer_of_nobody_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
