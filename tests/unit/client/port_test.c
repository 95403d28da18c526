/* Tests a port of a client on one lane: each accepted ask ends once. */
#include "../actor/lab.h"

#include <stdio.h>

#include "base/check.h"
#include "client/port.h"

static struct port port;
static uint32_t wakes, signals, gone;

static void wake(struct port *own, struct sherd_ref actor)
{
    assert_ptr_equal(own, &port);
    wakes++;
    actors_wake(lab.actors, actor.actor);
}

static void count_signal(struct port *own)
{
    assert_ptr_equal(own, &port);
    signals++;
}

static void count_gone(struct port *own)
{
    assert_ptr_equal(own, &port);
    gone++;
}

static const struct port_hooks hooks = { .wake = wake,
                                         .signal = count_signal,
                                         .gone = count_gone };

static struct sherd_ref spawn(void)
{
    struct port *address = &port;
    struct sherd_ref ref = actors_spawn(lab.actors, &port_behavior,
                                        slice_of(&address, sizeof address));

    lab_run();
    return ref;
}

static void open_with(bool waits_until_up, bool is_up)
{
    wakes = signals = gone = 0;
    port_init(&port, &hooks, 3, waits_until_up, is_up);
    (void)spawn();
}

static int setup(void **state)
{
    lab_setup(state);
    lab.quiet = true;
    open_with(false, true);
    return 0;
}

static int teardown(void **state)
{
    if (!gone) {
        port_close(&port);
        lab_run();
    }
    if (!gone)
        actors_close(lab.actors);
    assert_int_equal(gone, 1);
    port_fini(&port);
    return lab_teardown(state);
}

static struct client_request *request_to(struct sherd_ref to, uint32_t msg)
{
    return client_request_new(
        &(struct client_message){ .to = to, .msg = msg });
}

static struct client_request *request(uint32_t msg)
{
    return client_request_new(
        &(struct client_message){ .type = "A", .id = "x", .msg = msg });
}

static uint64_t now_ms(void)
{
    return lab.now / MS;
}

/* Asks "x", which answers messages from 50 to 59. */
static uint64_t ask_for(uint32_t msg, uint64_t timeout)
{
    uint64_t id = 0;

    assert_int_equal(port_ask(&port, request(msg), now_ms(), timeout, &id), 0);
    assert_int_not_equal(id, 0);
    return id;
}

static uint64_t ask(uint32_t msg)
{
    return ask_for(msg, 1000);
}

static void tell(uint32_t msg)
{
    assert_int_equal(port_tell(&port, request(msg)), 0);
}

static void refuse(int error)
{
    struct client_request *own = request(50);
    uint64_t id = 0;

    assert_int_equal(port_ask(&port, own, now_ms(), 1000, &id), error);
    assert_int_equal(port_tell(&port, own), error);
    assert_int_equal(id, 0);
    mem_free(own);
}

/* Takes the next completion, which must be that of the ask. */
static void expect(uint64_t id, enum sherd_client_status status)
{
    uint32_t count;
    struct client_request *own = port_take(&port, 1, &count);

    assert_non_null(own);
    assert_int_equal(count, 1);
    assert_int_equal(own->id, id);
    assert_string_equal(
        sherd_client_status_text((enum sherd_client_status)own->status),
        sherd_client_status_text(status));
    mem_free(own);
}

static void expect_nothing(void)
{
    uint32_t count;

    assert_false(port_has_done(&port));
    assert_null(port_take(&port, 10, &count));
    assert_int_equal(count, 0);
}

/* ---- the usual ends ---- */

static void an_ask_of_an_entity_is_answered(void **state)
{
    uint64_t id = ask(50);
    struct client_request *own;
    uint32_t count;

    (void)state;
    expect_nothing();
    lab_run();
    own = port_take(&port, 10, &count);
    assert_int_equal(count, 1);
    assert_int_equal(own->id, id);
    assert_int_equal(own->status, SHERD_CLIENT_ANSWERED);
    assert_int_equal(own->msg, 150);
    assert_int_equal(signals, 1);
    mem_free(own);
    lab_advance(5000);
    expect_nothing();
}

