/* Records each node's view of each incarnation, and which of these were downed, have ended, and
 * founded or joined which cluster. */
#include "sim/check/check_member.h"

#include <inttypes.h>

#include "base/check.h"
#include "base/member_info.h"
#include "base/vec.h"
#include "sim/world/verdict.h"

#define BIT(status) (1u << (status))
#define STATUSES 9

/* The view of one incarnation: by the number of each other one, 0 for unseen, else its status + 1.
 * There may be millions. */
struct sights {
    VEC(uint8_t) of;
};

/* An incarnation, over all nodes. */
struct incarnation {
    uint64_t life;    /* number of its node's life; 0: none that was started */
    uint32_t number;  /* from 1, in the order of mention */
    uint64_t cluster; /* the founder's uid; 0: in none */
    uint32_t node;
    bool has_ended;
    bool is_downed;
    bool is_commanded;
    bool is_foreign; /* of another cluster's name */
};

struct check_member {
    struct verdict *verdict;
    VEC(struct sights) sights; /* by incarnation; empty after its end */
    struct map incarnations;
    struct map commands;       /* address -> uint64_t, commands without effect yet */
    struct map contents;       /* version and viewer -> uint64_t, a hash; 0: none yet */
    bool knows_commands;
    bool resolves;
    uint64_t uids[CHECK_NODES_MAX];
    uint64_t lives[CHECK_NODES_MAX];
    uint64_t life; /* the last number given */
    struct check_member_counts counts;
};

struct check_member *check_member_new(struct verdict *verdict)
{
    struct check_member *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    vec_push(&check->sights, ((struct sights){ .of = { .count = 0 } }));
    return check;
}

void check_member_free(struct check_member *check)
{
    if (!check)
        return;
    for (uint32_t i = 0; i < check->sights.count; i++)
        vec_fini(&check->sights.items[i].of);
    vec_fini(&check->sights);
    facts_fini(&check->incarnations);
    facts_fini(&check->commands);
    facts_fini(&check->contents);
    mem_free(check);
}

static struct incarnation *incarnation_of(struct check_member *check,
                                          uint64_t uid)
{
    struct incarnation *incarnation =
        facts_of(&check->incarnations, (struct fact_key){ { uid } },
                 sizeof *incarnation);

    if (!incarnation->number)
        incarnation->number = check->incarnations.count;
    return incarnation;
}

static uint8_t *sight_of(struct check_member *check, uint64_t life,
                         const struct incarnation *incarnation)
{
    struct sights *sights = &check->sights.items[life];

    while (sights->of.count <= incarnation->number)
        vec_push(&sights->of, 0);
    return &sights->of.items[incarnation->number];
}

static const char *status_text(uint64_t status)
{
    static const char *const texts[STATUSES] = {
        "joining", "up",      "leaving",   "exiting",   "down",
        "removed", "weakly-up", "preparing", "ready",
    };

    return status < STATUSES ? texts[status] : "?";
}

/* ---- statuses ---- */

/* The statuses that may follow in one step (docs/protocol/gossip.md). A report may collapse several
 * steps. */
static const unsigned steps[STATUSES] = {
    [MEMBER_JOINING] = BIT(MEMBER_WEAKLY_UP) | BIT(MEMBER_UP) | BIT(MEMBER_LEAVING) |
                     BIT(MEMBER_DOWN) | BIT(MEMBER_REMOVED),
    [MEMBER_WEAKLY_UP] = BIT(MEMBER_UP) | BIT(MEMBER_LEAVING) | BIT(MEMBER_DOWN) |
                       BIT(MEMBER_REMOVED),
    [MEMBER_UP] = BIT(MEMBER_LEAVING) | BIT(MEMBER_DOWN) | BIT(MEMBER_REMOVED) |
                BIT(MEMBER_PREPARING_FOR_SHUTDOWN),
    [MEMBER_LEAVING] = BIT(MEMBER_EXITING) | BIT(MEMBER_DOWN) | BIT(MEMBER_REMOVED),
    [MEMBER_EXITING] = BIT(MEMBER_DOWN) | BIT(MEMBER_REMOVED),
    [MEMBER_DOWN] = BIT(MEMBER_REMOVED),
    [MEMBER_REMOVED] = 0,
    [MEMBER_PREPARING_FOR_SHUTDOWN] = BIT(MEMBER_READY_FOR_SHUTDOWN) |
                                    BIT(MEMBER_LEAVING) | BIT(MEMBER_DOWN) |
                                    BIT(MEMBER_REMOVED),
    [MEMBER_READY_FOR_SHUTDOWN] = BIT(MEMBER_LEAVING) | BIT(MEMBER_EXITING) |
                                BIT(MEMBER_DOWN) | BIT(MEMBER_REMOVED),
};

