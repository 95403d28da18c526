/* Tests clusters with random crashes, restarts, cuts, leaving and loss. Statuses only go
 * forward, a removed incarnation never returns, and all living nodes agree in the end. Prints a
 * failing seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "base/map.h"
#include "member/gossip.h"
#include "member/gossip_cache.h"
#include "net.h"

enum {
    FEW = 7,
    MANY = GOSSIP_CACHE_MEMBERS_MIN + 8, /* large gossips have steps of their own */
    ROUNDS_OF_FEW = 60,
    ROUNDS_OF_MANY = 80
};

/* The last reported status of each incarnation; removed ones stay. */
struct history {
    struct map statuses[MANY]; /* uid -> status + 1 */
    uint64_t uids[MANY];       /* incarnations by index */
};

static void look(struct history *history, const struct net *net, uint64_t seed)
{
    for (uint32_t i = 0; i < net->count; i++) {
        const struct member *member = net->nodes[i].member;

        /* No honest message may look forged. */
        if (member_counters(member)->dropped_hostile ||
            member_counters(member)->dropped_malformed)
            fail_msg("seed %llu: node %u refused an honest message",
                     (unsigned long long)seed, i);
        if (history->uids[i] != net->nodes[i].identity.node.uid) {
            map_fini(&history->statuses[i]);
            history->uids[i] = net->nodes[i].identity.node.uid;
        }
        for (uint32_t k = 0; k < member_count(member); k++) {
            const struct member_view *view = member_at(member, k);
            struct slice key = map_u64(&view->profile->uid);
            uintptr_t before = (uintptr_t)map_get(&history->statuses[i], key);
            uintptr_t after = (uintptr_t)view->status + 1;

            if (before && !member_status_may_follow(
                              (enum member_status)(before - 1), view->status))
                fail_msg("seed %llu: node %u saw %s become %s",
                         (unsigned long long)seed, i,
                         member_status_text((enum member_status)(before - 1)),
                         member_status_text(view->status));
            (void)map_put(&history->statuses[i], key, (void *)after);
        }
        for (uint32_t k = 0; k < net->nodes[i].news.count; k++)
            for (uint32_t m = k + 1; m < net->nodes[i].news.count; m++)
                if (net->nodes[i].news.items[k].kind == MEMBER_NEWS_REMOVED &&
                    net->nodes[i].news.items[m].uid ==
                        net->nodes[i].news.items[k].uid &&
                    net->nodes[i].news.items[m].kind == MEMBER_NEWS_MEMBER)
                    fail_msg("seed %llu: node %u saw a removed one return",
                             (unsigned long long)seed, i);
    }
}

static bool is_gone(const struct net *net, uint32_t index)
{
    return net->nodes[index].is_dead ||
           member_is_stopped(net->nodes[index].member);
}

/* Downs all members that are unreachable from a node in the cluster. */
static void down_unreachable(struct net *net)
{
    struct outbox outbox = { 0 };

    for (uint32_t i = 0; i < net->count; i++) {
        struct member *member = net->nodes[i].member;

        if (is_gone(net, i) || !member_is_in(member))
            continue;
        for (uint32_t k = 0; k < member_count(member); k++) {
            const struct member_view *view = member_at(member, k);
            struct address address = address_again(view->profile->address);

            if (!view->reachable && view->status != MEMBER_DOWN &&
                !profile_is(view->profile, &net->nodes[i].identity.node))
                (void)member_down(member, net->now, &address, &outbox);
        }
        net_flush(net, i, &outbox);
    }
    outbox_fini(&outbox);
}

/* Restarts nodes in no cluster, through a member if there is one: seed nodes that are all outside
 * would found another. */
static void restart_outside(struct net *net)
{
    struct address seed = net_address(0);
    struct member_settings settings = { .seeds = &seed, .seed_count = 1 };

    for (uint32_t i = 0; i < net->count; i++)
        if (!is_gone(net, i) && member_is_in(net->nodes[i].member) &&
            member_self(net->nodes[i].member)->status == MEMBER_UP)
            seed = net_address(i);
    for (uint32_t i = 0; i < net->count; i++)
        if (is_gone(net, i) || !member_is_in(net->nodes[i].member)) {
            net_add(net, i, &settings);
            net_start(net, i);
        }
}

