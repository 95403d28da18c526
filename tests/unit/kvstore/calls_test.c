/* Tests the store on whole nodes with a virtual clock: calls, levels, siblings, repair, members
 * that join and leave, refusals. */
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

/* Orders name only the fields that they need. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define NODES_MAX 6
#define VALUES_MAX 16

enum op { GET, PUT, DELETE, STATUS, WRITE };

struct order {
    enum op op;
    uint32_t node;
    const char *key;
    const char *value;
    struct sherd_store_level level;
    int with_context; /* the context of the last answer */
    const struct siblings *siblings; /* of a WRITE: as another broker sends it */
};

/* State of the test's actors: one simulation, one thread. */
static struct sherd_sim *sim;
static struct sherd_store_settings settings;
static struct sherd_ref stores[NODES_MAX];
static int open_error;
static struct order order;
static struct sherd_bytes large; /* the value, if it has a size */
static struct {
    int done;
    uint32_t msg; /* 0: no answer */
    uint32_t replicas;
    char values[256]; /* in order, a blank after each */
    uint32_t count;
    uint64_t counts[SHERD_STORE_COUNTER_COUNT];
} answer;
static uint8_t context[KVSTORE_CONTEXT_SIZE_MAX];
static size_t context_size;

static enum sherd_next opener(struct sherd_ctx *ctx, void *self,
                              const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_STARTED)
        open_error = sherd_store_open(ctx, &settings,
                                      &stores[*(const uint32_t *)msg->body.data]);
    return SHERD_CONTINUE;
}

static void write_as_broker(struct sherd_ctx *ctx)
{
    struct request request = { .key = slice_text(order.key) };
    struct buf body = { 0 };

    request_put(KVSTORE_WRITE, &request, &body);
    siblings_put(order.siblings, &body);
    sherd_ask(ctx, stores[order.node], KVSTORE_WRITE,
              (struct sherd_bytes){ body.data, body.size }, 7, 1000);
    buf_fini(&body);
}

static int call(struct sherd_ctx *ctx)
{
    struct sherd_ref store = stores[order.node];
    struct sherd_bytes seen = { context, order.with_context ? context_size : 0 };
    struct sherd_bytes value = { order.value,
                                 order.value ? strlen(order.value) : 0 };

    if (large.size)
        value = large;
    switch (order.op) {
    case GET:
        return sherd_store_get(ctx, store, order.key, &order.level, 7);
    case PUT:
        return sherd_store_put(ctx, store, order.key, seen, value,
                               &order.level, 7);
    case DELETE:
        return sherd_store_delete(ctx, store, order.key, seen, &order.level, 7);
    case STATUS:
        sherd_store_status(ctx, store, 7);
        break;
    case WRITE:
        write_as_broker(ctx);
    }
    return 0;
}

static void read_answer(const struct sherd_msg *msg)
{
    struct sherd_bytes value, seen = sherd_store_context(msg);
    size_t at = 0;

    assert_int_equal(msg->tag, 7);
    assert_false(answer.done);
    answer.done = 1;
    if (msg->kind == SHERD_NO_ANSWER)
        return;
    answer.msg = msg->msg;
    if (sherd_store_counts(msg, answer.counts))
        return;
    answer.replicas = sherd_store_replicas(msg);
    context_size = seen.size;
    memcpy(context, seen.data ? seen.data : "", seen.size);
    while (sherd_store_next(msg, &at, &value)) {
        answer.count++;
        strncat(answer.values, value.data, value.size < 20 ? value.size : 20);
        strcat(answer.values, " ");
    }
}

static enum sherd_next caller(struct sherd_ctx *ctx, void *self,
                              const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_STARTED && call(ctx)) {
        answer.done = -1;
        return SHERD_STOP;
    }
    if (msg->kind != SHERD_ANSWER && msg->kind != SHERD_NO_ANSWER)
        return SHERD_CONTINUE;
    read_answer(msg);
    return SHERD_STOP;
}

static void spawn(uint32_t node, enum sherd_next (*receive)(struct sherd_ctx *, void *,
                                                            const struct sherd_msg *))
{
    struct sherd_behavior behavior = { .name = "test", .receive = receive };

    assert_int_equal(sherd_sim_spawn(sim, node, &behavior,
                                     (struct sherd_bytes){ &node, sizeof node }, NULL),
                     0);
}

