/* Tests short messages: their bytes, and clusters in which all or some nodes use them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/probe.h"
#include "member/gossip_digest.h"
#include "net.h"
#include "values.h"

static enum peer_form all_brief(const void *user, const struct node_id *node)
{
    (void)user;
    (void)node;
    return PEER_GOSSIP_DIGEST;
}

/* Every third node is a JVM or an older version of this library. */
static enum peer_form some_brief(const void *user, const struct node_id *node)
{
    (void)user;
    return node->address.port % 3 ? PEER_GOSSIP_DIGEST : PEER_USUAL;
}

/* A third each: short, never met, Akka's form. */
static enum peer_form all_forms(const void *user, const struct node_id *node)
{
    (void)user;
    return node->address.port % 3 == 0   ? PEER_USUAL
           : node->address.port % 3 == 1 ? PEER_UNKNOWN
                                         : PEER_GOSSIP_DIGEST;
}

typedef enum peer_form forms(const void *user, const struct node_id *node);

static struct net *started(uint64_t seed, uint32_t count, forms *form_of)
{
    struct member_settings settings = { .form_of = form_of };
    struct net *net = net_new(seed);

    for (uint32_t i = 0; i < count; i++)
        net_add(net, i, &settings);
    for (uint32_t i = 0; i < count; i++)
        net_start(net, i);
    return net;
}

/* ---- bytes ---- */

static void fill(struct gossip *gossip, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct profile *profile = test_profile("a", 2551 + i, 100 + i, NULL);

        gossip_add(gossip, profile, MEMBER_UP, (int32_t)i + 1)->seen =
            i % 3 == 0;
        profile_drop(profile);
    }
    clock_increment(&gossip->clock, &gossip->members.items[0].profile->key);
}

static void seen_sets_are_united(void **state)
{
    const uint32_t sizes[] = { 1, 7, 8, 9, 64, 100 };
    (void)state;

    for (uint32_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        struct gossip gossip = { 0 };
        struct gossip_digest_version version;
        struct gossip_digest_version got;
        struct buf bytes = { 0 };
        struct slice seen;
        bool changed;
        bool lacking;

        fill(&gossip, sizes[k]);
        gossip_digest_version_of(&version, &gossip);
        assert_int_equal(version.rank, 1);
        gossip_digest_put(&bytes, &version, &gossip);
        assert_int_equal(bytes.size,
                         GOSSIP_DIGEST_SIZE + 8 + (sizes[k] + 7) / 8);
        assert_true(gossip_digest_get(buf_slice(&bytes), &got, &seen));
        assert_memory_equal(got.digest, version.digest, GOSSIP_DIGEST_SIZE);
        assert_int_equal(got.rank, version.rank);
        gossip_clear_seen(&gossip);
        gossip.members.items[sizes[k] - 1].seen = true;
        assert_true(gossip_digest_unite(&gossip, seen, &changed, &lacking));
        assert_true(changed == (sizes[k] != 1));
        assert_true(lacking == ((sizes[k] - 1) % 3 != 0));
        for (uint32_t i = 0; i < sizes[k]; i++)
            assert_true(gossip.members.items[i].seen ==
                        (i % 3 == 0 || i == sizes[k] - 1));
        assert_true(gossip_digest_unite(&gossip, seen, &changed, &lacking));
        assert_false(changed);
        gossip_fini(&gossip);
        buf_fini(&bytes);
    }
}

static void another_version_has_another_digest(void **state)
{
    struct gossip gossip = { 0 };
    struct gossip_digest_version first;
    struct gossip_digest_version other;
    struct profile *late = test_profile("z", 9999, 7, NULL);
    (void)state;

    fill(&gossip, 10);
    gossip_digest_version_of(&first, &gossip);
    gossip.members.items[3].seen = !gossip.members.items[3].seen;
    gossip_digest_version_of(&other, &gossip);
    assert_memory_equal(first.digest, other.digest, GOSSIP_DIGEST_SIZE);
    (void)gossip_add(&gossip, late, MEMBER_JOINING, UP_NUMBER_NONE);
    gossip_digest_version_of(&other, &gossip);
    assert_memory_not_equal(first.digest, other.digest, GOSSIP_DIGEST_SIZE);
    first = other;
    clock_increment(&gossip.clock, &late->key);
    gossip_digest_version_of(&other, &gossip);
    assert_memory_not_equal(first.digest, other.digest, GOSSIP_DIGEST_SIZE);
    assert_int_equal(other.rank, 2);
    profile_drop(late);
    gossip_fini(&gossip);
}

