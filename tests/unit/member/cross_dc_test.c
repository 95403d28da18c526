/* Tests heartbeats between data centers: their senders, their times, and the meaning of silence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/timers.h"
#include "member/cross_dc.h"
#include "member/state.h"
#include "member/wire.h"
#include "values.h"

static const struct cross_dc_settings settings = {
    .interval = 3 * SECOND,
    .pause = 10 * SECOND,
    .expected = 1 * SECOND,
    .connections = 2,
};

/* As test_add; in data center dc-west unless the letter is a to c. */
static struct profile *add(struct gossip *gossip, char content,
                           enum member_status status, int32_t up_number)
{
    char host[2] = { content, 0 };
    struct profile *profile =
        test_profile(host, 2552, (uint64_t)(content - 'a' + 1),
                     content <= 'c' ? "dc-east" : "dc-west");

    (void)gossip_add(gossip, profile, status, up_number);
    profile_drop(profile);
    return profile;
}

/* Sends what is due. Returns the heartbeat's number; letters: its receivers, sorted. */
static int64_t sent(struct cross *cross, uint64_t now, char *contents)
{
    struct outbox outbox = { 0 };
    struct outbound out;
    struct heartbeat heartbeat = { .sequence = 0 };
    uint32_t count =
        cross_dc_step(cross, &settings, &test_identity, now, &outbox);

    while (outbox_next(&outbox, &out)) {
        *contents++ = out.to.address.host[0];
        assert_true(slice_is(out.manifest, "HB"));
        assert_true(slice_is(out.recipient,
                             "/system/cluster/heartbeatReceiver"));
        assert_true(
            slice_is(out.sender,
                     "/system/cluster/core/daemon/crossDcHeartbeatSender"));
        assert_true(out.selection);
        assert_int_equal(out.stream, STREAM_CONTROL);
        assert_int_equal(
            wire_get_heartbeat(&test_identity, out.payload, &heartbeat),
            WIRE_OK);
        count--;
    }
    *contents = 0;
    assert_int_equal(count, 0);
    outbox_fini(&outbox);
    return heartbeat.sequence;
}

/* Numbers 1, 2 at the interval, to the two oldest of the other data center. */
static void the_oldest_send_to_the_oldest_MEM076(void **state)
{
    struct gossip gossip = { 0 };
    struct cross cross = { 0 };
    struct profile *a = add(&gossip, 'a', MEMBER_UP, 1);
    char contents[16];
    (void)state;

    (void)add(&gossip, 'b', MEMBER_UP, 2);
    (void)add(&gossip, 'd', MEMBER_JOINING, UP_NUMBER_NONE);
    cross_dc_follow(&cross, &settings, &gossip, a, 1 * SECOND);
    assert_false(cross.is_active); /* no member there was ever up */
    assert_true(cross_dc_deadline(&cross) == NEVER);
    (void)add(&gossip, 'g', MEMBER_UP, 1);
    (void)add(&gossip, 'e', MEMBER_LEAVING, 3);
    (void)add(&gossip, 'f', MEMBER_UP, 2);
    cross_dc_follow(&cross, &settings, &gossip, a, 2 * SECOND);
    assert_true(cross.is_active);
    assert_true(cross_dc_deadline(&cross) == 5 * SECOND);
    assert_int_equal(sent(&cross, 5 * SECOND - 1, contents), 0);
    assert_int_equal(sent(&cross, 5 * SECOND, contents), 1);
    assert_string_equal(contents, "fg"); /* up numbers 2 and 1; neither e nor d */
    assert_int_equal(sent(&cross, 8 * SECOND, contents), 2);
    assert_string_equal(contents, "fg");
    cross_dc_fini(&cross);
    gossip_fini(&gossip);
}

