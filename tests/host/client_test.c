/* Tests clients of real nodes: every request ends once, whatever happens to threads and nodes. */
#define _GNU_SOURCE
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "host/thread.h"

#include <sherd/sherd.h>

#define PATIENCE 60000 /* ms; a sanitizer and a busy machine are slow */
#define THREADS 4

enum { REPEAT = 1, SILENT, COUNT, STOP, FAIL };

static const struct sherd_bytes nothing;
static atomic_int counted, blocked, released;

/* An entity, and a plain actor. */
static enum sherd_next receive(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    counted += msg->msg == COUNT;
    if (msg->msg == REPEAT)
        sherd_reply(ctx, REPEAT, msg->body);
    if (msg->msg == STOP)
        return SHERD_STOP;
    return msg->msg == FAIL ? SHERD_FAIL : SHERD_CONTINUE;
}

/* The body of REPEAT is the entity's id. */
static int entity_of(void *user, struct sherd_extracted *message)
{
    (void)user;
    if (message->msg != REPEAT)
        return 0;
    (void)snprintf(message->id, sizeof message->id, "%.*s",
                   (int)message->body.size, (const char *)message->body.data);
    return 1;
}

static const struct sherd_extractor extractor = { .hash = SHERD_SHARD_HASH_MURMUR2,
                                                  .entity = entity_of };

static const struct sherd_behavior echo = { .name = "echo", .receive = receive };

static enum sherd_next block(struct sherd_ctx *ctx, void *self,
                             const struct sherd_msg *msg)
{
    (void)ctx;
    (void)self;
    (void)msg;
    blocked++;
    while (!released)
        uv_sleep(1);
    return SHERD_STOP;
}

static const struct sherd_behavior blocker = { .name = "blocker",
                                               .receive = block };

/* ---- nodes ---- */

static const char quick[] =
    "akka.cluster.failure-detector.acceptable-heartbeat-pause = 1s\n"
    "akka.cluster.sharding.rebalance-interval = 1s\n"
    "sherd.slow-handler.report-after = off";

static struct sherd_system *open_node(const char *seed, bool is_alone)
{
    const char *const seeds[] = { seed, NULL };
    const struct sherd_options options = { .alone = is_alone,
                                           .port = SHERD_PORT_ANY,
                                           .seed_nodes = seed ? seeds : NULL,
                                           .lanes = 2,
                                           .config_text = quick,
                                           .log_level = SHERD_LOG_ERROR };
    const struct sherd_entity_type type = { .name = "Echo",
                                            .shards = 20,
                                            .extractor = &extractor,
                                            .behavior = echo };
    struct sherd_system *system;

    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_entity_register(system, &type), 0);
    assert_int_equal(sherd_start(system), 0);
    return system;
}

static struct sherd_system *lone_node(void)
{
    struct sherd_system *system = open_node(NULL, true);

    counted = blocked = released = 0;
    for (int i = 0; i < PATIENCE && !sherd_is_ready(system); i++)
        uv_sleep(1);
    assert_true(sherd_is_ready(system));
    return system;
}

static struct sherd_client *open_client(struct sherd_system *system,
                                        struct sherd_client_options options)
{
    struct sherd_client *client;

    assert_int_equal(sherd_client_open(&client, system, &options), 0);
    return client;
}

/* ---- requests ---- */

static struct sherd_entity_ref entity(const char *id)
{
    struct sherd_entity_ref ref;

    assert_int_equal(sherd_entity_ref_make(&ref, "Echo", id, NULL), 0);
    return ref;
}

static int ask_as(struct sherd_client *client, uint32_t msg, uint64_t timeout,
                  uint64_t *id)
{
    struct sherd_entity_ref ref = entity("x");

    return sherd_client_ask(client,
                            &(struct sherd_request){ .entity = &ref,
                                                     .msg = msg,
                                                     .body = { "hello", 5 },
                                                     .timeout_ms = timeout,
                                                     .user = &counted },
                            id);
}

static uint64_t ask(struct sherd_client *client, uint32_t msg, uint64_t timeout)
{
    uint64_t id = 0;

    assert_int_equal(ask_as(client, msg, timeout, &id), 0);
    assert_int_not_equal(id, 0);
    return id;
}

/* Takes the next completion, of that request. */
static void expect(struct sherd_client *client, uint64_t id,
                   enum sherd_client_status status)
{
    struct sherd_completion one;