static void malformed_payloads_change_nothing(void **state)
{
    uint8_t bytes[GOSSIP_DIGEST_SIZE + 8 + GOSSIP_MEMBERS_MAX / 8 + 2] = { 0 };
    struct gossip gossip = { 0 };
    struct gossip_digest_version version;
    struct slice seen;
    bool changed;
    bool lacking;
    (void)state;

    for (size_t size = 0; size < GOSSIP_DIGEST_SIZE + 8; size++)
        assert_false(gossip_digest_get(slice_of(bytes, size), &version, &seen));
    assert_true(gossip_digest_get(slice_of(bytes, GOSSIP_DIGEST_SIZE + 8), &version,
                          &seen));
    assert_int_equal(seen.size, 0);
    assert_false(gossip_digest_get(slice_of(bytes, sizeof bytes), &version, &seen));
    fill(&gossip, 10);
    memset(bytes, 0xff, sizeof bytes);
    /* two have the right size, but name more than ten members */
    for (size_t size = 0; size < 4; size++)
        assert_false(gossip_digest_unite(&gossip, slice_of(bytes, size), &changed,
                                 &lacking));
    assert_int_equal(gossip_seen_count(&gossip), 4);
    bytes[1] = 3;
    assert_true(gossip_digest_unite(&gossip, slice_of(bytes, 2), &changed, &lacking));
    assert_int_equal(gossip_seen_count(&gossip), 10);
    gossip_fini(&gossip);
}

/* ---- clusters ---- */

static void check_life(uint64_t seed, forms *form_of)
{
    struct net *net = started(seed, 50, form_of);
    struct member_settings settings = { .form_of = form_of };
    struct outbox outbox = { 0 };
    struct address dead = net_address(20);

    assert_true(net_converge(net, 60 * SECOND));
    net_crash(net, 20);
    net_run(net, 15 * SECOND);
    assert_int_equal(net_told(net, 49, MEMBER_NEWS_UNREACHABLE, 0), 1);
    assert_true(member_down(net->nodes[7].member, net->now, &dead, &outbox));
    net_flush(net, 7, &outbox);
    assert_true(net_converge(net, 30 * SECOND));
    net_add(net, 20, &settings);
    net_start(net, 20);
    assert_true(net_converge(net, 30 * SECOND));
    for (uint32_t i = 0; i < net->count; i++)
        assert_int_equal(
            member_counters(net->nodes[i].member)->dropped_hostile, 0);
    outbox_fini(&outbox);
    net_free(net);
}

static void fifty_nodes_use_short_messages(void **state)
{
    (void)state;
    check_life(1, all_brief);
}

static void nodes_of_all_forms_make_one_cluster(void **state)
{
    (void)state;
    check_life(2, some_brief);
    check_life(3, all_forms);
}

static uint64_t bytes_of_forming(forms *form_of)
{
    struct net *net = started(4, 100, form_of);
    uint64_t bytes;

    assert_true(net_converge(net, 60 * SECOND));
    bytes = net->sent_bytes;
    net_free(net);
    return bytes;
}

static void a_gossip_is_sent_to_a_node_that_lacks_it(void **state)
{
    (void)state;
    assert_in_range(bytes_of_forming(all_brief), 1,
                    bytes_of_forming(NULL) / 2);
}

static void an_idle_cluster_sends_few_bytes(void **state)
{
    struct net *net = started(5, 40, all_brief);
    uint64_t gossips;
    uint64_t sent;
    uint64_t bytes;
    (void)state;

    assert_true(net_converge(net, 60 * SECOND));
    net_run(net, 10 * SECOND);
    gossips = net->sent_gossip;
    sent = net->sent;
    bytes = net->sent_bytes;
    net_run(net, 60 * SECOND);
    assert_int_equal(net->sent_gossip, gossips);
    /* for each node and second: 9 heartbeats and 9 responses without payload, 1 version */
    assert_in_range(net->sent - sent, 40 * 60 * 18, 40 * 60 * 20);
    assert_in_range(net->sent_bytes - bytes, 40 * 59 * 33, 40 * 61 * 33);
    net_free(net);
}

