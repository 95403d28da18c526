/* Tests clusters of several data centers: each agrees and leads for itself, the oldest send gossip
 * and heartbeats across, and a cut is reported for data centers, not for members. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/check.h"
#include "net.h"

static const char *const names[] = { "east", "west", "south" };

static bool is_from(const struct outbound *out, const char *tail)
{
    size_t size = strlen(tail);

    return out->sender.size >= size &&
           !memcmp(out->sender.data + out->sender.size - size, tail, size);
}

/* Messages of one kind by sender and receiver. */
struct traffic {
    uint32_t heartbeats[32];  /* heartbeats to other data centers, by sender */
    uint32_t astray;     /* heartbeats within a data center */
    uint32_t gossip[32]; /* rounds and full gossips across, by sender */
    uint32_t taken[32];  /* by receiver */
    uint32_t local[32];  /* within a data center, by sender */
    uint32_t width;      /* nodes of a data center */
};

static void count(struct net *net, uint32_t from, uint32_t to,
                  const struct outbound *out)
{
    struct traffic *traffic = net->tap_user;
    bool within = from / traffic->width == to / traffic->width;

    if (is_from(out, "/crossDcHeartbeatSender")) {
        traffic->heartbeats[from]++;
        traffic->astray += within;
    }
    if (!slice_is(out->manifest, "GS") && !slice_is(out->manifest, "GE"))
        return;
    if (within) {
        traffic->local[from]++;
    } else {
        traffic->gossip[from]++;
        traffic->taken[to]++;
    }
}

/* Nodes by index, `width` in each data center, not started. */
static struct net *centers(uint64_t seed, uint32_t count, uint32_t width,
                           struct member_settings settings)
{
    struct net *net = net_new(seed);

    for (uint32_t i = 0; i < count; i++) {
        settings.data_center = names[i / width];
        net_add(net, i, &settings);
    }
    return net;
}

static void start(struct net *net, uint32_t first, uint32_t past)
{
    for (uint32_t i = first; i < past; i++)
        net_start(net, i);
}

static struct net *converged(uint64_t seed, uint32_t count, uint32_t width,
                             struct member_settings settings)
{
    struct net *net = centers(seed, count, width, settings);

    start(net, 0, count);
    assert_true(net_converge(net, 120 * SECOND));
    net_run(net, 10 * SECOND);
    return net;
}

static uint32_t told_of(const struct net *net, uint32_t index,
                        enum member_news_kind kind, const char *detail)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < net->nodes[index].news.count; i++) {
        const struct net_news *news = &net->nodes[index].news.items[i];

        found += news->kind == kind && strcmp(news->detail, detail) == 0;
    }
    return found;
}

static const struct member_view *view(const struct net *net, uint32_t by,
                                      uint32_t of)
{
    return member_find(net->nodes[by].member, &net->nodes[of].identity.node);
}

/* All are up. Each sees a leader of its own data center. Up numbers begin at 1 in each. */
static void each_data_center_has_its_leader_and_ages_MEM316_MEM317_MEM326_MEM328(
    void **state)
{
    struct net *net = converged(41, 5, 2, (struct member_settings){ 0 });
    (void)state;

    for (uint32_t i = 0; i < 5; i++) {
        const struct member_view *leader =
            member_leader(net->nodes[i].member);

        assert_non_null(leader);
        assert_string_equal(leader->profile->traits->data_center, names[i / 2]);
        assert_int_equal(leader->profile->address->port, 2551 + i / 2 * 2);
        for (uint32_t k = 0; k < 5; k++)
            assert_string_equal(view(net, i, k)->profile->traits->data_center,
                                names[k / 2]);
        for (uint32_t k = 0; k + 1 < 5; k += 2)
            assert_int_equal(view(net, i, k)->up_number +
                                 view(net, i, k + 1)->up_number,
                             1 + 2);
        assert_int_equal(view(net, i, 4)->up_number, 1);
    }
    net_free(net);
}

/* The first members of a new data center become up by themselves. */
static void a_new_data_center_joins_the_cluster_MEM281_MEM282_MEM283(
    void **state)
{
    struct net *net = centers(42, 5, 3, (struct member_settings){ 0 });
    (void)state;

    start(net, 0, 3);
    net_run(net, 20 * SECOND);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(view(net, i, 2)->status, MEMBER_UP);
    start(net, 3, 5);
    assert_true(net_converge(net, 30 * SECOND));
    assert_int_equal(view(net, 0, 3)->up_number + view(net, 0, 4)->up_number,
                     3);
    net_free(net);
}

