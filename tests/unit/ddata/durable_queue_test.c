/* Checks the answers to changes of durable keys, to callers and peers: a change succeeds only when
 * the local store has it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lone.h"

#define TIMEOUT_MS 1000

static const struct replicator_settings quiet = { .gossip_off = true };

enum change { CHANGE_UPDATE, CHANGE_DELETE, CHANGES };

static struct lone *loaded(void)
{
    struct lone *lone = lone_with(&quiet, true);

    replicator_loaded(lone->replicator, 0, true, &lone->outbox);
    return lone;
}

static void begin(struct lone *lone, enum change change, struct slice key,
                  const struct consistency *consistency)
{
    struct dd_value *value;

    if (change == CHANGE_DELETE) {
        replicator_delete(lone->replicator, 0, 1, key, consistency,
                          &lone->outbox);
        return;
    }
    value = dd_new(DD_GCOUNTER);
    dd_gcounter_add(value, &lone->identity.node, 1);
    lone_update(lone, key, value, consistency);
}

/* Changes a durable key. Returns the ticket of the entry; there is no answer yet. */
static uint64_t change(struct lone *lone, enum change change,
                       const struct consistency *consistency)
{
    struct replicator_news news;
    uint64_t ticket;

    begin(lone, change, slice_text("durable"), consistency);
    assert_true(replicator_next_news(lone->replicator, &news));
    assert_int_equal(news.kind, REPLICATOR_NEWS_STORE);
    ticket = news.ticket;
    assert_int_not_equal(ticket, 0);
    assert_false(replicator_next_news(lone->replicator, &news));
    return ticket;
}

static void peer_says(struct lone *lone, enum message_kind kind)
{
    lone_answer(lone, CLUSTER_PATH "/$a", &(struct message){ .kind = kind });
}

static void store_says(struct lone *lone, uint64_t ticket, bool is_good)
{
    replicator_stored(lone->replicator, 0, ticket, is_good, &lone->outbox);
}

static void time_is_over(struct lone *lone)
{
    replicator_step(lone->replicator, TIMEOUT_MS * MS, &lone->outbox);
}

static void assert_silent(struct lone *lone)
{
    struct replicator_news news;

    assert_false(replicator_next_news(lone->replicator, &news));
}

/* Exactly one answer. */
static void assert_answer(struct lone *lone, enum replicator_answer answer)
{
    struct replicator_news news;

    assert_true(replicator_next_news(lone->replicator, &news));
    assert_int_equal(news.kind, REPLICATOR_NEWS_ANSWER);
    assert_int_equal(news.token, 1);
    assert_string_equal(replicator_answer_text(news.answer),
                        replicator_answer_text(answer));
    assert_silent(lone);
}

static void a_write_waits_for_the_local_store(void **state)
{
    struct consistency all = to_all(TIMEOUT_MS);
    (void)state;

    for (int kind = 0; kind < CHANGES; kind++) {
        struct lone *lone = loaded();
        uint64_t ticket = change(lone, (enum change)kind, &all);

        peer_says(lone, MESSAGE_WRITE_ACK);
        assert_silent(lone);
        store_says(lone, ticket, true);
        assert_answer(lone, REPLICATOR_SUCCESS);
        store_says(lone, ticket, true); /* again: no effect */
        time_is_over(lone);
        assert_silent(lone);
        lone_free(lone);
    }
}

static const enum replicator_answer late[CHANGES] = {
    REPLICATOR_UPDATE_TIMEOUT, REPLICATOR_DELETE_FAILURE
};

/* All others have it. */
static void a_write_times_out_before_the_local_store_answers(void **state)
{
    struct consistency all = to_all(TIMEOUT_MS);
    (void)state;

    for (int kind = 0; kind < CHANGES; kind++) {
        struct lone *lone = loaded();
        uint64_t ticket = change(lone, (enum change)kind, &all);

        peer_says(lone, MESSAGE_WRITE_ACK);
        time_is_over(lone);
        assert_answer(lone, late[kind]);
        store_says(lone, ticket, true);
        assert_silent(lone);
        lone_free(lone);
    }
}

