/* Numbers incarnations in the order of their start. A row for each node has the last incarnation of
 * each peer that it accepted from, and the removals that it saw. It is read at each heartbeat
 * response. */
#include "sim/check/check_incarnation.h"

#include <inttypes.h>

#include "base/check.h"
#include "base/map.h"
#include "base/member_info.h"
#include "base/vec.h"
#include "sim/check/facts.h"
#include "sim/world/verdict.h"

struct life {
    uint64_t number; /* from 1; 0: of no node of this world */
    uint32_t node;
    uint32_t place; /* in rows, from 0 */
};

/* The newest incarnation of a peer that the node accepted. */
struct taken {
    uint32_t number; /* its number; 0: none */
    uint32_t what;   /* enum probe_taken of the first message from it */
};

/* The incarnation that a node runs, or ran last. */
struct row {
    VEC(struct taken) taken; /* by node */
    VEC(bool) removed;       /* by the incarnation's place */
};

struct check_incarnation {
    struct verdict *verdict;
    struct map lives; /* uid -> struct life */
    uint64_t started;
    uint64_t judged[PROBE_TAKEN_COUNT];
    struct row rows[CHECK_NODES_MAX];
};

struct check_incarnation *check_incarnation_new(struct verdict *verdict)
{
    struct check_incarnation *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    return check;
}

static void row_fini(struct row *row)
{
    vec_fini(&row->taken);
    vec_fini(&row->removed);
}

void check_incarnation_free(struct check_incarnation *check)
{
    if (!check)
        return;
    for (uint32_t i = 0; i < CHECK_NODES_MAX; i++)
        row_fini(&check->rows[i]);
    facts_fini(&check->lives);
    mem_free(check);
}

static struct life *life_of(struct check_incarnation *check, uint64_t uid)
{
    struct life *life = map_get(&check->lives, map_u64(&uid));

    if (life)
        return life;
    life = mem_alloc(sizeof *life);
    life->place = check->lives.count;
    map_put(&check->lives, map_u64(&uid), life);
    return life;
}

static struct taken *taken_of(struct row *row, uint32_t node)
{
    while (row->taken.count <= node)
        vec_push(&row->taken, (struct taken){ 0 });
    return &row->taken.items[node];
}

static bool is_removed(const struct row *row, const struct life *life)
{
    return life->place < row->removed.count && row->removed.items[life->place];
}

static void set_removed(struct row *row, const struct life *life)
{
    while (row->removed.count <= life->place)
        vec_push(&row->removed, false);
    row->removed.items[life->place] = true;
}

static const char *taken_text(uint64_t what)
{
    static const char *const texts[PROBE_TAKEN_COUNT] = {
        [PROBE_TAKEN_HANDSHAKE] = "a handshake",
        [PROBE_TAKEN_SYSTEM] = "a system message",
        [PROBE_TAKEN_ACKNOWLEDGEMENT] = "an acknowledgement",
        [PROBE_TAKEN_GOSSIP] = "a gossip",
        [PROBE_TAKEN_HEARTBEAT] = "an answer to a heartbeat",
    };

    return texts[what];
}

static void judge(struct check_incarnation *check, uint32_t node,
                  const struct probe *probe, const struct life *life)
{
    struct taken *taken = taken_of(&check->rows[node], life->node);

    if (life->number < taken->number)
        violation(check->verdict, "no-stale-sender", node,
                  "of a former life of n%u (uid %" PRIu64
                  ") %s is taken, after %s of one that followed",
                  life->node, probe->node.uid, taken_text(probe->first),
                  taken_text(taken->what));
    else if (life->number > taken->number)
        *taken = (struct taken){ (uint32_t)life->number,
                                 (uint32_t)probe->first };
}

static void something_is_taken(struct check_incarnation *check, uint32_t node,
                               const struct probe *probe)
{
    uint64_t uid = probe->node.uid;
    struct row *row = &check->rows[node];
    const struct life *life;

    __builtin_prefetch(row); /* each of these lines misses the cache, so fetch them together */
    life = life_of(check, uid);
    if (life->place < row->removed.count)
        __builtin_prefetch(&row->removed.items[life->place]);
    check(probe->first < PROBE_TAKEN_COUNT);
    check->judged[probe->first]++;
    if (probe->first == PROBE_TAKEN_ACKNOWLEDGEMENT && probe->second != uid)
        violation(check->verdict, "no-stale-sender", node,
                  "life %" PRIu64 " of a node acknowledges what was for its life %" PRIu64,
                  uid, probe->second);
    if (life->number)
        judge(check, node, probe, life);
    if ((probe->first == PROBE_TAKEN_GOSSIP ||
         probe->first == PROBE_TAKEN_HEARTBEAT) &&
        is_removed(row, life))
        violation(check->verdict, "no-stale-sender", node,
                  "%s is taken of uid %" PRIu64 ", which is removed",
                  taken_text(probe->first), uid);
}

void check_incarnation_node_started(struct check_incarnation *check, uint32_t node,
                               uint64_t uid)
{
    struct life *life = life_of(check, uid);

    check(node < CHECK_NODES_MAX);
    life->number = ++check->started;
    life->node = node;
    row_fini(&check->rows[node]);
}

void check_incarnation_probe(struct check_incarnation *check, uint32_t node,
                        const struct probe *probe)
{
    if (probe->kind == PROBE_TAKEN)
        something_is_taken(check, node, probe);
    else if (probe->kind == PROBE_MEMBER_SEEN && probe->first == MEMBER_REMOVED)
        set_removed(&check->rows[node], life_of(check, probe->node.uid));
}

uint64_t check_incarnation_taken(const struct check_incarnation *check,
                            enum probe_taken what)
{
    return check->judged[what];
}
