/* Changes the OR-set. orset_merge.c merges. */
#include "ddata/orset.h"

#include "base/check.h"
#include "base/sorted.h"
#include "ddata/orset_parts.h"

static int order_of_node(const void *item, const void *key)
{
    return node_compare(&((const struct version *)item)->node, key);
}

static uint32_t node_place(const struct orset *set, const struct node_id *node)
{
    return sorted_vec_place(&set->nodes, order_of_node, node);
}

uint32_t orset_find_node(const struct orset *set, const struct node_id *node)
{
    uint32_t at = node_place(set, node);

    return at < set->nodes.count && node_equal(&set->nodes.items[at].node, node)
               ? at
               : UINT32_MAX;
}

void orset_renumber(struct orset *set, const uint32_t *map)
{
    for (uint32_t i = 0; i < orset_count(set); i++) {
        struct dots *dots = &orset_item(set, i)->dots;

        if (dots->count == 1)
            dots->node = map[dots->node];
        else
            for (uint32_t j = 0; j < dots->count; j++)
                dots->is.many[j].node = map[dots->is.many[j].node];
    }
}

uint32_t *orset_join_nodes(struct orset *set, const struct orset *other)
{
    uint32_t *mine = mem_alloc(set->nodes.count * sizeof *mine);
    uint32_t *theirs = mem_alloc(other->nodes.count * sizeof *theirs);
    struct orset joined = { 0 };
    uint32_t l = 0;
    uint32_t r = 0;

    while (l < set->nodes.count || r < other->nodes.count) {
        const struct version *a =
            l < set->nodes.count ? &set->nodes.items[l] : NULL;
        const struct version *b =
            r < other->nodes.count ? &other->nodes.items[r] : NULL;
        int order = !a ? 1 : !b ? -1 : node_compare(&a->node, &b->node);
        struct version item = order <= 0 ? *a : (struct version){ b->node, ORSET_NOT_SEEN };

        if (order <= 0)
            mine[l++] = joined.nodes.count;
        if (order >= 0)
            theirs[r++] = joined.nodes.count;
        vec_push(&joined.nodes, item);
    }
    if (joined.nodes.count > set->nodes.count)
        orset_renumber(set, mine);
    vec_fini(&set->nodes);
    set->nodes = joined.nodes;
    mem_free(mine);
    return theirs;
}

/* Adds the node if it is missing. */
static uint32_t take_node(struct orset *set, const struct node_id *node)
{
    uint32_t at = node_place(set, node);
    struct version item = { *node, ORSET_NOT_SEEN };
    uint32_t *map;

    if (orset_find_node(set, node) != UINT32_MAX)
        return at;
    map = mem_alloc(set->nodes.count * sizeof *map);
    for (uint32_t i = 0; i < set->nodes.count; i++)
        map[i] = i + (i >= at);
    orset_renumber(set, map);
    mem_free(map);
    vec_push(&set->nodes, item);
    memmove(&set->nodes.items[at + 1], &set->nodes.items[at],
            (set->nodes.count - 1 - at) * sizeof item);
    set->nodes.items[at] = item;
    return at;
}

/* Removes a node that no dot names from the table. */
static void forget_node(struct orset *set, uint32_t at)
{
    uint32_t *map = mem_alloc(set->nodes.count * sizeof *map);

    for (uint32_t i = 0; i < set->nodes.count; i++)
        map[i] = i - (i > at);
    orset_renumber(set, map);
    mem_free(map);
    vec_remove(&set->nodes, at);
}

static void drop_item(struct element *element)
{
    dots_fini(&((struct orset_item *)element)->dots);
    mem_free(element);
}

void orset_drop_item(struct orset_item *item)
{
    drop_item(&item->element);
}

void orset_fini(struct orset *set)
{
    for (uint32_t i = 0; i < orset_count(set); i++)
        orset_drop_item(orset_item(set, i));
    vec_fini(&set->items.list);
    vec_fini(&set->nodes);
}

struct orset_item *orset_new_item(const struct dd_element *element)
{
    return element_new(element, sizeof(struct orset_item));
}

