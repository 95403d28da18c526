/* Tests whole clusters: joining, crashing and downing, leaving, loss and reordering, restarts,
 * refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "member/inside.h"
#include "net.h"

static struct net *started(uint64_t seed, uint32_t count)
{
    struct net *net = net_new(seed);

    for (uint32_t i = 0; i < count; i++)
        net_add(net, i, NULL);
    for (uint32_t i = 0; i < count; i++)
        net_start(net, i);
    return net;
}

static void five_nodes_converge_MEM254(void **state)
{
    struct net *net = started(1, 5);
    const struct member *first = net->nodes[0].member;
    (void)state;

    assert_true(net_converge(net, 30 * SECOND));
    for (uint32_t i = 0; i < 5; i++) {
        const struct member *member = net->nodes[i].member;

        assert_int_equal(net_told(net, i, MEMBER_NEWS_WELCOME, 0), 1);
        assert_int_equal(net_told(net, i, MEMBER_NEWS_SELF_UP, 0), 1);
        assert_int_equal(member_leader(member)->profile->address->port,
                         2551);
        assert_int_equal(member_is_leader(member), i == 0);
        assert_true(member_is_converged(member));
        assert_int_equal(
            member_oldest(member, NULL)->profile->address->port, 2551);
    }
    /* The first is number 1. The others follow by address, for each change. */
    assert_int_equal(member_at(first, 0)->up_number, 1);
    net_free(net);
}

/* Seed node 0 does not run; seed node 1 is in no cluster. */
static void a_search_without_success_logs_silent_seeds(void **state)
{
    struct net *net = net_new(1);
    struct trace_line line;
    uint32_t lines = 0;
    (void)state;

    net->trace = trace_new(TRACE_WARNING);
    for (uint32_t i = 1; i < 3; i++) {
        net_add(net, i, NULL);
        net_start(net, i);
    }
    net_run(net, 9 * SECOND);
    while (trace_next(net->trace, &line)) {
        assert_string_equal(line.module, "member");
        assert_non_null(strstr(line.text, "no seed node accepted this node"));
        assert_non_null(strstr(line.text, " attempt=2 seeds=2 waited_ms="));
        assert_non_null(strstr(line.text, " no_answer=10.0.0.1:2551"));
        assert_null(strstr(line.text, ":2552"));
        lines++;
    }
    assert_int_equal(lines, 2); /* one from each node */
    trace_free(net->trace);
    net->trace = NULL;
    net_free(net);
}

/* Node 2 searches nodes 1 and 3. Both answer, but are in no cluster: their own seed node 0 does not
 * run. */
static void a_search_without_a_silent_seed_logs_the_remedy(void **state)
{
    struct address lists[2][2] = { { net_address(0), net_address(0) },
                                   { net_address(1), net_address(3) } };
    struct member_settings without = { .seeds = lists[0], .seed_count = 1 };
    struct member_settings searching = { .seeds = lists[1], .seed_count = 2 };
    struct net *net = net_new(1);
    struct trace_line line;
    uint32_t lines = 0;
    (void)state;

    net_add(net, 1, &without);
    net_add(net, 3, &without);
    net_start(net, 1);
    net_start(net, 3);
    net->trace = trace_new(TRACE_WARNING);
    net_add(net, 2, &searching);
    net_start(net, 2);
    net_run(net, 15 * SECOND);
    while (trace_next(net->trace, &line)) {
        assert_non_null(strstr(line.text, "no seed node accepted this node"));
        assert_non_null(strstr(line.text, " key=cluster.seed-node-timeout "
                                          "no_answer=none hint=\"the seed nodes are "
                                          "in no cluster yet: start the first "
                                          "seed node of akka://"));
        lines++;
    }
    assert_true(lines > 0);
    trace_free(net->trace);
    net->trace = NULL;
    net_free(net);
}

/* All wait for the delay, and at least for their own interval. */
static void first_rounds_wait_for_the_delay_and_for_their_interval(void **state)
{
    struct member_settings settings = { .initial_delay_ms = 2000,
                                        .gossip_interval_ms = 3000,
                                        .leader_interval_ms = 4000,
                                        .reaper_interval_ms = 5000,
                                        .heartbeat_interval_ms = 6000,
                                        .cross_heartbeat_interval_ms = 7000,
                                        .stats_interval_ms = 1000 };
    struct net *net = net_new(1);
    struct member *member;
    struct outbox outbox = { 0 };
    struct address own = net_address(0);
    (void)state;

    net_add(net, 0, &settings);
    member = net->nodes[0].member;
    assert_true(member_join(member, 7 * MS, 1, &own, &outbox));
    assert_true(member->gossip_at == 3007 * MS);
    assert_true(member->leader_at == 4007 * MS);
    assert_true(member->reaper_at == 5007 * MS);
    assert_true(member->heart.next_at == 6007 * MS);
    assert_true(member->cross.next_at == 7007 * MS);
    assert_true(member->stats_at == 2007 * MS);
    outbox_fini(&outbox);
    net_free(net);
}

/* Only on the node that has them configured. */
static void statistics_are_logged_at_their_interval(void **state)
{
    struct member_settings settings = { .stats_interval_ms = 5000 };
    struct address seed = net_address(0);
    struct net *net = net_new(1);
    struct trace_line line;
    uint32_t lines = 0;
    (void)state;

    settings.seeds = &seed;
    settings.seed_count = 1;
    net->trace = trace_new(TRACE_INFO);
    for (uint32_t i = 0; i < 3; i++) {
        net_add(net, i, i == 0 ? &settings : NULL);
        net_start(net, i);
    }
    assert_true(net_converge(net, 60 * SECOND));
    while (trace_next(net->trace, &line))
        ;
    net_run(net, 20 * SECOND);
    while (trace_next(net->trace, &line)) {
        lines++;
        assert_memory_equal(line.text, "gossip summary members=3 seen-by=3 unreachable=0 clock=", 55);
        assert_non_null(strstr(line.text, " received="));
    }
    assert_int_equal(lines, 4);
    trace_free(net->trace);
    net->trace = NULL;
    net_free(net);
}