    assert_int_equal(sherd_client_poll(client, &one, 1, PATIENCE), 1);
    assert_int_equal(one.request, id);
    assert_ptr_equal(one.user, &counted);
    assert_string_equal(sherd_client_status_text(one.status),
                        sherd_client_status_text(status));
    if (status == SHERD_CLIENT_ANSWERED) {
        assert_int_equal(one.msg, REPEAT);
        assert_int_equal(one.body.size, 5);
        assert_memory_equal(one.body.data, "hello", 5);
    }
    sherd_completions_free(&one, 1);
    assert_null(one.memory);
}

static void expect_nothing(struct sherd_client *client)
{
    struct sherd_completion one;

    assert_int_equal(sherd_client_poll(client, &one, 1, 0), 0);
}

static void close_client(struct sherd_client *client)
{
    assert_int_equal(sherd_client_close(client), 0);
}

static void await(atomic_int *number, int value)
{
    for (int i = 0; i < PATIENCE && *number != value; i++)
        uv_sleep(1);
    assert_int_equal(*number, value);
}

/* ---- one node ---- */

static void requests_end_as_they_should(void **state)
{
    struct sherd_system *system = lone_node();
    struct sherd_client *client =
        open_client(system, (struct sherd_client_options){ 0 });
    struct sherd_client_counts counts;
    uint64_t id;

    (void)state;
    id = ask(client, REPEAT, PATIENCE);
    expect(client, id, SHERD_CLIENT_ANSWERED);
    id = ask(client, SILENT, 50);
    expect(client, id, SHERD_CLIENT_TIMED_OUT);
    id = ask(client, FAIL, PATIENCE);
    expect(client, id, SHERD_CLIENT_UNDELIVERED);
    id = ask(client, SILENT, PATIENCE);
    assert_int_equal(sherd_client_cancel(client, id), 0);
    assert_int_equal(sherd_client_cancel(client, id), SHERD_ESTATE);
    expect(client, id, SHERD_CLIENT_CANCELLED);
    id = ask(client, SILENT, PATIENCE);
    sherd_client_stop(client);
    expect(client, id, SHERD_CLIENT_CANCELLED);
    assert_int_equal(ask_as(client, REPEAT, 1, NULL), SHERD_ESTATE);
    expect_nothing(client);
    sherd_client_counts(client, &counts);
    assert_int_equal(counts.asked, 5);
    assert_int_equal(counts.ended[SHERD_CLIENT_CANCELLED], 2);
    assert_int_equal(counts.open, 0);
    close_client(client);
    sherd_close(system);
}

static int region_ask(struct sherd_client *client, struct sherd_request request)
{
    request.timeout_ms = PATIENCE;
    request.user = &counted;
    request.body = (struct sherd_bytes){ "hello", 5 };
    return sherd_client_ask(client, &request, NULL);
}

static void a_region_is_asked_for_the_entity_of_the_message(void **state)
{
    struct sherd_system *system = lone_node();
    struct sherd_client *client = open_client(system, (struct sherd_client_options){ 0 });
    struct sherd_request tell = { .region = "Echo", .msg = SILENT };
    struct sherd_completion one;
    struct sherd_status status;

    (void)state;
    assert_int_equal(region_ask(client, (struct sherd_request){ .region = "Echo", .msg = REPEAT }), 0);
    assert_int_equal(sherd_client_poll(client, &one, 1, PATIENCE), 1);
    assert_int_equal(one.status, SHERD_CLIENT_ANSWERED);
    assert_memory_equal(one.body.data, "hello", 5);
    sherd_completions_free(&one, 1);
    assert_int_equal(region_ask(client, (struct sherd_request){ .region = "Echo", .msg = SILENT }), 0);
    assert_int_equal(sherd_client_poll(client, &one, 1, PATIENCE), 1);
    assert_int_equal(one.status, SHERD_CLIENT_REFUSED);
    assert_int_equal(one.reason, SHERD_REASON_NOT_EXTRACTED);
    sherd_completions_free(&one, 1);
    assert_int_equal(sherd_client_tell(client, &tell), 0);
    for (uint64_t count = 0, i = 0; i < PATIENCE && count < 2; i++) {
        assert_int_equal(sherd_get_status(system, &status), 0);
        count = status.undelivered[SHERD_REASON_NOT_EXTRACTED];
        sherd_status_free(&status);
        uv_sleep(1);
        assert_true(i < PATIENCE - 1);
    }
    assert_int_equal(region_ask(client, (struct sherd_request){ .region = "None", .msg = 1 }),
                     SHERD_ENOTYPE);
    assert_int_equal(region_ask(client, (struct sherd_request){ .region = "Echo", .start = 1 }),
                     SHERD_EINVAL);
    close_client(client);
    sherd_close(system);
}

