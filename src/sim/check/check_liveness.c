/* Keeps open hand-offs, stopping shards and active coordinators as lists, and moves as a table. */
#include "sim/check/check_liveness.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/timers.h"
#include "base/vec.h"
#include "sim/world/verdict.h"

struct open_handoff {
    uint32_t node;
    uint16_t type;
    int32_t shard;
    uint64_t begun_at;
    bool is_told;
};

struct stopping {
    uint32_t node;
    uint16_t type;
    int32_t shard;
    uint64_t begun_at;
    bool is_told;
};

struct coordinator_row {
    uint32_t node;
    uint16_t type;
};

struct check_liveness {
    struct verdict *verdict;
    uint64_t handoff_ns;
    uint64_t quiet_since;
    bool is_quiet;
    bool is_still;
    bool is_silent;
    /* last move of a shard, step of a hand-off, or start or end of a coordinator */
    uint64_t moved_at;
    uint64_t tried_again_by; /* a failed hand-off begins again by then */
    VEC(struct open_handoff) handoffs;
    VEC(struct stopping) stopping;
    VEC(struct coordinator_row) active;
    struct map moves; /* shard -> uint32_t: in this quiet phase */
};

struct check_liveness *check_liveness_new(struct verdict *verdict)
{
    struct check_liveness *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    check->handoff_ns = CHECK_LIVENESS_HANDOFF_NS;
    return check;
}

void check_liveness_free(struct check_liveness *check)
{
    if (!check)
        return;
    vec_fini(&check->handoffs);
    vec_fini(&check->stopping);
    vec_fini(&check->active);
    facts_fini(&check->moves);
    mem_free(check);
}

void check_liveness_handoff_limit(struct check_liveness *check, uint64_t limit)
{
    check->handoff_ns = limit;
}

/* ---- homes-available, handoff-completes ---- */

static void forget_handoff(struct check_liveness *check, uint32_t node,
                           const struct probe *probe)
{
    for (uint32_t i = 0; i < check->handoffs.count; i++) {
        const struct open_handoff *open = &check->handoffs.items[i];

        if (open->node == node && open->type == probe->type &&
            open->shard == probe->shard) {
            vec_remove(&check->handoffs, i);
            return;
        }
    }
}

/* A shard that moves back and forth has no stable home. */
static void moved(struct check_liveness *check, uint32_t node,
                  const struct probe *probe)
{
    uint32_t *moves =
        facts_of(&check->moves,
                 (struct fact_key){ { fact_shard(probe->type, probe->shard) } },
                 sizeof *moves);

    if (!check->is_quiet || ++*moves <= CHECK_LIVENESS_MOVES_MAX)
        return;
    violation(check->verdict, "quiet-cluster-rests", node,
              "shard %d of type %u has moved %u times in a quiet cluster",
              probe->shard, probe->type, *moves);
}

static void handoff(struct check_liveness *check, uint64_t now, uint32_t node,
                    const struct probe *probe)
{
    const struct open_handoff open = { .node = node,
                                       .type = probe->type,
                                       .shard = probe->shard,
                                       .begun_at = now };

    switch ((enum probe_handoff)probe->second) {
    case PROBE_HANDOFF_BEGUN:
        forget_handoff(check, node, probe);
        vec_push(&check->handoffs, open);
        break;
    case PROBE_HANDOFF_STOPPING:
        break;
    case PROBE_HANDOFF_MOVED:
        moved(check, node, probe);
        forget_handoff(check, node, probe);
        break;
    case PROBE_HANDOFF_FAILED:
        check->tried_again_by = now + (check->handoff_ns > CHECK_LIVENESS_TRIED_NS
                                           ? check->handoff_ns
                                           : CHECK_LIVENESS_TRIED_NS);
        /* fall through */
    case PROBE_HANDOFF_GIVEN_UP:
        forget_handoff(check, node, probe);
        break;
    }
}

bool check_liveness_moves(const struct check_liveness *check, uint16_t type,
                          int32_t shard)
{
    for (uint32_t i = 0; i < check->handoffs.count; i++)
        if (check->handoffs.items[i].type == type &&
            check->handoffs.items[i].shard == shard)
            return true;
    return false;
}

static void forget_stopping(struct check_liveness *check, uint32_t node,
                            const struct probe *probe)
{
    for (uint32_t i = 0; i < check->stopping.count; i++) {
        const struct stopping *stopping = &check->stopping.items[i];

        if (stopping->node == node && stopping->type == probe->type &&
            stopping->shard == probe->shard) {
            vec_remove(&check->stopping, i);
            return;
        }
    }
}

static void shard_stops(struct check_liveness *check, uint64_t now, uint32_t node,
                        const struct probe *probe)
{
    const struct stopping stopping = { .node = node,
                                       .type = probe->type,
                                       .shard = probe->shard,
                                       .begun_at = now };

    forget_stopping(check, node, probe);
    vec_push(&check->stopping, stopping);
}

/* Removes the coordinator of one type, or of all after the node's end. Its open work has no owner
 * any more. */
static void coordinator_gone(struct check_liveness *check, uint32_t node,
                             bool all_types, uint16_t type)
{
    for (uint32_t i = check->active.count; i-- > 0;)
        if (check->active.items[i].node == node &&
            (all_types || check->active.items[i].type == type))
            vec_remove(&check->active, i);
    for (uint32_t i = check->handoffs.count; i-- > 0;)
        if (check->handoffs.items[i].node == node &&
            (all_types || check->handoffs.items[i].type == type))
            vec_remove(&check->handoffs, i);
}

