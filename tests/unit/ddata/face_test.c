/* Users' changes of values: those that are said to be sure can be made in the value itself, make of it what they make of a copy, and add
 * no more bytes than was said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "ddata/face.h"

#define CASES 20000
#define CHANGES 3

static const struct node_id self = { { "self", 1 }, 7 };

static struct sherd_item random_item(struct rng *rng, char text[8])
{
    struct sherd_item item = { .number = (int64_t)rng_below(rng, 3) };
    const char *begin = rng_below(rng, 9) ? "t" : "\xff"; /* no text */

    item.kind = (enum sherd_item_kind)(1 + rng_below(rng, SHERD_ITEM_OTHER));
    if (rng_below(rng, 3))
        item.kind = SHERD_ITEM_TEXT;
    (void)snprintf(text, 8, "%s%u", begin,
                   (unsigned)rng_below(rng, 5)); /* fits */
    if (item.kind != SHERD_ITEM_INT && item.kind != SHERD_ITEM_LONG)
        item.text = (struct sherd_bytes){ text, strlen(text) };
    return item;
}

struct changes {
    struct sherd_change items[CHANGES];
    char texts[2 * CHANGES][8];
};

static void draw(struct rng *rng, struct changes *changes)
{
    for (uint32_t i = 0; i < CHANGES; i++) {
        struct sherd_change *change = &changes->items[i];

        *change = (struct sherd_change){ .amount = 0 };
        change->verb = (enum sherd_verb)(1 + rng_below(rng, SHERD_PUT));
        change->item = random_item(rng, changes->texts[2 * i]);
        change->value = random_item(rng, changes->texts[2 * i + 1]);
        change->amount = (int64_t)rng_below(rng, 5) - 2;
        if (i && rng_below(rng, 4)) /* alike: else nearly none are all sure */
            change->verb = changes->items[0].verb;
        if (!rng_below(rng, 9))
            change->inside = SHERD_G_COUNTER;
    }
}

static size_t size_of(const struct dd_value *value)
{
    struct buf room = { 0 };
    size_t size = dd_encode(value, &room).bytes.size;

    buf_fini(&room);
    return size;
}

/* Both ways, each by a writer that has written as much. True: they were sure. */
static bool make(struct dd_value **value, enum sherd_data_type type,
                 const struct changes *changes, uint32_t count,
                 struct dd_writer *writer)
{
    struct dd_writer other = *writer;
    struct dd_value *copy, *place;
    size_t growth_max;

    if (!face_is_sure(*value, type, changes->items, count, &growth_max))
        return false;
    place = dd_copy(*value);
    copy = face_change(*value, type, changes->items, count, writer, 1000);
    face_change_in_place(place, changes->items, count, &other, 1000);
    assert_non_null(copy);
    assert_true(dd_equal(copy, place));
    assert_true(size_of(place) <= size_of(*value) + growth_max);
    dd_free(*value);
    dd_free(copy);
    *value = place;
    return true;
}

static void what_is_sure_is_made(void **state)
{
    uint32_t sure[SHERD_OR_MAP + 1] = { 0 };
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    for (uint32_t i = 0; i < CASES; i++) {
        enum sherd_data_type type =
            (enum sherd_data_type)(1 + rng_below(&rng, SHERD_OR_MAP));
        struct dd_writer writer = { .node = self };
        struct dd_value *value = NULL;
        struct changes changes;

        while (!value) { /* one in a few hundred makes an OR_MAP */
            draw(&rng, &changes);
            value = face_change(NULL, type, changes.items, 1, &writer, 1000);
        }
        for (uint32_t k = 0; k < 4; k++) {
            draw(&rng, &changes);
            sure[type] += make(&value, type, &changes,
                               1 + (uint32_t)rng_below(&rng, CHANGES), &writer);
        }
        dd_free(value);
    }
    for (int type = 1; type <= SHERD_OR_MAP; type++)
        if (type == SHERD_G_SET || type == SHERD_OR_SET ||
            type == SHERD_LWW_MAP || type == SHERD_PN_COUNTER_MAP ||
            type == SHERD_OR_MULTIMAP)
            assert_true(sure[type] > CASES / 100);
        else
            assert_int_equal(sure[type], 0);
}

static void a_change_of_another_type_is_not_sure(void **state)
{
    const struct sherd_change add = { .verb = SHERD_ADD,
                                      .item = sherd_text("x") };
    struct dd_value *set = dd_new(DD_ORSET);
    size_t growth_max;

    (void)state;
    assert_true(face_is_sure(set, SHERD_OR_SET, &add, 1, &growth_max));
    assert_false(face_is_sure(set, SHERD_G_SET, &add, 1, &growth_max));
    assert_false(face_is_sure(set, SHERD_OR_SET, &add, 0, &growth_max));
    dd_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_sure_is_made),
        cmocka_unit_test(a_change_of_another_type_is_not_sure),
    };

    return cmocka_run_group_tests_name("ddata_face", tests, NULL, NULL);
}
