/* Keeps gossip versions with the incarnations that held them, and each node's version. */
#include "sim/check/check_gossip_seen.h"

#include <inttypes.h>

#include "base/check.h"
#include "base/map.h"
#include "base/vec.h"
#include "sim/world/verdict.h"

#define WORD_BITS 64

/* Times are counts of facts. */
struct version {
    uint64_t hash;
    uint64_t content; /* a hash of its content */
    uint64_t born_at; /* first held */
    uint64_t made_at; /* last known change: no node held it before; 0: unknown */
    uint32_t holders; /* nodes that hold it now */
    bool is_partial;  /* it may have been held and forgotten before */
    VEC(uint64_t) lives; /* bits, by incarnation */
};

enum origin {
    MADE,      /* a change by the node itself */
    TAKEN,     /* from another node, or merged with its version */
    TAKEN_PART /* the same, without an entry of the node, whose member was removed */
};

struct check_gossip_seen {
    struct verdict *verdict;
    struct map lives;    /* uid -> uint64_t, a number from 1 */
    struct map versions; /* hash -> struct version, which has the key */
    VEC(struct version *) known; /* by born_at */
    struct version *held[CHECK_NODES_MAX]; /* by node; null: none yet */
    uint64_t runs[CHECK_NODES_MAX]; /* its incarnation, by node */
    enum origin origins[CHECK_NODES_MAX]; /* of what it holds next, by node */
    uint64_t life; /* the last number given */
    uint64_t now;
    uint64_t forgotten_at; /* last birth of a forgotten one; 0: none */
    struct check_gossip_seen_counts counts;
};

struct check_gossip_seen *check_gossip_seen_new(struct verdict *verdict)
{
    struct check_gossip_seen *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    check->versions.is_lent = true;
    return check;
}

static void version_free(struct version *version)
{
    vec_fini(&version->lives);
    mem_free(version);
}

void check_gossip_seen_free(struct check_gossip_seen *check)
{
    if (!check)
        return;
    for (uint32_t i = 0; i < check->known.count; i++)
        version_free(check->known.items[i]);
    vec_fini(&check->known);
    map_fini(&check->versions);
    facts_fini(&check->lives);
    mem_free(check);
}

/* ---- incarnations ---- */

static void release(struct check_gossip_seen *check, uint32_t node)
{
    if (check->held[node])
        check->held[node]->holders--;
    check->held[node] = NULL;
    check->origins[node] = MADE;
}

void check_gossip_seen_node_started(struct check_gossip_seen *check, uint32_t node,
                             uint64_t uid)
{
    check(node < CHECK_NODES_MAX);
    release(check, node);
    check->runs[node] = ++check->life;
    *(uint64_t *)facts_of(&check->lives, (struct fact_key){ { uid } },
                          sizeof(uint64_t)) = check->life;
}

void check_gossip_seen_node_ended(struct check_gossip_seen *check, uint32_t node)
{
    check(node < CHECK_NODES_MAX);
    release(check, node);
}

/* ---- versions ---- */

static void add_life(struct version *version, uint64_t life)
{
    while (version->lives.count <= life / WORD_BITS)
        vec_push(&version->lives, 0);
    version->lives.items[life / WORD_BITS] |= UINT64_C(1) << life % WORD_BITS;
}

static bool has_life(const struct version *version, uint64_t life)
{
    return life / WORD_BITS < version->lives.count &&
           version->lives.items[life / WORD_BITS] >> life % WORD_BITS & 1;
}

static void forget_some(struct check_gossip_seen *check)
{
    uint32_t old = check->known.count - CHECK_SEEN_MAX / 2;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < check->known.count; i++) {
        struct version *version = check->known.items[i];

        if (i >= old || version->holders) {
            check->known.items[kept++] = version;
            continue;
        }
        if (check->forgotten_at < version->born_at)
            check->forgotten_at = version->born_at;
        check->counts.forgotten++;
        (void)map_take(&check->versions, map_u64(&version->hash));
        version_free(version);
    }
    check->known.count = kept;
}