static void loss_and_reordering_only_delay_convergence(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct net *net = net_new(seed);

        net->loss_percent = 20;
        for (uint32_t i = 0; i < 5; i++)
            net_add(net, i, NULL);
        for (uint32_t i = 0; i < 5; i++)
            net_start(net, i);
        assert_true(net_converge(net, 120 * SECOND));
        net_free(net);
    }
}

static bool down(struct net *net, uint32_t by, uint32_t index)
{
    struct address address = net_address(index);
    struct outbox outbox = { 0 };
    bool done = member_down(net->nodes[by].member, net->now, &address, &outbox);

    net_flush(net, by, &outbox);
    outbox_fini(&outbox);
    return done;
}

static bool leave(struct net *net, uint32_t by, uint32_t index)
{
    struct address address = net_address(index);
    struct outbox outbox = { 0 };
    bool done =
        member_leave(net->nodes[by].member, net->now, &address, &outbox);

    net_flush(net, by, &outbox);
    outbox_fini(&outbox);
    return done;
}

static void crashed_node_is_unreachable_then_removed(void **state)
{
    struct net *net = started(2, 5);
    (void)state;

    assert_true(net_converge(net, 30 * SECOND));
    net_run(net, 10 * SECOND);
    net_crash(net, 3);
    net_run(net, 10 * SECOND);
    for (uint32_t i = 0; i < 5; i++) {
        if (i == 3)
            continue;
        assert_int_equal(net_told(net, i, MEMBER_NEWS_UNREACHABLE, 2554), 1);
        assert_int_equal(net_told(net, i, MEMBER_NEWS_REMOVED, 0), 0);
        assert_false(member_is_converged(net->nodes[i].member));
    }
    assert_true(down(net, 4, 3));
    assert_true(net_converge(net, 10 * SECOND));
    for (uint32_t i = 0; i < 5; i++) {
        const struct net_news *last;

        if (i == 3)
            continue;
        assert_int_equal(net_told(net, i, MEMBER_NEWS_REMOVED, 2554), 1);
        last = &net->nodes[i].news.items[net->nodes[i].news.count - 1];
        assert_int_equal(last->kind, MEMBER_NEWS_REMOVED);
        assert_int_equal(last->previous, MEMBER_DOWN);
        assert_int_equal(member_count(net->nodes[i].member), 4);
    }
    assert_false(down(net, 4, 3)); /* no longer a member */
    net_free(net);
}

static void a_cut_off_node_is_reachable_again_after_the_cut(void **state)
{
    struct net *net = started(3, 5);
    (void)state;

    assert_true(net_converge(net, 30 * SECOND));
    net_run(net, 10 * SECOND);
    net->cut[2] = true;
    net_run(net, 15 * SECOND);
    assert_int_equal(net_told(net, 0, MEMBER_NEWS_UNREACHABLE, 2553), 1);
    assert_int_equal(net_told(net, 2, MEMBER_NEWS_UNREACHABLE, 0), 4);
    /* Alone it considers itself the leader, but may do nothing without convergence. */
    assert_true(member_is_leader(net->nodes[2].member));
    assert_int_equal(
        member_leader(net->nodes[0].member)->profile->address->port,
        2551);
    net->cut[2] = false;
    assert_true(net_converge(net, 30 * SECOND));
    assert_int_equal(net_told(net, 0, MEMBER_NEWS_REACHABLE, 2553), 1);
    assert_int_equal(net_told(net, 2, MEMBER_NEWS_REACHABLE, 0), 4);
    assert_int_equal(
        member_leader(net->nodes[2].member)->profile->address->port,
        2551);
    net_free(net);
}

static void leaving_passes_through_all_statuses(void **state)
{
    struct net *net = started(4, 4);
    (void)state;

    assert_true(net_converge(net, 30 * SECOND));
    assert_true(leave(net, 2, 2)); /* itself */
    assert_false(leave(net, 2, 2));
    assert_true(net_converge(net, 20 * SECOND));
    assert_true(member_is_stopped(net->nodes[2].member));
    assert_int_equal(net_told(net, 2, MEMBER_NEWS_SELF_EXITING, 0), 1);
    assert_int_equal(net_told(net, 2, MEMBER_NEWS_SELF_STOPPED, 0), 1);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t exiting = 0;

        if (i == 2)
            continue;
        for (uint32_t k = 0; k < net->nodes[i].news.count; k++) {
            const struct net_news *news = &net->nodes[i].news.items[k];

            exiting += news->port == 2553 && news->status == MEMBER_EXITING;
            if (news->kind == MEMBER_NEWS_REMOVED)
                assert_int_equal(news->previous, MEMBER_EXITING);
        }
        assert_int_equal(exiting, 1);
        assert_int_equal(net_told(net, i, MEMBER_NEWS_REMOVED, 2553), 1);
        assert_int_equal(net_told(net, i, MEMBER_NEWS_UNREACHABLE, 0), 0);
    }
    assert_true(leave(net, 1, 0)); /* another one: the leader */
    assert_true(net_converge(net, 20 * SECOND));
    assert_true(member_is_stopped(net->nodes[0].member));
    assert_int_equal(
        member_leader(net->nodes[3].member)->profile->address->port,
        2552);
    assert_true(leave(net, 1, 1));
    assert_true(net_converge(net, 20 * SECOND));
    assert_true(leave(net, 3, 3)); /* the last */
    net_run(net, 5 * SECOND);
    assert_true(member_is_stopped(net->nodes[3].member));
    net_free(net);
}

/* The ports of full gossip, less that of node 0, as bits. */
static uint32_t told_ports(struct outbox *outbox)
{
    struct outbound out;
    uint32_t ports = 0;

    while (outbox_next(outbox, &out))
        if (slice_is(out.manifest, "GE"))
            ports |= UINT32_C(1) << (out.to.address.port - 2551);
    return ports;
}