/* The others leave, but at this level the write still is one of several. */
static void a_write_that_needs_no_others_waits_for_the_local_store(void **state)
{
    struct consistency plus = { CONSISTENCY_MAJORITY_PLUS, 1, 0, TIMEOUT_MS };
    (void)state;

    for (int kind = 0; kind < CHANGES; kind++) {
        struct lone *lone = loaded();
        uint64_t ticket;

        lone_tell(lone, &lone->peer, MEMBER_EXITING, true);
        ticket = change(lone, (enum change)kind, &plus);
        time_is_over(lone);
        assert_answer(lone, late[kind]);
        store_says(lone, ticket, true);
        assert_silent(lone);
        lone_free(lone);
        lone = loaded();
        lone_tell(lone, &lone->peer, MEMBER_EXITING, true);
        store_says(lone, change(lone, (enum change)kind, &plus), true);
        assert_answer(lone, REPLICATOR_SUCCESS);
        lone_free(lone);
    }
}

/* Neither other replicas nor their silence change that. */
static void a_refusal_of_the_local_store_fails_the_write(void **state)
{
    static const enum message_kind said[] = {
        MESSAGE_WRITE_ACK, MESSAGE_WRITE_NACK, MESSAGE_UNKNOWN /* no answer */
    };
    struct consistency all = to_all(TIMEOUT_MS);
    (void)state;

    for (int kind = 0; kind < CHANGES; kind++) {
        for (uint32_t i = 0; i < 2 * (sizeof said / sizeof *said); i++) {
            enum message_kind message = said[i / 2];
            struct lone *lone = loaded();
            uint64_t ticket = change(lone, (enum change)kind, &all);
            bool is_first = i % 2;

            if (is_first)
                store_says(lone, ticket, false);
            if (message != MESSAGE_UNKNOWN)
                peer_says(lone, message);
            if (!is_first)
                store_says(lone, ticket, false);
            if (message == MESSAGE_UNKNOWN)
                time_is_over(lone);
            assert_answer(lone, REPLICATOR_STORE_FAILURE);
            lone_free(lone);
        }
    }
}

static void a_local_change_is_answered_after_the_store(void **state)
{
    struct consistency one = to_count(1, TIMEOUT_MS);
    const struct consistency *levels[] = { &local, &one };
    (void)state;

    for (int kind = 0; kind < CHANGES; kind++) {
        for (uint32_t i = 0; i < 4; i++) {
            struct lone *lone = loaded();
            uint64_t ticket = change(lone, (enum change)kind, levels[i / 2]);
            bool is_good = i % 2;

            time_is_over(lone); /* without effect */
            assert_silent(lone);
            store_says(lone, ticket, is_good);
            assert_answer(lone, is_good ? REPLICATOR_SUCCESS
                                        : REPLICATOR_STORE_FAILURE);
            lone_free(lone);
        }
    }
}

static void a_key_that_is_not_durable_needs_no_store(void **state)
{
    struct consistency all = to_all(TIMEOUT_MS);
    (void)state;

    for (int kind = 0; kind < CHANGES; kind++) {
        struct lone *lone = loaded();

        begin(lone, (enum change)kind, slice_text("other"), &all);
        assert_silent(lone);
        peer_says(lone, MESSAGE_WRITE_ACK);
        assert_answer(lone, REPLICATOR_SUCCESS);
        lone_free(lone);
        lone = loaded();
        begin(lone, (enum change)kind, slice_text("other"), &all);
        peer_says(lone, MESSAGE_WRITE_NACK);
        assert_answer(lone, late[kind]);
        lone_free(lone);
    }
}