/* A taken version has all changes that the node held, so it is younger than these. */
static struct version *add_version(struct check_gossip_seen *check, uint32_t node,
                                   const struct probe *probe)
{
    struct version *version = mem_alloc(sizeof *version);

    version->hash = probe->first;
    version->content = probe->second;
    version->born_at = check->now;
    if (check->origins[node] == MADE)
        version->made_at = check->now;
    else if (check->origins[node] == TAKEN && check->held[node])
        version->made_at = check->held[node]->made_at;
    version->is_partial =
        check->forgotten_at && version->made_at <= check->forgotten_at;
    if (check->known.count >= CHECK_SEEN_MAX)
        forget_some(check);
    (void)map_put(&check->versions, map_u64(&version->hash), version);
    vec_push(&check->known, version);
    return version;
}

/* Both versions are in the order of keys. */
static enum origin took(const struct probe *probe)
{
    size_t size = probe->bytes.size / sizeof(struct probe_version);
    size_t own = 0;
    struct probe_version *all = mem_copy(probe->bytes.data, probe->bytes.size); /* aligned */

    for (size_t i = probe->first; i < size && own < probe->first; i++)
        own += all[i].key == all[own].key;
    mem_free(all);
    return own < probe->first ? TAKEN_PART : TAKEN;
}

static void holds(struct check_gossip_seen *check, uint32_t node,
                  const struct probe *probe)
{
    struct version *version =
        map_get(&check->versions, map_u64(&probe->first));

    check->counts.held++;
    check->now++;
    if (!version)
        version = add_version(check, node, probe);
    release(check, node);
    version->holders++;
    check->held[node] = version;
    if (version->content == probe->second)
        add_life(version, check->runs[node]);
}

/* ---- leaders ---- */

static void acted(struct check_gossip_seen *check, uint32_t node,
                  const struct probe *probe)
{
    const struct version *version = check->held[node];
    size_t count = probe->bytes.size / sizeof(struct probe_evidence);
    struct probe_evidence *members =
        mem_copy(probe->bytes.data, probe->bytes.size); /* aligned */
    uint64_t unseen = 0;

    if (!version || version->hash != probe->second) {
        violation(check->verdict, "leader-actions", node,
                  "acts as leader on a version of the gossip that it does not hold");
        count = 0;
    }
    for (size_t i = 0; i < count && !unseen; i++) {
        const uint64_t *life;

        if (!members[i].seen)
            continue;
        check->counts.judged++;
        life = facts_find(&check->lives, (struct fact_key){ { members[i].uid } });
        if (life && has_life(version, *life))
            continue;
        check->counts.excused += version->is_partial;
        if (!version->is_partial)
            unseen = members[i].uid;
    }
    if (unseen)
        violation(check->verdict, "leader-actions", node,
                  "acts as leader on a version of the gossip that %" PRIu64
                  " is said to have seen, and has never held",
                  unseen);
    mem_free(members);
}

void check_gossip_seen_probe(struct check_gossip_seen *check, uint32_t node,
                      const struct probe *probe)
{
    check(node < CHECK_NODES_MAX);
    switch (probe->kind) {
    case PROBE_VERSION_TAKEN:
        check->origins[node] = took(probe);
        break;
    case PROBE_CLUSTER_JOINED:
        check->origins[node] = TAKEN_PART;
        break;
    case PROBE_VERSION_HELD:
        holds(check, node, probe);
        break;
    case PROBE_LEADER_ACTED:
        if (!probe->first)
            acted(check, node, probe);
        break;
    default:
        break;
    }
}

struct check_gossip_seen_counts check_gossip_seen_counts(const struct check_gossip_seen *check)
{
    struct check_gossip_seen_counts counts = check->counts;

    counts.kept = check->known.count;
    return counts;
}