/* A full link may drop messages that the next round repeats, and no others. */
static void only_messages_of_rounds_are_repeated(void **state)
{
    struct net *net = net_new(22);
    struct outbox outbox = { 0 };
    struct outbound out;
    uint32_t rounds = 0, words = 0;
    struct member *member;
    (void)state;

    for (uint32_t i = 0; i < 3; i++) {
        net_add(net, i, NULL);
        net_start(net, i);
    }
    assert_true(net_converge(net, 30 * SECOND));
    member = net->nodes[0].member;
    for (uint32_t i = 0; i < 3; i++) {
        net->now += SECOND;
        member_step(member, net->now, 0, &outbox);
    }
    while (outbox_next(&outbox, &out)) {
        bool is_gossip = slice_is(out.manifest, "GE") ||
                         slice_is(out.manifest, "GS");

        assert_true(!is_gossip || out.repeats);
        rounds += is_gossip;
    }
    assert_true(rounds);
    assert_true(member_down(member, net->now,
                            &net->nodes[0].identity.node.address, &outbox));
    while (outbox_next(&outbox, &out)) {
        assert_false(out.repeats);
        words += slice_is(out.manifest, "GE");
    }
    assert_true(words);
    outbox_fini(&outbox);
    net_free(net);
}

/* The leader's Exiting goes at once to the two oldest (0, itself, and 1) and to the two oldest of
 * the leaving member's role (3 and 4), to no others. */
static void the_oldest_get_an_exiting_status_at_once(void **state)
{
    static const char *const roles[] = { "worker" };
    struct member_settings settings = { .leader_interval_ms = 20000,
                                        .waits_for_rounds = true };
    struct net *net = net_new(21);
    struct outbox outbox = { 0 };
    const struct member *leader;
    (void)state;

    for (uint32_t i = 0; i < 7; i++) {
        settings.roles = roles;
        settings.role_count = i >= 3 && i < 6;
        net_add(net, i, &settings);
        net_start(net, i);
    }
    assert_true(net_converge(net, 120 * SECOND));
    leader = net->nodes[0].member;
    assert_int_equal(member_leader(leader)->profile->address->port, 2551);
    for (uint32_t i = 1; i < 7; i++)
        assert_true(
            member_find(leader, &net->nodes[i - 1].identity.node)->up_number <
            member_find(leader, &net->nodes[i].identity.node)->up_number);
    assert_true(leave(net, 5, 5));
    for (int i = 0; i < 100; i++) {
        const struct member_view *view =
            member_find(leader, &net->nodes[5].identity.node);

        assert_int_not_equal(view->status, MEMBER_EXITING);
        if (view->status == MEMBER_LEAVING && member_is_converged(leader))
            break;
        net_run(net, 100 * MS);
    }
    leader_act(net->nodes[0].member, net->now, &outbox);
    assert_int_equal(
        member_find(leader, &net->nodes[5].identity.node)->status,
        MEMBER_EXITING);
    assert_int_equal(told_ports(&outbox), 1u << 1 | 1u << 3 | 1u << 4);
    outbox_fini(&outbox);
    net_free(net);
}

/* Runs until the node has that status in its own view. Returns the time that it took, in ms. */
static uint64_t time_to(struct net *net, uint32_t index,
                        enum member_status status)
{
    uint64_t begin = net->now;

    for (;;) {
        const struct member *member = net->nodes[index].member;
        const struct member_view *self = member_self(member);

        if (member_is_stopped(member) ? status == MEMBER_REMOVED
                                      : self && self->status == status)
            return (net->now - begin) / MS;
        assert_true(net->now - begin < 60 * SECOND);
        net_run(net, MS);
    }
}

/* Small clusters only: no change waits for a round or for the leader's interval. The network delays
 * each message by up to 4 ms. */
static void a_change_in_a_small_cluster_waits_for_no_interval(void **state)
{
    struct member_settings settings = { 0 };
    (void)state;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        for (uint32_t waits = 0; waits < 2; waits++) {
            struct net *net = net_new(seed);
            uint64_t joined = 0;
            uint64_t left = 0;

            settings.waits_for_rounds = waits;
            for (uint32_t i = 0; i < 5; i++) {
                net_add(net, i, &settings);
                net_start(net, i);
                joined += time_to(net, i, MEMBER_UP);
                net_run(net, 2 * SECOND);
            }
            for (uint32_t i = 0; i < 4; i++) {
                assert_true(leave(net, i, i));
                left += time_to(net, i, MEMBER_REMOVED);
                net_run(net, 2 * SECOND);
            }
            /* The first seed node waits 5 s for the second. */
            assert_int_equal(joined < 5200, !waits);
            assert_int_equal(left < 200, !waits);
            assert_int_equal(member_count(net->nodes[4].member), 1);
            net_free(net);
        }
    }
}

static bool all_see_up(const struct net *net, uint32_t count, uint32_t index)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct member_view *view =
            member_find(net->nodes[i].member, &net->nodes[index].identity.node);

        if (!view || view->status != MEMBER_UP)
            return false;
    }
    return true;
}

/* A node that starts again is asked by the others as soon as it hosts shards. */
static void all_of_sixteen_members_hear_at_once_that_a_node_is_up(void **state)
{
    (void)state;

    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct net *net = started(seed, 16);
        uint32_t index = 3 + (uint32_t)seed;

        assert_true(net_converge(net, 60 * SECOND));
        assert_true(leave(net, index, index));
        assert_true(time_to(net, index, MEMBER_REMOVED) < 400);
        net_run(net, SECOND);
        net_add(net, index, NULL);
        net_start(net, index);
        assert_true(time_to(net, index, MEMBER_UP) < 400);
        net_run(net, 20 * MS);
        assert_true(all_see_up(net, 16, index));
        net_free(net);
    }
}

/* A node leaves and starts again at its address at once, so its former incarnation is still
 * exiting. The removal has no effect of a downing. */
static void a_node_that_left_joins_at_its_address_at_once(void **state)
{
    (void)state;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct net *net = started(seed, 4);
        struct node_id old;

        assert_true(net_converge(net, 30 * SECOND));
        for (uint32_t i = 0; i < 4; i++) {
            old = net->nodes[i].identity.node;
            assert_true(leave(net, i, i));
            assert_true(time_to(net, i, MEMBER_REMOVED) < 200);
            net_add(net, i, NULL);
            net_start(net, i);
            assert_true(time_to(net, i, MEMBER_UP) < 200);
            assert_null(member_find(net->nodes[(i + 1) % 4].member, &old));
            for (uint32_t k = 0; k < net->nodes[(i + 1) % 4].news.count; k++) {
                const struct net_news *news =
                    &net->nodes[(i + 1) % 4].news.items[k];

                if (news->kind == MEMBER_NEWS_REMOVED && news->uid == old.uid)
                    assert_int_equal(news->previous, MEMBER_EXITING);
            }
            net_run(net, SECOND);
        }
        net_free(net);
    }
}

