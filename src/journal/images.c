/* Keeps the snapshots of each entity in a list in order of their numbers. */
#include "journal/images.h"

#include "base/check.h"
#include "base/vec.h"

struct image_list {
    struct slice id;
    VEC(struct image) items; /* lowest number first */
};

/* Returns the index of the first one with at least this number. */
static uint32_t place_of(const struct image_list *list, uint64_t seq)
{
    uint32_t at = 0;

    while (at < list->items.count && list->items.items[at].seq < seq)
        at++;
    return at;
}

static struct image_list *list_of(struct images *images, struct slice id)
{
    struct image_list *list = map_get(&images->table, id);

    if (!list) {
        list = mem_alloc(sizeof *list);
        list->id = slice_of(mem_copy(id.data, id.size), id.size);
        (void)map_put(&images->table, id, list); /* was absent */
    }
    return list;
}

struct slice images_put(struct images *images, struct slice *id, uint64_t seq,
                        struct slice bytes)
{
    struct image_list *list = list_of(images, *id);
    struct slice before = { 0 };
    uint32_t at = place_of(list, seq);

    *id = list->id;
    if (at < list->items.count && list->items.items[at].seq == seq) {
        before = list->items.items[at].bytes;
        list->items.items[at].bytes = bytes;
        return before;
    }
    vec_push(&list->items, ((struct image){ 0 }));
    memmove(list->items.items + at + 1, list->items.items + at,
            (list->items.count - 1 - at) * sizeof *list->items.items);
    list->items.items[at] = (struct image){ seq, bytes };
    return before;
}

struct slice images_take(struct images *images, struct slice id, uint64_t seq)
{
    struct image_list *list = map_get(&images->table, id);
    struct slice bytes;
    uint32_t at;

    check(list != NULL);
    at = place_of(list, seq);
    check(at < list->items.count && list->items.items[at].seq == seq);
    bytes = list->items.items[at].bytes;
    vec_remove(&list->items, at);
    return bytes;
}

bool images_newest(const struct images *images, struct slice id, uint64_t up_to,
                   struct image *found)
{
    const struct image_list *list = map_get(&images->table, id);
    uint32_t at = list && up_to < UINT64_MAX ? place_of(list, up_to + 1) : 0;

    if (list && up_to == UINT64_MAX)
        at = list->items.count;
    if (!at)
        return false;
    *found = list->items.items[at - 1];
    return true;
}

bool images_at(const struct images *images, struct slice id, uint32_t index,
               struct image *found)
{
    const struct image_list *list = map_get(&images->table, id);

    if (!list || index >= list->items.count)
        return false;
    *found = list->items.items[index];
    return true;
}

uint32_t images_count(const struct images *images, struct slice id)
{
    const struct image_list *list = map_get(&images->table, id);

    return list ? list->items.count : 0;
}

void images_fini(struct images *images)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&images->table, &at, &entry);) {
        struct image_list *list = entry.value;

        for (uint32_t i = 0; i < list->items.count; i++)
            mem_free((void *)(uintptr_t)list->items.items[i].bytes.data);
        vec_fini(&list->items);
        mem_free((void *)(uintptr_t)list->id.data);
        mem_free(list);
    }
    map_fini(&images->table);
}
