/* Counts comparisons of nodes for a gossip of many members: steps of searches, or slow walks of
 * lists. They grow with the members, not with members times observations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "member/inside.h"
#include "values.h"

#define DEAD_SHARE 5 /* one of so many is dead */
#define OBSERVERS 9  /* of each dead one */

static uint64_t compared;

int __real_profile_order(const struct profile *profile,
                         const struct node_id *node);
int __wrap_profile_order(const struct profile *profile,
                         const struct node_id *node);

int __wrap_profile_order(const struct profile *profile,
                         const struct node_id *node)
{
    compared++;
    return __real_profile_order(profile, node);
}

int __real_profile_compare(const struct profile *left,
                           const struct profile *right);
int __wrap_profile_compare(const struct profile *left,
                           const struct profile *right);

int __wrap_profile_compare(const struct profile *left,
                           const struct profile *right)
{
    compared++;
    return __real_profile_compare(left, right);
}

static enum peer_form all_brief(const void *user, const struct node_id *node)
{
    (void)user;
    (void)node;
    return PEER_GOSSIP_DIGEST;
}

/* A member of a cluster in which one of five is dead, as observed by nine others each. */
static struct member *make_member(uint32_t count, struct outbox *outbox)
{
    struct member_settings settings = { .form_of = all_brief };
    struct member *member = member_new(&test_identity, &settings, 1, NULL);
    struct gossip *gossip = &member->gossip;

    assert_true(member_join(member, 1, 1, &test_identity.node.address, outbox));
    for (uint32_t i = 1; i < count; i++) {
        struct profile *profile =
            test_profile("b", 1 + i, 1000 + i * 7919, NULL);

        gossip_add(gossip, profile, MEMBER_UP, (int32_t)i + 1)->seen = i % 2;
        clock_increment(&gossip->clock, &profile->key);
        profile_drop(profile);
    }
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t k = 1; i % DEAD_SHARE == 0 && k <= OBSERVERS; k++)
            (void)reachability_change(
                &gossip->reachability,
                gossip->members.items[1 + (i + k * 11) % (count - 1) /
                                              DEAD_SHARE * DEAD_SHARE]
                    .profile,
                gossip->members.items[i].profile, UNREACHABLE);
    member_gossip_changed(member);
    member_settle(member, 1);
    member_step(member, 1, 1, outbox);
    return member;
}

static void drain(struct member *member, struct outbox *outbox)
{
    struct member_news news;
    struct outbound out;

    while (member_next_news(member, &news))
        ;
    while (outbox_next(outbox, &out))
        ;
}

/* Sends our gossip, changed, from the member at that index. */
static void put_gossip(struct member *member, uint32_t from, bool is_newer,
                       struct buf *payload)
{
    struct gossip *gossip = &member->gossip;
    struct gossip_member *by = &gossip->members.items[from];
    struct gossip_cache head = { 0 };
    struct buf packed = { 0 };
    struct gossip theirs = { 0 };

    gossip_cache_put_gossip(&test_identity, &packed, gossip, &head);
    assert_int_equal(wire_get_gossip(&test_identity, buf_slice(&packed), gossip,
                                     &theirs),
                     WIRE_OK);
    (void)reachability_change(&theirs.reachability, by->profile,
                              gossip->members.items[from + 1].profile,
                              UNREACHABLE);
    clock_increment(&theirs.clock, &by->profile->key);
    buf_clear(&packed);
    gossip_cache_clear(&head);
    gossip_cache_put_gossip(&test_identity, &packed, &theirs, &head);
    wire_put_envelope(&test_identity, payload, PROFILE_NODE(by->profile),
                      PROFILE_NODE(member->self), buf_slice(&packed));
    if (!is_newer) /* now each has a change that the other lacks */
        member_gossip_changed(member);
    member_settle(member, 2);
    gossip_cache_fini(&head);
    buf_fini(&packed);
    gossip_fini(&theirs);
}

/* Comparisons until a gossip is answered and reported. */
static uint64_t effort(uint32_t count, bool is_newer)
{
    struct outbox outbox = { 0 };
    struct member *member = make_member(count, &outbox);
    struct buf payload = { 0 };
    uint64_t merged = member_counters(member)->merged;
    struct inbound inbound = { .manifest = slice_text("GE"),
                               .serializer = MEMBER_SERIALIZER };

    drain(member, &outbox);
    put_gossip(member, 7, is_newer, &payload);
    inbound.from = profile_node(member->gossip.members.items[7].profile);
    inbound.payload = buf_slice(&payload);
    compared = 0;
    member_receive(member, 3, 3, &inbound, &outbox);
    while (!member_deadline(member))
        member_step(member, 3, 3, &outbox);
    drain(member, &outbox);
    assert_int_equal(member_counters(member)->gossip_received, 1);
    assert_int_equal(member_counters(member)->merged - merged, !is_newer);
    buf_fini(&payload);
    outbox_fini(&outbox);
    member_free(member);
    return compared;
}

static void a_gossip_is_applied_without_searches(void **state)
{
    (void)state;
    for (int is_newer = 0; is_newer < 2; is_newer++) {
        uint64_t small = effort(250, is_newer);
        uint64_t large = effort(1000, is_newer);

        print_message("%s: %llu comparisons for 250 members, %llu for 1,000\n",
                      is_newer ? "newer" : "merged", (unsigned long long)small,
                      (unsigned long long)large);
        assert_true(small > 0); /* the count works */
        assert_true(large < 4 * 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gossip_is_applied_without_searches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
