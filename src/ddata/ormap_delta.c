/* Joins and applies the deltas of maps, which are lists of changes. */
#include "ddata/inside.h"

void ormap_op_fini(struct ormap_op *op)
{
    orset_fini(&op->set);
    ormap_items_fini(&op->items);
}

void ormap_ops_fini(struct ormap_ops *ops)
{
    for (uint32_t i = 0; i < ops->list.count; i++)
        ormap_op_fini(&ops->list.items[i]);
    vec_fini(&ops->list);
}

static void push_copy(struct ormap_ops *ops, const struct ormap_op *op)
{
    struct ormap_op copy = { .change = op->change, .tag = op->tag };

    orset_copy(&copy.set, &op->set);
    ormap_items_copy(&copy.items, &op->items);
    vec_push(&ops->list, copy);
}

void ormap_ops_copy(struct ormap_ops *copy, const struct ormap_ops *ops)
{
    copy->is_group = ops->is_group;
    for (uint32_t i = 0; i < ops->list.count; i++)
        push_copy(copy, &ops->list.items[i]);
}

bool ormap_ops_equal(const struct ormap_ops *left,
                     const struct ormap_ops *right)
{
    if (left->list.count != right->list.count)
        return false;
    for (uint32_t i = 0; i < left->list.count; i++) {
        const struct ormap_op *a = &left->list.items[i];
        const struct ormap_op *b = &right->list.items[i];

        if (a->change != b->change || a->tag != b->tag ||
            !orset_equal(&a->set, &b->set) ||
            !ormap_items_equal(&a->items, &b->items))
            return false;
    }
    return true;
}

/* Null: it has none or several. */
static struct ormap_item *only_item(const struct ormap_op *op)
{
    return op->items.list.count == 1 ? ormap_item_at(&op->items, 0) : NULL;
}

static bool same_key(const struct ormap_op *left, const struct ormap_op *right)
{
    const struct ormap_item *a = only_item(left);
    const struct ormap_item *b = only_item(right);
    struct dd_element view;

    if (!a || !b)
        return false;
    view = element_view(&b->element);
    return elements_is_at(&left->items, 0, &view);
}

static bool is_change(const struct ormap_op *op, enum ormap_change one,
                      enum ormap_change two)
{
    return op->change == one || op->change == two;
}

/* A put and a change of its key, or two updates. */
static bool can_join(const struct ormap_op *last, const struct ormap_op *next)
{
    if (!is_change(last, ORMAP_PUT, ORMAP_UPDATE) ||
        !is_change(next, ORMAP_PUT, ORMAP_UPDATE) || last->tag != next->tag)
        return false;
    return (last->change == ORMAP_UPDATE && next->change == ORMAP_UPDATE) ||
           same_key(last, next);
}

static enum dd_merged join(struct ormap_op *last, const struct ormap_op *next)
{
    orset_concat(&last->set, &next->set);
    for (uint32_t i = 0; i < next->items.list.count; i++) {
        const struct ormap_item *item = ormap_item_at(&next->items, i);
        struct dd_element key = element_view(&item->element);
        struct ormap_item *mine = elements_find(&last->items, &key);
        enum dd_merged merged = DD_UNCHANGED;

        if (next->change == ORMAP_PUT || !mine)
            ormap_items_put(&last->items, &key, dd_copy(item->value));
        else if (last->change == ORMAP_PUT)
            merged = value_merge_delta(mine->value, item->value);
        else
            merged = value_merge(mine->value, item->value);
        if (merged > DD_CHANGED)
            return merged;
    }
    if (next->change == ORMAP_PUT)
        last->change = ORMAP_PUT;
    return DD_CHANGED;
}

enum dd_merged ormap_ops_append(struct ormap_ops *ops,
                                const struct ormap_ops *next)
{
    struct ormap_op *last =
        ops->list.count ? &ops->list.items[ops->list.count - 1] : NULL;

    if (!next->is_group && next->list.count == 1 && last &&
        can_join(last, &next->list.items[0]))
        return join(last, &next->list.items[0]);
    for (uint32_t i = 0; i < next->list.count; i++)
        push_copy(ops, &next->list.items[i]);
    ops->is_group = ops->is_group || next->is_group || ops->list.count > 1;
    return DD_CHANGED;
}

enum dd_merged ormap_ops_push(struct ormap_ops *ops, struct ormap_op *op)
{
    struct ormap_op *last =
        ops->list.count ? &ops->list.items[ops->list.count - 1] : NULL;
    enum dd_merged merged = DD_CHANGED;

    if (last && can_join(last, op)) {
        merged = join(last, op);
        ormap_op_fini(op);
    } else {
        vec_push(&ops->list, *op);
        ops->is_group = ops->list.count > 1;
    }
    return merged;
}

