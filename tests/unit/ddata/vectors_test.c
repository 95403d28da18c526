/* Compares values with Akka's own encoding (akka_vectors.inc): they are decoded, the same changes
 * make equal values here, and these are encoded to the same bytes. The changes follow
 * tests/interop/jvm's Vectors.java in order, because they draw versions in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/check.h"
#include "world.h"

static const struct vector {
    const char *name;
    int32_t serializer;
    const char *manifest;
    const char *hex;
} vectors[] = {
#include "akka_vectors.inc"
};
#define VECTOR_COUNT (sizeof vectors / sizeof vectors[0])

static uint32_t checked;
static int64_t versions; /* drawn by all nodes, which Vectors.java runs in one process */

static struct node_id node(char letter)
{
    static const char local[] = "127.0.0.1";
    static const char far[] = "zeta.example";
    struct node_id node = { .uid = letter == 'a' ? 0x1122334455667788
                                   : letter == 'b' ? 0x0807060504030201
                                                   : (uint64_t)-2 };

    if (letter == 'c')
        check(address_set(&node.address, far, sizeof far - 1, 65535));
    else
        check(address_set(&node.address, local, sizeof local - 1,
                          letter == 'a' ? 2551 : 2552));
    return node;
}

/* A node's writer for one change. */
static struct dd_writer *as(char letter)
{
    static struct dd_writer writer;

    if (writer.versions > versions)
        versions = writer.versions;
    writer.node = node(letter);
    writer.versions = versions;
    return &writer;
}

static struct buf bytes_of(const char *hex)
{
    static const char digits[] = "0123456789abcdef";
    struct buf buf = { 0 };

    for (; *hex; hex += 2)
        buf_put_u8(&buf,
                   (uint8_t)((strchr(digits, hex[0]) - digits) * 16 +
                             (strchr(digits, hex[1]) - digits)));
    return buf;
}

static const struct vector *vector_of(const char *name)
{
    for (size_t i = 0; i < VECTOR_COUNT; i++)
        if (!strcmp(vectors[i].name, name))
            return &vectors[i];
    fail_msg("no vector \"%s\"", name);
    return NULL;
}

static void assert_encodes(const char *name, const struct dd_value *value,
                           const struct vector *vector, struct slice bytes)
{
    struct buf buf = { 0 };
    struct dd_other other = dd_encode(value, &buf);

    if (other.serializer != vector->serializer ||
        !slice_is(other.manifest, vector->manifest))
        fail_msg("%s: another manifest", name);
    if (!slice_equal(other.bytes, bytes)) {
        for (size_t i = 0; i < other.bytes.size; i++)
            fprintf(stderr, "%02x", other.bytes.data[i]);
        fail_msg("\n%s: other bytes", name);
    }
    buf_fini(&buf);
}

/* The value made here, given, and Akka's are equal, also in bytes. */
static void is(const char *name, struct dd_value *value)
{
    const struct vector *vector = vector_of(name);
    struct buf bytes = bytes_of(vector->hex);
    struct dd_value *read;

    if (dd_decode((struct dd_other){ vector->serializer,
                                     slice_text(vector->manifest),
                                     buf_slice(&bytes) },
                  &read) != DD_OK)
        fail_msg("%s: cannot be read", name);
    if (!dd_equal(read, value))
        fail_msg("%s: another value", name);
    assert_encodes(name, read, vector, buf_slice(&bytes));
    assert_encodes(name, value, vector, buf_slice(&bytes));
    dd_free(read);
    dd_free(value);
    buf_fini(&bytes);
    checked++;
}

static void is_copy(const char *name, const struct dd_value *value)
{
    is(name, dd_copy(value));
}

static void is_delta(const char *name, struct dd_value *value)
{
    is(name, dd_take_delta(value));
}

static void grow(struct dd_value *counter, char letter, uint64_t amount)
{
    struct node_id of = node(letter);

    dd_gcounter_add(counter, &of, amount);
}