static void an_ask_of_an_actor_is_answered(void **state)
{
    struct sherd_ref to = lab_spawn("a");
    uint64_t id;

    (void)state;
    assert_int_equal(port_ask(&port, request_to(to, 51), now_ms(), 100, &id), 0);
    lab_run();
    expect(id, SHERD_CLIENT_ANSWERED);
}

static void an_ask_without_answer_times_out(void **state)
{
    uint64_t id = ask_for(3, 100);

    (void)state;
    lab_run();
    lab_advance(98);
    expect_nothing();
    lab_advance(4);
    expect(id, SHERD_CLIENT_TIMED_OUT);
}

static void time_in_the_queue_counts(void **state)
{
    uint64_t late = ask_for(50, 100);
    uint64_t id = ask_for(3, 300);

    (void)state;
    lab.now += 200 * MS; /* the lane was blocked */
    lab_advance(0);
    expect(late, SHERD_CLIENT_TIMED_OUT);
    assert_int_equal(lab_status().sent, 1); /* the late one never left */
    lab_advance(98);
    expect_nothing();
    lab_advance(4);
    expect(id, SHERD_CLIENT_TIMED_OUT);
}

static void an_ask_of_an_ended_actor_is_refused(void **state)
{
    struct sherd_ref to = lab_spawn("a");
    uint64_t id;

    (void)state;
    lab_tell(to, 60); /* stop */
    lab_run();
    assert_int_equal(port_ask(&port, request_to(to, 51), now_ms(), 100, &id), 0);
    lab_run();
    expect(id, SHERD_CLIENT_REFUSED);
}

static void a_failed_handler_ends_its_ask(void **state)
{
    uint64_t id = ask(61); /* fail */

    (void)state;
    lab_run();
    expect(id, SHERD_CLIENT_UNDELIVERED);
}

static void a_full_table_of_asks_refuses(void **state)
{
    uint64_t ids[3];

    lab_teardown(state);
    port_fini(&port);
    lab_open_with((struct actors_settings){ .asks_max = 2 });
    lab.quiet = true;
    open_with(false, true);
    for (int i = 0; i < 3; i++)
        ids[i] = ask(3);
    lab_run();
    expect(ids[2], SHERD_CLIENT_REFUSED);
    lab_advance(2000);
    for (int i = 0; i < 2; i++)
        expect(ids[i], SHERD_CLIENT_TIMED_OUT);
}

static void requests_keep_the_order_of_their_calls(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    uint32_t count = 2 * CLIENT_WORK_MAX + 88; /* three rounds of the actor */

    (void)state;
    lab_run();
    lab.quiet = false;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t id;

        if (i % 3)
            assert_int_equal(port_tell(&port, request_to(a, 200 + i)), 0);
        else
            assert_int_equal(port_ask(&port, request_to(a, 200 + i), now_ms(),
                                      100, &id), 0);
    }
    lab_run();
    for (uint32_t i = 0; i < count; i++) {
        char text[16];
        size_t size = (size_t)snprintf(text, sizeof text, "a.%u ", 200 + i);

        assert_memory_equal(lab.log, text, size);
        memmove(lab.log, lab.log + size, strlen(lab.log + size) + 1);
    }
    lab_expect("");
    lab.quiet = true;
}

static void one_wake_is_on_its_way_at_a_time(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++)
        (void)ask(50);
    assert_int_equal(wakes, 1);
    lab_run();
    assert_int_equal(port.done.count, 1000);
    assert_int_equal(wakes, 1);
    (void)ask(50);
    assert_int_equal(wakes, 2);
}

static void completions_signal_once_until_all_are_taken(void **state)
{
    uint32_t count;
    struct client_request *list;

    (void)state;
    for (int i = 0; i < 10; i++)
        (void)ask(50);
    lab_run();
    assert_int_equal(signals, 1);
    for (uint32_t left = 10; left; left -= count) {
        list = port_take(&port, 3, &count);
        assert_int_equal(count, left < 3 ? left : 3);
        assert_int_equal(port_has_done(&port), left > count);
        while (list) {
            struct client_request *next = list->next;

            mem_free(list);
            list = next;
        }
    }
    (void)ask(50);
    lab_run();
    assert_int_equal(signals, 2);
}

/* ---- cancellation ---- */

