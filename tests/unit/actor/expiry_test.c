/* Checks that messages whose ask is over are not delivered, unless their receiver wants them. */
#include "lab.h"

enum { TYPE_W = 4 };

static void apply_nothing(void *self, uint32_t type, struct sherd_bytes event)
{
    (void)self;
    (void)type;
    (void)event;
}

/* An entity that recovers for so long keeps the message of an ask in its mailbox. */
static void ask_entity(const char *type, uint64_t ms)
{
    struct sherd_ref asker = lab_spawn("asker");
    struct order order = { .op = DO_ENTITY_ASK, .msg = 5, .tag = 3, .ms = 1000 };

    (void)strncpy(order.type, type, sizeof order.type - 1);
    (void)strncpy(order.id, "x", sizeof order.id - 1);
    lab_order(asker, &order, 1);
    lab_run();
    lab_advance(ms);
    lab.received = 0;
    lab_recover_all();
    lab_run();
}

static void a_message_in_time_is_delivered(void **state)
{
    (void)state;
    ask_entity("P", 900);
    assert_int_equal(lab.received, 1);
    assert_int_equal(lab_status().undelivered[SHERD_REASON_EXPIRED], 0);
}

static void a_message_whose_ask_is_over_is_not_delivered(void **state)
{
    (void)state;
    ask_entity("P", 1300);
    assert_int_equal(lab.received, 0);
    assert_int_equal(lab_status().undelivered[SHERD_REASON_EXPIRED], 1);
    lab_conserved();
}

static void an_actor_gets_it_nevertheless_if_it_wants_that(void **state)
{
    struct sherd_entity_type type = { .name = "W", .behavior = puppet, .shards = 10 };

    (void)state;
    type.behavior.wants_expired = 1;
    type.behavior.apply = apply_nothing;
    actors_add_type(lab.actors, TYPE_W, &type);
    ask_entity("W", 1300);
    assert_int_equal(lab.received, 1);
}

/* A handler of the same turn takes two seconds; the fake clock stands still otherwise. */
static uint64_t clock_now;

static uint64_t fake_clock(void)
{
    return clock_now;
}

static enum sherd_next slow_receive(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    (void)ctx;
    (void)self;
    if (msg->kind == SHERD_MESSAGE && msg->msg == 6)
        clock_now += 2 * SECOND;
    lab.received += msg->kind == SHERD_MESSAGE;
    return SHERD_CONTINUE;
}

static const struct sherd_behavior slow = { .name = "slow", .receive = slow_receive };

/* Puts a slow message and then an ask of `ms` into one batch; returns how many were received. */
static uint64_t ask_after_a_slow_message(int wants_expired, uint64_t ms)
{
    struct sherd_entity_type type = { .name = "W", .behavior = slow, .shards = 10 };

    lab_teardown(NULL);
    clock_now = 1000 * SECOND;
    lab_open_with((struct actors_settings){ .clock = fake_clock });
    type.behavior.wants_expired = wants_expired;
    actors_add_type(lab.actors, TYPE_W, &type);
    ORDER(lab_spawn("asker"), { DO_ENTITY_TELL, 6, .type = "W", .id = "x" },
          { DO_ENTITY_ASK, 5, .type = "W", .id = "x", .tag = 3, .ms = ms });
    lab_run();
    return lab.received - 1; /* without the orders */
}

static void a_message_whose_ask_ends_during_a_slow_handler_is_not_delivered(void **state)
{
    (void)state;
    assert_int_equal(ask_after_a_slow_message(0, 500), 1);
    assert_int_equal(lab_status().undelivered[SHERD_REASON_EXPIRED], 1);
    lab_conserved();
    assert_int_equal(ask_after_a_slow_message(0, 5000), 2);
    assert_int_equal(lab_status().undelivered[SHERD_REASON_EXPIRED], 0);
    assert_int_equal(ask_after_a_slow_message(1, 500), 2);
}

static void the_time_left_for_another_node_is_never_zero(void **state)
{
    struct message message = { .expires = message_expiry(5000 * MS, 3000) };

    (void)state;
    assert_in_range(message_left_ms(&message, 5000 * MS), 3000, 3000 + 2 * EXPIRY_MS);
    assert_int_equal(message_left_ms(&message, 9000 * MS), EXPIRY_MS);
    assert_true(message_is_expired(&message, 9000 * MS));
    message.expires = 0;
    assert_int_equal(message_left_ms(&message, 9000 * MS), 0);
    assert_false(message_is_expired(&message, 9000 * MS));
}

static void the_longest_ask_expires_in_time_at_each_moment(void **state)
{
    (void)state;
    for (uint64_t now = 0; now < 20000 * SECOND; now += 97 * SECOND) {
        struct message message = { .expires = message_expiry(now, ACTOR_ASK_MS_MAX) };

        assert_false(message_is_expired(&message, now));
        assert_false(message_is_expired(&message, now + ACTOR_ASK_MS_MAX * MS));
        assert_true(message_is_expired(&message, now + (ACTOR_ASK_MS_MAX + 2 * EXPIRY_MS) * MS));
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_message_in_time_is_delivered),
        TEST(a_message_whose_ask_is_over_is_not_delivered),
        TEST(a_message_whose_ask_ends_during_a_slow_handler_is_not_delivered),
        TEST(an_actor_gets_it_nevertheless_if_it_wants_that),
        cmocka_unit_test(the_time_left_for_another_node_is_never_zero),
        cmocka_unit_test(the_longest_ask_expires_in_time_at_each_moment),
    };

    return cmocka_run_group_tests_name("expiry", tests, NULL, NULL);
}