static void an_entity_is_started_and_acknowledged(void **state)
{
    struct sherd_system *system = lone_node();
    struct sherd_client *client = open_client(system, (struct sherd_client_options){ 0 });
    struct sherd_entity_ref ref = entity("entity-1");
    struct sherd_completion one;

    (void)state;
    assert_int_equal(region_ask(client, (struct sherd_request){ .entity = &ref, .start = 1 }), 0);
    assert_int_equal(sherd_client_poll(client, &one, 1, PATIENCE), 1);
    assert_int_equal(one.status, SHERD_CLIENT_ANSWERED);
    assert_int_equal(one.msg, 0);
    assert_int_equal(one.body.size, 1); /* Kafka's murmur2 of it, modulo 20 */
    assert_memory_equal(one.body.data, "8", 1);
    sherd_completions_free(&one, 1);
    assert_int_equal(region_ask(client, (struct sherd_request){ .actor = { 1, 1 }, .start = 1 }),
                     SHERD_EINVAL);
    close_client(client);
    sherd_close(system);
}

static void actors_are_asked_by_the_ref_of_their_spawn(void **state)
{
    struct sherd_system *system = lone_node();
    struct sherd_client *client =
        open_client(system, (struct sherd_client_options){ 0 });
    struct sherd_request request = { .msg = REPEAT,
                                     .body = { "hello", 5 },
                                     .timeout_ms = PATIENCE,
                                     .user = &counted };
    uint64_t id;

    (void)state;
    assert_int_equal(sherd_system_spawn(system, &echo, nothing, &request.actor),
                     0);
    assert_int_equal(sherd_client_ask(client, &request, &id), 0);
    expect(client, id, SHERD_CLIENT_ANSWERED);
    request.msg = STOP;
    assert_int_equal(sherd_client_tell(client, &request), 0);
    request.msg = REPEAT; /* it comes after the tell */
    assert_int_equal(sherd_client_ask(client, &request, &id), 0);
    expect(client, id, SHERD_CLIENT_UNDELIVERED);
    assert_int_equal(sherd_client_ask(client, &request, &id), 0);
    expect(client, id, SHERD_CLIENT_REFUSED);
    close_client(client);
    sherd_close(system);
}

static void wrong_requests_are_refused_at_once(void **state)
{
    static const char large[SHERD_BODY_MAX + 1];
    struct sherd_system *system = lone_node();
    struct sherd_client *client =
        open_client(system, (struct sherd_client_options){ 0 });
    struct sherd_entity_ref ref = entity("x"), other;
    struct sherd_request request = { .entity = &ref };

    (void)state;
    assert_int_equal(sherd_client_ask(NULL, &request, NULL), SHERD_EINVAL);
    assert_int_equal(sherd_client_ask(client, NULL, NULL), SHERD_EINVAL);
    request.body = (struct sherd_bytes){ large, sizeof large };
    assert_int_equal(sherd_client_ask(client, &request, NULL), SHERD_EINVAL);
    assert_int_equal(sherd_client_tell(client, &request), SHERD_EINVAL);
    request.body = nothing;
    ref.id[0] = 0;
    assert_int_equal(sherd_client_ask(client, &request, NULL), SHERD_EINVAL);
    assert_int_equal(sherd_entity_ref_make(&other, "Other", "x", NULL), 0);
    request.entity = &other;
    assert_int_equal(sherd_client_ask(client, &request, NULL), SHERD_ENOTYPE);
    assert_int_equal(sherd_entity_ref_make(&other, "Echo", "x", "far"), 0);
    assert_int_equal(sherd_client_tell(client, &request), SHERD_ENOTYPE);
    assert_int_equal(sherd_entity_ref_make(&other, "Echo", "x", "default"), 0);
    assert_int_equal(sherd_client_tell(client, &request), 0);
    request.entity = NULL; /* the actor is nobody */
    assert_int_equal(sherd_client_ask(client, &request, NULL), SHERD_EINVAL);
    assert_int_equal(sherd_client_cancel(client, 0), SHERD_ESTATE);
    assert_int_equal(sherd_client_cancel(client, UINT64_MAX), SHERD_ESTATE);
    expect_nothing(client);
    close_client(client);
    sherd_close(system);
}