/* A member of another data center is downed from here. All remove it. */
static void a_member_is_downed_from_another_data_center_MEM320(void **state)
{
    struct net *net = converged(43, 4, 2, (struct member_settings){ 0 });
    struct address address = net_address(3);
    struct outbox outbox = { 0 };
    (void)state;

    assert_true(
        member_down(net->nodes[0].member, net->now, &address, &outbox));
    net_flush(net, 0, &outbox);
    net_run(net, 20 * SECOND);
    assert_true(member_is_stopped(net->nodes[3].member));
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(member_count(net->nodes[i].member), 3);
        assert_int_equal(net_told(net, i, MEMBER_NEWS_REMOVED, 2554), 1);
    }
    outbox_fini(&outbox);
    net_free(net);
}

/* The two oldest of each data center send heartbeats across, and none within. */
static void the_oldest_send_heartbeats_across_MEM321_MEM322_MEM333_MEM334(
    void **state)
{
    struct traffic traffic = { .width = 4 };
    struct net *net =
        converged(44, 8, 4, (struct member_settings){ .cross_connections = 2 });
    (void)state;

    net->tap = count;
    net->tap_user = &traffic;
    net_run(net, 30 * SECOND);
    assert_int_equal(traffic.astray, 0);
    for (uint32_t i = 0; i < 8; i++) {
        bool oldest = view(net, i, i)->up_number <= 2;

        /* ten rounds in thirty seconds, to two members each */
        assert_int_equal(traffic.heartbeats[i], oldest ? 20 : 0);
    }
    net_free(net);
}

/* Sometimes the oldest gossip across, to the oldest there, whether or not these have seen the
 * version. The others gossip only within. */
static void the_oldest_gossip_across_MEM117_MEM118_MEM124_MEM125_MEM127(
    void **state)
{
    struct traffic traffic = { .width = 6 };
    struct net *net = converged(
        45, 12, 6,
        (struct member_settings){ .cross_connections = 1,
                                  .cross_gossip_percent = 50 });
    (void)state;

    net->tap = count;
    net->tap_user = &traffic;
    net_run(net, 400 * SECOND);
    for (uint32_t i = 0; i < 12; i++) {
        if (view(net, i, i)->up_number == 1) {
            assert_in_range(traffic.gossip[i], 150, 250);
            assert_in_range(traffic.taken[i], 150, 250);
            assert_in_range(traffic.local[i], 150, 250);
        } else {
            assert_int_equal(traffic.gossip[i], 0);
            assert_int_equal(traffic.taken[i], 0);
            assert_in_range(traffic.local[i], 390, 410);
        }
    }
    net_free(net);
}

/* A member alone in its data center has only others. */
static void a_single_member_gossips_across_MEM116(void **state)
{
    struct traffic traffic = { .width = 3 };
    struct net *net = converged(
        46, 4, 3, (struct member_settings){ .cross_gossip_percent = 1 });
    (void)state;

    net->tap = count;
    net->tap_user = &traffic;
    net_run(net, 100 * SECOND);
    assert_int_equal(traffic.local[3], 0);
    assert_in_range(traffic.gossip[3], 95, 105);
    net_free(net);
}

/* With all rounds set to go across, some stay, so that two members of a data center get each
 * other's news. */
static void some_gossip_stays_in_the_data_center(void **state)
{
    struct traffic traffic = { .width = 6 };
    struct net *net = converged(
        51, 12, 6,
        (struct member_settings){ .cross_connections = 6,
                                  .cross_gossip_percent = 100 });
    (void)state;

    net->tap = count;
    net->tap_user = &traffic;
    net_run(net, 400 * SECOND);
    for (uint32_t i = 0; i < 12; i++) {
        assert_in_range(traffic.local[i], 5, 45);
        assert_in_range(traffic.gossip[i], 355, 405);
    }
    net_free(net);
}

static void cut(struct net *net, bool off)
{
    for (uint32_t i = 0; i < 3; i++)
        net->cut[i] = off;
}

/* A cut is reported for the data center, once, on both sides, and for no member. So is its end. */
static void a_cut_is_reported_for_data_centers_MEM026_MEM329(void **state)
{
    struct net *net = converged(47, 6, 3, (struct member_settings){ 0 });
    const char *name;
    (void)state;

    cut(net, true);
    net_run(net, 60 * SECOND);
    for (uint32_t i = 0; i < 6; i++) {
        const char *other = names[!(i / 3)];

        assert_int_equal(
            told_of(net, i, MEMBER_NEWS_CENTER_UNREACHABLE, other), 1);
        assert_int_equal(net_told(net, i, MEMBER_NEWS_UNREACHABLE, 0), 0);
        assert_true(
            member_unreachable_center_at(net->nodes[i].member, 0, &name));
        assert_string_equal(name, other);
        assert_false(
            member_unreachable_center_at(net->nodes[i].member, 1, &name));
        assert_true(member_is_converged(net->nodes[i].member));
    }
    cut(net, false);
    assert_true(net_converge(net, 60 * SECOND));
    net_run(net, 20 * SECOND);
    for (uint32_t i = 0; i < 6; i++) {
        const char *other = names[!(i / 3)];

        assert_int_equal(
            told_of(net, i, MEMBER_NEWS_CENTER_UNREACHABLE, other), 1);
        assert_int_equal(told_of(net, i, MEMBER_NEWS_CENTER_REACHABLE, other),
                         1);
        assert_int_equal(net_told(net, i, MEMBER_NEWS_REACHABLE, 0), 0);
        assert_int_equal(member_count(net->nodes[i].member), 6);
    }
    net_free(net);
}