/* The first delta of a peer's durable set; has_reply: part of a write. */
static void receive_delta(struct lone *lone, bool has_reply)
{
    struct dd_writer writer = { lone->peer, 0 };
    struct dd_value *set = dd_new(DD_ORSET);
    struct dd_element element = dd_long(7);
    struct envelope envelope = { 0 };
    struct message_entry entry = { .key = slice_text("durable"),
                                   .from = 1,
                                   .to = 1 };
    struct buf bytes = { 0 };

    dd_orset_add(set, &writer, &element);
    envelope.value = dd_take_delta(set);
    envelope_encode(&bytes, &envelope, NULL, ENVELOPE_WHOLE);
    entry.bytes = buf_slice(&bytes);
    lone_receive(lone, &(struct message){ .kind = MESSAGE_DELTAS,
                                          .entries = &entry,
                                          .count = 1,
                                          .from = lone->peer,
                                          .reply = has_reply });
    buf_fini(&bytes);
    envelope_fini(&envelope);
    dd_free(set);
}

/* The ticket of the next entry to store; 0: no caller waits. */
static uint64_t next_store(struct lone *lone)
{
    struct replicator_news news;

    assert_true(replicator_next_news(lone->replicator, &news));
    assert_int_equal(news.kind, REPLICATOR_NEWS_STORE);
    return news.ticket;
}

/* A round's delta came before the write with the same one, and is not stored yet. */
static void a_repeated_delta_is_acknowledged_when_stored(void **state)
{
    (void)state;

    for (int is_good = 0; is_good < 2; is_good++) {
        struct lone *lone = loaded();
        uint64_t ticket;

        receive_delta(lone, false);
        assert_int_equal(next_store(lone), 0);
        receive_delta(lone, true);
        assert_int_equal(lone_counters(lone)->deltas_repeated, 1);
        assert_int_equal(lone_next_kind(lone), MESSAGE_UNKNOWN);
        ticket = next_store(lone);
        assert_int_not_equal(ticket, 0);
        store_says(lone, ticket, is_good);
        assert_int_equal(lone_next_kind(lone), is_good ? MESSAGE_WRITE_ACK
                                                       : MESSAGE_WRITE_NACK);
        receive_delta(lone, false); /* no caller waits: not stored again */
        assert_silent(lone);
        assert_int_equal(lone_next_kind(lone), MESSAGE_UNKNOWN);
        lone_free(lone);
    }
}

static void a_command_after_loading_keeps_its_consistency(void **state)
{
    const struct consistency both = { .level = CONSISTENCY_ALL,
                                      .timeout_ms = TIMEOUT_MS };
    (void)state;

    for (int deletes = 0; deletes < 2; deletes++) {
        struct lone *lone = lone_with(&quiet, true);

        if (deletes)
            replicator_delete(lone->replicator, 0, 1, slice_text("k"), &both,
                              &lone->outbox);
        else
            replicator_get(lone->replicator, 0, 1, slice_text("k"), &both,
                           &lone->outbox);
        assert_int_equal(lone_next_kind(lone), MESSAGE_UNKNOWN);
        replicator_loaded(lone->replicator, 0, true, &lone->outbox);
        assert_int_equal(lone_next_kind(lone),
                         deletes ? MESSAGE_WRITE : MESSAGE_READ);
        assert_silent(lone);
        time_is_over(lone);
        assert_answer(lone, deletes ? REPLICATOR_DELETE_FAILURE
                                    : REPLICATOR_GET_FAILURE);
        lone_free(lone);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_waits_for_the_local_store),
        cmocka_unit_test(a_write_times_out_before_the_local_store_answers),
        cmocka_unit_test(a_write_that_needs_no_others_waits_for_the_local_store),
        cmocka_unit_test(a_refusal_of_the_local_store_fails_the_write),
        cmocka_unit_test(a_local_change_is_answered_after_the_store),
        cmocka_unit_test(a_key_that_is_not_durable_needs_no_store),
        cmocka_unit_test(a_repeated_delta_is_acknowledged_when_stored),
        cmocka_unit_test(a_command_after_loading_keeps_its_consistency),
    };

    return cmocka_run_group_tests_name("ddata_store", tests, NULL, NULL);
}
