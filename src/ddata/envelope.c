/* Merges envelopes. */
#include "ddata/envelope.h"

#include "base/check.h"
#include "base/mark.h"
#include "ddata/opaque.h"

void envelope_fini(struct envelope *envelope)
{
    dd_free(envelope->value);
    pruning_fini(&envelope->pruning);
    versions_fini(&envelope->versions);
    origin_free(envelope->origin);
    for (uint32_t i = 0; i < envelope->siblings.count; i++)
        envelope_fini(&envelope->siblings.items[i]);
    vec_fini(&envelope->siblings);
    *envelope = (struct envelope){ 0 };
}

static void copy_one(struct envelope *to, const struct envelope *from)
{
    to->value = from->value ? dd_copy(from->value) : NULL;
    pruning_copy(&to->pruning, &from->pruning);
    versions_copy(&to->versions, &from->versions);
    to->origin = from->origin ? origin_copy(from->origin) : NULL;
}

void envelope_copy(struct envelope *to, const struct envelope *from)
{
    copy_one(to, from);
    for (uint32_t i = 0; i < from->siblings.count; i++) {
        vec_push(&to->siblings, (struct envelope){ 0 });
        copy_one(&to->siblings.items[i], &from->siblings.items[i]);
    }
}

bool envelope_is_deleted(const struct envelope *envelope)
{
    return envelope->value && dd_kind_of(envelope->value) == DD_DELETED;
}

void envelope_delete(struct envelope *envelope)
{
    envelope_fini(envelope);
    envelope->value = dd_new(DD_DELETED);
}

static bool needs_cleaning(const struct dd_value *value,
                           const struct pruning *pruning)
{
    for (uint32_t i = 0; i < pruning->marks.count; i++) {
        const struct pruning_mark *mark = &pruning->marks.items[i];

        if (mark->is_performed && dd_needs_pruning(value, &mark->removed))
            return true;
    }
    return false;
}

static bool clean(struct dd_value *value, const struct pruning *pruning)
{
    bool is_changed = false;

    for (uint32_t i = 0; i < pruning->marks.count; i++) {
        const struct pruning_mark *mark = &pruning->marks.items[i];

        if (mark->is_performed && dd_needs_pruning(value, &mark->removed) &&
            dd_cleanup(value, &mark->removed))
            is_changed = true;
    }
    return is_changed;
}

static enum envelope_merged merge_clean(struct envelope *envelope,
                                        struct dd_value *value)
{
    enum dd_merged merged = dd_is_delta(value)
                                ? dd_merge_delta(envelope->value, value)
                                : dd_merge(envelope->value, value);

    switch (merged) {
    case DD_UNCHANGED:
        return ENVELOPE_SAME;
    case DD_CHANGED:
        return ENVELOPE_CHANGED;
    case DD_UNMERGEABLE:
    case DD_MISMATCH:
        break;
    }
    return ENVELOPE_REFUSED;
}

enum envelope_merged envelope_merge_value(struct envelope *envelope,
                                          struct dd_value *value)
{
    (void)clean(value, &envelope->pruning);
    return merge_clean(envelope, value);
}

static void drop_versions(struct versions *versions,
                          const struct pruning *pruning)
{
    for (uint32_t i = 0; versions->items.count && i < pruning->marks.count; i++)
        (void)versions_drop(versions, &pruning->marks.items[i].removed);
}

enum envelope_merged envelope_merge(struct envelope *envelope,
                                    struct envelope *other, int64_t wall_ms)
{
    struct pruning pruning = { 0 };
    struct dd_value *before = NULL;
    enum envelope_merged merged;
    bool is_cleaned = false;

    if (envelope_is_deleted(envelope))
        return ENVELOPE_SAME;
    if (envelope_is_deleted(other)) {
        envelope_delete(envelope);
        return ENVELOPE_CHANGED;
    }
    if (opaque_is_needed(envelope, other))
        return dd_is_delta(other->value)
                   ? ENVELOPE_REFUSED
                   : opaque_merge(envelope, other, wall_ms);
    pruning_copy(&pruning, &envelope->pruning);
    pruning_merge(&pruning, &other->pruning, wall_ms);
    SOMETIMES("a value arrives with data of a member that was pruned here",
              needs_cleaning(other->value, &pruning));
    (void)clean(other->value, &pruning);
    if (needs_cleaning(envelope->value, &pruning)) {
        before = dd_copy(envelope->value);
        is_cleaned = clean(envelope->value, &pruning);
    }
    merged = merge_clean(envelope, other->value);
    if (merged == ENVELOPE_REFUSED) {
        if (before) {
            dd_free(envelope->value);
            envelope->value = before;
        }
        pruning_fini(&pruning);
        return merged;
    }
    dd_free(before);
    /* A delta with what its writer had seen cannot be cleaned before the merge. */
    if (dd_is_delta(other->value))
        (void)clean(envelope->value, &pruning);
    drop_versions(&envelope->versions, &pruning);
    drop_versions(&other->versions, &pruning);
    (void)versions_merge(&envelope->versions, &other->versions);
    if (merged == ENVELOPE_SAME && is_cleaned)
        merged = ENVELOPE_CHANGED;
    else if (merged == ENVELOPE_SAME &&
             !pruning_equal(&pruning, &envelope->pruning))
        merged = ENVELOPE_MARKED;
    pruning_fini(&envelope->pruning);
    envelope->pruning = pruning;
    return merged;
}

bool envelope_settle(struct envelope *envelope)
{
    struct dd_value *state;
    enum dd_merged merged;

    if (!dd_is_delta(envelope->value))
        return true;
    state = dd_zero(envelope->value);
    merged = dd_merge_delta(state, envelope->value);
    if (merged != DD_CHANGED && merged != DD_UNCHANGED) {
        dd_free(state);
        return false;
    }
    dd_free(envelope->value);
    envelope->value = state;
    return true;
}

void envelope_prune_begin(struct envelope *envelope,
                          const struct node_id *removed,
                          const struct node_id *owner)
{
    pruning_put(&envelope->pruning, removed)->owner = *owner;
    (void)versions_drop(&envelope->versions, removed);
}

void envelope_prune(struct envelope *envelope, const struct node_id *removed,
                    struct dd_writer *into, int64_t obsolete_at)
{
    struct pruning_mark *mark = pruning_find(&envelope->pruning, removed);

    check(mark && !mark->is_performed);
    (void)dd_prune(envelope->value, removed, into);
    pruning_perform(mark, obsolete_at);
    mark->is_own = true;
    (void)versions_drop(&envelope->versions, removed);
}
