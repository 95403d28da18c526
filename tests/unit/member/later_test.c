/* Tests work on large gossips that membership does in later steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "member/inside.h"
#include "member/wire.h"
#include "values.h"

enum { MEMBERS = 2 * GOSSIP_CACHE_MEMBERS_MIN };

static struct member *among_members(struct outbox *outbox)
{
    struct member_settings settings = { 0 };
    struct member *member = member_new(&test_identity, &settings, 1, NULL);
    struct outbound out;

    assert_true(member_join(member, 1, 1, &test_identity.node.address, outbox));
    for (uint32_t i = 1; i < MEMBERS; i++) {
        struct profile *profile = test_profile("z", i, i + 1, NULL);

        gossip_add(&member->gossip, profile, MEMBER_UP, (int32_t)i + 1);
        profile_drop(profile);
    }
    member_gossip_changed(member);
    member_settle(member, 1);
    while (outbox_next(outbox, &out))
        ;
    return member;
}

/* Receives a change from a member that has seen the gossip. */
static struct node_id receive_change(struct member *member, uint32_t index,
                                     struct outbox *outbox)
{
    struct gossip_member *by = &member->gossip.members.items[index];
    struct inbound inbound = { .from = profile_node(by->profile),
                               .sender = slice_text("/a"),
                               .manifest = slice_text("GE"),
                               .serializer = MEMBER_SERIALIZER };
    struct gossip theirs = { 0 };
    struct buf packed = { 0 };
    struct buf payload = { 0 };

    wire_put_gossip(&test_identity, &packed, &member->gossip);
    assert_int_equal(wire_get_gossip(&test_identity, buf_slice(&packed),
                                     &member->gossip, &theirs),
                     WIRE_OK);
    clock_increment(&theirs.clock, &by->profile->key);
    buf_clear(&packed);
    wire_put_gossip(&test_identity, &packed, &theirs);
    wire_put_envelope(&test_identity, &payload, &inbound.from,
                      PROFILE_NODE(member->self), buf_slice(&packed));
    inbound.payload = buf_slice(&payload);
    member_receive(member, 2, 2, &inbound, outbox);
    buf_fini(&packed);
    buf_fini(&payload);
    gossip_fini(&theirs);
    return inbound.from;
}

/* The number of consecutive steps with long work, up to a limit. */
static uint32_t step_all(struct member *member, struct outbox *outbox)
{
    uint32_t in_a_row = 0;
    uint32_t most = 0;

    while (!member_deadline(member)) {
        in_a_row = member_step(member, 2, 2, outbox) ? in_a_row + 1 : 0;
        most = in_a_row > most ? in_a_row : most;
    }
    return most;
}

static void waiting_gossips_have_a_limit(void **state)
{
    struct outbox outbox = { 0 };
    struct member *member = among_members(&outbox);
    const struct member_counters *counters = member_counters(member);
    (void)state;

    for (uint32_t i = 1; i <= MEMBER_WAITING_MAX; i++)
        (void)receive_change(member, i, &outbox);
    assert_int_equal(counters->gossip_received, 0);
    (void)receive_change(member, MEMBER_WAITING_MAX + 1, &outbox);
    assert_int_equal(counters->gossip_received, 1);
    assert_int_equal(member->over.count, 1); /* a newer one replaced it */
    /* one frees, three handle a gossip, one frees the replaced one, three answer: names, the rest,
     * sending */
    assert_int_equal(step_all(member, &outbox), 7 + MEMBER_OVER_MAX);
    assert_int_equal(member->over.count, 0);
    assert_int_equal(counters->gossip_received, MEMBER_WAITING_MAX + 1);
    for (uint32_t i = 1; i <= MEMBER_WAITING_MAX + 1; i++)
        assert_int_equal(
            clock_get(&member->gossip.clock,
                      &member->gossip.members.items[i].profile->key),
            1);
    outbox_fini(&outbox);
    member_free(member);
}

static void a_large_gossip_is_unpacked_read_and_applied_in_steps(void **state)
{
    struct outbox outbox = { 0 };
    struct member *member = among_members(&outbox);
    const struct member_counters *counters = member_counters(member);
    const struct waiting *first;
    (void)state;

    (void)receive_change(member, 1, &outbox);
    (void)receive_change(member, 2, &outbox);
    first = member->waiting.items;
    assert_true(first->brought.opened.is_open && !first->is_read);
    assert_int_equal(first->gossip.members.count, 0);
    assert_true(member_step(member, 2, 2, &outbox));
    assert_true(first->is_read);
    assert_int_equal(first->gossip.members.count, MEMBERS);
    assert_int_equal(counters->gossip_received, 0);
    assert_true(member_step(member, 2, 2, &outbox));
    assert_int_equal(counters->gossip_received, 1);
    assert_int_equal(member->waiting.count, 1);
    assert_false(first->is_read);
    outbox_fini(&outbox);
    member_free(member);
}

