/* Checks deliveries between entities, and commands that are carried out once. */
#include <stdio.h>

#include "bank.h"

static int setup(void **state)
{
    (void)state;
    bank_open();
    return 0;
}

static int setup_snapshots(void **state)
{
    (void)state;
    bank.snapshots = true;
    bank_open();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    bank_close();
    return 0;
}

static void pay_one(void)
{
    bank_pay("a0", "a1", 100, BANK_MONEY, 0);
    bank_run();
}

/* ---- sending ---- */

static void a_delivery_arrives_and_its_sender_learns_it_RDL025_RDL026_RDL045(void **state)
{
    (void)state;
    pay_one();
    assert_int_equal(bank.last_number, 1);
    assert_int_equal(bank_balance("a0"), BANK_FIRST - 100);
    assert_int_equal(bank_balance("a1"), BANK_FIRST + 100);
    assert_int_equal(bank.ends[SHERD_DELIVERY_HANDLED], 1);
    assert_int_equal(bank.open, 0);
    assert_int_equal(bank_status().deliveries_open, 0);
    assert_int_equal(bank.described.number, 1);
    assert_string_equal(bank.described.type, "bank");
    assert_string_equal(bank.described.id, "a0");
    bank_advance(600000);
    assert_int_equal(bank.transmitted, 1);
}

static void a_delivery_leaves_when_it_is_durable(void **state)
{
    (void)state;
    bank.commits = false;
    pay_one();
    assert_int_equal(bank.transmitted, 0);
    bank_advance(20000);
    assert_int_equal(bank.transmitted, 0);
    bank.commits = true;
    bank_run();
    assert_int_equal(bank.received, 1);
}

static void a_delivery_and_its_cause_are_lost_together(void **state)
{
    (void)state;
    bank.commits = false;
    pay_one();
    bank_crash();
    bank.commits = true;
    bank_send("a0", BANK_PAY, slice_of(&(struct bank_pay){ 5, BANK_MONEY, 0, "a1" },
                                       sizeof(struct bank_pay)));
    bank_run();
    assert_int_equal(bank.received, 1);
    assert_int_equal(bank_balance("a0"), BANK_FIRST - 5);
    assert_int_equal(bank_balance("a1"), BANK_FIRST + 5);
}

static void a_lost_delivery_is_repeated_with_longer_pauses_RDL032(void **state)
{
    (void)state;
    bank.drops_all = true;
    pay_one();
    bank_advance(4300);
    assert_int_equal(bank.transmitted, 1);
    bank_advance(700);
    assert_int_equal(bank.transmitted, 2);
    bank_advance(8700);
    assert_int_equal(bank.transmitted, 2);
    bank_advance(1300);
    assert_int_equal(bank.transmitted, 3);
    for (int i = 0; i < 60; i++)
        bank_advance(DELIVERY_REPEAT_MS_MAX); /* the longest pause */
    assert_in_range(bank.transmitted, 60, 72);
    bank.drops_all = false;
    bank_advance(60000);
    assert_int_equal(bank.received, 1);
    assert_int_equal(bank_status().deliveries_open, 0);
    assert_int_equal(bank_status().deliveries_repeated, bank.transmitted - 1);
}

static void open_deliveries_are_repeated_after_a_recovery_SHT048_RDL020_RDL037_RDL051(void **state)
{
    (void)state;
    bank.drops_all = true;
    for (int i = 0; i < 5; i++)
        pay_one();
    assert_int_equal(bank_status().deliveries_open, 5);
    bank_crash();
    assert_int_equal(bank_status().deliveries_open, 0);
    bank.drops_all = false;
    bank.received = 0;
    bank_start_all();
    bank_run();
    assert_int_equal(bank.received, 5);
    assert_int_equal(bank_balance("a1"), BANK_FIRST + 500);
    assert_int_equal(bank.ends[SHERD_DELIVERY_HANDLED], 5);
    bank_pay("a0", "a1", 1, BANK_MONEY, 0);
    bank_run();
    assert_int_equal(bank.last_number, 6);
}