static void add(struct dd_value *counter, char letter, int64_t amount)
{
    struct node_id of = node(letter);

    dd_pncounter_add(counter, &of, amount);
}

static void counters_are_encoded_like_akkas_DD172_DD173(void **state)
{
    struct dd_value *counter = dd_new(DD_GCOUNTER);
    (void)state;

    is_copy("gcounter empty", counter);
    grow(counter, 'a', 1);
    is_copy("gcounter one", counter);
    grow(counter, 'c', 127);
    grow(counter, 'b', 128);
    grow(counter, 'a', 1000);
    is_copy("gcounter several", counter);
    dd_reset_delta(counter);
    grow(counter, 'b', 5);
    is_delta("gcounter delta", counter);
    dd_free(counter);

    counter = dd_new(DD_GCOUNTER);
    grow(counter, 'a', 1001);
    grow(counter, 'c', 127);
    grow(counter, 'b', 128);
    for (int i = 0; i < 3; i++)
        grow(counter, 'a', INT64_MAX);
    is("gcounter big", counter);

    counter = dd_new(DD_PNCOUNTER);
    is_copy("pncounter empty", counter);
    add(counter, 'a', 9);
    add(counter, 'b', -4);
    add(counter, 'a', -1);
    is_copy("pncounter both", counter);
    dd_reset_delta(counter);
    add(counter, 'a', -2);
    is_delta("pncounter delta", counter);
    dd_free(counter);
}

#define MIXED_COUNT 14

static struct dd_element mixed(uint32_t index)
{
    static const char *const texts[] = { "b", "a", "\xc3\xa4", "\xef\xbc\xa1",
                                         "\xf0\x9d\x84\x9e" };
    static const int64_t numbers[] = { 7, -1, INT32_MIN, 8, -2, INT64_MAX };

    if (index < 5)
        return dd_text(texts[index]);
    if (index < 11)
        return (struct dd_element){ .kind = index < 8 ? DD_INT : DD_LONG,
                                    .number = numbers[index - 5] };
    if (index < 13) /* true and false */
        return (struct dd_element){ .kind = DD_OTHER,
                                    .serializer = 35,
                                    .text = slice_of(index == 11 ? "\1" : "\0",
                                                     1) };
    return (struct dd_element){
        .kind = DD_REF,
        .text = slice_text("akka://Vectors@127.0.0.1:2551/user/x")
    };
}

static struct dd_element entity(char text[32], int number)
{
    snprintf(text, 32, "entity-%d", number);
    return dd_text(text);
}

static void flags_and_grow_only_sets_are_encoded_like_akkas_DD164_DD168_DD170(
    void **state)
{
    struct dd_value *value = dd_new(DD_FLAG);
    struct dd_element element;
    char text[32];
    (void)state;

    is_copy("flag off", value);
    dd_flag_switch_on(value);
    is("flag on", value);
    value = dd_new(DD_GSET);
    is_copy("gset empty", value);
    for (uint32_t i = 0; i < MIXED_COUNT; i++) {
        element = mixed(i);
        dd_gset_add(value, &element);
    }
    is("gset mixed", value);
    value = dd_new(DD_GSET);
    for (int i = 0; i < 1000; i++) {
        element = entity(text, i);
        dd_gset_add(value, &element);
    }
    is("gset large", value);
}

static void put(struct dd_value *set, char letter, const char *text)
{
    struct dd_element element = dd_text(text);

    dd_orset_add(set, as(letter), &element);
}

static void take(struct dd_value *set, char letter, const char *text)
{
    struct dd_element element = dd_text(text);

    dd_orset_remove(set, as(letter), &element);
}

