/* The checker of remembered entities: each part of I8 is broken on purpose and found; what keeps it passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/check.h"
#include "journal/record.h"
#include "sim/check_remember.h"
#include "judged.h"

#define SHARD 4

static const struct sherd_entity_type types[] = {
    { .name = "Plain" },
    { .name = "Kept", .remember = 1 },
};
static struct check_safety safety;
static struct check_remember *check;
static struct disk_store_observer told;
static uint64_t seq;

static int begin(void **state)
{
    (void)state;
    judge();
    memset(&safety, 0, sizeof safety);
    seq = 0;
    check = check_remember_new(verdict, types, 2);
    check_remember_safety(check, &safety);
    told = check_remember_observer(check);
    return 0;
}

static int end(void **state)
{
    (void)state;
    check_remember_free(check);
    verdict_free(verdict);
    return 0;
}

static void put_ids(struct buf *payload, const char *ids)
{
    buf_put_varint(payload, strlen(ids));
    for (; *ids; ids++) {
        buf_put_u8(payload, 1);
        buf_put_u8(payload, (uint8_t)*ids);
    }
}

/* A commit of one record; each letter is an id. */
static void store(const char *name, bool is_base, const char *starts,
                  const char *stops, enum store_result result)
{
    struct slice id = slice_text(name);
    struct store_request *request = store_request_new(STORE_APPEND);
    struct buf payload = { 0 };
    struct buf bytes = { 0 };
    struct record record = { .event_type = 0 };
    struct store_entity entity = { .result = result };
    struct store_record stored = { .seq = ++seq };

    buf_put_u8(&payload, 1);
    buf_put_u8(&payload, is_base);
    put_ids(&payload, starts);
    put_ids(&payload, stops);
    record.payload = buf_slice(&payload);
    record_encode(&bytes, record_key(id), seq, &record);
    entity.id = store_put(request, id);
    stored.bytes = store_put(request, buf_slice(&bytes));
    vec_push(&request->entities, entity);
    vec_push(&request->records, stored);
    told.committed(told.user, NULL, &request, 1);
    store_request_free(request);
    buf_fini(&payload);
    buf_fini(&bytes);
}

static void kept(bool is_base, const char *starts, const char *stops)
{
    store("|Kept|4", is_base, starts, stops, STORE_DONE);
}

static void tell(uint32_t node, enum probe_kind kind, uint16_t type,
                 const char *id)
{
    const struct probe probe = { .kind = kind,
                                 .type = type,
                                 .shard = SHARD,
                                 .bytes = slice_text(id) };

    check_remember_probe(check, node, &probe);
}

static void starts(uint32_t node, const char *id)
{
    tell(node, PROBE_ENTITY_STARTED, 1, id);
}

static void stops(uint32_t node, const char *id)
{
    tell(node, PROBE_ENTITY_STOPPED, 1, id);
}

static void expect_quiet(const char *missing)
{
    char text[VERDICT_TEXT_MAX] = "";

    assert_int_equal(check_remember_agrees(check, text, sizeof text), !missing);
    if (missing)
        assert_string_equal(text, missing);
}

static void who_is_stored_lives(void **state)
{
    (void)state;
    kept(true, "ab", "");
    starts(0, "a");
    starts(0, "b");
    expect_quiet(NULL);
    kept(false, "c", "");
    starts(0, "c");
    stops(0, "a");
    kept(false, "", "a");
    expect_quiet(NULL);
    check_remember_node_ended(check, 0);
    expect_quiet("b of Kept, shard 4, is stored, and does not live");
    starts(1, "b");
    starts(1, "c");
    expect_quiet(NULL);
    expect_only(NULL);
}

static void a_start_before_it_is_stored_is_found(void **state)
{
    (void)state;
    kept(true, "a", "");
    starts(0, "b");
    expect_only("I8");
}

static void who_was_forgotten_and_starts_is_found(void **state)
{
    (void)state;
    kept(true, "a", "");
    kept(false, "", "a");
    starts(0, "a");
    expect_only("I8");
}

static void a_start_that_was_not_stored_is_no_start(void **state)
{
    (void)state;
    store("|Kept|4", true, "a", "", STORE_FAILED);
    starts(0, "a");
    expect_only("I8");
}

static void a_base_without_an_id_is_found(void **state)
{
    (void)state;
    kept(true, "ab", "");
    starts(0, "a");
    starts(0, "b");
    kept(true, "a", "");
    expect_quiet("b of Kept, shard 4, is alive, and not stored");
}

static void a_base_is_of_its_shard_alone(void **state)
{
    (void)state;
    kept(true, "a", "");
    starts(0, "a");
    seq = 0;
    store("|Kept|-4", true, "b", "", STORE_DONE);
    starts(0, "b");
    expect_quiet(NULL);
    expect_only(NULL);
}

static void who_is_outside_may_start_whom_others_forgot(void **state)
{
    (void)state;
    safety.outside[3] = true;
    starts(3, "a");
    expect_only(NULL);
}

static void other_types_and_events_are_nothing_to_it(void **state)
{
    (void)state;
    tell(0, PROBE_ENTITY_STARTED, 0, "a");
    store("|Plain|4", true, "a", "", STORE_DONE);
    seq = 0;
    store("Kept|x", true, "a", "", STORE_DONE);
    expect_quiet(NULL);
    expect_only(NULL);
    assert_int_equal(check_remember_counts(check).records, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(who_is_stored_lives),
        CASE(a_start_before_it_is_stored_is_found),
        CASE(who_was_forgotten_and_starts_is_found),
        CASE(a_start_that_was_not_stored_is_no_start),
        CASE(a_base_without_an_id_is_found),
        CASE(a_base_is_of_its_shard_alone),
        CASE(who_is_outside_may_start_whom_others_forgot),
        CASE(other_types_and_events_are_nothing_to_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
