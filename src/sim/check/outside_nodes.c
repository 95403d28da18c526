/* Records running incarnations, each resolver's side at its decision, and downed nodes unknown to
 * others. */
#include "sim/check/outside_nodes.h"

#include "base/check.h"
#include "base/member_info.h"
#include "base/timers.h"
#include "base/vec.h"
#include "sim/check/check_entity.h"

struct stand {
    VEC(uint64_t) reached; /* uids, with its own */
    bool ends;             /* it downed its own node */
    bool is_outside;       /* its node was outside at that time */
};

/* A node downed by a decision that gives it up only when others hear of that. */
struct doom {
    uint64_t uid;
    uint32_t stand;
};

struct outside_node {
    uint64_t uid;     /* of the incarnation that runs; 0: none */
    uint64_t late_at; /* 0: it has not seen itself down */
    uint32_t stand;   /* of its last decision, from 1; 0: none */
    bool follows;     /* outside because it joined a node that is outside */
};

struct outside_nodes {
    struct check_safety *safety;
    uint64_t stop_ns;
    struct map indexes; /* uid -> index + 1 of the node with that incarnation */
    VEC(struct stand) stands;
    VEC(struct doom) dooms;
    uint64_t look_at; /* the first late_at; NEVER: none */
    struct outside_node nodes[CHECK_NODES_MAX];
    struct outside_nodes_counts counts;
};

struct outside_nodes *outside_nodes_new(struct check_safety *safety,
                                        uint64_t stop_ns)
{
    struct outside_nodes *check = mem_alloc(sizeof *check);

    check->safety = safety;
    check->stop_ns = stop_ns ? stop_ns : CHECK_STOP_NS;
    check->look_at = NEVER;
    return check;
}

void outside_nodes_free(struct outside_nodes *check)
{
    if (!check)
        return;
    for (uint32_t i = 0; i < check->stands.count; i++)
        vec_fini(&check->stands.items[i].reached);
    vec_fini(&check->stands);
    vec_fini(&check->dooms);
    facts_fini(&check->indexes);
    mem_free(check);
}

static void forget(struct outside_nodes *check, uint32_t node)
{
    check->nodes[node] = (struct outside_node){ .uid = 0 };
    check->safety->outside[node] = check->safety->late[node] = false;
}

void outside_nodes_node_started(struct outside_nodes *check, uint32_t node,
                                uint64_t uid)
{
    check(node < CHECK_NODES_MAX);
    forget(check, node);
    check->nodes[node].uid = uid;
    *(uint32_t *)facts_of(&check->indexes, (struct fact_key){ { uid } },
                          sizeof(uint32_t)) = node + 1;
}

static void drop_doom(struct outside_nodes *check, uint64_t uid)
{
    for (uint32_t i = check->dooms.count; i-- > 0;)
        if (check->dooms.items[i].uid == uid)
            vec_remove(&check->dooms, i);
}

void outside_nodes_node_ended(struct outside_nodes *check, uint32_t node)
{
    check(node < CHECK_NODES_MAX);
    drop_doom(check, check->nodes[node].uid);
    forget(check, node);
}

/* Index of a running incarnation, from 1; 0: none. */
static uint32_t living(const struct outside_nodes *check, uint64_t uid)
{
    const uint32_t *index =
        facts_find(&check->indexes, (struct fact_key){ { uid } });

    return index && check->nodes[*index - 1].uid == uid ? *index : 0;
}

static void put_outside(struct outside_nodes *check, uint64_t uid)
{
    uint32_t index = living(check, uid);

    if (!index)
        return;
    check->counts.given_up += !check->safety->outside[index - 1];
    check->safety->outside[index - 1] = true;
    check->nodes[index - 1].follows = false;
    drop_doom(check, uid);
}

/* ---- resolvers ---- */

static bool reaches(const struct stand *stand, uint64_t uid)
{
    for (uint32_t i = 0; i < stand->reached.count; i++)
        if (stand->reached.items[i] == uid)
            return true;
    return false;
}

static void resolved(struct outside_nodes *check, uint32_t node,
                     const struct probe *probe)
{
    struct probe_side *members =
        mem_copy(probe->bytes.data, probe->bytes.size); /* aligned */
    struct stand stand = { .is_outside = check->safety->outside[node] };

    for (uint64_t i = 0; i < probe->first; i++) {
        if (members[i].reachable)
            vec_push(&stand.reached, members[i].uid);
        stand.ends |=
            members[i].downed && members[i].uid == probe->node.uid;
    }
    mem_free(members);
    vec_push(&check->stands, stand);
    check->nodes[node].stand = check->stands.count;
}

