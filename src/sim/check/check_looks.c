/* Implements check_looks.h. */
#include "sim/check/check_looks.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/vec.h"
#include "sim/world/verdict.h"

#define RULE "look-ends-once"
#define SUMS_MAX ACTOR_TYPES_MAX /* rows of the last node in a page of types */

struct record {
    uint64_t number;
    uint32_t node;
    uint32_t count;
    uint64_t within;
    uint64_t due;
    uint64_t harm;
    bool is_whole;
    bool is_cancelled;
    uint64_t *uids; /* owned */
    uint32_t uid_count;
};

struct check_looks {
    struct verdict *verdict;
    VEC(struct record) open;
    struct check_looks_counts counts;
};

struct check_looks *check_looks_new(struct verdict *verdict)
{
    struct check_looks *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    return check;
}

void check_looks_free(struct check_looks *check)
{
    if (!check)
        return;
    for (uint32_t i = 0; i < check->open.count; i++)
        mem_free(check->open.items[i].uids);
    vec_fini(&check->open);
    mem_free(check);
}

/* Clocks differ by a twentieth. */
static uint64_t due(uint64_t now, uint64_t within)
{
    return now + within + within / 10 + CHECK_LOOKS_LATE_NS;
}

void check_looks_begun(struct check_looks *check, const struct check_looks_begin *begin)
{
    struct record record = {
        .number = begin->number,
        .node = begin->node,
        .count = begin->count,
        .within = begin->within,
        .due = due(begin->now, begin->within),
        .harm = begin->harm,
        .is_whole = begin->is_whole,
        .uid_count = begin->uid_count,
    };

    if (begin->uid_count)
        record.uids = mem_copy(begin->uids, begin->uid_count * sizeof *begin->uids);
    vec_push(&check->open, record);
    check->counts.begun++;
}

/* Returns the place of a look, or the number of open ones. */
static uint32_t place_of(const struct check_looks *check, uint64_t number)
{
    uint32_t at = 0;

    while (at < check->open.count && check->open.items[at].number != number)
        at++;
    return at;
}

void check_looks_cancelled(struct check_looks *check, uint64_t number)
{
    uint32_t at = place_of(check, number);

    if (at < check->open.count)
        check->open.items[at].is_cancelled = true;
}

static bool has_uid(const uint64_t *uids, uint32_t count, uint64_t uid)
{
    for (uint32_t i = 0; i < count; i++)
        if (uids[i] == uid)
            return true;
    return false;
}

static uint32_t parts_of(const struct sherd_look_page *page, uint64_t uid)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < page->part_count; i++)
        count += page->parts[i].uid == uid;
    return count;
}

static void judge_parts(struct check_looks *check, const struct record *record,
                        const struct check_looks_end *end)
{
    const struct sherd_look_page *page = end->page;
    bool is_partial = false;

    for (uint32_t i = 0; i < page->part_count; i++) {
        bool is_ok = page->parts[i].state == SHERD_LOOK_OK;

        check->counts.missing += !is_ok;
        is_partial = is_partial || !is_ok;
        if (is_ok && !page->parts[i].wall_ms)
            violation(check->verdict, RULE, record->node, "a part of %s is ok without an answer",
                      page->parts[i].address);
        if (parts_of(page, page->parts[i].uid) != 1)
            violation(check->verdict, RULE, record->node, "a page has two parts of %s",
                      page->parts[i].address);
    }
    if (is_partial != (page->is_partial != 0))
        violation(check->verdict, RULE, record->node, "a page does not say whether it is partial");
    if (!record->is_whole || page->next.size)
        return;
    for (uint32_t i = 0; i < record->uid_count; i++)
        if (has_uid(end->uids, end->uid_count, record->uids[i]) &&
            !parts_of(page, record->uids[i]))
            violation(check->verdict, RULE, record->node,
                      "the page of a look has no part of the member with the UID %llu",
                      (unsigned long long)record->uids[i]);
}

static void judge_page(struct check_looks *check, const struct record *record,
                       const struct check_looks_end *end)
{
    uint32_t most = record->count + (end->page->kind == SHERD_LOOK_TYPES ? SUMS_MAX : 0);

    check->counts.rows += end->page->row_count;
    check->counts.parts += end->page->part_count;
    if (end->page->row_count > most)
        violation(check->verdict, RULE, record->node, "a page of at most %u rows has %u", most,
                  end->page->row_count);
    if (end->bytes > LOOK_PAGE_BYTES_MAX + LOOK_PART_BYTES_MAX || end->asked)
        violation(check->verdict, RULE, record->node,
                  "a look that has ended holds %llu bytes and awaits %u answers",
                  (unsigned long long)end->bytes, end->asked);
    judge_parts(check, record, end);
}

void check_looks_ended(struct check_looks *check, const struct check_looks_end *end)
{
    uint32_t at = place_of(check, end->number);
    struct record record;

    if (at == check->open.count) {
        violation(check->verdict, RULE, end->node, "look %llu ends a second time",
                  (unsigned long long)end->number);
        return;
    }
    record = check->open.items[at];
    vec_remove(&check->open, at);
    check->counts.ended++;
    check->counts.cancelled += end->result == SHERD_ESTATE;
    check->counts.refused += end->result == SHERD_EFULL;
    if (!end->result)
        judge_page(check, &record, end);
    else if (!(end->result == SHERD_ESTATE && record.is_cancelled) && end->result != SHERD_EFULL)
        violation(check->verdict, RULE, end->node, "look %llu ends with the error %d",
                  (unsigned long long)end->number, end->result);
    mem_free(record.uids);
}

void check_looks_node_ended(struct check_looks *check, uint32_t node)
{
    for (uint32_t i = check->open.count; i-- > 0;) {
        if (check->open.items[i].node != node)
            continue;
        mem_free(check->open.items[i].uids);
        vec_remove(&check->open, i);
        check->counts.lost++;
    }
}

void check_looks_at(struct check_looks *check, uint64_t now, uint32_t node, uint64_t harm)
{
    for (uint32_t i = 0; i < check->open.count; i++) {
        struct record *record = &check->open.items[i];

        if (record->node != node)
            continue;
        if (record->harm != harm) {
            record->harm = harm;
            record->due = due(now, record->within);
        }
        if (now <= record->due)
            continue;
        violation(check->verdict, RULE, node, "look %llu of %llu ms has not ended in time",
                  (unsigned long long)record->number,
                  (unsigned long long)(record->within / 1000000));
        record->due = UINT64_MAX; /* said once */
    }
}

uint32_t check_looks_open(const struct check_looks *check)
{
    return check->open.count;
}

struct check_looks_counts check_looks_counts(const struct check_looks *check)
{
    return check->counts;
}
