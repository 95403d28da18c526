/* Chooses the side of a partition that stays, and marks the members that a decision downs. */
#include "resolver/strategy.h"

#include <string.h>

#include "base/check.h"
#include "base/text.h"

const char *strategy_text(enum strategy_kind kind)
{
    switch (kind) {
        STRATEGIES(TEXT_CASE)
    }
    return "?";
}

bool strategy_parse(const char *text, enum strategy_kind *kind)
{
#define X(name, word)                                                          \
    if (strcmp(text, word) == 0) {                                             \
        *kind = name;                                                          \
        return true;                                                           \
    }
    STRATEGIES(X)
#undef X
    return false;
}

const char *decision_text(enum decision decision)
{
    switch (decision) {
        DECISIONS(TEXT_CASE)
    }
    return "?";
}

bool decision_needs_lease(enum decision decision)
{
    return decision == DECISION_LEASE_UNREACHABLE ||
           decision == DECISION_LEASE_INDIRECT;
}

enum decision decision_reverse(enum decision decision)
{
    check(decision_needs_lease(decision));
    return decision == DECISION_LEASE_INDIRECT ? DECISION_REVERSE_INDIRECT
                                               : DECISION_REACHABLE;
}

static bool is_joining(const struct kept_member *member)
{
    return member->status == MEMBER_JOINING || member->status == MEMBER_WEAKLY_UP;
}

/* Down and exiting members leave anyway. */
static bool is_downable(const struct kept_member *member)
{
    return member->status != MEMBER_DOWN && member->status != MEMBER_EXITING &&
           member->status != MEMBER_REMOVED;
}

/* Statuses that a count includes or excludes, besides up. */
struct scope {
    bool with_joining;
    bool without_leaving;
};

static const struct scope SETTLED = { .with_joining = false };

static bool in_scope(const struct kept_member *member, struct scope scope)
{
    return member->has_role && is_downable(member) &&
           (scope.with_joining || !is_joining(member)) &&
           (!scope.without_leaving || member->status != MEMBER_LEAVING);
}

/* Counts reachable members, or unreachable ones. */
static uint32_t count(const struct side *side, struct scope scope,
                      bool reachable)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < side->member_count; i++)
        found += in_scope(&side->members[i], scope) &&
                 side->members[i].reachable == reachable;
    return found;
}

/* The member with the lowest address; null if none counts. */
static const struct kept_member *lowest_of(const struct side *side,
                                           struct scope scope)
{
    for (uint32_t i = 0; i < side->member_count; i++)
        if (in_scope(&side->members[i], scope))
            return &side->members[i];
    return NULL;
}

static const struct kept_member *oldest_of(const struct side *side,
                                           struct scope scope)
{
    const struct kept_member *oldest = NULL;

    /* Members come by address, which decides between equal numbers. */
    for (uint32_t i = 0; i < side->member_count; i++)
        if (in_scope(&side->members[i], scope) &&
            (!oldest || side->members[i].up_number < oldest->up_number))
            oldest = &side->members[i];
    return oldest;
}

uint32_t strategy_size(const struct side *side)
{
    return count(side, SETTLED, true) + count(side, SETTLED, false);
}

bool strategy_too_many(const struct strategy *strategy,
                       const struct side *side)
{
    return strategy->kind == STRATEGY_STATIC_QUORUM &&
           strategy_size(side) > 2 * (uint64_t)strategy->quorum_size - 1;
}

/* ---- indirectly connected nodes ---- */

enum {
    OBSERVES = 1,
    OBSERVED = 2,
    BETWEEN = OBSERVES | OBSERVED, /* alive for both ends of a cut */
    HAS_SEEN = 4 /* the subject has seen the gossip, so it is connected, and so is its observer */
};

static void mark_indirect(const struct side *side, uint8_t *marks)
{
    memset(marks, 0, side->member_count);
    for (uint32_t i = 0; i < side->record_count; i++) {
        const struct side_record *record = &side->records[i];

        marks[record->observer] |= OBSERVES;
        marks[record->subject] |= OBSERVED;
        if (side->members[record->subject].seen) {
            marks[record->observer] |= HAS_SEEN;
            marks[record->subject] |= HAS_SEEN;
        }
    }
}

static bool is_indirect(uint8_t mark)
{
    return (mark & BETWEEN) == BETWEEN || (mark & HAS_SEEN);
}

static uint8_t *new_marks(const struct side *side)
{
    uint8_t *marks = mem_alloc(side->member_count + 1);

    mark_indirect(side, marks);
    return marks;
}