bool check_liveness_coordinator(const struct check_liveness *check, uint16_t type,
                                uint32_t *node, char *text, size_t size)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < check->active.count; i++) {
        if (check->active.items[i].type != type)
            continue;
        *node = check->active.items[i].node;
        count++;
    }
    if (count == 1)
        return true;
    (void)snprintf(text, size, "type %u has %u active coordinators", type,
                   count); /* cut at size */
    return false;
}

static void look_at_stopping(struct check_liveness *check, uint64_t now)
{
    for (uint32_t i = 0; i < check->stopping.count; i++) {
        struct stopping *stopping = &check->stopping.items[i];
        uint64_t from = stopping->begun_at > check->quiet_since
                            ? stopping->begun_at
                            : check->quiet_since;

        if (stopping->is_told || now <= from + check->handoff_ns + CHECK_LIVENESS_STORED_NS)
            continue;
        stopping->is_told = true;
        violation(check->verdict, "handoff-completes", stopping->node,
                  "shard %d of type %u was told to stop and has not for %llu ms",
                  stopping->shard, stopping->type,
                  (unsigned long long)((now - stopping->begun_at) / MS));
    }
}

void check_liveness_look(struct check_liveness *check, uint64_t now)
{
    if (!check->is_quiet)
        return;
    look_at_stopping(check, now);
    for (uint32_t i = 0; i < check->handoffs.count; i++) {
        struct open_handoff *open = &check->handoffs.items[i];
        uint64_t from = open->begun_at > check->quiet_since
                            ? open->begun_at
                            : check->quiet_since;

        if (open->is_told || now <= from + check->handoff_ns)
            continue;
        open->is_told = true;
        violation(check->verdict, "handoff-completes", open->node,
                  "the hand-off of shard %d of type %u has not ended for %llu ms",
                  open->shard, open->type,
                  (unsigned long long)((now - open->begun_at) / MS));
    }
}

/* ---- healthy-node-stays, quiet-cluster-rests ---- */

void check_liveness_node_ended(struct check_liveness *check, uint32_t node,
                               bool crashed, int error)
{
    coordinator_gone(check, node, true, 0);
    for (uint32_t i = check->stopping.count; i-- > 0;)
        if (check->stopping.items[i].node == node)
            vec_remove(&check->stopping, i);
    if (check->is_quiet && !crashed)
        violation(check->verdict, "healthy-node-stays", node,
                  "it ends in a quiet cluster: error %d", error);
}

static bool is_a_move(enum probe_kind kind)
{
    return kind == PROBE_HOME_SET || kind == PROBE_HOME_ENDED ||
           kind == PROBE_HANDOFF;
}

static bool is_of_coordinators(enum probe_kind kind)
{
    return kind == PROBE_COORDINATOR_STARTED ||
           kind == PROBE_COORDINATOR_ACTIVE ||
           kind == PROBE_COORDINATOR_ENDED;
}

/* Probes that nodes leave only when members change. */
static bool is_of_members(enum probe_kind kind)
{
    return kind == PROBE_GOSSIP_SENT || kind == PROBE_MEMBER_SEEN ||
           kind == PROBE_MEMBER_DOWNED || kind == PROBE_LEADER_ACTED;
}

static bool may_not_be(const struct check_liveness *check, enum probe_kind kind)
{
    return (check->is_still &&
            (is_a_move(kind) || is_of_coordinators(kind))) ||
           (check->is_silent && is_of_members(kind));
}

bool check_liveness_rests(const struct check_liveness *check, uint64_t since,
                          char *text, size_t size)
{
    (void)snprintf(text, size,
                   "%u hand-offs are open, the last move was %s%s",
                   check->handoffs.count,
                   check->moved_at > since ? "just now" : "long ago",
                   check->tried_again_by > since
                       ? ", and one that failed is to be tried again"
                       : "");
    return !check->handoffs.count && check->moved_at <= since &&
           check->tried_again_by <= since;
}

void check_liveness_probe(struct check_liveness *check, uint64_t now, uint32_t node,
                          const struct probe *probe)
{
    const struct coordinator_row row = { node, probe->type };

    check_liveness_look(check, now);
    if (probe->kind == PROBE_TOMBSTONES_DROPPED)
        check->is_silent = false; /* nodes gossip that; wall clocks may jump */
    if (may_not_be(check, probe->kind))
        violation(check->verdict, "quiet-cluster-rests", node, "in a silent cluster: %s",
                  probe_kind_text(probe->kind));
    if (is_a_move(probe->kind) || is_of_coordinators(probe->kind))
        check->moved_at = now; /* a new coordinator first looks after an interval */
    if (probe->kind == PROBE_HANDOFF) {
        handoff(check, now, node, probe);
    } else if (probe->kind == PROBE_SHARD_STOPPING) {
        shard_stops(check, now, node, probe);
    } else if (probe->kind == PROBE_SHARD_ENDED) {
        forget_stopping(check, node, probe);
    } else if (probe->kind == PROBE_COORDINATOR_ACTIVE) {
        coordinator_gone(check, node, false, probe->type);
        vec_push(&check->active, row);
    } else if (probe->kind == PROBE_COORDINATOR_ENDED) {
        coordinator_gone(check, node, false, probe->type);
    }
}

void check_liveness_quiet(struct check_liveness *check, uint64_t now, bool on)
{
    if (on && !check->is_quiet) {
        check->quiet_since = now;
        check->moved_at = now; /* no coordinator has looked at the newest nodes yet */
        facts_fini(&check->moves);
    }
    check->is_quiet = on;
    if (!on)
        check->is_still = check->is_silent = false;
}

void check_liveness_still(struct check_liveness *check, bool on)
{
    check(!on || check->is_quiet);
    check->is_still = on;
}

void check_liveness_silent(struct check_liveness *check, bool on)
{
    check(!on || check->is_quiet);
    check->is_still = check->is_silent = on;
}
