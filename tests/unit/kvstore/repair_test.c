/* Tests a read of a value that some replicas lack: the answer waits until R replicas have it.
 * Impostors replace the brokers of two of three replicas and answer as configured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sherd/sim.h>
#include <sherd/store.h>

#include "base/limits.h"
#include "kvstore/broker.h"
#include "kvstore/request.h"

#define NODES 3
#define READER 0
#define KEY "k"
#define TIMEOUT_MS 700
#define LATE_MS 300

/* An impostor's answers. */
struct part {
    const char *has; /* the version of that value; null: no version of the key */
    bool is_late;    /* it answers a read after LATE_MS */
    uint32_t says;   /* to a write; 0: no answer */
};

/* State of the test's actors: one simulation, one thread. */
static struct sherd_sim *sim;
static struct sherd_ref store;
static struct part parts[NODES];
static struct sherd_question late[NODES];
static uint32_t writes[NODES]; /* sent to impostors */
static const char *given; /* the reader's own version */
static struct sherd_store_level level;
static struct {
    uint32_t msg; /* 0: not answered */
    uint32_t replicas;
    char value[8];
    uint32_t writes; /* sent before */
} answer;

static enum sherd_next open_store(struct sherd_ctx *ctx, void *self,
                                  const struct sherd_msg *msg)
{
    const struct sherd_store_settings three = { .name = "test" };

    (void)self;
    if (msg->kind == SHERD_STARTED)
        assert_int_equal(sherd_store_open(ctx, &three, &store), 0);
    return SHERD_CONTINUE;
}

/* Equal values are the same version. */
static void put_version(const char *value, struct buf *body)
{
    struct siblings siblings = { 0 };
    struct history none = { 0 };

    if (value)
        assert_true(siblings_write(&siblings, &none,
                                   &(struct dot){ (uint64_t)value[0], 0, 1 },
                                   1000, false, slice_text(value)));
    siblings_put(&siblings, body);
    siblings_fini(&siblings);
}

static void tell_ref(struct sherd_ctx *ctx)
{
    struct sherd_ref ref = sherd_self(ctx);
    struct sherd_change change = { .verb = SHERD_ADD };
    char text[40];

    (void)snprintf(text, sizeof text, "%016llx%016llx",
                   (unsigned long long)ref.node, (unsigned long long)ref.actor);
    change.item = sherd_text(text);
    sherd_data_update(ctx, "sherd-store-test", SHERD_OR_SET, &change, 1, NULL,
                      1);
}

static void on_request(struct sherd_ctx *ctx, uint32_t index,
                       const struct sherd_msg *msg)
{
    const struct part *part = &parts[index];
    struct buf body = { 0 };

    if (msg->msg == KVSTORE_WRITE) {
        writes[index]++;
        if (part->says)
            sherd_reply(ctx, part->says, (struct sherd_bytes){ NULL, 0 });
    } else if (msg->msg == KVSTORE_READ && part->is_late) {
        late[index] = sherd_reply_later(ctx);
        sherd_timer(ctx, 1, LATE_MS);
    } else if (msg->msg == KVSTORE_READ) {
        put_version(part->has, &body);
        sherd_reply(ctx, KVSTORE_STATE,
                    (struct sherd_bytes){ body.data, body.size });
    }
    buf_fini(&body);
}

static enum sherd_next impostor(struct sherd_ctx *ctx, void *self,
                                const struct sherd_msg *msg)
{
    uint32_t *index = self;
    struct buf body = { 0 };

    switch (msg->kind) {
    case SHERD_STARTED:
        memcpy(index, msg->body.data, sizeof *index);
        tell_ref(ctx);
        break;
    case SHERD_MESSAGE:
        on_request(ctx, *index, msg);
        break;
    case SHERD_TIMER:
        put_version(parts[*index].has, &body);
        sherd_answer(ctx, &late[*index], KVSTORE_STATE,
                     (struct sherd_bytes){ body.data, body.size });
        buf_fini(&body);
        break;
    default:
        break;
    }
    return SHERD_CONTINUE;
}

/* Gives the reader its own version, as another broker does. */
static enum sherd_next giver(struct sherd_ctx *ctx, void *self,
                             const struct sherd_msg *msg)
{
    struct request request = { .key = slice_text(KEY) };
    struct buf body = { 0 };

    (void)self;
    if (msg->kind != SHERD_STARTED)
        return SHERD_CONTINUE;
    request_put(KVSTORE_WRITE, &request, &body);
    put_version(given, &body);
    sherd_ask(ctx, store, KVSTORE_WRITE,
              (struct sherd_bytes){ body.data, body.size }, 1, 1000);
    buf_fini(&body);
    return SHERD_CONTINUE;
}

static enum sherd_next caller(struct sherd_ctx *ctx, void *self,
                              const struct sherd_msg *msg)
{
    struct sherd_bytes value;
    size_t at = 0;

    (void)self;
    if (msg->kind == SHERD_STARTED)
        assert_int_equal(sherd_store_get(ctx, store, KEY, &level, 7), 0);
    if (msg->kind != SHERD_ANSWER)
        return SHERD_CONTINUE;
    answer.msg = msg->msg;
    answer.replicas = sherd_store_replicas(msg);
    for (uint32_t i = 0; i < NODES; i++)
        answer.writes += writes[i];
    while (sherd_store_next(msg, &at, &value))
        strncat(answer.value, value.data, value.size);
    return SHERD_STOP;
}

