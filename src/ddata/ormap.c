/* Merges maps. ormap_change.c changes them. */
#include "ddata/inside.h"

void ormap_items_fini(struct elements *items)
{
    for (uint32_t i = 0; i < items->list.count; i++) {
        dd_free(ormap_item_at(items, i)->value);
        mem_free(items->list.items[i]);
    }
    vec_fini(&items->list);
}

struct ormap_item *ormap_item_at(const struct elements *items, uint32_t index)
{
    return (struct ormap_item *)items->list.items[index];
}

static struct ormap_item *copy_of(const struct ormap_item *item)
{
    struct dd_element view = element_view(&item->element);
    struct ormap_item *copy = element_new(&view, sizeof *copy);

    copy->value = item->value ? dd_copy(item->value) : NULL;
    return copy;
}

void ormap_items_copy(struct elements *copy, const struct elements *items)
{
    for (uint32_t i = 0; i < items->list.count; i++)
        vec_push(&copy->list, &copy_of(ormap_item_at(items, i))->element);
}

bool ormap_items_equal(const struct elements *left, const struct elements *right)
{
    if (left->list.count != right->list.count)
        return false;
    for (uint32_t i = 0; i < left->list.count; i++) {
        const struct ormap_item *a = ormap_item_at(left, i);
        const struct ormap_item *b = ormap_item_at(right, i);
        struct dd_element view = element_view(&b->element);

        if (!elements_is_at(left, i, &view) || !a->value != !b->value ||
            (a->value && !dd_equal(a->value, b->value)))
            return false;
    }
    return true;
}

void ormap_items_put(struct elements *items, const struct dd_element *key,
                   struct dd_value *value)
{
    uint32_t at = elements_place(items, key);
    struct ormap_item *item;

    if (elements_is_at(items, at, key)) {
        item = ormap_item_at(items, at);
        dd_free(item->value);
    } else {
        item = element_new(key, sizeof *item);
        elements_insert(items, at, &item->element);
    }
    item->value = value;
}

void ormap_items_drop(struct elements *items, const struct dd_element *key)
{
    uint32_t at = elements_place(items, key);

    if (!elements_is_at(items, at, key))
        return;
    dd_free(ormap_item_at(items, at)->value);
    mem_free(elements_take(items, at));
}

void ormap_fini(struct ormap *map)
{
    orset_fini(&map->keys);
    ormap_items_fini(&map->items);
}

void ormap_copy(struct ormap *copy, const struct ormap *map)
{
    orset_copy(&copy->keys, &map->keys);
    ormap_items_copy(&copy->items, &map->items);
}

bool ormap_equal(const struct ormap *left, const struct ormap *right)
{
    return orset_equal(&left->keys, &right->keys) &&
           ormap_items_equal(&left->items, &right->items);
}

bool ormap_retains(const struct dd_value *map)
{
    return map->kind == DD_MULTIMAP && map->is_on;
}

enum map_tag ormap_tag_of(const struct dd_value *map)
{
    switch (map->kind) {
    case DD_PNCOUNTERMAP:
        return TAG_PNCOUNTERMAP;
    case DD_LWWMAP:
        return TAG_LWWMAP;
    case DD_MULTIMAP:
        return map->is_on ? TAG_MULTIMAP_WITH_DELTAS : TAG_MULTIMAP;
    default:
        check(map->kind == DD_ORMAP);
        return TAG_ORMAP;
    }
}

enum dd_kind ormap_kind_of(enum map_tag tag, bool *with_deltas)
{
    *with_deltas = tag == TAG_MULTIMAP_WITH_DELTAS;
    switch (tag) {
    case TAG_ORMAP:
        break;
    case TAG_PNCOUNTERMAP:
        return DD_PNCOUNTERMAP;
    case TAG_MULTIMAP:
    case TAG_MULTIMAP_WITH_DELTAS:
        return DD_MULTIMAP;
    case TAG_LWWMAP:
        return DD_LWWMAP;
    }
    return DD_ORMAP;
}

bool ormap_value_kind(enum map_tag tag, enum dd_kind *kind)
{
    switch (tag) {
    case TAG_ORMAP:
        return false;
    case TAG_PNCOUNTERMAP:
        *kind = DD_PNCOUNTER;
        break;
    case TAG_MULTIMAP:
    case TAG_MULTIMAP_WITH_DELTAS:
        *kind = DD_ORSET;
        break;
    case TAG_LWWMAP:
        *kind = DD_REGISTER;
        break;
    }
    return true;
}

bool ormap_drop_tombstones(struct ormap *map)
{
    uint32_t count = map->items.list.count;
    uint32_t kept = 0;

    if (count == orset_count(&map->keys))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        struct ormap_item *item = ormap_item_at(&map->items, i);
        struct dd_element view = element_view(&item->element);

        if (item->value->kind == DD_ORSET &&
            !orset_count(&item->value->is.orset) &&
            !orset_has(&map->keys, &view)) {
            dd_free(item->value);
            mem_free(item);
        } else {
            map->items.list.items[kept++] = &item->element;
        }
    }
    map->items.list.count = kept;
    return kept < count;
}