static void wrong_options_open_no_client(void **state)
{
    struct sherd_client_options many = { .requests_max = CLIENT_REQUESTS_MAX + 1 };
    struct sherd_options options = { .alone = 1, .port = SHERD_PORT_ANY };
    struct sherd_system *system;
    struct sherd_client *clients[SYSTEM_CLIENTS_MAX + 1];

    (void)state;
    options.log_level = SHERD_LOG_ERROR;
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_client_open(clients, system, NULL), SHERD_ESTATE);
    assert_int_equal(sherd_start(system), 0);
    assert_int_equal(sherd_client_open(clients, system, &many), SHERD_EINVAL);
    assert_null(clients[0]);
    assert_int_equal(sherd_client_open(clients, NULL, NULL), SHERD_EINVAL);
    assert_int_equal(sherd_client_open(NULL, system, NULL), SHERD_EINVAL);
    for (int i = 0; i < SYSTEM_CLIENTS_MAX; i++)
        assert_int_equal(sherd_client_open(&clients[i], system, NULL), 0);
    assert_int_equal(
        sherd_client_open(&clients[SYSTEM_CLIENTS_MAX], system, NULL),
        SHERD_EFULL);
    for (int i = 0; i < SYSTEM_CLIENTS_MAX; i++)
        close_client(clients[i]);
    assert_int_equal(sherd_client_open(clients, system, NULL), 0);
    close_client(clients[0]);
    close_client(NULL);
    sherd_halt(system);
    assert_int_equal(sherd_client_open(clients, system, NULL), SHERD_ESTATE);
    sherd_close(system);
}