bool check_member_leads_to(unsigned from, unsigned to)
{
    unsigned reached = BIT(from);

    for (unsigned round = 0; round < STATUSES; round++)
        for (unsigned i = 0; i < STATUSES; i++)
            if (reached & BIT(i))
                reached |= steps[i];
    return (reached & BIT(to)) != 0;
}

/* no-cluster-merge: two nodes of different clusters see each other as arrived members. */
static void judge_cluster(struct check_member *check, uint32_t node,
                          const struct probe *probe)
{
    const struct incarnation *own =
        incarnation_of(check, check->uids[node]);
    const struct incarnation *other = incarnation_of(check, probe->node.uid);
    unsigned back;

    if (!own->cluster || !other->cluster || own->cluster == other->cluster ||
        other->has_ended)
        return;
    back = *sight_of(check, other->life, own);
    if (back && back - 1 != MEMBER_JOINING && back - 1 != MEMBER_REMOVED &&
        probe->first != MEMBER_JOINING &&
        probe->first != MEMBER_REMOVED)
        violation(check->verdict, "no-cluster-merge", node,
                  "it and node %u see each other, and are of clusters %" PRIu64
                  " and %" PRIu64,
                  other->node, own->cluster, other->cluster);
}

static void seen(struct check_member *check, uint32_t node,
                 const struct probe *probe)
{
    struct incarnation *incarnation = incarnation_of(check, probe->node.uid);
    uint8_t *sight = sight_of(check, check->lives[node], incarnation);
    unsigned before = *sight ? *sight - 1u : STATUSES;

    check->counts.seen++;
    check->counts.removed += probe->first == MEMBER_REMOVED;
    check(probe->first < STATUSES);
    if (before < STATUSES ? !check_member_leads_to(before, (unsigned)probe->first)
                          : probe->first == MEMBER_REMOVED)
        violation(check->verdict, "member-lifecycle", node,
                  "%s:%u uid %" PRIu64 " is seen %s after %s",
                  probe->node.address.host, probe->node.address.port,
                  probe->node.uid, status_text(probe->first),
                  before < STATUSES ? status_text(before) : "nothing");
    if (before == MEMBER_REMOVED)
        violation(check->verdict, "member-lifecycle", node,
                  "%s:%u uid %" PRIu64 " was removed and is seen again, %s",
                  probe->node.address.host, probe->node.address.port,
                  probe->node.uid, status_text(probe->first));
    *sight = (uint8_t)(probe->first + 1);
    if (probe->first == MEMBER_DOWN && !incarnation->is_downed)
        violation(check->verdict, "no-split-brain", node,
                  "%s:%u uid %" PRIu64 " is seen down, and nobody downed it",
                  probe->node.address.host, probe->node.address.port,
                  probe->node.uid);
    judge_cluster(check, node, probe);
    if (incarnation_of(check, check->uids[node])->is_foreign !=
        incarnation_of(check, probe->node.uid)->is_foreign)
        violation(check->verdict, "no-cluster-merge", node,
                  "%s:%u uid %" PRIu64 " is seen %s, and one of the two is of another cluster",
                  probe->node.address.host, probe->node.address.port,
                  probe->node.uid, status_text(probe->first));
}

/* ---- downing ---- */

static struct fact_key address_key(const struct address *address)
{
    struct fact_key key = { { address->port } };
    size_t size = strlen(address->host);

    /* Hosts of a world are short; longer ones differ in their ends. */
    for (size_t i = 0; i < size; i++)
        key.words[1 + i % 2] = key.words[1 + i % 2] * 257 +
                               (unsigned char)address->host[i];
    return key;
}

