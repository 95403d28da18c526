/* Checks every limit of a replicator: excess is refused, answered and counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/limits.h"
#include "cluster.h"
#include "ddata/replicator_inside.h"

static const char *const durable[] = { "dur*" };

struct bench {
    struct identity identity;
    struct dd_writer writer;
    struct replicator *replicator;
    struct outbox outbox;
};

static void begin(struct bench *bench,
                  const struct replicator_settings *settings,
                  bool has_durable)
{
    memset(bench, 0, sizeof *bench);
    bench->identity = (struct identity){ "akka", "S", { { "me", 1 }, 5 } };
    bench->writer.node = bench->identity.node;
    bench->replicator = replicator_new(
        &(struct replicator_options){ .identity = &bench->identity,
                                      .path = CLUSTER_PATH,
                                      .settings = *settings,
                                      .durable_keys = durable,
                                      .durable_key_count = has_durable,
                                      .writer = &bench->writer,
                                      .seed = 3 },
        0);
}

static void end(struct bench *bench)
{
    replicator_free(bench->replicator);
    outbox_fini(&bench->outbox);
}

static void add_peers(struct bench *bench, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        replicator_peer(bench->replicator, 0,
                        &(struct member_info){ .node = { { "p", (uint16_t)(i + 1) },
                                                  i + 1 },
                                        .up_number = 1,
                                        .status = MEMBER_UP,
                                        .reachable = true,
                                        .has_role = true });
}

/* The last answer. */
static enum replicator_answer drain(struct bench *bench)
{
    enum replicator_answer answer = REPLICATOR_NOT_FOUND;
    struct replicator_news news;
    struct outbound out;

    while (replicator_next_news(bench->replicator, &news))
        if (news.kind == REPLICATOR_NEWS_ANSWER)
            answer = news.answer;
    while (outbox_next(&bench->outbox, &out))
        ;
    return answer;
}

static enum replicator_answer put(struct bench *bench, struct slice key,
                                  struct dd_value *value,
                                  const struct consistency *consistency)
{
    const struct dd_value *current;

    if (replicator_update_begin(bench->replicator, 0, 1, key, &current,
                                &bench->outbox) == REPLICATOR_MODIFY)
        replicator_update(bench->replicator, 0, 1, key, value, consistency,
                          &bench->outbox);
    else
        dd_free(value);
    return drain(bench);
}

static struct dd_value *set_of(char letter, uint32_t size)
{
    struct dd_value *value = dd_new(DD_GSET);
    uint8_t *text = mem_alloc(size);
    struct dd_element element = { .kind = DD_TEXT,
                                  .text = slice_of(text, size) };

    memset(text, letter, size);
    dd_gset_add(value, &element);
    mem_free(text);
    return value;
}

static void keys_have_a_limit(void **state)
{
    struct replicator_settings settings = { .deltas_off = true };
    struct bench bench;
    (void)state;

    begin(&bench, &settings, false);
    for (uint32_t i = 0; i < REPLICATOR_KEYS_MAX; i++) {
        uint64_t key = i;

        replicator_delete(bench.replicator, 0, 1, slice_of(&key, sizeof key),
                          &local, &bench.outbox);
        if (i % 1000 == 0)
            assert_int_equal(drain(&bench), REPLICATOR_SUCCESS);
    }
    assert_int_equal(drain(&bench), REPLICATOR_SUCCESS);
    assert_int_equal(replicator_view(bench.replicator).deleted,
                     REPLICATOR_KEYS_MAX);
    assert_int_equal(put(&bench, slice_text("one more"), dd_new(DD_FLAG),
                         &local),
                     REPLICATOR_FULL);
    assert_int_equal(replicator_counters(bench.replicator)->too_many, 1);
    assert_int_equal(replicator_counters(bench.replicator)->refused, 1);
    end(&bench);
}

