/* Checks users' changes: sure changes can be made in the value itself, with the result of changing
 * a copy, and add at most the promised bytes. */
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
    const char *begin = rng_below(rng, 9) ? "t" : "\xff"; /* invalid text */

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
        if (i && rng_below(rng, 4)) /* alike, or hardly any are all sure */
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

/* Both ways, by writers with equal versions. True: the changes were sure. */
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

static void sure_changes_can_be_made_in_place(void **state)
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

/* A JVM considers them one element. Each may be put and removed alone. */
static void equal_numbers_of_two_kinds_are_not_in_one_value(void **state)
{
    static const struct sherd_item seven = { .kind = SHERD_ITEM_INT, .number = 7 };
    static const struct {
        enum sherd_data_type type;
        enum sherd_verb puts, takes;
        bool is_binding; /* in the set of key "k" */
        enum sherd_data_type inside;
    } rows[] = {
        { SHERD_G_SET, SHERD_ADD, 0, false, 0 },
        { SHERD_OR_SET, SHERD_ADD, SHERD_REMOVE, false, 0 },
        { SHERD_LWW_MAP, SHERD_PUT, SHERD_REMOVE, false, 0 },
        { SHERD_PN_COUNTER_MAP, SHERD_COUNT, SHERD_REMOVE, false, 0 },
        { SHERD_OR_MULTIMAP, SHERD_ADD, SHERD_REMOVE, false, 0 },
        { SHERD_OR_MULTIMAP, SHERD_ADD, SHERD_REMOVE_VALUE, true, 0 },
        { SHERD_OR_MULTIMAP_DELTAS, SHERD_ADD, SHERD_REMOVE_VALUE, true, 0 },
        { SHERD_OR_MAP, SHERD_COUNT, SHERD_REMOVE, false, SHERD_G_COUNTER },
        { SHERD_OR_MAP, SHERD_ADD, SHERD_REMOVE, true, SHERD_OR_SET },
    };

    (void)state;
    for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
        bool is_swapped = i % 2;
        enum sherd_data_type type = rows[i / 2].type;
        struct sherd_item other = sherd_long(7), far = sherd_long(INT64_C(7) << 32);
        const struct sherd_item *first = is_swapped ? &other : &seven;
        const struct sherd_item *items[] = { is_swapped ? &seven : &other,
                                             first, &far };
        struct dd_writer writer = { .node = self };
        struct sherd_change change = { .verb = rows[i / 2].puts,
                                       .item = *first,
                                       .value = sherd_text("v"),
                                       .amount = 1,
                                       .inside = rows[i / 2].inside };
        struct sherd_item *changed =
            rows[i / 2].is_binding ? &change.value : &change.item;
        struct dd_value *value;
        size_t growth_max;

        if (rows[i / 2].is_binding)
            change.item = sherd_text("k");
        *changed = *first;
        value = face_change(NULL, type, &change, 1, &writer, 1000);
        assert_non_null(value);
        for (int k = 0; k < 3; k++) {
            struct dd_value *next;

            *changed = *items[k];
            next = face_change(value, type, &change, 1, &writer, 1000);
            assert_int_equal(next != NULL, k > 0); /* except the twin */
            assert_false(k == 0 && face_is_sure(value, type, &change, 1, &growth_max));
            dd_free(next);
        }
        if (rows[i / 2].takes) { /* nor are removals */
            change.verb = rows[i / 2].takes;
            change.inside = rows[i / 2].is_binding ? change.inside : 0;
            *changed = *items[0];
            assert_null(face_change(value, type, &change, 1, &writer, 1000));
        }
        dd_free(value);
    }
}

/* Each alone is sure. */
static void changes_of_both_kinds_are_not_sure(void **state)
{
    struct sherd_change changes[] = {
        { .verb = SHERD_ADD, .item = { .kind = SHERD_ITEM_INT, .number = 7 } },
        { .verb = SHERD_ADD, .item = sherd_long(7) },
    };
    struct dd_writer writer = { .node = self };
    struct dd_value *set = dd_new(DD_ORSET);
    size_t growth_max;

    (void)state;
    for (int i = 0; i < 2; i++)
        assert_true(face_is_sure(set, SHERD_OR_SET, &changes[i], 1, &growth_max));
    assert_false(face_is_sure(set, SHERD_OR_SET, changes, 2, &growth_max));
    assert_null(face_change(set, SHERD_OR_SET, changes, 2, &writer, 1000));
    dd_free(set);
}