/* During a cut each side continues: members join, become up and leave. Afterwards all agree. */
static void both_sides_continue_during_a_cut(void **state)
{
    struct member_settings settings = { .data_center = "west" };
    struct address seed = net_address(4);
    struct net *net = converged(48, 6, 3, (struct member_settings){ 0 });
    struct outbox outbox = { 0 };
    (void)state;

    cut(net, true);
    net_run(net, 30 * SECOND);
    settings.seeds = &seed;
    settings.seed_count = 1;
    net_add(net, 6, &settings);
    net_start(net, 6);
    assert_true(member_leave(net->nodes[0].member, net->now,
                             &net->nodes[1].identity.node.address, &outbox));
    net_flush(net, 0, &outbox);
    net_run(net, 30 * SECOND);
    assert_int_equal(view(net, 3, 6)->status, MEMBER_UP);
    assert_int_equal(view(net, 3, 6)->up_number, 4);
    assert_null(view(net, 0, 6));
    assert_true(member_is_stopped(net->nodes[1].member));
    assert_null(view(net, 0, 1));
    assert_non_null(view(net, 3, 1));
    cut(net, false);
    assert_true(net_converge(net, 60 * SECOND));
    assert_int_equal(view(net, 0, 6)->up_number, 4);
    outbox_fini(&outbox);
    net_free(net);
}

/* A crashed member makes its data center unreachable for the others until its removal, and delays
 * no one there. */
static void a_crashed_member_delays_no_other_data_center(void **state)
{
    struct net *net = converged(49, 6, 3, (struct member_settings){ 0 });
    struct address address = net_address(4);
    struct outbox outbox = { 0 };
    (void)state;

    net_crash(net, 4);
    net_run(net, 40 * SECOND);
    assert_int_equal(told_of(net, 0, MEMBER_NEWS_CENTER_UNREACHABLE, "west"),
                     1);
    assert_int_equal(net_told(net, 0, MEMBER_NEWS_UNREACHABLE, 0), 0);
    assert_int_equal(net_told(net, 3, MEMBER_NEWS_UNREACHABLE, 2555), 1);
    assert_true(member_is_converged(net->nodes[0].member));
    assert_false(member_is_converged(net->nodes[3].member));
    assert_true(
        member_down(net->nodes[3].member, net->now, &address, &outbox));
    net_flush(net, 3, &outbox);
    assert_true(net_converge(net, 60 * SECOND));
    assert_int_equal(told_of(net, 0, MEMBER_NEWS_CENTER_REACHABLE, "west"), 1);
    outbox_fini(&outbox);
    net_free(net);
}

/* A node ends when its own data center says that it was removed, even if others say nothing; one
 * word is not enough. */
static void a_node_ends_when_its_data_center_refuses_it(void **state)
{
    struct net *net = converged(50, 6, 3, (struct member_settings){ 0 });
    struct member *member = net->nodes[0].member;
    (void)state;

    member_refused(member, net->now, &net->nodes[1].identity.node);
    assert_true(member_is_in(member));
    member_refused(member, net->now, &net->nodes[2].identity.node);
    assert_true(member_is_stopped(member));
    net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            each_data_center_has_its_leader_and_ages_MEM316_MEM317_MEM326_MEM328),
        cmocka_unit_test(
            a_new_data_center_joins_the_cluster_MEM281_MEM282_MEM283),
        cmocka_unit_test(a_member_is_downed_from_another_data_center_MEM320),
        cmocka_unit_test(
            the_oldest_send_heartbeats_across_MEM321_MEM322_MEM333_MEM334),
        cmocka_unit_test(
            the_oldest_gossip_across_MEM117_MEM118_MEM124_MEM125_MEM127),
        cmocka_unit_test(a_single_member_gossips_across_MEM116),
        cmocka_unit_test(some_gossip_stays_in_the_data_center),
        cmocka_unit_test(a_cut_is_reported_for_data_centers_MEM026_MEM329),
        cmocka_unit_test(both_sides_continue_during_a_cut),
        cmocka_unit_test(a_crashed_member_delays_no_other_data_center),
        cmocka_unit_test(a_node_ends_when_its_data_center_refuses_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
