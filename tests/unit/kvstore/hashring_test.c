/* Tests the ring: preference lists, the keys that a new member moves, how even the shares are. */
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
                       "10.0.0.%u:25520", i);
        fixture->names[i] = slice_text(fixture->texts[i]);
    }
    hashring_make(&fixture->ring, fixture->names, count);
}

static uint32_t find(const struct fixture *fixture, uint32_t key,
                     uint32_t members[REPLICAS])
{
    char text[16];

    (void)snprintf(text, sizeof text, "key-%u", key);
    return hashring_find(&fixture->ring, slice_text(text), REPLICAS, members);
}

static void members_of_a_list_are_different_SEED028(void **state)
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

/* Without the new member, the new list is the start of the old one, which loses at most one
 * member. */
static void a_new_member_moves_only_neighbouring_keys_SEED028(void **state)
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

static void shares_are_nearly_equal(void **state)
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

/* The same on every machine and in every release: brokers that disagree would read elsewhere. */
static void a_list_of_replicas_never_changes(void **state)
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
        cmocka_unit_test(members_of_a_list_are_different_SEED028),
        cmocka_unit_test(a_new_member_moves_only_neighbouring_keys_SEED028),
        cmocka_unit_test(shares_are_nearly_equal),
        cmocka_unit_test(a_list_of_replicas_never_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