uint32_t strategy_indirect(const struct side *side, bool *indirect)
{
    uint8_t *marks = new_marks(side);
    uint32_t found = 0;

    for (uint32_t i = 0; i < side->member_count; i++) {
        indirect[i] = is_indirect(marks[i]);
        found += indirect[i];
    }
    mem_free(marks);
    return found;
}

static bool has_indirect(const struct side *side)
{
    uint8_t *marks;
    bool found = false;

    if (!side->record_count)
        return false;
    marks = new_marks(side);
    for (uint32_t i = 0; i < side->member_count && !found; i++)
        found = is_indirect(marks[i]);
    mem_free(marks);
    return found;
}

/* ---- the strategies ---- */

static enum decision decide_quorum(const struct strategy *strategy,
                                   const struct side *side)
{
    if (strategy_too_many(strategy, side))
        return DECISION_ALL;
    if (has_indirect(side))
        return DECISION_INDIRECT;
    return count(side, SETTLED, true) >= strategy->quorum_size
               ? DECISION_UNREACHABLE
               : DECISION_REACHABLE;
}

static bool is_majority(uint32_t here, uint32_t there,
                        const struct kept_member *lowest)
{
    return here == there ? lowest->reachable : here > there;
}

/* The leader alone moves members to up: the lowest settled member, whatever its role. */
static const struct kept_member *leader_of(const struct side *side)
{
    for (uint32_t i = 0; i < side->member_count; i++)
        if (is_downable(&side->members[i]) && !is_joining(&side->members[i]))
            return &side->members[i];
    return NULL;
}

/* The member with the lowest address once leaving members are gone. Akka looks at settled members
 * only.
 * If the leader has no counted role and is on the other side, a joining member may be up there and
 * be lower. Then both sides would stay. A leader that counts is lower than its joiners. If it
 * leaves, its side is too small without it. */
static const struct kept_member *lowest_changed(const struct strategy *strategy,
                                                const struct side *side)
{
    struct scope staying = { .without_leaving = true };
    struct scope joined = { .with_joining = true, .without_leaving = true };
    const struct kept_member *leader = leader_of(side);
    bool moves = strategy->joining_breaks_tie && leader &&
                 !leader->reachable && !leader->has_role;

    for (uint32_t i = 0; i < side->member_count; i++) {
        const struct kept_member *member = &side->members[i];

        if (in_scope(member, member->reachable || !moves ? staying : joined))
            return member;
    }
    return NULL;
}

/* True if this side is still the majority after all changes that the other side may have seen. */
static bool stays_majority(const struct strategy *strategy,
                           const struct side *side)
{
    struct scope here = { .without_leaving = true };
    struct scope there = { .with_joining = true };

    return lowest_of(side, here) &&
           is_majority(count(side, here, true), count(side, there, false),
                       lowest_changed(strategy, side));
}

static enum decision decide_majority(const struct strategy *strategy,
                                     const struct side *side)
{
    const struct kept_member *lowest = lowest_of(side, SETTLED);

    if (has_indirect(side))
        return DECISION_INDIRECT;
    if (!lowest)
        return DECISION_ALL;
    if (!is_majority(count(side, SETTLED, true), count(side, SETTLED, false),
                     lowest))
        return DECISION_REACHABLE;
    return stays_majority(strategy, side) ? DECISION_UNREACHABLE : DECISION_ALL;
}

static bool keeps(const struct strategy *strategy, bool oldest_here,
                  uint32_t here, uint32_t there)
{
    if (oldest_here)
        return strategy->keeps_alone || here != 1 || there < 2;
    return !strategy->keeps_alone && there == 1 && here >= 2;
}

static enum decision decide_oldest(const struct strategy *strategy,
                                   const struct side *side)
{
    /* Leaving members may be gone on the other side. Joining ones may be up there. */
    struct scope changed = { .with_joining = !strategy->keeps_alone,
                             .without_leaving = true };
    struct scope staying = { .without_leaving = true };
    const struct kept_member *oldest = oldest_of(side, SETTLED);

    if (has_indirect(side))
        return DECISION_INDIRECT;
    if (!oldest)
        return DECISION_ALL;
    if (!keeps(strategy, oldest->reachable, count(side, SETTLED, true),
               count(side, SETTLED, false)))
        return DECISION_REACHABLE;
    oldest = oldest_of(side, staying);
    return oldest && keeps(strategy, oldest->reachable,
                           count(side, changed, true),
                           count(side, changed, false))
               ? DECISION_UNREACHABLE
               : DECISION_ALL;
}

