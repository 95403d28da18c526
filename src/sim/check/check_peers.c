/* Keeps for each node the peers that its incarnation must not forget. */
#include "sim/check/check_peers.h"

#include <inttypes.h>

#include "base/check.h"
#include "base/map.h"
#include "base/member_info.h"
#include "base/timers.h"
#include "sim/check/facts.h"
#include "sim/world/verdict.h"

#define SEEN_AFTER SECOND /* the node has told all its parts of a member */

/* A peer as a node knows it. */
struct peer_fact {
    bool has_answered;
    uint64_t member_at; /* when it was first seen as a member; 0: it is none */
};

struct check_peers {
    struct verdict *verdict;
    struct map lives; /* uid -> not null: an incarnation of a node of this world */
    struct map peers[CHECK_NODES_MAX]; /* uid -> struct peer_fact */
    uint64_t forgotten;
};

struct check_peers *check_peers_new(struct verdict *verdict)
{
    struct check_peers *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    return check;
}

void check_peers_free(struct check_peers *check)
{
    if (!check)
        return;
    map_fini(&check->lives);
    for (uint32_t i = 0; i < CHECK_NODES_MAX; i++)
        facts_fini(&check->peers[i]);
    mem_free(check);
}

void check_peers_node_started(struct check_peers *check, uint32_t node,
                              uint64_t uid)
{
    check(node < CHECK_NODES_MAX);
    map_put(&check->lives, map_u64(&uid), check);
    facts_fini(&check->peers[node]);
}

static struct peer_fact *fact_of(struct check_peers *check, uint32_t node,
                                 uint64_t uid)
{
    return facts_of(&check->peers[node], (struct fact_key){ { uid } },
                    sizeof(struct peer_fact));
}

static void is_forgotten(struct check_peers *check, uint64_t now, uint32_t node,
                         uint64_t uid)
{
    const struct peer_fact *peer = fact_of(check, node, uid);

    check->forgotten++;
    if (peer->has_answered)
        violation(check->verdict, "peers-stay", node,
                  "the peer of uid %" PRIu64 " is forgotten, and it answered", uid);
    else if (peer->member_at && now >= peer->member_at + SEEN_AFTER)
        violation(check->verdict, "peers-stay", node,
                  "the peer of uid %" PRIu64 " is forgotten, and it is a member", uid);
}

static void is_replaced(struct check_peers *check, uint32_t node, uint64_t uid,
                        uint64_t by)
{
    fact_of(check, node, uid)->has_answered = false;
    if (!map_get(&check->lives, map_u64(&by)))
        violation(check->verdict, "peers-stay", node,
                  "the peer of uid %" PRIu64 " is replaced by uid %" PRIu64
                  ", which no node has",
                  uid, by);
}

static void is_seen(struct check_peers *check, uint64_t now, uint32_t node,
                    uint64_t uid, uint64_t status)
{
    struct peer_fact *peer = fact_of(check, node, uid);

    if (status == MEMBER_REMOVED)
        peer->member_at = 0;
    else if (!peer->member_at)
        peer->member_at = now;
}

void check_peers_probe(struct check_peers *check, uint64_t now, uint32_t node,
                       const struct probe *probe)
{
    uint64_t uid = probe->node.uid;

    switch ((enum probe_kind)probe->kind) {
    case PROBE_PEER_ANSWERED:
        fact_of(check, node, uid)->has_answered = true;
        break;
    case PROBE_PEER_FORGOTTEN:
        is_forgotten(check, now, node, uid);
        break;
    case PROBE_PEER_REPLACED:
        is_replaced(check, node, uid, probe->first);
        break;
    case PROBE_MEMBER_SEEN:
        is_seen(check, now, node, uid, probe->first);
        break;
    default:
        break;
    }
}

uint64_t check_peers_forgotten(const struct check_peers *check)
{
    return check->forgotten;
}
