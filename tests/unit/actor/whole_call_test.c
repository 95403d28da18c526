/* Checks that what one call of receive stores is all or nothing when one of its events is refused. */
#include "bank.h"

static int setup_large(void **state)
{
    (void)state;
    bank.refusal = BANK_TOO_LARGE;
    bank_open();
    return 0;
}

static int setup_reserved(void **state)
{
    (void)state;
    bank.refusal = BANK_RESERVED;
    bank_open();
    return 0;
}

static int setup_rejected(void **state)
{
    (void)state;
    bank.refusal = BANK_REJECTED;
    bank_open();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    bank_close();
    return 0;
}

/* A delivery to a1, its repetition, and one that is handled at last. */
static void a_delivery_with_a_refused_event_stores_nothing(void **state)
{
    (void)state;
    bank_pay("a0", "a1", 100, BANK_MONEY, 0);
    bank_run();
    bank_advance(6000);
    assert_int_equal(bank.refusals, 2);
    assert_int_equal(bank_balance("a1"), BANK_FIRST);
    assert_int_equal(bank_events("a1"), 0);
    assert_int_equal(bank.ends[SHERD_DELIVERY_HANDLED], 0);
    bank.refusal = BANK_REFUSES_NOTHING;
    bank_advance(60000);
    assert_int_equal(bank_balance("a1"), BANK_FIRST + 100);
    assert_int_equal(bank.ends[SHERD_DELIVERY_HANDLED], 1);
}

static void a_command_with_a_refused_event_stores_nothing(void **state)
{
    (void)state;
    for (uint32_t i = 1; i <= 3; i++) {
        bank_once("a1", 100, "order-1");
        bank_run();
        bank_advance(60000); /* past its back-off */
        assert_int_equal(bank.unanswered, i);
        assert_int_equal(bank.reason, SHERD_REASON_NOT_STORED);
        assert_int_equal(bank_balance("a1"), BANK_FIRST);
    }
    bank.refusal = BANK_REFUSES_NOTHING;
    bank_once("a1", 100, "order-1");
    bank_run();
    assert_int_equal(bank.once, SHERD_ONCE_NEW);
    assert_int_equal(bank.replies, 1);
    assert_int_equal(bank_balance("a1"), BANK_FIRST + 100);
    assert_int_equal(bank_status().commands, 1);
}

static void a_confirmation_with_a_refused_event_is_not_stored(void **state)
{
    enum bank_refusal refusal = bank.refusal;

    (void)state;
    bank.refusal = BANK_REFUSES_NOTHING;
    bank_pay("a0", "a1", 0, BANK_LATER, 0);
    bank_run();
    assert_int_equal(bank.received, 1);
    bank.refusal = refusal;
    bank_send("a1", BANK_CONFIRM, slice_text(""));
    bank_run();
    assert_int_equal(bank.refusals, 1);
    assert_int_equal(bank_events("a1"), 0);
    assert_int_equal(bank.ends[SHERD_DELIVERY_HANDLED], 0);
    bank.refusal = BANK_REFUSES_NOTHING;
    bank_advance(60000); /* it comes again */
    assert_int_equal(bank.received, 2);
    bank_send("a1", BANK_CONFIRM, slice_text(""));
    bank_run();
    assert_int_equal(bank.ends[SHERD_DELIVERY_HANDLED], 1);
}

static void a_payment_with_a_refused_event_delivers_nothing(void **state)
{
    (void)state;
    bank_pay_asked("a1", "a2", 100);
    bank_run();
    assert_int_equal(bank.refusals, 1);
    assert_int_equal(bank.last_number, 1);
    bank_advance(60000);
    assert_int_equal(bank.received, 0);
    assert_int_equal(bank_balance("a1"), BANK_FIRST);
    assert_int_equal(bank_in_transit(), 0);
    assert_int_equal(bank_status().deliveries_open, 0);
    assert_int_equal(bank.unanswered, 1);
    assert_int_equal(bank.reason, SHERD_REASON_NOT_STORED);
}

