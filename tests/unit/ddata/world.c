/* Implements random replicas. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"

const struct species world_species[] = {
    { "flag", DD_FLAG, false, SMALL },
    { "gcounter", DD_GCOUNTER, false, SMALL },
    { "pncounter", DD_PNCOUNTER, false, SMALL },
    { "gset", DD_GSET, false, SMALL },
    { "orset", DD_ORSET, false, SMALL },
    { "register", DD_REGISTER, false, SMALL },
    { "ormap", DD_ORMAP, false, SMALL },
    { "lwwmap", DD_LWWMAP, false, SMALL },
    { "pncountermap", DD_PNCOUNTERMAP, false, SMALL },
    { "multimap", DD_MULTIMAP, false, SMALL },
    { "multimap with value deltas", DD_MULTIMAP, true, SMALL },
    { "versions", DD_VERSIONS, false, SMALL },
    { "gcounter, large", DD_GCOUNTER, false, LARGE },
    { "pncounter, large", DD_PNCOUNTER, false, LARGE },
    { "pncountermap, large", DD_PNCOUNTERMAP, false, LARGE },
    { "gcounter, at its end", DD_GCOUNTER, false, LAST },
    { "pncounter, at its end", DD_PNCOUNTER, false, LAST },
};
const uint32_t world_species_count =
    sizeof world_species / sizeof world_species[0];

struct node_id node_of(char letter)
{
    struct node_id node = { .uid = (uint64_t)(letter - 'a' + 1) };

    check(address_set(&node.address, &letter, 1, 2552));
    return node;
}

struct dd_writer writer_of(char letter)
{
    return (struct dd_writer){ .node = node_of(letter) };
}

struct dd_other state_of(const char *text)
{
    return (struct dd_other){ .serializer = 20, .bytes = slice_text(text) };
}

struct dd_element element_of_number(uint32_t number)
{
    static const char *const texts[] = { "a", "b", "\xc3\xa4", "\xef\xbc\xa1",
                                         "\xf0\x9d\x84\x9e" };

    if (number < 5)
        return dd_text(texts[number]);
    if (number == 5)
        return (struct dd_element){ .kind = DD_INT, .number = -1 };
    if (number == 6)
        return (struct dd_element){ .kind = DD_INT, .number = 1 };
    if (number == 7)
        return dd_long(1);
    if (number == 8)
        return (struct dd_element){ .kind = DD_OTHER,
                                    .text = slice_text("a"),
                                    .serializer = 77,
                                    .manifest = slice_text("M") };
    return (struct dd_element){ .kind = DD_REF,
                                .text = slice_text("akka://s@a:1/user/x") };
}

static struct dd_element random_element(struct world *world)
{
    return element_of_number((uint32_t)rng_below(&world->rng, 10));
}

/* A counter with a share near the largest: a few below 2^112, or 2^64 below, in fifteen bytes. */
static void put_last(struct world *world, uint32_t replica, struct buf *bytes)
{
    uint64_t low = rng_below(&world->rng, 2) ? 0 : UINT64_MAX - rng_below(&world->rng, 5);
    struct dd_value *counter = dd_new(DD_GCOUNTER);
    uint8_t *entry;

    dd_gcounter_add(counter, &world->writers[replica].node, 1);
    (void)dd_encode(counter, bytes);
    dd_free(counter);
    entry = bytes->data;
    check(entry[1] + 2u == bytes->size); /* its size is in one byte */
    check(bytes->data[bytes->size - 2] == 1); /* so is the share */
    entry[1] = (uint8_t)(entry[1] + 14);
    bytes->size -= 2;
    buf_put_u8(bytes, 15);
    buf_put_u8(bytes, 0);
    for (unsigned i = 0; i < 6; i++)
        buf_put_u8(bytes, 0xff);
    for (unsigned i = 8; i-- > 0;)
        buf_put_u8(bytes, (uint8_t)(low >> 8 * i));
}

static struct dd_value *new_last(struct world *world, uint32_t replica)
{
    static const uint8_t tags[] = { 0x0a, 0x12 }; /* increments, decrements */
    struct dd_other other = { .serializer = DD_SERIALIZER };
    bool both = world->species.kind == DD_PNCOUNTER;
    struct buf bytes = { 0 }, part = { 0 };
    struct dd_value *value;

    for (int i = 0; i < (both ? 2 : 1); i++) {
        buf_clear(&part);
        put_last(world, replica, &part);
        if (both) {
            buf_put_u8(&bytes, tags[i]);
            buf_put_u8(&bytes, (uint8_t)part.size);
        }
        buf_put_slice(&bytes, buf_slice(&part));
    }
    other.manifest = slice_text(both ? "G" : "F");
    other.bytes = buf_slice(&bytes);
    check(dd_decode(other, &value) == DD_OK);
    buf_fini(&bytes);
    buf_fini(&part);
    return value;
}