/* A node with a long delay sends nothing before its end. */
static void no_heartbeat_is_sent_before_the_first_round(void **state)
{
    struct gossip gossip = { 0 };
    struct cross cross = { .next_at = 9 * SECOND };
    struct profile *a = add(&gossip, 'a', MEMBER_UP, 1);
    char contents[16];
    (void)state;

    (void)add(&gossip, 'f', MEMBER_UP, 2);
    cross_dc_follow(&cross, &settings, &gossip, a, 2 * SECOND);
    assert_true(cross_dc_deadline(&cross) == 9 * SECOND);
    assert_int_equal(sent(&cross, 8 * SECOND, contents), 0);
    assert_int_equal(sent(&cross, 9 * SECOND, contents), 1);
    assert_string_equal(contents, "f");
    cross_dc_fini(&cross);
    gossip_fini(&gossip);
}

/* A younger member sends only after the older ones are gone. */
static void younger_members_send_no_heartbeats(void **state)
{
    struct gossip gossip = { 0 };
    struct cross cross = { 0 };
    struct profile *c;
    struct node_id b = test_mail('b');
    char contents[16];
    (void)state;

    (void)add(&gossip, 'a', MEMBER_UP, 1);
    (void)add(&gossip, 'b', MEMBER_UP, 2);
    c = add(&gossip, 'c', MEMBER_UP, 3);
    (void)add(&gossip, 'd', MEMBER_UP, 1);
    cross_dc_follow(&cross, &settings, &gossip, c, 1 * SECOND);
    assert_false(cross.is_active);
    assert_int_equal(sent(&cross, 100 * SECOND, contents), 0);
    assert_true(gossip_remove(&gossip, &b, 1));
    cross_dc_follow(&cross, &settings, &gossip, c, 200 * SECOND);
    assert_int_equal(sent(&cross, 203 * SECOND, contents), 1);
    assert_string_equal(contents, "d");
    cross_dc_fini(&cross);
    gossip_fini(&gossip);
}

/* Silence for interval and pause makes a peer unavailable; one response ends that. */
static void silence_has_a_deadline_FD016_FD017_FD019_FD020(void **state)
{
    struct gossip gossip = { 0 };
    struct cross cross = { 0 };
    struct profile *a = add(&gossip, 'a', MEMBER_UP, 1);
    struct node_id d = test_mail('d');
    struct node_id b = test_mail('b');
    char contents[16];
    (void)state;

    (void)add(&gossip, 'd', MEMBER_UP, 1);
    cross_dc_follow(&cross, &settings, &gossip, a, 0);
    assert_int_equal(sent(&cross, 3 * SECOND, contents), 1);
    /* Without a response, the first one is missing a second later, and silence counts from
     * there. */
    assert_true(cross_dc_deadline(&cross) == 4 * SECOND);
    assert_true(cross_dc_is_available(&cross, &settings, &d, 100 * SECOND));
    assert_int_equal(sent(&cross, 4 * SECOND, contents), 0);
    assert_true(cross_dc_is_available(&cross, &settings, &d, 17 * SECOND - 1));
    assert_false(cross_dc_is_available(&cross, &settings, &d, 17 * SECOND));
    assert_true(cross_dc_response(&cross, &d, 20 * SECOND));
    assert_true(cross_dc_is_available(&cross, &settings, &d, 33 * SECOND - 1));
    assert_false(cross_dc_is_available(&cross, &settings, &d, 33 * SECOND));
    for (uint64_t s = 34; s <= 36; s++) { /* a series */
        assert_true(cross_dc_response(&cross, &d, s * SECOND));
        assert_true(cross_dc_is_available(&cross, &settings, &d, s * SECOND));
    }
    assert_true(cross_dc_is_available(&cross, &settings, &d, 49 * SECOND - 1));
    assert_false(cross_dc_is_available(&cross, &settings, &d, 49 * SECOND));
    assert_false(cross_dc_response(&cross, &b, 20 * SECOND));
    assert_true(cross_dc_is_available(&cross, &settings, &b, 99 * SECOND));
    cross_dc_fini(&cross);
    gossip_fini(&gossip);
}

