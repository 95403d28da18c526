/* Tests check_incarnation with messages of former incarnations and of current ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/member_info.h"
#include "sim/check/check_incarnation.h"
#include "sim/check/checks.h"
#include "sim/workload/workload_world.h"
#include "sim/world/world.h"
#include "judged.h"

static struct check_incarnation *check;

/* n0 is 10, n1 is 20 and then 21, n2 is 30. */
static void begin(void)
{
    judge();
    check = check_incarnation_new(verdict);
    check_incarnation_node_started(check, 0, 10);
    check_incarnation_node_started(check, 1, 20);
    check_incarnation_node_started(check, 2, 30);
    check_incarnation_node_started(check, 1, 21);
}

static void end(const char *invariant, const char *text)
{
    expect_only(invariant);
    if (invariant)
        assert_non_null(strstr(verdict_find(verdict, invariant)->text, text));
    check_incarnation_free(check);
    verdict_free(verdict);
}

static void take(uint32_t by, uint64_t uid, enum probe_taken what)
{
    const struct probe probe = { .kind = PROBE_TAKEN,
                                 .node = { { "n", 1 }, uid },
                                 .first = what,
                                 .second = uid };

    check_incarnation_probe(check, by, &probe);
}

static void remove_from(uint32_t by, uint64_t uid, uint64_t status)
{
    const struct probe probe = { .kind = PROBE_MEMBER_SEEN,
                                 .node = { { "n", 1 }, uid },
                                 .first = status };

    check_incarnation_probe(check, by, &probe);
}

static void a_new_incarnation_replaces_the_earlier_one(void **state)
{
    (void)state;
    begin();
    for (int what = 0; what < PROBE_TAKEN_COUNT; what++)
        take(0, 20, (enum probe_taken)what);
    for (int what = 0; what < PROBE_TAKEN_COUNT; what++)
        take(0, 21, (enum probe_taken)what);
    take(0, 30, PROBE_TAKEN_GOSSIP);
    take(2, 20, PROBE_TAKEN_GOSSIP); /* n2 has not heard of the other one */
    take(2, 21, PROBE_TAKEN_GOSSIP);
    take(0, 77, PROBE_TAKEN_GOSSIP); /* of no node of this world */
    assert_int_equal(check_incarnation_taken(check, PROBE_TAKEN_GOSSIP), 6);
    assert_int_equal(check_incarnation_taken(check, PROBE_TAKEN_SYSTEM), 2);
    end(NULL, NULL);
}

static void a_former_life_is_found(enum probe_taken what, const char *text)
{
    begin();
    take(0, 21, PROBE_TAKEN_HANDSHAKE);
    take(0, 20, what);
    end("no-stale-sender", text);
}

static void no_stale_sender_each_act_of_an_ended_incarnation_is_found(void **state)
{
    (void)state;
    a_former_life_is_found(PROBE_TAKEN_HANDSHAKE, "a handshake is taken");
    a_former_life_is_found(PROBE_TAKEN_SYSTEM, "a system message is taken");
    a_former_life_is_found(PROBE_TAKEN_ACKNOWLEDGEMENT,
                           "an acknowledgement is taken");
    a_former_life_is_found(PROBE_TAKEN_GOSSIP, "a gossip is taken");
    a_former_life_is_found(PROBE_TAKEN_HEARTBEAT,
                           "an answer to a heartbeat is taken");
}

static void a_new_incarnation_may_accept_a_departed_peer_first(void **state)
{
    (void)state;
    begin();
    take(0, 21, PROBE_TAKEN_GOSSIP);
    check_incarnation_node_started(check, 0, 11);
    take(0, 20, PROBE_TAKEN_GOSSIP);
    take(0, 21, PROBE_TAKEN_GOSSIP);
    end(NULL, NULL);
}

static void no_stale_sender_an_acknowledgement_for_another_is_found(void **state)
{
    const struct probe probe = { .kind = PROBE_TAKEN,
                                 .node = { { "n", 1 }, 20 },
                                 .first = PROBE_TAKEN_ACKNOWLEDGEMENT,
                                 .second = 21 };

    (void)state;
    begin();
    check_incarnation_probe(check, 0, &probe);
    end("no-stale-sender", "life 20 of a node acknowledges what was for its life 21");
}

static void no_stale_sender_an_accepted_removed_peer_is_found(void **state)
{
    (void)state;
    begin();
    remove_from(0, 20, MEMBER_DOWN);
    take(0, 20, PROBE_TAKEN_GOSSIP);
    remove_from(0, 20, MEMBER_REMOVED);
    take(2, 20, PROBE_TAKEN_GOSSIP); /* n2 has not seen that */
    take(0, 20, PROBE_TAKEN_ACKNOWLEDGEMENT); /* of an earlier message */
    expect_only(NULL);
    take(0, 20, PROBE_TAKEN_HEARTBEAT);
    end("no-stale-sender", "which is removed");
    begin();
    remove_from(0, 20, MEMBER_REMOVED);
    take(0, 20, PROBE_TAKEN_GOSSIP);
    end("no-stale-sender", "a gossip is taken of uid 20, which is removed");
}

/* One of these nodes has two incarnations. */
static void messages_that_real_nodes_accept_are_judged(void **state)
{
    struct world_settings settings = { .seed = 1 };
    struct workload_settings work = { .interval_ms = 20 };
    struct world *world = world_new(&settings);
    struct workload_world *load = workload_world_new(world, &work);
    struct checks *checks = checks_new(world, 0);
    uint32_t count;
    const struct sherd_entity_type *types =
        workload_types(workload_world_of(load), &count);

    (void)state;
    for (uint32_t life = 0; life < 2; life++) {
        for (uint32_t i = life ? 2 : 0; i < 3; i++) {
            struct node_settings node =
                world_node_settings(world, i, types, count);

            node.probes = true;
            world_start(world, i, &node);
        }
        world_run(world, 40 * SECOND);
        if (!life)
            world_crash(world, 2);
    }
    for (int what = 0; what < PROBE_TAKEN_COUNT; what++)
        assert_true(check_incarnation_taken(checks->incarnation,
                                       (enum probe_taken)what) > 0);
    assert_int_equal(verdict_count(world_verdict(world)), 0);
    world_free(world);
    workload_world_free(load);
    checks_free(checks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_incarnation_replaces_the_earlier_one),
        cmocka_unit_test(no_stale_sender_each_act_of_an_ended_incarnation_is_found),
        cmocka_unit_test(a_new_incarnation_may_accept_a_departed_peer_first),
        cmocka_unit_test(no_stale_sender_an_acknowledgement_for_another_is_found),
        cmocka_unit_test(no_stale_sender_an_accepted_removed_peer_is_found),
        cmocka_unit_test(messages_that_real_nodes_accept_are_judged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
