/* Computes the memory that decoding a value takes. */
#include "base/limits.h"
#include "ddata/inside.h"

#define POINTERS (2 * sizeof(void *)) /* an item's share of its list, with spare room */
/* factor of its bytes, which are unpacked too: text can take a quarter of DDATA_WEIGHT_MAX */
#define TEXT 4

static uint64_t weight_of_text(uint64_t size)
{
    return TEXT * size;
}

static uint64_t weight_of_other(const struct other *other)
{
    struct dd_other view = other_view(other);

    return weight_of_text(view.bytes.size + view.manifest.size);
}

static uint64_t weight_of_elements(const struct elements *elements,
                                   size_t item_size)
{
    uint64_t weight = elements->list.count * (item_size + POINTERS);

    for (uint32_t i = 0; i < elements->list.count; i++) {
        struct dd_element view = element_view(elements->list.items[i]);

        weight += weight_of_text(element_size(&view));
    }
    return weight;
}

static uint64_t weight_of_orset(const struct orset *set)
{
    uint64_t weight =
        set->nodes.count * sizeof(struct version) +
        weight_of_elements(&set->items, sizeof(struct orset_item));

    for (uint32_t i = 0; i < orset_count(set); i++)
        weight += orset_item(set, i)->dots.count * sizeof(struct dot);
    return weight;
}

static uint64_t weight_of_items(const struct elements *items)
{
    uint64_t weight = weight_of_elements(items, sizeof(struct ormap_item));

    for (uint32_t i = 0; i < items->list.count; i++) {
        const struct dd_value *value = ormap_item_at(items, i)->value;

        weight += value ? dd_weight(value) : 0;
    }
    return weight;
}

static uint64_t weight_of_orset_ops(const struct orset_ops *ops)
{
    uint64_t weight = ops->list.count * sizeof *ops->list.items;

    for (uint32_t i = 0; i < ops->list.count; i++)
        weight += weight_of_orset(&ops->list.items[i].set);
    return weight;
}

static uint64_t weight_of_ormap_ops(const struct ormap_ops *ops)
{
    uint64_t weight = ops->list.count * sizeof *ops->list.items;

    for (uint32_t i = 0; i < ops->list.count; i++)
        weight += weight_of_orset(&ops->list.items[i].set) +
                  weight_of_items(&ops->list.items[i].items);
    return weight;
}

static uint64_t weight_of_counter(const struct counter *counter)
{
    return counter->shares.count * sizeof *counter->shares.items;
}

static uint64_t weight_inside(const struct dd_value *value)
{
    switch (value->kind) {
    case DD_GCOUNTER:
        return weight_of_counter(&value->is.counter);
    case DD_PNCOUNTER:
        return weight_of_counter(&value->is.pncounter.up) +
               weight_of_counter(&value->is.pncounter.down);
    case DD_GSET:
        return weight_of_elements(&value->is.gset, sizeof(struct element));
    case DD_ORSET:
        return weight_of_orset(&value->is.orset);
    case DD_REGISTER:
        return weight_of_other(&value->is.reg.state);
    case DD_VERSIONS:
        return value->is.versions.items.count *
               sizeof *value->is.versions.items.items;
    case DD_OPAQUE:
        return weight_of_other(&value->is.opaque);
    case DD_ORSET_DELTA:
        return weight_of_orset_ops(&value->is.orset_ops);
    case DD_ORMAP_DELTA:
        return weight_of_ormap_ops(&value->is.ormap_ops);
    default:
        return value_is_map(value->kind)
                   ? weight_of_orset(&value->is.map.keys) +
                         weight_of_items(&value->is.map.items)
                   : 0;
    }
}

uint64_t dd_weight(const struct dd_value *value)
{
    return sizeof *value + weight_inside(value);
}