/* An unreadable gossip is found in a step of its own. Those after it are not lost. */
static void an_unreadable_waiting_gossip_is_dropped(void **state)
{
    struct outbox outbox = { 0 };
    struct member *member = among_members(&outbox);
    const struct member_counters *counters = member_counters(member);
    struct buf *packed;
    (void)state;

    (void)receive_change(member, 1, &outbox);
    (void)receive_change(member, 2, &outbox);
    packed = &member->waiting.items[0].brought.packed;
    packed->data[packed->size - 5] ^= 1; /* in its crc */
    member->waiting.items[0].brought.opened.is_open = false;
    assert_true(member_step(member, 2, 2, &outbox));
    assert_int_equal(counters->dropped_malformed, 1);
    assert_int_equal(member->waiting.count, 1);
    (void)step_all(member, &outbox);
    assert_int_equal(counters->gossip_received, 1);
    assert_int_equal(member->waiting.count, 0);
    /* Even if the first one is applied at once because the list is full. */
    for (uint32_t i = 1; i <= MEMBER_WAITING_MAX; i++)
        (void)receive_change(member, 2 + i, &outbox);
    packed = &member->waiting.items[0].brought.packed;
    packed->data[packed->size - 5] ^= 1;
    member->waiting.items[0].brought.opened.is_open = false;
    (void)receive_change(member, 20, &outbox);
    assert_int_equal(counters->dropped_malformed, 2);
    assert_int_equal(member->waiting.count, MEMBER_WAITING_MAX);
    outbox_fini(&outbox);
    member_free(member);
}

static void let_go(struct member *member, struct outbox *outbox)
{
    while (member->over.count)
        assert_true(member_step(member, 2, 2, outbox));
}

/* The second gossip is concurrent with the first, once that is ours. */
static struct member *among_two_changes(struct outbox *outbox)
{
    struct member *member = among_members(outbox);

    (void)receive_change(member, 1, outbox);
    (void)receive_change(member, 2, outbox);
    while (member->waiting.count == 2)
        assert_true(member_step(member, 2, 2, outbox));
    assert_true(member_counters(member)->gossip_received == 1);
    while (!gossip_receive_has_merged(member))
        (void)member_step(member, 2, 2, outbox);
    return member;
}

static void a_concurrent_gossip_is_merged_in_one_step_and_taken_in_in_the_next(
    void **state)
{
    struct outbox outbox = { 0 };
    struct member *member = among_two_changes(&outbox);
    const struct member_counters *counters = member_counters(member);
    const struct gossip_member *second = &member->gossip.members.items[2];
    (void)state;

    assert_int_equal(counters->gossip_received, 1);
    assert_int_equal(counters->merged, 0);
    assert_int_equal(clock_get(&member->gossip.clock, &second->profile->key), 0);
    assert_true(member_step(member, 2, 2, &outbox));
    second = &member->gossip.members.items[2];
    assert_int_equal(counters->gossip_received, 2);
    assert_int_equal(counters->merged, 1);
    assert_int_equal(clock_get(&member->gossip.clock, &second->profile->key), 1);
    outbox_fini(&outbox);
    member_free(member);
}

/* Our gossip changes in between: the merge is useless, and the change is not lost. */
static void a_merge_with_an_old_gossip_is_not_applied(void **state)
{
    struct outbox outbox = { 0 };
    struct member *member = among_two_changes(&outbox);
    const struct member_counters *counters = member_counters(member);
    struct node_id gone = profile_node(member->gossip.members.items[5].profile);
    struct profile *second = member->gossip.members.items[2].profile;
    (void)state;

    (void)receive_change(member, 3, &outbox); /* waits behind it */
    assert_true(gossip_receive_has_merged(member));
    member_quarantined(member, 2, &gone);
    assert_false(gossip_receive_has_merged(member));
    assert_int_equal(member->over.count, 1);
    let_go(member, &outbox);
    while (counters->gossip_received < 2)
        (void)member_step(member, 2, 2, &outbox);
    assert_int_equal(member->waiting.count, 1);
    assert_int_equal(counters->merged, 1);
    assert_int_equal(clock_get(&member->gossip.clock, &second->key), 1);
    assert_int_equal(reachability_of(&member->gossip.reachability, &gone),
                     TERMINATED);
    (void)step_all(member, &outbox);
    assert_int_equal(counters->gossip_received, 3);
    assert_int_equal(counters->merged, 2);
    outbox_fini(&outbox);
    member_free(member);
}