static void sizes_of_keys_and_entries_have_limits(void **state)
{
    struct replicator_settings settings = { .entry_size_max = 1000 };
    char key[REPLICATOR_KEY_SIZE_MAX + 1];
    struct bench bench;
    (void)state;

    begin(&bench, &settings, false);
    memset(key, 'k', sizeof key);
    assert_int_equal(put(&bench, slice_of(key, REPLICATOR_KEY_SIZE_MAX),
                         dd_new(DD_FLAG), &local),
                     REPLICATOR_SUCCESS);
    assert_int_equal(put(&bench, slice_of(key, sizeof key), dd_new(DD_FLAG),
                         &local),
                     REPLICATOR_TOO_LARGE);
    assert_false(replicator_subscribe(bench.replicator, 1,
                                      slice_of(key, sizeof key)));
    assert_int_equal(put(&bench, slice_text("A"), set_of('a', 1000), &local),
                     REPLICATOR_TOO_LARGE);
    assert_null(replicator_look(bench.replicator, slice_text("A")));
    assert_int_equal(put(&bench, slice_text("A"), set_of('a', 600), &local),
                     REPLICATOR_SUCCESS);
    /* The same value adds nothing; another 600 bytes do not fit. */
    for (int i = 0; i < 5; i++)
        assert_int_equal(put(&bench, slice_text("A"), set_of('a', 600),
                             &local),
                         REPLICATOR_SUCCESS);
    assert_int_equal(put(&bench, slice_text("A"), set_of('b', 600), &local),
                     REPLICATOR_TOO_LARGE);
    assert_int_equal(
        dd_set_count(replicator_look(bench.replicator, slice_text("A"))), 1);
    assert_int_equal(put(&bench, slice_text("A"), set_of('b', 100), &local),
                     REPLICATOR_SUCCESS);
    assert_int_equal(replicator_counters(bench.replicator)->too_large, 2);
    end(&bench);
}

/* They are not acknowledged. */
static void received_entries_have_a_size_limit(void **state)
{
    struct replicator_settings settings = { .entry_size_max = 1000 };
    struct envelope envelope = { .value = set_of('a', 600) };
    struct bench bench;
    (void)state;

    begin(&bench, &settings, false);
    assert_true(take_entry(bench.replicator, slice_text("A"), &envelope, 650,
                           NULL, &bench.outbox));
    envelope_fini(&envelope);
    envelope.value = set_of('a', 600);
    assert_true(take_entry(bench.replicator, slice_text("A"), &envelope, 650,
                           NULL, &bench.outbox));
    envelope_fini(&envelope);
    envelope.value = set_of('b', 600);
    assert_false(take_entry(bench.replicator, slice_text("A"), &envelope, 650,
                            NULL, &bench.outbox));
    envelope_fini(&envelope);
    envelope.value = set_of('a', 6000);
    assert_false(take_entry(bench.replicator, slice_text("B"), &envelope, 6050,
                            NULL, &bench.outbox));
    envelope_fini(&envelope);
    assert_int_equal(replicator_counters(bench.replicator)->too_large, 2);
    assert_int_equal(
        dd_set_count(replicator_look(bench.replicator, slice_text("A"))), 1);
    end(&bench);
}

/* Sets the count as if there were such entries. */
static void the_size_of_all_entries_has_a_limit(void **state)
{
    struct replicator_settings settings = { .deltas_off = true };
    struct bench bench;
    (void)state;

    begin(&bench, &settings, false);
    bench.replicator->bytes = REPLICATOR_BYTES_MAX;
    assert_int_equal(put(&bench, slice_text("A"), dd_new(DD_FLAG), &local),
                     REPLICATOR_FULL);
    bench.replicator->bytes -= 100;
    assert_int_equal(put(&bench, slice_text("A"), dd_new(DD_FLAG), &local),
                     REPLICATOR_SUCCESS);
    assert_int_equal(replicator_counters(bench.replicator)->too_many, 1);
    end(&bench);
}