/* A command names an address, and covers incarnations that live or lived there. */
static bool is_commanded(struct check_member *check,
                         struct incarnation *incarnation,
                         const struct probe *probe)
{
    uint64_t *open =
        facts_find(&check->commands, address_key(&probe->node.address));

    if (!incarnation->is_commanded && open && *open) {
        incarnation->is_commanded = true;
        --*open;
    }
    return incarnation->is_commanded;
}

static void downed(struct check_member *check, uint32_t node,
                   const struct probe *probe)
{
    struct incarnation *incarnation = incarnation_of(check, probe->node.uid);
    const char *wrong = NULL;

    check->counts.downed++;
    incarnation->is_downed = true;
    switch ((enum probe_down)probe->first) {
    case PROBE_DOWN_COMMAND:
        if (check->knows_commands && !is_commanded(check, incarnation, probe))
            wrong = "by a command that nobody gave";
        break;
    case PROBE_DOWN_REPLACED:
        if (incarnation->life && !incarnation->has_ended)
            wrong = "as replaced, and it runs";
        break;
    case PROBE_DOWN_REMOTE:
        wrong = "because another node wants it";
        break;
    case PROBE_DOWN_DECIDED:
        if (!check->resolves)
            wrong = "by a resolver that is off";
        break;
    }
    if (wrong)
        violation(check->verdict, "no-split-brain", node,
                  "%s:%u uid %" PRIu64 " is downed %s",
                  probe->node.address.host, probe->node.address.port,
                  probe->node.uid, wrong);
}

void check_member_commanded(struct check_member *check,
                            const struct address *address)
{
    check->knows_commands = true;
    ++*(uint64_t *)facts_of(&check->commands, address_key(address),
                            sizeof(uint64_t));
}

void check_member_resolves(struct check_member *check)
{
    check->resolves = true;
}

/* ---- leaders ---- */

static bool counts(unsigned status)
{
    return status == MEMBER_UP || status == MEMBER_LEAVING ||
           status == MEMBER_PREPARING_FOR_SHUTDOWN ||
           status == MEMBER_READY_FOR_SHUTDOWN;
}

/* Counting statuses lead. Without any: weakly up before joining before exiting. Down never
 * leads. */
static int rank(unsigned status)
{
    if (counts(status))
        return 0;
    return status == MEMBER_WEAKLY_UP ? 1
           : status == MEMBER_JOINING ? 2
           : status == MEMBER_EXITING ? 3
                                    : 4;
}

/* Evidence is an array of `count` members in the order of addresses. */

static uint64_t leader_of(const struct probe_evidence *members, size_t count,
                          uint64_t self)
{
    const struct probe_evidence *best = NULL;

    for (size_t i = 0; i < count; i++) {
        const struct probe_evidence *member = &members[i];

        if (member->is_far || member->status == MEMBER_DOWN ||
            (!member->reachable && member->uid != self))
            continue;
        if (!best || rank(member->status) < rank(best->status))
            best = member;
    }
    return best ? best->uid : 0;
}

/* A member that prevents convergence (docs/protocol/gossip.md): it has not seen the version, or is
 * unreachable; 0: none. */
static uint64_t hindering(const struct probe_evidence *members, size_t count,
                          uint64_t self)
{
    bool first = true;

    for (size_t i = 0; i < count; i++)
        first = first && (members[i].is_far || !counts(members[i].status));
    for (size_t i = 0; i < count; i++) {
        const struct probe_evidence *member = &members[i];
        bool must_see = (counts(member->status) &&
                         (first || !member->is_far)) ||
                        (first && (member->status == MEMBER_JOINING ||
                                   member->status == MEMBER_WEAKLY_UP));
        bool is_missing = !member->is_far && !member->trusted &&
                          member->uid != self &&
                          member->status != MEMBER_DOWN &&
                          member->status != MEMBER_EXITING;

        if (!member->confirmed && (is_missing || (must_see && !member->seen)))
            return member->uid;
    }
    return 0;
}