struct orset_item *orset_copy_item(const struct orset_item *item,
                                   const uint32_t *map)
{
    struct dd_element view = element_view(&item->element);
    struct orset_item *copy = orset_new_item(&view);

    for (uint32_t i = 0; i < item->dots.count; i++) {
        struct dot dot = dots_at(&item->dots, i);

        if (map)
            dot.node = map[dot.node];
        dots_push(&copy->dots, dot);
    }
    return copy;
}

void orset_copy(struct orset *copy, const struct orset *set)
{
    check(!copy->nodes.count && !orset_count(copy));
    for (uint32_t i = 0; i < set->nodes.count; i++)
        vec_push(&copy->nodes, set->nodes.items[i]);
    for (uint32_t i = 0; i < orset_count(set); i++)
        vec_push(&copy->items.list,
                 &orset_copy_item(orset_item(set, i), NULL)->element);
}

void orset_sort(struct orset *set)
{
    elements_sort(&set->items, drop_item);
}

bool orset_has(const struct orset *set, const struct dd_element *element)
{
    return elements_find(&set->items, element) != NULL;
}

/* Null at the end. */
static const struct version *next_seen(const struct orset *set, uint32_t *at)
{
    while (*at < set->nodes.count) {
        const struct version *node = &set->nodes.items[(*at)++];

        if (node->version != ORSET_NOT_SEEN)
            return node;
    }
    return NULL;
}

static bool equal_seen(const struct orset *left, const struct orset *right)
{
    uint32_t l = 0;
    uint32_t r = 0;

    for (;;) {
        const struct version *a = next_seen(left, &l);
        const struct version *b = next_seen(right, &r);

        if (!a || !b)
            return a == b;
        if (a->version != b->version || !node_equal(&a->node, &b->node))
            return false;
    }
}

static bool equal_dots(const struct orset *left, const struct dots *a,
                       const struct orset *right, const struct dots *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        struct dot x = dots_at(a, i);
        struct dot y = dots_at(b, i);

        if (x.version != y.version ||
            !node_equal(&left->nodes.items[x.node].node,
                        &right->nodes.items[y.node].node))
            return false;
    }
    return true;
}

bool orset_equal(const struct orset *left, const struct orset *right)
{
    if (orset_count(left) != orset_count(right) || !equal_seen(left, right))
        return false;
    for (uint32_t i = 0; i < orset_count(left); i++) {
        const struct orset_item *a = orset_item(left, i);
        const struct orset_item *b = orset_item(right, i);
        struct dd_element view = element_view(&b->element);

        if (!elements_is_at(&left->items, i, &view) ||
            !equal_dots(left, &a->dots, right, &b->dots))
            return false;
    }
    return true;
}

/* Replaces the element's dots. */
static void put(struct orset *set, const struct dd_element *element,
                struct dot dot)
{
    uint32_t at = elements_place(&set->items, element);
    struct orset_item *item;

    if (!elements_is_at(&set->items, at, element))
        elements_insert(&set->items, at, &orset_new_item(element)->element);
    item = orset_item(set, at);
    dots_fini(&item->dots);
    dots_push(&item->dots, dot);
}

void orset_add(struct orset *set, struct dd_writer *writer,
               const struct dd_element *element, struct orset *delta)
{
    uint32_t node = take_node(set, &writer->node);
    int64_t version = ++writer->versions;

    set->nodes.items[node].version = version;
    put(set, element, (struct dot){ version, node });
    check(!delta->nodes.count);
    vec_push(&delta->nodes, set->nodes.items[node]);
    put(delta, element, (struct dot){ version, 0 });
}

/* Without elements. */
static void copy_seen(struct orset *copy, const struct orset *set)
{
    check(!copy->nodes.count && !orset_count(copy));
    for (uint32_t i = 0; i < set->nodes.count; i++)
        if (set->nodes.items[i].version != ORSET_NOT_SEEN)
            vec_push(&copy->nodes, set->nodes.items[i]);
}

