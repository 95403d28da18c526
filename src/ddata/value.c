/* Dispatches on the kinds of values. */
#include "ddata/inside.h"

static void fini(struct dd_value *value)
{
    switch (value->kind) {
    case DD_DELETED:
    case DD_FLAG:
        break;
    case DD_GCOUNTER:
        counter_fini(&value->is.counter);
        break;
    case DD_PNCOUNTER:
        counter_fini(&value->is.pncounter.up);
        counter_fini(&value->is.pncounter.down);
        break;
    case DD_GSET:
        gset_fini(&value->is.gset);
        break;
    case DD_ORSET:
        orset_fini(&value->is.orset);
        break;
    case DD_REGISTER:
        other_fini(&value->is.reg.state);
        break;
    case DD_ORMAP:
    case DD_LWWMAP:
    case DD_PNCOUNTERMAP:
    case DD_MULTIMAP:
        ormap_fini(&value->is.map);
        break;
    case DD_VERSIONS:
        versions_fini(&value->is.versions);
        break;
    case DD_OPAQUE:
        other_fini(&value->is.opaque);
        break;
    case DD_ORSET_DELTA:
        orset_ops_fini(&value->is.orset_ops);
        break;
    case DD_ORMAP_DELTA:
        ormap_ops_fini(&value->is.ormap_ops);
        break;
    }
}

void dd_free(struct dd_value *value)
{
    if (!value)
        return;
    dd_free(value->delta);
    value_touch(value);
    fini(value);
    mem_free(value);
}

static void keep(struct dd_value *value, const struct other *kept)
{
    value_touch(value);
    if (!kept)
        return;
    value->kept = mem_alloc(sizeof *value->kept);
    other_set(value->kept, other_view(kept));
}

static void copy_state(struct dd_value *copy, const struct dd_value *value)
{
    switch (value->kind) {
    case DD_DELETED:
    case DD_FLAG:
        break;
    case DD_GCOUNTER:
        counter_copy(&copy->is.counter, &value->is.counter);
        break;
    case DD_PNCOUNTER:
        counter_copy(&copy->is.pncounter.up, &value->is.pncounter.up);
        counter_copy(&copy->is.pncounter.down, &value->is.pncounter.down);
        break;
    case DD_GSET:
        gset_copy(&copy->is.gset, &value->is.gset);
        break;
    case DD_ORSET:
        orset_copy(&copy->is.orset, &value->is.orset);
        break;
    case DD_REGISTER:
        reg_copy(&copy->is.reg, &value->is.reg);
        break;
    case DD_ORMAP:
    case DD_LWWMAP:
    case DD_PNCOUNTERMAP:
    case DD_MULTIMAP:
        ormap_copy(&copy->is.map, &value->is.map);
        break;
    case DD_VERSIONS:
        versions_copy(&copy->is.versions, &value->is.versions);
        break;
    case DD_OPAQUE:
        other_set(&copy->is.opaque, other_view(&value->is.opaque));
        break;
    case DD_ORSET_DELTA:
        orset_ops_copy(&copy->is.orset_ops, &value->is.orset_ops);
        break;
    case DD_ORMAP_DELTA:
        ormap_ops_copy(&copy->is.ormap_ops, &value->is.ormap_ops);
        break;
    }
}

struct dd_value *dd_copy(const struct dd_value *value)
{
    struct dd_value *copy = value_new(value->kind);

    copy->is_on = value->is_on;
    copy_state(copy, value);
    keep(copy, value->kept);
    if (value->delta)
        copy->delta = dd_copy(value->delta);
    return copy;
}

bool dd_equal(const struct dd_value *left, const struct dd_value *right)
{
    if (left->kind != right->kind || left->is_on != right->is_on)
        return false;
    switch (left->kind) {
    case DD_DELETED:
    case DD_FLAG:
        return true;
    case DD_GCOUNTER:
        return counter_equal(&left->is.counter, &right->is.counter);
    case DD_PNCOUNTER:
        return counter_equal(&left->is.pncounter.up, &right->is.pncounter.up) &&
               counter_equal(&left->is.pncounter.down,
                             &right->is.pncounter.down);
    case DD_GSET:
        return gset_equal(&left->is.gset, &right->is.gset);
    case DD_ORSET:
        return orset_equal(&left->is.orset, &right->is.orset);
    case DD_REGISTER:
        return reg_equal(&left->is.reg, &right->is.reg);
    case DD_ORMAP:
    case DD_LWWMAP:
    case DD_PNCOUNTERMAP:
    case DD_MULTIMAP:
        return ormap_equal(&left->is.map, &right->is.map);
    case DD_VERSIONS:
        return versions_compare(&left->is.versions, &right->is.versions) ==
               VERSIONS_SAME;
    case DD_OPAQUE:
        return other_equal(other_view(&left->is.opaque),
                           other_view(&right->is.opaque));
    case DD_ORSET_DELTA:
        return orset_ops_equal(&left->is.orset_ops, &right->is.orset_ops);
    case DD_ORMAP_DELTA:
        return ormap_ops_equal(&left->is.ormap_ops, &right->is.ormap_ops);
    }
    return false;
}