static void open_reads_have_a_limit(void **state)
{
    struct replicator_settings settings = { .gossip_off = true };
    struct bench bench;
    struct consistency all = to_all(1000);
    (void)state;

    begin(&bench, &settings, false);
    add_peers(&bench, 1);
    for (uint32_t i = 0; i < REPLICATOR_AGGREGATORS_MAX; i++) {
        replicator_get(bench.replicator, 0, i, slice_text("A"), &all,
                       &bench.outbox);
        if (i % 1000 == 0)
            (void)drain(&bench);
    }
    assert_int_equal(drain(&bench), REPLICATOR_NOT_FOUND); /* there is no answer */
    replicator_get(bench.replicator, 0, 1, slice_text("A"), &all,
                   &bench.outbox);
    assert_int_equal(drain(&bench), REPLICATOR_FULL);
    assert_int_equal(put(&bench, slice_text("A"), dd_new(DD_FLAG), &all),
                     REPLICATOR_FULL);
    assert_null(replicator_look(bench.replicator, slice_text("A")));
    assert_int_equal(put(&bench, slice_text("A"), dd_new(DD_FLAG), &local),
                     REPLICATOR_SUCCESS);
    replicator_step(bench.replicator, SECOND, &bench.outbox);
    assert_int_equal(replicator_view(bench.replicator).aggregators, 0);
    assert_int_equal(drain(&bench), REPLICATOR_GET_FAILURE);
    end(&bench);
}

/* It is the limit in large clusters. */
static void the_memory_of_reads_has_a_limit(void **state)
{
    struct replicator_settings settings = { .gossip_off = true };
    struct bench bench;
    struct consistency all = to_all(1000);
    uint32_t count = 0;
    (void)state;

    begin(&bench, &settings, false);
    add_peers(&bench, 1000);
    while (aggregator_has_room(bench.replicator)) {
        replicator_get(bench.replicator, 0, count++, slice_text("A"), &all,
                       &bench.outbox);
        (void)drain(&bench);
    }
    assert_true(bench.replicator->aggregator_bytes <=
                REPLICATOR_AGGREGATOR_BYTES_MAX + 4096);
    assert_in_range(count, REPLICATOR_AGGREGATOR_BYTES_MAX / 1000 / 400,
                    REPLICATOR_AGGREGATOR_BYTES_MAX / 1000 / 200);
    end(&bench);
}

#define HOUR_MS 3600000

/* However long their time-outs are. */
static void ended_reads_leave_no_timers(void **state)
{
    const struct consistency one = { CONSISTENCY_MAJORITY_PLUS, 0, 0, HOUR_MS };
    struct replicator_settings settings = { .gossip_off = true };
    struct consistency all = to_all(HOUR_MS);
    struct bench bench;
    (void)state;

    begin(&bench, &settings, false);
    add_peers(&bench, 1);
    for (uint32_t i = 0; i < 10; i++) /* not answered */
        replicator_get(bench.replicator, 0, 1, slice_text("A"), &all,
                       &bench.outbox);
    replicator_peer_removed(bench.replicator, 0,
                            &(struct node_id){ { "p", 1 }, 1 });
    for (uint32_t i = 0; i < 3 * REPLICATOR_AGGREGATORS_MAX; i++) {
        replicator_get(bench.replicator, 0, 1, slice_text("A"), &one,
                       &bench.outbox);
        assert_int_equal(drain(&bench), REPLICATOR_NOT_FOUND);
        assert_true(bench.replicator->timers.count <= 200);
        assert_true(bench.replicator->timers.capacity <= 512);
    }
    /* The others keep theirs. */
    replicator_step(bench.replicator, HOUR_MS * MS - 1, &bench.outbox);
    assert_int_equal(replicator_view(bench.replicator).aggregators, 10);
    replicator_step(bench.replicator, HOUR_MS * MS, &bench.outbox);
    assert_int_equal(replicator_view(bench.replicator).aggregators, 0);
    assert_int_equal(drain(&bench), REPLICATOR_GET_FAILURE);
    end(&bench);
}

static void subscriptions_have_a_limit(void **state)
{
    struct replicator_settings settings = { .deltas_off = true };
    struct bench bench;
    (void)state;

    begin(&bench, &settings, false);
    for (uint64_t i = 0; i < REPLICATOR_SUBSCRIPTIONS_MAX; i++)
        assert_true(replicator_subscribe(bench.replicator, i,
                                         slice_of(&i, sizeof i)));
    assert_false(replicator_subscribe(bench.replicator, 1, slice_text("A")));
    assert_int_equal(replicator_counters(bench.replicator)->refused, 1);
    replicator_unsubscribe_all(bench.replicator, 7);
    assert_true(replicator_subscribe(bench.replicator, 1, slice_text("A")));
    end(&bench);
}

