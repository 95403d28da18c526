/* Tests the store on whole nodes while one leaves. */
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

#define NODES 6
#define LEAVES (NODES - 1)
#define KEYS 200
#define PARTS 40 /* the many keys are this many times KEYS */

/* State of the test's actors: one simulation, one thread. */
static struct sherd_sim *sim;
static struct sherd_ref stores[NODES];
static uint32_t good, bad; /* answers */
static uint32_t replicas; /* of a store opened from now on; 0: the usual number */
static uint64_t counts[SHERD_STORE_COUNTER_COUNT]; /* of a broker, as last read */
static uint32_t many; /* current part of the many keys */

typedef enum sherd_next receiver(struct sherd_ctx *ctx, void *self,
                                 const struct sherd_msg *msg);

static enum sherd_next opener(struct sherd_ctx *ctx, void *self,
                              const struct sherd_msg *msg)
{
    const struct sherd_store_settings settings = { .name = "test",
                                                   .replicas = replicas };

    (void)self;
    if (msg->kind == SHERD_STARTED)
        assert_int_equal(
            sherd_store_open(ctx, &settings,
                             &stores[*(const uint32_t *)msg->body.data]),
            0);
    return SHERD_CONTINUE;
}

static void spawn(uint32_t node, receiver *receive)
{
    struct sherd_behavior behavior = { .name = "test", .receive = receive };

    assert_int_equal(
        sherd_sim_spawn(sim, node, &behavior,
                        (struct sherd_bytes){ &node, sizeof node }, NULL),
        0);
}

static void open_all(void)
{
    const struct sherd_sim_options options = { .seed = 1, .nodes = NODES };

    assert_int_equal(sherd_sim_open(&sim, &options), 0);
    for (uint32_t i = 0; i < NODES; i++) {
        spawn(i, opener);
        sherd_sim_run(sim, 10);
    }
    sherd_sim_run(sim, 10000);
    good = bad = 0;
}

static int setup(void **state)
{
    (void)state;
    open_all();
    return 0;
}

/* Starts again with this number of replicas. */
static void reopen(void)
{
    sherd_sim_close(sim);
    open_all();
}

static int teardown(void **state)
{
    (void)state;
    assert_null(sherd_sim_violation(sim));
    sherd_sim_close(sim);
    replicas = 0;
    return 0;
}

static const char *key_of(uint32_t index)
{
    static char key[24];

    (void)snprintf(key, sizeof key, "k%u-%u", many, index);
    return key;
}

/* Puts all keys at once by a broker that stays. */
static enum sherd_next writer(struct sherd_ctx *ctx, void *self,
                              const struct sherd_msg *msg)
{
    const struct sherd_bytes none = { NULL, 0 }, value = { "v", 1 };

    (void)self;
    for (uint32_t i = 0; msg->kind == SHERD_STARTED && i < KEYS; i++)
        assert_int_equal(sherd_store_put(ctx, stores[0], key_of(i), none,
                                         value, NULL, i),
                         0);
    if (msg->kind == SHERD_ANSWER && msg->msg == SHERD_STORE_WRITTEN)
        good++;
    else if (msg->kind == SHERD_ANSWER || msg->kind == SHERD_NO_ANSWER)
        bad++;
    return SHERD_CONTINUE;
}

/* Reads all keys at once from one replica each, by the leaving broker. */
static enum sherd_next reader(struct sherd_ctx *ctx, void *self,
                              const struct sherd_msg *msg)
{
    const struct sherd_store_level one = { 1, 0 };

    (void)self;
    for (uint32_t i = 0; msg->kind == SHERD_STARTED && i < KEYS; i++)
        assert_int_equal(
            sherd_store_get(ctx, stores[LEAVES], key_of(i), &one, i), 0);
    good += msg->kind == SHERD_ANSWER && msg->msg == SHERD_STORE_FOUND;
    bad += msg->kind == SHERD_ANSWER && msg->msg == SHERD_STORE_NOT_FOUND;
    return SHERD_CONTINUE;
}

/* The same by a broker that stays. */
static enum sherd_next reader_that_stays(struct sherd_ctx *ctx, void *self,
                                         const struct sherd_msg *msg)
{
    (void)self;
    for (uint32_t i = 0; msg->kind == SHERD_STARTED && i < KEYS; i++)
        assert_int_equal(
            sherd_store_get(ctx, stores[0], key_of(i), NULL, i), 0);
    good += msg->kind == SHERD_ANSWER && msg->msg == SHERD_STORE_FOUND;
    bad += msg->kind == SHERD_ANSWER && msg->msg != SHERD_STORE_FOUND;
    return SHERD_CONTINUE;
}

/* Returns how often that was done during the leave. */
static uint32_t leave(receiver *receive, uint32_t most)
{
    uint32_t rounds = 0;

    good = bad = 0;
    assert_int_equal(sherd_sim_leave(sim, LEAVES), 0);
    for (; rounds < most && sherd_sim_alive(sim, LEAVES); rounds++) {
        spawn(receive == reader ? LEAVES : 0, receive);
        sherd_sim_run(sim, 3);
    }
    sherd_sim_run(sim, 40000);
    assert_false(sherd_sim_alive(sim, LEAVES));
    return rounds;
}

/* A leaving replica answers reads until it has left and the others know: the next replica may not
 * have its keys yet. */
static void a_leaving_node_still_answers_reads(void **state)
{
    (void)state;
    spawn(0, writer);
    sherd_sim_run(sim, 1000);
    assert_int_equal(good, KEYS);
    (void)leave(reader, 10);
    assert_true(good > KEYS);
    assert_int_equal(bad, 0);
}