static bool merge_pncounters(struct pncounter *counter,
                             const struct pncounter *other)
{
    bool up = counter_merge(&counter->up, &other->up);

    return counter_merge(&counter->down, &other->down) || up;
}

static bool switch_on(struct dd_value *value, bool is_on)
{
    bool changed = is_on && !value->is_on;

    value->is_on = value->is_on || is_on;
    return changed;
}

enum dd_merged value_merge(struct dd_value *value, const struct dd_value *other)
{
    if (value->kind != other->kind)
        return DD_MISMATCH;
    switch (value->kind) {
    case DD_DELETED:
        return DD_UNCHANGED;
    case DD_FLAG:
        return merged_of(switch_on(value, other->is_on));
    case DD_GCOUNTER:
        return merged_of(counter_merge(&value->is.counter, &other->is.counter));
    case DD_PNCOUNTER:
        return merged_of(
            merge_pncounters(&value->is.pncounter, &other->is.pncounter));
    case DD_GSET:
        return merged_of(gset_merge(&value->is.gset, &other->is.gset));
    case DD_ORSET:
        return merged_of(orset_merge(&value->is.orset, &other->is.orset));
    case DD_REGISTER:
        return merged_of(reg_merge(&value->is.reg, &other->is.reg));
    case DD_ORMAP:
    case DD_LWWMAP:
    case DD_PNCOUNTERMAP:
    case DD_MULTIMAP:
        return ormap_merge(value, other);
    case DD_VERSIONS:
        return merged_of(
            versions_merge(&value->is.versions, &other->is.versions));
    case DD_OPAQUE:
        return dd_equal(value, other) ? DD_UNCHANGED : DD_UNMERGEABLE;
    case DD_ORSET_DELTA:
        orset_ops_append(&value->is.orset_ops, &other->is.orset_ops);
        return DD_CHANGED;
    case DD_ORMAP_DELTA:
        return ormap_ops_append(&value->is.ormap_ops, &other->is.ormap_ops);
    }
    return DD_MISMATCH;
}

enum dd_merged value_merge_delta(struct dd_value *value,
                                 const struct dd_value *delta)
{
    if (delta->kind == DD_ORSET_DELTA)
        return value->kind == DD_ORSET
                   ? merged_of(
                         orset_apply(&value->is.orset, &delta->is.orset_ops))
                   : DD_MISMATCH;
    if (delta->kind == DD_ORMAP_DELTA)
        return value_is_map(value->kind)
                   ? ormap_apply(value, &delta->is.ormap_ops)
                   : DD_MISMATCH;
    return value_merge(value, delta);
}

static void replace(struct dd_value *value, struct dd_value *by)
{
    struct dd_value old = *value;

    *value = *by;
    *by = old;
    dd_free(by);
}

typedef enum dd_merged merging(struct dd_value *value,
                               const struct dd_value *other);

/* Only DD_ORMAP and its deltas can fail after a partial merge, so they merge in a copy. */
static enum dd_merged merge_safely(struct dd_value *value,
                                   const struct dd_value *other,
                                   merging *merge)
{
    struct dd_value *copy;
    enum dd_merged merged;

    if (value->kind == DD_DELETED)
        return DD_UNCHANGED;
    if (other->kind == DD_DELETED) {
        replace(value, value_new(DD_DELETED));
        return DD_CHANGED;
    }
    if (value->kind != DD_ORMAP && value->kind != DD_ORMAP_DELTA) {
        merged = merge(value, other);
    } else {
        copy = dd_copy(value);
        merged = merge(copy, other);
        if (merged == DD_CHANGED)
            replace(value, copy);
        else
            dd_free(copy);
    }
    if (merged == DD_CHANGED)
        value_touch(value);
    if (merged == DD_CHANGED || merged == DD_UNCHANGED)
        dd_reset_delta(value);
    return merged;
}

/* Two states with the same received bytes: most gossip is known already. */
static bool came_alike(const struct dd_value *left,
                       const struct dd_value *right)
{
    return left->kept && right->kept && !dd_is_delta(left) &&
           other_equal(other_view(left->kept), other_view(right->kept));
}

enum dd_merged dd_merge(struct dd_value *value, const struct dd_value *other)
{
    enum dd_merged merged;

    if (came_alike(value, other)) {
        dd_reset_delta(value);
        return DD_UNCHANGED;
    }
    merged = merge_safely(value, other, value_merge);
    /* Takes over the bytes of a newer state, so that digests are equal. */
    if (merged == DD_CHANGED && other->kept && dd_equal(value, other))
        keep(value, other->kept);
    return merged;
}

enum dd_merged dd_merge_delta(struct dd_value *value,
                              const struct dd_value *delta)
{
    return merge_safely(value, delta, value_merge_delta);
}

void dd_reset_delta(struct dd_value *value)
{
    dd_free(value->delta);
    value->delta = NULL;
}

