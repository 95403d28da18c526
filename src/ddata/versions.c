/* Implements version vectors as sorted arrays. */
#include "ddata/versions.h"

#include "base/sort.h"
#include "base/sorted.h"

static int order_of_node(const void *item, const void *key)
{
    return node_compare(&((const struct version *)item)->node, key);
}

static uint32_t lower_bound(const struct versions *versions,
                            const struct node_id *node)
{
    return sorted_vec_place(&versions->items, order_of_node, node);
}

static bool is_at(const struct versions *versions, uint32_t at,
                  const struct node_id *node)
{
    return at < versions->items.count &&
           node_equal(&versions->items.items[at].node, node);
}

void versions_fini(struct versions *versions)
{
    vec_fini(&versions->items);
}

void versions_copy(struct versions *versions, const struct versions *from)
{
    versions->items.count = 0;
    for (uint32_t i = 0; i < from->items.count; i++)
        vec_push(&versions->items, from->items.items[i]);
}

int64_t versions_get(const struct versions *versions,
                     const struct node_id *node)
{
    uint32_t at = lower_bound(versions, node);

    return is_at(versions, at, node) ? versions->items.items[at].version : 0;
}

void versions_set(struct versions *versions, const struct node_id *node,
                  int64_t version)
{
    uint32_t at = lower_bound(versions, node);
    struct version item = { *node, version };

    if (version <= 0) {
        if (is_at(versions, at, node))
            vec_remove(&versions->items, at);
        return;
    }
    if (is_at(versions, at, node)) {
        versions->items.items[at].version = version;
        return;
    }
    vec_push(&versions->items, item);
    memmove(&versions->items.items[at + 1], &versions->items.items[at],
            (versions->items.count - 1 - at) * sizeof item);
    versions->items.items[at] = item;
}

bool versions_drop(struct versions *versions, const struct node_id *node)
{
    uint32_t at = lower_bound(versions, node);

    if (!is_at(versions, at, node))
        return false;
    vec_remove(&versions->items, at);
    return true;
}

void versions_increment(struct versions *versions, struct dd_writer *writer)
{
    versions_set(versions, &writer->node, ++writer->versions);
}

/* Null at the end. */
static const struct version *item_at(const struct versions *versions,
                                     uint32_t index)
{
    return index < versions->items.count ? &versions->items.items[index] : NULL;
}

static int compare_items(const struct version *left,
                         const struct version *right)
{
    if (!left || !right)
        return left ? -1 : 1;
    return node_compare(&left->node, &right->node);
}

enum versions_order versions_compare(const struct versions *left,
                                     const struct versions *right)
{
    bool before = false;
    bool after = false;
    uint32_t l = 0;
    uint32_t r = 0;

    while (l < left->items.count || r < right->items.count) {
        const struct version *a = item_at(left, l);
        const struct version *b = item_at(right, r);
        int order = compare_items(a, b);

        before = before || order > 0 || (!order && a->version < b->version);
        after = after || order < 0 || (!order && a->version > b->version);
        l += order <= 0;
        r += order >= 0;
    }
    if (before && after)
        return VERSIONS_CONCURRENT;
    return before ? VERSIONS_BEFORE : after ? VERSIONS_AFTER : VERSIONS_SAME;
}

bool versions_merge(struct versions *versions, const struct versions *other)
{
    struct versions merged = { 0 };
    bool changed = false;
    uint32_t l = 0;
    uint32_t r = 0;

    while (l < versions->items.count || r < other->items.count) {
        const struct version *a = item_at(versions, l);
        const struct version *b = item_at(other, r);
        int order = compare_items(a, b);
        bool is_theirs = order > 0 || (!order && b->version > a->version);

        vec_push(&merged.items, is_theirs ? *b : *a);
        changed = changed || is_theirs;
        l += order <= 0;
        r += order >= 0;
    }
    versions_fini(versions);
    *versions = merged;
    return changed;
}

static int compare_nodes(const void *left, const void *right)
{
    return node_compare(&((const struct version *)left)->node,
                        &((const struct version *)right)->node);
}

bool versions_sort(struct versions *versions)
{
    sort_stable(versions->items.items, versions->items.count,
                sizeof(struct version), compare_nodes);
    for (uint32_t i = 1; i < versions->items.count; i++)
        if (!compare_nodes(&versions->items.items[i - 1],
                           &versions->items.items[i]))
            return false;
    return true;
}

bool versions_prune(struct versions *versions, const struct node_id *removed,
                    struct dd_writer *into)
{
    if (!versions_drop(versions, removed))
        return false;
    versions_increment(versions, into);
    return true;
}
