/* Tests the routes of a lane: states, order, limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "shard/place.h"

struct fixture {
    struct pending_budget budget;
    struct routes routes;
    struct owned_shards hosted;
    struct pending_item held[12];
};

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){ 0 };
    pending_budget_init(&fixture.budget, 10, 1000, 1);
    routes_init(&fixture.routes,
                &(struct routes_options){ 10, &fixture.budget });
    owned_init(&fixture.hosted, &(struct owned_options){
                                     .shard_count = 10,
                                     .budget = &fixture.budget });
    for (int i = 0; i < 12; i++)
        fixture.held[i].size = 10;
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    while (routes_take_any(&fixture->routes)) {
    }
    assert_int_equal(fixture->budget.count, 0);
    assert_int_equal(fixture->budget.bytes, 0);
    routes_fini(&fixture->routes);
    routes_fini(NULL);
    owned_fini(&fixture->hosted);
    return 0;
}

static uint32_t news(struct fixture *fixture, enum routes_news_kind kind)
{
    struct routes_news news;
    uint32_t count = 0;
    while (routes_next_news(&fixture->routes, &news)) {
        assert_int_equal(news.kind, kind);
        count++;
    }
    return count;
}

static void a_home_is_requested_once_and_messages_leave_in_order(void **state)
{
    struct fixture *fixture = *state;
    struct routes *routes = &fixture->routes;
    for (int i = 0; i < 3; i++)
        assert_true(routes_hold(routes, 5 + i, -9, &fixture->held[i]));
    assert_int_equal(routes_find(routes, -9).state, ROUTE_ASKED);
    assert_int_equal(news(fixture, ROUTES_REQUEST_HOME), 1);
    assert_int_equal(routes_waiting(routes, -9), 3);
    assert_int_equal(routes_waiting_since(routes, -9), 5);
    assert_null(routes_take(routes, -9));
    routes_set_remote(routes, -9, 7);
    routes_set_remote(routes, -9, 7);
    assert_int_equal(news(fixture, ROUTES_FLUSH), 1);
    assert_int_equal(routes_find(routes, -9).state, ROUTE_FLUSHING);
    assert_ptr_equal(routes_take(routes, -9), &fixture->held[0]);
    /* Messages that arrive during this follow. */
    assert_true(routes_hold(routes, 9, -9, &fixture->held[3]));
    for (int i = 1; i < 4; i++)
        assert_ptr_equal(routes_take(routes, -9), &fixture->held[i]);
    assert_null(routes_take(routes, -9));
    assert_int_equal(routes_find(routes, -9).state, ROUTE_REMOTE);
    assert_int_equal(routes_find(routes, -9).peer, 7);
    assert_int_equal(routes_waiting_since(routes, -9), 0);
}

static void each_limit_refuses_the_newest_message(void **state)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < 10; i++)
        assert_true(
            routes_hold(&fixture->routes, 0, i % 3, &fixture->held[i]));
    assert_false(routes_hold(&fixture->routes, 0, 5, &fixture->held[10]));
    assert_int_equal(fixture->budget.refused, 1);
    assert_int_equal(fixture->budget.count_peak, 10);
    assert_int_equal(routes_find(&fixture->routes, 5).state, ROUTE_ASKED);
    assert_ptr_equal(routes_drain(&fixture->routes, 0), &fixture->held[0]);
    assert_true(routes_hold(&fixture->routes, 0, 5, &fixture->held[10]));
    while (routes_take_any(&fixture->routes)) {
    }
    fixture->held[0].size = 990;
    fixture->held[1].size = 10;
    fixture->held[2].size = 1;
    assert_true(routes_hold(&fixture->routes, 0, 1, &fixture->held[0]));
    assert_true(routes_hold(&fixture->routes, 0, 1, &fixture->held[1]));
    assert_false(routes_hold(&fixture->routes, 0, 1, &fixture->held[2]));
    assert_int_equal(fixture->budget.refused, 2);
}

