/* Implements DD_ORSET and its deltas, which are lists of changes in order. */
#include "ddata/inside.h"

void orset_ops_fini(struct orset_ops *ops)
{
    for (uint32_t i = 0; i < ops->list.count; i++)
        orset_fini(&ops->list.items[i].set);
    vec_fini(&ops->list);
}

static void push_copy(struct orset_ops *ops, const struct orset_op *op)
{
    struct orset_op copy = { .change = op->change };

    orset_copy(&copy.set, &op->set);
    vec_push(&ops->list, copy);
}

void orset_ops_copy(struct orset_ops *copy, const struct orset_ops *ops)
{
    copy->is_group = ops->is_group;
    for (uint32_t i = 0; i < ops->list.count; i++)
        push_copy(copy, &ops->list.items[i]);
}

bool orset_ops_equal(const struct orset_ops *left,
                     const struct orset_ops *right)
{
    if (left->list.count != right->list.count)
        return false;
    for (uint32_t i = 0; i < left->list.count; i++) {
        const struct orset_op *a = &left->list.items[i];
        const struct orset_op *b = &right->list.items[i];

        if (a->change != b->change || !orset_equal(&a->set, &b->set))
            return false;
    }
    return true;
}

/* The last add, if it can absorb another; null: none. */
static struct orset_op *last_add(const struct orset_ops *ops)
{
    struct orset_op *last =
        ops->list.count ? &ops->list.items[ops->list.count - 1] : NULL;

    return last && last->change == ORSET_ADD ? last : NULL;
}

void orset_ops_append(struct orset_ops *ops, const struct orset_ops *next)
{
    struct orset_op *last = last_add(ops);

    if (!next->is_group && next->list.count == 1 && last &&
        next->list.items[0].change == ORSET_ADD) {
        orset_concat(&last->set, &next->list.items[0].set);
        return;
    }
    for (uint32_t i = 0; i < next->list.count; i++)
        push_copy(ops, &next->list.items[i]);
    ops->is_group = ops->is_group || next->is_group || ops->list.count > 1;
}

void orset_ops_push(struct orset_ops *ops, enum orset_change change,
                    struct orset *set)
{
    struct orset_op op = { change, *set };
    struct orset_op *last = last_add(ops);

    if (change == ORSET_ADD && last) {
        orset_concat(&last->set, set);
        orset_fini(set);
        return;
    }
    vec_push(&ops->list, op);
    ops->is_group = ops->list.count > 1;
}

bool orset_apply(struct orset *set, const struct orset_ops *ops)
{
    bool changed = false;

    for (uint32_t i = 0; i < ops->list.count; i++) {
        const struct orset_op *op = &ops->list.items[i];
        bool now = false;

        switch (op->change) {
        case ORSET_ADD:
            now = orset_apply_add(set, &op->set);
            break;
        case ORSET_REMOVE:
            now = orset_apply_remove(set, &op->set);
            break;
        case ORSET_FULL:
            now = orset_merge(set, &op->set);
            break;
        }
        changed = changed || now;
    }
    return changed;
}

static struct orset_ops *pending(struct dd_value *value)
{
    check(value->kind == DD_ORSET);
    return &value_pending(value, DD_ORSET_DELTA)->is.orset_ops;
}

void dd_orset_add(struct dd_value *value, struct dd_writer *writer,
                  const struct dd_element *element)
{
    struct orset delta = { 0 };
    struct orset_ops *ops = pending(value);

    orset_add(&value->is.orset, writer, element, &delta);
    orset_ops_push(ops, ORSET_ADD, &delta);
    value_touch(value);
}

void dd_orset_remove(struct dd_value *value, const struct dd_writer *writer,
                     const struct dd_element *element)
{
    struct orset delta = { 0 };
    struct orset_ops *ops = pending(value);

    if (orset_has(&value->is.orset, element))
        value_touch(value);
    orset_remove(&value->is.orset, &writer->node, element, &delta);
    orset_ops_push(ops, ORSET_REMOVE, &delta);
}

void dd_orset_clear(struct dd_value *value)
{
    struct orset delta = { 0 };
    struct orset_ops *ops = pending(value);

    if (orset_count(&value->is.orset))
        value_touch(value);
    orset_clear(&value->is.orset, &delta);
    orset_ops_push(ops, ORSET_FULL, &delta);
}

bool orset_value_prune(struct dd_value *value, const struct node_id *removed,
                       struct dd_writer *into)
{
    struct orset delta = { 0 };
    bool changed = orset_prune(&value->is.orset, removed, into, &delta);

    if (orset_count(&delta))
        orset_ops_push(pending(value), ORSET_ADD, &delta);
    else
        orset_fini(&delta);
    return changed;
}

static const struct elements *elements_of(const struct dd_value *value)
{
    check(value->kind == DD_GSET || value->kind == DD_ORSET);
    return value->kind == DD_GSET ? &value->is.gset : &value->is.orset.items;
}

bool dd_set_has(const struct dd_value *value, const struct dd_element *element)
{
    return elements_find(elements_of(value), element) != NULL;
}

uint32_t dd_set_count(const struct dd_value *value)
{
    return elements_of(value)->list.count;
}

/* Adds and puts raise versions. A remove lowers the count, unless an element came back with a new
 * version. */
struct dd_mark dd_mark(const struct dd_value *value)
{
    const struct orset *set = value_is_map(value->kind) ? &value->is.map.keys
                                                        : &value->is.orset;
    struct dd_mark mark = { .count = 0 };

    if (value->kind == DD_GSET) {
        mark.count = dd_set_count(value);
        return mark;
    }
    mark.count = orset_count(set);
    mark.nodes = set->nodes.count;
    for (uint32_t i = 0; i < mark.nodes; i++)
        mark.versions += (uint64_t)set->nodes.items[i].version;
    return mark;
}

bool dd_set_next(const struct dd_value *value, uint32_t *at,
                 struct dd_element *element)
{
    const struct elements *elements = elements_of(value);

    if (*at >= elements->list.count)
        return false;
    *element = element_view(elements->list.items[(*at)++]);
    return true;
}