static void open_store(uint32_t node)
{
    spawn(node, opener);
    sherd_sim_run(sim, 10);
    assert_int_equal(open_error, 0);
}

static void set(uint32_t nodes)
{
    const struct sherd_sim_options options = { .seed = 1, .nodes = nodes };

    if (!settings.name)
        settings.name = "test";
    assert_int_equal(sherd_sim_open(&sim, &options), 0);
    for (uint32_t i = 0; i < nodes; i++)
        open_store(i);
    sherd_sim_run(sim, 10000);
}

static int teardown(void **state)
{
    (void)state;
    assert_null(sim ? sherd_sim_violation(sim) : NULL);
    sherd_sim_close(sim);
    sim = NULL;
    settings = (struct sherd_store_settings){ 0 };
    large = (struct sherd_bytes){ NULL, 0 };
    return 0;
}

/* Runs until the answer arrives. */
static void run_order(struct order given)
{
    order = given;
    memset(&answer, 0, sizeof answer);
    spawn(given.node, caller);
    for (int i = 0; i < 7000 && !answer.done; i++)
        sherd_sim_run(sim, 10);
    assert_int_equal(answer.done, 1);
}

#define ORDER(...) run_order((struct order){ __VA_ARGS__ })

static uint64_t count_of(uint32_t node, enum sherd_store_counter counter)
{
    ORDER(STATUS, node);
    assert_int_equal(answer.msg, SHERD_STORE_STATUS);
    return answer.counts[counter];
}

/* Expects on every running node that all calls are accounted for. */
static void expect_sums(uint32_t nodes)
{
    for (uint32_t i = 0; i < nodes; i++) {
        if (!sherd_sim_alive(sim, i))
            continue;
        ORDER(STATUS, i);
        assert_int_equal(answer.counts[SHERD_STORE_GETS] +
                             answer.counts[SHERD_STORE_PUTS],
                         answer.counts[SHERD_STORE_DONE] +
                             answer.counts[SHERD_STORE_SHORT] +
                             answer.counts[SHERD_STORE_DENIED] +
                             answer.counts[SHERD_STORE_OPEN]);
        assert_int_equal(answer.counts[SHERD_STORE_MALFORMED], 0);
    }
}

static void expect(enum sherd_store_message msg, const char *values)
{
    assert_int_equal(answer.msg, msg);
    assert_string_equal(answer.values, values);
}

/* Returns the number of nodes that have the only key. */
static uint32_t holders(uint32_t nodes)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < nodes; i++)
        if (sherd_sim_alive(sim, i))
            count += (uint32_t)count_of(i, SHERD_STORE_KEYS);
    return count;
}

/* ---- tests ---- */

static void values_are_written_and_read_anywhere(void **state)
{
    (void)state;
    set(5);
    ORDER(GET, 0, "k");
    expect(SHERD_STORE_NOT_FOUND, "");
    assert_int_equal(answer.replicas, 2);
    for (uint32_t i = 0; i < 5; i++) {
        char value[2] = { (char)('a' + i), 0 }, found[3] = { value[0], ' ', 0 };

        ORDER(PUT, i, "k", value, .with_context = 1);
        expect(SHERD_STORE_WRITTEN, "");
        assert_int_equal(answer.replicas, 2);
        assert_true(context_size > 0); /* for the next write */
        ORDER(GET, (i + 1) % 5, "k");
        expect(SHERD_STORE_FOUND, found);
    }
    ORDER(DELETE, 2, "k", .with_context = 1);
    expect(SHERD_STORE_WRITTEN, "");
    ORDER(GET, 4, "k");
    expect(SHERD_STORE_NOT_FOUND, "");
    sherd_sim_run(sim, 1000);
    assert_int_equal(holders(5), 3);
    expect_sums(5);
}