static void trouble(struct net *net)
{
    uint32_t index = (uint32_t)rng_below(&net->rng, net->count);
    struct address address = net_address(index);
    struct outbox outbox = { 0 };

    switch (rng_below(&net->rng, 8)) {
    case 0:
        net_crash(net, index);
        break;
    case 1:
        if (is_gone(net, index)) {
            net_add(net, index, NULL);
            net_start(net, index);
        }
        break;
    case 2:
        net->cut[index] = !net->cut[index];
        break;
    case 3:
        net->loss_percent = (uint32_t)rng_below(&net->rng, 40);
        break;
    case 4:
        if (!is_gone(net, index) && rng_below(&net->rng, 3) == 0)
            (void)member_leave(net->nodes[index].member, net->now, &address,
                               &outbox);
        net_flush(net, index, &outbox);
        break;
    case 5:
        if (rng_below(&net->rng, 3) == 0)
            down_unreachable(net);
        break;
    default:
        break;
    }
    outbox_fini(&outbox);
}

/* Two clusters do not merge: one was split off by downing, or founded while the first seed node
 * reached no other. The smaller one ends, as after the split brain resolver. */
static bool has(const struct net *net, uint32_t index, uint32_t other)
{
    const struct member_view *view =
        member_find(net->nodes[index].member, &net->nodes[other].identity.node);

    return view && view->status != MEMBER_DOWN;
}

static void end_smaller_clusters(struct net *net)
{
    uint32_t best = 0;
    uint32_t best_count = 0;

    for (uint32_t i = 0; i < net->count; i++) {
        const struct member *member = net->nodes[i].member;

        if (!is_gone(net, i) && member_is_in(member) &&
            member_count(member) > best_count) {
            best = i;
            best_count = member_count(member);
        }
    }
    for (uint32_t i = 0; i < net->count; i++)
        if (!is_gone(net, i) && member_is_in(net->nodes[i].member) &&
            (!has(net, best, i) || !has(net, i, best)))
            net_crash(net, i);
}

static bool heal(struct net *net)
{
    net->loss_percent = 0;
    for (uint32_t i = 0; i < net->count; i++)
        net->cut[i] = false;
    net_run(net, 15 * SECOND);
    end_smaller_clusters(net);
    net_run(net, 15 * SECOND);
    for (int i = 0; i < 4; i++) {
        down_unreachable(net);
        net_run(net, 10 * SECOND);
        end_smaller_clusters(net);
        net_run(net, 10 * SECOND);
    }
    restart_outside(net);
    return net_converge(net, 90 * SECOND);
}

static void show(const struct net *net)
{
    for (uint32_t i = 0; i < net->count; i++) {
        const struct member *member = net->nodes[i].member;

        printf("node %u%s%s:", i, net->nodes[i].is_dead ? " dead" : "",
               member_is_stopped(member) ? " stopped" : "");
        for (uint32_t k = 0; k < member_count(member); k++)
            printf(" %u/%s%s%s",
                   member_at(member, k)->profile->address->port - 2551,
                   member_status_text(member_at(member, k)->status),
                   member_at(member, k)->reachable ? "" : "!",
                   member_at(member, k)->seen ? "" : "?");
        printf("\n");
    }
}

/* Returns the number of gossips merged by the last incarnations. */
static uint64_t play(uint64_t seed, uint32_t nodes, uint32_t rounds)
{
    struct net *net = net_new(seed);
    struct history history = { 0 };
    uint64_t merged = 0;

    for (uint32_t i = 0; i < nodes; i++)
        net_add(net, i, NULL);
    for (uint32_t i = 0; i < nodes; i++)
        net_start(net, i);
    for (uint32_t i = 0; i < rounds; i++) {
        trouble(net);
        net_run(net, rng_below(&net->rng, 3 * SECOND));
        look(&history, net, seed);
    }
    if (!heal(net)) {
        show(net);
        fail_msg("seed %llu: not converged", (unsigned long long)seed);
    }
    for (uint32_t i = 0; i < nodes; i++) {
        merged += member_counters(net->nodes[i].member)->merged;
        map_fini(&history.statuses[i]);
    }
    net_free(net);
    return merged;
}

static void statuses_go_forward_and_all_agree_at_last(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++)
        (void)play(seed, FEW, ROUNDS_OF_FEW);
}

static void statuses_of_many_nodes_go_forward_and_all_agree_at_last(void **state)
{
    uint64_t merged = 0;
    (void)state;

    for (uint64_t seed = 16; seed <= 18; seed++)
        merged += play(seed, MANY, ROUNDS_OF_MANY);
    assert_true(merged > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses_go_forward_and_all_agree_at_last),
        cmocka_unit_test(statuses_of_many_nodes_go_forward_and_all_agree_at_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