static void a_cancelled_ask_is_not_sent(void **state)
{
    uint64_t ids[3] = { ask(50), ask(50), ask(50) };

    (void)state;
    assert_true(port_cancel(&port, ids[1]));
    assert_false(port_cancel(&port, ids[1]));
    expect(ids[1], SHERD_CLIENT_CANCELLED);
    lab_run();
    expect(ids[0], SHERD_CLIENT_ANSWERED);
    expect(ids[2], SHERD_CLIENT_ANSWERED);
    assert_int_equal(lab_status().sent, 4); /* two messages and answers */
}

static void a_late_answer_to_a_cancelled_ask_ends_nothing(void **state)
{
    uint64_t first, second;

    (void)state;
    first = ask(64); /* keeps the question */
    lab_run();
    assert_true(port_cancel(&port, first));
    expect(first, SHERD_CLIENT_CANCELLED);
    lab_run();
    assert_int_equal(lab_status().asks, 0);
    second = ask(3);
    lab_run();
    assert_int_equal(second & 0xffff, first & 0xffff); /* the same slot */
    tell(65); /* answers the first */
    lab_run();
    expect_nothing();
    assert_int_equal(lab_status().undelivered[SHERD_REASON_ASKER_GONE], 1);
    lab_advance(2000);
    expect(second, SHERD_CLIENT_TIMED_OUT);
}

/* The actor has not read the answer when the ask is cancelled and its slot used again. */
static void an_answer_in_the_mailbox_ends_no_later_ask(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    uint64_t first, second;

    (void)state;
    assert_int_equal(port_ask(&port, request_to(a, 64), now_ms(), 1000, &first),
                     0);
    lab_run();
    assert_int_equal(port_tell(&port, request_to(a, 65)), 0);
    actors_run(lab.actors, lab.now, 0, 1); /* the port sends it */
    actors_run(lab.actors, lab.now, 0, 1); /* the actor answers the first ask */
    assert_true(port_cancel(&port, first));
    second = ask(3);
    lab_run();
    expect(first, SHERD_CLIENT_CANCELLED);
    expect_nothing();
    lab_advance(2000);
    expect(second, SHERD_CLIENT_TIMED_OUT);
}

static void an_unknown_id_cancels_nothing(void **state)
{
    uint64_t id = ask(50);

    (void)state;
    assert_false(port_cancel(&port, 0));
    assert_false(port_cancel(&port, id + 1));
    assert_false(port_cancel(&port, id + (UINT64_C(1) << 32)));
    assert_false(port_cancel(&port, UINT64_MAX));
    lab_run();
    assert_false(port_cancel(&port, id));
    expect(id, SHERD_CLIENT_ANSWERED);
}

/* ---- a node that is not up ---- */

static void requests_are_refused_until_the_node_is_up(void **state)
{
    (void)state;
    port_up(&port, false);
    refuse(SHERD_ENOTREADY);
    port_up(&port, true);
    (void)ask(50);
    lab_run();
    assert_true(port_has_done(&port));
}

static int setup_waiting(void **state)
{
    lab_setup(state);
    lab.quiet = true;
    open_with(true, false);
    return 0;
}

static void requests_wait_until_the_node_is_up(void **state)
{
    uint64_t id;

    (void)state;
    tell(2);
    id = ask(50);
    lab_run();
    lab_advance(500);
    expect_nothing();
    assert_int_equal(lab_status().sent, 0);
    port_up(&port, true);
    lab_run();
    expect(id, SHERD_CLIENT_ANSWERED);
    assert_int_equal(port_counts(&port).told, 1);
    assert_int_equal(lab.received, 2);
}

static void the_time_of_waiting_requests_runs(void **state)
{
    uint64_t slow = ask_for(50, 900), fast = ask_for(50, 300);
    uint64_t cancelled = ask_for(50, 200);

    (void)state;
    lab_run();
    assert_true(port_cancel(&port, cancelled));
    expect(cancelled, SHERD_CLIENT_CANCELLED);
    lab_advance(299);
    expect_nothing();
    lab_advance(3);
    expect(fast, SHERD_CLIENT_TIMED_OUT);
    lab_advance(300);
    port_up(&port, true);
    lab_run();
    expect(slow, SHERD_CLIENT_ANSWERED);
    lab_advance(2000);
    expect_nothing();
}

