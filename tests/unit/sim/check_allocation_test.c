/* Tests check_allocation: each rule is broken once, without a node. */
#include "sim/check/check_allocation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "judged.h"

static struct check_allocation *check_of;

static int set_up(void **state)
{
    (void)state;
    judge();
    check_of = check_allocation_new(verdict);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    check_allocation_free(check_of);
    verdict_free(verdict);
    return 0;
}

static void asked(uint64_t at, uint32_t node, int32_t shard, uint64_t number)
{
    struct probe probe = { .kind = PROBE_ALLOCATION_ASKED, .type = 1, .shard = shard, .first = number };

    check_allocation_probe(check_of, at, node, &probe);
}

static void ended(uint32_t node, int32_t shard, uint64_t number, enum probe_allocation why)
{
    struct probe probe = { .kind = PROBE_ALLOCATION_ENDED, .type = 1, .shard = shard, .first = number,
                           .second = why };

    check_allocation_probe(check_of, 0, node, &probe);
}

static void requests_that_end_once_are_right(void **state)
{
    (void)state;
    asked(0, 0, 5, 1);
    asked(0, 0, 6, 2);
    asked(0, 0, INT32_MIN, 3); /* for moves */
    asked(0, 1, 5, 1); /* on another node */
    ended(0, 6, 2, PROBE_ALLOCATION_ANSWERED);
    ended(0, 5, 1, PROBE_ALLOCATION_LATE);
    asked(0, 0, 5, 4);
    ended(0, 5, 4, PROBE_ALLOCATION_NEEDLESS);
    check_allocation_node_ended(check_of, 1);
    check_allocation_node_ended(check_of, 0);
    check_allocation_look(check_of, 1000 * SECOND);
    assert_int_equal(verdict_count(verdict), 0);
    assert_int_equal(check_allocation_counts(check_of).asked, 5);
    assert_int_equal(check_allocation_counts(check_of).ended[PROBE_ALLOCATION_LATE], 1);
}

static void allocation_ends_once_a_second_request_for_a_shard_is_found(void **state)
{
    (void)state;
    asked(0, 0, 5, 1);
    asked(0, 0, 5, 2);
    expect_only("allocation-ends-once");
}

static void allocation_ends_once_a_second_end_is_found(void **state)
{
    (void)state;
    asked(0, 0, 5, 1);
    ended(0, 5, 1, PROBE_ALLOCATION_ANSWERED);
    ended(0, 5, 1, PROBE_ALLOCATION_LATE);
    expect_only("allocation-ends-once");
}

static void allocation_ends_once_an_open_request_is_found(void **state)
{
    (void)state;
    check_allocation_limit(check_of, 10 * SECOND);
    asked(SECOND, 0, 5, 1);
    check_allocation_look(check_of, 10 * SECOND);
    check_allocation_paused(check_of, 0, 5 * SECOND);
    check_allocation_look(check_of, 15 * SECOND);
    assert_int_equal(verdict_count(verdict), 0);
    check_allocation_look(check_of, 17 * SECOND);
    check_allocation_look(check_of, 18 * SECOND);
    expect_only("allocation-ends-once");
}

/* ---- homes ---- */

static struct address address_of(const char *host)
{
    struct address address;

    assert_true(address_set(&address, host, strlen(host), 2551));
    return address;
}

/* Shard n is wanted at region n; shards from 10 on are free. */
static bool by_number(const void *arg, int32_t shard, const struct address *regions, uint32_t count,
                      uint32_t *wanted)
{
    (void)regions;
    assert_string_equal(arg, "arg");
    *wanted = (uint32_t)shard % count;
    return shard < 10;
}

static void location_honoured_another_home_is_found(void **state)
{
    const struct address regions[] = { address_of("n0"), address_of("n1") };
    struct check_allocation_home homes[] = { { 0, address_of("n0") }, { 1, address_of("n1") }, { 17, address_of("n0") } };
    char text[200] = "";
    (void)state;

    assert_true(check_allocation_holds(homes, 3, regions, 2, by_number, "arg", text, sizeof text));
    homes[1].address = address_of("n0");
    assert_false(check_allocation_holds(homes, 3, regions, 2, by_number, "arg", text, sizeof text));
    assert_string_equal(text, "shard 1 is at n0:2551 and should be at n1:2551");
    homes[1].address = address_of("n7"); /* ended */
    assert_false(check_allocation_holds(homes, 3, regions, 2, by_number, "arg", text, sizeof text));
}

static void shard_balance_a_shard_off_its_ring_is_found(void **state)
{
    const struct address regions[] = { address_of("n0"), address_of("n1"), address_of("n2") };
    struct check_allocation_home home = { .shard = 3 };
    struct allocation_ring ring = { 0 };
    uint32_t fits = 0;
    char text[200];
    (void)state;

    check_allocation_ring_make(&ring, regions, 3, 20, 0);
    for (int i = 0; i < 3; i++) {
        home.address = regions[i];
        fits += check_allocation_holds(&home, 1, regions, 3, check_allocation_by_ring, &ring, text,
                                       sizeof text);
    }
    assert_int_equal(fits, 1);
    allocation_ring_fini(&ring);
}

/* With a bound of one, each of three regions has its part. */
static void shard_balance_a_bound_is_part_of_the_ring(void **state)
{
    const struct address regions[] = { address_of("n0"), address_of("n1"), address_of("n2") };
    struct allocation_ring ring = { 0 };
    uint32_t counts[3] = { 0 };
    (void)state;

    check_allocation_ring_make(&ring, regions, 3, 30, 1);
    for (int32_t i = 0; i < 30; i++) {
        uint32_t wanted;

        assert_true(check_allocation_by_ring(&ring, i, regions, 3, &wanted));
        counts[wanted]++;
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(counts[i], 10);
    allocation_ring_fini(&ring);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(requests_that_end_once_are_right),
        TEST(allocation_ends_once_a_second_request_for_a_shard_is_found),
        TEST(allocation_ends_once_a_second_end_is_found),
        TEST(allocation_ends_once_an_open_request_is_found),
        TEST(location_honoured_another_home_is_found),
        TEST(shard_balance_a_shard_off_its_ring_is_found),
        TEST(shard_balance_a_bound_is_part_of_the_ring),
    };

    return cmocka_run_group_tests_name("check_allocation", tests, NULL, NULL);
}