/* The Welcome is lost, and the others send only their version: the newcomer asks for the gossip. */
static void a_newcomer_requests_the_gossip_after_a_lost_welcome(void **state)
{
    struct net *net = started(18, 3, all_brief);
    struct member_settings settings = { .form_of = all_brief };
    (void)state;

    assert_true(net_converge(net, 30 * SECOND));
    for (uint32_t i = 3; i < 40; i++) {
        net_add(net, i, &settings);
        net_start(net, i);
    }
    assert_true(net_converge(net, 60 * SECOND));
    net_add(net, 40, &settings);
    for (int i = 0; i < 1000 && member_count(net->nodes[0].member) +
                                        member_count(net->nodes[1].member) <
                                    81;
         i++) {
        if (i == 0)
            net_start(net, 40);
        net_run(net, 100 * 1000); /* a tenth of a millisecond */
    }
    net->deaf[40] = true; /* the Welcome is under way */
    net_run(net, 50 * MS);
    net->deaf[40] = false;
    assert_false(member_is_in(net->nodes[40].member));
    net_run(net, 6 * SECOND); /* earlier than its next request */
    assert_true(member_is_in(net->nodes[40].member));
    assert_true(net_converge(net, 30 * SECOND));
    net_free(net);
}

static void loss_only_delays_convergence(void **state)
{
    struct net *net = started(6, 40, all_brief);
    (void)state;

    net->loss_percent = 20;
    net_run(net, 60 * SECOND);
    net->loss_percent = 0;
    assert_true(net_converge(net, 60 * SECOND));
    net_free(net);
}

/* ---- wrong messages ---- */

static void say(struct net *net, const struct node_id *from,
                const char *manifest, struct slice payload)
{
    struct inbound inbound = {
        .from = *from,
        .manifest = slice_text(manifest),
        .payload = payload,
        .serializer = GOSSIP_DIGEST_SERIALIZER,
    };
    struct outbox outbox = { 0 };

    member_receive(net->nodes[0].member, net->now, NET_WALL_MS, &inbound,
                   &outbox);
    outbox_fini(&outbox);
}

static uint32_t answers_taken(struct probes *probes)
{
    struct probe probe;
    uint32_t count = 0;

    while (probes_next(probes, &probe))
        count += probe.kind == PROBE_TAKEN &&
                 probe.first == PROBE_TAKEN_HEARTBEAT;
    return count;
}

/* For checkers, as in the usual form. */
static void an_accepted_response_leaves_a_probe(void **state)
{
    struct probes *probes = probes_new();
    const struct member_settings settings = { .form_of = all_brief,
                                              .probes = probes };
    const struct node_id stranger = { net_address(77), 77 };
    struct net *net = net_new(8);
    (void)state;

    for (uint32_t i = 0; i < 2; i++)
        net_add(net, i, i ? &(struct member_settings){ .form_of = all_brief }
                          : &settings);
    for (uint32_t i = 0; i < 2; i++)
        net_start(net, i);
    assert_true(net_converge(net, 30 * SECOND));
    (void)answers_taken(probes);
    net_run(net, 10 * SECOND);
    assert_in_range(answers_taken(probes), 9, 11);
    say(net, &stranger, GOSSIP_DIGEST_RESPONSE, slice_of(NULL, 0));
    assert_int_equal(answers_taken(probes), 0);
    net_free(net);
    probes_free(probes);
}

static void wrong_messages_are_counted(void **state)
{
    struct net *net = started(7, 2, all_brief);
    const struct node_id stranger = { net_address(77), 77 };
    const struct node_id *peer = &net->nodes[1].identity.node;
    const struct member_counters *counters;
    const uint8_t bytes[GOSSIP_DIGEST_SIZE + 8] = { 0 };
    (void)state;

    assert_true(net_converge(net, 30 * SECOND));
    counters = member_counters(net->nodes[0].member);
    say(net, &stranger, GOSSIP_DIGEST_VERSION, slice_of(bytes, sizeof bytes));
    assert_int_equal(counters->dropped_no_member, 1);
    say(net, &stranger, GOSSIP_DIGEST_RESPONSE, slice_of(bytes, 0));
    assert_int_equal(counters->dropped_no_member, 2);
    say(net, peer, GOSSIP_DIGEST_VERSION, slice_of(bytes, 3));
    assert_int_equal(counters->dropped_malformed, 1);
    say(net, peer, "J", slice_of(bytes, 0));
    assert_int_equal(counters->unknown_manifest, 1);
    net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seen_sets_are_united),
        cmocka_unit_test(another_version_has_another_digest),
        cmocka_unit_test(malformed_payloads_change_nothing),
        cmocka_unit_test(fifty_nodes_use_short_messages),
        cmocka_unit_test(nodes_of_all_forms_make_one_cluster),
        cmocka_unit_test(a_gossip_is_sent_to_a_node_that_lacks_it),
        cmocka_unit_test(an_idle_cluster_sends_few_bytes),
        cmocka_unit_test(a_newcomer_requests_the_gossip_after_a_lost_welcome),
        cmocka_unit_test(loss_only_delays_convergence),
        cmocka_unit_test(an_accepted_response_leaves_a_probe),
        cmocka_unit_test(wrong_messages_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