/* With no room at all the home is asked for once, and then the next message has it. */
static void a_refused_message_asks_for_the_home(void **state)
{
    struct fixture *fixture = *state;
    struct routes *routes = &fixture->routes;

    fixture->budget.count_max = 0;
    assert_false(routes_hold(routes, 0, 1, &fixture->held[0]));
    assert_false(routes_hold(routes, 0, 1, &fixture->held[0]));
    assert_int_equal(news(fixture, ROUTES_REQUEST_HOME), 1);
    routes_set_remote(routes, 1, 7);
    assert_int_equal(routes_find(routes, 1).state, ROUTE_REMOTE);
    assert_false(routes_hold(routes, 0, 1, &fixture->held[0])); /* a full link: the home stays */
    assert_int_equal(routes_find(routes, 1).state, ROUTE_REMOTE);
    routes_set_local(routes, 1, 0);
    assert_false(routes_hold(routes, 0, 1, &fixture->held[0])); /* the shard is not here */
    assert_int_equal(news(fixture, ROUTES_REQUEST_HOME), 1);
    assert_int_equal(fixture->budget.refused, 4);
}

static void shards_out_of_range_are_invalid(void **state)
{
    struct fixture *fixture = *state;
    const int32_t bad[] = { 10, -10, INT32_MAX, INT32_MIN };
    for (int i = 0; i < 4; i++) {
        assert_int_equal(routes_find(&fixture->routes, bad[i]).state,
                         ROUTE_INVALID);
        assert_false(
            routes_hold(&fixture->routes, 0, bad[i], &fixture->held[0]));
        routes_set_local(&fixture->routes, bad[i], 0);
        routes_hold_begin(&fixture->routes, bad[i]);
        routes_forget(&fixture->routes, bad[i]);
        assert_null(routes_take(&fixture->routes, bad[i]));
        assert_null(routes_drain(&fixture->routes, bad[i]));
        assert_int_equal(owned_state(&fixture->hosted, bad[i]),
                         OWNED_ABSENT);
    }
    assert_int_equal(fixture->routes.counters.ignored, 24);
    routes_set_local(&fixture->routes, 9, 0);
    routes_set_local(&fixture->routes, -9, 63);
    assert_int_equal(routes_find(&fixture->routes, -9).lane, 63);
}

static void messages_wait_during_a_hand_off(void **state)
{
    struct fixture *fixture = *state;
    struct routes *routes = &fixture->routes;
    routes_set_remote(routes, 3, 1);
    routes_hold_begin(routes, 3);
    assert_int_equal(news(fixture, ROUTES_REQUEST_HOME), 0);
    assert_true(routes_hold(routes, 0, 3, &fixture->held[0]));
    assert_true(routes_hold(routes, 0, 3, &fixture->held[1]));
    assert_int_equal(news(fixture, ROUTES_REQUEST_HOME), 1);
    routes_forget(routes, 3);
    routes_peer_gone(routes, 1);
    assert_int_equal(routes_find(routes, 3).state, ROUTE_HELD);
    routes_hold_begin(routes, 3); /* a repeat keeps the question */
    assert_int_equal(news(fixture, ROUTES_REQUEST_HOME), 0);
    routes_set_local(routes, 3, 0);
    routes_hold_begin(routes, 3); /* during the flush */
    assert_null(routes_take(routes, 3));
    assert_int_equal(routes_waiting(routes, 3), 2);
}