/* A JVM makes such keys; a program gets them from the map, and asks with them. */
static void a_key_of_another_serializer_finds_its_value(void **state)
{
    const struct dd_element keys[] = {
        { .kind = DD_OTHER, .serializer = 77, .manifest = slice_text("m"), .text = slice_text("one") },
        { .kind = DD_OTHER, .serializer = 78, .manifest = slice_text("m"), .text = slice_text("one") },
        { .kind = DD_OTHER, .serializer = 77, .manifest = slice_text(""), .text = slice_text("one") },
        { .kind = DD_REF, .text = slice_text("akka://S@a:1/user/x#1") },
    };
    struct dd_writer writer = { .node = self };
    struct dd_value *map = dd_new(DD_PNCOUNTERMAP);
    struct sherd_msg msg = { .kind = SHERD_DATA, .msg = SHERD_DATA_FOUND };
    struct sherd_change change = { .verb = SHERD_REMOVE };
    struct sherd_value *value;
    struct buf body = { 0 };
    struct sherd_item item;
    uint32_t at = 0;
    int64_t sum = 0;

    (void)state;
    for (int i = 0; i < 4; i++)
        dd_countermap_add(map, &writer, &keys[i], 1 << i);
    face_put_body(&body, slice_text("key"), map);
    msg.body = (struct sherd_bytes){ body.data, body.size };
    value = sherd_data_value(&msg);
    assert_non_null(value);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(sherd_value_next(value, &at, &item), 1);
        assert_int_equal(item.kind, SHERD_ITEM_OTHER);
        assert_int_equal(sherd_value_has(value, &item), 1);
        sum += sherd_value_count(value, &item);
    }
    assert_int_equal(sum, 15);
    item.serializer = 79;
    assert_int_equal(sherd_value_has(value, &item), 0);
    change.item = item; /* but no change may have one */
    assert_null(face_change(map, SHERD_PN_COUNTER_MAP, &change, 1, &writer, 1));
    sherd_value_free(value);
    buf_fini(&body);
    dd_free(map);
}

static struct dd_value *custom_of(const char *text)
{
    struct dd_value *value;

    assert_int_equal(dd_decode((struct dd_other){ .serializer = 77,
                                                  .manifest = slice_text("names"),
                                                  .bytes = slice_text(text) },
                               &value),
                     DD_OK);
    return value;
}

static void assert_custom(struct sherd_value *value, const char *text)
{
    struct sherd_item item;

    assert_non_null(value);
    assert_int_equal(sherd_value_type(value), SHERD_CUSTOM);
    assert_int_equal(sherd_value_custom(value, &item), 1);
    assert_int_equal(item.kind, SHERD_ITEM_OTHER);
    assert_int_equal(item.serializer, 77);
    assert_true(slice_is(slice_of(item.manifest.data, item.manifest.size), "names"));
    assert_true(slice_is(slice_of(item.text.data, item.text.size), text));
    assert_int_equal(sherd_value_size(value), 0);
    sherd_value_free(value);
}

/* Types of a JVM program: all values of a key, and values inside a map. */
static void custom_values_are_read_with_serializer_and_manifest(void **state)
{
    struct dd_writer writer = { .node = self };
    struct dd_element key = { .kind = DD_OTHER, .serializer = 78, .text = slice_text("key") };
    struct sherd_msg msg = { .kind = SHERD_DATA, .msg = SHERD_DATA_FOUND };
    struct dd_value *values[3] = { custom_of("last"), dd_new(DD_ORMAP), custom_of("first") };
    struct sherd_value *value;
    struct sherd_item item;
    struct sherd_change change = { .verb = SHERD_ADD, .item = sherd_text("x") };
    struct buf body = { 0 };
    uint32_t at = 0, in = 0;

    (void)state;
    assert_true(dd_ormap_put(values[1], &writer, &key, custom_of("inside")));
    face_put_body(&body, slice_text("key"), values[0]);
    face_put_value(&body, values[1]);
    face_put_value(&body, values[2]);
    msg.body = (struct sherd_bytes){ body.data, body.size };
    assert_custom(sherd_data_value(&msg), "last");
    assert_custom(sherd_data_next_value(&msg, &at), "last");
    value = sherd_data_next_value(&msg, &at);
    assert_non_null(value);
    assert_int_equal(sherd_value_type(value), SHERD_OR_MAP);
    assert_int_equal(sherd_value_custom(value, &item), 0);
    assert_int_equal(sherd_value_next(value, &in, &item), 1);
    assert_custom(sherd_value_inside(value, &item), "inside");
    sherd_value_free(value);
    assert_custom(sherd_data_next_value(&msg, &at), "first");
    assert_null(sherd_data_next_value(&msg, &at));
    msg.msg = SHERD_DATA_KEYS;
    at = 0;
    assert_null(sherd_data_next_value(&msg, &at));
    /* an update cannot name the type, nor change such a value */
    assert_null(face_change(NULL, SHERD_CUSTOM, &change, 1, &writer, 1));
    assert_null(face_change(values[0], SHERD_OR_SET, &change, 1, &writer, 1));
    for (int i = 0; i < 3; i++)
        dd_free(values[i]);
    buf_fini(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sure_changes_can_be_made_in_place),
        cmocka_unit_test(a_change_of_another_type_is_not_sure),
        cmocka_unit_test(equal_numbers_of_two_kinds_are_not_in_one_value),
        cmocka_unit_test(changes_of_both_kinds_are_not_sure),
        cmocka_unit_test(a_key_of_another_serializer_finds_its_value),
        cmocka_unit_test(custom_values_are_read_with_serializer_and_manifest),
    };

    return cmocka_run_group_tests_name("ddata_face", tests, NULL, NULL);
}