/* The confirmation of an exiting member is lost with it: the node at its address replaces it after
 * half an interval of the leader. */
static void a_node_at_the_address_of_an_exiting_one_replaces_it(void **state)
{
    struct net *net = started(4, 4);
    struct node_id old = net->nodes[2].identity.node;
    uint64_t took;
    (void)state;

    net->hand_over = false;
    assert_true(net_converge(net, 30 * SECOND));
    assert_true(leave(net, 2, 2));
    net_run(net, SECOND);
    assert_int_equal(member_self(net->nodes[2].member)->status, MEMBER_EXITING);
    net_crash(net, 2);
    net_add(net, 2, NULL);
    net_start(net, 2);
    took = time_to(net, 2, MEMBER_UP);
    assert_in_range(took, 500, 700);
    assert_int_equal(net_told(net, 3, MEMBER_NEWS_REMOVED, old.address.port), 1);
    net_free(net);
}

static void exiting_node_stays_until_it_has_handed_over(void **state)
{
    struct net *net = started(5, 3);
    struct outbox outbox = { 0 };
    (void)state;

    net->hand_over = false;
    assert_true(net_converge(net, 30 * SECOND));
    assert_true(leave(net, 2, 2));
    net_run(net, 60 * SECOND);
    assert_int_equal(member_self(net->nodes[2].member)->status, MEMBER_EXITING);
    assert_int_equal(member_count(net->nodes[0].member), 3);
    /* the others are not delayed */
    assert_true(member_is_converged(net->nodes[0].member));
    member_exiting_done(net->nodes[2].member, net->now, &outbox);
    net_flush(net, 2, &outbox);
    net_run(net, 3 * SECOND);
    assert_int_equal(member_count(net->nodes[0].member), 2);
    outbox_fini(&outbox);
    net_free(net);
}

/* How often a node was logged as unreachable, always at that level. */
static uint32_t missed(struct net *net, uint32_t index, enum trace_level level)
{
    struct trace_line line;
    char text[80];
    uint32_t count = 0;

    (void)snprintf(text, sizeof text, "unreachable member=10.0.0.1:%u",
                   2551 + index);
    while (trace_next(net->trace, &line)) {
        if (!strstr(line.text, text))
            continue;
        assert_int_equal(line.level, level);
        count++;
    }
    return count;
}

/* An exiting member ends soon, so its silence is no warning. */
static void a_silent_exiting_member_causes_no_warning(void **state)
{
    struct net *net = net_new(6);
    (void)state;

    net->trace = trace_new(TRACE_INFO);
    for (uint32_t i = 0; i < 4; i++) {
        net_add(net, i, NULL);
        net_start(net, i);
    }
    net->hand_over = false;
    assert_true(net_converge(net, 30 * SECOND));
    assert_true(leave(net, 2, 2));
    net_run(net, 20 * SECOND);
    assert_int_equal(member_self(net->nodes[2].member)->status, MEMBER_EXITING);
    assert_int_equal(missed(net, 2, TRACE_ERROR), 0);
    net_crash(net, 2);
    net_run(net, 15 * SECOND);
    assert_int_equal(missed(net, 2, TRACE_INFO), 3);
    net_crash(net, 3);
    net_run(net, 15 * SECOND);
    assert_int_equal(missed(net, 3, TRACE_WARNING), 2);
    trace_free(net->trace);
    net->trace = NULL;
    net_free(net);
}

static void no_member_is_up_before_the_minimum_MEM313(void **state)
{
    struct member_role_minimum minimum = { "store", 2 };
    const char *const roles[] = { "store" };
    struct member_settings plain = {
        .min_members = 3,
        .role_minimums = &minimum,
        .role_minimum_count = 1,
    };
    struct member_settings store = plain;
    struct net *net = net_new(6);
    (void)state;

    store.roles = roles;
    store.role_count = 1;
    for (uint32_t i = 0; i < 4; i++)
        net_add(net, i, i == 0 || i == 3 ? &store : &plain);
    net_start(net, 0);
    net_start(net, 1);
    net_run(net, 20 * SECOND);
    assert_int_equal(net_told(net, 0, MEMBER_NEWS_SELF_UP, 0), 0);
    net_start(net, 2); /* three members, one with the role */
    net_run(net, 20 * SECOND);
    assert_int_equal(member_count(net->nodes[0].member), 3);
    assert_int_equal(net_told(net, 0, MEMBER_NEWS_SELF_UP, 0), 0);
    net_start(net, 3);
    assert_true(net_converge(net, 20 * SECOND));
    assert_true(member_has_role(member_self(net->nodes[3].member), "store"));
    assert_int_equal(
        member_oldest(net->nodes[1].member, "store")->profile->address->port,
        2551);
    net_free(net);
}

static void joining_is_weakly_up_without_convergence_MEM306(void **state)
{
    struct net *net = started(7, 4);
    (void)state;

    assert_true(net_converge(net, 30 * SECOND));
    net_run(net, 10 * SECOND);
    net->cut[3] = true;
    net_run(net, 10 * SECOND);
    net_add(net, 4, NULL);
    net_start(net, 4);
    net_run(net, 6 * SECOND);
    assert_int_equal(member_self(net->nodes[4].member)->status,
                     MEMBER_WEAKLY_UP);
    assert_int_equal(member_self(net->nodes[4].member)->up_number,
                     UP_NUMBER_NONE);
    net->cut[3] = false;
    assert_true(net_converge(net, 30 * SECOND));
    assert_int_equal(member_self(net->nodes[4].member)->status, MEMBER_UP);
    net_free(net);
}

/* One of four is cut off, and the leader has just seen that. Then a fifth joins. */
static void joins_without_convergence(struct net *net)
{
    uint32_t told = net_told(net, 0, MEMBER_NEWS_UNREACHABLE, 0);
    uint64_t end = net->now + 30 * SECOND;

    net->cut[3] = true;
    while (net_told(net, 0, MEMBER_NEWS_UNREACHABLE, 0) == told) {
        assert_true(net->now < end);
        net_run(net, 100 * MS);
    }
    net_add(net, 4, NULL);
    net_start(net, 4);
    net_run(net, 2 * SECOND);
    assert_int_equal(member_self(net->nodes[4].member)->status, MEMBER_JOINING);
}