static struct dd_value *new_replica(struct world *world, uint32_t replica)
{
    if (world->species.kind == DD_REGISTER)
        return dd_register_new(&world->writers[replica].node, state_of("new"),
                               (int64_t)replica, DD_CLOCK_LAST);
    if (world->species.kind == DD_MULTIMAP)
        return dd_multimap_new(world->species.with_deltas);
    if (world->species.amounts == LAST)
        return new_last(world, replica);
    return dd_new(world->species.kind);
}

void world_reset(struct world *world)
{
    for (uint32_t i = 0; i < REPLICAS; i++) {
        dd_free(world->replicas[i]);
        world->writers[i] = writer_of((char)('a' + i));
        world->replicas[i] = new_replica(world, i);
    }
}

void world_init(struct world *world, struct species species, uint64_t seed)
{
    *world = (struct world){ .species = species, .removes = true, .replaces = true };
    rng_init(&world->rng, seed);
    world_reset(world);
}

void world_fini(struct world *world)
{
    for (uint32_t i = 0; i < REPLICAS; i++)
        dd_free(world->replicas[i]);
}

static struct dd_other random_state(struct world *world, char text[32])
{
    snprintf(text, 32, "%u", (unsigned)rng_below(&world->rng, 1000));
    return state_of(text);
}

/* The clock usually runs; it may stop or jump back. */
static int64_t random_time(struct world *world)
{
    world->now_ms += (int64_t)rng_below(&world->rng, 5) - 1;
    return world->now_ms;
}

static uint64_t random_addition(struct world *world)
{
    uint64_t few = rng_below(&world->rng, 5);

    if (world->species.amounts == SMALL || rng_below(&world->rng, 3) == 0)
        return few;
    return (rng_below(&world->rng, 2) ? UINT64_MAX : (uint64_t)INT64_MAX + 2) - few;
}

static int64_t random_amount(struct world *world)
{
    int64_t few = (int64_t)rng_below(&world->rng, 9) - 4;

    if (world->species.amounts == SMALL || rng_below(&world->rng, 3) == 0)
        return few;
    return few < 0 ? INT64_MIN - few - 1 : INT64_MAX - few;
}

static void change_orset(struct world *world, struct dd_value *set,
                         struct dd_writer *writer)
{
    struct dd_element element = random_element(world);
    uint64_t choice = rng_below(&world->rng, 10);

    if (choice < 6 || !world->removes)
        dd_orset_add(set, writer, &element);
    else if (choice < 9)
        dd_orset_remove(set, writer, &element);
    else
        dd_orset_clear(set);
}

static struct dd_value *changed_inside(struct world *world,
                                       struct dd_writer *writer,
                                       enum dd_kind kind,
                                       const struct dd_value *old)
{
    struct dd_element element = random_element(world);
    char text[32];
    struct dd_other state = random_state(world, text);
    struct dd_value *value;

    if (!old && kind == DD_REGISTER)
        return dd_register_new(&writer->node, state, random_time(world),
                               DD_CLOCK_LAST);
    value = old ? dd_copy(old) : dd_new(kind);
    if (kind == DD_FLAG && rng_below(&world->rng, 2))
        dd_flag_switch_on(value);
    else if (kind == DD_GCOUNTER)
        dd_gcounter_add(value, &writer->node, random_addition(world));
    else if (kind == DD_PNCOUNTER)
        dd_pncounter_add(value, &writer->node, random_amount(world));
    else if (kind == DD_GSET)
        dd_gset_add(value, &element);
    else if (kind == DD_ORSET)
        change_orset(world, value, writer);
    else if (kind == DD_REGISTER)
        dd_register_set(value, &writer->node, state, random_time(world),
                        DD_CLOCK_LAST);
    return value;
}

/* Each key has one kind of value, because kinds must not be mixed. */
static void change_ormap(struct world *world, struct dd_value *map,
                         struct dd_writer *writer, uint32_t number)
{
    static const enum dd_kind kinds[] = { DD_GSET,    DD_ORSET, DD_PNCOUNTER,
                                          DD_GCOUNTER, DD_FLAG,  DD_REGISTER };
    struct dd_element key = element_of_number(number);
    enum dd_kind kind = kinds[number % (sizeof kinds / sizeof kinds[0])];
    const struct dd_value *old = dd_map_get(map, &key);
    bool puts = kind != DD_ORSET && rng_below(&world->rng, 3) == 0;
    bool is_new = puts && world->replaces && rng_below(&world->rng, 2);
    struct dd_value *value =
        changed_inside(world, writer, kind, is_new ? NULL : old);

    if (puts)
        check(dd_ormap_put(map, writer, &key, value));
    else
        dd_ormap_update(map, writer, &key, value);
}