static void waiting_commands_have_a_limit(void **state)
{
    struct replicator_settings settings = { .deltas_off = true };
    const struct dd_value *current;
    struct bench bench;
    (void)state;

    begin(&bench, &settings, true);
    for (uint32_t i = 0; i < REPLICATOR_WAITING_MAX; i++)
        replicator_get(bench.replicator, 0, i, slice_text("A"), &local,
                       &bench.outbox);
    assert_int_equal(bench.replicator->news.count, 0);
    replicator_get(bench.replicator, 0, 1, slice_text("A"), &local,
                   &bench.outbox);
    assert_int_equal(drain(&bench), REPLICATOR_FULL);
    assert_int_equal(replicator_update_begin(bench.replicator, 0, 2,
                                             slice_text("A"), &current,
                                             &bench.outbox),
                     REPLICATOR_ANSWERED);
    assert_int_equal(drain(&bench), REPLICATOR_FULL);
    assert_int_equal(replicator_counters(bench.replicator)->refused, 2);
    replicator_loaded(bench.replicator, 0, true, &bench.outbox);
    assert_int_equal(bench.replicator->news.count, REPLICATOR_WAITING_MAX);
    end(&bench);
}

static void entries_being_stored_have_a_limit(void **state)
{
    struct replicator_settings settings = { .deltas_off = true };
    struct envelope envelope = { 0 };
    struct bench bench;
    struct inbound inbound = { .from = { { "p", 1 }, 1 },
                               .sender = slice_text("/system/x") };
    struct outbound out;
    (void)state;

    begin(&bench, &settings, true);
    replicator_loaded(bench.replicator, 0, true, &bench.outbox);
    for (uint32_t i = 0; i < REPLICATOR_STORES_MAX; i++)
        (void)put(&bench, slice_text("durable"), dd_new(DD_FLAG), &local);
    assert_int_equal(bench.replicator->storing.count, REPLICATOR_STORES_MAX);
    assert_int_equal(put(&bench, slice_text("durable"), dd_new(DD_FLAG),
                         &local),
                     REPLICATOR_FULL);
    /* A peer's write is stored, but not acknowledged. */
    envelope.value = dd_new(DD_FLAG);
    assert_true(take_entry(bench.replicator, slice_text("durable"), &envelope,
                           20, &inbound, &bench.outbox));
    assert_true(outbox_next(&bench.outbox, &out));
    assert_true(slice_is(out.manifest, "O"));
    assert_int_equal(replicator_counters(bench.replicator)->stores_refused, 1);
    envelope_fini(&envelope);
    end(&bench);
}

/* In addition to those asked at first. */
static void later_asked_replicas_have_a_limit(void **state)
{
    struct replicator_settings settings = { .gossip_off = true };
    struct consistency two = to_count(2, 1000);
    struct bench bench;
    uint32_t count = 0;
    struct outbound out;
    (void)state;

    begin(&bench, &settings, false);
    add_peers(&bench, 40);
    replicator_get(bench.replicator, 0, 1, slice_text("A"), &two,
                   &bench.outbox);
    replicator_step(bench.replicator, 200 * MS, &bench.outbox);
    while (outbox_next(&bench.outbox, &out))
        count++;
    assert_int_equal(count, 1 + REPLICATOR_SECONDARIES_MAX);
    end(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_have_a_limit),
        cmocka_unit_test(sizes_of_keys_and_entries_have_limits),
        cmocka_unit_test(received_entries_have_a_size_limit),
        cmocka_unit_test(the_size_of_all_entries_has_a_limit),
        cmocka_unit_test(open_reads_have_a_limit),
        cmocka_unit_test(the_memory_of_reads_has_a_limit),
        cmocka_unit_test(ended_reads_leave_no_timers),
        cmocka_unit_test(subscriptions_have_a_limit),
        cmocka_unit_test(waiting_commands_have_a_limit),
        cmocka_unit_test(entries_being_stored_have_a_limit),
        cmocka_unit_test(later_asked_replicas_have_a_limit),
    };

    return cmocka_run_group_tests_name("ddata_replicator_limits", tests, NULL, NULL);
}