static void writes_that_do_not_know_each_other_are_siblings(void **state)
{
    (void)state;
    set(4);
    ORDER(PUT, 0, "k", "a");
    expect(SHERD_STORE_WRITTEN, "");
    ORDER(PUT, 1, "k", "b");
    expect(SHERD_STORE_WRITTEN, "");
    assert_int_equal(context_size, 0); /* it has a sibling that the writer has not read */
    ORDER(GET, 2, "k");
    assert_int_equal(answer.count, 2);
    ORDER(PUT, 3, "k", "c", .with_context = 1);
    ORDER(GET, 0, "k");
    expect(SHERD_STORE_FOUND, "c ");
    for (uint32_t i = 1; i < KVSTORE_SIBLINGS_PUT_MAX; i++) {
        ORDER(PUT, 0, "k", "d");
        expect(SHERD_STORE_WRITTEN, "");
    }
    ORDER(PUT, 1, "k", "e");
    expect(SHERD_STORE_REFUSED, "");
    ORDER(GET, 1, "k");
    assert_int_equal(answer.count, KVSTORE_SIBLINGS_PUT_MAX);
    ORDER(DELETE, 1, "k", .with_context = 1);
    ORDER(GET, 1, "k");
    expect(SHERD_STORE_NOT_FOUND, "");
    expect_sums(4);
}

/* R and W of a call decide how many replicas it needs. */
static void levels_decide_how_many_replicas_must_answer_SEED030(void **state)
{
    (void)state;
    set(3);
    ORDER(PUT, 0, "k", "a", .level.replicas = 3);
    expect(SHERD_STORE_WRITTEN, "");
    assert_int_equal(answer.replicas, 3);
    ORDER(PUT, 0, "k", "a", .level.replicas = 4);
    expect(SHERD_STORE_TOO_FEW, "");
    assert_int_equal(sherd_sim_pause(sim, 1, 1), 0);
    assert_int_equal(sherd_sim_pause(sim, 2, 1), 0);
    ORDER(PUT, 0, "k", "b", .level = { 0, 700 }, .with_context = 1);
    expect(SHERD_STORE_UNMET, "");
    assert_int_equal(answer.replicas, 1);
    ORDER(GET, 0, "k", .level = { 0, 700 });
    expect(SHERD_STORE_UNMET, "");
    ORDER(GET, 0, "k", .level = { 1, 700 });
    expect(SHERD_STORE_FOUND, "a b "); /* a write that failed may be read */
    assert_int_equal(sherd_sim_pause(sim, 1, 0), 0);
    assert_int_equal(sherd_sim_pause(sim, 2, 0), 0);
    sherd_sim_run(sim, 20000);
    ORDER(GET, 1, "k", .level.replicas = 3);
    expect(SHERD_STORE_FOUND, "a b ");
    expect_sums(3);
}

/* A replica that had no room lacks the version until a read repairs it, also a read that did not
 * wait for it. */
static void a_read_repairs_replicas_that_lack_a_version_SEED031(void **state)
{
    (void)state;
    settings.keep_deleted_ms = 5000;
    set(2);
    ORDER(PUT, 0, "other", "x", .level.replicas = 2);
    settings.keys_max = 1;
    assert_int_equal(sherd_sim_leave(sim, 1), 0);
    sherd_sim_run(sim, 40000);
    assert_int_equal(sherd_sim_start(sim, 1), 0);
    assert_int_equal(sherd_sim_heal(sim, 120000), 0);
    open_store(1);
    sherd_sim_run(sim, 20000);
    ORDER(PUT, 0, "k", "a", .level.replicas = 2);
    expect(SHERD_STORE_UNMET, ""); /* immediately: it was refused */
    assert_int_equal(answer.replicas, 1);
    assert_int_equal(count_of(1, SHERD_STORE_NOT_TAKEN), 1);
    ORDER(GET, 0, "other");
    ORDER(DELETE, 0, "other", .level.replicas = 2, .with_context = 1);
    expect(SHERD_STORE_WRITTEN, "");
    sherd_sim_run(sim, 20000);
    assert_int_equal(holders(2), 1);
    ORDER(GET, 0, "k", .level.replicas = 1); /* this node's own answer */
    expect(SHERD_STORE_FOUND, "a ");
    sherd_sim_run(sim, 5000);
    assert_int_equal(count_of(0, SHERD_STORE_REPAIRS), 1);
    assert_int_equal(holders(2), 2);
    ORDER(GET, 1, "k", .level.replicas = 1);
    expect(SHERD_STORE_FOUND, "a ");
    ORDER(GET, 1, "k", .level.replicas = 2);
    assert_int_equal(count_of(1, SHERD_STORE_REPAIRS), 0); /* they are equal */
    expect_sums(2);
}

