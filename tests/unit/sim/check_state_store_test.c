/* Tests check_state_store with correct histories and broken rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/check.h"
#include "base/gzip.h"
#include "shard/shard_id.h"
#include "shard/stored.h"
#include "sim/check/check_state_store.h"
#include "judged.h"

#define REGION "akka://sys@host:1/system/sharding/T#1"

struct row {
    int32_t shard;
    struct fence fence;
};

static struct check_safety safety;
static struct check_state_store *check;

static int begin(void **state)
{
    (void)state;
    judge();
    memset(&safety, 0, sizeof safety);
    check = check_state_store_new(verdict, &safety);
    return 0;
}

static int end(void **state)
{
    (void)state;
    check_state_store_free(check);
    verdict_free(verdict);
    return 0;
}

static void tell(uint32_t node, enum probe_kind kind, uint64_t first,
                 struct slice bytes)
{
    const struct probe probe = { .kind = kind, .first = first, .bytes = bytes };

    check_state_store_probe(check, node, &probe);
}

static void home(uint32_t node, enum probe_kind kind, const struct row *row)
{
    const struct probe probe = { .kind = kind,
                                 .shard = row->shard,
                                 .fence = row->fence };

    check_state_store_probe(check, node, &probe);
}

static void pack(struct buf *gzip, const struct buf *bytes)
{
    struct gzip_part whole = { 0 };
    struct gzip_part part = { 0 };

    gzip_begin(gzip);
    gzip_part_set(&part, buf_slice(bytes));
    gzip_join(gzip, &whole, &part);
    gzip_end(gzip, &whole);
    gzip_part_fini(&part);
}

/* A coordinator of that term reads this state, or sends it. */
static void state(uint32_t node, bool is_read, uint64_t ticket, uint64_t term,
                  const struct row *rows, uint32_t count)
{
    struct buf homes = { 0 }, fences = { 0 }, state = { 0 }, stored = { 0 };
    char text[SHARD_TEXT_MAX];

    stored_region_put(&homes, slice_text(REGION), false);
    stored_term_put(&fences, (struct proof){ term, 0 });
    for (uint32_t i = 0; i < count; i++) {
        struct slice id = shard_text(rows[i].shard, text);

        stored_home_put(&homes, id, slice_text(REGION));
        stored_fence_put(&fences, id, rows[i].fence);
    }
    pack(&state, &homes);
    pack(&stored, &fences);
    tell(node, is_read ? PROBE_STATE_READ : PROBE_STATE_SENT, ticket,
         buf_slice(&state));
    tell(node, is_read ? PROBE_FENCES_READ : PROBE_FENCES_SENT, ticket,
         buf_slice(&stored));
    buf_fini(&homes);
    buf_fini(&fences);
    buf_fini(&state);
    buf_fini(&stored);
}

static void confirmed(uint32_t node, uint64_t ticket)
{
    tell(node, PROBE_STATE_STORED, ticket, slice_of(NULL, 0));
}

static void started(uint32_t node)
{
    tell(node, PROBE_COORDINATOR_STARTED, 0, slice_of(NULL, 0));
}

static const struct row two[] = { { 1, { 5, 1 } }, { 2, { 5, 1 } } };

/* Node 0's coordinator has two shards, stored under term 5. */
static void has_two(void)
{
    started(0);
    home(0, PROBE_HOME_SET, &two[0]);
    home(0, PROBE_HOME_SET, &two[1]);
    state(0, false, 1, 5, two, 2);
    confirmed(0, 1);
}

static void a_stored_home_is_announced(void **state_of)
{
    const struct row next[] = { { 1, { 5, 1 } }, { 2, { 6, 2 } } };

    (void)state_of;
    has_two();
    home(0, PROBE_HOME_TOLD, &two[0]);
    home(0, PROBE_HOME_ENDED, &two[1]);
    started(1);
    state(1, true, 0, 5, two, 2);
    home(1, PROBE_HOME_SET, &two[0]); /* as it is stored, so announced at once */
    home(1, PROBE_HOME_TOLD, &two[0]);
    home(1, PROBE_HOME_SET, &next[1]);
    state(1, false, 1, 6, next, 2);
    confirmed(1, 1);
    home(1, PROBE_HOME_TOLD, &next[1]);
    expect_only(NULL);
    assert_int_equal(check_state_store_counts(check).told, 3);
}