static void many_open_deliveries_leave_in_bursts(void **state)
{
    (void)state;
    bank.drops_all = true;
    for (int i = 0; i < 3 * DELIVERY_BURST_MAX; i++)
        bank_pay("a0", i % 2 ? "a1" : "a2", 1, BANK_MONEY, 0);
    bank_run();
    bank_crash();
    bank.transmitted = 0;
    bank.drops_all = false;
    bank_start_all();
    bank_run();
    assert_int_equal(bank.transmitted, DELIVERY_BURST_MAX);
    bank_advance(DELIVERY_BURST_MS);
    bank_advance(DELIVERY_BURST_MS);
    assert_int_equal(bank_balance("a0"), BANK_FIRST - 3 * DELIVERY_BURST_MAX);
    assert_int_equal(bank_balance("a1") + bank_balance("a2"),
                     2 * BANK_FIRST + 3 * DELIVERY_BURST_MAX);
}

static void several_senders_and_receivers_are_kept_apart_SHT044_SHT045(void **state)
{
    char from[] = "a0", to[] = "a3";

    (void)state;
    for (int i = 0; i < 2 * 3 * 42; i++) {
        from[1] = (char)('0' + i % 2);
        to[1] = (char)('3' + i % 3);
        bank_pay(from, to, 1, BANK_MONEY, 0);
    }
    bank_run();
    for (int i = 3; i < 6; i++) {
        to[1] = (char)('0' + i);
        assert_int_equal(bank_balance(to), BANK_FIRST + 2 * 42);
    }
}

static void a_delivery_that_cannot_be_made_is_refused(void **state)
{
    static uint8_t large[SHERD_DELIVERY_BODY_MAX];

    (void)state;
    (void)large;
    bank_pay("a0", "", 1, BANK_PASSIVATE, 0);
    bank_run();
    assert_int_equal(bank.last_number, 0);
    bank_pay("a0", "a1", 1, SHERD_NUMBERS_END, 0);
    bank_run();
    assert_int_equal(bank.last_number, 0);
    assert_int_equal(bank_status().deliveries_refused, 2);
    assert_int_equal(bank_status().deliveries, 0);
}

static void open_deliveries_are_limited(void **state)
{
    (void)state;
    bank.drops_all = true;
    for (int i = 0; i < SHERD_DELIVERIES_MAX; i++) {
        bank_pay("a0", "a1", 1, BANK_DELIVER, 0);
        if (i % 5000 == 0)
            bank_run();
    }
    bank_run();
    assert_int_equal(bank.last_number, SHERD_DELIVERIES_MAX);
    bank_pay("a0", "a1", 1, BANK_DELIVER, 0);
    bank_run();
    assert_int_equal(bank.last_number, 0);
}

static void an_entity_with_open_deliveries_stays_active(void **state)
{
    (void)state;
    bank.drops_all = true;
    pay_one();
    bank_advance(10000);
    bank_advance(10000);
    assert_int_equal(bank_status().entities, 1);
    bank_send("a0", BANK_PASSIVATE, slice_text(""));
    bank_run();
    assert_int_equal(bank_status().entities, 1);
    bank.drops_all = false;
    bank_advance(60000);
    assert_int_equal(bank.received, 1);
    assert_int_equal(bank_status().entities, 1); /* the receiver: the sender has left now */
}

static void a_type_that_is_not_remembered_is_warned_of_once(void **state)
{
    (void)state;
    pay_one();
    assert_true(bank_traced("deliveries of a type that is not remembered"));
    pay_one();
    assert_false(bank_traced("deliveries of a type that is not remembered"));
}

/* ---- the receiver ---- */

static void a_repeated_delivery_is_answered_and_not_handled(void **state)
{
    (void)state;
    bank.twice = 100;
    pay_one();
    assert_int_equal(bank.received, 1);
    assert_int_equal(bank_balance("a1"), BANK_FIRST + 100);
    assert_int_equal(bank_status().deliveries_again, 1);
    assert_int_equal(bank.ends[SHERD_DELIVERY_HANDLED], 1);
}

static void a_delivery_is_handled_once_through_a_crash_after_its_commit_RDL009(void **state)
{
    (void)state;
    bank.commits = false;
    pay_one();
    bank_commit(); /* the delivery leaves */
    bank_run();
    assert_int_equal(bank.received, 1);
    bank_commit(); /* the mark is durable, and its answer is lost with the process */
    bank_crash();
    bank.commits = true;
    bank_start_all();
    bank_run();
    assert_int_equal(bank.received, 1);
    assert_int_equal(bank_balance("a1"), BANK_FIRST + 100);
    assert_int_equal(bank_status().deliveries_again, 1);
    assert_int_equal(bank.ends[SHERD_DELIVERY_HANDLED], 1);
}