/* One convergence restarts the wait. */
static void convergence_restarts_the_wait_for_weakly_up(void **state)
{
    struct net *net = started(7, 4);
    (void)state;

    assert_true(net_converge(net, 30 * SECOND));
    net_run(net, 10 * SECOND);
    net->cut[3] = true;
    net_run(net, 11 * SECOND);
    net->cut[3] = false;
    assert_true(net_converge(net, 30 * SECOND));
    net_run(net, 10 * SECOND);
    joins_without_convergence(net);
    net_run(net, 2 * SECOND);
    assert_int_equal(member_self(net->nodes[4].member)->status, MEMBER_JOINING);
    net_run(net, 6 * SECOND);
    assert_int_equal(member_self(net->nodes[4].member)->status,
                     MEMBER_WEAKLY_UP);
    net_free(net);
}

static void no_member_is_weakly_up_during_full_shutdown(void **state)
{
    struct net *net = started(7, 4);
    struct outbox outbox = { 0 };
    (void)state;

    assert_true(net_converge(net, 30 * SECOND));
    net_run(net, 10 * SECOND);
    joins_without_convergence(net);
    assert_true(
        member_prepare_shutdown(net->nodes[0].member, net->now, &outbox));
    net_flush(net, 0, &outbox);
    net_run(net, 20 * SECOND);
    assert_int_equal(member_self(net->nodes[4].member)->status, MEMBER_JOINING);
    assert_int_equal(member_self(net->nodes[0].member)->status,
                     MEMBER_PREPARING_FOR_SHUTDOWN);
    outbox_fini(&outbox);
    net_free(net);
}

/* The minimum holds for weakly up, too. */
static void no_member_is_weakly_up_before_the_minimum(void **state)
{
    const struct member_settings settings = { .min_members = 4 };
    struct net *net = net_new(7);
    (void)state;

    for (uint32_t i = 0; i < 4; i++)
        net_add(net, i, &settings);
    for (uint32_t i = 0; i < 3; i++)
        net_start(net, i);
    net_run(net, 15 * SECOND);
    assert_int_equal(member_count(net->nodes[0].member), 3);
    net->cut[2] = true;
    net_run(net, 30 * SECOND);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(member_self(net->nodes[i].member)->status,
                         MEMBER_JOINING);
    net_start(net, 3);
    net_run(net, 15 * SECOND);
    assert_int_equal(member_self(net->nodes[0].member)->status,
                     MEMBER_WEAKLY_UP);
    net_free(net);
}

/* The joiner is unreachable. The third member keeps the leader from acting. */
static void an_unreachable_joiner_is_not_weakly_up(void **state)
{
    const struct member_settings settings = { .weakly_up_after_ms = 12000 };
    struct net *net = net_new(7);
    (void)state;

    for (uint32_t i = 0; i < 3; i++)
        net_add(net, i, &settings);
    for (uint32_t i = 0; i < 3; i++)
        net_start(net, i);
    assert_true(net_converge(net, 30 * SECOND));
    net_run(net, 10 * SECOND);
    net->cut[2] = true;
    net_add(net, 3, &settings);
    net_start(net, 3);
    for (int i = 0; i < 1000 && member_count(net->nodes[0].member) < 4; i++)
        net_run(net, MS);
    net_crash(net, 3);
    net_run(net, 30 * SECOND);
    assert_int_equal(net_told(net, 0, MEMBER_NEWS_UNREACHABLE, 2554), 1);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(
            member_find(net->nodes[i].member, &net->nodes[3].identity.node)
                ->status,
            MEMBER_JOINING);
    net_free(net);
}

static void restarted_node_replaces_its_old_incarnation(void **state)
{
    struct net *net = started(8, 4);
    struct node_id old;
    (void)state;

    assert_true(net_converge(net, 30 * SECOND));
    net_run(net, 5 * SECOND);
    for (uint32_t index = 0; index < 3; index += 2) { /* also the first seed node */
        old = net->nodes[index].identity.node;
        net_crash(net, index);
        net_run(net, 1 * SECOND);
        net_add(net, index, NULL);
        net_start(net, index);
        assert_true(net_converge(net, 60 * SECOND));
        assert_null(member_find(net->nodes[3].member, &old));
        assert_int_equal(
            net_told(net, 3, MEMBER_NEWS_REMOVED, old.address.port), 1);
    }
    net_free(net);
}

/* Bytes of a quiet minute. */
static uint64_t quiet_minute(struct net *net)
{
    uint64_t before = net->sent_bytes;

    net_run(net, 60 * SECOND);
    return net->sent_bytes - before;
}

/* Thirty incarnations at one address change the gossip. None may leave a clock key or a tombstone
 * in the statuses, which a quiet minute consists of. A key would add a sixth. A third is allowed,
 * because at first some members have no key. */
static void removed_incarnations_leave_nothing_in_the_gossip(void **state)
{
    struct member_settings settings = { .tombstone_ttl_ms = 30000 };
    struct net *net = net_new(18);
    uint64_t before;
    (void)state;

    for (uint32_t i = 0; i < 3; i++) {
        net_add(net, i, &settings);
        net_start(net, i);
    }
    assert_true(net_converge(net, 30 * SECOND));
    before = quiet_minute(net);
    for (uint32_t i = 0; i < 30; i++) {
        assert_true(leave(net, 2, 2));
        net_run(net, 10 * SECOND);
        assert_true(member_is_stopped(net->nodes[2].member));
        net_add(net, 2, &settings);
        net_start(net, 2);
        assert_true(net_converge(net, 60 * SECOND));
    }
    net_run(net, 40 * SECOND); /* the last tombstone expires */
    assert_true(quiet_minute(net) < before + before / 3);
    net_free(net);
}