/* The answer may be the same. */
static void a_suspected_home_is_requested_once(void **state)
{
    struct fixture *fixture = *state;
    struct routes *routes = &fixture->routes;
    routes_suspect(routes, 3);
    assert_int_equal(news(fixture, ROUTES_DOUBT_HOME), 0);
    routes_set_remote(routes, 3, 1);
    routes_suspect(routes, 3);
    routes_suspect(routes, 3);
    assert_true(routes_hold(routes, 0, 3, &fixture->held[0]));
    routes_forget(routes, 3);
    routes_ask_again(routes);
    assert_int_equal(routes_find(routes, 3).state, ROUTE_ASKED);
    assert_int_equal(news(fixture, ROUTES_DOUBT_HOME), 1);
    routes_set_remote(routes, 3, 1);
    assert_int_equal(news(fixture, ROUTES_FLUSH), 1);
    routes_suspect(routes, 3);
    assert_ptr_equal(routes_take(routes, 3), &fixture->held[0]);
    assert_int_equal(routes_find(routes, 3).state, ROUTE_REMOTE);
    routes_set_local(routes, 3, 0);
    routes_suspect(routes, 3);
    assert_int_equal(routes_find(routes, 3).state, ROUTE_LOCAL);
    routes_suspect(routes, 99);
    assert_int_equal(routes->counters.ignored, 1);
}

/* A lost home is asked for again after the lane has learned something. A hand-off before that asks
 * at once. */
static void a_lost_home_is_not_requested_again_at_once(void **state)
{
    struct fixture *fixture = *state;
    struct routes *routes = &fixture->routes;
    routes_set_remote(routes, 3, 1);
    routes_set_gone(routes, 3);
    assert_int_equal(routes_find(routes, 3).state, ROUTE_UNKNOWN);
    assert_true(routes_hold(routes, 0, 3, &fixture->held[0]));
    assert_int_equal(news(fixture, ROUTES_REQUEST_HOME), 1);
    routes_ask_again(routes);
    assert_int_equal(news(fixture, ROUTES_REQUEST_HOME), 0);
    routes_set_gone(routes, 3);
    assert_true(routes_hold(routes, 0, 3, &fixture->held[1]));
    assert_int_equal(news(fixture, ROUTES_REQUEST_HOME), 0);
    routes_ask_again(routes);
    routes_ask_again(routes);
    assert_int_equal(news(fixture, ROUTES_REQUEST_HOME), 1);
    routes_set_gone(routes, 3);
    routes_hold_begin(routes, 3);
    assert_int_equal(news(fixture, ROUTES_REQUEST_HOME), 1);
    routes_set_remote(routes, 3, 2);
    assert_int_equal(news(fixture, ROUTES_FLUSH), 1);
    assert_ptr_equal(routes_take(routes, 3), &fixture->held[0]);
    assert_ptr_equal(routes_take(routes, 3), &fixture->held[1]);
    routes_set_gone(routes, 99);
    assert_int_equal(routes->counters.ignored, 1);
}

static void homes_at_a_removed_peer_are_forgotten(void **state)
{
    struct fixture *fixture = *state;
    struct routes *routes = &fixture->routes;
    routes_set_remote(routes, 1, 4);
    routes_set_remote(routes, 2, 5);
    assert_true(routes_hold(routes, 0, 3, &fixture->held[0]));
    assert_int_equal(news(fixture, ROUTES_REQUEST_HOME), 1);
    routes_set_remote(routes, 3, 4);
    assert_int_equal(news(fixture, ROUTES_FLUSH), 1);
    routes_peer_gone(routes, 4);
    assert_int_equal(routes_find(routes, 1).state, ROUTE_UNKNOWN);
    assert_int_equal(routes_find(routes, 2).state, ROUTE_REMOTE);
    assert_int_equal(routes_find(routes, 3).state, ROUTE_ASKED);
    assert_int_equal(news(fixture, ROUTES_REQUEST_HOME), 1);
}

static void messages_that_waited_elsewhere_come_first(void **state)
{
    struct fixture *fixture = *state;
    struct routes *routes = &fixture->routes;
    struct owned_shards *hosted = &fixture->hosted;
    struct pending_queue mailboxes = { 0 };
    struct pending_queue *boxes = &mailboxes;
    enum place place;
    struct route route;
    place_host(routes, hosted, 0, 2, 0, (struct fence){ 1, 1 });
    routes_hold_begin(routes, 2);
    assert_true(routes_hold(routes, 0, 2, &fixture->held[2]));
    fixture->held[0].next = &fixture->held[1];
    *boxes = (struct pending_queue){ &fixture->held[0], &fixture->held[1], 2 };
    owned_fenced(hosted, 0, 2, (struct fence){ 1, 1 });
    place_fenced(routes, hosted, 0, 2, &mailboxes);
    assert_null(mailboxes.first);
    owned_entities_stopped(hosted, 0, 2);
    routes_set_remote(routes, 2, 1);
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(place_flush(routes, hosted, 2, 0, &place, &route),
                         &fixture->held[i]);
        assert_int_equal(place, PLACE_PEER);
    }
}