/* Ids that ended leave timers, whose number is limited. */
static void timers_of_ended_requests_are_bounded(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 5 * CLIENT_REQUESTS_MAX; i++) {
        uint64_t id = ask_for(50, 3600000);

        assert_true(port_cancel(&port, id));
        expect(id, SHERD_CLIENT_CANCELLED);
        assert_true(port.timers.count <= 2 * CLIENT_REQUESTS_MAX);
    }
}

/* ---- limits ---- */

static void asks_are_bounded(void **state)
{
    struct client_request *own = request(50);
    uint64_t id;

    (void)state;
    port_up(&port, false);
    port.waits_until_up = true;
    for (uint32_t i = 0; i < CLIENT_REQUESTS_MAX; i++)
        (void)ask(50);
    assert_int_equal(port_ask(&port, own, now_ms(), 1, &id), SHERD_EFULL);
    assert_int_equal(port_counts(&port).refused, 1);
    port_up(&port, true);
    lab_run();
    assert_int_equal(port.done.count, CLIENT_REQUESTS_MAX);
    assert_int_equal(port_ask(&port, own, now_ms(), 1000, &id), 0);
}

/* A lane that is blocked frees no slot of a cancelled ask. */
static void cancelled_asks_count_until_the_lane_drops_them(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct client_request *own = request_to(a, 50);
    uint64_t id;

    (void)state;
    for (uint32_t i = 0; i < CLIENT_REQUESTS_MAX; i++)
        assert_int_equal(port_ask(&port, request_to(a, 3), now_ms(), 1000, &id),
                         0);
    lab_run();
    port_stop(&port, 0, SHERD_CLIENT_CANCELLED);
    assert_int_equal(port.done.count, CLIENT_REQUESTS_MAX);
    assert_int_equal(port_ask(&port, own, now_ms(), 1, &id), SHERD_EFULL);
    lab_run();
    assert_int_equal(lab_status().asks, 0);
    assert_int_equal(port_ask(&port, own, now_ms(), 1000, &id), 0);
}

static void tells_are_bounded(void **state)
{
    struct client_request *own = request(2);

    (void)state;
    for (uint32_t i = 0; i < CLIENT_TELLS_MAX; i++)
        tell(2);
    assert_int_equal(port_tell(&port, own), SHERD_EFULL);
    lab_run();
    assert_int_equal(port_tell(&port, own), 0);
}

static struct client_request *large(void)
{
    static const char body[SHERD_BODY_MAX];

    return client_request_new(&(struct client_message){
        .type = "A", .id = "x", .msg = 2, .body = { body, sizeof body } });
}

static void bodies_are_bounded(void **state)
{
    struct client_request *own = large();
    uint32_t most = CLIENT_WAITING_BYTES_MAX / SHERD_BODY_MAX;
    uint64_t id;

    (void)state;
    for (uint32_t i = 0; i < most; i++)
        assert_int_equal(port_tell(&port, large()), 0);
    assert_int_equal(port_tell(&port, own), SHERD_EFULL);
    assert_int_equal(port_ask(&port, own, now_ms(), 1, &id), SHERD_EFULL);
    lab_run();
    assert_int_equal(port_tell(&port, own), 0);
}

static void time_outs_are_moved_into_their_range(void **state)
{
    uint64_t soon = ask_for(3, 0), late = ask_for(3, UINT64_MAX);

    (void)state;
    lab_run();
    lab_advance(3);
    expect(soon, SHERD_CLIENT_TIMED_OUT);
    lab_advance(ACTOR_ASK_MS_MAX - 10);
    expect_nothing();
    lab_advance(20);
    expect(late, SHERD_CLIENT_TIMED_OUT);
}

/* ---- ends ---- */

static void a_stop_cancels_asks_and_sends_tells(void **state)
{
    uint64_t sent = ask(3), waiting;

    (void)state;
    lab_run();
    waiting = ask(50);
    tell(2);
    port_stop(&port, SHERD_ESTATE, SHERD_CLIENT_CANCELLED);
    refuse(SHERD_ESTATE);
    expect(sent, SHERD_CLIENT_CANCELLED);
    expect(waiting, SHERD_CLIENT_CANCELLED);
    lab_run();
    assert_int_equal(lab.received, 2); /* the first ask and the tell */
    assert_int_equal(port_counts(&port).tells_dropped, 0);
}