static void open_requests_are_bounded(void **state)
{
    struct sherd_system *system = lone_node();
    struct sherd_client *client = open_client(
        system, (struct sherd_client_options){ .requests_max = 3 });
    struct sherd_client_counts counts;
    uint64_t ids[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        ids[i] = ask(client, SILENT, PATIENCE);
    assert_int_equal(ask_as(client, REPEAT, 1, NULL), SHERD_EFULL);
    assert_int_equal(sherd_client_cancel(client, ids[1]), 0);
    /* it is open until its completion is taken */
    assert_int_equal(ask_as(client, REPEAT, 1, NULL), SHERD_EFULL);
    expect(client, ids[1], SHERD_CLIENT_CANCELLED);
    ids[1] = ask(client, REPEAT, PATIENCE);
    expect(client, ids[1], SHERD_CLIENT_ANSWERED);
    sherd_client_counts(client, &counts);
    assert_int_equal(counts.refused, 2);
    assert_int_equal(counts.open, 2);
    close_client(client);
    sherd_close(system);
}

/* A lane that a handler blocks takes nothing from the port. */
static void requests_that_wait_for_a_lane_are_bounded(void **state)
{
    struct sherd_system *system = lone_node();
    struct sherd_client *client =
        open_client(system, (struct sherd_client_options){ 0 });
    struct sherd_request request = { .msg = COUNT };
    int told = 0;

    (void)state;
    assert_int_equal(sherd_system_spawn(system, &echo, nothing, &request.actor),
                     0);
    assert_int_equal(sherd_client_tell(client, &request), 0);
    await(&counted, 1);
    assert_int_equal(sherd_system_spawn(system, &blocker, nothing, NULL), 0);
    await(&blocked, 1);
    while (sherd_client_tell(client, &request) == 0)
        told++;
    assert_int_equal(told, CLIENT_TELLS_MAX);
    assert_int_equal(sherd_client_tell(client, &request), SHERD_EFULL);
    released = 1;
    await(&counted, 1 + told);
    close_client(client);
    sherd_close(system);
}

/* ---- a node that is not up ---- */

static void a_node_that_is_not_up_refuses(void **state)
{
    struct sherd_system *system = open_node(NULL, false);
    struct sherd_client *client =
        open_client(system, (struct sherd_client_options){ 0 });
    struct sherd_entity_ref ref = entity("x");
    struct sherd_request request = { .entity = &ref };
    char own[64];
    uint64_t id = 0;
    int result;

    (void)state;
    assert_int_equal(ask_as(client, REPEAT, PATIENCE, &id), SHERD_ENOTREADY);
    assert_int_equal(id, 0);
    assert_int_equal(sherd_client_tell(client, &request), SHERD_ENOTREADY);
    snprintf(own, sizeof own, "127.0.0.1:%u", sherd_port(system));
    assert_int_equal(sherd_join(system, own), 0);
    for (int i = 0; i < PATIENCE && !sherd_is_ready(system); i++)
        uv_sleep(1);
    for (int i = 0; i < PATIENCE &&
                    (result = ask_as(client, REPEAT, PATIENCE, &id)) != 0;
         i++)
        uv_sleep(1);
    assert_int_equal(result, 0);
    expect(client, id, SHERD_CLIENT_ANSWERED);
    sherd_leave(system);
    assert_int_equal(sherd_wait(system), 0);
    assert_int_equal(ask_as(client, REPEAT, PATIENCE, NULL), SHERD_ESTATE);
    close_client(client);
    sherd_close(system);
}

static void a_node_that_is_not_up_lets_requests_wait(void **state)
{
    struct sherd_system *system = open_node(NULL, false);
    struct sherd_client *client = open_client(
        system, (struct sherd_client_options){ .waits_until_up = 1,
                                               .requests_max = 3 });
    struct sherd_entity_ref ref = entity("x");
    struct sherd_request request = { .entity = &ref, .msg = COUNT };
    uint64_t late, id, cancelled;
    char own[64];

    (void)state;
    counted = 0;
    assert_int_equal(sherd_client_tell(client, &request), 0);
    late = ask(client, REPEAT, 50);
    id = ask(client, REPEAT, 10 * PATIENCE);
    cancelled = ask(client, REPEAT, 10 * PATIENCE);
    assert_int_equal(ask_as(client, REPEAT, 1, NULL), SHERD_EFULL);
    expect(client, late, SHERD_CLIENT_TIMED_OUT);
    assert_int_equal(sherd_client_cancel(client, cancelled), 0);
    expect(client, cancelled, SHERD_CLIENT_CANCELLED);
    expect_nothing(client);
    snprintf(own, sizeof own, "127.0.0.1:%u", sherd_port(system));
    assert_int_equal(sherd_join(system, own), 0);
    expect(client, id, SHERD_CLIENT_ANSWERED);
    await(&counted, 1);
    close_client(client);
    sherd_close(system);
}

static void requests_that_wait_end_with_the_node(void **state)
{
    struct sherd_system *system = open_node(NULL, false);
    struct sherd_client *client = open_client(
        system, (struct sherd_client_options){ .waits_until_up = 1 });
    struct sherd_entity_ref ref = entity("x");
    struct sherd_request request = { .entity = &ref, .msg = COUNT };
    struct sherd_client_counts counts;
    uint64_t id;

    (void)state;
    id = ask(client, REPEAT, PATIENCE);
    assert_int_equal(sherd_client_tell(client, &request), 0);
    sherd_halt(system);
    expect(client, id, SHERD_CLIENT_SHUTTING_DOWN);
    assert_int_equal(ask_as(client, REPEAT, 1, NULL), SHERD_ESTATE);
    sherd_client_counts(client, &counts);
    assert_int_equal(counts.tells_dropped, 1);
    sherd_close(system);
    expect_nothing(client);
    assert_int_equal(ask_as(client, REPEAT, 1, NULL), SHERD_ESTATE);
    close_client(client); /* after its system */
}

/* ---- callbacks ---- */

struct seen {
    _Atomic(struct sherd_client *) client;
    atomic_int count, by_status[SHERD_CLIENT_STATUS_COUNT];
    atomic_int again; /* asks to make in a callback */
    atomic_int close_result;
};

static void see(void *user, const struct sherd_completion *completion)
{
    struct seen *seen = user;

    seen->by_status[completion->status]++;
    if (seen->again > 0) {
        seen->again--;
        (void)ask(seen->client, REPEAT, PATIENCE);
    }
    seen->close_result = sherd_client_close(seen->client);
    assert_int_equal(sherd_client_poll(seen->client, NULL, 1, 0), 0);
    seen->count++; /* last: the test goes on */
}

static void callbacks_may_use_the_client_but_not_close_it(void **state)
{
    struct sherd_system *system = lone_node();
    struct seen seen = { .again = 9 };
    struct sherd_completion one;

    (void)state;
    seen.client = open_client(system, (struct sherd_client_options){
                                          .done = see, .done_user = &seen });
    assert_int_equal(sherd_client_fd(seen.client), -1);
    assert_int_equal(sherd_client_poll(seen.client, &one, 1, 10), 0);
    (void)ask(seen.client, REPEAT, PATIENCE);
    await(&seen.count, 10);
    assert_int_equal(seen.by_status[SHERD_CLIENT_ANSWERED], 10);
    assert_int_equal(seen.close_result, SHERD_ESTATE);
    for (int i = 0; i < 5; i++)
        (void)ask(seen.client, SILENT, PATIENCE);
    close_client(seen.client);
    assert_int_equal(seen.count, 15);
    assert_int_equal(seen.by_status[SHERD_CLIENT_CANCELLED], 5);
    sherd_close(system);
}

static void callbacks_hear_of_the_end_of_the_node(void **state)
{
    struct sherd_system *system = lone_node();
    struct seen seen = { .again = 0 };

    (void)state;
    seen.client = open_client(system, (struct sherd_client_options){
                                          .done = see, .done_user = &seen });
    for (int i = 0; i < 100; i++)
        (void)ask(seen.client, SILENT, PATIENCE);
    sherd_leave(system);
    assert_int_equal(sherd_wait(system), 0);
    await(&seen.count, 100);
    assert_int_equal(seen.by_status[SHERD_CLIENT_SHUTTING_DOWN], 100);
    sherd_close(system);
    close_client(seen.client);
}

/* ---- event loops ---- */

static bool is_readable(struct sherd_client *client, int timeout)
{
    struct pollfd one = { .fd = sherd_client_fd(client), .events = POLLIN };

    return poll(&one, 1, timeout) == 1;
}

static void the_descriptor_is_readable_while_completions_wait(void **state)
{
    struct sherd_system *system = lone_node();
    struct sherd_client *client =
        open_client(system, (struct sherd_client_options){ 0 });
    struct sherd_completion some[2];

    (void)state;
    assert_false(is_readable(client, 0));
    for (int round = 0; round < 20; round++) {
        uint32_t left = 5;

        for (uint32_t i = 0; i < left; i++)
            (void)ask(client, REPEAT, PATIENCE);
        while (left) {
            uint32_t count;

            assert_true(is_readable(client, PATIENCE));
            count = sherd_client_poll(client, some, 2, 0);
            assert_in_range(count, 0, left < 2 ? left : 2);
            sherd_completions_free(some, count);
            left -= count;
        }
    }
    expect_nothing(client);
    assert_false(is_readable(client, 0));
    close_client(client);
    sherd_close(system);
}

struct looping {
    uv_poll_t watch;
    struct sherd_client *client;
    int left, answered;
};

static void on_readable(uv_poll_t *watch, int status, int events)
{
    struct looping *looping = (struct looping *)watch;
    struct sherd_completion some[8];
    uint32_t count = sherd_client_poll(looping->client, some, 8, 0);

    assert_int_equal(status, 0);
    assert_int_equal(events, UV_READABLE);
    for (uint32_t i = 0; i < count; i++) {
        looping->answered += some[i].status == SHERD_CLIENT_ANSWERED;
        if (looping->left-- > 0)
            (void)ask(looping->client, REPEAT, PATIENCE);
    }
    sherd_completions_free(some, count);
    if (looping->left < -19)
        assert_int_equal(uv_poll_stop(watch), 0);
}

static void a_libuv_loop_watches_the_descriptor(void **state)
{
    struct sherd_system *system = lone_node();
    struct looping looping = { .left = 200 };
    uv_loop_t loop;

    (void)state;
    looping.client = open_client(system, (struct sherd_client_options){ 0 });
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(
        uv_poll_init(&loop, &looping.watch, sherd_client_fd(looping.client)), 0);
    assert_int_equal(uv_poll_start(&looping.watch, UV_READABLE, on_readable), 0);
    for (int i = 0; i < 20; i++)
        (void)ask(looping.client, REPEAT, PATIENCE);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(looping.answered, 220);
    uv_close((uv_handle_t *)&looping.watch, NULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    close_client(looping.client);
    sherd_close(system);
}

/* ---- many threads ---- */

/* Shared by the threads of a test. Each request has a number; it ends once. */
struct crowd {
    struct sherd_client *client;
    atomic_int asked, ended, answered;
    atomic_bool stops;
    uint64_t timeout;
    uint32_t cancels; /* one of so many asks is cancelled; 0: none */
    _Atomic uint8_t *ends; /* by number */
    int most;
};

static void end_one(struct crowd *crowd, const struct sherd_completion *one)
{
    uintptr_t number = (uintptr_t)one->user;

    assert_int_equal(crowd->ends[number]++, 0);
    if (one->status == SHERD_CLIENT_ANSWERED) {
        uintptr_t echoed;

        assert_int_equal(one->body.size, sizeof echoed);
        memcpy(&echoed, one->body.data, sizeof echoed);
        assert_int_equal(echoed, number); /* no answer of another request */
        crowd->answered++;
    }
    crowd->ended++;
}

static void on_done(void *user, const struct sherd_completion *completion)
{
    end_one(user, completion);
}

static void ask_much(void *argument)
{
    struct crowd *crowd = argument;
    uint64_t id = 0, last = 0;
    int number;

    while (!crowd->stops && (number = crowd->asked++) < crowd->most) {
        uintptr_t value = (uintptr_t)number;
        char name[16];
        struct sherd_entity_ref ref;
        struct sherd_request request = { .entity = &ref,
                                         .msg = REPEAT,
                                         .body = { &value, sizeof value },
                                         .timeout_ms = crowd->timeout,
                                         .or_fail = number % 7 == 0,
                                         .user = (void *)value };
        int result;

        snprintf(name, sizeof name, "e%d", number % 64);
        ref = entity(name);
        while ((result = sherd_client_ask(crowd->client, &request, &id)) ==
                   SHERD_EFULL &&
               !crowd->stops)
            uv_sleep(1);
        if (result != 0) {
            crowd->ends[number]++; /* not accepted: no completion */
            crowd->ended++;
            continue;
        }
        if (crowd->cancels && number % (int)crowd->cancels == 0)
            (void)sherd_client_cancel(crowd->client, number % 2 ? id : last);
        last = id;
    }
}

static void take_much(void *argument)
{
    struct crowd *crowd = argument;
    struct sherd_completion some[32];

    while (!crowd->stops || crowd->ended < crowd->most) {
        uint32_t count = sherd_client_poll(crowd->client, some, 32, 10);

        for (uint32_t i = 0; i < count; i++)
            end_one(crowd, &some[i]);
        sherd_completions_free(some, count);
        if (crowd->stops && count == 0)
            return;
    }
}

static void crowd_open(struct crowd *crowd, int most)
{
    memset(crowd, 0, sizeof *crowd);
    crowd->most = most;
    crowd->timeout = PATIENCE;
    crowd->ends = calloc((size_t)most, sizeof *crowd->ends);
}

static void run_threads(uv_thread_t *threads, int count, void (*run)(void *),
                        struct crowd *crowd)
{
    for (int i = 0; i < count; i++)
        assert_int_equal(uv_thread_create(&threads[i], run, crowd), 0);
}

static void join_threads(uv_thread_t *threads, int count)
{
    for (int i = 0; i < count; i++)
        assert_int_equal(uv_thread_join(&threads[i]), 0);
}

/* Every request that was made has ended once. */
static void crowd_close(struct crowd *crowd)
{
    int made = crowd->asked < crowd->most ? crowd->asked : crowd->most;

    assert_int_equal(crowd->ended, made);
    for (int i = 0; i < made; i++)
        assert_int_equal(crowd->ends[i], 1);
    free((void *)crowd->ends);
}

static void many_threads_ask_and_take(void **state)
{
    struct sherd_system *system = lone_node();
    uv_thread_t askers[THREADS], takers[2];
    struct crowd crowd;

    (void)state;
    crowd_open(&crowd, 20000);
    crowd.cancels = 11;
    crowd.client = open_client(
        system, (struct sherd_client_options){ .requests_max = 500 });
    run_threads(takers, 2, take_much, &crowd);
    run_threads(askers, THREADS, ask_much, &crowd);
    join_threads(askers, THREADS);
    await(&crowd.ended, crowd.most);
    crowd.stops = true;
    join_threads(takers, 2);
    assert_true(crowd.answered > crowd.most / 2);
    close_client(crowd.client);
    crowd_close(&crowd);
    sherd_close(system);
}

/* The threads ask until the client refuses. */
static void a_stop_during_load_ends_every_request(void **state)
{
    struct sherd_system *system = lone_node();
    uv_thread_t askers[THREADS];
    struct crowd crowd;

    (void)state;
    for (int round = 0; round < 10; round++) {
        crowd_open(&crowd, 1000000);
        crowd.cancels = 5;
        crowd.client = open_client(
            system, (struct sherd_client_options){ .done = on_done,
                                                   .done_user = &crowd });
        run_threads(askers, THREADS, ask_much, &crowd);
        while (crowd.answered < 200)
            uv_sleep(1);
        sherd_client_stop(crowd.client);
        crowd.stops = true;
        join_threads(askers, THREADS);
        close_client(crowd.client);
        crowd_close(&crowd);
    }
    sherd_close(system);
}

static void a_halt_during_load_ends_every_request(void **state)
{
    uv_thread_t askers[THREADS];
    struct crowd crowd;

    (void)state;
    for (int round = 0; round < 5; round++) {
        struct sherd_system *system = lone_node();

        crowd_open(&crowd, 1000000);
        crowd.client = open_client(
            system, (struct sherd_client_options){ .done = on_done,
                                                   .done_user = &crowd });
        run_threads(askers, THREADS, ask_much, &crowd);
        while (crowd.answered < 200)
            uv_sleep(1);
        sherd_halt(system);
        crowd.stops = true;
        join_threads(askers, THREADS);
        if (round % 2) {
            sherd_close(system);
            close_client(crowd.client);
        } else {
            close_client(crowd.client);
            sherd_close(system);
        }
        crowd_close(&crowd);
    }
}

/* Shards move to the second node and back while threads ask. Then a third one is killed. */
static void requests_end_while_shards_move_and_a_node_dies(void **state)
{
    struct sherd_system *system = lone_node(), *second, *third;
    uv_thread_t askers[THREADS];
    struct crowd crowd;
    char seed[64], dead[64];
    int seen;

    (void)state;
    snprintf(seed, sizeof seed, "127.0.0.1:%u", sherd_port(system));
    crowd_open(&crowd, 10000000);
    crowd.cancels = 101;
    crowd.timeout = 2000;
    crowd.client = open_client(
        system, (struct sherd_client_options){ .requests_max = 200,
                                               .done = on_done,
                                               .done_user = &crowd });
    run_threads(askers, THREADS, ask_much, &crowd);
    second = open_node(seed, false);
    third = open_node(seed, false);
    for (int i = 0; i < PATIENCE &&
                    !(sherd_is_ready(second) && sherd_is_ready(third));
         i++)
        uv_sleep(1);
    uv_sleep(3000); /* some rebalancing */
    sherd_leave(second);
    assert_int_equal(sherd_wait(second), 0);
    sherd_close(second);
    snprintf(dead, sizeof dead, "127.0.0.1:%u", sherd_port(third));
    sherd_halt(third);
    sherd_close(third);
    uv_sleep(2000); /* asks time out or fail */
    assert_int_equal(sherd_down(system, dead), 0);
    seen = crowd.answered;
    for (int i = 0; i < PATIENCE && crowd.answered < seen + 1000; i++)
        uv_sleep(1);
    assert_true(crowd.answered >= seen + 1000);
    crowd.stops = true;
    join_threads(askers, THREADS);
    close_client(crowd.client);
    crowd_close(&crowd);
    sherd_close(system);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_end_as_they_should),
        cmocka_unit_test(a_region_is_asked_for_the_entity_of_the_message),
        cmocka_unit_test(an_entity_is_started_and_acknowledged),
        cmocka_unit_test(actors_are_asked_by_the_ref_of_their_spawn),
        cmocka_unit_test(wrong_requests_are_refused_at_once),
        cmocka_unit_test(wrong_options_open_no_client),
        cmocka_unit_test(open_requests_are_bounded),
        cmocka_unit_test(requests_that_wait_for_a_lane_are_bounded),
        cmocka_unit_test(a_node_that_is_not_up_refuses),
        cmocka_unit_test(a_node_that_is_not_up_lets_requests_wait),
        cmocka_unit_test(requests_that_wait_end_with_the_node),
        cmocka_unit_test(callbacks_may_use_the_client_but_not_close_it),
        cmocka_unit_test(callbacks_hear_of_the_end_of_the_node),
        cmocka_unit_test(the_descriptor_is_readable_while_completions_wait),
        cmocka_unit_test(a_libuv_loop_watches_the_descriptor),
        cmocka_unit_test(many_threads_ask_and_take),
        cmocka_unit_test(a_stop_during_load_ends_every_request),
        cmocka_unit_test(a_halt_during_load_ends_every_request),
        cmocka_unit_test(requests_end_while_shards_move_and_a_node_dies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
