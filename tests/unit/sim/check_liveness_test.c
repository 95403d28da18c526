/* Tests check_liveness with allowed histories and broken rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sherd/error.h>

#include "base/timers.h"
#include "sim/check/check_liveness.h"
#include "sim/world/verdict.h"

#define HANDOFF_NS (10 * SECOND)
#define STOP_NS (HANDOFF_NS + CHECK_LIVENESS_STORED_NS)

static struct verdict *verdict;
static struct check_liveness *check;
static uint64_t now;

static int begin(void **state)
{
    (void)state;
    now = SECOND;
    verdict = verdict_new(1, &now);
    check = check_liveness_new(verdict);
    check_liveness_handoff_limit(check, HANDOFF_NS);
    return 0;
}

static int end(void **state)
{
    (void)state;
    check_liveness_free(check);
    verdict_free(verdict);
    return 0;
}

static void tell(uint32_t node, enum probe_kind kind)
{
    const struct probe probe = { .kind = kind, .type = 1 };

    check_liveness_probe(check, now, node, &probe);
}

static void handoff(uint32_t node, int32_t shard, enum probe_handoff step)
{
    const struct probe probe = { .kind = PROBE_HANDOFF,
                                 .type = 1,
                                 .shard = shard,
                                 .second = step };

    check_liveness_probe(check, now, node, &probe);
}

static bool has_one(const char **text)
{
    static char words[200];
    uint32_t node;

    *text = words;
    return check_liveness_coordinator(check, 1, &node, words, sizeof words);
}

static void homes_available_none_or_two_coordinators_are_found(void **state)
{
    const char *text;

    (void)state;
    assert_false(has_one(&text));
    assert_non_null(strstr(text, "0 active"));
    tell(3, PROBE_COORDINATOR_ACTIVE);
    tell(3, PROBE_COORDINATOR_ACTIVE); /* with another term */
    assert_true(has_one(&text));
    tell(4, PROBE_COORDINATOR_ACTIVE);
    assert_false(has_one(&text));
    assert_non_null(strstr(text, "2 active"));
    tell(3, PROBE_COORDINATOR_ENDED);
    assert_true(has_one(&text));
    check_liveness_node_ended(check, 4, true, 0);
    assert_false(has_one(&text));
}

static void handoff_completes_a_handoff_that_does_not_end_is_found(void **state)
{
    (void)state;
    handoff(0, 5, PROBE_HANDOFF_BEGUN);
    now += 60 * SECOND;
    check_liveness_look(check, now);
    assert_int_equal(verdict_count(verdict), 0); /* faults go on */
    check_liveness_quiet(check, now, true);
    now += 10 * SECOND;
    handoff(0, 5, PROBE_HANDOFF_STOPPING);
    assert_int_equal(verdict_count(verdict), 0);
    now += 1;
    check_liveness_look(check, now);
    assert_non_null(verdict_find(verdict, "handoff-completes"));
    assert_int_equal(verdict_find(verdict, "handoff-completes")->node, 0);
}

static void handoff_completes_an_ended_handoff_passes(void **state)
{
    (void)state;
    check_liveness_quiet(check, now, true);
    handoff(0, 1, PROBE_HANDOFF_BEGUN);
    handoff(0, 2, PROBE_HANDOFF_BEGUN);
    handoff(1, 3, PROBE_HANDOFF_BEGUN);
    handoff(2, 4, PROBE_HANDOFF_BEGUN);
    handoff(0, 1, PROBE_HANDOFF_MOVED);
    handoff(0, 2, PROBE_HANDOFF_FAILED);
    tell(1, PROBE_COORDINATOR_ENDED);
    check_liveness_node_ended(check, 2, true, 0);
    now += 60 * SECOND;
    check_liveness_look(check, now);
    assert_int_equal(verdict_count(verdict), 0);
}

static void shard(uint32_t node, int32_t shard, enum probe_kind kind)
{
    const struct probe probe = { .kind = kind, .type = 1, .shard = shard };

    check_liveness_probe(check, now, node, &probe);
}

static void handoff_completes_a_shard_that_does_not_stop_is_found(void **state)
{
    (void)state;
    shard(0, 7, PROBE_SHARD_STOPPING);
    now += STOP_NS + SECOND;
    check_liveness_look(check, now);
    assert_int_equal(verdict_count(verdict), 0); /* faults go on */
    check_liveness_quiet(check, now, true);
    now += STOP_NS;
    check_liveness_look(check, now);
    assert_int_equal(verdict_count(verdict), 0);
    now += 1;
    check_liveness_look(check, now);
    assert_non_null(verdict_find(verdict, "handoff-completes"));
    assert_int_equal(verdict_find(verdict, "handoff-completes")->node, 0);
}

static void handoff_completes_stopped_shards_pass(void **state)
{
    (void)state;
    check_liveness_quiet(check, now, true);
    shard(0, 7, PROBE_SHARD_STOPPING);
    shard(1, 7, PROBE_SHARD_STOPPING);
    shard(2, 8, PROBE_SHARD_STOPPING);
    shard(0, 7, PROBE_SHARD_ENDED);
    check_liveness_node_ended(check, 1, true, 0);
    now += STOP_NS;
    shard(2, 8, PROBE_SHARD_ENDED);
    now += STOP_NS;
    check_liveness_look(check, now);
    assert_int_equal(verdict_count(verdict), 0);
}