/* Keys move to new members and from leaving ones, and away from former replicas. */
static void keys_move_with_their_replicas(void **state)
{
    char key[16];
    uint64_t moved = 0;
    const uint32_t keys = KVSTORE_MOVES_MAX + 6; /* more than move at a time */

    (void)state;
    set(6);
    for (uint32_t i = 0; i < keys; i++) {
        (void)snprintf(key, sizeof key, "k%u", i);
        ORDER(PUT, i % 6, key, "v", .level.replicas = 3);
        assert_int_equal(answer.msg, SHERD_STORE_WRITTEN);
    }
    assert_int_equal(holders(6), 3 * keys);
    assert_int_equal(sherd_sim_leave(sim, 5), 0);
    sherd_sim_run(sim, 40000);
    assert_false(sherd_sim_alive(sim, 5));
    assert_int_equal(holders(5), 3 * keys);
    for (uint32_t i = 0; i < 5; i++) {
        moved += count_of(i, SHERD_STORE_MOVED);
        assert_int_equal(count_of(i, SHERD_STORE_MEMBERS), 5);
        assert_int_equal(count_of(i, SHERD_STORE_MOVING), 0);
    }
    assert_true(moved > 0);
    assert_int_equal(sherd_sim_start(sim, 5), 0);
    assert_int_equal(sherd_sim_heal(sim, 120000), 0);
    open_store(5);
    sherd_sim_run(sim, 40000);
    assert_int_equal(holders(6), 3 * keys); /* it has its keys again, and no node has too many */
    assert_true(count_of(5, SHERD_STORE_KEYS) > 0);
    for (uint32_t i = 0; i < keys; i++) {
        (void)snprintf(key, sizeof key, "k%u", i);
        ORDER(GET, i % 6, key, .level.replicas = 3);
        expect(SHERD_STORE_FOUND, "v ");
    }
    expect_sums(6);
}

/* A sender with an older ring: the key moves on before members change. */
static void a_key_at_no_replica_moves_on(void **state)
{
    struct siblings other = { 0 };
    struct history none = { 0 };
    uint32_t node = 0;

    (void)state;
    set(5);
    ORDER(PUT, 0, "k", "a", .level.replicas = 3);
    expect(SHERD_STORE_WRITTEN, "");
    while (count_of(node, SHERD_STORE_KEYS))
        node++;
    assert_true(siblings_write(&other, &none, &(struct dot){ 1, 0, 1 }, 1000,
                               false, slice_text("b")));
    ORDER(WRITE, node, "k", .siblings = &other);
    assert_int_equal(answer.msg, KVSTORE_ASTRAY);
    assert_int_equal(count_of(node, SHERD_STORE_KEYS), 1);
    sherd_sim_run(sim, 2 * KVSTORE_ASTRAY_MS);
    assert_int_equal(count_of(node, SHERD_STORE_KEYS), 0);
    assert_int_equal(count_of(node, SHERD_STORE_MOVING), 0);
    assert_int_equal(holders(5), 3);
    ORDER(GET, node, "k", .level.replicas = 3);
    assert_int_equal(answer.count, 2);
    expect_sums(5);
    siblings_fini(&other);
}

static void a_deletion_is_forgotten_after_the_configured_time(void **state)
{
    const uint32_t keys = KVSTORE_FORGETS_MAX + 6; /* more than at a time */
    char key[16];

    (void)state;
    settings.keep_deleted_ms = 30000;
    set(3);
    ORDER(PUT, 0, "k", "a", .level.replicas = 3);
    ORDER(DELETE, 0, "k", .level.replicas = 3, .with_context = 1);
    expect(SHERD_STORE_WRITTEN, "");
    for (uint32_t i = 1; i < keys; i++) {
        (void)snprintf(key, sizeof key, "k%u", i);
        ORDER(DELETE, i % 3, key, .level.replicas = 3);
    }
    sherd_sim_run(sim, 10000);
    assert_int_equal(holders(3), 3 * keys);
    sherd_sim_run(sim, 60000);
    assert_int_equal(holders(3), 0);
    ORDER(PUT, 1, "k", "b");
    ORDER(GET, 2, "k");
    expect(SHERD_STORE_FOUND, "b ");
}

