/* Checks that one instance of a singleton lives, with its lease, and that each daemon runs once. */
#include "sim/check/check_services.h"

#include <stdio.h>

#include "base/bytes.h"
#include "base/vec.h"
#include "sim/world/verdict.h"

struct live {
    uint32_t node;
    uint32_t thing;
};

struct check_services {
    struct verdict *verdict;
    const struct check_safety *safety; /* or null */
    check_singleton_has *has; /* null: it needs no lease */
    void *user;               /* of has */
    uint32_t centers;
    uint32_t last_node; /* of the last singleton, plus one; 0: none */
    VEC(struct live) live;
    struct check_services_counts counts;
};

struct check_services *check_services_new(struct verdict *verdict, uint32_t centers)
{
    struct check_services *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    check->centers = centers ? centers : 1;
    return check;
}

void check_services_safety(struct check_services *check, const struct check_safety *safety)
{
    check->safety = safety;
}

void check_services_leases(struct check_services *check, check_singleton_has *has, void *user)
{
    check->has = has;
    check->user = user;
}

void check_services_runs(struct check_services *check, uint32_t node)
{
    if (check->has && !check->has(check->user, node))
        violation(check->verdict, "leased-singletons", node,
                  "an instance runs, and the provider has no lease for its node");
}

void check_services_free(struct check_services *check)
{
    if (!check)
        return;
    vec_fini(&check->live);
    mem_free(check);
}

static void judge_alone(struct check_services *check, uint32_t node)
{
    for (uint32_t i = 0; i < check->live.count; i++) {
        struct live other = check->live.items[i];

        if (other.thing != SERVICE_SINGLETON ||
            other.node % check->centers != node % check->centers)
            continue;
        if (other.node != node && safety_excuses(check->safety, node, other.node))
            check->counts.excused++;
        else
            violation(check->verdict, "one-singleton", node,
                      "an instance starts while that of node %u lives", other.node);
    }
}

void check_services_started(struct check_services *check, uint32_t node, uint32_t thing)
{
    if (thing == SERVICE_SINGLETON) {
        judge_alone(check, node);
        check_services_runs(check, node);
        check->counts.singletons++;
        check->counts.moves += check->last_node && check->last_node != node + 1;
        check->last_node = node + 1;
    } else {
        check->counts.daemons++;
    }
    vec_push(&check->live, ((struct live){ node, thing }));
}

void check_services_ended(struct check_services *check, uint32_t node, uint32_t thing)
{
    for (uint32_t i = 0; i < check->live.count; i++)
        if (check->live.items[i].node == node && check->live.items[i].thing == thing) {
            vec_remove(&check->live, i);
            return;
        }
}

void check_services_node_ended(struct check_services *check, uint32_t node)
{
    for (uint32_t i = check->live.count; i-- > 0;)
        if (check->live.items[i].node == node)
            vec_remove(&check->live, i);
}

uint32_t check_services_live(const struct check_services *check, uint32_t center, uint32_t thing)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < check->live.count; i++)
        count += check->live.items[i].thing == thing &&
                 check->live.items[i].node % check->centers == center;
    return count;
}

bool check_services_daemons(const struct check_services *check, uint32_t center, uint32_t count,
                            char *why, size_t size)
{
    uint32_t all = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t live = check_services_live(check, center, SERVICE_DAEMON + i);

        if (live != 1) {
            (void)snprintf(why, size, "daemon %u of %u runs %u times", i, count, live);
            return false;
        }
    }
    for (uint32_t i = 0; i < check->live.count; i++)
        all += check->live.items[i].thing >= SERVICE_DAEMON &&
               check->live.items[i].node % check->centers == center;
    if (all == count)
        return true;
    (void)snprintf(why, size, "%u daemons run, not %u", all, count);
    return false;
}

struct check_services_counts check_services_counts(const struct check_services *check)
{
    return check->counts;
}