/* Even if the list of gossips to free is full, so that the merge is freed at once. */
static void a_useless_merge_leaves_nothing(void **state)
{
    struct outbox outbox = { 0 };
    struct member *member = among_two_changes(&outbox);
    struct node_id gone = profile_node(member->gossip.members.items[5].profile);
    (void)state;

    while (member->over.count < MEMBER_OVER_MAX)
        vec_push(&member->over, ((struct gossip){ .forgotten = 0 }));
    member->waiting.items[0].merged.gossip.forgotten = 1;
    member_quarantined(member, 2, &gone);
    assert_false(gossip_receive_has_merged(member));
    assert_int_equal(member->waiting.items[0].merged.gossip.forgotten, 0);
    (void)step_all(member, &outbox);
    assert_int_equal(member_counters(member)->merged, 1);
    assert_int_equal(member_counters(member)->forgotten, 0);
    outbox_fini(&outbox);
    member_free(member);
}

/* A gossip merged in advance is freed with its member, and when it is forgotten. */
static void a_merged_gossip_is_freed(void **state)
{
    struct outbox outbox = { 0 };
    struct member *member = among_two_changes(&outbox);
    (void)state;

    gossip_receive_forget(member);
    assert_false(gossip_receive_has_merged(member));
    member_free(member);
    member = among_two_changes(&outbox);
    outbox_fini(&outbox);
    member_free(member);
}

/* One arrives before each step, so there is always one to apply and one to free. */
static void no_round_is_late_under_constant_gossip(void **state)
{
    struct outbox outbox = { 0 };
    struct member *member = among_members(&outbox);
    uint64_t at = 5000 * MS;
    uint32_t steps = 0;
    (void)state;

    while (member->waiting.count < MEMBER_WAITING_MAX || !member->over.count)
        (void)receive_change(member, 1 + steps++, &outbox);
    assert_true(member->heart.next_at < at && member->gossip_at < at);
    for (steps = 0; member->gossip_at < at; steps++) {
        assert_in_range(steps, 0, 20);
        (void)receive_change(member, 10 + steps, &outbox);
        (void)member_step(member, at, 2, &outbox);
    }
    assert_true(member->heart.next_at > at);
    outbox_fini(&outbox);
    member_free(member);
}

static void a_waiting_gossip_of_a_removed_member_is_ignored(void **state)
{
    struct outbox outbox = { 0 };
    struct member *member = among_members(&outbox);
    const struct member_counters *counters = member_counters(member);
    struct node_id from = receive_change(member, 1, &outbox);
    (void)state;

    assert_true(gossip_remove(&member->gossip, &from, 2));
    member_gossip_changed(member);
    (void)step_all(member, &outbox);
    assert_int_equal(counters->gossip_received, 0);
    assert_int_equal(counters->dropped_no_member, 1);
    (void)receive_change(member, 1, &outbox); /* freed with the member */
    outbox_fini(&outbox);
    member_free(member);
}

static void receive_join(struct member *member, uint32_t number,
                         struct outbox *outbox)
{
    struct profile *profile = test_profile("joins", number, number, NULL);
    struct buf payload = { 0 };
    struct inbound inbound = { .from = profile_node(profile),
                               .sender = slice_text("/a"),
                               .manifest = slice_text("J"),
                               .serializer = MEMBER_SERIALIZER };

    wire_put_join(&test_identity, &payload, profile);
    inbound.payload = buf_slice(&payload);
    member_receive(member, 2, 2, &inbound, outbox);
    buf_fini(&payload);
    profile_drop(profile);
}