static void a_delivery_is_handled_again_after_a_crash_before_its_commit(void **state)
{
    (void)state;
    bank.commits = false;
    pay_one();
    bank_commit();
    bank_run();
    bank_crash();
    bank.commits = true;
    bank_start_all();
    bank_run();
    assert_int_equal(bank.received, 2);
    assert_int_equal(bank_balance("a1"), BANK_FIRST + 100);
}

static void a_handler_that_fails_gets_the_delivery_again(void **state)
{
    (void)state;
    bank_pay("a0", "a1", 0, BANK_FAIL, 0);
    bank_run();
    assert_int_equal(bank.failures, 1);
    bank_advance(5000);
    assert_int_equal(bank.failures, 2);
    assert_int_equal(bank_status().deliveries_open, 1);
}

static void a_handler_that_fails_after_an_event_has_handled_the_delivery(void **state)
{
    (void)state;
    bank_pay("a0", "a1", 0, BANK_FAIL_AFTER, 0);
    bank_run();
    bank_advance(60000);
    assert_int_equal(bank.failures, 1);
    assert_int_equal(bank_balance("a1"), BANK_FIRST + 1);
    assert_int_equal(bank.ends[SHERD_DELIVERY_HANDLED], 1);
}

static void a_receiver_knows_many_numbers_and_then_only_the_lowest(void **state)
{
    (void)state;
    bank.drops_all = true;
    pay_one(); /* stays open */
    bank.drops_all = false;
    for (int i = 0; i < DELIVERY_SEEN_MAX + 10; i++)
        bank_pay("a0", "a1", 1, BANK_MONEY, 0);
    bank_run();
    assert_int_equal(bank.received, DELIVERY_SEEN_MAX);
    assert_int_equal(bank_status().undelivered[SHERD_REASON_BUFFER_FULL], 10);
    bank_advance(5000); /* the first one comes, and makes room */
    bank_advance(20000);
    assert_int_equal(bank_status().deliveries_open, 0);
    assert_int_equal(bank_balance("a1"), BANK_FIRST + 100 + DELIVERY_SEEN_MAX + 10);
}

static void a_delivery_can_be_confirmed_later(void **state)
{
    (void)state;
    bank_pay("a0", "a1", 0, BANK_LATER, 0);
    bank_run();
    bank_advance(5000); /* repeated meanwhile */
    assert_int_equal(bank.received, 1);
    assert_int_equal(bank.ends[SHERD_DELIVERY_HANDLED], 0);
    bank_send("a1", BANK_CONFIRM, slice_text(""));
    bank_run();
    assert_int_equal(bank.ends[SHERD_DELIVERY_HANDLED], 1);
    bank_send("a1", BANK_CONFIRM, slice_text("")); /* nothing left to confirm */
    bank_run();
    bank_advance(60000);
    assert_int_equal(bank.received, 1);
}

static void a_delivery_that_was_not_confirmed_comes_again_after_a_crash(void **state)
{
    (void)state;
    bank_pay("a0", "a1", 0, BANK_LATER, 0);
    bank_run();
    bank_crash();
    bank_start_all();
    bank_run();
    assert_int_equal(bank.received, 2);
}

/* ---- time ---- */

static void an_expired_delivery_is_never_handled_and_its_sender_knows(void **state)
{
    (void)state;
    bank.drops_all = true;
    bank_pay("a0", "a1", 100, BANK_MONEY, 3000);
    bank_run();
    bank.drops_all = false;
    bank_advance(5000);
    assert_int_equal(bank.received, 0);
    assert_int_equal(bank.ends[SHERD_DELIVERY_EXPIRED], 1);
    assert_int_equal(bank.ends[SHERD_DELIVERY_HANDLED], 0);
    assert_int_equal(bank_status().undelivered[SHERD_REASON_EXPIRED], 1);
    assert_int_equal(bank_status().deliveries_open, 0);
}

static int setup_clock(void **state)
{
    (void)state;
    bank.has_clock = true;
    bank_open();
    return 0;
}