/* One replica missed the deletion, and stays away longer than the others keep deletions. */
static void a_deletion_stays_until_all_replicas_have_it(void **state)
{
    struct siblings old = { 0 }, deleted = { 0 };
    struct history none = { 0 };

    (void)state;
    settings.keep_deleted_ms = 1000;
    set(3);
    sherd_sim_run(sim, KVSTORE_FORGET_CALM_MS);
    assert_true(siblings_write(&old, &none, &(struct dot){ 1, 0, 1 }, 1000,
                               false, slice_text("a")));
    siblings_copy(&deleted, &old);
    assert_true(siblings_write(&deleted, &old.history, &(struct dot){ 1, 0, 2 },
                               1000, true, slice_of(NULL, 0)));
    ORDER(WRITE, 2, "k", .siblings = &old);
    assert_int_equal(sherd_sim_pause(sim, 2, 1), 0);
    ORDER(WRITE, 0, "k", .siblings = &deleted);
    ORDER(WRITE, 1, "k", .siblings = &deleted);
    sherd_sim_run(sim, 2 * KVSTORE_FORGET_CALM_MS);
    assert_int_equal(count_of(0, SHERD_STORE_KEYS), 1);
    assert_int_equal(count_of(1, SHERD_STORE_KEYS), 1);
    assert_int_equal(sherd_sim_pause(sim, 2, 0), 0);
    sherd_sim_run(sim, 3 * KVSTORE_FORGET_CALM_MS);
    assert_int_equal(holders(3), 0);
    ORDER(GET, 2, "k", .level.replicas = 3);
    expect(SHERD_STORE_NOT_FOUND, "");
    expect_sums(3);
    siblings_fini(&old);
    siblings_fini(&deleted);
}

static void calls_beyond_a_limit_are_refused(void **state)
{
    static uint8_t value[SHERD_STORE_VALUE_MAX + 1];
    char key[SHERD_STORE_KEY_MAX + 2];

    (void)state;
    settings.keys_max = 2;
    set(1);
    ORDER(PUT, 0, "a", "v", .level.replicas = 1);
    ORDER(GET, 0, "a"); /* N is 3, there is one */
    expect(SHERD_STORE_TOO_FEW, "");
    ORDER(PUT, 0, "b", "v", .level.replicas = 1);
    ORDER(PUT, 0, "c", "v", .level.replicas = 1);
    expect(SHERD_STORE_REFUSED, "");
    large = (struct sherd_bytes){ value, SHERD_STORE_VALUE_MAX };
    memset(key, 'k', sizeof key);
    key[SHERD_STORE_KEY_MAX] = 0;
    ORDER(PUT, 0, "a", .level.replicas = 1, .with_context = 1);
    expect(SHERD_STORE_WRITTEN, "");
    large.size++;
    order = (struct order){ PUT, 0, "a", .level.replicas = 1 };
    memset(&answer, 0, sizeof answer);
    spawn(0, caller);
    sherd_sim_run(sim, 100);
    assert_int_equal(answer.done, -1);
    large.size = 0;
    key[SHERD_STORE_KEY_MAX] = 'k';
    key[SHERD_STORE_KEY_MAX + 1] = 0;
    order = (struct order){ GET, 0, key, .level.timeout_ms = 1 };
    answer.done = 0;
    spawn(0, caller);
    sherd_sim_run(sim, 100);
    assert_int_equal(answer.done, -1);
    order = (struct order){ GET, 0, "a", .level.timeout_ms = KVSTORE_TIMEOUT_MS_MAX + 1 };
    answer.done = 0;
    spawn(0, caller);
    sherd_sim_run(sim, 100);
    assert_int_equal(answer.done, -1);
    expect_sums(1);
}