/* Each node gets one Welcome, however often it asks. A waiting gossip goes with the next step. */
static void nodes_that_join_together_get_one_version(void **state)
{
    struct outbox outbox = { 0 };
    struct member *member = among_members(&outbox);
    struct buf first = { 0 };
    struct outbound out;
    (void)state;

    for (uint32_t i = 1; i <= 3; i++)
        for (int twice = 0; twice < 2; twice++)
            receive_join(member, i, &outbox);
    gossip_send_later(member, PROFILE_NODE(member->gossip.members.items[1].profile),
                 &outbox);
    assert_false(outbox_next(&outbox, &out));
    assert_true(member_step(member, 2, 2, &outbox));
    for (uint32_t i = 1; i <= 3; i++) {
        assert_true(outbox_next(&outbox, &out));
        assert_true(slice_is(out.manifest, "W"));
        assert_true(slice_is(out.recipient, "/a"));
        assert_int_equal(out.to.uid, i);
        if (!first.size)
            buf_put_slice(&first, out.payload);
        assert_true(slice_equal(buf_slice(&first), out.payload));
    }
    assert_false(outbox_next(&outbox, &out));
    (void)step_all(member, &outbox);
    assert_true(outbox_next(&outbox, &out));
    assert_true(slice_is(out.manifest, "GE"));
    buf_fini(&first);
    outbox_fini(&outbox);
    member_free(member);
}

static void welcome(struct member *newcomer, const struct inbound *inbound,
                    struct outbox *outbox)
{
    struct outbound out;

    member_receive(newcomer, 2, 2, inbound, outbox);
    assert_false(outbox_next(outbox, &out));
    assert_false(member_is_in(newcomer));
    assert_int_equal(member_deadline(newcomer), 0);
}

/* A newcomer that asks again, or another node, forgets what it read. */
static void a_newcomer_reads_in_one_step_and_enters_in_the_next(void **state)
{
    struct outbox outbox = { 0 };
    struct member *member = among_members(&outbox);
    struct member_settings settings = { 0 };
    struct identity identity = test_identity;
    struct address other = test_node("other", 1, 1).address;
    struct inbound inbound = { .from = test_identity.node,
                               .sender = slice_text("/a"),
                               .manifest = slice_text("W"),
                               .serializer = MEMBER_SERIALIZER };
    struct buf payload = { 0 };
    struct member *newcomer;
    struct outbound out;
    (void)state;

    identity.node = test_node("joins", 1, 1);
    receive_join(member, 1, &outbox);
    wire_put_welcome(&test_identity, &payload, &test_identity.node,
                     &member->gossip);
    inbound.payload = buf_slice(&payload);
    newcomer = member_new(&identity, &settings, 2, NULL);
    assert_true(member_join(newcomer, 2, 2, &test_identity.node.address,
                            &outbox));
    assert_true(outbox_next(&outbox, &out));
    welcome(newcomer, &inbound, &outbox);
    assert_true(member_join(newcomer, 2, 2, &other, &outbox));
    assert_true(member_deadline(newcomer) > 2);
    member_receive(newcomer, 2, 2, &inbound, &outbox); /* no longer asked */
    assert_int_equal(member_counters(newcomer)->dropped_state, 1);
    assert_true(member_deadline(newcomer) > 2);
    assert_false(member_is_in(newcomer));
    assert_true(member_join(newcomer, 2, 2, &test_identity.node.address,
                            &outbox));
    while (outbox_next(&outbox, &out))
        ;
    welcome(newcomer, &inbound, &outbox);
    welcome(newcomer, &inbound, &outbox);
    assert_int_equal(member_counters(newcomer)->dropped_state, 2);
    assert_true(member_step(newcomer, 2, 2, &outbox));
    assert_true(member_is_in(newcomer));
    assert_int_equal(member_count(newcomer), MEMBERS + 1);
    assert_true(member_deadline(newcomer) > 2);
    buf_fini(&payload);
    outbox_fini(&outbox);
    member_free(newcomer);
    member_free(member);
}

/* A newcomer that receives a member's Welcome or gossip, in several steps. */
static struct member *told_newcomer(struct member *member, bool by_gossip, bool wrong, struct outbox *outbox)
{
    struct member_settings settings = { 0 };
    static struct identity identity; /* lent to the newcomer */
    struct inbound inbound = { .from = test_identity.node,
                               .sender = slice_text("/a"),
                               .manifest = slice_text(by_gossip ? "GE" : "W"),
                               .serializer = MEMBER_SERIALIZER };
    struct buf packed = { 0 };
    struct buf payload = { 0 };
    struct member *newcomer;
    struct outbound out;