static void healthy_node_stays_a_node_that_ends_is_found(void **state)
{
    (void)state;
    check_liveness_node_ended(check, 1, false, SHERD_EDOWN);
    check_liveness_quiet(check, now, true);
    check_liveness_node_ended(check, 1, true, 0); /* killed from outside */
    assert_int_equal(verdict_count(verdict), 0);
    check_liveness_node_ended(check, 2, false, SHERD_EDOWN);
    assert_non_null(verdict_find(verdict, "healthy-node-stays"));
    assert_int_equal(verdict_find(verdict, "healthy-node-stays")->node, 2);
}

static void quiet_cluster_rests_a_change_in_a_silent_cluster_is_found(void **state)
{
    static const enum probe_kind kinds[] = {
        PROBE_GOSSIP_SENT,       PROBE_MEMBER_SEEN,
        PROBE_MEMBER_DOWNED,     PROBE_LEADER_ACTED,
        PROBE_COORDINATOR_ACTIVE, PROBE_COORDINATOR_ENDED,
        PROBE_COORDINATOR_STARTED, PROBE_HOME_SET,
        PROBE_HOME_ENDED,        PROBE_HANDOFF,
    };

    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        check_liveness_quiet(check, now, true);
        tell(0, kinds[i]);
        assert_null(verdict_find(verdict, "quiet-cluster-rests")); /* not silent yet */
        check_liveness_silent(check, true);
        tell(0, PROBE_ENTITY_STOPPED);
        assert_null(verdict_find(verdict, "quiet-cluster-rests"));
        tell(0, kinds[i]);
        assert_non_null(verdict_find(verdict, "quiet-cluster-rests"));
        (void)end(NULL);
        (void)begin(NULL);
    }
}

/* Tombstones end by the wall clock, which may jump. */
static void quiet_cluster_rests_tombstones_that_end_are_gossiped(void **state)
{
    (void)state;
    check_liveness_quiet(check, now, true);
    check_liveness_silent(check, true);
    tell(0, PROBE_TOMBSTONES_DROPPED);
    tell(0, PROBE_GOSSIP_SENT);
    assert_int_equal(verdict_count(verdict), 0);
    tell(0, PROBE_HOME_SET);
    assert_non_null(verdict_find(verdict, "quiet-cluster-rests"));
}

/* Its nodes may not see each other, but its shards stay. */
static void quiet_cluster_rests_a_still_cluster_may_gossip(void **state)
{
    char text[VERDICT_TEXT_MAX];

    (void)state;
    check_liveness_quiet(check, now, true);
    check_liveness_still(check, true);
    tell(0, PROBE_GOSSIP_SENT);
    tell(0, PROBE_MEMBER_SEEN);
    assert_int_equal(verdict_count(verdict), 0);
    assert_true(check_liveness_rests(check, now, text, sizeof text));
    tell(0, PROBE_HOME_SET);
    assert_non_null(verdict_find(verdict, "quiet-cluster-rests"));
    assert_false(check_liveness_rests(check, now - 1, text, sizeof text));
    assert_true(check_liveness_rests(check, now, text, sizeof text));
}

static void no_rest_is_required_before_the_quiet_phase(void **state)
{
    char text[VERDICT_TEXT_MAX];

    (void)state;
    check_liveness_quiet(check, now, true);
    assert_false(check_liveness_rests(check, now - 1, text, sizeof text));
    assert_true(check_liveness_rests(check, now, text, sizeof text));
}

static void a_cluster_with_a_handoff_does_not_rest(void **state)
{
    char text[VERDICT_TEXT_MAX];

    (void)state;
    handoff(0, 3, PROBE_HANDOFF_BEGUN);
    assert_false(check_liveness_rests(check, UINT64_MAX, text, sizeof text));
    handoff(0, 3, PROBE_HANDOFF_MOVED);
    assert_true(check_liveness_rests(check, UINT64_MAX, text, sizeof text));
    handoff(0, 3, PROBE_HANDOFF_BEGUN);
    handoff(0, 3, PROBE_HANDOFF_FAILED);
    assert_false(check_liveness_rests(check, now + CHECK_LIVENESS_TRIED_NS - 1, text,
                                      sizeof text));
    assert_true(check_liveness_rests(check, now + CHECK_LIVENESS_TRIED_NS, text,
                                     sizeof text));
}

static void move(int32_t shard)
{
    handoff(0, shard, PROBE_HANDOFF_BEGUN);
    handoff(0, shard, PROBE_HANDOFF_STOPPING);
    handoff(0, shard, PROBE_HANDOFF_MOVED);
}

static void quiet_cluster_rests_a_shard_that_moves_for_ever_is_found(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++)
        move(7);
    check_liveness_quiet(check, now, true);
    for (int i = 0; i < CHECK_LIVENESS_MOVES_MAX; i++)
        for (int32_t shard = 1; shard < 9; shard++)
            move(shard);
    assert_int_equal(verdict_count(verdict), 0);
    move(7);
    assert_non_null(verdict_find(verdict, "quiet-cluster-rests"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(homes_available_none_or_two_coordinators_are_found),
        TEST(handoff_completes_a_handoff_that_does_not_end_is_found),
        TEST(handoff_completes_an_ended_handoff_passes),
        TEST(handoff_completes_a_shard_that_does_not_stop_is_found),
        TEST(handoff_completes_stopped_shards_pass),
        TEST(healthy_node_stays_a_node_that_ends_is_found),
        TEST(quiet_cluster_rests_a_change_in_a_silent_cluster_is_found),
        TEST(quiet_cluster_rests_tombstones_that_end_are_gossiped),
        TEST(quiet_cluster_rests_a_still_cluster_may_gossip),
        TEST(no_rest_is_required_before_the_quiet_phase),
        TEST(a_cluster_with_a_handoff_does_not_rest),
        TEST(quiet_cluster_rests_a_shard_that_moves_for_ever_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
