/* Checks requests for allocations and homes of shards. */
#include "sim/check/check_allocation.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/check.h"
#include "shard/shard_id.h"
#include "sim/check/facts.h"
#include "sim/world/verdict.h"

/* A request that has not ended. */
struct open_request {
    uint32_t node;
    uint16_t type;
    int32_t shard;
    uint64_t number;
    uint64_t since; /* ns; pauses of the node are added */
    bool is_late;   /* and reported */
    bool has_answer; /* it waits for its coordinator */
};

struct check_allocation {
    struct verdict *verdict;
    uint64_t limit;
    VEC(struct open_request) open;
    struct check_allocation_counts counts;
};

struct check_allocation *check_allocation_new(struct verdict *verdict)
{
    struct check_allocation *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    check->limit = CHECK_ALLOCATION_OPEN_NS;
    return check;
}

void check_allocation_free(struct check_allocation *check)
{
    if (!check)
        return;
    vec_fini(&check->open);
    mem_free(check);
}

void check_allocation_limit(struct check_allocation *check, uint64_t limit)
{
    check->limit = limit;
}

static void asked(struct check_allocation *check, uint64_t now, uint32_t node,
                  const struct probe *probe)
{
    check->counts.asked++;
    for (uint32_t i = 0; i < check->open.count; i++) {
        const struct open_request *open = &check->open.items[i];

        if (open->node == node && open->type == probe->type &&
            (open->shard == probe->shard || open->number == probe->first))
            violation(check->verdict, "allocation-ends-once", node,
                      "request %" PRIu64 " for shard %d of type %u, while "
                      "request %" PRIu64 " for shard %d is open",
                      probe->first, (int)probe->shard, probe->type,
                      open->number, (int)open->shard);
    }
    vec_push(&check->open, ((struct open_request){ node, probe->type,
                                                   probe->shard, probe->first,
                                                   now, false, false }));
}

static void ended(struct check_allocation *check, uint32_t node,
                  const struct probe *probe)
{
    check(probe->second < PROBE_ALLOCATION_COUNT);
    check->counts.ended[probe->second]++;
    for (uint32_t i = 0; i < check->open.count; i++) {
        const struct open_request *open = &check->open.items[i];

        if (open->node != node || open->number != probe->first ||
            open->type != probe->type || open->shard != probe->shard)
            continue;
        vec_remove(&check->open, i);
        return;
    }
    violation(check->verdict, "allocation-ends-once", node,
              "request %" PRIu64 " for shard %d of type %u ends, but is not open",
              probe->first, (int)probe->shard, probe->type);
}

static void answered(struct check_allocation *check, uint32_t node, const struct probe *probe)
{
    for (uint32_t i = 0; i < check->open.count; i++) {
        struct open_request *open = &check->open.items[i];

        if (open->node == node && open->number == probe->first && open->type == probe->type &&
            open->shard == probe->shard)
            open->has_answer = true;
    }
}

void check_allocation_probe(struct check_allocation *check, uint64_t now,
                            uint32_t node, const struct probe *probe)
{
    if (probe->kind == PROBE_ALLOCATION_ASKED)
        asked(check, now, node, probe);
    else if (probe->kind == PROBE_ALLOCATION_ENDED)
        ended(check, node, probe);
    else if (probe->kind == PROBE_ALLOCATION_ANSWER)
        answered(check, node, probe);
}

void check_allocation_node_ended(struct check_allocation *check, uint32_t node)
{
    for (uint32_t i = check->open.count; i-- > 0;)
        if (check->open.items[i].node == node)
            vec_remove(&check->open, i);
}

void check_allocation_paused(struct check_allocation *check, uint32_t node,
                             uint64_t time)
{
    for (uint32_t i = 0; i < check->open.count; i++)
        if (check->open.items[i].node == node)
            check->open.items[i].since += time;
}

void check_allocation_look(struct check_allocation *check, uint64_t now)
{
    for (uint32_t i = 0; i < check->open.count; i++) {
        struct open_request *open = &check->open.items[i];

        if (open->is_late || open->has_answer || now < open->since + check->limit)
            continue;
        open->is_late = true;
        violation(check->verdict, "allocation-ends-once", open->node,
                  "request %" PRIu64 " for shard %d of type %u is open for "
                  "%" PRIu64 " s",
                  open->number, (int)open->shard, open->type,
                  (now - open->since) / 1000000000);
    }
}

struct check_allocation_counts
check_allocation_counts(const struct check_allocation *check)
{
    return check->counts;
}

/* ---- homes ---- */

bool check_allocation_holds(const struct check_allocation_home *homes,
                            uint32_t home_count, const struct address *regions,
                            uint32_t count, check_allocation_wanted *wanted,
                            const void *arg, char *text, size_t size)
{
    char here[ADDRESS_TEXT_MAX], there[ADDRESS_TEXT_MAX];

    for (uint32_t i = 0; i < home_count; i++) {
        uint32_t at;

        if (!wanted(arg, homes[i].shard, regions, count, &at) ||
            address_equal(&homes[i].address, &regions[at]))
            continue;
        (void)snprintf(text, size, "shard %d is at %s and should be at %s",
                       (int)homes[i].shard,
                       address_text(&homes[i].address, here, sizeof here),
                       address_text(&regions[at], there, sizeof there));
        return false;
    }
    return true;
}

void check_allocation_ring_make(struct allocation_ring *ring,
                                const struct address *regions, uint32_t count,
                                uint32_t shards, double load_bound)
{
    struct slice *names = mem_alloc(count * sizeof *names);
    char(*texts)[ADDRESS_TEXT_MAX + 16] = mem_alloc(count * sizeof *texts);

    for (uint32_t i = 0; i < count; i++) {
        char address[ADDRESS_TEXT_MAX];

        (void)snprintf(texts[i], sizeof texts[i], "akka://World@%s",
                       address_text(&regions[i], address, sizeof address));
        names[i] = slice_text(texts[i]);
    }
    allocation_ring_make(ring, names, count);
    if (load_bound >= 1)
        allocation_ring_bound(ring, count, shards, load_bound);
    mem_free(texts);
    mem_free(names);
}

bool check_allocation_by_ring(const void *arg, int32_t shard,
                              const struct address *regions, uint32_t count,
                              uint32_t *wanted)
{
    char text[SHARD_TEXT_MAX];

    (void)regions;
    (void)count;
    *wanted = allocation_ring_find(arg, shard_text(shard, text));
    return true;
}
