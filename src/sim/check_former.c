/* Lives are numbered as they start, whichever node's they are; of each life, the last one of each other node that it took
 * something of. */
#include "sim/check_former.h"

#include <inttypes.h>

#include "base/check.h"
#include "base/peer.h"
#include "sim/facts.h"
#include "sim/verdict.h"

struct life {
    uint64_t number; /* from 1 */
    uint32_t node;
};

/* What one life has taken of one other node. */
struct taken {
    uint64_t number; /* of the last life of it */
    uint64_t what;   /* enum probe_taken, of the first of that */
};

struct check_former {
    struct verdict *verdict;
    struct map lives;   /* uid -> struct life */
    struct map taken;   /* number of a life, node -> struct taken */
    struct map removed; /* number of a life, uid -> a byte */
    uint64_t started;
    uint64_t judged[PROBE_TAKEN_COUNT];
    uint64_t runs[CHECK_NODES_MAX]; /* numbers of the lives that run, or ran last */
};

struct check_former *check_former_new(struct verdict *verdict)
{
    struct check_former *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    return check;
}

void check_former_free(struct check_former *check)
{
    if (!check)
        return;
    facts_fini(&check->lives);
    facts_fini(&check->taken);
    facts_fini(&check->removed);
    mem_free(check);
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

static void judge(struct check_former *check, uint32_t node,
                  const struct probe *probe, const struct life *life)
{
    struct taken *taken = facts_of(
        &check->taken, (struct fact_key){ { check->runs[node], life->node } },
        sizeof *taken);

    if (life->number < taken->number)
        violation(check->verdict, "I12", node,
                  "of a former life of n%u (uid %" PRIu64
                  ") %s is taken, after %s of one that followed",
                  life->node, probe->node.uid, taken_text(probe->first),
                  taken_text(taken->what));
    else if (life->number > taken->number)
        *taken = (struct taken){ life->number, probe->first };
}

static void something_is_taken(struct check_former *check, uint32_t node,
                               const struct probe *probe)
{
    uint64_t uid = probe->node.uid;
    const struct life *life =
        facts_find(&check->lives, (struct fact_key){ { uid } });

    check(probe->first < PROBE_TAKEN_COUNT);
    check->judged[probe->first]++;
    if (probe->first == PROBE_TAKEN_ACKNOWLEDGEMENT && probe->second != uid)
        violation(check->verdict, "I12", node,
                  "life %" PRIu64 " of a node acknowledges what was for its life %" PRIu64,
                  uid, probe->second);
    if (life)
        judge(check, node, probe, life);
    if ((probe->first == PROBE_TAKEN_GOSSIP ||
         probe->first == PROBE_TAKEN_HEARTBEAT) &&
        facts_find(&check->removed,
                   (struct fact_key){ { check->runs[node], uid } }))
        violation(check->verdict, "I12", node,
                  "%s is taken of uid %" PRIu64 ", which is removed",
                  taken_text(probe->first), uid);
}

void check_former_node_started(struct check_former *check, uint32_t node,
                               uint64_t uid)
{
    struct life *life =
        facts_of(&check->lives, (struct fact_key){ { uid } }, sizeof *life);

    check(node < CHECK_NODES_MAX);
    *life = (struct life){ ++check->started, node };
    check->runs[node] = life->number;
}

void check_former_probe(struct check_former *check, uint32_t node,
                        const struct probe *probe)
{
    if (probe->kind == PROBE_TAKEN)
        something_is_taken(check, node, probe);
    else if (probe->kind == PROBE_MEMBER_SEEN && probe->first == PEER_REMOVED)
        (void)facts_of(
            &check->removed,
            (struct fact_key){ { check->runs[node], probe->node.uid } }, 1);
}

uint64_t check_former_taken(const struct check_former *check,
                            enum probe_taken what)
{
    return check->judged[what];
}