static void observed_remove_sets_are_encoded_like_akkas_DD167_DD169(
    void **state)
{
    struct dd_value *mine = dd_new(DD_ORSET);
    struct dd_value *theirs;
    struct dd_value *other;
    struct dd_element element;
    char text[32];
    (void)state;

    is_copy("orset empty", mine);
    put(mine, 'a', "a");
    is_copy("orset one", mine);
    theirs = dd_copy(mine);
    put(mine, 'a', "b");
    put(mine, 'a', "c");
    dd_reset_delta(theirs);
    put(theirs, 'b', "b");
    take(theirs, 'b', "a");
    put(theirs, 'c', "d");
    is_delta("orset delta group", theirs);
    is_delta("orset delta add", mine);
    other = dd_copy(mine);
    take(other, 'b', "a");
    is_delta("orset delta remove", other);
    dd_free(other);
    other = dd_copy(mine);
    dd_orset_clear(other);
    is_delta("orset delta full", other);
    dd_free(other);
    is("orset merged", world_merged(mine, theirs));
    dd_free(mine);
    dd_free(theirs);

    mine = dd_new(DD_ORSET);
    for (uint32_t i = 0; i < MIXED_COUNT; i++) {
        element = mixed(i);
        dd_orset_add(mine, as('a'), &element);
    }
    is("orset mixed", mine);
    mine = dd_new(DD_ORSET);
    for (int i = 0; i < 1000; i++) {
        element = entity(text, i);
        dd_orset_add(mine, as(i % 3 ? 'b' : 'a'), &element);
    }
    is("orset large", mine);
}

static void registers_are_encoded_like_akkas_DD171_DD181(void **state)
{
    static const uint8_t yes[] = { 1 };
    struct dd_other boolean = { .serializer = 35, .bytes = { yes, 1 } };
    struct node_id a = node('a');
    struct node_id c = node('c');
    struct dd_value *value =
        dd_register_new(&a, state_of("hello"), 100, DD_CLOCK_LAST);
    (void)state;

    is("register", value);
    value = dd_register_new(&c, boolean, 5, DD_CLOCK_FIRST);
    is("register negative", value);
    value = dd_new(DD_VERSIONS);
    is_copy("versions empty", value);
    dd_versions_increment(value, as('b'));
    is_copy("versions one", value);
    dd_versions_increment(value, as('a'));
    dd_versions_increment(value, as('c'));
    dd_versions_increment(value, as('b'));
    is("versions several", value);
}

static void maps_are_encoded_like_akkas_DD174_DD176_DD177(void **state)
{
    struct dd_value *map = dd_new(DD_ORMAP);
    struct dd_value *value = dd_new(DD_GSET);
    struct dd_element keys[4] = { dd_text("a"), { .kind = DD_INT, .number = 5 },
                                  dd_long(6), mixed(11) };
    struct dd_element b = dd_text("b");
    struct dd_value *other;
    (void)state;

    is_copy("ormap empty", map);
    other = dd_copy(map);
    dd_free(other);
    b = dd_text("A");
    dd_gset_add(value, &b);
    check(dd_ormap_put(map, as('a'), &keys[0], value));
    value = dd_new(DD_GCOUNTER);
    grow(value, 'b', 3);
    check(dd_ormap_put(map, as('b'), &keys[1], value));
    check(dd_ormap_put(map, as('a'), &keys[2], dd_new(DD_FLAG)));
    value = dd_new(DD_PNCOUNTER);
    add(value, 'c', -1);
    check(dd_ormap_put(map, as('c'), &keys[3], value));
    is_copy("ormap mixed", map);
    is_delta("ormap delta group", map);
    other = dd_copy(map);
    b = dd_text("b");
    value = dd_new(DD_FLAG);
    dd_flag_switch_on(value);
    check(dd_ormap_put(other, as('a'), &b, value));
    is_delta("ormap delta put", other);
    dd_free(other);
    dd_map_remove(map, as('a'), &keys[0]);
    is_delta("ormap delta remove", map);
    dd_free(map);

    map = dd_new(DD_LWWMAP);
    dd_lwwmap_put(map, as('a'), &keys[0], state_of("one"), 1, DD_CLOCK_LAST);
    dd_lwwmap_put(map, as('b'), &b, state_of("two"), 2, DD_CLOCK_LAST);
    is_copy("lwwmap", map);
    is_delta("lwwmap delta", map);
    dd_free(map);

    map = dd_new(DD_PNCOUNTERMAP);
    keys[1] = dd_long(2);
    dd_countermap_add(map, as('a'), &keys[0], 1);
    dd_countermap_add(map, as('b'), &keys[1], 3);
    dd_countermap_add(map, as('b'), &keys[0], -7);
    is_copy("pncountermap", map);
    is_delta("pncountermap delta", map);
    dd_free(map);
    map = dd_new(DD_PNCOUNTERMAP);
    keys[0] = (struct dd_element){
        .kind = DD_REF,
        .text = slice_text("akka://Vectors@127.0.0.1:2551/user/y")
    };
    dd_countermap_add(map, as('a'), &keys[0], 1);
    is("pncountermap ref", map);
}