static void a_home_announced_before_its_confirmed_write_is_found(void **state_of)
{
    (void)state_of;
    started(0);
    home(0, PROBE_HOME_SET, &two[0]);
    state(0, false, 1, 5, two, 1);
    home(0, PROBE_HOME_TOLD, &two[0]);
    expect_only("coordinator-state");
}

static void a_home_that_came_after_the_write_began_is_not_in_it(void **state_of)
{
    (void)state_of;
    started(0);
    home(0, PROBE_HOME_SET, &two[0]);
    state(0, false, 1, 5, two, 1);
    home(0, PROBE_HOME_SET, &two[1]);
    confirmed(0, 1);
    home(0, PROBE_HOME_TOLD, &two[0]);
    expect_only(NULL);
    home(0, PROBE_HOME_TOLD, &two[1]);
    expect_only("coordinator-state");
}

static void a_write_without_a_home_is_found(void **state_of)
{
    (void)state_of;
    started(0);
    home(0, PROBE_HOME_SET, &two[0]);
    home(0, PROBE_HOME_SET, &two[1]);
    state(0, false, 1, 5, two, 1);
    expect_only("coordinator-state");
}

static void a_write_with_another_fence_is_found(void **state_of)
{
    const struct row older = { 1, { 4, 9 } };

    (void)state_of;
    started(0);
    home(0, PROBE_HOME_SET, &two[0]);
    state(0, false, 1, 5, &older, 1);
    expect_only("coordinator-state");
}

static void a_fence_that_is_not_taken_over_is_found(void **state_of)
{
    (void)state_of;
    has_two();
    started(1);
    state(1, true, 0, 5, two, 2);
    home(1, PROBE_HOME_SET, &two[0]);
    state(1, false, 1, 6, two, 1);
    expect_only("coordinator-state");
}

static void a_term_that_does_not_grow_is_found(void **state_of)
{
    (void)state_of;
    has_two();
    started(1);
    state(1, true, 0, 5, NULL, 0);
    state(1, false, 1, 5, NULL, 0);
    expect_only("coordinator-state");
}

static void a_term_that_goes_back_is_found_unless_its_node_is_outside(void **state_of)
{
    (void)state_of;
    has_two();
    started(1);
    state(1, false, 1, 4, NULL, 0);
    safety.outside[1] = true;
    confirmed(1, 1);
    expect_only(NULL);
    safety.outside[1] = false;
    confirmed(1, 1);
    expect_only("coordinator-state");
}

static void a_fence_that_is_dropped_later_is_found(void **state_of)
{
    (void)state_of;
    has_two();
    home(0, PROBE_HOME_ENDED, &two[1]);
    state(0, false, 2, 5, two, 1);
    expect_only(NULL);
    confirmed(0, 2);
    expect_only("coordinator-state");
}

static void a_fence_that_goes_back_is_found(void **state_of)
{
    const struct row older = { 2, { 4, 3 } };

    (void)state_of;
    has_two();
    started(1);
    home(1, PROBE_HOME_SET, &older);
    state(1, false, 1, 6, &older, 1);
    confirmed(1, 1);
    expect_only("coordinator-state");
}

static void a_fence_that_need_not_have_been_read_may_go_back(void **state_of)
{
    const struct row older = { 2, { 4, 3 } };

    (void)state_of;
    has_two();
    started(1);
    check_state_store_forget(check, 1); /* another type */
    check_state_store_forget(check, 0);
    home(1, PROBE_HOME_SET, &older);
    state(1, false, 1, 6, &older, 1);
    confirmed(1, 1);
    expect_only(NULL);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_stored_home_is_announced),
        CASE(a_home_announced_before_its_confirmed_write_is_found),
        CASE(a_home_that_came_after_the_write_began_is_not_in_it),
        CASE(a_write_without_a_home_is_found),
        CASE(a_write_with_another_fence_is_found),
        CASE(a_fence_that_is_not_taken_over_is_found),
        CASE(a_term_that_does_not_grow_is_found),
        CASE(a_term_that_goes_back_is_found_unless_its_node_is_outside),
        CASE(a_fence_that_is_dropped_later_is_found),
        CASE(a_fence_that_goes_back_is_found),
        CASE(a_fence_that_need_not_have_been_read_may_go_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
