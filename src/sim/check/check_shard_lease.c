/* Records which nodes believe that they hold which shards' leases. */
#include "sim/check/check_shard_lease.h"

#include <inttypes.h>

#include "base/check.h"
#include "base/timers.h"
#include "sim/check/facts.h"
#include "sim/world/verdict.h"

struct lease_belief {
    uint32_t nodes; /* the number of true ones in `holds` */
    uint32_t last;  /* node + 1; 0: none has held it */
    bool holds[CHECK_NODES_MAX];
};

struct check_shard_lease {
    struct verdict *verdict;
    check_lease_clock *clock;
    check_provider_has *has;
    void *user;
    struct map shards; /* fact_shard -> struct lease_belief */
    uint64_t until[CHECK_NODES_MAX]; /* of the node's session, by its own clock; 0: none */
    uint32_t held[CHECK_NODES_MAX];  /* leases of shards */
    struct check_shard_lease_counts counts;
};

struct check_shard_lease *check_shard_lease_new(struct verdict *verdict, check_lease_clock *clock,
                                                check_provider_has *has, void *user)
{
    struct check_shard_lease *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    check->clock = clock;
    check->has = has;
    check->user = user;
    return check;
}

void check_shard_lease_free(struct check_shard_lease *check)
{
    if (!check)
        return;
    facts_fini(&check->shards);
    mem_free(check);
}

static struct lease_belief *belief_of(struct check_shard_lease *check, const struct probe *probe)
{
    const struct fact_key key = { { fact_shard(probe->type, probe->shard) } };

    return facts_of(&check->shards, key, sizeof(struct lease_belief));
}

static void drop(struct check_shard_lease *check, struct lease_belief *belief, uint32_t node)
{
    if (!belief->holds[node])
        return;
    belief->holds[node] = false;
    belief->nodes--;
    check->held[node]--;
}

static void leased(struct check_shard_lease *check, uint32_t node, const struct probe *probe)
{
    struct lease_belief *belief = belief_of(check, probe);

    for (uint32_t i = 0; belief->nodes && i < CHECK_NODES_MAX; i++) {
        uint64_t now;

        if (i == node || !belief->holds[i])
            continue;
        now = check->clock(check->user, i);
        if (now < check->until[i])
            violation(check->verdict, "single-shard-lease", node,
                      "it holds the lease of type %u shard %d, and node %u believes so for %" PRIu64
                      " ms more",
                      probe->type, probe->shard, i, (check->until[i] - now) / MS);
    }
    check->counts.leased++;
    check->counts.moved += belief->last && belief->last != node + 1;
    belief->last = node + 1;
    if (belief->holds[node])
        return;
    belief->holds[node] = true;
    belief->nodes++;
    check->held[node]++;
}

static void judge(struct check_shard_lease *check, uint32_t node, uint16_t type, int32_t shard)
{
    if (check->has(check->user, node, type, shard))
        return;
    if (shard == CHECK_COORDINATOR)
        violation(check->verdict, "leased-shards", node,
                  "the coordinator of type %u acts, and the provider has no lease for it", type);
    else
        violation(check->verdict, "leased-shards", node,
                  "an entity of type %u shard %d runs, and the provider has no lease for its node",
                  type, shard);
}

void check_shard_lease_runs(struct check_shard_lease *check, uint32_t node, uint16_t type,
                            int32_t shard)
{
    judge(check, node, type, shard);
}

static void session_ended(struct check_shard_lease *check, uint32_t node)
{
    check->counts.lost += check->until[node] && check->clock(check->user, node) >= check->until[node];
    check->until[node] = 0;
}

void check_shard_lease_node_ended(struct check_shard_lease *check, uint32_t node)
{
    struct map_entry entry;
    uint32_t at = 0;

    check->until[node] = 0;
    while (check->held[node] && map_next(&check->shards, &at, &entry))
        drop(check, entry.value, node);
}

void check_shard_lease_probe(struct check_shard_lease *check, uint32_t node,
                             const struct probe *probe)
{
    switch (probe->kind) {
    case PROBE_SESSION_HELD:
        check->until[node] = probe->second;
        break;
    case PROBE_SESSION_ENDED:
        session_ended(check, node);
        break;
    case PROBE_SHARD_LEASED:
        leased(check, node, probe);
        break;
    case PROBE_SHARD_UNLEASED:
        drop(check, belief_of(check, probe), node);
        break;
    case PROBE_ENTITY_STARTED:
        judge(check, node, probe->type, probe->shard);
        break;
    case PROBE_COORDINATOR_STARTED:
    case PROBE_COORDINATOR_ACTIVE:
    case PROBE_HOME_SET:
    case PROBE_STATE_SENT:
        judge(check, node, probe->type, CHECK_COORDINATOR);
        break;
    default:
        break;
    }
}

struct check_shard_lease_counts check_shard_lease_counts(const struct check_shard_lease *check)
{
    return check->counts;
}
