/* Tests that a node's settings reach their cores. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cast.h"
#include "node/control/control.h"
#include "settings_seen.h"

#define IN_MS(number) ((number) * MS)

static struct node_settings set(struct world *world)
{
    struct node_settings node =
        world_node_settings(world, 0, cast_types, CAST_TYPES);

    node.join_give_up = IN_MS(61001);
    node.tombstone_ttl = IN_MS(61002);
    node.different_view_probability = 0.71;
    node.different_view_reduce = 301;
    node.heartbeat_samples_max = 302;
    node.seed_node_timeout = IN_MS(1001);
    node.retry_unsuccessful_join_after = IN_MS(1002);
    node.gossip_interval = IN_MS(1003);
    node.leader_actions_interval = IN_MS(1004);
    node.publish_stats_interval = IN_MS(1005);
    node.unreachable_reaper_interval = IN_MS(1006);
    node.periodic_initial_delay = IN_MS(1007);
    node.weakly_up_after = IN_MS(1008);
    node.heartbeat_interval = IN_MS(1009);
    node.first_heartbeat_estimate = IN_MS(1010);
    node.acceptable_heartbeat_pause = IN_MS(1011);
    node.min_std_deviation = IN_MS(1012);
    node.phi_threshold = 9.25;
    node.monitored_by_nr_of_members = 303;
    node.cross_connections = 304;
    node.cross_gossip_probability = 0.31;
    node.cross_heartbeat_interval = IN_MS(1013);
    node.cross_heartbeat_expected = IN_MS(1014);
    node.cross_heartbeat_pause = IN_MS(1015);
    node.waiting_for_state_timeout = IN_MS(2001);
    node.updating_state_timeout = IN_MS(2002);
    node.handoff_timeout = IN_MS(2003);
    node.shard_start_timeout = IN_MS(2004);
    node.rebalance_interval = IN_MS(2005);
    node.retry_interval = IN_MS(2006);
    node.down_removal_margin = IN_MS(2007);
    node.rebalance_absolute_limit = 305;
    node.rebalance_relative_limit = 0.32;
    node.rebalance_threshold = 306;
    node.max_simultaneous_rebalance = 307;
    node.allocation = ALLOCATION_CONSISTENT_HASHING;
    node.hashing_limit = 308;
    node.load_bound = 1.5;
    return node;
}

static void each_setting_reaches_its_core(void **state)
{
    struct world *world = cast_new(1);
    struct node_settings settings = set(world);
    const struct control_type *type;
    const struct control *control;
    struct node *node;
    (void)state;

    cast_begin();
    world_start(world, 0, &settings);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    world_run(world, 10 * SECOND);
    node = world_node(world, 0)->node;
    control = node_machine(node, 0)->control;
    settings_expect_member(control->member);
    type = &control->types[0];
    assert_non_null(type->coordinator);
    settings_expect_coordinator(type->coordinator, node->names[0].shards);
    settings_expect_region(type->region);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_setting_reaches_its_core),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
