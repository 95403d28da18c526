/* Measures how long types are without a coordinator and how long asks take during restarts. */
#include "sim/check/check_restart.h"

#include <stddef.h>

#include "base/bytes.h"
#include "base/timers.h"
#include "base/vec.h"
#include "sim/check/facts.h"
#include "sim/world/verdict.h"

/* A coordinator that runs. */
struct running {
    uint32_t node;
    uint16_t type;
};

struct check_restart {
    struct verdict *verdict;
    bool is_judging;
    uint64_t begun; /* ns */
    VEC(struct running) running;
    uint64_t missing_since[FACT_TYPES_MAX]; /* 0: it has one, or never had one */
    struct check_restart_counts counts;
};

struct check_restart *check_restart_new(struct verdict *verdict)
{
    struct check_restart *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    return check;
}

void check_restart_free(struct check_restart *check)
{
    if (!check)
        return;
    vec_fini(&check->running);
    mem_free(check);
}

static bool has_one(const struct check_restart *check, uint16_t type)
{
    for (uint32_t i = 0; i < check->running.count; i++)
        if (check->running.items[i].type == type)
            return true;
    return false;
}

/* The time before check_restart_begin does not count. */
static void judge_missing(struct check_restart *check, uint64_t now, uint16_t type)
{
    uint64_t since = check->missing_since[type];
    uint64_t missing;

    if (!check->is_judging || !since)
        return;
    since = since < check->begun ? check->begun : since;
    missing = now - since;
    if (missing > check->counts.missing_ns)
        check->counts.missing_ns = missing;
    if (missing > CHECK_RESTART_MISSING_NS)
        violation(check->verdict, "graceful-restart", VERDICT_NO_NODE,
                  "type %u had no coordinator for %llu ms", type,
                  (unsigned long long)(missing / MS));
}

static void started(struct check_restart *check, uint64_t now, uint32_t node, uint16_t type)
{
    judge_missing(check, now, type);
    check->counts.hand_overs += check->is_judging && check->missing_since[type];
    check->missing_since[type] = 0;
    vec_push(&check->running, ((struct running){ node, type }));
}

static void ended(struct check_restart *check, uint64_t now, uint32_t at)
{
    uint16_t type = check->running.items[at].type;

    vec_remove(&check->running, at);
    if (!has_one(check, type))
        check->missing_since[type] = now;
}

static bool is_running(const struct check_restart *check, uint32_t node, uint16_t type,
                       uint32_t *at)
{
    for (*at = 0; *at < check->running.count; ++*at)
        if (check->running.items[*at].node == node && check->running.items[*at].type == type)
            return true;
    return false;
}

void check_restart_probe(struct check_restart *check, uint64_t now, uint32_t node,
                         const struct probe *probe)
{
    uint32_t at;

    if (probe->type >= FACT_TYPES_MAX)
        return;
    if (probe->kind == PROBE_COORDINATOR_STARTED)
        started(check, now, node, probe->type);
    else if (probe->kind == PROBE_COORDINATOR_ENDED && is_running(check, node, probe->type, &at))
        ended(check, now, at);
}

void check_restart_node_ended(struct check_restart *check, uint64_t now, uint32_t node)
{
    for (uint32_t i = check->running.count; i-- > 0;)
        if (check->running.items[i].node == node)
            ended(check, now, i);
}

void check_restart_begin(struct check_restart *check, uint64_t now)
{
    check->is_judging = true;
    check->begun = now;
}

void check_restart_end(struct check_restart *check, uint64_t now)
{
    for (uint16_t i = 0; i < FACT_TYPES_MAX; i++)
        judge_missing(check, now, i);
    check->is_judging = false;
}

void check_restart_asked(struct check_restart *check, uint64_t now, uint32_t node, uint64_t since,
                         const char *failure)
{
    uint64_t took = now - since;

    if (!check->is_judging || since < check->begun)
        return;
    check->counts.asks++;
    if (took > check->counts.slowest_ns)
        check->counts.slowest_ns = took;
    if (failure)
        violation(check->verdict, "graceful-restart", node, "an ask failed after %llu ms: %s",
                  (unsigned long long)(took / MS), failure);
    else if (took > CHECK_RESTART_ASK_NS)
        violation(check->verdict, "graceful-restart", node, "an ask took %llu ms",
                  (unsigned long long)(took / MS));
}

struct check_restart_counts check_restart_counts(const struct check_restart *check)
{
    return check->counts;
}