static bool may_do(const struct probe_evidence *member, bool converged,
                   uint64_t self)
{
    unsigned from = member->status;
    unsigned to = member->after;

    if (from == to)
        return true;
    if (member->is_far) /* of another data center */
        return converged && to == MEMBER_REMOVED &&
               (from == MEMBER_DOWN || from == MEMBER_EXITING);
    if (!converged)
        return from == MEMBER_JOINING && to == MEMBER_WEAKLY_UP;
    if (to == MEMBER_REMOVED)
        return member->uid != self &&
               ((from == MEMBER_DOWN && !member->reachable) ||
                (from == MEMBER_EXITING &&
                 (!member->reachable || member->confirmed)));
    return ((from == MEMBER_JOINING || from == MEMBER_WEAKLY_UP) &&
            to == MEMBER_UP) ||
           (from == MEMBER_LEAVING && to == MEMBER_EXITING) ||
           (from == MEMBER_PREPARING_FOR_SHUTDOWN &&
            to == MEMBER_READY_FOR_SHUTDOWN);
}

static uint64_t mix(uint64_t hash, uint64_t with)
{
    return (hash ^ with) * UINT64_C(0x9e3779b97f4a7c15) ^ hash >> 29;
}

static void has_content(struct check_member *check, uint32_t node,
                        struct fact_key key, uint64_t content,
                        const char *what)
{
    uint64_t *known = facts_of(&check->contents, key, sizeof *known);

    content += !content;
    if (*known && *known != content)
        violation(check->verdict, "leader-actions", node,
                  "acts as leader on a version of the gossip that has other %s elsewhere",
                  what);
    *known = content;
}

/* Leaders of one data center with equal evidence cannot both be right, so evidence of equal
 * versions must be equal. Other data centers have their own observations. */
static void judge_agreement(struct check_member *check, uint32_t node,
                            const struct probe *probe,
                            const struct probe_evidence *members, size_t count)
{
    uint64_t statuses = 0, reach = 0, near = 1;

    for (size_t i = 0; i < count; i++) {
        statuses = mix(mix(statuses, members[i].uid), members[i].status);
        reach = mix(mix(reach, members[i].uid), members[i].reachable);
        if (!members[i].is_far)
            near = mix(near, members[i].uid);
    }
    has_content(check, node, (struct fact_key){ { probe->second } }, statuses,
                "members");
    has_content(check, node, (struct fact_key){ { probe->second, near } },
                reach, "observations");
}

/* The index of a key; count: absent. Both sides have the same order, so it is mostly the next
 * one. */
static size_t find_entry(const struct probe_version *entries, size_t count,
                         uint64_t key, size_t *hint)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = (*hint + i) % count;

        if (entries[at].key != key)
            continue;
        *hint = at + 1;
        return at;
    }
    return count;
}

/* member-lifecycle. A version that follows, or is a merge with the node's own, has at least its
 * counts of common keys. A lower count means that it is older, or concurrent and taken whole.
 * Missing keys are of removed members. */
static void took_version(struct check_member *check, uint32_t node,
                         const struct probe *probe)
{
    size_t size = probe->bytes.size / sizeof(struct probe_version);
    struct probe_version *all = mem_copy(probe->bytes.data, probe->bytes.size); /* aligned */
    bool is_older = false, is_newer = false;
    size_t hint = 0;

    check->counts.versions++;
    for (size_t i = probe->first; i < size; i++) {
        size_t own = find_entry(all, probe->first, all[i].key, &hint);

        is_newer |= own == probe->first || all[i].count > all[own].count;
        is_older |= own < probe->first && all[i].count < all[own].count;
    }
    if (is_older)
        violation(check->verdict, "member-lifecycle", node,
                  is_newer
                      ? "takes a concurrent version of the gossip for its own"
                      : "takes an older version of the gossip for its own");
    mem_free(all);
}

