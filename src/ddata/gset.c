/* Implements the grow-only set and the flag. */
#include "ddata/inside.h"

static void drop(struct element *element)
{
    mem_free(element);
}

void gset_fini(struct elements *set)
{
    for (uint32_t i = 0; i < set->list.count; i++)
        mem_free(set->list.items[i]);
    vec_fini(&set->list);
}

void gset_sort(struct elements *set)
{
    elements_sort(set, drop);
}

static struct element *copy_of(const struct element *element)
{
    struct dd_element view = element_view(element);

    return element_new(&view, sizeof(struct element));
}

void gset_copy(struct elements *copy, const struct elements *set)
{
    for (uint32_t i = 0; i < set->list.count; i++)
        vec_push(&copy->list, copy_of(set->list.items[i]));
}

bool gset_equal(const struct elements *left, const struct elements *right)
{
    if (left->list.count != right->list.count)
        return false;
    for (uint32_t i = 0; i < left->list.count; i++) {
        struct dd_element view = element_view(right->list.items[i]);

        if (!elements_is_at(left, i, &view))
            return false;
    }
    return true;
}

static bool put(struct elements *set, const struct dd_element *view)
{
    uint32_t at = elements_place(set, view);

    if (elements_is_at(set, at, view))
        return false;
    elements_insert(set, at, element_new(view, sizeof(struct element)));
    return true;
}

#define FEW 16 /* elements that are inserted one by one */

bool gset_merge(struct elements *set, const struct elements *other)
{
    uint32_t count = set->list.count;
    struct elements merged = { 0 };
    uint32_t l = 0;
    uint32_t r = 0;

    if (other->list.count <= FEW) {
        for (; r < other->list.count; r++) {
            struct dd_element view = element_view(other->list.items[r]);

            put(set, &view);
        }
        return set->list.count > count;
    }
    while (l < count || r < other->list.count) {
        int order = l == count ? 1 : -1;

        if (l < count && r < other->list.count) {
            struct dd_element a = element_view(set->list.items[l]);
            struct dd_element b = element_view(other->list.items[r]);

            order = element_compare(&a, &b);
        }
        vec_push(&merged.list, order <= 0 ? set->list.items[l]
                                          : copy_of(other->list.items[r]));
        l += order <= 0;
        r += order >= 0;
    }
    vec_fini(&set->list);
    *set = merged;
    return set->list.count > count;
}

void dd_gset_add(struct dd_value *value, const struct dd_element *element)
{
    check(value->kind == DD_GSET);
    put(&value_pending(value, DD_GSET)->is.gset, element);
    if (put(&value->is.gset, element))
        value_touch(value);
}

bool dd_flag(const struct dd_value *value)
{
    check(value->kind == DD_FLAG);
    return value->is_on;
}

void dd_flag_switch_on(struct dd_value *value)
{
    check(value->kind == DD_FLAG);
    if (!value->is_on)
        value_touch(value);
    value->is_on = true;
}