static void downed_node_stops(void **state)
{
    struct net *net = started(9, 3);
    (void)state;

    assert_true(net_converge(net, 30 * SECOND));
    assert_true(down(net, 0, 2));
    net_run(net, 3 * SECOND);
    assert_true(member_is_stopped(net->nodes[2].member));
    assert_int_equal(net_told(net, 2, MEMBER_NEWS_SELF_STOPPED, 0), 1);
    net_run(net, 20 * SECOND); /* removed once seen as unreachable */
    assert_int_equal(member_count(net->nodes[0].member), 2);
    assert_true(down(net, 1, 1)); /* itself */
    net_run(net, 3 * SECOND);
    assert_true(member_is_stopped(net->nodes[1].member));
    assert_int_equal(member_deadline(net->nodes[1].member), NEVER);
    net_free(net);
}

static void differing_configuration_is_refused_with_reasons_MEM143_MEM144_MEM148_MEM149(
    void **state)
{
    struct member_settings left = {
        .config = "{\"akka\":{\"version\":\"2.6.21\",\"cluster\":{"
                  "\"downing-provider-class\":\"x\",\"sharding\":{"
                  "\"state-store-mode\":\"ddata\",\"number-of-shards\":1000}}"
                  "}}",
    };
    struct member_settings right = {
        .config = "{\"akka\":{\"version\":\"2.6.21\",\"cluster\":{"
                  "\"downing-provider-class\":\"y\",\"sharding\":{"
                  "\"state-store-mode\":\"ddata\",\"number-of-shards\":100}}"
                  "}}",
    };
    struct net *net = net_new(10);
    struct outbox outbox = { 0 };
    struct member_news news;
    struct trace_line line;
    uint32_t said = 0;
    (void)state;

    net->trace = trace_new(TRACE_WARNING);
    net_add(net, 0, &left);
    net_add(net, 1, &left);
    net_add(net, 2, &right);
    net_start(net, 0);
    net_start(net, 1);
    net_run(net, 20 * SECOND);
    assert_int_equal(member_count(net->nodes[0].member), 2);
    assert_int_equal(member_count(net->nodes[1].member), 2);
    member_start(net->nodes[2].member, net->now, 0, &outbox);
    {
        /* Delivered by hand, so that the test can read the reason. */
        struct outbound out;
        struct outbox reply = { 0 };
        struct inbound inbound = { .from = net->nodes[2].identity.node };

        assert_true(outbox_next(&outbox, &out));
        inbound.sender = out.sender;
        inbound.recipient = out.recipient;
        inbound.manifest = out.manifest;
        inbound.payload = out.payload;
        inbound.serializer = out.serializer;
        member_receive(net->nodes[0].member, net->now, 0, &inbound, &reply);
        assert_true(outbox_next(&reply, &out));
        inbound.from = net->nodes[0].identity.node;
        inbound.manifest = out.manifest;
        inbound.payload = out.payload;
        inbound.sender = out.sender;
        member_receive(net->nodes[2].member, net->now, 0, &inbound, &outbox);
        outbox_fini(&reply);
    }
    assert_true(member_next_news(net->nodes[2].member, &news));
    assert_int_equal(news.kind, MEMBER_NEWS_REFUSED);
    assert_non_null(strstr(news.detail, "cluster.downing-provider-class is "
                                        "\"y\" here and \"x\" there."));
    assert_non_null(strstr(news.detail, "number-of-shards is 100 here and "
                                        "1000 there."));
    assert_false(member_next_news(net->nodes[2].member, &news));
    /* The member that was asked logs it, too. */
    while (trace_next(net->trace, &line))
        said += strstr(line.text, "another configuration peer=10.0.0.1:2553") &&
                strstr(line.text, "number-of-shards is 1000 here and 100 "
                                  "there.");
    assert_int_equal(said, 1);
    outbox_fini(&outbox);
    right.accept_incompatible = true; /* without enforcement it joins */
    net_add(net, 2, &right);
    net_start(net, 2);
    assert_true(net_converge(net, 20 * SECOND));
    trace_free(net->trace);
    net->trace = NULL;
    net_free(net);
}

static void a_joiner_gives_up_after_the_configured_time(void **state)
{
    struct member_settings settings = { .join_give_up_ms = 12000 };
    struct net *net = net_new(11);
    (void)state;

    net_add(net, 0, NULL); /* not started */
    net_add(net, 1, NULL);
    net_add(net, 2, &settings);
    net_start(net, 2);
    net_run(net, 11 * SECOND);
    assert_int_equal(net_told(net, 2, MEMBER_NEWS_REFUSED, 0), 0);
    net_run(net, 2 * SECOND);
    assert_int_equal(net_told(net, 2, MEMBER_NEWS_REFUSED, 0), 1);
    assert_int_equal(member_deadline(net->nodes[2].member), NEVER);
    net_free(net);
}

static void only_the_first_seed_founds(void **state)
{
    struct net *net = net_new(12);
    (void)state;

    net_add(net, 0, NULL);
    net_add(net, 1, NULL);
    net_add(net, 2, NULL);
    net_start(net, 1);
    net_start(net, 2);
    net_run(net, 60 * SECOND);
    assert_false(member_is_in(net->nodes[1].member));
    assert_false(member_is_in(net->nodes[2].member));
    net_start(net,
              0); /* the other seed node is in no cluster: no need to wait */
    net_run(net, 1 * SECOND);
    assert_true(member_is_in(net->nodes[0].member));
    assert_true(net_converge(net, 20 * SECOND));
    net_free(net);
}

static void a_command_joins_nodes_without_seed_nodes(void **state)
{
    struct net *net = net_new(13);
    struct outbox outbox = { 0 };
    struct address first = net_address(0);
    (void)state;

    for (uint32_t i = 0; i < 3; i++)
        net_add(net, i, NULL);
    assert_true(
        member_join(net->nodes[0].member, net->now, 0, &first, &outbox));
    net_flush(net, 0, &outbox);
    assert_int_equal(net_told(net, 0, MEMBER_NEWS_SELF_UP, 0), 1);
    assert_false(
        member_join(net->nodes[0].member, net->now, 0, &first, &outbox));
    net->cut[1] = true; /* the request is lost and repeated */
    assert_true(
        member_join(net->nodes[1].member, net->now, 0, &first, &outbox));
    net_flush(net, 1, &outbox);
    net_run(net, 5 * SECOND);
    net->cut[1] = false;
    net_run(net, 8 * SECOND);
    assert_true(member_is_in(net->nodes[1].member));
    assert_int_equal(member_count(net->nodes[0].member), 2);
    outbox_fini(&outbox);
    net_free(net);
}

