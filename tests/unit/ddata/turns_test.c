/* What one step of a replicator has no room for is done in the next ones, in order, and nothing of it is lost or repeated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "lone.h"

#define MANY 600 /* replicas: more than a step writes to */
#define LARGE 100000 /* bytes */
#define ELEMENTS 300 /* of a set: its digest takes a good part of what a step may spend */
#define KEYS 40

static struct node_id node_of_number(uint32_t number)
{
    struct node_id node = { .address = { .port = 2552 }, .uid = 1000 + number };

    snprintf(node.address.host, sizeof node.address.host, "n%u",
             (unsigned)number);
    return node;
}

static const struct consistency all = { .level = CONSISTENCY_ALL,
                                        .timeout_ms = 5000 };

/* With so many others beside its peer. */
static struct lone *among(uint32_t count)
{
    struct replicator_settings settings = { .deltas_off = true,
                                            .gossip_off = true };
    struct lone *lone = lone_new(&settings);

    for (uint32_t i = 0; i < count; i++) {
        struct node_id node = node_of_number(i);

        lone_tell(lone, &node, PEER_UP, true);
    }
    return lone;
}

static void put(struct lone *lone, const char *key, size_t size)
{
    char *bytes = mem_alloc(size);
    struct dd_other value = { 20, slice_text(""), slice_of(bytes, size) };

    lone_update(lone, slice_text(key),
                dd_register_new(&lone->identity.node, value, 1, DD_CLOCK_LAST),
                &all);
    mem_free(bytes);
}

/* Takes what was sent; counts it by key in `sent`, by node. */
static uint32_t take(struct lone *lone, const char *key, uint8_t *sent)
{
    struct outbound out;
    uint32_t count = 0;

    while (outbox_next(&lone->outbox, &out)) {
        struct message message;

        assert_true(message_get(message_kind_of(out.manifest), out.payload,
                                &message));
        assert_int_equal(message.kind, MESSAGE_WRITE);
        if (slice_is(message.entries[0].key, key) && out.to.uid >= 1000)
            sent[out.to.uid - 1000]++;
        message_fini(&message);
        count++;
    }
    return count;
}

static bool is_busy(const struct lone *lone)
{
    return replicator_deadline(lone->replicator) == 0;
}

static void a_write_goes_to_many_in_several_steps(void **state)
{
    struct lone *lone = among(MANY);
    uint8_t sent[MANY] = { 0 };
    uint32_t steps = 0;
    (void)state;

    put(lone, "k", 10);
    assert_in_range(take(lone, "k", sent), 1, REPLICATOR_STEP_MESSAGES);
    for (; is_busy(lone); steps++) {
        replicator_step(lone->replicator, 0, &lone->outbox);
        assert_in_range(take(lone, "k", sent), 1, REPLICATOR_STEP_MESSAGES);
    }
    assert_in_range(steps, 1, 4);
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(sent[i], 1);
    lone_free(lone);
}

static void large_values_are_copied_in_several_steps(void **state)
{
    struct lone *lone = among(MANY);
    uint8_t sent[MANY] = { 0 };
    uint32_t most = REPLICATOR_STEP_BYTES / LARGE + 1;
    (void)state;

    put(lone, "k", LARGE);
    assert_in_range(take(lone, "k", sent), 1, most);
    while (is_busy(lone)) {
        replicator_step(lone->replicator, 0, &lone->outbox);
        assert_in_range(take(lone, "k", sent), 1, most);
    }
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(sent[i], 1);
    lone_free(lone);
}

/* Of two writes nobody gets the second one before the first. */
static void writes_stay_in_order(void **state)
{
    struct lone *lone = among(MANY);
    uint8_t first[MANY] = { 0 };
    struct outbound out;
    uint32_t second = 0;
    (void)state;

    put(lone, "first", 10);
    put(lone, "second", 10);
    do {
        while (outbox_next(&lone->outbox, &out)) {
            struct message message;
            bool is_first;

            assert_true(message_get(message_kind_of(out.manifest),
                                    out.payload, &message));
            is_first = slice_is(message.entries[0].key, "first");
            message_fini(&message);
            if (out.to.uid < 1000)
                continue;
            if (is_first)
                first[out.to.uid - 1000] = 1;
            else
                assert_int_equal(first[out.to.uid - 1000], 1);
            second += !is_first;
        }
        replicator_step(lone->replicator, 0, &lone->outbox);
    } while (is_busy(lone) || lone->outbox.count);
    assert_int_equal(second, MANY);
    lone_free(lone);
}

static void a_write_that_has_ended_is_sent_no_more(void **state)
{
    struct lone *lone = among(MANY);
    uint8_t sent[MANY] = { 0 };
    struct replicator_news news;
    uint32_t count;
    (void)state;

    put(lone, "k", LARGE);
    count = take(lone, "k", sent);
    replicator_step(lone->replicator, 5 * SECOND, &lone->outbox);
    count += take(lone, "k", sent);
    assert_true(replicator_next_news(lone->replicator, &news));
    assert_int_equal(news.answer, REPLICATOR_UPDATE_TIMEOUT);
    assert_in_range(count, 2, MANY / 2);
    while (is_busy(lone))
        replicator_step(lone->replicator, 5 * SECOND, &lone->outbox);
    assert_int_equal(take(lone, "k", sent), 0);
    lone_free(lone);
}

