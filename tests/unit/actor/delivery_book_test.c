/* Checks what a receiver knows of its senders, and the limits of a sender. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "actor/delivery/book.h"
#include "base/limits.h"

static struct delivery *delivery;

static int setup(void **state)
{
    (void)state;
    delivery = mem_alloc(sizeof *delivery);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    delivery_free(delivery);
    return 0;
}

static enum incoming_answer look(const char *id, uint64_t number, uint64_t floor, uint64_t forget)
{
    return incoming_look(&delivery->incoming,
                         &(struct parcel){ .number = number,
                                           .floor = floor,
                                           .type = slice_text("t"),
                                           .id = slice_text(id) },
                         forget);
}

static void mark(const char *id, uint64_t number, uint64_t floor, uint64_t at)
{
    incoming_mark(&delivery->incoming,
                  &(struct receipt){ number, floor, at, SHERD_DELIVERY_HANDLED, slice_text("t"),
                                     slice_text(id) });
}

static void numbers_are_known_out_of_order_and_below_the_lowest_open_one(void **state)
{
    (void)state;
    mark("x", 7, 2, 1);
    mark("x", 4, 2, 1);
    mark("x", 5, 2, 1);
    assert_int_equal(look("x", 5, 2, 0), INCOMING_HANDLED);
    assert_int_equal(look("x", 6, 2, 0), INCOMING_NEW);
    assert_int_equal(look("y", 5, 2, 0), INCOMING_NEW);
    assert_int_equal(look("x", 1, 2, 0), INCOMING_ENDED);
    assert_int_equal(look("x", 7, 6, 0), INCOMING_HANDLED);
    assert_int_equal(look("x", 5, 2, 0), INCOMING_ENDED);
}

static void a_silent_sender_makes_room_for_a_new_one_SHT051(void **state)
{
    char id[16];

    (void)state;
    for (uint32_t i = 0; i < DELIVERY_SENDERS_MAX; i++) {
        (void)snprintf(id, sizeof id, "s%u", i); /* fits */
        mark(id, 1, 1, 100 + i);
    }
    assert_int_equal(look("new", 1, 1, 100), INCOMING_FULL);
    assert_int_equal(look("s0", 1, 1, 100), INCOMING_HANDLED);
    assert_int_equal(look("new", 1, 1, 101), INCOMING_NEW);
    mark("new", 1, 1, 20000);
    assert_int_equal(look("s0", 1, 1, 101), INCOMING_FULL); /* forgotten, and no room again */
    assert_int_equal(look("s1", 1, 1, 101), INCOMING_HANDLED);
}

static void a_snapshot_leaves_silent_senders_out(void **state)
{
    struct buf image = { 0 };

    (void)state;
    mark("old", 1, 1, 5);
    mark("x", 3, 2, 10);
    delivery_image_write(delivery, &image, 6);
    delivery_free(delivery);
    delivery = mem_alloc(sizeof *delivery);
    assert_true(delivery_image_read(delivery, buf_slice(&image), 10));
    assert_int_equal(look("x", 3, 2, 0), INCOMING_HANDLED);
    assert_int_equal(look("old", 1, 1, 0), INCOMING_NEW);
    image.data[0] = 2; /* a later format */
    assert_false(delivery_image_read(delivery, buf_slice(&image), 10));
    buf_fini(&image);
}

static void the_last_number_is_the_last(void **state)
{
    (void)state;
    assert_true(outgoing_has_room(&delivery->outgoing, SHERD_DELIVERY_BYTES_MAX));
    assert_false(outgoing_has_room(&delivery->outgoing, SHERD_DELIVERY_BYTES_MAX + 1));
    outgoing_add(&delivery->outgoing, &(struct parcel){ .number = DELIVERY_NUMBER_MAX });
    assert_false(outgoing_has_room(&delivery->outgoing, 1));
    outgoing_end(&delivery->outgoing, DELIVERY_NUMBER_MAX);
    assert_false(outgoing_has_room(&delivery->outgoing, 1));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(numbers_are_known_out_of_order_and_below_the_lowest_open_one),
        TEST(a_silent_sender_makes_room_for_a_new_one_SHT051),
        TEST(a_snapshot_leaves_silent_senders_out),
        TEST(the_last_number_is_the_last),
    };

    return cmocka_run_group_tests_name("book of deliveries", tests, NULL, NULL);
}