static void change_multimap(struct world *world, struct dd_value *map,
                            struct dd_writer *writer,
                            const struct dd_element *key)
{
    struct dd_element elements[2] = { random_element(world),
                                      random_element(world) };
    uint64_t choice = rng_below(&world->rng, 8);

    if (choice < 4 || !world->removes)
        dd_multimap_add(map, writer, key, &elements[0]);
    else if (choice < 6)
        dd_multimap_remove(map, writer, key, &elements[0]);
    else if (choice < 7)
        dd_multimap_replace(map, writer, key, &elements[0], &elements[1]);
    else
        dd_multimap_put(map, writer, key, elements, 2);
}

static void change_map(struct world *world, struct dd_value *map,
                       struct dd_writer *writer)
{
    uint32_t number = (uint32_t)rng_below(&world->rng, 10);
    struct dd_element key = element_of_number(number);
    char text[32];

    if (world->removes && rng_below(&world->rng, 4) == 0) {
        dd_map_remove(map, writer, &key);
        return;
    }
    if (world->species.kind == DD_LWWMAP)
        dd_lwwmap_put(map, writer, &key, random_state(world, text),
                      random_time(world), DD_CLOCK_LAST);
    else if (world->species.kind == DD_PNCOUNTERMAP)
        dd_countermap_add(map, writer, &key, random_amount(world));
    else if (world->species.kind == DD_MULTIMAP)
        change_multimap(world, map, writer, &key);
    else
        change_ormap(world, map, writer, number);
}

void world_change(struct world *world, uint32_t replica)
{
    struct dd_value *value = world->replicas[replica];
    struct dd_writer *writer = &world->writers[replica];
    struct dd_element element = random_element(world);
    char text[32];

    switch (world->species.kind) {
    case DD_FLAG:
        if (rng_below(&world->rng, 4) == 0)
            dd_flag_switch_on(value);
        break;
    case DD_GCOUNTER:
        dd_gcounter_add(value, &writer->node, random_addition(world));
        break;
    case DD_PNCOUNTER:
        dd_pncounter_add(value, &writer->node, random_amount(world));
        break;
    case DD_GSET:
        dd_gset_add(value, &element);
        break;
    case DD_ORSET:
        change_orset(world, value, writer);
        break;
    case DD_REGISTER:
        dd_register_set(value, &writer->node, random_state(world, text),
                        random_time(world), DD_CLOCK_LAST);
        break;
    case DD_VERSIONS:
        dd_versions_increment(value, writer);
        break;
    default:
        change_map(world, value, writer);
        break;
    }
}

void world_step(struct world *world)
{
    uint32_t replica = (uint32_t)rng_below(&world->rng, REPLICAS);
    uint32_t other = (uint32_t)rng_below(&world->rng, REPLICAS);

    if (rng_below(&world->rng, 3))
        world_change(world, replica);
    else
        check(dd_merge(world->replicas[replica], world->replicas[other]) <=
              DD_CHANGED);
}

struct dd_value *world_merged(const struct dd_value *left,
                              const struct dd_value *right)
{
    struct dd_value *merged = dd_copy(left);

    check(dd_merge(merged, right) <= DD_CHANGED);
    return merged;
}

static bool same_elements(const struct dd_value *left,
                          const struct dd_value *right)
{
    struct dd_element element;
    uint32_t at = 0;

    if (dd_set_count(left) != dd_set_count(right))
        return false;
    while (dd_set_next(left, &at, &element))
        if (!dd_set_has(right, &element))
            return false;
    return true;
}

static bool same_entries(const struct dd_value *left,
                         const struct dd_value *right)
{
    const struct dd_value *value;
    struct dd_element key;
    uint32_t at = 0;

    if (dd_map_count(left) != dd_map_count(right))
        return false;
    while (dd_map_next(left, &at, &key, &value)) {
        const struct dd_value *other = dd_map_get(right, &key);

        if (!other || !world_looks_equal(value, other))
            return false;
    }
    return true;
}

static bool same_sizes(struct dd_natural left, struct dd_natural right)
{
    return left.high == right.high && left.low == right.low;
}

static bool same_numbers(struct dd_integer left, struct dd_integer right)
{
    return left.negative == right.negative &&
           same_sizes(left.size, right.size);
}

bool world_looks_equal(const struct dd_value *left,
                       const struct dd_value *right)
{
    if (dd_kind_of(left) != dd_kind_of(right))
        return false;
    switch (dd_kind_of(left)) {
    case DD_GSET:
    case DD_ORSET:
        return same_elements(left, right);
    case DD_ORMAP:
    case DD_LWWMAP:
    case DD_PNCOUNTERMAP:
    case DD_MULTIMAP:
        return same_entries(left, right);
    case DD_GCOUNTER:
        return same_sizes(dd_gcounter_get(left), dd_gcounter_get(right));
    case DD_PNCOUNTER:
        return same_numbers(dd_pncounter_get(left), dd_pncounter_get(right));
    default:
        return dd_equal(left, right);
    }
}