struct joining {
    const struct orset *keys; /* merged */
    bool retains;
    struct elements joined;
    enum dd_merged merged;
};

/* Still moves values after a failure, so that the map can be freed. */
static void failed_or(struct joining *joining, enum dd_merged merged)
{
    if (joining->merged == DD_UNCHANGED || merged > DD_CHANGED)
        joining->merged = merged == DD_UNCHANGED ? joining->merged : merged;
}

static void join_item(struct joining *joining, struct ormap_item *mine,
                      const struct ormap_item *theirs)
{
    struct dd_element view =
        element_view(mine ? &mine->element : &theirs->element);
    bool has_key = orset_has(joining->keys, &view);

    if (mine && theirs && (has_key || joining->retains)) {
        failed_or(joining, value_merge(mine->value, theirs->value));
    } else if (!has_key) {
        if (!mine)
            return;
        dd_free(mine->value);
        mem_free(mine);
        failed_or(joining, DD_CHANGED);
        return;
    } else if (!mine) {
        mine = copy_of(theirs);
        failed_or(joining, DD_CHANGED);
    }
    vec_push(&joining->joined.list, &mine->element);
}

enum dd_merged ormap_merge(struct dd_value *value, const struct dd_value *other)
{
    struct ormap *map = &value->is.map;
    const struct elements *theirs = &other->is.map.items;
    struct joining joining = { .keys = &map->keys,
                               .retains = ormap_retains(value) };
    uint32_t l = 0;
    uint32_t r = 0;

    if (value->is_on != other->is_on)
        return DD_MISMATCH;
    joining.merged = merged_of(orset_merge(&map->keys, &other->is.map.keys));
    while (l < map->items.list.count || r < theirs->list.count) {
        struct ormap_item *a =
            l < map->items.list.count ? ormap_item_at(&map->items, l) : NULL;
        struct ormap_item *b =
            r < theirs->list.count ? ormap_item_at(theirs, r) : NULL;
        int order = a ? -1 : 1;

        if (a && b) {
            struct dd_element x = element_view(&a->element);
            struct dd_element y = element_view(&b->element);

            order = element_compare(&x, &y);
        }
        l += order <= 0;
        r += order >= 0;
        join_item(&joining, order <= 0 ? a : NULL, order >= 0 ? b : NULL);
    }
    vec_fini(&map->items.list);
    map->items = joining.joined;
    if (joining.retains && ormap_drop_tombstones(map))
        failed_or(&joining, DD_CHANGED);
    return joining.merged;
}

void ormap_add_nodes(const struct ormap *map, struct dd_nodes *nodes)
{
    for (uint32_t i = 0; i < map->keys.nodes.count; i++)
        if (map->keys.nodes.items[i].version != ORSET_NOT_SEEN)
            dd_nodes_add(nodes, &map->keys.nodes.items[i].node);
    for (uint32_t i = 0; i < map->items.list.count; i++)
        dd_add_modified_by(ormap_item_at(&map->items, i)->value, nodes);
}

bool ormap_needs_pruning(const struct ormap *map, const struct node_id *removed)
{
    if (orset_needs_pruning(&map->keys, removed))
        return true;
    for (uint32_t i = 0; i < map->items.list.count; i++)
        if (dd_needs_pruning(ormap_item_at(&map->items, i)->value, removed))
            return true;
    return false;
}

bool ormap_cleanup(struct ormap *map, const struct node_id *removed)
{
    bool changed = orset_cleanup(&map->keys, removed);

    for (uint32_t i = 0; i < map->items.list.count; i++)
        if (dd_cleanup(ormap_item_at(&map->items, i)->value, removed))
            changed = true;
    return changed;
}

bool ormap_leave_count(struct ormap *map, const struct node_id *node)
{
    bool changed = false;

    for (uint32_t i = 0; i < map->items.list.count; i++)
        if (dd_leave_count(ormap_item_at(&map->items, i)->value, node))
            changed = true;
    return changed;
}

const struct dd_value *dd_map_get(const struct dd_value *map,
                                  const struct dd_element *key)
{
    struct ormap_item *item;

    check(value_is_map(map->kind));
    if (ormap_retains(map) && !orset_has(&map->is.map.keys, key))
        return NULL;
    item = elements_find(&map->is.map.items, key);
    return item ? item->value : NULL;
}

uint32_t dd_map_count(const struct dd_value *map)
{
    check(value_is_map(map->kind));
    return orset_count(&map->is.map.keys);
}

bool dd_map_next(const struct dd_value *map, uint32_t *at,
                 struct dd_element *key, const struct dd_value **value)
{
    const struct elements *items = &map->is.map.items;

    check(value_is_map(map->kind));
    while (*at < items->list.count) {
        const struct ormap_item *item = ormap_item_at(items, (*at)++);

        *key = element_view(&item->element);
        *value = item->value;
        if (!ormap_retains(map) || orset_has(&map->is.map.keys, key))
            return true;
    }
    return false;
}