static void the_end_of_the_node_completes_all(void **state)
{
    uint64_t sent = ask(3), waiting;

    (void)state;
    lab_run();
    waiting = ask(50);
    tell(2);
    port_end(&port, SHERD_ESTATE, SHERD_CLIENT_SHUTTING_DOWN);
    expect(sent, SHERD_CLIENT_SHUTTING_DOWN);
    expect(waiting, SHERD_CLIENT_SHUTTING_DOWN);
    assert_int_equal(port_counts(&port).tells_dropped, 1);
    refuse(SHERD_ESTATE);
    lab_advance(5000);
    expect_nothing();
}

static void the_end_of_the_actor_completes_all(void **state)
{
    uint64_t sent = ask(3), waiting;

    (void)state;
    lab_run();
    waiting = ask(50);
    tell(2);
    actors_stop_all(lab.actors, lab.now + SECOND);
    lab_run();
    assert_int_equal(gone, 1);
    expect(sent, SHERD_CLIENT_SHUTTING_DOWN);
    expect(waiting, SHERD_CLIENT_SHUTTING_DOWN);
    refuse(SHERD_ESTATE);
}

static void an_actor_that_is_closed_completes_all(void **state)
{
    uint64_t id = ask(3);

    (void)state;
    lab_run();
    actors_close(lab.actors);
    assert_int_equal(gone, 1);
    expect(id, SHERD_CLIENT_SHUTTING_DOWN);
}

static void a_closed_port_ends_its_actor_after_the_tells(void **state)
{
    uint64_t id = ask(3);

    (void)state;
    lab_run();
    for (int i = 0; i < 1000; i++)
        tell(2);
    port_close(&port);
    expect(id, SHERD_CLIENT_CANCELLED);
    refuse(SHERD_ESTATE);
    lab_run();
    assert_int_equal(gone, 1);
    assert_int_equal(lab.received, 1001);
    assert_int_equal(lab_status().actors, 0);
}

static void a_closed_port_drops_tells_if_the_node_is_not_up(void **state)
{
    (void)state;
    tell(2);
    port_close(&port);
    lab_run();
    assert_int_equal(gone, 1);
    assert_int_equal(port_counts(&port).tells_dropped, 1);
}

static void requests_before_the_start_of_the_actor_are_sent(void **state)
{
    struct port *address = &port;
    uint64_t id;

    lab_setup(state);
    lab.quiet = true;
    wakes = signals = gone = 0;
    port_init(&port, &hooks, 3, false, true);
    id = ask(50);
    (void)actors_spawn(lab.actors, &port_behavior,
                       slice_of(&address, sizeof address));
    lab_run();
    expect(id, SHERD_CLIENT_ANSWERED);
    assert_int_equal(wakes, 0);
}

static void a_port_whose_actor_never_starts_completes_all(void **state)
{
    uint64_t id;

    lab_setup(state);
    lab.quiet = true;
    wakes = signals = gone = 0;
    port_init(&port, &hooks, 3, false, true);
    id = ask(50);
    tell(2);
    port_end(&port, SHERD_EFULL, SHERD_CLIENT_REFUSED);
    expect(id, SHERD_CLIENT_REFUSED);
    refuse(SHERD_EFULL);
    port_close(&port);
    gone = 1; /* as its driver knows */
}

static void the_numbers_add_up_at_the_end(void **state)
{
    struct port_counts counts;

    (void)state;
    (void)ask(50);
    (void)ask(3);
    tell(2);
    lab_run();
    (void)ask(3);
    port_stop(&port, SHERD_ESTATE, SHERD_CLIENT_CANCELLED);
    counts = port_counts(&port);
    assert_int_equal(counts.asked, 3);
    assert_int_equal(counts.told, 1);
    assert_int_equal(counts.ended[SHERD_CLIENT_ANSWERED], 1);
    assert_int_equal(counts.ended[SHERD_CLIENT_CANCELLED], 2);
}

/* ---- all together ---- */

#define STEPS 20000
#define OPEN_MAX 64

