/* Merges the pruning markers of two replicas. */
#include "ddata/pruning.h"

#include "base/mark.h"
#include "base/sorted.h"

static void mark_fini(struct pruning_mark *mark)
{
    seen_fini(&mark->seen);
}

void pruning_fini(struct pruning *pruning)
{
    for (uint32_t i = 0; i < pruning->marks.count; i++)
        mark_fini(&pruning->marks.items[i]);
    vec_fini(&pruning->marks);
}

static void mark_copy(struct pruning_mark *to, const struct pruning_mark *from)
{
    *to = *from;
    seen_copy(&to->seen, &from->seen);
}

void pruning_copy(struct pruning *to, const struct pruning *from)
{
    for (uint32_t i = 0; i < from->marks.count; i++) {
        vec_grow(&to->marks);
        mark_copy(&to->marks.items[to->marks.count++], &from->marks.items[i]);
    }
}

static bool mark_equal(const struct pruning_mark *left,
                       const struct pruning_mark *right)
{
    if (left->is_performed != right->is_performed ||
        !node_equal(&left->removed, &right->removed))
        return false;
    if (left->is_performed)
        return left->obsolete_at == right->obsolete_at;
    return node_equal(&left->owner, &right->owner) &&
           seen_equal(&left->seen, &right->seen);
}

bool pruning_equal(const struct pruning *left, const struct pruning *right)
{
    if (left->marks.count != right->marks.count)
        return false;
    for (uint32_t i = 0; i < left->marks.count; i++)
        if (!mark_equal(&left->marks.items[i], &right->marks.items[i]))
            return false;
    return true;
}

static int mark_order(const void *item, const void *key)
{
    const struct pruning_mark *mark = item;

    return node_compare(&mark->removed, key);
}

struct pruning_mark *pruning_find(const struct pruning *pruning,
                                  const struct node_id *removed)
{
    uint32_t at = sorted_vec_place(&pruning->marks, mark_order, removed);

    return at < pruning->marks.count &&
                   node_equal(&pruning->marks.items[at].removed, removed)
               ? &pruning->marks.items[at]
               : NULL;
}

struct pruning_mark *pruning_put(struct pruning *pruning,
                                 const struct node_id *removed)
{
    struct pruning_mark *mark = pruning_find(pruning, removed);
    struct node_id node = *removed; /* it may point into the array */

    if (mark) {
        mark_fini(mark);
    } else {
        uint32_t at = sorted_vec_place(&pruning->marks, mark_order, removed);

        vec_grow(&pruning->marks);
        mark = &pruning->marks.items[at];
        memmove(mark + 1, mark, (pruning->marks.count++ - at) * sizeof *mark);
    }
    *mark = (struct pruning_mark){ .removed = node };
    return mark;
}

void pruning_take(struct pruning *pruning, const struct node_id *removed)
{
    struct pruning_mark *mark = pruning_find(pruning, removed);

    if (!mark)
        return;
    mark_fini(mark);
    vec_remove(&pruning->marks, (uint32_t)(mark - pruning->marks.items));
}

void pruning_leave_own(struct pruning *pruning)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < pruning->marks.count; i++) {
        struct pruning_mark *mark = &pruning->marks.items[i];

        if (mark->is_own)
            pruning->marks.items[count++] = *mark;
        else
            mark_fini(mark);
    }
    pruning->marks.count = count;
}

bool pruning_is_seen(const struct pruning_mark *mark,
                     const struct address *address)
{
    return seen_has(&mark->seen, address);
}

void pruning_see(struct pruning_mark *mark, const struct address *address)
{
    (void)seen_add(&mark->seen, address); /* it may be present */
}

bool pruning_begun(const struct pruning *pruning)
{
    for (uint32_t i = 0; i < pruning->marks.count; i++)
        if (!pruning->marks.items[i].is_performed)
            return true;
    return false;
}

bool pruning_see_all(struct pruning *pruning, const struct address *address)
{
    bool is_changed = false;

    for (uint32_t i = 0; i < pruning->marks.count; i++) {
        struct pruning_mark *mark = &pruning->marks.items[i];

        if (mark->is_performed ||
            address_equal(&mark->owner.address, address))
            continue;
        is_changed = seen_add(&mark->seen, address) || is_changed;
    }
    return is_changed;
}

void pruning_perform(struct pruning_mark *mark, int64_t obsolete_at)
{
    seen_fini(&mark->seen);
    memset(&mark->owner, 0, sizeof mark->owner);
    mark->is_performed = true;
    mark->obsolete_at = obsolete_at;
}

static void mark_merge(struct pruning_mark *mark,
                       const struct pruning_mark *other)
{
    if (mark->is_performed || other->is_performed) {
        if (!mark->is_performed)
            pruning_perform(mark, other->obsolete_at);
        else if (other->is_performed && other->obsolete_at > mark->obsolete_at)
            mark->obsolete_at = other->obsolete_at;
        mark->is_pekko = mark->is_pekko || other->is_pekko;
        mark->is_own = mark->is_own || other->is_own; /* for the hidden part and later work */
    } else if (node_equal(&mark->owner, &other->owner)) {
        seen_merge(&mark->seen, &other->seen);
    } else if (node_compare(&mark->owner, &other->owner) > 0) {
        REACHED("two members have begun to prune the same member");
        /* Akka compares only addresses; the uid gives both sides the same result. */
        mark_fini(mark);
        mark_copy(mark, other);
    }
}

void pruning_merge(struct pruning *pruning, const struct pruning *other,
                   int64_t wall_ms)
{
    for (uint32_t i = 0; i < other->marks.count; i++) {
        const struct pruning_mark *from = &other->marks.items[i];
        struct pruning_mark *mark = pruning_find(pruning, &from->removed);

        if (mark)
            mark_merge(mark, from);
        else
            mark_copy(pruning_put(pruning, &from->removed), from);
    }
    for (uint32_t i = pruning->marks.count; i-- > 0;) {
        struct pruning_mark *mark = &pruning->marks.items[i];

        if (mark->is_performed && mark->obsolete_at <= wall_ms) {
            mark_fini(mark);
            vec_remove(&pruning->marks, i);
        }
    }
}