uint32_t dd_delta_size(const struct dd_value *delta)
{
    if (delta->kind == DD_ORSET_DELTA)
        return delta->is.orset_ops.list.count;
    if (delta->kind == DD_ORMAP_DELTA)
        return delta->is.ormap_ops.list.count;
    return 1;
}

struct dd_value *dd_zero(const struct dd_value *delta)
{
    struct dd_value *zero;
    enum map_tag tag = TAG_ORMAP;
    bool with_deltas;

    if (delta->kind == DD_ORSET_DELTA)
        return value_new(DD_ORSET);
    if (delta->kind != DD_ORMAP_DELTA)
        return dd_new(delta->kind);
    if (delta->is.ormap_ops.list.count)
        tag = delta->is.ormap_ops.list.items[0].tag;
    zero = value_new(ormap_kind_of(tag, &with_deltas));
    zero->is_on = with_deltas;
    return zero;
}

void dd_add_modified_by(const struct dd_value *value, struct dd_nodes *nodes)
{
    const struct orset *set = &value->is.orset;

    if (value->kind == DD_GCOUNTER)
        counter_add_nodes(&value->is.counter, nodes);
    if (value->kind == DD_PNCOUNTER) {
        counter_add_nodes(&value->is.pncounter.up, nodes);
        counter_add_nodes(&value->is.pncounter.down, nodes);
    }
    if (value->kind == DD_ORSET)
        for (uint32_t i = 0; i < set->nodes.count; i++)
            if (set->nodes.items[i].version != ORSET_NOT_SEEN)
                dd_nodes_add(nodes, &set->nodes.items[i].node);
    if (value_is_map(value->kind))
        ormap_add_nodes(&value->is.map, nodes);
    if (value->kind == DD_VERSIONS)
        for (uint32_t i = 0; i < value->is.versions.items.count; i++)
            dd_nodes_add(nodes, &value->is.versions.items.items[i].node);
}

bool dd_needs_pruning(const struct dd_value *value,
                      const struct node_id *removed)
{
    if (value->kind == DD_GCOUNTER)
        return counter_has(&value->is.counter, removed);
    if (value->kind == DD_PNCOUNTER)
        return counter_has(&value->is.pncounter.up, removed) ||
               counter_has(&value->is.pncounter.down, removed);
    if (value->kind == DD_ORSET)
        return orset_needs_pruning(&value->is.orset, removed);
    if (value_is_map(value->kind))
        return ormap_needs_pruning(&value->is.map, removed);
    return value->kind == DD_VERSIONS &&
           versions_get(&value->is.versions, removed);
}

bool dd_prune(struct dd_value *value, const struct node_id *removed,
              struct dd_writer *into)
{
    bool changed = false;

    if (value->kind == DD_GCOUNTER)
        changed = counter_prune(value, removed, &into->node);
    else if (value->kind == DD_PNCOUNTER)
        changed = pncounter_prune(value, removed, &into->node);
    else if (value->kind == DD_ORSET)
        changed = orset_value_prune(value, removed, into);
    else if (value_is_map(value->kind))
        changed = ormap_prune(value, removed, into);
    else if (value->kind == DD_VERSIONS)
        changed = versions_prune(&value->is.versions, removed, into);
    if (changed)
        value_touch(value);
    return changed;
}

bool dd_cleanup(struct dd_value *value, const struct node_id *removed)
{
    bool changed = false;

    if (value->kind == DD_GCOUNTER) {
        changed = counter_drop(&value->is.counter, removed);
    } else if (value->kind == DD_PNCOUNTER) {
        changed = counter_drop(&value->is.pncounter.up, removed);
        if (counter_drop(&value->is.pncounter.down, removed))
            changed = true;
    } else if (value->kind == DD_ORSET) {
        changed = orset_cleanup(&value->is.orset, removed);
    } else if (value_is_map(value->kind)) {
        changed = ormap_cleanup(&value->is.map, removed);
    } else if (value->kind == DD_VERSIONS) {
        changed = versions_drop(&value->is.versions, removed);
    }
    if (changed)
        value_touch(value);
    return changed;
}

bool dd_leave_count(struct dd_value *value, const struct node_id *node)
{
    bool changed = false;

    if (value->kind == DD_GCOUNTER) {
        changed = counter_leave(&value->is.counter, node);
    } else if (value->kind == DD_PNCOUNTER) {
        changed = counter_leave(&value->is.pncounter.up, node);
        if (counter_leave(&value->is.pncounter.down, node))
            changed = true;
    } else if (value_is_map(value->kind)) {
        changed = ormap_leave_count(&value->is.map, node);
    }
    if (changed)
        value_touch(value);
    return changed;
}

void dd_versions_increment(struct dd_value *value, struct dd_writer *writer)
{
    check(value->kind == DD_VERSIONS);
    versions_increment(&value->is.versions, writer);
    value_touch(value);
}

int64_t dd_versions_get(const struct dd_value *value,
                        const struct node_id *node)
{
    check(value->kind == DD_VERSIONS);
    return versions_get(&value->is.versions, node);
}