static void a_delivery_that_expires_during_a_slow_handler_is_not_handled(void **state)
{
    (void)state;
    bank.commits = false;
    bank_pay("a0", "a1", 100, BANK_MONEY, 500);
    bank_run();
    bank_send("a1", BANK_SLOW, slice_text(""));
    bank_commit(); /* the delivery follows */
    bank.commits = true;
    bank_run();
    assert_int_equal(bank.received, 0);
    assert_int_equal(bank.ends[SHERD_DELIVERY_EXPIRED], 1);
    assert_int_equal(bank_balance("a1"), BANK_FIRST);
}

static void the_end_by_expiry_survives_a_crash_and_a_clock_that_goes_back(void **state)
{
    (void)state;
    bank.drops_all = true;
    bank_pay("a0", "a1", 100, BANK_MONEY, 3000);
    bank_run();
    bank.drops_all = false;
    bank.commits = false;
    bank_advance(5000);
    bank_commit();
    bank_run();
    bank_commit();
    bank_crash(); /* the answer is lost */
    bank.commits = true;
    bank.wall -= 5000;
    bank_start_all();
    bank_run();
    assert_int_equal(bank.received, 0);
    assert_int_equal(bank.ends[SHERD_DELIVERY_EXPIRED], 1);
}

static void a_delivery_without_an_answer_is_given_up(void **state)
{
    (void)state;
    bank.drops_all = true;
    pay_one();
    for (uint32_t i = 0; i <= DELIVERY_GIVE_UP_MS / 3600000; i++)
        bank_advance(3600000);
    assert_int_equal(bank.ends[SHERD_DELIVERY_GIVEN_UP], 1);
    assert_int_equal(bank_status().deliveries_open, 0);
    bank_crash();
    bank_start_all();
    bank_run();
    assert_int_equal(bank_status().deliveries_open, 0);
}

/* ---- commands ---- */

static void a_command_is_carried_out_once_and_answered_each_time(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        bank_once("a0", 7, "order-1");
        bank_run();
        assert_int_equal(bank.once, i ? SHERD_ONCE_ANSWERED : SHERD_ONCE_NEW);
        assert_int_equal(bank.reply_msg, 77);
    }
    assert_int_equal(bank.replies, 3);
    assert_int_equal(bank_balance("a0"), BANK_FIRST + 7);
    bank_once("a0", 7, "order-2");
    bank_run();
    assert_int_equal(bank_balance("a0"), BANK_FIRST + 14);
    bank_crash();
    bank_once("a0", 7, "order-1");
    bank_run();
    assert_int_equal(bank.once, SHERD_ONCE_ANSWERED);
    assert_int_equal(bank.replies, 5);
    assert_int_equal(bank_balance("a0"), BANK_FIRST + 14);
    assert_int_equal(bank_status().commands_again, 1);
}

static void a_command_and_its_events_are_lost_together(void **state)
{
    (void)state;
    bank.commits = false;
    bank_once("a0", 7, "order-1");
    bank_run();
    bank_crash();
    bank.commits = true;
    bank_once("a0", 7, "order-1");
    bank_run();
    assert_int_equal(bank.once, SHERD_ONCE_NEW);
    assert_int_equal(bank_balance("a0"), BANK_FIRST + 7);
}

static void old_commands_are_forgotten_by_age_and_count(void **state)
{
    char command[16];

    (void)state;
    bank_once("a0", 1, "first");
    bank_run();
    bank_advance(DELIVERY_COMMANDS_MS);
    bank_once("a0", 1, "first");
    bank_run();
    assert_int_equal(bank.once, SHERD_ONCE_ANSWERED);
    bank_advance(1);
    bank_once("a0", 1, "first");
    bank_run();
    assert_int_equal(bank.once, SHERD_ONCE_NEW);
    for (int i = 0; i < DELIVERY_COMMANDS_MAX; i++) {
        (void)snprintf(command, sizeof command, "c%d", i); /* fits */
        bank_once("a0", 1, command);
    }
    bank_run();
    bank_once("a0", 1, "first");
    bank_run();
    assert_int_equal(bank.once, SHERD_ONCE_NEW);
    bank_once("a0", 1, "c1");
    bank_run();
    assert_int_equal(bank.once, SHERD_ONCE_ANSWERED);
}