static void mailboxes_above_the_limit_are_returned(void **state)
{
    struct fixture *fixture = *state;
    struct pending_queue mailboxes = { 0 };
    place_host(&fixture->routes, &fixture->hosted, 0, 2, 0,
               (struct fence){ 1, 1 });
    for (int i = 0; i < 12; i++) {
        struct pending_queue one = { &fixture->held[i], &fixture->held[i], 1 };
        pending_append(&mailboxes, &one);
    }
    owned_fenced(&fixture->hosted, 0, 2, (struct fence){ 1, 1 });
    place_fenced(&fixture->routes, &fixture->hosted, 0, 2, &mailboxes);
    assert_int_equal(mailboxes.count, 2);
    assert_ptr_equal(mailboxes.first, &fixture->held[10]);
    assert_int_equal(routes_waiting(&fixture->routes, 2), 10);
}

static void the_home_of_a_wrong_local_route_is_requested_again(void **state)
{
    struct fixture *fixture = *state;
    struct routes *routes = &fixture->routes;
    enum place place;
    struct route route;
    routes_set_local(routes, 4, 0);
    place = place_sent(routes, &fixture->hosted, 4, 0, &route);
    assert_int_equal(place, PLACE_HOLD);
    assert_true(routes_hold(routes, 0, 4, &fixture->held[0]));
    assert_int_equal(news(fixture, ROUTES_REQUEST_HOME), 1);
    routes_set_local(routes, 4, 0);
    assert_int_equal(news(fixture, ROUTES_FLUSH), 1);
    assert_null(
        place_flush(routes, &fixture->hosted, 4, 0, &place, &route));
    assert_int_equal(news(fixture, ROUTES_REQUEST_HOME), 1);
    place_host(routes, &fixture->hosted, 0, 4, 0, (struct fence){ 1, 1 });
    assert_ptr_equal(owned_take(&fixture->hosted, 4), &fixture->held[0]);
    assert_int_equal(place_arrived(routes, &fixture->hosted, 4, 0, &route),
                     PLACE_ENTITY);
    assert_int_equal(place_sent(routes, &fixture->hosted, 11, 0, &route),
                     PLACE_INVALID);
}

static void shard_ids_are_read_as_written(void **state)
{
    const char *bad[] = { "",   "-",   "+1", "01", "-0", "-01",
                          " 1", "1 ",  "1a", "x",  "2147483648",
                          "-2147483649", "99999999999" };
    const int32_t good[] = { 0, 1, -1, 793, -648, INT32_MAX, INT32_MIN };
    char text[SHARD_TEXT_MAX];
    int32_t shard;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(shard_parse(slice_text(bad[i]), &shard));
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(shard_parse(shard_text(good[i], text), &shard));
        assert_int_equal(shard, good[i]);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_home_is_requested_once_and_messages_leave_in_order),
        TEST(each_limit_refuses_the_newest_message),
        TEST(a_refused_message_asks_for_the_home),
        TEST(shards_out_of_range_are_invalid),
        TEST(messages_wait_during_a_hand_off),
        TEST(a_suspected_home_is_requested_once),
        TEST(a_lost_home_is_not_requested_again_at_once),
        TEST(homes_at_a_removed_peer_are_forgotten),
        TEST(messages_that_waited_elsewhere_come_first),
        TEST(mailboxes_above_the_limit_are_returned),
        TEST(the_home_of_a_wrong_local_route_is_requested_again),
        cmocka_unit_test(shard_ids_are_read_as_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
