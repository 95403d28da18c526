/* Checks what a sender and a receiver of many deliveries observe, as Akka's tests of reliable delivery do:
 * order, ends, losses of some, and slow sides. */
#include "bank.h"

#define JOBS 42 /* as in Akka's tests */
#define PAUSE_MS 30

static int setup(void **state)
{
    (void)state;
    bank_open();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    bank_close();
    return 0;
}

/* All were handled, once each and in order, and each end was heard once. */
static void expect_all(uint32_t count)
{
    assert_int_equal(bank.received, count);
    assert_int_equal(bank.ends[SHERD_DELIVERY_HANDLED], count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(bank.handled[i], i + 1);
        assert_int_equal(bank.ended[i + 1], 1);
    }
    assert_int_equal(bank_status().deliveries_open, 0);
}

static void a_fast_sender_and_a_fast_receiver_keep_the_order_RDL049(void **state)
{
    (void)state;
    for (int i = 0; i < JOBS; i++)
        bank_pay("a0", "a1", 1, BANK_MONEY, 0);
    bank_run();
    expect_all(JOBS);
    assert_int_equal(bank.transmitted, JOBS);
}

static void a_slow_sender_and_a_fast_receiver_keep_the_order_RDL047(void **state)
{
    (void)state;
    for (int i = 0; i < JOBS; i++) {
        bank_pay("a0", "a1", 1, BANK_MONEY, 0);
        bank_advance(PAUSE_MS);
        assert_int_equal(bank.received, i + 1);
    }
    expect_all(JOBS);
    assert_int_equal(bank.transmitted, JOBS);
}

/* The receiver confirms one after the other. */
static void a_fast_sender_and_a_slow_receiver_keep_the_order_RDL048(void **state)
{
    (void)state;
    for (int i = 0; i < JOBS; i++)
        bank_pay("a0", "a1", 1, BANK_LATER, 0);
    bank_run();
    for (int i = 0; i < JOBS; i++) {
        assert_int_equal(bank.ends[SHERD_DELIVERY_HANDLED], i);
        bank_advance(PAUSE_MS);
        bank_send("a1", BANK_CONFIRM, slice_text(""));
        bank_run();
    }
    expect_all(JOBS);
    assert_int_equal(bank.transmitted, JOBS);
}

static void a_sender_hears_the_end_of_each_delivery_to_each_receiver_RDL046_SHT046(void **state)
{
    char to[] = "a1";

    (void)state;
    for (int i = 0; i < JOBS; i++) {
        to[1] = (char)('1' + i % 3);
        bank_pay("a0", to, 1, BANK_MONEY, 0);
    }
    assert_int_equal(bank.ends[SHERD_DELIVERY_HANDLED], 0);
    bank_run();
    for (uint32_t number = 1; number <= JOBS; number++)
        assert_int_equal(bank.ended[number], 1);
    assert_int_equal(bank.ends[SHERD_DELIVERY_HANDLED], JOBS);
}

/* Pays in three runs, of which a part is lost in the network. */
static void pay_three(bool loses_first, bool loses_second, bool loses_third)
{
    bool loses[] = { loses_first, loses_second, loses_third };

    for (int i = 0; i < 3; i++) {
        bank.drops_all = loses[i];
        bank_pay("a0", "a1", 10, BANK_MONEY, 0);
        bank_run();
    }
    bank.drops_all = false;
}

static void a_delivery_that_is_lost_between_others_is_repeated_alone_RDL033(void **state)
{
    (void)state;
    pay_three(false, true, false);
    assert_int_equal(bank.received, 2);
    assert_int_equal(bank.ended[2], 0);
    bank_advance(DELIVERY_REPEAT_MS);
    assert_int_equal(bank.received, 3);
    assert_int_equal(bank.handled[2], 2);
    assert_int_equal(bank.ended[2], 1);
    assert_int_equal(bank.transmitted, 4);
    assert_int_equal(bank_balance("a1"), BANK_FIRST + 30);
}

static void the_last_deliveries_are_repeated_though_no_other_follows_RDL034(void **state)
{
    (void)state;
    pay_three(false, true, true);
    assert_int_equal(bank.received, 1);
    bank_advance(DELIVERY_REPEAT_MS);
    expect_all(3);
    bank_pay("a0", "a1", 10, BANK_MONEY, 0);
    bank_run();
    expect_all(4);
    assert_int_equal(bank.transmitted, 6);
}

/* The asker's reply needs the delivery to be stored, and not its end. */
static void a_reply_leaves_when_the_delivery_is_stored_RDL022_SHT042(void **state)
{
    (void)state;
    bank.drops_all = true;
    bank.commits = false;
    bank_pay_asked("a0", "a1", 10);
    bank_run();
    assert_int_equal(bank.replies, 0);
    assert_int_equal(bank.transmitted, 0);
    bank_commit();
    bank_run();
    assert_int_equal(bank.replies, 1);
    assert_int_equal(bank.reply_msg, 78);
    assert_int_equal(bank.received, 0);
    bank.commits = true;
    bank.drops_all = false;
    bank_advance(DELIVERY_REPEAT_MS);
    expect_all(1);
    assert_int_equal(bank.replies, 1);
}

static void a_receiver_that_stops_still_confirms_what_it_has_handled_RDL015(void **state)
{
    (void)state;
    bank.commits = false;
    bank_pay("a0", "a1", 10, BANK_MONEY, 0);
    bank_run();
    bank_commit(); /* the delivery leaves */
    bank_run();
    assert_int_equal(bank.received, 1);
    bank_send("a1", BANK_PASSIVATE, slice_text(""));
    bank_run();
    assert_int_equal(bank.ends[SHERD_DELIVERY_HANDLED], 0);
    bank.commits = true;
    bank_run();
    expect_all(1);
    assert_int_equal(bank_status().entities, 1); /* the sender */
    assert_int_equal(bank.transmitted, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_fast_sender_and_a_fast_receiver_keep_the_order_RDL049),
        TEST(a_slow_sender_and_a_fast_receiver_keep_the_order_RDL047),
        TEST(a_fast_sender_and_a_slow_receiver_keep_the_order_RDL048),
        TEST(a_sender_hears_the_end_of_each_delivery_to_each_receiver_RDL046_SHT046),
        TEST(a_delivery_that_is_lost_between_others_is_repeated_alone_RDL033),
        TEST(the_last_deliveries_are_repeated_though_no_other_follows_RDL034),
        TEST(a_reply_leaves_when_the_delivery_is_stored_RDL022_SHT042),
        TEST(a_receiver_that_stops_still_confirms_what_it_has_handled_RDL015),
    };

    return cmocka_run_group_tests_name("delivery_order", tests, NULL, NULL);
}