/* Values of 16 KiB until there is no room; a replacement needs none. */
static void bytes_are_limited(void **state)
{
    static uint8_t value[SHERD_STORE_VALUE_MAX];
    char key[16];
    uint32_t keys = 0;

    (void)state;
    settings.bytes_max = KVSTORE_BYTES_MIN;
    settings.replicas = 1;
    set(1);
    large = (struct sherd_bytes){ value, sizeof value };
    do {
        (void)snprintf(key, sizeof key, "k%u", keys++);
        ORDER(PUT, 0, key);
        assert_true(keys < 100);
    } while (answer.msg == SHERD_STORE_WRITTEN);
    expect(SHERD_STORE_REFUSED, "");
    assert_in_range(keys, 60, 64);
    assert_int_equal(count_of(0, SHERD_STORE_FULL), 1);
    assert_int_equal(count_of(0, SHERD_STORE_DENIED), 1);
    assert_in_range(count_of(0, SHERD_STORE_BYTES),
                    KVSTORE_BYTES_MIN - 2 * sizeof value, KVSTORE_BYTES_MIN);
    ORDER(PUT, 0, "k0"); /* beside the other one */
    expect(SHERD_STORE_REFUSED, "");
    ORDER(GET, 0, "k0");
    ORDER(PUT, 0, "k0", .with_context = 1);
    expect(SHERD_STORE_WRITTEN, "");
    ORDER(DELETE, 0, "k0", .with_context = 1);
    expect(SHERD_STORE_WRITTEN, "");
    ORDER(PUT, 0, key);
    expect(SHERD_STORE_WRITTEN, "");
    expect_sums(1);
}

/* Returns the number of entries in the last answer's clock. */
static uint32_t entries_of_context(void)
{
    struct history history = { 0 };
    uint32_t count;

    assert_true(context_get(slice_text("k"),
                            slice_of(context, context_size), &history));
    count = history.entries.count;
    history_fini(&history);
    return count;
}

/* Drops of other keys do not affect this one. */
static void clocks_do_not_grow_with_drops(void **state)
{
    char key[16];

    (void)state;
    settings.replicas = 1;
    settings.keep_deleted_ms = 1000;
    set(1);
    sherd_sim_run(sim, KVSTORE_FORGET_CALM_MS);
    ORDER(PUT, 0, "k", "a");
    for (uint32_t i = 0; i < KVSTORE_HISTORY_SMALL; i++) {
        (void)snprintf(key, sizeof key, "k%u", i);
        ORDER(DELETE, 0, key);
        sherd_sim_run(sim, 5000);
        assert_int_equal(count_of(0, SHERD_STORE_DROPPED), i + 1);
        ORDER(GET, 0, "k");
        ORDER(PUT, 0, "k", "a", .with_context = 1);
        assert_int_equal(entries_of_context(), 1);
    }
    ORDER(GET, 0, "k");
    ORDER(DELETE, 0, "k", .with_context = 1);
    sherd_sim_run(sim, 5000);
    assert_int_equal(holders(1), 0);
    ORDER(PUT, 0, "k", "b");
    expect(SHERD_STORE_WRITTEN, "");
    ORDER(GET, 0, "k");
    expect(SHERD_STORE_FOUND, "b ");
}

/* The second broker is on the same node and has forgotten the first one's writes. */
static void another_broker_writes_other_versions(void **state)
{
    (void)state;
    set(3);
    ORDER(PUT, 0, "k", "a", .level.replicas = 3);
    expect(SHERD_STORE_WRITTEN, "");
    open_store(0);
    sherd_sim_run(sim, 10000);
    ORDER(PUT, 0, "k", "b", .level.replicas = 3);
    expect(SHERD_STORE_WRITTEN, "");
    ORDER(GET, 1, "k");
    assert_int_equal(answer.count, 2);
}

/* Expects refusals without an answer. */
static void expect_invalid(struct order given)
{
    order = given;
    memset(&answer, 0, sizeof answer);
    spawn(given.node, caller);
    sherd_sim_run(sim, 100);
    assert_int_equal(answer.done, -1);
}

/* An altered context would cover writes that do not exist yet, which would then vanish at the first
 * merge. */
static void an_altered_context_is_refused(void **state)
{
    struct history history = { 0 };
    struct buf bytes = { 0 };

    (void)state;
    set(3);
    ORDER(PUT, 0, "k", "a");
    assert_true(context_size > 0);
    expect_invalid((struct order){ PUT, 0, "other", "b", .with_context = 1 });
    context[context_size - 1] ^= 1;
    expect_invalid((struct order){ PUT, 0, "k", "b", .with_context = 1 });
    context[context_size - 1] ^= 1;
    expect_invalid((struct order){ DELETE, 0, "other", .with_context = 1 });
    assert_true(context_get(slice_text("k"), slice_of(context, context_size), &history));
    context_put(slice_text("k"), &history, &bytes);
    assert_int_equal(bytes.size, context_size);
    assert_memory_equal(bytes.data, context, context_size);
    assert_false(context_get(slice_text("k"), slice_of(context, 5), &history));
    ORDER(PUT, 0, "k", "b", .with_context = 1);
    expect(SHERD_STORE_WRITTEN, "");
    ORDER(GET, 1, "k");
    expect(SHERD_STORE_FOUND, "b ");
    buf_fini(&bytes);
    history_fini(&history);
}

