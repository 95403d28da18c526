/* Changes maps for users, and records the deltas. */
#include "ddata/inside.h"

static struct ormap *map_of(struct dd_value *value, enum dd_kind kind)
{
    check(value->kind == kind);
    return &value->is.map;
}

/* The change is given. */
static void push(struct dd_value *value, struct ormap_op *op)
{
    op->tag = ormap_tag_of(value);
    /* Cannot fail: deltas of one value are of one kind. */
    check(ormap_ops_push(&value_pending(value, DD_ORMAP_DELTA)->is.ormap_ops,
                         op) == DD_CHANGED);
    value_touch(value);
}

static void push_item(struct ormap_op *op, const struct dd_element *key,
                      struct dd_value *value)
{
    ormap_items_put(&op->items, key, value);
}

static void put(struct dd_value *map, struct dd_writer *writer,
                const struct dd_element *key, struct dd_value *value)
{
    struct ormap_op op = { .change = ORMAP_PUT };

    dd_reset_delta(value);
    orset_add(&map->is.map.keys, writer, key, &op.set);
    push_item(&op, key, dd_copy(value));
    push(map, &op);
    ormap_items_put(&map->is.map.items, key, value);
}

void dd_map_remove(struct dd_value *map, struct dd_writer *writer,
                   const struct dd_element *key)
{
    struct ormap_op op = { .change = ORMAP_REMOVE };

    check(value_is_map(map->kind));
    if (ormap_retains(map)) {
        dd_multimap_put(map, writer, key, NULL, 0);
        op.change = ORMAP_REMOVE_KEY;
        push_item(&op, key, NULL);
    } else {
        ormap_items_drop(&map->is.map.items, key);
    }
    orset_remove(&map->is.map.keys, &writer->node, key, &op.set);
    push(map, &op);
}

bool dd_ormap_put(struct dd_value *map, struct dd_writer *writer,
                  const struct dd_element *key, struct dd_value *value)
{
    struct ormap *inside = map_of(map, DD_ORMAP);

    check(!dd_is_delta(value) && value->kind != DD_DELETED);
    if (value->kind == DD_ORSET && elements_find(&inside->items, key)) {
        dd_free(value);
        return false;
    }
    put(map, writer, key, value);
    return true;
}

void dd_ormap_update(struct dd_value *map, struct dd_writer *writer,
                     const struct dd_element *key, struct dd_value *value)
{
    check(map->kind == DD_ORMAP && !dd_is_delta(value) &&
          value->kind != DD_DELETED);
    put(map, writer, key, value);
}

void dd_lwwmap_put(struct dd_value *map, struct dd_writer *writer,
                   const struct dd_element *key, struct dd_other state,
                   int64_t now_ms, enum dd_clock clock)
{
    const struct ormap_item *item =
        elements_find(&map_of(map, DD_LWWMAP)->items, key);
    struct dd_value *value;

    if (item) {
        value = dd_copy(item->value);
        dd_register_set(value, &writer->node, state, now_ms, clock);
    } else {
        value = dd_register_new(&writer->node, state, now_ms, clock);
    }
    put(map, writer, key, value);
}

void dd_countermap_add(struct dd_value *map, struct dd_writer *writer,
                       const struct dd_element *key, int64_t amount)
{
    const struct ormap_item *item =
        elements_find(&map_of(map, DD_PNCOUNTERMAP)->items, key);
    struct dd_value *value =
        item ? dd_copy(item->value) : dd_new(DD_PNCOUNTER);

    dd_pncounter_add(value, &writer->node, amount);
    put(map, writer, key, value);
}

struct dd_value *dd_multimap_new(bool with_value_deltas)
{
    struct dd_value *value = value_new(DD_MULTIMAP);

    value->is_on = with_value_deltas;
    return value;
}

bool dd_multimap_has_deltas(const struct dd_value *map)
{
    check(map->kind == DD_MULTIMAP);
    return map->is_on;
}

/* A change of one key's set, between open_set and close_set. */
struct opened {
    struct dd_value *set; /* in the map */
    /* others may lack the set or tombstone: a delta would claim that missing bindings were seen,
     * and they would be lost. (Akka sends one for tombstones.) */
    bool is_whole;
    struct ormap_op op;
};

