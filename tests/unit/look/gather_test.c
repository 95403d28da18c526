/* Tests how a look's page is gathered: walks by cursor, sums, orders, and parts that are missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/timers.h"
#include "look/gather.h"

#define BEGIN (100 * SECOND)
#define WITHIN (5 * SECOND)

static struct node_id node(uint64_t uid)
{
    struct node_id id = { .uid = uid };

    assert_true(address_set(&id.address, "host", 4, (uint32_t)(2000 + uid)));
    return id;
}

static struct gather *begin(struct gather_options *options, uint32_t nodes)
{
    struct gather *gather;

    options->deadline = BEGIN + WITHIN;
    options->count = options->count ? options->count : 200;
    gather = gather_new(options);
    assert_non_null(gather);
    for (uint32_t i = nodes; i; i--) {
        struct node_id id = node(i);

        gather_add(gather, &id, LOOK_ASKED);
    }
    gather_begin(gather, BEGIN);
    return gather;
}

/* The next request, of that node. */
static struct look_request asks(struct gather *gather, uint64_t now, uint64_t id, uint64_t uid)
{
    struct look_request request;
    struct node_id to;

    assert_true(gather_next_ask(gather, now, id, &to, &request));
    assert_int_equal(to.uid, uid);
    assert_int_equal(request.id, id);
    return request;
}

static void asks_nobody(struct gather *gather, uint64_t now)
{
    struct look_request request;
    struct node_id to;

    assert_false(gather_next_ask(gather, now, 99, &to, &request));
}

/* Answers with that many shards, whose entities count from `first` on; next: a byte, or 0. */
static void answers(struct gather *gather, uint64_t now, uint64_t id, uint64_t uid, uint32_t rows,
                    uint64_t first, uint8_t next)
{
    struct look_rows part = { .count = 0 };
    struct look_reply reply = { .id = id,
                                .next = { .size = next != 0, .bytes = { next } },
                                .wall_ms = 5 };
    struct node_id from = node(uid);

    for (uint32_t i = 0; i < rows; i++) {
        look_row_begin(&part);
        look_put_text(&part, LOOK_SHARDS_TYPE, "Cart");
        look_put(&part, LOOK_SHARDS_ENTITIES, first + i);
        look_row_end(&part);
    }
    reply.rows = buf_slice(&part.bytes);
    assert_true(gather_reply(gather, now, &from, &reply));
    look_rows_fini(&part);
}

static uint64_t entities(const struct sherd_look_page *page, uint32_t row, uint32_t *part)
{
    struct sherd_look_value values[SHERD_LOOK_COLUMNS_MAX];

    assert_int_equal(sherd_look_row(page, row, values, part), 1);
    return values[LOOK_SHARDS_ENTITIES].number;
}

static void a_walk_goes_from_node_to_node_and_ends(void **state)
{
    struct gather_options options = { .kind = SHERD_LOOK_SHARDS, .order = LOOK_NO_ORDER };
    struct gather *gather = begin(&options, 2);
    struct sherd_look_page page;
    uint32_t part;

    (void)state;
    (void)asks(gather, BEGIN, 1, 1);
    asks_nobody(gather, BEGIN); /* shards may be many: one node at a time */
    answers(gather, BEGIN, 1, 1, 2, 10, 4);
    assert_int_equal(asks(gather, BEGIN, 2, 1).cursor.bytes[0], 4);
    answers(gather, BEGIN, 2, 1, 1, 12, 0);
    (void)asks(gather, BEGIN, 3, 2);
    answers(gather, BEGIN, 3, 2, 1, 50, 0);
    assert_true(gather_is_done(gather));
    assert_int_equal(gather_deadline(gather), NEVER);
    gather_page(gather, &page);
    assert_int_equal(page.row_count, 4);
    assert_int_equal(page.part_count, 2);
    assert_int_equal(page.is_partial, 0);
    assert_int_equal(page.next.size, 0);
    assert_int_equal(entities(&page, 2, &part), 12);
    assert_int_equal(part, 0);
    assert_int_equal(entities(&page, 3, &part), 50);
    assert_int_equal(part, 1);
    assert_int_equal(page.parts[0].row_count, 3);
    assert_string_equal(page.parts[1].address, "host:2002");
    assert_int_equal(page.parts[0].wall_ms, 5);
    assert_int_equal(sherd_look_row(&page, 4, (struct sherd_look_value[SHERD_LOOK_COLUMNS_MAX]){ { 0 } }, NULL), 0);
    gather_free(gather);
}