static bool join(struct net *net, uint32_t index, uint32_t other)
{
    struct outbox outbox = { 0 };
    struct address address = net_address(other);
    bool done = member_join(net->nodes[index].member, net->now, 0, &address,
                            &outbox);

    net_flush(net, index, &outbox);
    outbox_fini(&outbox);
    return done;
}

/* Nodes that founded clusters of one. */
static struct net *alone_traced(uint64_t seed, uint32_t count,
                                struct trace *trace)
{
    struct net *net = net_new(seed);

    net->trace = trace;
    for (uint32_t i = 0; i < count; i++) {
        net_add(net, i, NULL);
        assert_true(join(net, i, i));
    }
    net_run(net, 5 * SECOND);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(member_count(net->nodes[i].member), 1);
    return net;
}

static struct net *alone(uint64_t seed, uint32_t count)
{
    return alone_traced(seed, count, NULL);
}

static void a_cluster_of_one_joins_another(void **state)
{
    struct net *net = alone(31, 3);
    (void)state;

    assert_true(join(net, 1, 0));
    net_run(net, 15 * SECOND);
    assert_int_equal(member_count(net->nodes[0].member), 2);
    assert_true(join(net, 2, 1));
    assert_true(net_converge(net, 30 * SECOND));
    assert_int_equal(member_count(net->nodes[0].member), 3);
    assert_int_equal(
        member_oldest(net->nodes[2].member, NULL)->profile->address->port,
        net_address(0).port);
    assert_int_equal(net_told(net, 2, MEMBER_NEWS_REMOVED, 0), 0);
    assert_false(join(net, 1, 2)); /* its cluster has others */
    net_free(net);
}

/* A node that waits for a Welcome accepts no member, because there would be two clusters. */
static void a_joining_cluster_of_one_accepts_no_member(void **state)
{
    struct net *net = alone(32, 3);
    (void)state;

    net->cut[1] = true;
    assert_true(join(net, 1, 0));
    net_run(net, SECOND);
    net->cut[1] = false;
    assert_true(join(net, 2, 1)); /* before it repeats its request */
    net_run(net, 5 * SECOND);
    assert_int_equal(member_count(net->nodes[1].member), 1);
    assert_false(member_is_in(net->nodes[1].member));
    assert_false(member_is_in(net->nodes[2].member));
    assert_true(net_converge(net, 60 * SECOND));
    assert_int_equal(member_count(net->nodes[0].member), 3);
    net_free(net);
}

static void clusters_of_one_that_join_each_other_are_one(void **state)
{
    (void)state;
    for (uint64_t seed = 33; seed < 43; seed++) {
        struct net *net = alone(seed, 2);

        assert_true(join(net, 1, 0));
        assert_true(join(net, 0, 1));
        assert_true(net_converge(net, 30 * SECOND));
        assert_int_equal(member_count(net->nodes[0].member), 2);
        net_free(net);
    }
}

/* The last node is absent. The log says that the others wait for it. */
static void a_chain_of_clusters_of_one_waits_for_its_end(void **state)
{
    struct trace *trace = trace_new(TRACE_WARNING);
    struct net *net = alone_traced(62, 4, trace);
    struct trace_line line;
    uint32_t warnings = 0;
    (void)state;

    net_crash(net, 3); /* outside a cluster no heartbeats are due, so none can be late */
    assert_true(join(net, 0, 1));
    assert_true(join(net, 1, 2));
    assert_true(join(net, 2, 3));
    net_run(net, 45 * SECOND);
    for (uint32_t i = 0; i < 3; i++)
        assert_false(member_is_in(net->nodes[i].member));
    while (trace_next(trace, &line))
        warnings += !strncmp(line.text, "no welcome yet contact=", 23);
    assert_int_equal(warnings, 3 * 4); /* one at each retry of each */
    assert_true(join(net, 2, 2));
    assert_true(net_converge(net, 30 * SECOND));
    while (trace_next(trace, &line))
        assert_true(strncmp(line.text, "heartbeats late", 15) != 0);
    assert_int_equal(member_count(net->nodes[0].member), 3);
    net_free(net);
    trace_free(trace);
}

/* The other node is absent: the same command leads back to its own cluster. */
static void a_cluster_of_one_can_return(void **state)
{
    struct net *net = alone(43, 2);
    (void)state;

    net_crash(net, 0);
    assert_true(join(net, 1, 0));
    net_run(net, 25 * SECOND);
    assert_false(member_is_in(net->nodes[1].member));
    assert_int_equal(member_count(net->nodes[1].member), 1);
    assert_true(join(net, 1, 1));
    assert_true(member_is_in(net->nodes[1].member));
    assert_true(member_is_leader(net->nodes[1].member));
    assert_int_equal(net_told(net, 1, MEMBER_NEWS_REMOVED, 0), 0);
    net_free(net);
}

/* The Welcome is lost and its sender is gone. The others' gossip lets the newcomer in. */
static void gossip_replaces_a_lost_welcome(void **state)
{
    struct net *net = started(18, 3);
    (void)state;

    assert_true(net_converge(net, 30 * SECOND));
    net_add(net, 3, NULL);
    for (int i = 0; i < 1000 && member_count(net->nodes[0].member) +
                                        member_count(net->nodes[1].member) <
                                    7;
         i++) {
        if (i == 0)
            net_start(net, 3);
        net_run(net, 100 * 1000); /* a tenth of a millisecond */
    }
    net->deaf[3] = true; /* the Welcome is under way */
    net_run(net, 50 * MS);
    net->deaf[3] = false;
    assert_false(member_is_in(net->nodes[3].member));
    net_run(net, 3 * SECOND);
    assert_true(member_is_in(net->nodes[3].member));
    assert_true(net_converge(net, 10 * SECOND));
    net_free(net);
}

