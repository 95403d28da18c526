/* Tests check_delivery with allowed histories and broken rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "actor/delivery/format.h"
#include "base/check.h"
#include "journal/record.h"
#include "judged.h"
#include "sim/check/check_delivery.h"

static struct check_delivery *check;
static struct book *book;
static uint64_t seqs[10]; /* by account */

static int setup(void **state)
{
    (void)state;
    judge();
    check = check_delivery_new(verdict);
    book = book_new("x");
    memset(seqs, 0, sizeof seqs);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    check_delivery_free(check);
    book_free(book);
    verdict_free(verdict);
    return 0;
}

static void put(uint32_t account, uint32_t type, struct slice payload)
{
    char id[] = "account|b0";
    struct record record = { .event_type = type, .fence = { 1, 1 }, .payload = payload };
    struct book_change change = { .kind = BOOK_RECORD };
    struct buf bytes = { 0 };

    id[9] = (char)('0' + account);
    change.id = slice_text(id);
    change.seq = ++seqs[account];
    record_encode(&bytes, record_key(change.id), change.seq, &record);
    change.bytes = buf_slice(&bytes);
    assert_true(book_apply(book, &change));
    book_keep(book);
    buf_fini(&bytes);
}

static void effect(uint32_t account, uint32_t type, uint64_t sender, uint64_t number)
{
    struct delivery_effect stored = { number, sender };

    put(account, type, slice_of(&stored, sizeof stored));
}

static void parcel(uint32_t account, const char *to, uint64_t number)
{
    struct buf bytes = { 0 };

    parcel_write(&bytes, &(struct parcel){ .number = number,
                                           .type = slice_text("account"),
                                           .id = slice_text(to),
                                           .body = slice_text("cent") });
    put(account, EVENT_PARCEL, buf_slice(&bytes));
    buf_fini(&bytes);
}

static void mark(uint32_t account, const char *from, uint64_t number, enum sherd_delivery_end end)
{
    struct buf bytes = { 0 };

    receipt_write(&bytes, &(struct receipt){ number, number, 5, end, slice_text("account"),
                                       slice_text(from) });
    put(account, EVENT_RECEIPT, buf_slice(&bytes));
    buf_fini(&bytes);
}

static void outcome(uint32_t account, uint64_t number, enum sherd_delivery_end end)
{
    struct buf bytes = { 0 };

    outcome_write(&bytes, &(struct outcome){ number, end });
    put(account, EVENT_OUTCOME, buf_slice(&bytes));
    buf_fini(&bytes);
}

static bool is_silent; /* the checker does not hear of commits */

/* All that was put is durable. */
static void commit(void)
{
    struct disk_backend_observer observer = check_delivery_observer(check);

    if (is_silent)
        return;
    observer.opened(observer.user, book);
}

static void sent(void)
{
    parcel(1, "b2", 1);
    effect(1, EFFECT_TAKEN, 1, 1);
    commit();
}

static void handled(void)
{
    effect(2, EFFECT_GIVEN, 1, 1);
    mark(2, "b1", 1, SHERD_DELIVERY_HANDLED);
    commit();
}


static void a_delivery_with_its_effect_is_allowed(void **state)
{
    char text[160];

    (void)state;
    sent();
    assert_false(check_delivery_has_ended(check, text, sizeof text));
    assert_non_null(strstr(text, "number 1 of b1 to b2"));
    handled();
    assert_false(check_delivery_has_ended(check, text, sizeof text));
    outcome(1, 1, SHERD_DELIVERY_HANDLED);
    commit();
    assert_true(check_delivery_has_ended(check, text, sizeof text));
    assert_int_equal(check_delivery_counts(check).handled, 1);
    expect_only(NULL);
}

static void an_expired_delivery_is_returned(void **state)
{
    (void)state;
    sent();
    mark(2, "b1", 1, SHERD_DELIVERY_EXPIRED);
    commit();
    outcome(1, 1, SHERD_DELIVERY_EXPIRED);
    effect(1, EFFECT_RETURNED, 1, 1);
    commit();
    expect_only(NULL);
    assert_int_equal(check_delivery_counts(check).expired, 1);
}

static void a_second_effect_is_found(void **state)
{
    (void)state;
    sent();
    handled();
    handled();
    assert_true(verdict_count(verdict) > 0);
}

static void an_effect_without_a_mark_is_found(void **state)
{
    (void)state;
    sent();
    effect(2, EFFECT_GIVEN, 1, 1);
    commit();
    expect_only("delivery-once");
}

static void an_effect_of_nothing_is_found(void **state)
{
    (void)state;
    handled();
    expect_only("delivery-once");
}

static void a_cause_without_its_delivery_is_found(void **state)
{
    (void)state;
    effect(1, EFFECT_TAKEN, 1, 1);
    commit();
    expect_only("delivery-once");
}

static void an_end_that_the_receiver_has_not_stored_is_found(void **state)
{
    (void)state;
    sent();
    outcome(1, 1, SHERD_DELIVERY_HANDLED);
    commit();
    expect_only("delivery-once");
}

static void an_end_without_its_effect_is_found(void **state)
{
    (void)state;
    sent();
    mark(2, "b1", 1, SHERD_DELIVERY_EXPIRED);
    outcome(1, 1, SHERD_DELIVERY_EXPIRED);
    commit();
    expect_only("delivery-once");
}

/* A server takes over that has only what this function puts into its journal. */
static void lose(void (*puts)(void))
{
    struct disk_backend_observer observer = check_delivery_observer(check);

    book_free(book);
    book = book_new("x");
    memset(seqs, 0, sizeof seqs);
    is_silent = true;
    puts();
    is_silent = false;
    observer.rewound(observer.user, book);
}

static void nothing(void)
{
}

static void sent_and_handled(void)
{
    sent();
    handled();
}

static void a_delivery_that_the_server_lost_may_be_handled(void **state)
{
    char text[160];

    (void)state;
    sent();
    lose(nothing);
    handled(); /* its message was on its way */
    parcel(1, "b3", 1); /* the number is given again */
    effect(1, EFFECT_TAKEN, 1, 1);
    commit();
    expect_only(NULL);
    assert_int_equal(check_delivery_counts(check).lost, 1);
    assert_false(check_delivery_has_ended(check, text, sizeof text));
}

static void a_delivery_of_which_nothing_was_lost_is_still_judged(void **state)
{
    (void)state;
    sent();
    handled();
    outcome(1, 1, SHERD_DELIVERY_HANDLED);
    commit();
    parcel(1, "b3", 2);
    effect(1, EFFECT_TAKEN, 1, 2);
    commit();
    lose(sent_and_handled);
    expect_only(NULL);
    effect(2, EFFECT_GIVEN, 1, 1);
    commit();
    expect_only(NULL); /* of this one the sender's end was lost */
    effect(2, EFFECT_GIVEN, 1, 3);
    commit();
    expect_only("delivery-once");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_delivery_with_its_effect_is_allowed),
        TEST(an_expired_delivery_is_returned),
        TEST(a_second_effect_is_found),
        TEST(an_effect_without_a_mark_is_found),
        TEST(an_effect_of_nothing_is_found),
        TEST(a_cause_without_its_delivery_is_found),
        TEST(an_end_that_the_receiver_has_not_stored_is_found),
        TEST(an_end_without_its_effect_is_found),
        TEST(a_delivery_that_the_server_lost_may_be_handled),
        TEST(a_delivery_of_which_nothing_was_lost_is_still_judged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