    identity = test_identity;
    identity.node = test_node("joins", 1, wrong ? 2 : 1); /* the member accepted number 1 */
    wire_put_gossip(&test_identity, &packed, &member->gossip);
    if (by_gossip)
        wire_put_envelope(&test_identity, &payload, &inbound.from, &identity.node, buf_slice(&packed));
    else
        wire_put_welcome(&test_identity, &payload, &inbound.from, &member->gossip);
    newcomer = member_new(&identity, &settings, 2, NULL);
    assert_true(member_join(newcomer, 2, 2, &test_identity.node.address, outbox));
    while (outbox_next(outbox, &out))
        ;
    inbound.payload = buf_slice(&payload);
    welcome(newcomer, &inbound, outbox);
    assert_false(newcomer->waiting.items[0].is_read);
    assert_true(member_step(newcomer, 2, 2, outbox));
    buf_fini(&packed);
    buf_fini(&payload);
    return newcomer;
}

/* Unpacking, reading and entering have a step each. A large Welcome without this node is dropped
 * when read. */
static void a_newcomer_reads_a_large_gossip_in_its_own_step(void **state)
{
    struct outbox outbox = { 0 };
    struct member *member = among_members(&outbox);
    (void)state;

    for (uint32_t i = 1000; i < 2000; i++) {
        struct profile *profile = test_profile("w", i, i + 1, NULL);

        gossip_add(&member->gossip, profile, MEMBER_UP, (int32_t)i + 1);
        profile_drop(profile);
    }
    member_gossip_changed(member);
    receive_join(member, 1, &outbox);
    for (int by_gossip = 0; by_gossip < 2; by_gossip++) {
        struct member *newcomer = told_newcomer(member, by_gossip, false, &outbox);

        assert_false(member_is_in(newcomer));
        assert_true(newcomer->waiting.items[0].is_read);
        assert_true(member_step(newcomer, 2, 2, &outbox));
        assert_true(member_is_in(newcomer));
        assert_int_equal(newcomer->waiting.count, 0);
        member_free(newcomer);
        newcomer = told_newcomer(member, by_gossip, true, &outbox);
        assert_false(member_is_in(newcomer));
        assert_int_equal(newcomer->waiting.count, 0);
        assert_int_equal(member_counters(newcomer)->dropped_hostile, 1);
        member_free(newcomer);
    }
    outbox_fini(&outbox);
    member_free(member);
}

/* Leader actions for many members have a step of their own, although gossip and heartbeats are due,
 * too. */
static void the_leader_of_many_acts_in_a_step_of_its_own(void **state)
{
    struct outbox outbox = { 0 };
    struct member *member = among_members(&outbox);
    uint64_t at = 5000 * MS;
    (void)state;

    for (uint32_t i = 1; i < MEMBERS; i++)
        member->gossip.members.items[i].seen = true;
    member->gossip.members.items[1].status = MEMBER_DOWN;
    (void)reachability_change(&member->gossip.reachability, member->self,
                              member->gossip.members.items[1].profile,
                              UNREACHABLE);
    member_seen_changed(member);
    assert_true(member_is_leader(member));
    assert_true(member->leader_at < at && member->gossip_at < at);
    assert_true(member_step(member, at, 2, &outbox));
    assert_true(member->leader_at > at);
    assert_true(member->gossip_at < at);
    assert_int_equal(member_count(member), MEMBERS - 1);
    while (member_step(member, at, 2, &outbox))
        ;
    assert_true(member->gossip_at > at);
    outbox_fini(&outbox);
    member_free(member);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_gossips_have_a_limit),
        cmocka_unit_test(a_large_gossip_is_unpacked_read_and_applied_in_steps),
        cmocka_unit_test(an_unreadable_waiting_gossip_is_dropped),
        cmocka_unit_test(
            a_concurrent_gossip_is_merged_in_one_step_and_taken_in_in_the_next),
        cmocka_unit_test(a_merge_with_an_old_gossip_is_not_applied),
        cmocka_unit_test(a_useless_merge_leaves_nothing),
        cmocka_unit_test(a_merged_gossip_is_freed),
        cmocka_unit_test(no_round_is_late_under_constant_gossip),
        cmocka_unit_test(a_waiting_gossip_of_a_removed_member_is_ignored),
        cmocka_unit_test(nodes_that_join_together_get_one_version),
        cmocka_unit_test(a_newcomer_reads_in_one_step_and_enters_in_the_next),
        cmocka_unit_test(a_newcomer_reads_a_large_gossip_in_its_own_step),
        cmocka_unit_test(the_leader_of_many_acts_in_a_step_of_its_own),
    };

    return cmocka_run_group_tests_name("member_later", tests, NULL, NULL);
}
