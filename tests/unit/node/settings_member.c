/* Checks settings of membership for settings_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "member/inside.h"
#include "settings_seen.h"

void settings_expect_member(const struct member *member)
{
    const struct member_settings *settings = &member->settings;
    const struct heart_settings *heart = &member->heart_settings;

    assert_int_equal(settings->join_give_up_ms, 61001);
    assert_int_equal(settings->tombstone_ttl_ms, 61002);
    assert_int_equal(settings->different_view_percent, 71);
    assert_int_equal(settings->different_view_reduce, 301);
    assert_int_equal(settings->min_members, 1);
    assert_int_equal(settings->seed_timeout_ms, 1001);
    assert_int_equal(settings->join_retry_ms, 1002);
    assert_int_equal(settings->gossip_interval_ms, 1003);
    assert_int_equal(settings->leader_interval_ms, 1004);
    assert_int_equal(settings->stats_interval_ms, 1005);
    assert_int_equal(settings->reaper_interval_ms, 1006);
    assert_int_equal(settings->initial_delay_ms, 1007);
    assert_int_equal(settings->weakly_up_after_ms, 1008);
    assert_int_equal(settings->cross_connections, 304);
    assert_int_equal(settings->cross_gossip_percent, 31);
    assert_int_equal(settings->cross_heartbeat_interval_ms, 1013);
    assert_int_equal(settings->cross_heartbeat_expected_ms, 1014);
    assert_int_equal(settings->cross_heartbeat_pause_ms, 1015);
    assert_true(heart->interval == 1009 * MS);
    assert_true(heart->expected == 1010 * MS);
    assert_int_equal(heart->monitored_by, 303);
    assert_int_equal(heart->phi.samples_max, 302);
    assert_int_equal(heart->phi.interval_ms, 1009); /* Akka's first estimate */
    assert_int_equal(heart->phi.pause_ms, 1011);
    assert_int_equal(heart->phi.deviation_ms, 1012);
    assert_true(heart->phi.threshold == 9.25);
}