static void acted(struct check_member *check, uint32_t node,
                  const struct probe *probe)
{
    size_t count = probe->bytes.size / sizeof(struct probe_evidence);
    struct probe_evidence *members =
        mem_copy(probe->bytes.data, probe->bytes.size); /* aligned */
    uint64_t self = probe->node.uid;
    bool converged = probe->first == 0;
    uint64_t leader = leader_of(members, count, self);
    uint64_t hinders = converged ? hindering(members, count, self) : 0;

    check->counts.actions++;
    if (probe->second)
        judge_agreement(check, node, probe, members, count);
    if (leader != self)
        violation(check->verdict, "leader-actions", node,
                  "acts as leader, and by its own evidence %" PRIu64 " leads",
                  leader);
    if (hinders)
        violation(check->verdict, "leader-actions", node,
                  "acts as leader before %" PRIu64 " has seen the gossip",
                  hinders);
    for (size_t i = 0; i < count; i++)
        if (!may_do(&members[i], converged, self))
            violation(check->verdict, "leader-actions", node,
                      "as leader moves %" PRIu64 " from %s to %s",
                      members[i].uid, status_text(members[i].status),
                      status_text(members[i].after));
    mem_free(members);
}

/* ---- clusters and nodes ---- */

static void enters(struct check_member *check, uint32_t node, uint64_t cluster)
{
    struct incarnation *own = incarnation_of(check, check->uids[node]);

    if (own->is_foreign)
        violation(check->verdict, "no-cluster-merge", node,
                  "it is of another cluster, and enters %" PRIu64, cluster);
    if (own->cluster)
        violation(check->verdict, "no-cluster-merge", node,
                  "it is in cluster %" PRIu64 " and enters %" PRIu64,
                  own->cluster, cluster);
    own->cluster = cluster;
}

void check_member_node_started(struct check_member *check, uint32_t node,
                               uint64_t uid)
{
    struct incarnation *incarnation = incarnation_of(check, uid);

    check(node < CHECK_NODES_MAX);
    check->uids[node] = uid;
    check->lives[node] = ++check->life;
    vec_push(&check->sights, ((struct sights){ .of = { .count = 0 } }));
    incarnation->life = check->life;
    incarnation->node = node;
}

void check_member_node_foreign(struct check_member *check, uint32_t node)
{
    incarnation_of(check, check->uids[node])->is_foreign = true;
}

void check_member_node_ended(struct check_member *check, uint32_t node)
{
    check(node < CHECK_NODES_MAX);
    vec_fini(&check->sights.items[check->lives[node]].of);
    incarnation_of(check, check->uids[node])->has_ended = true;
}

void check_member_probe(struct check_member *check, uint32_t node,
                        const struct probe *probe)
{
    check(node < CHECK_NODES_MAX);
    switch (probe->kind) {
    case PROBE_MEMBER_SEEN:
        seen(check, node, probe);
        break;
    case PROBE_MEMBER_DOWNED:
        downed(check, node, probe);
        break;
    case PROBE_VERSION_TAKEN:
        took_version(check, node, probe);
        break;
    case PROBE_LEADER_ACTED:
        acted(check, node, probe);
        break;
    case PROBE_CLUSTER_FOUNDED:
        check->counts.founded++;
        enters(check, node, check->uids[node]);
        break;
    case PROBE_CLUSTER_JOINED:
        check->counts.joined++;
        enters(check, node,
               incarnation_of(check, probe->node.uid)->cluster);
        break;
    default:
        break;
    }
}

/* Its status + 1; 0: unseen. */
static unsigned sight_at(const struct check_member *check, uint32_t node,
                         uint64_t uid)
{
    const struct incarnation *incarnation =
        facts_find(&check->incarnations, (struct fact_key){ { uid } });
    const struct sights *sights = &check->sights.items[check->lives[node]];

    return incarnation && incarnation->number < sights->of.count
               ? sights->of.items[incarnation->number]
               : 0;
}

bool check_member_sees(const struct check_member *check, uint32_t node,
                       uint64_t uid)
{
    unsigned sight = sight_at(check, node, uid);

    return sight && sight - 1 != MEMBER_REMOVED;
}

bool check_member_holds(const struct check_member *check, uint32_t node,
                        uint64_t uid)
{
    unsigned sight = sight_at(check, node, uid);

    return sight && sight - 1 != MEMBER_REMOVED && sight - 1 != MEMBER_DOWN &&
           sight - 1 != MEMBER_EXITING;
}

struct check_member_counts check_member_counts(const struct check_member *check)
{
    return check->counts;
}
