/* Implements top.h. */
#include "look/top.h"

#include "base/sort.h"

void top_fini(struct top *top)
{
    vec_fini(&top->items);
}

static bool is_worse(const struct top_item *left, const struct top_item *right)
{
    return left->key != right->key ? left->key < right->key : left->tie > right->tie;
}

static void swap(struct top_item *left, struct top_item *right)
{
    struct top_item one = *left;

    *left = *right;
    *right = one;
}

static void sift_up(struct top_item *heap, uint32_t at)
{
    while (at && is_worse(&heap[at], &heap[(at - 1) / 2])) {
        swap(&heap[at], &heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

static void sift_down(struct top_item *heap, uint32_t count)
{
    uint32_t at = 0;

    for (;;) {
        uint32_t least = at;

        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            if (is_worse(&heap[child], &heap[least]))
                least = child;
        if (least == at)
            return;
        swap(&heap[at], &heap[least]);
        at = least;
    }
}

bool top_put(struct top *top, uint32_t max, struct top_item item, struct top_item *left)
{
    if (top->items.count < max) {
        vec_push(&top->items, item);
        sift_up(top->items.items, top->items.count - 1);
        return false;
    }
    *left = item;
    if (!max || is_worse(&item, &top->items.items[0]))
        return true;
    *left = top->items.items[0];
    top->items.items[0] = item;
    sift_down(top->items.items, top->items.count);
    return true;
}

static int compare(const void *left, const void *right)
{
    return is_worse(left, right) ? 1 : -1;
}

void top_sort(struct top *top)
{
    if (top->items.count)
        sort_stable(top->items.items, top->items.count, sizeof *top->items.items, compare);
}