/* Sends more concurrent calls for one key than there may be. */
static enum sherd_next flooder(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_STARTED)
        for (uint32_t i = 0; i < KVSTORE_CALLS_MAX + 5; i++)
            assert_int_equal(sherd_store_get(ctx, stores[0], "k", &order.level, i), 0);
    if (msg->kind == SHERD_ANSWER && msg->msg == SHERD_STORE_REFUSED)
        answer.count++;
    if (msg->kind == SHERD_ANSWER && msg->msg == SHERD_STORE_UNMET)
        answer.done++;
    return SHERD_CONTINUE;
}

static void open_calls_are_limited(void **state)
{
    (void)state;
    set(3);
    for (uint32_t i = 1; i < 3; i++)
        assert_int_equal(sherd_sim_pause(sim, i, 1), 0);
    order = (struct order){ .level.timeout_ms = 1000 };
    memset(&answer, 0, sizeof answer);
    spawn(0, flooder);
    sherd_sim_run(sim, 500);
    assert_int_equal(answer.count, 5);
    assert_int_equal(answer.done, 0);
    sherd_sim_run(sim, 1000);
    assert_int_equal(answer.done, KVSTORE_CALLS_MAX);
    for (uint32_t i = 1; i < 3; i++)
        assert_int_equal(sherd_sim_pause(sim, i, 0), 0);
    sherd_sim_run(sim, 20000);
    expect_sums(3);
    assert_int_equal(count_of(0, SHERD_STORE_OPEN), 0);
    assert_int_equal(count_of(0, SHERD_STORE_DENIED), 5);
}

static void settings_are_checked(void **state)
{
    static const struct sherd_store_settings wrong[] = {
        { .name = "" },
        { .name = "a b" },
        { .name = "x", .replicas = SHERD_STORE_REPLICAS_MAX + 1 },
        { .name = "x", .replicas = 3, .read = 4 },
        { .name = "x", .bytes_max = KVSTORE_BYTES_MIN - 1 },
        { .name = "x", .replicas = 2, .write = 3 },
        { .name = "x", .timeout_ms = KVSTORE_TIMEOUT_MS_MAX + 1 },
        { .name = "0123456789012345678901234567890123456789012345678901234567890123x" },
    };

    (void)state;
    set(1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        settings = wrong[i];
        spawn(0, opener);
        sherd_sim_run(sim, 10);
        assert_int_equal(open_error, SHERD_EINVAL);
    }
}

/* By default R and W are the smallest majority of N. */
static void a_quorum_is_more_than_half_SEED027(void **state)
{
    static const uint32_t quorums[] = { 1, 2, 2, 3, 3 };

    (void)state;
    for (uint32_t i = 0; i < sizeof quorums / sizeof *quorums; i++) {
        struct sherd_store_settings few = { .name = "x", .replicas = i + 1 };
        struct sherd_store_settings full;

        assert_true(broker_settings(&few, &full));
        assert_int_equal(full.read, quorums[i]);
        assert_int_equal(full.write, quorums[i]);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, teardown)
    const struct CMUnitTest tests[] = {
        TEST(values_are_written_and_read_anywhere),
        TEST(writes_that_do_not_know_each_other_are_siblings),
        TEST(levels_decide_how_many_replicas_must_answer_SEED030),
        TEST(a_read_repairs_replicas_that_lack_a_version_SEED031),
        TEST(keys_move_with_their_replicas),
        TEST(a_key_at_no_replica_moves_on),
        TEST(a_deletion_is_forgotten_after_the_configured_time),
        TEST(a_deletion_stays_until_all_replicas_have_it),
        TEST(calls_beyond_a_limit_are_refused),
        TEST(bytes_are_limited),
        TEST(clocks_do_not_grow_with_drops),
        TEST(another_broker_writes_other_versions),
        TEST(an_altered_context_is_refused),
        TEST(open_calls_are_limited),
        TEST(settings_are_checked),
        cmocka_unit_test(a_quorum_is_more_than_half_SEED027),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
