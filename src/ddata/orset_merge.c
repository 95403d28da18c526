/* Merges OR-sets by a parallel walk over two sorted arrays, in linear time. */
#include "ddata/orset_parts.h"

#include "base/check.h"
#include "base/mark.h"

#define FEW 16 /* elements of a delta that are looked up one by one */

/* Two sets being merged. Neither has seen more until the walk ends. */
struct both_sets {
    struct orset *mine;
    const struct orset *theirs;
    uint32_t *map; /* their places to mine */
    int64_t *seen; /* for each of my nodes: the highest version that the other set has seen */
};

static void see_nothing(struct both_sets *both)
{
    for (uint32_t i = 0; i < both->mine->nodes.count; i++)
        both->seen[i] = ORSET_NOT_SEEN;
}

static void begin(struct both_sets *both, struct orset *mine,
                  const struct orset *theirs)
{
    *both = (struct both_sets){ .mine = mine, .theirs = theirs };
    both->map = orset_join_nodes(mine, theirs);
    both->seen = mem_alloc(mine->nodes.count * sizeof *both->seen);
    see_nothing(both);
    for (uint32_t i = 0; i < theirs->nodes.count; i++)
        both->seen[both->map[i]] = theirs->nodes.items[i].version;
}

/* Afterwards both have seen what either had. */
static bool finish(struct both_sets *both)
{
    struct orset *mine = both->mine;
    bool changed = false;

    for (uint32_t i = 0; i < mine->nodes.count; i++) {
        if (both->seen[i] <= mine->nodes.items[i].version)
            continue;
        mine->nodes.items[i].version = both->seen[i];
        changed = true;
    }
    mem_free(both->map);
    mem_free(both->seen);
    return changed;
}

static bool is_seen_by_me(const struct both_sets *both, struct dot dot)
{
    return dot.version <= 0 ||
           both->mine->nodes.items[dot.node].version >= dot.version;
}

static bool is_seen_by_them(const struct both_sets *both, struct dot dot)
{
    return dot.version <= 0 || both->seen[dot.node] >= dot.version;
}

/* By my places; after the last, a dot that sorts last. */
static struct dot their_dot(const struct both_sets *both,
                            const struct dots *dots, uint32_t index)
{
    struct dot dot = { 0, UINT32_MAX };

    if (index < dots->count) {
        dot = dots_at(dots, index);
        dot.node = both->map[dot.node];
    }
    return dot;
}

/* True if they differ. */
static bool replace_dots(struct dots *dots, struct dots *made)
{
    bool same = dots->count == made->count;

    for (uint32_t i = 0; i < made->count && same; i++) {
        struct dot a = dots_at(dots, i);
        struct dot b = dots_at(made, i);

        same = a.node == b.node && a.version == b.version;
    }
    dots_fini(dots);
    *dots = *made;
    return !same;
}

/* Keeps common dots, and those that the other side has not seen. */
static bool join_dots(const struct both_sets *both, struct dots *mine,
                      const struct dots *theirs)
{
    struct dots joined = { 0 };
    uint32_t l = 0;
    uint32_t r = 0;

    while (l < mine->count || r < theirs->count) {
        struct dot a = l < mine->count ? dots_at(mine, l)
                                       : (struct dot){ 0, UINT32_MAX };
        struct dot b = their_dot(both, theirs, r);
        bool same = a.node == b.node && a.version == b.version;
        bool keep_a = a.node <= b.node &&
                      (same || !is_seen_by_them(both, a));
        bool keep_b = b.node <= a.node && (same || !is_seen_by_me(both, b));

        l += a.node <= b.node;
        r += b.node <= a.node;
        if (keep_a && keep_b)
            dots_push(&joined, a.version >= b.version ? a : b);
        else if (keep_a || keep_b)
            dots_push(&joined, keep_a ? a : b);
    }
    return replace_dots(mine, &joined);
}

/* Keeps dots that they have not seen. */
static bool keep_unseen(const struct both_sets *both, struct dots *dots)
{
    struct dots kept = { 0 };

    for (uint32_t i = 0; i < dots->count; i++)
        if (!is_seen_by_them(both, dots_at(dots, i)))
            dots_push(&kept, dots_at(dots, i));
    return replace_dots(dots, &kept);
}

/* With the dots that I have not seen; null: none. */
static struct orset_item *take_unseen(const struct both_sets *both,
                                      const struct orset_item *theirs)
{
    struct orset_item *item = NULL;

    for (uint32_t i = 0; i < theirs->dots.count; i++) {
        struct dot dot = their_dot(both, &theirs->dots, i);

        if (is_seen_by_me(both, dot))
            continue;
        if (!item) {
            struct dd_element view = element_view(&theirs->element);

            item = orset_new_item(&view);
        }
        dots_push(&item->dots, dot);
    }
    return item;
}