static void a_full_page_has_the_cursor_of_the_next_one(void **state)
{
    struct gather_options options = { .kind = SHERD_LOOK_SHARDS,
                                      .order = LOOK_NO_ORDER,
                                      .count = 3 };
    struct gather *gather = begin(&options, 3);
    struct sherd_look_page page;
    uint8_t cursor[SHERD_LOOK_CURSOR_MAX];

    (void)state;
    assert_int_equal(asks(gather, BEGIN, 1, 1).limit, 3);
    answers(gather, BEGIN, 1, 1, 1, 0, 0);
    assert_int_equal(asks(gather, BEGIN, 2, 2).limit, 2);
    answers(gather, BEGIN, 2, 2, 2, 0, 8);
    assert_true(gather_is_done(gather));
    gather_page(gather, &page);
    assert_int_equal(page.row_count, 3);
    assert_int_equal(page.part_count, 2); /* the third node is of a later page */
    assert_true(page.next.size > 0 && page.next.size <= sizeof cursor);
    memcpy(cursor, page.next.data, page.next.size);
    options.cursor = slice_of(cursor, page.next.size);
    gather_free(gather);

    gather = begin(&options, 3);
    assert_int_equal(asks(gather, BEGIN, 1, 2).cursor.bytes[0], 8);
    answers(gather, BEGIN, 1, 2, 0, 0, 0);
    (void)asks(gather, BEGIN, 2, 3);
    answers(gather, BEGIN, 2, 3, 0, 0, 0);
    assert_true(gather_is_done(gather));
    gather_page(gather, &page);
    assert_int_equal(page.part_count, 2);
    assert_int_equal(page.next.size, 0);
    gather_free(gather);
}

static void a_cursor_that_is_none_of_ours_is_refused(void **state)
{
    uint8_t bytes[8 + LOOK_CURSOR_MAX + 1] = { 0 };
    struct gather_options options = { .kind = SHERD_LOOK_SHARDS,
                                      .order = LOOK_NO_ORDER,
                                      .cursor = slice_of(bytes, 7) };

    (void)state;
    assert_null(gather_new(&options));
    options.cursor.size = sizeof bytes;
    assert_null(gather_new(&options));
}

static void short_kinds_are_asked_ahead_and_come_in_order(void **state)
{
    struct gather_options options = { .kind = SHERD_LOOK_REGIONS, .order = LOOK_NO_ORDER };
    struct gather *gather = begin(&options, LOOK_TARGETS_MAX + 2);
    struct sherd_look_page page;

    (void)state;
    for (uint64_t uid = 1; uid <= LOOK_TARGETS_MAX; uid++)
        (void)asks(gather, BEGIN, uid, uid);
    asks_nobody(gather, BEGIN);
    assert_int_equal(gather_asked(gather), LOOK_TARGETS_MAX);
    answers(gather, BEGIN, 2, 2, 0, 0, 0);
    asks_nobody(gather, BEGIN); /* the first one may still need the room */
    answers(gather, BEGIN, 1, 1, 0, 0, 0);
    (void)asks(gather, BEGIN, 17, 17);
    (void)asks(gather, BEGIN, 18, 18);
    for (uint64_t uid = LOOK_TARGETS_MAX + 2; uid > 2; uid--)
        answers(gather, BEGIN, uid, uid, 0, 0, 0);
    assert_true(gather_is_done(gather));
    gather_page(gather, &page);
    assert_int_equal(page.part_count, LOOK_TARGETS_MAX + 2);
    gather_free(gather);
}