static void spawn(uint32_t node,
                  enum sherd_next (*receive)(struct sherd_ctx *, void *,
                                             const struct sherd_msg *))
{
    struct sherd_behavior behavior = { .name = "test",
                                       .state_size = sizeof(uint32_t),
                                       .receive = receive };

    assert_int_equal(sherd_sim_spawn(sim, node, &behavior,
                                     (struct sherd_bytes){ &node, sizeof node }, NULL),
                     0);
}

static int setup(void **state)
{
    const struct sherd_sim_options options = { .seed = 1, .nodes = NODES };

    (void)state;
    memset(parts, 0, sizeof parts);
    memset(writes, 0, sizeof writes);
    given = NULL;
    assert_int_equal(sherd_sim_open(&sim, &options), 0);
    spawn(READER, open_store);
    for (uint32_t i = 1; i < NODES; i++)
        spawn(i, impostor);
    sherd_sim_run(sim, 10000);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_null(sherd_sim_violation(sim));
    sherd_sim_close(sim);
    return 0;
}

static void read_of(uint32_t replicas)
{
    if (given) {
        spawn(READER, giver);
        sherd_sim_run(sim, 100);
    }
    memset(&answer, 0, sizeof answer);
    level = (struct sherd_store_level){ replicas, TIMEOUT_MS };
    spawn(READER, caller);
    sherd_sim_run(sim, 100);
}

static void expect(enum sherd_store_message msg, const char *value,
                   uint32_t replicas)
{
    assert_int_equal(answer.msg, msg);
    assert_string_equal(answer.value, value);
    assert_int_equal(answer.replicas, replicas);
}

/* The second replica has the value after the repair; the answer waits for that. */
static void a_replica_without_the_value_is_repaired_before_the_answer(void **state)
{
    (void)state;
    given = "a";
    parts[1].says = KVSTORE_TAKEN;
    parts[2].is_late = true;
    read_of(2);
    expect(SHERD_STORE_FOUND, "a", 2);
    assert_int_equal(answer.writes, 1);
    assert_int_equal(writes[1], 1);
}

/* Sends no repair and does not wait. */
static void agreeing_replicas_give_an_immediate_answer(void **state)
{
    (void)state;
    given = "a";
    parts[1].has = "a";
    parts[2].is_late = true;
    read_of(2);
    expect(SHERD_STORE_FOUND, "a", 2);
    assert_int_equal(answer.writes, 0);
    sherd_sim_run(sim, LATE_MS);
    assert_int_equal(writes[1], 0);
    assert_int_equal(writes[2], 1); /* the late one lacks it */
    given = NULL;
    parts[1] = parts[2] = (struct part){ .has = "a" };
    read_of(3);
    expect(SHERD_STORE_FOUND, "a", 3);
    assert_int_equal(writes[1] + writes[2], 1);
}

/* The reader merges the others' versions in the same step. */
static void a_reading_replica_repairs_itself(void **state)
{
    (void)state;
    parts[1].has = "a";
    parts[2].is_late = true;
    read_of(2);
    expect(SHERD_STORE_FOUND, "a", 2);
    assert_int_equal(answer.writes, 0);
}

/* A replica that refuses the repair because of a limit does not count: it does not have the
 * value. */
static void a_replica_that_refuses_the_repair_does_not_count(void **state)
{
    (void)state;
    given = "a";
    parts[1].says = parts[2].says = KVSTORE_NOT_TAKEN;
    read_of(2);
    expect(SHERD_STORE_UNMET, "", 1);
}

/* The read's timeout is the limit. */
static void a_silent_replica_does_not_count(void **state)
{
    (void)state;
    given = "a";
    read_of(2);
    assert_int_equal(answer.msg, 0);
    sherd_sim_run(sim, TIMEOUT_MS - 250);
    assert_int_equal(answer.msg, 0);
    sherd_sim_run(sim, 200);
    expect(SHERD_STORE_UNMET, "", 1);
    read_of(1); /* the reader itself */
    expect(SHERD_STORE_FOUND, "a", 1);
}

/* A late replica counts if it has the result, also beside something newer. The newer version is not
 * in the answer, because no other replica has it. */
static void a_late_replica_with_the_value_counts(void **state)
{
    (void)state;
    given = "a";
    parts[1].says = KVSTORE_NOT_TAKEN;
    parts[2] = (struct part){ .has = "a", .is_late = true };
    read_of(2);
    assert_int_equal(answer.msg, 0);
    sherd_sim_run(sim, LATE_MS);
    expect(SHERD_STORE_FOUND, "a", 2);
}

/* A late replica that lacks the result is repaired for it, too. Its own versions are not in the
 * answer. */
static void a_late_replica_without_the_value_is_repaired(void **state)
{
    (void)state;
    given = "a";
    parts[1].says = KVSTORE_NOT_TAKEN;
    parts[2] = (struct part){ .has = "b",
                              .is_late = true,
                              .says = KVSTORE_TAKEN };
    read_of(2);
    assert_int_equal(answer.msg, 0);
    sherd_sim_run(sim, LATE_MS + 50);
    expect(SHERD_STORE_FOUND, "a", 2);
    assert_int_equal(writes[2], 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_replica_without_the_value_is_repaired_before_the_answer),
        TEST(agreeing_replicas_give_an_immediate_answer),
        TEST(a_reading_replica_repairs_itself),
        TEST(a_replica_that_refuses_the_repair_does_not_count),
        TEST(a_silent_replica_does_not_count),
        TEST(a_late_replica_with_the_value_counts),
        TEST(a_late_replica_without_the_value_is_repaired),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
