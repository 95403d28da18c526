/* Tests the bytes of Akka's answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mgmt/akka.h"
#include "mgmt/errors.h"
#include "mgmt/json.h"

static const struct akka_names names = { "akka", "S", "10.0.0.2:1", "default" };

static struct sherd_cluster_member members[] = {
    { .address = "10.0.0.1:1", .uid = 7312, .status = SHERD_UP, .up_number = 2, .data_center = "default",
      .roles = "backend\0" },
    { .address = "10.0.0.2:1", .uid = UINT64_MAX, .status = SHERD_UP, .up_number = 1, .self = 1,
      .data_center = "default", .roles = "" },
    { .address = "10.0.0.3:1", .uid = 3, .status = SHERD_JOINING, .data_center = "default", .roles = "" },
};

static void assert_bytes(struct buf *buf, const char *text)
{
    buf_put_u8(buf, 0);
    assert_string_equal((const char *)buf->data, text);
    buf_fini(buf);
}

static void members_have_sorted_fields(void **state)
{
    struct sherd_observation observation = { 0, 2 };
    struct sherd_cluster_view view = { .members = members, .member_count = 3, .leader = 0,
                                       .observations = &observation, .observation_count = 1 };
    struct buf buf = { 0 };

    (void)state;
    akka_members(&buf, &names, &view);
    assert_bytes(&buf,
                 "{\"leader\":\"akka://S@10.0.0.1:1\",\"members\":["
                 "{\"node\":\"akka://S@10.0.0.1:1\",\"nodeUid\":\"7312\",\"roles\":[\"backend\",\"dc-default\"],"
                 "\"status\":\"Up\"},"
                 "{\"node\":\"akka://S@10.0.0.2:1\",\"nodeUid\":\"-1\",\"roles\":[\"dc-default\"],\"status\":\"Up\"},"
                 "{\"node\":\"akka://S@10.0.0.3:1\",\"nodeUid\":\"3\",\"roles\":[\"dc-default\"],"
                 "\"status\":\"Joining\"}],"
                 "\"oldest\":\"akka://S@10.0.0.2:1\",\"oldestPerRole\":{\"backend\":\"akka://S@10.0.0.1:1\","
                 "\"dc-default\":\"akka://S@10.0.0.2:1\"},\"selfNode\":\"akka://S@10.0.0.2:1\","
                 "\"unreachable\":[{\"node\":\"akka://S@10.0.0.3:1\",\"observedBy\":[\"akka://S@10.0.0.1:1\"]}]}");
    akka_seed_nodes(&buf, &names, &view);
    assert_bytes(&buf, "{\"seedNodes\":[{\"node\":\"akka://S@10.0.0.1:1\",\"nodeUid\":7312,"
                       "\"roles\":[\"backend\",\"dc-default\"],\"status\":\"Up\"},"
                       "{\"node\":\"akka://S@10.0.0.2:1\",\"nodeUid\":-1,\"roles\":[\"dc-default\"],"
                       "\"status\":\"Up\"}],\"selfNode\":\"akka://S@10.0.0.2:1\"}");
}

static void an_empty_view_leaves_out_leader_and_oldest(void **state)
{
    struct sherd_cluster_view view = { .member_count = 0 };
    struct buf buf = { 0 };

    (void)state;
    akka_members(&buf, &names, &view);
    assert_bytes(&buf, "{\"members\":[],\"oldestPerRole\":{},\"selfNode\":\"akka://S@10.0.0.2:1\",\"unreachable\":[]}");
}

static void a_member_is_found_by_both_forms_of_its_address(void **state)
{
    struct sherd_cluster_view view = { .members = members, .member_count = 3, .leader = 3 };

    (void)state;
    assert_ptr_equal(akka_find(&names, &view, "akka://S@10.0.0.1:1"), &members[0]);
    assert_ptr_equal(akka_find(&names, &view, "S@10.0.0.1:1"), &members[0]);
    assert_null(akka_find(&names, &view, "10.0.0.1:1"));
    assert_null(akka_find(&names, &view, "pekko://S@10.0.0.1:1"));
    assert_null(akka_find(&names, &view, "akka://T@10.0.0.1:1"));
    assert_null(akka_find(&names, &view, "akka://S@10.0.0.1:12"));
    assert_null(akka_find(&names, &view, ""));
}

static void shards_have_failed_ones_only_if_there_are_some(void **state)
{
    struct sherd_shard shard = { .id = "12", .entity_count = 30 };
    const char *failed[] = { "7" };
    struct sherd_region region = { .address = "10.0.0.1:1", .shards = &shard, .shard_count = 1 };
    struct sherd_regions regions = { .regions = &region, .region_count = 1 };
    struct buf buf = { 0 };

    (void)state;
    akka_shards(&buf, &regions);
    assert_bytes(&buf, "{\"regions\":[{\"numEntities\":30,\"shardId\":\"12\"}]}");
    akka_shard_stats(&buf, &names, &regions);
    assert_bytes(&buf, "{\"regions\":{\"akka://S@10.0.0.1:1\":{\"failed\":[],\"shards\":"
                       "[{\"numEntities\":30,\"shardId\":\"12\"}]}},\"totalEntities\":30,\"totalShards\":1}");
    region.failed = failed;
    region.failed_count = 1;
    akka_shards(&buf, &regions);
    assert_bytes(&buf, "{\"failed\":[\"7\"],\"regions\":[{\"numEntities\":30,\"shardId\":\"12\"}]}");
    regions.region_count = 0;
    akka_shards(&buf, &regions);
    assert_bytes(&buf, "{\"regions\":[]}");
}

static void types_are_sorted(void **state)
{
    static const char *const types[] = { "Counter", "Cart", "Counter" };
    struct sherd_cluster_view view = { .types = types, .type_count = 3 };
    struct buf buf = { 0 };

    (void)state;
    akka_types(&buf, &view);
    assert_bytes(&buf, "{\"entityTypeKeys\":[\"Cart\",\"Counter\"]}");
}

static void events_have_the_data_first(void **state)
{
    struct sherd_cluster_event event = {
        .kind = SHERD_MEMBER_REMOVED, .previous = SHERD_DOWN,
        .member = { .address = "h:1", .uid = 1, .status = SHERD_REMOVED, .data_center = "one", .roles = "one\0two\0" },
        .role = "",
    };
    struct buf buf = { 0 };

    (void)state;
    assert_true(akka_event(&buf, &names, &event));
    assert_bytes(&buf, "data:{\"member\":{\"dataCenter\":\"one\",\"roles\":[\"dc-one\",\"one\",\"two\"],"
                       "\"status\":\"Removed\",\"uniqueAddress\":{\"address\":\"akka://S@h:1\",\"longUid\":1}},"
                       "\"previousStatus\":\"Down\",\"type\":\"MemberRemoved\"}\nevent:MemberRemoved\n\n");
    event = (struct sherd_cluster_event){ .kind = SHERD_LEADER_CHANGED, .member = { .address = "" }, .role = "" };
    assert_true(akka_event(&buf, &names, &event));
    assert_bytes(&buf, "data:{\"type\":\"LeaderChanged\"}\nevent:LeaderChanged\n\n");
    event = (struct sherd_cluster_event){ .kind = SHERD_ROLE_LEADER_CHANGED, .member = { .address = "h:1" },
                                          .role = "r" };
    assert_true(akka_event(&buf, &names, &event));
    assert_bytes(&buf, "data:{\"address\":\"akka://S@h:1\",\"role\":\"r\",\"type\":\"RoleLeaderChanged\"}\n"
                       "event:RoleLeaderChanged\n\n");
    event = (struct sherd_cluster_event){ .kind = SHERD_DATA_CENTER_UNREACHABLE, .member = { .data_center = "d" },
                                          .role = "" };
    assert_true(akka_event(&buf, &names, &event));
    assert_bytes(&buf, "data:{\"dataCenter\":\"d\",\"type\":\"UnreachableDataCenter\"}\nevent:UnreachableDataCenter\n\n");
    event.kind = SHERD_MEMBER_PREPARING_FOR_SHUTDOWN;
    assert_false(akka_event(&buf, &names, &event));
    buf_fini(&buf);
}

static void a_data_center_is_a_role_with_a_leader(void **state)
{
    struct sherd_cluster_event event = { .kind = SHERD_LEADER_CHANGED, .member = { .address = "h:1" }, .role = "" };
    uint32_t role = SHERD_EVENT(SHERD_ROLE_LEADER_CHANGED), leader = SHERD_EVENT(SHERD_LEADER_CHANGED);
    struct buf buf = { 0 };

    (void)state;
    assert_int_equal(akka_subscription(role), role | leader);
    assert_int_equal(akka_subscription(leader), leader);
    akka_stream_event(&buf, &names, role, &event);
    assert_bytes(&buf, "data:{\"address\":\"akka://S@h:1\",\"role\":\"dc-default\",\"type\":\"RoleLeaderChanged\"}\n"
                       "event:RoleLeaderChanged\n\n");
    akka_stream_event(&buf, &names, leader, &event);
    assert_bytes(&buf, "data:{\"address\":\"akka://S@h:1\",\"type\":\"LeaderChanged\"}\nevent:LeaderChanged\n\n");
    event.kind = SHERD_MEMBER_UP;
    akka_stream_event(&buf, &names, role, &event);
    assert_int_equal(buf.size, 0);
    buf_fini(&buf);
}

static void parents_stand_for_their_events(void **state)
{
    (void)state;
    assert_int_equal(akka_events(slice_text("MemberUp")), SHERD_EVENT(SHERD_MEMBER_UP));
    assert_int_equal(akka_events(slice_text("ReachabilityEvent")), SHERD_EVENTS_REACHABILITY);
    assert_true(akka_events(slice_text("MemberEvent")) & SHERD_EVENT(SHERD_MEMBER_REMOVED));
    assert_false(akka_events(slice_text("MemberEvent")) & SHERD_EVENT(SHERD_LEADER_CHANGED));
    assert_true(akka_events(slice_text("ClusterDomainEvent")) & SHERD_EVENT(SHERD_CLUSTER_SHUTTING_DOWN));
    assert_int_equal(akka_events(slice_text("Else")), 0);
}

static void texts_are_escaped(void **state)
{
    struct buf buf = { 0 };

    (void)state;
    json_text(&buf, "a\"\\\b\f\n\r\t\x01\xc3\xa4");
    assert_bytes(&buf, "\"a\\\"\\\\\\b\\f\\n\\r\\t\\u0001\xc3\xa4\"");
    error_put(&buf, ERROR_READ_ONLY);
    assert_bytes(&buf, "{\"error\":{\"code\":\"read-only\",\"message\":"
                       "\"management.http.route-providers-read-only is on\"}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_have_sorted_fields),
        cmocka_unit_test(an_empty_view_leaves_out_leader_and_oldest),
        cmocka_unit_test(a_member_is_found_by_both_forms_of_its_address),
        cmocka_unit_test(shards_have_failed_ones_only_if_there_are_some),
        cmocka_unit_test(types_are_sorted),
        cmocka_unit_test(events_have_the_data_first),
        cmocka_unit_test(a_data_center_is_a_role_with_a_leader),
        cmocka_unit_test(parents_stand_for_their_events),
        cmocka_unit_test(texts_are_escaped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