static void a_silent_node_is_marked_and_the_others_are_asked(void **state)
{
    struct gather_options options = { .kind = SHERD_LOOK_SHARDS, .order = LOOK_NO_ORDER };
    struct gather *gather = begin(&options, 2);
    struct look_reply late = { .id = 1 };
    struct node_id first = node(1);
    struct sherd_look_page page;
    uint64_t until;

    (void)state;
    (void)asks(gather, BEGIN, 1, 1);
    until = gather_deadline(gather);
    assert_true(until > BEGIN && until < BEGIN + WITHIN);
    gather_tick(gather, until);
    (void)asks(gather, until, 2, 2);
    assert_false(gather_reply(gather, until, &first, &late));
    answers(gather, until, 2, 2, 1, 0, 0);
    assert_true(gather_is_done(gather));
    gather_page(gather, &page);
    assert_int_equal(page.is_partial, 1);
    assert_int_equal(page.parts[0].state, SHERD_LOOK_TIMEOUT);
    assert_int_equal(page.parts[1].state, SHERD_LOOK_OK);
    gather_free(gather);
}

/* Else the deadline stays in the past, and the node takes turn after turn. */
static void a_silent_node_that_was_asked_ahead_waits_for_its_turn(void **state)
{
    struct gather_options options = { .kind = SHERD_LOOK_REGIONS, .order = LOOK_NO_ORDER };
    struct gather *gather = begin(&options, 3);
    struct look_reply busy = { .id = 2, .error = LOOK_ERROR_BUSY };
    struct node_id second = node(2);
    uint64_t now = BEGIN;

    (void)state;
    for (uint64_t uid = 1; uid <= 3; uid++)
        (void)asks(gather, now, uid, uid);
    now += 2 * SECOND;
    answers(gather, now, 1, 1, 0, 0, 9);
    (void)asks(gather, now, 4, 1); /* the first one has time again, the second one has not */
    now += 400 * MS;
    assert_true(gather_reply(gather, now, &second, &busy)); /* it could be asked again in time */
    for (now += 200 * MS; now < BEGIN + 3 * SECOND; now += 100 * MS) {
        gather_tick(gather, now); /* but the node is late */
        asks_nobody(gather, now);
        assert_true(gather_deadline(gather) > now);
    }
    answers(gather, now, 4, 1, 0, 0, 0);
    answers(gather, now, 3, 3, 0, 0, 0);
    assert_true(gather_is_done(gather));
    gather_free(gather);
}

static void a_look_ends_at_its_deadline(void **state)
{
    struct gather_options options = { .kind = SHERD_LOOK_HOT, .order = LOOK_HOT_MESSAGES };
    struct gather *gather = begin(&options, 40);
    struct sherd_look_page page;

    (void)state;
    for (uint64_t uid = 1; uid <= LOOK_TARGETS_MAX; uid++)
        (void)asks(gather, BEGIN, uid, uid);
    assert_int_equal(gather_deadline(gather), BEGIN + WITHIN);
    gather_tick(gather, BEGIN + WITHIN - 1);
    assert_false(gather_is_done(gather));
    gather_tick(gather, BEGIN + WITHIN);
    assert_true(gather_is_done(gather));
    assert_int_equal(gather_asked(gather), 0);
    gather_page(gather, &page);
    assert_int_equal(page.part_count, 40);
    for (uint32_t i = 0; i < 40; i++)
        assert_int_equal(page.parts[i].state, SHERD_LOOK_TIMEOUT);
    gather_free(gather);
}