static void decided(struct outside_nodes *check, uint32_t node, uint64_t uid)
{
    uint32_t number = check->nodes[node].stand;
    const struct stand *stand =
        number ? &check->stands.items[number - 1] : NULL;

    if (!living(check, uid))
        return;
    if (stand && (stand->is_outside ||
                  (stand->ends && !reaches(stand, uid)))) {
        check->counts.spared++;
        drop_doom(check, uid); /* the last decision counts */
        vec_push(&check->dooms, ((struct doom){ uid, number - 1 }));
        return;
    }
    put_outside(check, uid);
}

static void heard(struct outside_nodes *check, uint32_t by, uint64_t uid)
{
    uint64_t own = check->nodes[by].uid;

    for (uint32_t i = 0; i < check->dooms.count; i++) {
        const struct doom *doom = &check->dooms.items[i];

        if (doom->uid != uid || (own != uid && check->safety->outside[by]))
            continue;
        if (own != uid && reaches(&check->stands.items[doom->stand], own))
            uid = own; /* it goes with the decider */
        put_outside(check, uid);
        return;
    }
}

/* ---- members ---- */

/* The node was welcomed by one outside, which may be alone by now. Then its cluster is a different
 * one. */
static void joined(struct outside_nodes *check, uint32_t node, uint64_t by)
{
    uint32_t index = living(check, by);

    if (index && index - 1 != node && check->safety->outside[index - 1])
        check->nodes[node].follows = check->safety->outside[node] = true;
}

static void must_stop(struct outside_nodes *check, uint64_t now, uint32_t node)
{
    struct outside_node *own = &check->nodes[node];

    if (own->late_at)
        return;
    own->late_at = now + check->stop_ns;
    if (own->late_at < check->look_at)
        check->look_at = own->late_at;
}

static void seen(struct outside_nodes *check, uint64_t now, uint32_t by,
                 uint64_t uid, uint64_t status)
{
    uint32_t index = living(check, uid);

    if (status == MEMBER_DOWN || status == MEMBER_REMOVED) {
        heard(check, by, uid);
        if (uid == check->nodes[by].uid)
            must_stop(check, now, by);
    }
    if (index && check->nodes[index - 1].follows &&
        !check->safety->outside[by])
        check->safety->outside[index - 1] =
            check->nodes[index - 1].follows = false;
}

/* A leader removes an unreachable exiting member, which may still live without a hand-over. */
static void leader_acted(struct outside_nodes *check, struct slice evidence)
{
    size_t count = evidence.size / sizeof(struct probe_evidence);
    struct probe_evidence *members =
        mem_copy(evidence.data, evidence.size); /* aligned */

    for (size_t i = 0; i < count; i++)
        if (members[i].status == MEMBER_EXITING &&
            members[i].after == MEMBER_REMOVED && !members[i].confirmed)
            put_outside(check, members[i].uid);
    mem_free(members);
}

void outside_nodes_probe(struct outside_nodes *check, uint64_t now,
                         uint32_t node, const struct probe *probe)
{
    check(node < CHECK_NODES_MAX);
    switch (probe->kind) {
    case PROBE_RESOLVED:
        resolved(check, node, probe);
        break;
    case PROBE_MEMBER_DOWNED:
        if (probe->first == PROBE_DOWN_DECIDED)
            decided(check, node, probe->node.uid);
        else
            put_outside(check, probe->node.uid);
        break;
    case PROBE_CLUSTER_JOINED:
        joined(check, node, probe->node.uid);
        break;
    case PROBE_MEMBER_SEEN:
        seen(check, now, node, probe->node.uid, probe->first);
        break;
    case PROBE_LEADER_ACTED:
        leader_acted(check, probe->bytes);
        break;
    default:
        break;
    }
}

/* ---- late nodes ---- */

void outside_nodes_paused(struct outside_nodes *check, uint32_t node,
                          uint64_t duration)
{
    if (check->nodes[node].late_at)
        check->nodes[node].late_at += duration;
}

bool outside_nodes_late(struct outside_nodes *check, uint64_t now,
                        uint32_t *node)
{
    if (now <= check->look_at)
        return false;
    check->look_at = NEVER;
    for (uint32_t i = 0; i < CHECK_NODES_MAX; i++) {
        uint64_t late_at = check->nodes[i].late_at;

        if (!late_at || check->safety->late[i])
            continue;
        if (now > late_at) {
            check->look_at = 0; /* there may be more */
            check->safety->late[i] = true;
            check->counts.late++;
            *node = i;
            return true;
        }
        if (late_at < check->look_at)
            check->look_at = late_at;
    }
    return false;
}

struct outside_nodes_counts
outside_nodes_counts(const struct outside_nodes *check)
{
    return check->counts;
}