static void a_command_without_an_id_ends_the_entity(void **state)
{
    (void)state;
    bank_once("a0", 1, "");
    bank_run();
    assert_true(bank_traced("command cannot be remembered"));
    assert_int_equal(bank_balance("a0"), BANK_FIRST);
}

/* ---- snapshots and foreign bytes ---- */

static void a_snapshot_keeps_deliveries_marks_and_commands(void **state)
{
    (void)state;
    bank.drops_all = true;
    pay_one();
    bank.drops_all = false;
    for (int i = 0; i < 4; i++)
        bank_pay("a2", "a0", 10, BANK_MONEY, 0);
    bank_once("a0", 7, "order-1");
    bank_run();
    bank.twice = 100; /* each repetition arrives twice */
    bank_crash();
    bank_once("a0", 7, "order-1");
    bank_start_all();
    bank_run();
    assert_int_equal(bank.once, SHERD_ONCE_ANSWERED);
    assert_int_equal(bank_balance("a0"), BANK_FIRST - 100 + 40 + 7);
    assert_int_equal(bank_balance("a1"), BANK_FIRST + 100);
    assert_int_equal(bank_balance("a2"), BANK_FIRST - 40);
}

static void library_messages_of_wrong_form_end_without_a_handler(void **state)
{
    struct parcel parcel = { .number = 1, .type = slice_text("x"), .id = slice_text("y") };
    struct buf body = { 0 };

    (void)state;
    bank_send("a0", MSG_PARCEL, slice_text("\1\1"));
    bank_send("a0", MSG_OUTCOME, slice_text(""));
    bank_send("a0", LIBRARY_NUMBERS + 63, slice_text(""));
    parcel_write(&body, &parcel);
    body.data[0] = 9; /* a later format */
    bank_send("a0", MSG_PARCEL, buf_slice(&body));
    buf_fini(&body);
    bank_run();
    assert_int_equal(bank_status().undelivered[SHERD_REASON_NO_HANDLER], 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_delivery_arrives_and_its_sender_learns_it_RDL025_RDL026_RDL045),
        TEST(a_delivery_leaves_when_it_is_durable),
        TEST(a_delivery_and_its_cause_are_lost_together),
        TEST(a_lost_delivery_is_repeated_with_longer_pauses_RDL032),
        TEST(open_deliveries_are_repeated_after_a_recovery_SHT048_RDL020_RDL037_RDL051),
        TEST(many_open_deliveries_leave_in_bursts),
        TEST(several_senders_and_receivers_are_kept_apart_SHT044_SHT045),
        TEST(a_delivery_that_cannot_be_made_is_refused),
        TEST(open_deliveries_are_limited),
        TEST(an_entity_with_open_deliveries_stays_active),
        TEST(a_type_that_is_not_remembered_is_warned_of_once),
        TEST(a_repeated_delivery_is_answered_and_not_handled),
        TEST(a_delivery_is_handled_once_through_a_crash_after_its_commit_RDL009),
        TEST(a_delivery_is_handled_again_after_a_crash_before_its_commit),
        TEST(a_handler_that_fails_gets_the_delivery_again),
        TEST(a_handler_that_fails_after_an_event_has_handled_the_delivery),
        TEST(a_receiver_knows_many_numbers_and_then_only_the_lowest),
        TEST(a_delivery_can_be_confirmed_later),
        TEST(a_delivery_that_was_not_confirmed_comes_again_after_a_crash),
        TEST(an_expired_delivery_is_never_handled_and_its_sender_knows),
        cmocka_unit_test_setup_teardown(
            a_delivery_that_expires_during_a_slow_handler_is_not_handled, setup_clock, teardown),
        TEST(the_end_by_expiry_survives_a_crash_and_a_clock_that_goes_back),
        TEST(a_delivery_without_an_answer_is_given_up),
        TEST(a_command_is_carried_out_once_and_answered_each_time),
        TEST(a_command_and_its_events_are_lost_together),
        TEST(old_commands_are_forgotten_by_age_and_count),
        TEST(a_command_without_an_id_ends_the_entity),
        cmocka_unit_test_setup_teardown(a_snapshot_keeps_deliveries_marks_and_commands,
                                        setup_snapshots, teardown),
        TEST(library_messages_of_wrong_form_end_without_a_handler),
    };

    return cmocka_run_group_tests_name("delivery", tests, NULL, NULL);
}