static void members_that_are_not_asked_are_rows_with_the_reason(void **state)
{
    struct gather_options options = { .kind = SHERD_LOOK_SHARDS,
                                      .order = LOOK_NO_ORDER,
                                      .count = 10,
                                      .deadline = BEGIN + WITHIN };
    struct gather *gather = gather_new(&options);
    struct node_id jvm = node(1), old = node(2), cut = node(3);
    struct sherd_look_page page;

    (void)state;
    gather_add(gather, &jvm, SHERD_LOOK_JVM);
    gather_add(gather, &old, SHERD_LOOK_OLD);
    gather_add(gather, &cut, SHERD_LOOK_UNREACHABLE);
    gather_begin(gather, BEGIN);
    assert_true(gather_is_done(gather));
    gather_page(gather, &page);
    assert_int_equal(page.part_count, 3);
    assert_int_equal(page.is_partial, 1);
    assert_int_equal(page.parts[0].state, SHERD_LOOK_JVM);
    assert_int_equal(page.parts[1].state, SHERD_LOOK_OLD);
    assert_int_equal(page.parts[2].state, SHERD_LOOK_UNREACHABLE);
    gather_free(gather);
}

static void a_busy_node_is_asked_again(void **state)
{
    struct gather_options options = { .kind = SHERD_LOOK_SHARDS, .order = LOOK_NO_ORDER };
    struct gather *gather = begin(&options, 1);
    struct look_reply busy = { .id = 1, .error = LOOK_ERROR_BUSY };
    struct node_id first = node(1);
    struct sherd_look_page page;
    uint64_t again;

    (void)state;
    (void)asks(gather, BEGIN, 1, 1);
    assert_true(gather_reply(gather, BEGIN, &first, &busy));
    asks_nobody(gather, BEGIN);
    again = gather_deadline(gather);
    assert_true(again > BEGIN && again <= BEGIN + SECOND);
    (void)asks(gather, again, 2, 1);
    busy.id = 2;
    assert_true(gather_reply(gather, again, &first, &busy));
    gather_tick(gather, BEGIN + WITHIN);
    assert_true(gather_is_done(gather));
    gather_page(gather, &page);
    assert_int_equal(page.parts[0].state, SHERD_LOOK_BUSY);
    gather_free(gather);
}

static void a_node_that_is_not_met_yet_is_asked_later(void **state)
{
    struct gather_options options = { .kind = SHERD_LOOK_SHARDS, .order = LOOK_NO_ORDER };
    struct gather *gather = begin(&options, 1);

    (void)state;
    (void)asks(gather, BEGIN, 1, 1);
    gather_later(gather, BEGIN, 1);
    assert_int_equal(gather_asked(gather), 0);
    asks_nobody(gather, BEGIN);
    (void)asks(gather, gather_deadline(gather), 2, 1);
    gather_free(gather);
}

static void a_removed_member_counts_once(void **state)
{
    struct gather_options options = { .kind = SHERD_LOOK_SHARDS, .order = LOOK_NO_ORDER };
    struct gather *gather = begin(&options, 2);
    struct sherd_look_page page;

    (void)state;
    (void)asks(gather, BEGIN, 1, 1);
    gather_gone(gather, BEGIN, 1);
    gather_gone(gather, BEGIN, 1);
    (void)asks(gather, BEGIN, 2, 2);
    answers(gather, BEGIN, 2, 2, 0, 0, 0);
    gather_page(gather, &page);
    assert_int_equal(page.part_count, 2);
    assert_int_equal(page.parts[0].state, SHERD_LOOK_GONE);
    gather_free(gather);
}

static void an_answer_that_breaks_a_rule_fails_the_part(void **state)
{
    struct gather_options options = { .kind = SHERD_LOOK_SHARDS,
                                      .order = LOOK_NO_ORDER,
                                      .count = 2 };
    struct gather *gather = begin(&options, 3);
    struct look_reply reply = { .id = 2, .rows = slice_text("\x05\x00x") };
    struct node_id second = node(2);
    struct sherd_look_page page;

    (void)state;
    (void)asks(gather, BEGIN, 1, 1);
    answers(gather, BEGIN, 1, 1, 3, 0, 0); /* more rows than were asked */
    (void)asks(gather, BEGIN, 2, 2);
    reply.rows.size = 3; /* a row that is cut off */
    assert_true(gather_reply(gather, BEGIN, &second, &reply));
    (void)asks(gather, BEGIN, 3, 3);
    answers(gather, BEGIN, 3, 3, 1, 0, 7);
    (void)asks(gather, BEGIN, 4, 3);
    answers(gather, BEGIN, 4, 3, 0, 0, 7); /* it would never end */
    assert_true(gather_is_done(gather));
    gather_page(gather, &page);
    assert_int_equal(page.row_count, 1);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(page.parts[i].state, SHERD_LOOK_FAILED);
    gather_free(gather);
}