/* Adds the key before its set changes, to draw versions in Akka's order. */
static struct opened open_set(struct dd_value *map, struct dd_writer *writer,
                              const struct dd_element *key)
{
    struct ormap *inside = map_of(map, DD_MULTIMAP);
    struct ormap_item *item = elements_find(&inside->items, key);
    struct opened opened = { .is_whole =
                                 !item || !orset_has(&inside->keys, key) };

    if (!item) {
        ormap_items_put(&inside->items, key, value_new(DD_ORSET));
        item = elements_find(&inside->items, key);
    }
    opened.set = item->value;
    dd_reset_delta(opened.set);
    orset_add(&inside->keys, writer, key, &opened.op.set);
    return opened;
}

/* Sends the whole set, or, with value deltas, only its change. */
static void close_set(struct dd_value *map, const struct dd_element *key,
                      struct opened *opened)
{
    struct dd_value *delta = dd_take_delta(opened->set);

    opened->op.change = ORMAP_PUT;
    if (map->is_on && !opened->is_whole && delta) {
        opened->op.change = ORMAP_UPDATE;
        push_item(&opened->op, key, delta);
    } else {
        push_item(&opened->op, key, dd_copy(opened->set));
        dd_free(delta);
    }
    push(map, &opened->op);
}

void dd_multimap_put(struct dd_value *map, struct dd_writer *writer,
                     const struct dd_element *key,
                     const struct dd_element *elements, uint32_t count)
{
    struct opened opened = open_set(map, writer, key);

    dd_orset_clear(opened.set);
    for (uint32_t i = 0; i < count; i++)
        dd_orset_add(opened.set, writer, &elements[i]);
    close_set(map, key, &opened);
}

void dd_multimap_add(struct dd_value *map, struct dd_writer *writer,
                     const struct dd_element *key,
                     const struct dd_element *element)
{
    struct opened opened = open_set(map, writer, key);

    dd_orset_add(opened.set, writer, element);
    close_set(map, key, &opened);
}

void dd_multimap_remove(struct dd_value *map, struct dd_writer *writer,
                        const struct dd_element *key,
                        const struct dd_element *element)
{
    struct opened opened = open_set(map, writer, key);
    struct ormap_op op = { .change =
                               map->is_on ? ORMAP_REMOVE_KEY : ORMAP_REMOVE };

    dd_orset_remove(opened.set, writer, element);
    close_set(map, key, &opened);
    if (dd_set_count(opened.set))
        return;
    if (map->is_on)
        push_item(&op, key, NULL);
    else
        ormap_items_drop(&map->is.map.items, key);
    orset_remove(&map->is.map.keys, &writer->node, key, &op.set);
    push(map, &op);
}

void dd_multimap_replace(struct dd_value *map, struct dd_writer *writer,
                         const struct dd_element *key,
                         const struct dd_element *old,
                         const struct dd_element *element)
{
    if (!element_compare(old, element))
        return;
    dd_multimap_add(map, writer, key, element);
    dd_multimap_remove(map, writer, key, old);
}

/* Sets and maps inside are pruned like the keys: elements are added again, with versions that only
 * the whole value carries. */
static bool has_versions(const struct dd_value *value)
{
    return value->kind == DD_ORSET || value_is_map(value->kind);
}

bool ormap_prune(struct dd_value *value, const struct node_id *removed,
               struct dd_writer *into)
{
    struct ormap *map = &value->is.map;
    struct orset keys = { 0 };
    bool changed = orset_prune(&map->keys, removed, into, &keys);

    for (uint32_t i = 0; i < map->items.list.count; i++) {
        struct ormap_item *item = ormap_item_at(&map->items, i);
        struct dd_element key = element_view(&item->element);
        bool again = orset_has(&keys, &key);
        struct ormap_op op = { .change = ORMAP_PUT };

        if (dd_prune(item->value, removed, into)) {
            dd_reset_delta(item->value);
            changed = true;
            again = again || (has_versions(item->value) &&
                              orset_has(&map->keys, &key));
        }
        if (!again)
            continue;
        orset_add(&map->keys, into, &key, &op.set);
        push_item(&op, &key, dd_copy(item->value));
        push(value, &op);
    }
    orset_fini(&keys);
    return changed;
}