/* It refuses to coordinate, so another replica does. */
static void puts_succeed_while_a_replica_leaves(void **state)
{
    uint32_t rounds = leave(writer, 4); /* each makes a sibling of a key */

    (void)state;
    assert_true(rounds > 1);
    assert_int_equal(bad, 0);
    assert_int_equal(good, rounds * KEYS);
}

/* With one replica of each key, no other node has its keys. */
static void a_leaving_node_hands_over_keys_that_only_it_has(void **state)
{
    (void)state;
    replicas = 1;
    reopen();
    spawn(0, writer);
    sherd_sim_run(sim, 1000);
    assert_int_equal(good, KEYS);
    (void)leave(reader, 0);
    good = bad = 0;
    spawn(0, reader_that_stays);
    sherd_sim_run(sim, 10000);
    assert_int_equal(good, KEYS);
    assert_int_equal(bad, 0);
}

/* Counts keys with two values. */
static enum sherd_next counter(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    struct sherd_bytes value;
    uint32_t count = 0;
    size_t at = 0;

    (void)self;
    for (uint32_t i = 0; msg->kind == SHERD_STARTED && i < KEYS; i++)
        assert_int_equal(
            sherd_store_get(ctx, stores[0], key_of(i), NULL, i), 0);
    if (msg->kind != SHERD_ANSWER)
        return SHERD_CONTINUE;
    while (msg->msg == SHERD_STORE_FOUND && sherd_store_next(msg, &at, &value))
        count++;
    good += count == 2;
    bad += count != 2;
    return SHERD_CONTINUE;
}

/* Reads the counters of its node's broker within a ms. */
static enum sherd_next looker(struct sherd_ctx *ctx, void *self,
                              const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_STARTED)
        sherd_store_status(ctx, stores[*(const uint32_t *)msg->body.data], 1);
    if (msg->kind != SHERD_ANSWER)
        return SHERD_CONTINUE;
    assert_true(sherd_store_counts(msg, counts));
    return SHERD_STOP;
}

static uint64_t count_of(uint32_t node, enum sherd_store_counter counter)
{
    counts[counter] = UINT64_MAX;
    spawn(node, looker);
    for (uint32_t i = 0; i < 1000 && counts[counter] == UINT64_MAX; i++)
        sherd_sim_run(sim, 1);
    return counts[counter];
}

static void await_members(uint64_t wanted)
{
    for (uint32_t i = 0; i < 60000 && count_of(0, SHERD_STORE_MEMBERS) != wanted; i++)
        sherd_sim_run(sim, 1);
    assert_int_equal(counts[SHERD_STORE_MEMBERS], wanted);
}

/* Each replica has its keys and no others, with so many moves that walks continue while keys are
 * dropped. */
static void many_keys_end_at_their_replicas(void **state)
{
    uint64_t sum = 0;

    (void)state;
    replicas = 1;
    reopen();
    assert_int_equal(sherd_sim_leave(sim, LEAVES), 0);
    await_members(NODES - 1);
    sherd_sim_run(sim, 20000);
    for (many = 0; many < PARTS; many++) {
        spawn(0, writer);
        sherd_sim_run(sim, 1000);
    }
    many = 0;
    assert_int_equal(good, PARTS * KEYS);
    assert_int_equal(sherd_sim_start(sim, LEAVES), 0);
    assert_int_equal(sherd_sim_heal(sim, 120000), 0);
    spawn(LEAVES, opener);
    sherd_sim_run(sim, 60000);
    for (uint32_t i = 0; i < NODES; i++) {
        sum += count_of(i, SHERD_STORE_KEYS);
        assert_int_equal(counts[SHERD_STORE_MOVING], 0);
    }
    assert_int_equal(sum, PARTS * KEYS);
    assert_true(count_of(LEAVES, SHERD_STORE_KEYS) > 2 * KVSTORE_MOVES_MAX);
}

/* A broker is again a replica of a key that it gave away. It writes the key before the others send
 * theirs; the write does not cover its own former writes. */
static void a_returning_replicas_write_does_not_replace_its_earlier_one(void **state)
{
    (void)state;
    replicas = 2;
    reopen();
    assert_int_equal(sherd_sim_leave(sim, LEAVES), 0);
    await_members(NODES - 1);
    sherd_sim_run(sim, 20000);
    spawn(0, writer);
    sherd_sim_run(sim, 1000);
    assert_int_equal(good, KEYS);
    assert_int_equal(sherd_sim_start(sim, LEAVES), 0);
    assert_int_equal(sherd_sim_heal(sim, 120000), 0);
    spawn(LEAVES, opener);
    sherd_sim_run(sim, 60000); /* keys have moved */
    await_members(NODES);
    assert_int_equal(sherd_sim_crash(sim, LEAVES), 0);
    assert_int_equal(sherd_sim_down(sim, 0, LEAVES), 0);
    await_members(NODES - 1);
    good = bad = 0;
    spawn(0, writer);
    sherd_sim_run(sim, 40000);
    /* some lack a replica that others still consider a member; the keys exist all the same */
    assert_int_equal(good + bad, KEYS);
    good = bad = 0;
    spawn(0, counter);
    sherd_sim_run(sim, 10000);
    assert_int_equal(good, KEYS);
    assert_int_equal(bad, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_leaving_node_still_answers_reads),
        TEST(puts_succeed_while_a_replica_leaves),
        TEST(a_leaving_node_hands_over_keys_that_only_it_has),
        TEST(a_returning_replicas_write_does_not_replace_its_earlier_one),
        TEST(many_keys_end_at_their_replicas),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