static void an_ordered_look_has_the_best_rows_of_all_nodes(void **state)
{
    struct gather_options options = { .kind = SHERD_LOOK_SHARDS,
                                      .order = LOOK_SHARDS_ENTITIES,
                                      .count = 4 };
    struct gather *gather = begin(&options, 2);
    struct sherd_look_page page;
    uint32_t part;

    (void)state;
    (void)asks(gather, BEGIN, 1, 1);
    (void)asks(gather, BEGIN, 2, 2);
    answers(gather, BEGIN, 2, 2, 4, 10, 1); /* 10 to 13 */
    (void)asks(gather, BEGIN, 3, 2);
    answers(gather, BEGIN, 3, 2, 1, 12, 0);
    answers(gather, BEGIN, 1, 1, 4, 9, 0); /* 9 to 12 */
    assert_true(gather_is_done(gather));
    gather_page(gather, &page);
    assert_int_equal(page.row_count, 4);
    assert_int_equal(page.next.size, 0);
    assert_int_equal(entities(&page, 0, &part), 13);
    assert_int_equal(entities(&page, 1, &part), 12);
    assert_int_equal(part, 0);
    assert_int_equal(entities(&page, 2, &part), 12);
    assert_int_equal(part, 1);
    assert_int_equal(entities(&page, 3, &part), 12);
    gather_free(gather);
}

static void an_ordered_look_keeps_at_most_its_limit(void **state)
{
    struct gather_options options = { .kind = SHERD_LOOK_SHARDS,
                                      .order = LOOK_SHARDS_ENTITIES,
                                      .count = SHERD_LOOK_ROWS_MAX };
    struct gather *gather = begin(&options, 3);
    struct sherd_look_page page;
    uint32_t part;

    (void)state;
    for (uint64_t uid = 1; uid <= 3; uid++) {
        assert_int_equal(asks(gather, BEGIN, uid, uid).limit, LOOK_TOP_MAX);
        answers(gather, BEGIN, uid, uid, LOOK_TOP_MAX, uid * 1000, 0);
    }
    gather_page(gather, &page);
    assert_int_equal(page.row_count, LOOK_TOP_MAX);
    assert_int_equal(entities(&page, 0, &part), 3000 + LOOK_TOP_MAX - 1);
    assert_int_equal(entities(&page, LOOK_TOP_MAX - 1, &part), 3000);
    gather_free(gather);
}

/* A machine's rows of types a and b. */
static void answers_types(struct gather *gather, uint64_t id, bool is_control, uint8_t next)
{
    struct look_rows part = { .count = 0 };
    struct look_reply reply = { .id = id, .next = { .size = next != 0, .bytes = { next } } };
    struct node_id from = node(1);

    for (uint32_t i = 0; i < 2; i++) {
        look_row_begin(&part);
        look_put_text(&part, LOOK_TYPES_TYPE, i ? "b" : "a");
        if (is_control)
            look_put(&part, LOOK_TYPES_HOSTED, 7 + i);
        else
            look_put(&part, LOOK_TYPES_ENTITIES, 10 * (i + 1));
        look_row_end(&part);
    }
    reply.rows = buf_slice(&part.bytes);
    assert_true(gather_reply(gather, BEGIN, &from, &reply));
    look_rows_fini(&part);
}