/* A suspended node asked no peer, so that is no silence. */
static void a_suspended_node_misses_no_peer(void **state)
{
    struct gossip gossip = { 0 };
    struct cross cross = { 0 };
    struct profile *a = add(&gossip, 'a', MEMBER_UP, 1);
    struct node_id d = test_mail('d');
    char contents[16];
    (void)state;

    (void)add(&gossip, 'd', MEMBER_UP, 1);
    cross_dc_follow(&cross, &settings, &gossip, a, 0);
    assert_int_equal(sent(&cross, 3 * SECOND, contents), 1);
    assert_true(cross_dc_response(&cross, &d, 3 * SECOND));
    assert_int_equal(sent(&cross, 66 * SECOND, contents), 2); /* 60 s late */
    assert_true(cross_dc_is_available(&cross, &settings, &d, 76 * SECOND - 1));
    assert_false(cross_dc_is_available(&cross, &settings, &d, 76 * SECOND));
    cross_dc_fini(&cross);
    gossip_fini(&gossip);
}

/* A removed peer is forgotten with its silence; another incarnation at its address starts anew. */
static void removed_far_peers_are_forgotten(void **state)
{
    struct gossip gossip = { 0 };
    struct cross cross = { 0 };
    struct profile *a = add(&gossip, 'a', MEMBER_UP, 1);
    struct node_id d = test_mail('d');
    struct profile *again;
    char contents[16];
    (void)state;

    (void)add(&gossip, 'd', MEMBER_UP, 1);
    cross_dc_follow(&cross, &settings, &gossip, a, 0);
    (void)sent(&cross, 3 * SECOND, contents);
    (void)sent(&cross, 4 * SECOND, contents);
    assert_false(cross_dc_is_available(&cross, &settings, &d, 50 * SECOND));
    assert_true(gossip_remove(&gossip, &d, 1));
    again = test_profile("d", 2552, 99, "dc-west");
    (void)gossip_add(&gossip, again, MEMBER_UP, 2);
    cross_dc_follow(&cross, &settings, &gossip, a, 50 * SECOND);
    assert_true(cross_dc_is_available(&cross, &settings, &d, 50 * SECOND));
    assert_true(
        cross_dc_is_available(&cross, &settings, PROFILE_NODE(again), 50 * SECOND));
    assert_true(cross.is_active);
    (void)sent(&cross, 50 * SECOND, contents);
    assert_string_equal(contents, "d");
    profile_drop(again);
    cross_dc_fini(&cross);
    gossip_fini(&gossip);
}

/* By up number, not by address. */
static void the_oldest_of_a_center_have_the_lowest_up_numbers_MEM173(
    void **state)
{
    struct gossip gossip = { 0 };
    struct state_oldest oldest = { .max = 2 };
    (void)state;

    (void)add(&gossip, 'd', MEMBER_UP, 4);
    (void)add(&gossip, 'e', MEMBER_UP, 2);
    (void)add(&gossip, 'f', MEMBER_UP, 3);
    (void)add(&gossip, 'g', MEMBER_UP, 1);
    (void)add(&gossip, 'a', MEMBER_UP, 1);
    state_find_oldest(&gossip, "west", &oldest);
    assert_int_equal(oldest.members.count, 2);
    assert_int_equal(oldest.members.items[0]->profile->uid, 'g' - 'a' + 1);
    assert_int_equal(oldest.members.items[1]->profile->uid, 'e' - 'a' + 1);
    vec_fini(&oldest.members);
    gossip_fini(&gossip);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_oldest_send_to_the_oldest_MEM076),
        cmocka_unit_test(no_heartbeat_is_sent_before_the_first_round),
        cmocka_unit_test(younger_members_send_no_heartbeats),
        cmocka_unit_test(silence_has_a_deadline_FD016_FD017_FD019_FD020),
        cmocka_unit_test(a_suspended_node_misses_no_peer),
        cmocka_unit_test(removed_far_peers_are_forgotten),
        cmocka_unit_test(
            the_oldest_of_a_center_have_the_lowest_up_numbers_MEM173),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