/* Three commands and one with a refused event wait for one commit. */
static void in_flight(void)
{
    enum bank_refusal refusal = bank.refusal;

    bank.refusal = BANK_REFUSES_NOTHING;
    bank_once("a1", 1, "c0"); /* a1 runs */
    bank_run();
    bank.commits = false;
    bank_once("a1", 10, "c1");
    bank_once("a1", 10, "c2");
    bank_once("a1", 10, "c3");
    bank_run();
    assert_int_equal(bank.replies, 1);
    bank.refusal = refusal;
    bank_once("a1", 100, "c4");
    bank_run();
    assert_int_equal(bank.refusals, 1);
    bank.refusal = BANK_REFUSES_NOTHING;
    bank_once("a1", 1000, "c5"); /* for the next incarnation */
    bank_run();
}

static void earlier_calls_are_answered_when_their_events_are_durable(void **state)
{
    (void)state;
    in_flight();
    assert_int_equal(bank.replies, 1);
    assert_int_equal(bank.unanswered, 1);
    assert_int_equal(bank.reason, SHERD_REASON_NOT_STORED);
    bank_commit();
    bank_run();
    assert_int_equal(bank.replies, 4);
    assert_int_equal(bank_balance("a1"), BANK_FIRST + 31);
    bank.commits = true;
    bank_run();
    assert_int_equal(bank.replies, 5); /* the next incarnation has all four events, and no more */
    assert_int_equal(bank.unanswered, 1);
    assert_int_equal(bank_balance("a1"), BANK_FIRST + 1031);
    assert_int_equal(bank_status().held, 0);
    assert_int_equal(bank_status().store_failures, 1);
    bank_once("a1", 100, "c4");
    bank_run();
    assert_int_equal(bank.once, SHERD_ONCE_NEW);
    assert_int_equal(bank_balance("a1"), BANK_FIRST + 1131);
}

static void earlier_calls_fail_if_the_journal_then_refuses_their_events(void **state)
{
    (void)state;
    in_flight();
    bank_fail("a1", SHERD_REASON_NOT_STORED);
    bank.commits = true;
    bank_run();
    assert_int_equal(bank.unanswered, 4);
    assert_int_equal(bank.replies, 2); /* c0, and c5 of the next incarnation */
    assert_int_equal(bank_balance("a1"), BANK_FIRST + 1001);
    assert_int_equal(bank_status().held, 0);
}

/* The ended incarnation's positions are not settled when the next one has an event refused. */
static void events_of_an_ended_incarnation_are_not_taken_back(void **state)
{
    (void)state;
    in_flight();
    bank.refusal = BANK_REFUSES_NOTHING;
    bank_fail("a1", SHERD_REASON_NOT_STORED);
    bank_run(); /* c5 waits for its commit */
    bank_fail("a1", SHERD_REASON_NOT_STORED);
    bank.refusal = BANK_TOO_LARGE;
    bank_once("a1", 100, "c6");
    bank_advance(20000); /* past its back-off */
    assert_int_equal(bank.refusals, 2);
    bank.refusal = BANK_REFUSES_NOTHING;
    bank.once = SHERD_ONCE_SEEN;
    bank_once("a1", 5, "c7");
    bank_advance(20000);
    assert_int_equal(bank.once, SHERD_ONCE_NEW); /* before any commit */
    bank.commits = true;
    bank_run();
    assert_int_equal(bank_balance("a1"), BANK_FIRST + 6);
    assert_int_equal(bank.replies, 2); /* c0 and c7 */
}

static void earlier_calls_of_a_fenced_shard_fail_alike(void **state)
{
    (void)state;
    in_flight();
    bank_fail("a1", SHERD_REASON_FENCED);
    bank_run();
    assert_int_equal(bank.unanswered, 4);
    assert_int_equal(bank_balance("a1"), BANK_FIRST + 1);
}

#define EACH(name)                                                                 \
    { #name "_too_large", name, setup_large, teardown, NULL },                     \
    { #name "_of_a_reserved_type", name, setup_reserved, teardown, NULL },         \
    { #name "_rejected", name, setup_rejected, teardown, NULL }

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_delivery_with_a_refused_event_stores_nothing),
        EACH(a_command_with_a_refused_event_stores_nothing),
        EACH(a_confirmation_with_a_refused_event_is_not_stored),
        EACH(a_payment_with_a_refused_event_delivers_nothing),
        EACH(earlier_calls_are_answered_when_their_events_are_durable),
        EACH(earlier_calls_fail_if_the_journal_then_refuses_their_events),
        EACH(events_of_an_ended_incarnation_are_not_taken_back),
        EACH(earlier_calls_of_a_fenced_shard_fail_alike),
    };

    return cmocka_run_group_tests_name("whole call", tests, NULL, NULL);
}