/* What waits has a limit: a step is longer then. */
static void what_waits_has_a_limit(void **state)
{
    struct lone *lone = among(MANY);
    uint8_t sent[MANY] = { 0 };
    uint32_t most = REPLICATOR_STEP_BYTES / LARGE + 1;
    bool is_reached = false;
    (void)state;

    for (uint32_t i = 0; i < REPLICATOR_SENDING_BYTES_MAX / LARGE + 30; i++) {
        char key[8];

        snprintf(key, sizeof key, "k%u", (unsigned)i);
        put(lone, key, LARGE);
        is_reached |= take(lone, "k0", sent) > most;
    }
    assert_true(is_reached);
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(sent[i], 1); /* the first one's, and once */
    lone_free(lone);
}

static void a_replicator_that_ends_sends_no_more(void **state)
{
    struct lone *lone = among(MANY);
    uint8_t sent[MANY] = { 0 };
    (void)state;

    put(lone, "k", LARGE);
    (void)take(lone, "k", sent);
    replicator_peer_removed(lone->replicator, 0, &lone->identity.node);
    assert_int_equal(replicator_deadline(lone->replicator), NEVER);
    replicator_step(lone->replicator, 0, &lone->outbox);
    assert_int_equal(take(lone, "k", sent), 0);
    lone_free(lone);
}

/* ---- digests ---- */

static void put_set(struct lone *lone, uint32_t number, uint32_t from)
{
    struct dd_value *value = dd_new(DD_ORSET);
    char key[8];

    snprintf(key, sizeof key, "s%u", (unsigned)number);
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        struct dd_element element = dd_long(from + (int64_t)i * 7919);

        dd_orset_add(value, &lone->writer, &element);
    }
    lone_update(lone, slice_text(key), value, &local);
}

static struct lone *with_sets(void)
{
    struct replicator_settings settings = { .deltas_off = true };
    struct lone *lone = lone_new(&settings);

    for (uint32_t i = 0; i < KEYS; i++)
        put_set(lone, i, i);
    return lone;
}

/* How many digests the status has that was sent; 0: none was. */
static uint32_t digests(struct lone *lone)
{
    struct message status;
    uint32_t count = 0;

    while (lone_next(lone, &status)) {
        assert_int_equal(status.kind, MESSAGE_STATUS);
        for (uint32_t i = 0; i < status.count; i++)
            assert_int_equal(status.entries[i].bytes.size, 20);
        count += status.count;
        message_fini(&status);
    }
    return count;
}

static void digests_are_made_in_several_steps(void **state)
{
    struct lone *lone = with_sets();
    uint32_t steps = 0, found = 0;
    (void)state;

    replicator_step(lone->replicator, 2 * SECOND, &lone->outbox);
    assert_int_equal(digests(lone), 0);
    for (; is_busy(lone); steps++) {
        assert_int_equal(found, 0);
        replicator_step(lone->replicator, 2 * SECOND, &lone->outbox);
        found = digests(lone);
    }
    assert_int_equal(found, KEYS);
    assert_in_range(steps, 2, KEYS);
    /* They are known at the next round, but for what has changed. */
    put_set(lone, 1, 100);
    replicator_step(lone->replicator, 4 * SECOND, &lone->outbox);
    assert_int_equal(digests(lone), KEYS);
    assert_false(is_busy(lone));
    lone_free(lone);
}

/* All changes before each step: the status is sent after some of them nevertheless. */
static void what_changes_all_the_time_is_told_too(void **state)
{
    struct lone *lone = with_sets();
    uint32_t steps = 0, found = 0;
    (void)state;

    replicator_step(lone->replicator, 2 * SECOND, &lone->outbox);
    for (; !found && steps < 100; steps++) {
        for (uint32_t i = 0; i < KEYS; i++)
            put_set(lone, i, steps * 1000 + i);
        replicator_step(lone->replicator, 2 * SECOND, &lone->outbox);
        found = digests(lone);
    }
    assert_int_equal(found, KEYS);
    assert_false(is_busy(lone));
    lone_free(lone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_goes_to_many_in_several_steps),
        cmocka_unit_test(large_values_are_copied_in_several_steps),
        cmocka_unit_test(writes_stay_in_order),
        cmocka_unit_test(a_write_that_has_ended_is_sent_no_more),
        cmocka_unit_test(what_waits_has_a_limit),
        cmocka_unit_test(a_replicator_that_ends_sends_no_more),
        cmocka_unit_test(digests_are_made_in_several_steps),
        cmocka_unit_test(what_changes_all_the_time_is_told_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