struct walk {
    struct elements merged;
    bool changed;
};

static void emit(struct walk *walk, struct orset_item *item, bool changed)
{
    walk->changed = walk->changed || changed;
    if (!item)
        return;
    if (item->dots.count) {
        vec_push(&walk->merged.list, &item->element);
        return;
    }
    walk->changed = true; /* perhaps it had no dots before */
    orset_drop_item(item);
}

/* keeps_mine: elements of mine only stay unchanged. */
static bool merge(struct orset *set, const struct orset *other, bool keeps_mine)
{
    struct both_sets both;
    struct walk walk = { 0 };
    uint32_t l = 0;
    uint32_t r = 0;
    bool saw_more;

    begin(&both, set, other);
    while (l < orset_count(set) || r < orset_count(other)) {
        struct orset_item *a = l < orset_count(set) ? orset_item(set, l) : NULL;
        const struct orset_item *b =
            r < orset_count(other) ? orset_item(other, r) : NULL;
        int order = a ? -1 : 1;

        if (a && b) {
            struct dd_element view = element_view(&a->element);
            struct dd_element key = element_view(&b->element);

            order = element_compare(&view, &key);
        }
        l += order <= 0;
        r += order >= 0;
        if (!order) {
            emit(&walk, a, join_dots(&both, &a->dots, &b->dots));
        } else if (order > 0) {
            a = take_unseen(&both, b);
            emit(&walk, a, a != NULL);
        } else if (keeps_mine) {
            vec_push(&walk.merged.list, &a->element);
        } else {
            emit(&walk, a, keep_unseen(&both, &a->dots));
        }
    }
    vec_fini(&set->items.list);
    set->items = walk.merged;
    saw_more = finish(&both);
    return walk.changed || saw_more;
}

bool orset_merge(struct orset *set, const struct orset *other)
{
    return merge(set, other, false);
}

static bool apply_item(struct both_sets *both, const struct orset_item *theirs)
{
    struct elements *items = &both->mine->items;
    struct dd_element view = element_view(&theirs->element);
    uint32_t at = elements_place(items, &view);
    struct orset_item *item;
    bool changed;

    if (!elements_is_at(items, at, &view)) {
        item = take_unseen(both, theirs);
        if (item)
            elements_insert(items, at, &item->element);
        return item != NULL;
    }
    item = orset_item(both->mine, at);
    changed = join_dots(both, &item->dots, &theirs->dots);
    if (!item->dots.count) {
        orset_drop_item(item);
        (void)elements_take(items, at); /* freed above */
        changed = true;
    }
    return changed;
}

bool orset_apply_add(struct orset *set, const struct orset *delta)
{
    struct both_sets both;
    bool changed = false;

    if (orset_count(delta) > FEW)
        return merge(set, delta, true);
    begin(&both, set, delta);
    for (uint32_t i = 0; i < orset_count(delta); i++)
        if (apply_item(&both, orset_item(delta, i)))
            changed = true;
    if (finish(&both))
        changed = true;
    return changed;
}

/* The element goes if the remover had seen all its dots. The set learns nothing else of what the
 * remover had seen, except its own dot. */
bool orset_apply_remove(struct orset *set, const struct orset *delta)
{
    const struct orset_item *removed = orset_item(delta, 0);
    struct dd_element view = element_view(&removed->element);
    uint32_t at = elements_place(&set->items, &view);
    bool goes = elements_is_at(&set->items, at, &view);
    struct both_sets both;

    begin(&both, set, delta);
    if (goes) {
        const struct dots *dots = &orset_item(set, at)->dots;

        for (uint32_t i = 0; goes && i < dots->count; i++)
            goes = is_seen_by_them(&both, dots_at(dots, i));
    }
    SOMETIMES("an element stays: its remover had not seen all of it",
              !goes && elements_is_at(&set->items, at, &view));
    see_nothing(&both);
    for (uint32_t i = 0; i < removed->dots.count; i++) {
        struct dot dot = their_dot(&both, &removed->dots, i);

        if (dot.version) /* else only the delta names the node: states would differ */
            both.seen[dot.node] = dot.version;
    }
    if (goes) {
        orset_drop_item(orset_item(set, at));
        (void)elements_take(&set->items, at); /* freed above */
    }
    return finish(&both) || goes;
}