void orset_forget(struct orset *set, const struct dd_element *element)
{
    uint32_t at = elements_place(&set->items, element);

    if (elements_is_at(&set->items, at, element))
        drop_item(elements_take(&set->items, at));
}

void orset_remove(struct orset *set, const struct node_id *node,
                  const struct dd_element *element, struct orset *delta)
{
    uint32_t place;
    int64_t version;

    copy_seen(delta, set);
    place = take_node(delta, node);
    version = delta->nodes.items[place].version;
    put(delta, element, (struct dot){ version > 0 ? version : 0, place });
    orset_forget(set, element);
}

void orset_clear(struct orset *set, struct orset *delta)
{
    copy_seen(delta, set);
    for (uint32_t i = 0; i < orset_count(set); i++)
        orset_drop_item(orset_item(set, i));
    set->items.list.count = 0;
}

void orset_concat(struct orset *delta, const struct orset *next)
{
    uint32_t *map = orset_join_nodes(delta, next);

    for (uint32_t i = 0; i < orset_count(next); i++) {
        const struct orset_item *item = orset_item(next, i);
        struct dd_element view = element_view(&item->element);
        uint32_t at = elements_place(&delta->items, &view);

        if (elements_is_at(&delta->items, at, &view))
            drop_item(elements_take(&delta->items, at));
        elements_insert(&delta->items, at,
                        &orset_copy_item(item, map)->element);
    }
    for (uint32_t i = 0; i < next->nodes.count; i++)
        if (delta->nodes.items[map[i]].version < next->nodes.items[i].version)
            delta->nodes.items[map[i]].version = next->nodes.items[i].version;
    mem_free(map);
}

bool orset_needs_pruning(const struct orset *set,
                         const struct node_id *removed)
{
    uint32_t at = orset_find_node(set, removed);

    return at != UINT32_MAX && set->nodes.items[at].version != ORSET_NOT_SEEN;
}

/* False: there is none. */
static bool drop_dot(struct dots *dots, uint32_t node)
{
    struct dots kept = { 0 };
    bool found = false;

    for (uint32_t i = 0; i < dots->count && !found; i++)
        found = dots_at(dots, i).node == node;
    if (!found)
        return false;
    for (uint32_t i = 0; i < dots->count; i++)
        if (dots_at(dots, i).node != node)
            dots_push(&kept, dots_at(dots, i));
    dots_fini(dots);
    *dots = kept;
    return true;
}

/* `into` adds the removed node's elements again, so what both have seen stays unchanged. */
bool orset_prune(struct orset *set, const struct node_id *removed,
                 struct dd_writer *into, struct orset *delta)
{
    uint32_t node;
    uint32_t at = orset_find_node(set, removed);

    if (at == UINT32_MAX || node_equal(removed, &into->node))
        return false;
    node = take_node(set, &into->node);
    at = orset_find_node(set, removed);
    set->nodes.items[at].version = ORSET_NOT_SEEN;
    set->nodes.items[node].version = ++into->versions;
    for (uint32_t i = 0; i < orset_count(set); i++) {
        struct orset_item *item = orset_item(set, i);
        struct dd_element view = element_view(&item->element);

        if (!drop_dot(&item->dots, at))
            continue;
        dots_fini(&item->dots);
        set->nodes.items[node].version = ++into->versions;
        dots_push(&item->dots, (struct dot){ into->versions, node });
        if (!delta->nodes.count)
            vec_push(&delta->nodes, set->nodes.items[node]);
        put(delta, &view, (struct dot){ into->versions, 0 });
    }
    if (delta->nodes.count)
        delta->nodes.items[0].version = into->versions;
    forget_node(set, at);
    return true;
}

bool orset_cleanup(struct orset *set, const struct node_id *removed)
{
    uint32_t at = orset_find_node(set, removed);

    if (at == UINT32_MAX)
        return false;
    for (uint32_t i = 0; i < orset_count(set); i++)
        drop_dot(&orset_item(set, i)->dots, at);
    forget_node(set, at);
    return true;
}