/* A key that a delta changes, with its value so far. */
struct touched {
    struct element element;
    struct dd_value *value;     /* null: none */
    struct dd_value *tombstone; /* value when the key was removed; null: none */
};

struct applying {
    struct dd_value *map;
    struct elements touched;
    enum dd_merged merged;
};

static void note(struct applying *applying, enum dd_merged merged)
{
    if (merged > applying->merged)
        applying->merged = merged;
}

static struct touched *touch(struct applying *applying,
                             const struct element *element)
{
    const struct ormap *map = &applying->map->is.map;
    struct dd_element key = element_view(element);
    uint32_t at = elements_place(&applying->touched, &key);
    const struct ormap_item *item = elements_find(&map->items, &key);
    struct touched *touched;

    if (elements_is_at(&applying->touched, at, &key))
        return (struct touched *)applying->touched.list.items[at];
    touched = element_new(&key, sizeof *touched);
    elements_insert(&applying->touched, at, &touched->element);
    if (item && orset_has(&map->keys, &key))
        touched->value = dd_copy(item->value);
    else if (item)
        touched->tombstone = dd_copy(item->value);
    return touched;
}

static void replace(struct dd_value **value, struct dd_value *by)
{
    dd_free(*value);
    *value = by;
}

static void update(struct applying *applying, struct touched *touched,
                   const struct dd_value *value)
{
    struct dd_element key = element_view(&touched->element);
    enum dd_merged merged;

    if (!orset_has(&applying->map->is.map.keys, &key))
        return;
    if (!touched->value)
        touched->value = touched->tombstone ? dd_copy(touched->tombstone)
                         : dd_is_delta(value) ? dd_zero(value)
                                              : dd_copy(value);
    merged = value_merge_delta(touched->value, value);
    if (merged > DD_CHANGED)
        note(applying, merged);
}

static void apply_op(struct applying *applying, const struct ormap_op *op)
{
    struct orset *keys = &applying->map->is.map.keys;
    bool is_add = is_change(op, ORMAP_PUT, ORMAP_UPDATE);

    for (uint32_t i = 0; i < orset_count(&op->set); i++)
        (void)touch(applying, &orset_item(&op->set, i)->element);
    note(applying, merged_of(is_add ? orset_apply_add(keys, &op->set)
                                    : orset_apply_remove(keys, &op->set)));
    if (!is_add) {
        struct touched *touched =
            touch(applying, &orset_item(&op->set, 0)->element);

        if (op->change == ORMAP_REMOVE_KEY && touched->value)
            replace(&touched->tombstone, touched->value);
        else
            dd_free(touched->value);
        touched->value = NULL;
        return;
    }
    for (uint32_t i = 0; i < op->items.list.count; i++) {
        const struct ormap_item *item = ormap_item_at(&op->items, i);
        struct touched *touched = touch(applying, &item->element);

        if (op->change == ORMAP_PUT) /* overwrites */
            replace(&touched->value, dd_copy(item->value));
        else
            update(applying, touched, item->value);
    }
}

static void settle(struct applying *applying, struct touched *touched)
{
    struct ormap *map = &applying->map->is.map;
    struct dd_element key = element_view(&touched->element);
    struct ormap_item *mine = elements_find(&map->items, &key);
    bool has_key = orset_has(&map->keys, &key);
    bool retains = ormap_retains(applying->map);
    const struct dd_value *theirs = touched->value;

    if (!theirs && retains)
        theirs = touched->tombstone;
    if (mine && theirs && (has_key || retains)) {
        note(applying, value_merge(mine->value, theirs));
    } else if (mine && !has_key) {
        ormap_items_drop(&map->items, &key);
        note(applying, DD_CHANGED);
    } else if (!mine && theirs && has_key) {
        ormap_items_put(&map->items, &key, dd_copy(theirs));
        note(applying, DD_CHANGED);
    } else if (!mine && has_key) {
        orset_forget(&map->keys, &key); /* a delta without a value, which no writer sends */
    }
}

enum dd_merged ormap_apply(struct dd_value *value, const struct ormap_ops *ops)
{
    struct applying applying = { .map = value };

    for (uint32_t i = 0; i < ops->list.count; i++)
        if (ops->list.items[i].tag != ormap_tag_of(value))
            return DD_MISMATCH;
    for (uint32_t i = 0; i < ops->list.count; i++)
        apply_op(&applying, &ops->list.items[i]);
    for (uint32_t i = 0; i < applying.touched.list.count; i++) {
        struct touched *touched =
            (struct touched *)applying.touched.list.items[i];

        settle(&applying, touched);
        dd_free(touched->value);
        dd_free(touched->tombstone);
        mem_free(touched);
    }
    vec_fini(&applying.touched.list);
    if (ormap_retains(value) && ormap_drop_tombstones(&value->is.map))
        note(&applying, DD_CHANGED);
    return applying.merged;
}