/* This is no change, and no node has to ask. */
static void a_welcomed_member_has_seen_the_version(void **state)
{
    struct net *net = started(13, 1);
    const struct member *member;
    uint64_t end;
    (void)state;

    assert_true(net_converge(net, 30 * SECOND));
    net_add(net, 1, NULL);
    net_start(net, 1);
    member = net->nodes[1].member;
    end = net->now + 30 * SECOND;
    while (!member_is_in(member)) {
        assert_true(net->now < end);
        net_run(net, MS);
    }
    assert_int_equal(member_count(member), 2);
    assert_int_equal(member_self(member)->status, MEMBER_JOINING);
    assert_true(member_self(member)->seen);
    net_free(net);
}

static void full_shutdown_prepares_all_members(void **state)
{
    struct net *net = started(14, 3);
    struct outbox outbox = { 0 };
    (void)state;

    assert_true(net_converge(net, 30 * SECOND));
    assert_true(
        member_prepare_shutdown(net->nodes[1].member, net->now, &outbox));
    net_flush(net, 1, &outbox);
    net_run(net, 10 * SECOND);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(member_self(net->nodes[i].member)->status,
                         MEMBER_READY_FOR_SHUTDOWN);
    net_add(net, 3, NULL); /* no node may join any more */
    net_start(net, 3);
    net_run(net, 15 * SECOND);
    assert_false(member_is_in(net->nodes[3].member));
    assert_true(leave(net, 2, 2));
    net_run(net, 10 * SECOND);
    assert_true(member_is_stopped(net->nodes[2].member));
    outbox_fini(&outbox);
    net_free(net);
}

static void idle_cluster_is_silent(void **state)
{
    struct net *net = started(15, 10);
    uint64_t gossips;
    uint64_t sent;
    (void)state;

    assert_true(net_converge(net, 60 * SECOND));
    net_run(net, 5 * SECOND);
    gossips = net->sent_gossip;
    sent = net->sent;
    net_run(net, 60 * SECOND);
    assert_int_equal(net->sent_gossip, gossips); /* only statuses */
    /* for each node and second: 9 heartbeats, 9 responses, 1 status */
    assert_in_range(net->sent - sent, 10 * 60 * 18, 10 * 60 * 20);
    net_free(net);
}

static void fifty_nodes_converge(void **state)
{
    struct net *net = started(16, 50);
    (void)state;

    assert_true(net_converge(net, 60 * SECOND));
    net_run(net, 10 * SECOND);
    net_crash(net, 20);
    net_crash(net, 21);
    net_run(net, 15 * SECOND);
    assert_int_equal(net_told(net, 49, MEMBER_NEWS_UNREACHABLE, 0), 2);
    assert_true(down(net, 7, 20));
    assert_true(down(net, 8, 21));
    assert_true(net_converge(net, 30 * SECOND));
    net_free(net);
}

static void equal_seeds_give_equal_runs(void **state)
{
    uint64_t sent[2];
    uint64_t bytes[2];
    (void)state;

    for (int i = 0; i < 2; i++) {
        struct net *net = started(17, 8);

        net->loss_percent = 10;
        net_run(net, 30 * SECOND);
        sent[i] = net->sent;
        bytes[i] = net->sent_bytes;
        net_free(net);
    }
    assert_int_equal(sent[0], sent[1]);
    assert_int_equal(bytes[0], bytes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(five_nodes_converge_MEM254),
        cmocka_unit_test(a_search_without_success_logs_silent_seeds),
        cmocka_unit_test(a_search_without_a_silent_seed_logs_the_remedy),
        cmocka_unit_test(first_rounds_wait_for_the_delay_and_for_their_interval),
        cmocka_unit_test(statistics_are_logged_at_their_interval),
        cmocka_unit_test(loss_and_reordering_only_delay_convergence),
        cmocka_unit_test(crashed_node_is_unreachable_then_removed),
        cmocka_unit_test(a_cut_off_node_is_reachable_again_after_the_cut),
        cmocka_unit_test(leaving_passes_through_all_statuses),
        cmocka_unit_test(only_messages_of_rounds_are_repeated),
        cmocka_unit_test(the_oldest_get_an_exiting_status_at_once),
        cmocka_unit_test(a_change_in_a_small_cluster_waits_for_no_interval),
        cmocka_unit_test(all_of_sixteen_members_hear_at_once_that_a_node_is_up),
        cmocka_unit_test(a_node_that_left_joins_at_its_address_at_once),
        cmocka_unit_test(a_node_at_the_address_of_an_exiting_one_replaces_it),
        cmocka_unit_test(exiting_node_stays_until_it_has_handed_over),
        cmocka_unit_test(a_silent_exiting_member_causes_no_warning),
        cmocka_unit_test(no_member_is_up_before_the_minimum_MEM313),
        cmocka_unit_test(joining_is_weakly_up_without_convergence_MEM306),
        cmocka_unit_test(convergence_restarts_the_wait_for_weakly_up),
        cmocka_unit_test(no_member_is_weakly_up_during_full_shutdown),
        cmocka_unit_test(no_member_is_weakly_up_before_the_minimum),
        cmocka_unit_test(an_unreachable_joiner_is_not_weakly_up),
        cmocka_unit_test(restarted_node_replaces_its_old_incarnation),
        cmocka_unit_test(removed_incarnations_leave_nothing_in_the_gossip),
        cmocka_unit_test(downed_node_stops),
        cmocka_unit_test(
            differing_configuration_is_refused_with_reasons_MEM143_MEM144_MEM148_MEM149),
        cmocka_unit_test(a_joiner_gives_up_after_the_configured_time),
        cmocka_unit_test(only_the_first_seed_founds),
        cmocka_unit_test(a_command_joins_nodes_without_seed_nodes),
        cmocka_unit_test(a_cluster_of_one_joins_another),
        cmocka_unit_test(a_joining_cluster_of_one_accepts_no_member),
        cmocka_unit_test(clusters_of_one_that_join_each_other_are_one),
        cmocka_unit_test(a_chain_of_clusters_of_one_waits_for_its_end),
        cmocka_unit_test(a_cluster_of_one_can_return),
        cmocka_unit_test(gossip_replaces_a_lost_welcome),
        cmocka_unit_test(a_welcomed_member_has_seen_the_version),
        cmocka_unit_test(full_shutdown_prepares_all_members),
        cmocka_unit_test(idle_cluster_is_silent),
        cmocka_unit_test(fifty_nodes_converge),
        cmocka_unit_test(equal_seeds_give_equal_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