struct model {
    struct rng rng;
    uint64_t open[OPEN_MAX];
    uint32_t count;
    uint64_t asked, ended;
};

static void take_some(struct model *model)
{
    uint32_t count;
    struct client_request *list =
        port_take(&port, 1 + (uint32_t)rng_below(&model->rng, 8), &count);

    while (list) {
        struct client_request *next = list->next;
        uint32_t at = 0;

        while (at < model->count && model->open[at] != list->id)
            at++;
        assert_true(at < model->count); /* it ends once */
        model->open[at] = model->open[--model->count];
        model->ended++;
        mem_free(list);
        list = next;
    }
}

static void act(struct model *model)
{
    static const uint32_t messages[] = { 50, 51, 3, 61, 64, 65, 60 };
    uint64_t at = model->count ? rng_below(&model->rng, model->count) : 0;

    switch (rng_below(&model->rng, 8)) {
    case 0:
    case 1:
    case 2:
        if (model->count == OPEN_MAX)
            break;
        model->open[model->count++] =
            ask_for(messages[rng_below(&model->rng, 7)],
                    1 + rng_below(&model->rng, 50));
        model->asked++;
        break;
    case 3:
        if (model->count)
            (void)port_cancel(&port, model->open[at]);
        break;
    case 4:
        tell(messages[rng_below(&model->rng, 7)]);
        break;
    case 5:
        lab_advance(rng_below(&model->rng, 20));
        break;
    case 6:
        take_some(model);
        break;
    default:
        port_up(&port, rng_below(&model->rng, 3) > 0);
        break;
    }
}

static void random_requests_end_once(void **state)
{
    struct model model = { .count = 0 };

    for (uint64_t seed = 1; seed <= 5; seed++) {
        rng_init(&model.rng, seed);
        for (int i = 0; i < STEPS; i++)
            act(&model);
        port_up(&port, true);
        lab_advance(1000);
        while (model.count)
            take_some(&model);
        expect_nothing();
        assert_int_equal(model.asked, model.ended);
        assert_int_equal(lab_status().asks, 0);
    }
    (void)state;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define TEST_WAITING(name) \
    cmocka_unit_test_setup_teardown(name, setup_waiting, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_ask_of_an_entity_is_answered),
        TEST(an_ask_of_an_actor_is_answered),
        TEST(an_ask_without_answer_times_out),
        TEST(time_in_the_queue_counts),
        TEST(an_ask_of_an_ended_actor_is_refused),
        TEST(a_failed_handler_ends_its_ask),
        TEST(a_full_table_of_asks_refuses),
        TEST(requests_keep_the_order_of_their_calls),
        TEST(one_wake_is_on_its_way_at_a_time),
        TEST(completions_signal_once_until_all_are_taken),
        TEST(a_cancelled_ask_is_not_sent),
        TEST(a_late_answer_to_a_cancelled_ask_ends_nothing),
        TEST(an_answer_in_the_mailbox_ends_no_later_ask),
        TEST(an_unknown_id_cancels_nothing),
        TEST(requests_are_refused_until_the_node_is_up),
        TEST_WAITING(requests_wait_until_the_node_is_up),
        TEST_WAITING(the_time_of_waiting_requests_runs),
        TEST_WAITING(timers_of_ended_requests_are_bounded),
        TEST(asks_are_bounded),
        TEST(cancelled_asks_count_until_the_lane_drops_them),
        TEST(tells_are_bounded),
        TEST(bodies_are_bounded),
        TEST(time_outs_are_moved_into_their_range),
        TEST(a_stop_cancels_asks_and_sends_tells),
        TEST(the_end_of_the_node_completes_all),
        TEST(the_end_of_the_actor_completes_all),
        TEST(an_actor_that_is_closed_completes_all),
        TEST(a_closed_port_ends_its_actor_after_the_tells),
        TEST_WAITING(a_closed_port_drops_tells_if_the_node_is_not_up),
        cmocka_unit_test_teardown(
            requests_before_the_start_of_the_actor_are_sent, teardown),
        cmocka_unit_test_teardown(a_port_whose_actor_never_starts_completes_all,
                                  teardown),
        TEST(the_numbers_add_up_at_the_end),
        TEST_WAITING(random_requests_end_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
