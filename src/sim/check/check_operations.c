/* Implements check_operations.h. */
#include "sim/check/check_operations.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/vec.h"
#include "sim/check/facts.h"
#include "sim/world/verdict.h"

struct record {
    struct check_operations_begin begin;
    uint64_t due;
    bool was_home; /* the target was the shard's home since the begin */
    bool is_crossed; /* a cordon: an uncordon of the node has begun since */
};

/* A node whose last operation about it is a confirmed cordon. */
struct cordoned {
    uint64_t uid;
    uint64_t since;
};

/* A shard's last home that any coordinator has set. */
struct last_home {
    uint16_t type;
    int32_t shard;
    uint32_t place;
};

struct check_operations {
    struct verdict *verdict;
    const struct check_safety *safety; /* or null */
    VEC(struct record) open;
    VEC(struct cordoned) cordoned;
    VEC(struct last_home) homes;
    struct check_operations_counts counts;
};

struct check_operations *check_operations_new(struct verdict *verdict)
{
    struct check_operations *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    return check;
}

void check_operations_free(struct check_operations *check)
{
    if (!check)
        return;
    vec_fini(&check->open);
    vec_fini(&check->cordoned);
    vec_fini(&check->homes);
    mem_free(check);
}

void check_operations_safety(struct check_operations *check, const struct check_safety *safety)
{
    check->safety = safety;
}

/* ---- cordons ---- */

static struct cordoned *cordoned_of(struct check_operations *check, uint64_t uid)
{
    for (uint32_t i = 0; i < check->cordoned.count; i++)
        if (check->cordoned.items[i].uid == uid)
            return &check->cordoned.items[i];
    return NULL;
}

/* An uncordon begins. Open cordons may come before or after it. */
static void cordon_ends(struct check_operations *check, uint64_t uid)
{
    struct cordoned *cordoned = cordoned_of(check, uid);

    for (uint32_t i = 0; i < check->open.count; i++)
        if (check->open.items[i].begin.uid == uid)
            check->open.items[i].is_crossed = true;

    if (cordoned)
        vec_remove(&check->cordoned, (uint32_t)(cordoned - check->cordoned.items));
}

static void cordon_is_confirmed(struct check_operations *check, uint64_t uid, uint64_t now)
{
    if (!cordoned_of(check, uid))
        vec_push(&check->cordoned, ((struct cordoned){ uid, now }));
}

static void judge_allocation(struct check_operations *check, uint64_t now, uint32_t node,
                             const struct probe *probe)
{
    const struct cordoned *cordoned = cordoned_of(check, probe->node.uid);
    uint64_t takers = probe->first;

    check->counts.cordoned += check->cordoned.count > 0;
    if (!cordoned || takers < 2 || now < cordoned->since + CHECK_OPERATIONS_CORDON_NS ||
        safety_may_overlap(check->safety, node))
        return;
    violation(check->verdict, "cordon-honoured", node,
              "type %u shard %d goes to a node that has been cordoned for %u s, of %u that take shards",
              probe->type, probe->shard, (unsigned)((now - cordoned->since) / 1000000000),
              (unsigned)takers);
}

/* ---- homes ---- */

static struct last_home *home_of(struct check_operations *check, uint16_t type, int32_t shard)
{
    for (uint32_t i = 0; i < check->homes.count; i++)
        if (check->homes.items[i].type == type && check->homes.items[i].shard == shard)
            return &check->homes.items[i];
    vec_push(&check->homes, ((struct last_home){ type, shard, UINT32_MAX }));
    return &check->homes.items[check->homes.count - 1];
}

static bool is_about(const struct record *record, uint32_t place, const struct probe *probe)
{
    return record->begin.kind == SHERD_MOVE_SHARD && record->begin.type == probe->type &&
           record->begin.shard == probe->shard && record->begin.place == place;
}