static void rows_of_one_type_are_summed_over_the_machines_of_a_node(void **state)
{
    struct gather_options options = { .kind = SHERD_LOOK_TYPES, .order = LOOK_NO_ORDER };
    struct gather *gather = begin(&options, 1);
    struct sherd_look_value values[SHERD_LOOK_COLUMNS_MAX];
    struct sherd_look_page page;

    (void)state;
    (void)asks(gather, BEGIN, 1, 1);
    answers_types(gather, 1, true, 1);
    (void)asks(gather, BEGIN, 2, 1);
    answers_types(gather, 2, false, 2);
    (void)asks(gather, BEGIN, 3, 1);
    answers_types(gather, 3, false, 0);
    assert_true(gather_is_done(gather));
    gather_page(gather, &page);
    assert_int_equal(page.row_count, 2);
    assert_int_equal(sherd_look_row(&page, 1, values, NULL), 1);
    assert_memory_equal(values[LOOK_TYPES_TYPE].bytes.data, "b", 1);
    assert_int_equal(values[LOOK_TYPES_HOSTED].number, 8);
    assert_int_equal(values[LOOK_TYPES_ENTITIES].number, 40);
    gather_free(gather);
}

static void a_page_ends_with_the_part_that_fills_it(void **state)
{
    struct gather_options options = { .kind = SHERD_LOOK_ENTITIES,
                                      .order = LOOK_NO_ORDER,
                                      .count = SHERD_LOOK_ROWS_MAX };
    struct gather *gather = begin(&options, 1);
    struct node_id first = node(1);
    struct sherd_look_page page;
    char id[LOOK_TEXT_MAX];
    uint8_t at = 0;

    (void)state;
    memset(id, 'x', sizeof id);
    while (!gather_is_done(gather)) {
        struct look_rows part = { .count = 0 };
        struct look_reply reply = { .next = { .size = 1 } };

        reply.id = reply.next.bytes[0] = ++at;
        (void)asks(gather, BEGIN, at, 1);
        while (part.bytes.size < LOOK_PART_SIZE) {
            look_row_begin(&part);
            look_put_bytes(&part, LOOK_ENTITIES_ID, slice_of(id, sizeof id));
            look_row_end(&part);
        }
        reply.rows = buf_slice(&part.bytes);
        assert_true(gather_reply(gather, BEGIN, &first, &reply));
        look_rows_fini(&part);
        assert_true(gather_bytes(gather) <= LOOK_PAGE_BYTES_MAX + 2 * LOOK_PART_SIZE);
    }
    gather_page(gather, &page);
    assert_true(page.row_count < SHERD_LOOK_ROWS_MAX);
    assert_true(page.next.size > 0);
    gather_free(gather);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_walk_goes_from_node_to_node_and_ends),
        cmocka_unit_test(a_full_page_has_the_cursor_of_the_next_one),
        cmocka_unit_test(a_cursor_that_is_none_of_ours_is_refused),
        cmocka_unit_test(short_kinds_are_asked_ahead_and_come_in_order),
        cmocka_unit_test(a_silent_node_is_marked_and_the_others_are_asked),
        cmocka_unit_test(a_silent_node_that_was_asked_ahead_waits_for_its_turn),
        cmocka_unit_test(a_look_ends_at_its_deadline),
        cmocka_unit_test(members_that_are_not_asked_are_rows_with_the_reason),
        cmocka_unit_test(a_busy_node_is_asked_again),
        cmocka_unit_test(a_node_that_is_not_met_yet_is_asked_later),
        cmocka_unit_test(a_removed_member_counts_once),
        cmocka_unit_test(an_answer_that_breaks_a_rule_fails_the_part),
        cmocka_unit_test(an_ordered_look_has_the_best_rows_of_all_nodes),
        cmocka_unit_test(an_ordered_look_keeps_at_most_its_limit),
        cmocka_unit_test(rows_of_one_type_are_summed_over_the_machines_of_a_node),
        cmocka_unit_test(a_page_ends_with_the_part_that_fills_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
