/* Keeps what all kinds of values share: the kind, the pending delta and the received bytes. */
#include "ddata/inside.h"

#include "base/sorted.h"

struct dd_value *value_new(enum dd_kind kind)
{
    struct dd_value *value = mem_alloc(sizeof *value);

    value->kind = kind;
    return value;
}

struct dd_value *dd_new(enum dd_kind kind)
{
    check(kind <= DD_VERSIONS && kind != DD_REGISTER);
    return value_new(kind);
}

enum dd_kind dd_kind_of(const struct dd_value *value)
{
    return value->kind;
}

bool value_is_map(enum dd_kind kind)
{
    return kind == DD_ORMAP || kind == DD_LWWMAP || kind == DD_PNCOUNTERMAP ||
           kind == DD_MULTIMAP;
}

void value_touch(struct dd_value *value)
{
    if (!value->kept)
        return;
    other_fini(value->kept);
    mem_free(value->kept);
    value->kept = NULL;
}

enum dd_merged merged_of(bool changed)
{
    return changed ? DD_CHANGED : DD_UNCHANGED;
}

struct dd_value *value_pending(struct dd_value *value, enum dd_kind kind)
{
    if (!value->delta)
        value->delta = value_new(kind);
    return value->delta;
}

bool dd_has_deltas(enum dd_kind kind)
{
    return kind == DD_GCOUNTER || kind == DD_PNCOUNTER || kind == DD_GSET ||
           kind == DD_ORSET || value_is_map(kind);
}

struct dd_value *dd_take_delta(struct dd_value *value)
{
    struct dd_value *delta = value->delta;

    value->delta = NULL;
    if (!delta && value->kind == DD_PNCOUNTER)
        return value_new(DD_PNCOUNTER);
    return delta;
}

bool dd_is_delta(const struct dd_value *value)
{
    return value->kind == DD_ORSET_DELTA || value->kind == DD_ORMAP_DELTA;
}

bool dd_needs_causal_delivery(const struct dd_value *delta)
{
    return dd_is_delta(delta);
}

static const struct dd_value *find_in_items(const struct elements *items)
{
    const struct dd_value *found = NULL;

    for (uint32_t i = 0; !found && i < items->list.count; i++) {
        const struct dd_value *value =
            ((const struct ormap_item *)items->list.items[i])->value;

        found = value ? dd_find_opaque(value) : NULL;
    }
    return found;
}

const struct dd_value *dd_find_opaque(const struct dd_value *value)
{
    const struct dd_value *found = NULL;

    if (value->kind == DD_OPAQUE)
        return value;
    if (value->kind == DD_ORMAP)
        return find_in_items(&value->is.map.items);
    if (value->kind == DD_ORMAP_DELTA)
        for (uint32_t i = 0; !found && i < value->is.ormap_ops.list.count; i++)
            found = find_in_items(&value->is.ormap_ops.list.items[i].items);
    return found;
}

static int order_of_node(const void *item, const void *key)
{
    return node_compare(item, key);
}

void dd_nodes_add(struct dd_nodes *nodes, const struct node_id *node)
{
    uint32_t at = sorted_vec_place(&nodes->items, order_of_node, node);

    if (at < nodes->items.count && node_equal(&nodes->items.items[at], node))
        return;
    vec_push(&nodes->items, *node);
    memmove(&nodes->items.items[at + 1], &nodes->items.items[at],
            (nodes->items.count - 1 - at) * sizeof *node);
    nodes->items.items[at] = *node;
}
