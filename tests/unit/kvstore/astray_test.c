/* Tests a broker whose key belongs to a replica that does not see itself as one. An impostor
 * replaces that replica's broker. */
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

#define HOLDER 0
#define IMPOSTOR 1

/* State of the test's actors: one simulation, one thread. */
static struct sherd_sim *sim;
static struct sherd_ref holder;
static uint64_t keys;        /* of the holder */
static uint32_t says;        /* the impostor's answer to a write */
static uint32_t was_sent;    /* writes to the impostor */
static uint32_t told;        /* the holder's last answer to a write */
static const char *key;

static enum sherd_next open_store(struct sherd_ctx *ctx, void *self,
                                  const struct sherd_msg *msg)
{
    const struct sherd_store_settings one = { .name = "test", .replicas = 1 };

    (void)self;
    if (msg->kind == SHERD_STARTED)
        assert_int_equal(sherd_store_open(ctx, &one, &holder), 0);
    return SHERD_CONTINUE;
}

/* Publishes its ref as brokers do. */
static enum sherd_next impostor(struct sherd_ctx *ctx, void *self,
                                const struct sherd_msg *msg)
{
    struct sherd_ref ref = sherd_self(ctx);
    struct sherd_change change = { .verb = SHERD_ADD };
    char text[40];

    (void)self;
    (void)snprintf(text, sizeof text, "%016llx%016llx",
                   (unsigned long long)ref.node, (unsigned long long)ref.actor);
    change.item = sherd_text(text);
    if (msg->kind == SHERD_STARTED)
        sherd_data_update(ctx, "sherd-store-test", SHERD_OR_SET, &change, 1,
                          NULL, 1);
    if (msg->kind == SHERD_MESSAGE && msg->msg == KVSTORE_WRITE) {
        was_sent++;
        sherd_reply(ctx, says, (struct sherd_bytes){ NULL, 0 });
    }
    return SHERD_CONTINUE;
}

static enum sherd_next write_key(struct sherd_ctx *ctx, void *self,
                                 const struct sherd_msg *msg)
{
    struct siblings siblings = { 0 };
    struct history none = { 0 };
    struct request request = { .key = slice_text(key) };
    struct buf body = { 0 };

    (void)self;
    if (msg->kind == SHERD_ANSWER)
        told = msg->msg;
    if (msg->kind != SHERD_STARTED)
        return SHERD_CONTINUE;
    assert_true(siblings_write(&siblings, &none, &(struct dot){ 1, 0, 1 }, 1000,
                               false, slice_text("v")));
    request_put(KVSTORE_WRITE, &request, &body);
    siblings_put(&siblings, &body);
    sherd_ask(ctx, holder, KVSTORE_WRITE,
              (struct sherd_bytes){ body.data, body.size }, 1, 1000);
    buf_fini(&body);
    siblings_fini(&siblings);
    return SHERD_CONTINUE;
}

static enum sherd_next count_keys(struct sherd_ctx *ctx, void *self,
                                  const struct sherd_msg *msg)
{
    uint64_t counts[SHERD_STORE_COUNTER_COUNT];

    (void)self;
    if (msg->kind == SHERD_STARTED)
        sherd_store_status(ctx, holder, 1);
    if (msg->kind == SHERD_ANSWER && sherd_store_counts(msg, counts))
        keys = counts[SHERD_STORE_KEYS];
    return SHERD_CONTINUE;
}

static void spawn(uint32_t node,
                  enum sherd_next (*receive)(struct sherd_ctx *, void *,
                                             const struct sherd_msg *))
{
    struct sherd_behavior behavior = { .name = "test", .receive = receive };

    assert_int_equal(sherd_sim_spawn(sim, node, &behavior,
                                     (struct sherd_bytes){ NULL, 0 }, NULL),
                     0);
    sherd_sim_run(sim, 100);
}

static uint64_t count(void)
{
    keys = UINT64_MAX;
    spawn(HOLDER, count_keys);
    return keys;
}

/* Writes a key that the impostor's node must keep. */
static void give_a_key(void)
{
    static char text[16];

    key = text;
    for (uint32_t i = 0; told != KVSTORE_ASTRAY; i++) {
        assert_true(i < 100);
        (void)snprintf(text, sizeof text, "k%u", i);
        spawn(IMPOSTOR, write_key);
    }
}

static void a_key_stays_until_a_replica_has_it(void **state)
{
    const struct sherd_sim_options options = { .seed = 1, .nodes = 2 };
    uint64_t before;

    (void)state;
    assert_int_equal(sherd_sim_open(&sim, &options), 0);
    spawn(HOLDER, open_store);
    spawn(IMPOSTOR, impostor);
    sherd_sim_run(sim, 10000);
    says = KVSTORE_ASTRAY;
    give_a_key();
    before = count();
    sherd_sim_run(sim, KVSTORE_ASTRAY_MS + 3 * KVSTORE_MOVE_RETRY_MS);
    assert_true(was_sent > 1); /* and again */
    assert_int_equal(count(), before);
    says = KVSTORE_TAKEN;
    sherd_sim_run(sim, 2 * KVSTORE_MOVE_RETRY_MS);
    assert_int_equal(count(), before - 1);
    assert_null(sherd_sim_violation(sim));
    sherd_sim_close(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_stays_until_a_replica_has_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
