/* Checks settings of coordinators and regions, for settings_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/timers.h"
#include "settings_seen.h"
#include "shard/coordinator_state.h"
#include "shard/region_inside.h"

void settings_expect_coordinator(const struct coordinator *coordinator,
                                 uint32_t shards)
{
    const struct coordinator_settings *settings = &coordinator->settings;

    assert_int_equal(settings->waiting_for_state_timeout_ms, 2001);
    assert_int_equal(settings->updating_state_timeout_ms, 2002);
    assert_int_equal(settings->handoff_timeout_ms, 2003);
    assert_int_equal(settings->shard_start_timeout_ms, 2004);
    assert_int_equal(settings->rebalance_interval_ms, 2005);
    assert_int_equal(settings->removal_margin_ms, 2007);
    assert_int_equal(settings->absolute_limit, 305);
    assert_true(settings->relative_limit == 0.32);
    assert_int_equal(settings->threshold, 306);
    assert_int_equal(settings->simultaneous_max, 307);
    assert_int_equal(settings->allocation, ALLOCATION_CONSISTENT_HASHING);
    assert_int_equal(settings->hashing_limit, 308);
    assert_true(settings->load_bound == 1.5);
    assert_int_equal(settings->min_members, 1);
    assert_int_equal(settings->number_of_shards, shards);
}

void settings_expect_region(const struct region *region)
{
    assert_true(region->retry_interval == 2006 * MS);
    assert_true(region->handoff_timeout == 2003 * MS);
}
