/* Keeps the regions that wait for a home, in the order of a look. */
#include "sim/check/check_homes.h"

#include <stdio.h>

#include "base/check.h"
#include "base/timers.h"
#include "base/vec.h"
#include "sim/world/verdict.h"

struct asking {
    uint32_t node;
    uint16_t type;
    int32_t shard;
    uint64_t since;
    bool is_told; /* the verdict has this one */
};

struct check_homes {
    struct verdict *verdict;
    uint64_t limit;
    uint64_t quiet_since;
    uint64_t judged_since; /* NEVER: not yet */
    bool is_quiet;
    uint64_t longest;
    uint64_t count;
    VEC(struct asking) asking; /* at the last look, in order */
    VEC(struct asking) found;  /* at this look, so far */
    uint32_t next; /* `asking` before this index is handled in this look */
};

struct check_homes *check_homes_new(struct verdict *verdict)
{
    struct check_homes *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    check->limit = CHECK_HOMES_NS;
    return check;
}

void check_homes_limit(struct check_homes *check, uint64_t limit)
{
    check->limit = limit;
}

void check_homes_free(struct check_homes *check)
{
    if (!check)
        return;
    vec_fini(&check->asking);
    vec_fini(&check->found);
    mem_free(check);
}

void check_homes_quiet(struct check_homes *check, uint64_t now, bool on)
{
    if (on == check->is_quiet)
        return;
    check->is_quiet = on;
    check->quiet_since = now;
    check->judged_since = NEVER;
    check->asking.count = check->found.count = check->next = 0;
}

void check_homes_judge(struct check_homes *check, uint64_t now)
{
    check(check->is_quiet);
    check->judged_since = now;
}

bool check_homes_is_quiet(const struct check_homes *check)
{
    return check->is_quiet;
}

/* Negative: left comes first in a look. */
static int compare(const struct asking *left, const struct asking *right)
{
    if (left->node != right->node)
        return left->node < right->node ? -1 : 1;
    if (left->type != right->type)
        return left->type < right->type ? -1 : 1;
    return (left->shard > right->shard) - (left->shard < right->shard);
}

void check_homes_asked(struct check_homes *check, uint64_t now, uint32_t node,
                       uint16_t type, int32_t shard)
{
    struct asking asking = {
        .node = node, .type = type, .shard = shard, .since = now
    };
    uint32_t found = check->found.count;

    check(check->is_quiet);
    check(!found || compare(&check->found.items[found - 1], &asking) < 0);
    while (check->next < check->asking.count &&
           compare(&check->asking.items[check->next], &asking) < 0) {
        check->next++;
        check->count++;
    }
    if (check->next < check->asking.count &&
        compare(&check->asking.items[check->next], &asking) == 0)
        asking = check->asking.items[check->next++];
    vec_push(&check->found, asking);
}

static void judge(struct check_homes *check, struct asking *asking,
                  uint64_t now)
{
    uint64_t since = asking->since > check->judged_since ? asking->since
                                                         : check->judged_since;
    uint64_t time = since < now ? now - since : 0;

    if (check->longest < time)
        check->longest = time;
    if (asking->is_told || time <= check->limit)
        return;
    asking->is_told = true;
    violation(check->verdict, "homes-available", asking->node,
              "the home of shard %d of type %u is asked for, and not told for %llu ms",
              asking->shard, asking->type, (unsigned long long)(time / MS));
}

void check_homes_looked(struct check_homes *check, uint64_t now)
{
    check->count += check->asking.count - check->next;
    check->asking.count = check->next = 0;
    for (uint32_t i = 0; i < check->found.count; i++) {
        judge(check, &check->found.items[i], now);
        vec_push(&check->asking, check->found.items[i]);
    }
    check->found.count = 0;
}

bool check_homes_answered(const struct check_homes *check, char *text,
                          size_t size)
{
    uint32_t open = 0;

    for (uint32_t i = 0; i < check->asking.count; i++) {
        const struct asking *asking = &check->asking.items[i];

        if (asking->since > check->quiet_since || open++)
            continue;
        (void)snprintf(text, size,
                       "n%u asks for the home of shard %d of type %u",
                       asking->node, asking->shard,
                       asking->type); /* cut at size */
    }
    return !open;
}

uint64_t check_homes_longest(const struct check_homes *check)
{
    return check->longest;
}

uint64_t check_homes_count(const struct check_homes *check)
{
    return check->count;
}