enum decision strategy_decide(const struct strategy *strategy,
                              const struct side *side)
{
    switch (strategy->kind) {
    case STRATEGY_KEEP_MAJORITY:
        return decide_majority(strategy, side);
    case STRATEGY_STATIC_QUORUM:
        return decide_quorum(strategy, side);
    case STRATEGY_KEEP_OLDEST:
        return decide_oldest(strategy, side);
    case STRATEGY_DOWN_ALL:
        break;
    case STRATEGY_LEASE_MAJORITY:
        return has_indirect(side) ? DECISION_LEASE_INDIRECT
                                  : DECISION_LEASE_UNREACHABLE;
    }
    return DECISION_ALL;
}

uint64_t strategy_lease_delay(const struct strategy *strategy,
                              const struct side *side)
{
    const struct kept_member *lowest = lowest_of(side, SETTLED);

    if (!lowest || has_indirect(side) ||
        is_majority(count(side, SETTLED, true), count(side, SETTLED, false),
                    lowest))
        return 0;
    return strategy->minority_delay;
}

/* ---- the members of a decision ---- */

/* Returns what the side would see without the cuts between its indirectly connected nodes: the rest
 * of the partition. */
static void without_cuts(const struct side *side, const uint8_t *marks,
                         struct side *rest, struct kept_member *members,
                         struct side_record *records)
{
    *rest = *side;
    rest->members = members;
    rest->records = records;
    rest->record_count = 0;
    for (uint32_t i = 0; i < side->member_count; i++) {
        members[i] = side->members[i];
        members[i].reachable = true;
    }
    for (uint32_t i = 0; i < side->record_count; i++) {
        struct side_record record = side->records[i];
        uint8_t observer = marks[record.observer];
        uint8_t subject = marks[record.subject];

        if (!is_downable(&side->members[record.observer]) ||
            !is_downable(&side->members[record.subject]) ||
            ((observer & BETWEEN) == BETWEEN &&
             (subject & BETWEEN) == BETWEEN) ||
            (observer & subject & HAS_SEEN))
            continue;
        records[rest->record_count++] = record;
        members[record.subject].reachable = false;
    }
}

static bool all_indirect(const struct side *side, const uint8_t *marks)
{
    for (uint32_t i = 0; i < side->member_count; i++)
        if (!side->members[i].reachable && !is_indirect(marks[i]))
            return false;
    return true;
}

static bool is_indirect_decision(enum decision decision)
{
    return decision == DECISION_INDIRECT ||
           decision == DECISION_LEASE_INDIRECT ||
           decision == DECISION_REVERSE_INDIRECT;
}

/* Adds members that the plain rules down to the indirectly connected ones. False: the rest has
 * indirectly connected ones again. */
static bool add_targets(const struct strategy *strategy,
                        const struct side *side, const uint8_t *marks,
                        bool *down)
{
    struct kept_member *members;
    struct side_record *records;
    struct side rest;
    enum decision decision;

    if (all_indirect(side, marks)) {
        memset(down, 0, side->member_count * sizeof *down);
        return true;
    }
    members = mem_alloc(side->member_count * sizeof *members);
    records = mem_alloc((side->record_count + 1) * sizeof *records);
    without_cuts(side, marks, &rest, members, records);
    decision = strategy_decide(strategy, &rest);
    if (!is_indirect_decision(decision))
        (void)strategy_targets(strategy, &rest, decision, down);
    mem_free(members);
    mem_free(records);
    return !is_indirect_decision(decision);
}

static bool is_target(const struct side *side, enum decision decision,
                      uint32_t index, bool indirect)
{
    const struct kept_member *member = &side->members[index];

    switch (decision) {
    case DECISION_UNREACHABLE:
    case DECISION_LEASE_UNREACHABLE:
        return !member->reachable;
    case DECISION_REACHABLE:
        return member->reachable;
    case DECISION_ALL:
        return true;
    case DECISION_INDIRECT:
    case DECISION_LEASE_INDIRECT:
        return indirect;
    case DECISION_REVERSE_INDIRECT:
        return indirect || member->reachable;
    case DECISION_SELF:
        break;
    }
    return false;
}

uint32_t strategy_targets(const struct strategy *strategy,
                          const struct side *side, enum decision decision,
                          bool *down)
{
    uint8_t *marks = new_marks(side);
    uint32_t found = 0;

    memset(down, 0, side->member_count * sizeof *down);
    if ((decision == DECISION_INDIRECT ||
         decision == DECISION_LEASE_INDIRECT) &&
        !add_targets(strategy, side, marks, down))
        decision = DECISION_ALL;
    for (uint32_t i = 0; i < side->member_count; i++) {
        down[i] = is_downable(&side->members[i]) &&
                  (down[i] ||
                   is_target(side, decision, i, is_indirect(marks[i])));
        found += down[i];
    }
    mem_free(marks);
    return found;
}