static void multimaps_are_encoded_like_akkas_DD178(void **state)
{
    struct dd_value *map = dd_new(DD_MULTIMAP);
    struct dd_element a = dd_text("a");
    struct dd_element b = dd_text("b");
    struct dd_element bindings[3] = { dd_text("A"), dd_text("B"),
                                      dd_text("C") };
    struct dd_value *other;
    (void)state;

    dd_multimap_add(map, as('a'), &a, &bindings[0]);
    dd_multimap_add(map, as('b'), &a, &bindings[1]);
    dd_multimap_put(map, as('a'), &b, &bindings[2], 1);
    dd_multimap_remove(map, as('a'), &b, &bindings[2]);
    is_copy("multimap", map);
    is_delta("multimap delta", map);
    dd_free(map);

    map = dd_multimap_new(true);
    dd_multimap_add(map, as('a'), &a, &bindings[0]);
    dd_multimap_add(map, as('b'), &b, &bindings[1]);
    is_copy("multimap with deltas", map);
    dd_reset_delta(map);
    other = dd_copy(map);
    dd_multimap_add(other, as('a'), &a, &bindings[2]);
    is_delta("multimap with deltas delta update", other);
    dd_free(other);
    other = dd_copy(map);
    dd_multimap_remove(other, as('a'), &a, &bindings[0]);
    is_delta("multimap with deltas delta group", other);
    dd_free(other);
    dd_map_remove(map, as('b'), &b);
    is("multimap with deltas tombstone", map);
}

/* It has no bytes. */
static void a_deletion_has_a_manifest_only_DD180(void **state)
{
    struct dd_value *deleted = dd_new(DD_DELETED);
    struct dd_value *read;
    struct buf buf = { 0 };
    struct dd_other other = dd_encode(deleted, &buf);
    (void)state;

    assert_int_equal(other.serializer, DD_SERIALIZER);
    assert_true(slice_is(other.manifest, "A"));
    assert_int_equal(other.bytes.size, 0);
    assert_int_equal(dd_decode(other, &read), DD_OK);
    assert_int_equal(dd_kind_of(read), DD_DELETED);
    dd_free(read);
    dd_free(deleted);
    buf_fini(&buf);
}

static void all_vectors_were_checked(void **state)
{
    (void)state;
    assert_int_equal(checked, VECTOR_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_are_encoded_like_akkas_DD172_DD173),
        cmocka_unit_test(
            flags_and_grow_only_sets_are_encoded_like_akkas_DD164_DD168_DD170),
        cmocka_unit_test(
            observed_remove_sets_are_encoded_like_akkas_DD167_DD169),
        cmocka_unit_test(registers_are_encoded_like_akkas_DD171_DD181),
        cmocka_unit_test(maps_are_encoded_like_akkas_DD174_DD176_DD177),
        cmocka_unit_test(multimaps_are_encoded_like_akkas_DD178),
        cmocka_unit_test(a_deletion_has_a_manifest_only_DD180),
        cmocka_unit_test(all_vectors_were_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
