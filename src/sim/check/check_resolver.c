/* Records all decisions to go on. */
#include "sim/check/check_resolver.h"

#include <string.h>

#include "base/check.h"
#include "base/member_info.h"
#include "base/vec.h"
#include "sim/world/verdict.h"

/* A side that goes on. */
struct stay {
    uint32_t node; /* the decider */
    bool has_ended;
    uint32_t count; /* of the members */
    uint32_t kept_count;
    uint64_t *uids; /* of the members, in the order of nodes */
    bool *kept;
};

struct check_resolver {
    struct verdict *verdict;
    const struct check_lease *lease;
    VEC(struct stay) stays;
    struct check_resolver_counts counts;
};

struct check_resolver *check_resolver_new(struct verdict *verdict,
                                    const struct check_lease *lease)
{
    struct check_resolver *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    check->lease = lease;
    return check;
}

static void stay_fini(struct stay *stay)
{
    mem_free(stay->uids);
    mem_free(stay->kept);
}

void check_resolver_free(struct check_resolver *check)
{
    if (!check)
        return;
    for (uint32_t i = 0; i < check->stays.count; i++)
        stay_fini(&check->stays.items[i]);
    vec_fini(&check->stays);
    mem_free(check);
}

/* Aligned evidence; the caller frees it. */
struct picture {
    struct probe_side *members;
    struct probe_unreached *records;
    size_t member_count;
    size_t record_count;
};

static struct picture picture_of(const struct probe *probe)
{
    struct picture picture = { .member_count = (size_t)probe->first };
    size_t size = picture.member_count * sizeof *picture.members;

    check(size <= probe->bytes.size);
    picture.record_count =
        (probe->bytes.size - size) / sizeof *picture.records;
    picture.members = mem_copy(probe->bytes.data, size);
    picture.records = mem_copy(probe->bytes.data + size,
                               picture.record_count * sizeof *picture.records);
    return picture;
}

static void picture_fini(struct picture *picture)
{
    mem_free(picture->members);
    mem_free(picture->records);
}

/* Members that are down do not count. */
static bool is_settled(const struct picture *picture)
{
    for (size_t i = 0; i < picture->member_count; i++) {
        const struct probe_side *member = &picture->members[i];

        if (member->status != MEMBER_DOWN &&
            (member->status != MEMBER_UP || !member->has_role))
            return false;
    }
    return true;
}

static bool has_seen(const struct picture *picture, uint64_t uid)
{
    for (size_t i = 0; i < picture->member_count; i++)
        if (picture->members[i].uid == uid)
            return picture->members[i].seen;
    return false;
}

/* No member is indirectly connected (docs/protocol/downing.md). */
static bool is_clean(const struct picture *picture)
{
    for (size_t i = 0; i < picture->record_count; i++) {
        if (has_seen(picture, picture->records[i].subject))
            return false;
        for (size_t j = 0; j < picture->record_count; j++)
            if (picture->records[i].observer == picture->records[j].subject)
                return false;
    }
    return true;
}

static bool downs(const struct picture *picture, uint64_t uid)
{
    for (size_t i = 0; i < picture->member_count; i++)
        if (picture->members[i].uid == uid)
            return picture->members[i].downed;
    return false;
}

static struct stay stay_of(uint32_t node,
                                   const struct picture *picture)
{
    struct stay stay = { .node = node };

    stay.uids =
        mem_alloc((picture->member_count + 1) * sizeof *stay.uids);
    stay.kept =
        mem_alloc((picture->member_count + 1) * sizeof *stay.kept);
    for (size_t i = 0; i < picture->member_count; i++) {
        const struct probe_side *member = &picture->members[i];

        if (member->status == MEMBER_DOWN)
            continue;
        stay.uids[stay.count] = member->uid;
        stay.kept[stay.count++] = !member->downed;
        stay.kept_count += !member->downed;
    }
    return stay;
}

static bool has_same_members(const struct stay *stay,
                             const struct stay *other)
{
    return stay->count == other->count &&
           memcmp(stay->uids, other->uids,
                  stay->count * sizeof *stay->uids) == 0;
}

static bool keep_one_in_common(const struct stay *stay,
                               const struct stay *other)
{
    for (uint32_t i = 0; i < stay->count; i++)
        if (stay->kept[i] && other->kept[i])
            return true;
    return false;
}

static void judge(struct check_resolver *check, enum strategy_kind kind,
                  const struct stay *stay)
{
    for (uint32_t i = 0; i < check->stays.count; i++) {
        const struct stay *other = &check->stays.items[i];

        if (!has_same_members(stay, other) ||
            (kind == STRATEGY_LEASE_MAJORITY &&
             (other->has_ended ||
              !check_lease_is_held(check->lease, other->node))))
            continue;
        check->counts.compared++;
        if (!keep_one_in_common(stay, other))
            violation(check->verdict, "no-split-brain", stay->node,
                      "both sides of a partition go on under %s: it keeps %u "
                      "of %u, and node %u keeps %u others",
                      strategy_text(kind), stay->kept_count,
                      stay->count, other->node, other->kept_count);
    }
}

void check_resolver_node_ended(struct check_resolver *check, uint32_t node)
{
    for (uint32_t i = 0; i < check->stays.count; i++)
        check->stays.items[i].has_ended |=
            check->stays.items[i].node == node;
}

void check_resolver_resolved(struct check_resolver *check, uint32_t node,
                          enum strategy_kind kind, const struct probe *probe)
{
    struct picture picture = picture_of(probe);
    struct stay stay;

    check->counts.decided++;
    if (downs(&picture, probe->node.uid)) {
        check->counts.ended++;
    } else if (!is_settled(&picture)) {
        check->counts.unsettled++;
    } else if (!is_clean(&picture)) {
        check->counts.unclean++;
    } else {
        stay = stay_of(node, &picture);
        judge(check, kind, &stay);
        vec_push(&check->stays, stay);
    }
    picture_fini(&picture);
}

struct check_resolver_counts check_resolver_counts(const struct check_resolver *check)
{
    return check->counts;
}
