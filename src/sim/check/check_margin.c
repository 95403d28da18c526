/* Records when each incarnation saw each removal, and the incarnation with each type's last
 * coordinator. */
#include "sim/check/check_margin.h"

#include <inttypes.h>

#include "base/check.h"
#include "base/member_info.h"
#include "base/timers.h"
#include "sim/world/verdict.h"

#define SLACK 8 /* margin / SLACK may be missing: a fact is read after its turn */

struct removal {
    uint64_t at; /* by its own clock */
    bool was_up; /* it was up itself by then */
};

struct margin_node {
    uint64_t uid; /* of the last incarnation */
    uint64_t margin;
    bool is_up;
    bool has_exited; /* a node saw it as exiting */
};

struct check_margin {
    struct verdict *verdict;
    const struct check_safety *safety;
    check_margin_clock *clock;
    void *user;
    struct map removals; /* incarnation, uid -> struct removal */
    struct map runners;  /* type -> uid; 0: none, or it has ended */
    struct margin_node nodes[CHECK_NODES_MAX];
    struct check_margin_counts counts;
};

struct check_margin *check_margin_new(struct verdict *verdict,
                                      const struct check_safety *safety,
                                      check_margin_clock *clock, void *user)
{
    struct check_margin *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    check->safety = safety;
    check->clock = clock;
    check->user = user;
    return check;
}

void check_margin_free(struct check_margin *check)
{
    if (!check)
        return;
    facts_fini(&check->removals);
    facts_fini(&check->runners);
    mem_free(check);
}

/* An exiting incarnation has ended if the next one has started: nodes need not wait for it. */
static void forget_runner(struct check_margin *check, uint64_t uid)
{
    struct map_entry entry;
    uint32_t at = 0;

    while (map_next(&check->runners, &at, &entry))
        if (*(uint64_t *)entry.value == uid)
            *(uint64_t *)entry.value = 0;
}

void check_margin_node_started(struct check_margin *check, uint32_t node,
                               uint64_t uid, uint64_t margin)
{
    check(node < CHECK_NODES_MAX);
    if (check->nodes[node].has_exited)
        forget_runner(check, check->nodes[node].uid);
    check->nodes[node] = (struct margin_node){ .uid = uid, .margin = margin };
}

static bool is_judged(const struct check_margin *check, uint32_t node)
{
    return check->nodes[node].margin &&
           !(check->safety && check->safety->outside[node]);
}

static const struct removal *find_removal(const struct check_margin *check,
                                          uint32_t node, uint64_t uid)
{
    return facts_find(&check->removals,
                      (struct fact_key){ { check->nodes[node].uid, uid } });
}

/* passed: ns since the removal. */
static bool is_early(const struct check_margin *check, uint32_t node,
                     const struct removal *removal, uint64_t *passed)
{
    uint64_t margin = check->nodes[node].margin;

    *passed = check->clock(check->user, node) - removal->at;
    return *passed < margin - margin / SLACK;
}

static void note_exit(struct check_margin *check, uint64_t uid)
{
    for (uint32_t i = 0; i < CHECK_NODES_MAX; i++)
        check->nodes[i].has_exited |= check->nodes[i].uid == uid;
}

static void member_seen(struct check_margin *check, uint32_t node,
                        const struct probe *probe)
{
    struct margin_node *at = &check->nodes[node];
    struct removal *removal;

    if (probe->node.uid == at->uid)
        at->is_up |= probe->first == MEMBER_UP;
    if (probe->first == MEMBER_EXITING)
        note_exit(check, probe->node.uid);
    if (probe->first != MEMBER_REMOVED || !at->margin)
        return;
    removal = facts_of(&check->removals,
                       (struct fact_key){ { at->uid, probe->node.uid } },
                       sizeof *removal);
    removal->at = check->clock(check->user, node);
    removal->was_up = at->is_up;
}

static void home_ended(struct check_margin *check, uint32_t node,
                       const struct probe *probe)
{
    const struct removal *removal = find_removal(check, node, probe->node.uid);
    uint64_t passed;

    if (probe->second != PROBE_HOME_NODE_REMOVED || !removal ||
        !is_judged(check, node))
        return; /* the node was not removed: check_coordinator judges that */
    check->counts.homes++;
    if (is_early(check, node, removal, &passed))
        violation(check->verdict, "handoff-safety", node,
                  "type %u shard %d: its home %s:%u ends %" PRIu64
                  " ms after its node was removed, and the margin is %" PRIu64
                  " ms",
                  probe->type, probe->shard, probe->node.address.host,
                  probe->node.address.port, passed / MS,
                  check->nodes[node].margin / MS);
}

static uint64_t *runner_of(struct check_margin *check, uint16_t type)
{
    return facts_of(&check->runners, (struct fact_key){ { type } },
                    sizeof(uint64_t));
}

static void coordinator_ended(struct check_margin *check, uint32_t node,
                              const struct probe *probe)
{
    uint64_t *runner = runner_of(check, probe->type);

    if (*runner == check->nodes[node].uid)
        *runner = 0;
}

static void coordinator_runs(struct check_margin *check, uint32_t node,
                             const struct probe *probe)
{
    uint64_t *runner = runner_of(check, probe->type);
    const struct removal *removal = find_removal(check, node, *runner);
    uint64_t passed;

    if (check->safety && check->safety->outside[node])
        return; /* other nodes do not wait for its end */
    if (probe->kind == PROBE_COORDINATOR_STARTED && *runner && removal &&
        removal->was_up && is_judged(check, node)) {
        check->counts.starts++;
        if (is_early(check, node, removal, &passed))
            violation(check->verdict, "single-coordinator", node,
                      "coordinator of type %u starts %" PRIu64
                      " ms after the node with the last one was removed, and "
                      "the margin is %" PRIu64 " ms",
                      probe->type, passed / MS,
                      check->nodes[node].margin / MS);
    }
    *runner = check->nodes[node].uid;
}

void check_margin_probe(struct check_margin *check, uint32_t node,
                        const struct probe *probe)
{
    check(node < CHECK_NODES_MAX);
    switch (probe->kind) {
    case PROBE_MEMBER_SEEN:
        member_seen(check, node, probe);
        break;
    case PROBE_HOME_ENDED:
        home_ended(check, node, probe);
        break;
    case PROBE_COORDINATOR_STARTED:
    case PROBE_COORDINATOR_ACTIVE:
        coordinator_runs(check, node, probe);
        break;
    case PROBE_COORDINATOR_ENDED:
        coordinator_ended(check, node, probe);
        break;
    default:
        break;
    }
}

struct check_margin_counts
check_margin_counts(const struct check_margin *check)
{
    return check->counts;
}
