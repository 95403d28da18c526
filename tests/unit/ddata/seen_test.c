/* Compares sets of addresses in wire format with plain ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/rng.h"
#include "ddata/seen.h"

#define ALL 96
#define LONG "ccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"

/* The addresses in order: hosts of several lengths, some of which are prefixes of others, and ports
 * of one to three bytes. The host of 122 bytes gives sizes of one and of two bytes. */
static struct address address_of(uint32_t n)
{
    static const char *const hosts[] = {
        "a",       "ab",           "ab-longer",       "b",
        LONG LONG, LONG LONG "cccccccc", LONG LONG LONG, "\xc3\xa4"
    };
    static const uint32_t ports[] = { 1,   127,   128,   129,   255,  256,
                                      300, 16383, 16384, 30000, 65535, 2552 };
    static const uint32_t order[] = { 0, 1, 2, 3, 4, 5, 6, 11, 7, 8, 9, 10 };
    struct address address;

    assert_true(address_set(&address, hosts[n / 12],
                            strlen(hosts[n / 12]), ports[order[n % 12]]));
    return address;
}

static void put(struct seen *seen, bool *plain, uint32_t n)
{
    struct address address = address_of(n);

    assert_int_equal(seen_add(seen, &address), !plain[n]);
    plain[n] = true;
}

/* Compares it with one that is filled in order. */
static void expect(const struct seen *seen, const bool *plain)
{
    struct seen again = { 0 };
    uint32_t count = 0;

    for (uint32_t n = 0; n < ALL; n++) {
        struct address address = address_of(n);

        assert_int_equal(seen_has(seen, &address), plain[n]);
        count += plain[n];
        if (plain[n])
            assert_true(seen_append(&again, slice_text(address.host),
                                    address.port));
    }
    assert_int_equal(seen->count, count);
    assert_true(seen_equal(seen, &again));
    assert_int_equal(seen->last, again.last);
    seen_fini(&again);
}

static void addresses_are_sorted(void **state)
{
    (void)state;
    for (uint32_t n = 1; n < ALL; n++) {
        struct address before = address_of(n - 1);
        struct address address = address_of(n);

        assert_true(address_compare(&before, &address) < 0);
    }
}

static void each_address_is_present_once(void **state)
{
    struct rng rng;
    (void)state;

    rng_init(&rng, 1);
    for (uint32_t round = 0; round < 200; round++) {
        struct seen seen = { 0 };
        bool plain[ALL] = { false };

        for (uint32_t i = 0; i < round; i++)
            put(&seen, plain, (uint32_t)rng_below(&rng, ALL));
        expect(&seen, plain);
        seen_fini(&seen);
    }
}

static void two_lists_of_addresses_are_merged_like_sets(void **state)
{
    struct rng rng;
    (void)state;

    rng_init(&rng, 2);
    for (uint32_t round = 0; round < 200; round++) {
        struct seen left = { 0 }, right = { 0 }, copy = { 0 };
        bool mine[ALL] = { false }, theirs[ALL] = { false };
        bool either[ALL];

        for (uint32_t i = 0; i < round % 50; i++)
            put(&left, mine, (uint32_t)rng_below(&rng, ALL));
        for (uint32_t i = 0; i < round / 4; i++)
            put(&right, theirs, (uint32_t)rng_below(&rng, ALL));
        for (uint32_t n = 0; n < ALL; n++)
            either[n] = mine[n] || theirs[n];
        seen_copy(&copy, &right);
        seen_merge(&copy, &left);
        expect(&copy, either);
        seen_merge(&left, &right);
        expect(&left, either);
        expect(&right, theirs);
        seen_merge(&left, &copy);
        expect(&left, either);
        put(&left, either, (uint32_t)rng_below(&rng, ALL)); /* can grow further */
        expect(&left, either);
        seen_fini(&left);
        seen_fini(&right);
        seen_fini(&copy);
    }
}

static void an_invalid_address_is_refused(void **state)
{
    char longest[HOST_MAX + 2];
    struct seen seen = { 0 };
    (void)state;

    memset(longest, 'x', sizeof longest);
    assert_false(seen_append(&seen, slice_of("", 0), 1));
    assert_false(seen_append(&seen, slice_of(longest, HOST_MAX + 1), 1));
    assert_false(seen_append(&seen, slice_of("a\0b", 3), 1));
    assert_false(seen_append(&seen, slice_text("a"), 0));
    assert_false(seen_append(&seen, slice_text("a"), 65536));
    assert_int_equal(seen.count, 0);
    assert_true(seen_append(&seen, slice_text("m"), 5));
    assert_false(seen_append(&seen, slice_text("m"), 5));
    assert_false(seen_append(&seen, slice_text("m"), 4));
    assert_false(seen_append(&seen, slice_text("lmn"), 9));
    assert_true(seen_append(&seen, slice_text("ma"), 1));
    assert_true(seen_append(&seen, slice_of(longest, HOST_MAX), 65535));
    assert_int_equal(seen.count, 3);
    seen_fini(&seen);
}

static void addresses_are_fields_of_the_marker(void **state)
{
    struct address address = { "t", 300 };
    struct seen seen = { 0 };
    (void)state;

    assert_true(seen_add(&seen, &address));
    assert_int_equal(seen.bytes.size, 8);
    assert_memory_equal(seen.bytes.data, "\x22\x06\x0a\x01t\x10\xac\x02", 8);
    seen_fini(&seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_sorted),
        cmocka_unit_test(each_address_is_present_once),
        cmocka_unit_test(two_lists_of_addresses_are_merged_like_sets),
        cmocka_unit_test(an_invalid_address_is_refused),
        cmocka_unit_test(addresses_are_fields_of_the_marker),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