void check_operations_probe(struct check_operations *check, uint64_t now, uint32_t node,
                            uint32_t place, const struct probe *probe)
{
    if (probe->kind != PROBE_HOME_SET)
        return;
    if (probe->second == PROBE_HOME_ALLOCATED)
        judge_allocation(check, now, node, probe);
    home_of(check, probe->type, probe->shard)->place = place;
    for (uint32_t i = 0; i < check->open.count; i++)
        if (is_about(&check->open.items[i], place, probe))
            check->open.items[i].was_home = true;
}

/* ---- operations ---- */

/* Clocks differ by a twentieth. */
static uint64_t due(uint64_t now, uint64_t within)
{
    return now + within + within / 10 + CHECK_OPERATIONS_LATE_NS;
}

void check_operations_begun(struct check_operations *check,
                            const struct check_operations_begin *begin)
{
    struct record record = { .begin = *begin, .due = due(begin->now, begin->within) };

    if (begin->kind == SHERD_MOVE_SHARD)
        record.was_home = home_of(check, begin->type, begin->shard)->place == begin->place;
    else if (begin->kind == SHERD_UNCORDON)
        cordon_ends(check, begin->uid);
    vec_push(&check->open, record);
    check->counts.begun++;
}

static void judge_end(struct check_operations *check, const struct record *record,
                      const struct check_operations_end *end)
{
    if (end->result) {
        check->counts.refused++;
        if (end->result != SHERD_EFULL)
            violation(check->verdict, "operation-ends", end->node, "operation %llu ended with error %d",
                      (unsigned long long)end->number, end->result);
        return;
    }
    check->counts.done += end->state == SHERD_OPERATION_DONE;
    check->counts.failed += end->state != SHERD_OPERATION_DONE;
    if (end->state != SHERD_OPERATION_DONE)
        check->counts.codes[end->code]++;
    if (end->state < SHERD_OPERATION_DONE)
        violation(check->verdict, "operation-ends", end->node, "operation %llu ended in the state %s",
                  (unsigned long long)end->number, sherd_operation_state_text(end->state));
    else if (end->state != SHERD_OPERATION_DONE || record->begin.is_dry_run)
        return;
    else if (record->begin.kind == SHERD_MOVE_SHARD && !record->was_home)
        violation(check->verdict, "operation-ends", end->node,
                  "operation %llu is done, but its target was no home of type %u shard %d",
                  (unsigned long long)end->number, record->begin.type, record->begin.shard);
    else if ((record->begin.kind == SHERD_CORDON || record->begin.kind == SHERD_DRAIN) &&
             !record->is_crossed)
        cordon_is_confirmed(check, record->begin.uid, end->now);
}

void check_operations_ended(struct check_operations *check,
                            const struct check_operations_end *end)
{
    uint32_t at = 0;
    struct record record;

    while (at < check->open.count && check->open.items[at].begin.number != end->number)
        at++;
    if (at == check->open.count) {
        violation(check->verdict, "operation-ends", end->node, "operation %llu ended twice",
                  (unsigned long long)end->number);
        return;
    }
    record = check->open.items[at];
    vec_remove(&check->open, at);
    judge_end(check, &record, end);
}

void check_operations_node_ended(struct check_operations *check, uint32_t node)
{
    for (uint32_t i = check->open.count; i-- > 0;) {
        if (check->open.items[i].begin.node != node)
            continue;
        check->counts.lost++;
        vec_remove(&check->open, i);
    }
}

void check_operations_at(struct check_operations *check, uint64_t now, uint32_t node,
                         uint64_t harm)
{
    for (uint32_t i = check->open.count; i-- > 0;) {
        struct record *record = &check->open.items[i];

        if (record->begin.node != node)
            continue;
        if (record->begin.harm != harm) {
            record->begin.harm = harm;
            record->due = due(now, record->begin.within);
        }
        if (now < record->due)
            continue;
        violation(check->verdict, "operation-ends", node, "operation %llu has not ended in its time",
                  (unsigned long long)record->begin.number);
        record->due = UINT64_MAX;
    }
}

uint32_t check_operations_open(const struct check_operations *check)
{
    return check->open.count;
}

struct check_operations_counts check_operations_counts(const struct check_operations *check)
{
    return check->counts;
}
