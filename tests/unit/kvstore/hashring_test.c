/* The ring: preference lists, what one more member moves, how even it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "kvstore/hashring.h"

#define KEYS 3000
#define MEMBERS 10
#define REPLICAS 3

struct fixture {
    struct hashring ring;
    char texts[MEMBERS + 1][32];
    struct slice names[MEMBERS + 1];
};

static void make(struct fixture *fixture, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        (void)snprintf(fixture->texts[i], sizeof fixture->texts[i],
                       "10.0.0.%u:25520", i); /* fits */
        fixture->names[i] = slice_text(fixture->texts[i]);
    }
    hashring_make(&fixture->ring, fixture->names, count);
}

static uint32_t find(const struct fixture *fixture, uint32_t key,
                     uint32_t members[REPLICAS])
{
    char text[16];

    (void)snprintf(text, sizeof text, "key-%u", key); /* fits */
    return hashring_find(&fixture->ring, slice_text(text), REPLICAS, members);
}

static void members_of_a_list_are_different(void **state)
{
    struct fixture fixture = { 0 };
    uint32_t members[REPLICAS];

    (void)state;
    assert_int_equal(find(&fixture, 1, members), 0);
    make(&fixture, 2);
    assert_int_equal(find(&fixture, 1, members), 2);
    assert_int_not_equal(members[0], members[1]);
    make(&fixture, MEMBERS);
    for (uint32_t key = 0; key < KEYS; key++) {
        assert_int_equal(find(&fixture, key, members), REPLICAS);
        assert_int_not_equal(members[0], members[1]);
        assert_int_not_equal(members[0], members[2]);
        assert_int_not_equal(members[1], members[2]);
    }
    hashring_fini(&fixture.ring);
}

/* Conformance SEED-028: a list without the new member is the old one, and one with it has lost one at most. */
static void one_more_moves_what_is_next_to_it(void **state)
{
    struct fixture before = { 0 }, after = { 0 };
    uint32_t old[REPLICAS], new[REPLICAS];
    uint32_t moved = 0;

    (void)state;
    make(&before, MEMBERS);
    make(&after, MEMBERS + 1);
    for (uint32_t key = 0; key < KEYS; key++) {
        uint32_t at = 0;

        find(&before, key, old);
        find(&after, key, new);
        for (uint32_t i = 0; i < REPLICAS; i++)
            if (new[i] != MEMBERS)
                assert_int_equal(new[i], old[at++]);
        moved += at < REPLICAS;
    }
    assert_in_range(moved, KEYS / 6, KEYS / 2); /* 3 in 11 */
    hashring_fini(&before.ring);
    hashring_fini(&after.ring);
}

static void shares_are_alike(void **state)
{
    struct fixture fixture = { 0 };
    uint32_t counts[MEMBERS] = { 0 };
    uint32_t members[REPLICAS];

    (void)state;
    make(&fixture, MEMBERS);
    assert_int_equal(fixture.ring.points.count, MEMBERS * KVSTORE_POINTS);
    for (uint32_t key = 0; key < KEYS; key++) {
        find(&fixture, key, members);
        for (uint32_t i = 0; i < REPLICAS; i++)
            counts[members[i]]++;
    }
    for (uint32_t i = 0; i < MEMBERS; i++)
        assert_in_range(counts[i], KEYS * REPLICAS / MEMBERS * 6 / 10,
                        KEYS * REPLICAS / MEMBERS * 14 / 10);
    hashring_fini(&fixture.ring);
}

/* On every machine and in every release: who disagrees reads elsewhere. */
static void a_list_is_what_it_was(void **state)
{
    struct fixture fixture = { 0 };
    uint32_t members[REPLICAS];

    (void)state;
    make(&fixture, MEMBERS);
    find(&fixture, 7, members);
    assert_int_equal(members[0] * 100 + members[1] * 10 + members[2], 97);
    hashring_fini(&fixture.ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_of_a_list_are_different),
        cmocka_unit_test(one_more_moves_what_is_next_to_it),
        cmocka_unit_test(shares_are_alike),
        cmocka_unit_test(a_list_is_what_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
