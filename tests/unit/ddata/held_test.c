/* Checks keys that were damaged on disk: what is left of them is neither shown nor lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lone.h"

#define TIMEOUT_MS 1000
#define KEY slice_text("durable")

static const struct replicator_settings quiet = { .gossip_off = true };
static const struct node_id former = { { "me", 2551 }, 4 };
static const struct node_id third = { { "third", 2553 }, 78 };

/* The set of one number, encoded as a whole. */
static void put_set(struct buf *bytes, const struct node_id *node,
                    int64_t number)
{
    struct dd_writer writer = { *node, 0 };
    struct envelope envelope = { .value = dd_new(DD_ORSET) };
    struct dd_element element = dd_long(number);

    dd_orset_add(envelope.value, &writer, &element);
    dd_reset_delta(envelope.value);
    envelope_encode(bytes, &envelope, NULL, ENVELOPE_STORED);
    envelope_fini(&envelope);
}

static struct lone *held(bool is_lost)
{
    struct lone *lone = lone_with(&quiet, true);
    struct buf bytes = { 0 };

    if (!is_lost)
        put_set(&bytes, &former, 1);
    replicator_hold(lone->replicator, 0, KEY, buf_slice(&bytes));
    buf_fini(&bytes);
    replicator_loaded(lone->replicator, 0, true, &lone->outbox);
    return lone;
}

/* Receives {2}; null bytes: nothing. */
static void receive(struct lone *lone, enum message_kind kind,
                    const struct node_id *from, struct slice bytes)
{
    struct message_entry entry = { .key = KEY, .bytes = bytes };
    struct node_id peer = lone->peer;

    lone->peer = *from;
    lone_answer(lone,
                kind == MESSAGE_READ_RESULT ? CLUSTER_PATH "/$a" : CLUSTER_PATH,
                &(struct message){ .kind = kind,
                                   .entries = &entry,
                                   .count = kind != MESSAGE_READ_RESULT ||
                                            bytes.size,
                                   .from = *from });
    lone->peer = peer;
}

static void receive_number(struct lone *lone, enum message_kind kind,
                           const struct node_id *from, int64_t number)
{
    struct buf bytes = { 0 };

    put_set(&bytes, from, number);
    receive(lone, kind, from, buf_slice(&bytes));
    buf_fini(&bytes);
}

static void receive_set(struct lone *lone, enum message_kind kind,
                        const struct node_id *from)
{
    receive_number(lone, kind, from, 2);
}

static void receive_value(struct lone *lone, enum message_kind kind,
                          const struct node_id *from, struct dd_value *value)
{
    struct envelope envelope = { .value = value };
    struct buf bytes = { 0 };

    envelope_encode(&bytes, &envelope, NULL, ENVELOPE_WHOLE);
    receive(lone, kind, from, buf_slice(&bytes));
    buf_fini(&bytes);
    envelope_fini(&envelope);
}

static void assert_silent(struct lone *lone)
{
    struct replicator_news news;

    assert_false(replicator_next_news(lone->replicator, &news));
}

static void assert_answer(struct lone *lone, enum replicator_answer answer)
{
    struct replicator_news news;

    assert_true(replicator_next_news(lone->replicator, &news));
    assert_int_equal(news.kind, REPLICATOR_NEWS_ANSWER);
    assert_string_equal(replicator_answer_text(news.answer),
                        replicator_answer_text(answer));
    assert_silent(lone);
}

static uint64_t next_ticket(struct lone *lone, enum replicator_news_kind kind)
{
    struct replicator_news news;

    assert_true(replicator_next_news(lone->replicator, &news));
    assert_int_equal(news.kind, kind);
    return news.ticket;
}

static void get(struct lone *lone, const struct consistency *consistency)
{
    replicator_get(lone->replicator, 0, 1, KEY, consistency, &lone->outbox);
}

static void assert_numbers(struct lone *lone, bool has_one, bool has_two)
{
    const struct dd_value *value = replicator_look(lone->replicator, KEY);
    struct dd_element one = dd_long(1), two = dd_long(2);

    assert_false(replicator_is_held(lone->replicator, KEY));
    assert_non_null(value);
    assert_int_equal(dd_set_has(value, &one), has_one);
    assert_int_equal(dd_set_has(value, &two), has_two);
    get(lone, &local);
    assert_answer(lone, REPLICATOR_SUCCESS);
}

static void a_held_key_is_not_shown(void **state)
{
    (void)state;

    for (int is_lost = 0; is_lost < 2; is_lost++) {
        struct lone *lone = held(is_lost);
        const struct dd_value *current;
        uint32_t at = 0;
        struct slice key;

        get(lone, &local);
        assert_answer(lone, REPLICATOR_HELD);
        assert_int_equal(replicator_update_begin(lone->replicator, 0, 1, KEY,
                                                 &current, &lone->outbox),
                         REPLICATOR_ANSWERED);
        assert_answer(lone, REPLICATOR_HELD);
        assert_null(replicator_look(lone->replicator, KEY));
        assert_false(replicator_next_key(lone->replicator, &at, &key));
        receive(lone, MESSAGE_READ, &lone->peer, slice_of(NULL, 0));
        assert_int_equal(lone_next_kind(lone), MESSAGE_UNKNOWN);
        assert_int_equal(lone_counters(lone)->held, 1);
        assert_true(replicator_is_held(lone->replicator, KEY));
        get(lone, &local);
        assert_answer(lone, REPLICATOR_HELD);
        lone_free(lone);
    }
}

static void a_received_value_is_merged_with_the_remains(void **state)
{
    (void)state;

    for (int i = 0; i < 4; i++) {
        struct lone *lone = held(i % 2);
        bool is_write = i < 2;
        uint64_t ticket;

        receive_set(lone, is_write ? MESSAGE_WRITE : MESSAGE_GOSSIP,
                    &lone->peer);
        ticket = next_ticket(lone, REPLICATOR_NEWS_STORE);
        assert_silent(lone);
        assert_int_equal(ticket != 0, is_write);
        replicator_stored(lone->replicator, 0, ticket, true, &lone->outbox);
        assert_int_equal(lone_next_kind(lone),
                         is_write ? MESSAGE_WRITE_ACK : MESSAGE_UNKNOWN);
        assert_numbers(lone, !(i % 2), true);
        lone_free(lone);
    }
}

/* It cannot be merged with the remains. */
static void a_received_value_of_another_type_replaces_the_remains(void **state)
{
    struct lone *lone = held(false);
    struct dd_value *value = dd_new(DD_GCOUNTER);
    (void)state;

    dd_gcounter_add(value, &lone->peer, 1);
    receive_value(lone, MESSAGE_GOSSIP, &lone->peer, value);
    (void)next_ticket(lone, REPLICATOR_NEWS_STORE); /* no caller waits */
    get(lone, &local);
    assert_answer(lone, REPLICATOR_SUCCESS);
    assert_int_equal(dd_kind_of(replicator_look(lone->replicator, KEY)),
                     DD_GCOUNTER);
    lone_free(lone);
}

static void assert_held(struct lone *lone)
{
    assert_true(replicator_is_held(lone->replicator, KEY));
    get(lone, &local);
    assert_answer(lone, REPLICATOR_HELD);
    receive(lone, MESSAGE_READ, &lone->peer, slice_of(NULL, 0));
    assert_int_equal(lone_next_kind(lone), MESSAGE_UNKNOWN);
}

/* A write of these kinds may be a delta, which looks like a value. */
static void a_written_part_does_not_end_the_hold(void **state)
{
    static const enum dd_kind kinds[] = { DD_GSET, DD_GCOUNTER,
                                          DD_PNCOUNTER };
    (void)state;

    for (uint32_t i = 0; i < 3; i++) {
        struct lone *lone = held(i % 2);
        struct dd_value *value = dd_new(kinds[i]);
        struct dd_element two = dd_long(2);

        if (kinds[i] == DD_GSET)
            dd_gset_add(value, &two);
        else if (kinds[i] == DD_GCOUNTER)
            dd_gcounter_add(value, &lone->peer, 2);
        else
            dd_pncounter_add(value, &lone->peer, 2);
        receive_value(lone, MESSAGE_WRITE, &lone->peer, value);
        assert_silent(lone);
        assert_int_equal(lone_next_kind(lone), MESSAGE_UNKNOWN);
        assert_int_equal(lone_counters(lone)->held, 1);
        assert_held(lone);
        receive_set(lone, MESSAGE_GOSSIP, &lone->peer);
        (void)next_ticket(lone, REPLICATOR_NEWS_STORE);
        assert_numbers(lone, !(i % 2), true);
        lone_free(lone);
    }
}

/* Although it is the next one: the whole value is needed. */
static void a_delta_does_not_end_the_hold(void **state)
{
    struct lone *lone = held(false);
    struct dd_writer writer = { lone->peer, 0 };
    struct dd_value *value = dd_new(DD_ORSET);
    struct dd_element two = dd_long(2);
    struct envelope envelope;
    struct message_entry entry = { .key = KEY, .from = 1, .to = 1 };
    struct message deltas = { .kind = MESSAGE_DELTAS,
                              .entries = &entry,
                              .count = 1,
                              .from = lone->peer };
    struct buf bytes = { 0 };
    (void)state;

    dd_orset_add(value, &writer, &two);
    envelope = (struct envelope){ .value = dd_take_delta(value) };
    envelope_encode(&bytes, &envelope, NULL, ENVELOPE_DELTA);
    entry.bytes = buf_slice(&bytes);
    for (int is_asked = 0; is_asked < 2; is_asked++) {
        deltas.reply = is_asked;
        lone_receive(lone, &deltas);
        assert_silent(lone);
        assert_int_equal(lone_next_kind(lone),
                         is_asked ? MESSAGE_DELTA_NACK : MESSAGE_UNKNOWN);
        assert_held(lone);
    }
    receive_set(lone, MESSAGE_WRITE, &lone->peer);
    assert_int_not_equal(next_ticket(lone, REPLICATOR_NEWS_STORE), 0);
    assert_numbers(lone, true, true);
    buf_fini(&bytes);
    envelope_fini(&envelope);
    dd_free(value);
    lone_free(lone);
}

/* More members beside its peer. */
static void tell_others(struct lone *lone, uint32_t count,
                        struct node_id others[])
{
    for (uint32_t i = 0; i < count; i++) {
        others[i] = third;
        others[i].address.port += (uint16_t)i;
        others[i].uid += i;
        lone_tell(lone, &others[i], MEMBER_UP, true);
    }
}

/* A and B of three members acknowledged ten, and A's disk was damaged. C has not heard of it, so
 * C's answer is not enough. */
static void values_of_half_of_all_members_end_the_hold(void **state)
{
    static const enum message_kind kinds[] = { MESSAGE_GOSSIP, MESSAGE_WRITE };
    struct node_id others[6];
    (void)state;

    for (uint32_t members = 2; members <= 8; members++) {
        struct lone *lone = held(members % 2);
        uint32_t needed = (members + 1) / 2;
        const struct dd_value *value;

        tell_others(lone, members - 2, others);
        for (uint32_t i = 0; i < needed; i++) {
            const struct node_id *from = i ? &others[i - 1] : &lone->peer;

            if (i)
                assert_held(lone);
            receive_number(lone, kinds[i % 2], from, 10 + i);
            if (i + 1 == needed)
                break;
            receive_number(lone, kinds[i % 2], from, 10 + i); /* again */
            assert_silent(lone);
            assert_int_equal(lone_next_kind(lone), MESSAGE_UNKNOWN);
        }
        (void)next_ticket(lone, REPLICATOR_NEWS_STORE);
        assert_numbers(lone, !(members % 2), false);
        value = replicator_look(lone->replicator, KEY);
        for (uint32_t i = 0; i < needed; i++) {
            struct dd_element number = dd_long(10 + i);

            assert_true(dd_set_has(value, &number));
        }
        lone_free(lone);
    }
}

static void only_members_that_count_for_writes_end_the_hold(void **state)
{
    struct lone *lone = held(false);
    struct node_id joining = { { "joining", 2554 }, 79 };
    struct node_id stranger = { { "stranger", 2555 }, 80 };
    (void)state;

    lone_tell(lone, &third, MEMBER_UP, false); /* counts */
    lone_tell(lone, &joining, MEMBER_JOINING, true);
    receive_set(lone, MESSAGE_GOSSIP, &joining);
    receive_set(lone, MESSAGE_GOSSIP, &stranger);
    receive_set(lone, MESSAGE_GOSSIP, &third);
    assert_silent(lone);
    assert_held(lone);
    /* One of two members is enough, but not the removed one. */
    replicator_peer_removed(lone->replicator, 0, &third);
    receive_set(lone, MESSAGE_GOSSIP, &joining);
    assert_silent(lone);
    receive_number(lone, MESSAGE_GOSSIP, &lone->peer, 3);
    (void)next_ticket(lone, REPLICATOR_NEWS_STORE);
    assert_numbers(lone, true, true);
    lone_free(lone);
}

/* The key is still held, but two others are enough for a read of two of five. */
static void a_read_of_few_replicas_gets_their_value(void **state)
{
    static const struct consistency two = { CONSISTENCY_COUNT, 2, 0,
                                            TIMEOUT_MS };
    struct dd_element number = dd_long(2), left = dd_long(1);
    struct lone *lone = held(false);
    struct replicator_news news;
    struct node_id others[3];
    (void)state;

    tell_others(lone, 3, others);
    get(lone, &two);
    receive_set(lone, MESSAGE_READ_RESULT, &others[0]);
    assert_silent(lone);
    receive(lone, MESSAGE_READ_RESULT, &others[1], slice_of(NULL, 0));
    assert_true(replicator_next_news(lone->replicator, &news));
    assert_int_equal(news.answer, REPLICATOR_SUCCESS);
    assert_non_null(news.value);
    assert_true(dd_set_has(news.value, &number));
    assert_false(dd_set_has(news.value, &left));
    assert_silent(lone);
    while (lone_next_kind(lone) != MESSAGE_UNKNOWN)
        ;
    assert_held(lone);
    lone_free(lone);
}

static void a_received_deletion_ends_the_hold_at_once(void **state)
{
    struct lone *lone = held(false);
    (void)state;

    lone_tell(lone, &third, MEMBER_UP, true);
    receive_value(lone, MESSAGE_GOSSIP, &lone->peer, dd_new(DD_DELETED));
    (void)next_ticket(lone, REPLICATOR_NEWS_STORE);
    assert_false(replicator_is_held(lone->replicator, KEY));
    get(lone, &local);
    assert_answer(lone, REPLICATOR_DELETED);
    lone_free(lone);
}

static void a_release_contains_received_values(void **state)
{
    (void)state;

    for (int is_lost = 0; is_lost < 2; is_lost++) {
        struct lone *lone = held(is_lost);
        uint64_t ticket;

        lone_tell(lone, &third, MEMBER_UP, true);
        receive_set(lone, MESSAGE_GOSSIP, &lone->peer);
        assert_held(lone);
        replicator_release(lone->replicator, 1, KEY);
        ticket = next_ticket(lone, REPLICATOR_NEWS_STORE);
        replicator_stored(lone->replicator, 0, ticket, true, &lone->outbox);
        assert_answer(lone, REPLICATOR_SUCCESS);
        assert_numbers(lone, !is_lost, true);
        lone_free(lone);
    }
}

static struct dd_value *text_of_size(const struct node_id *node, char letter,
                                     size_t size)
{
    struct dd_writer writer = { *node, 0 };
    struct dd_value *value = dd_new(DD_ORSET);
    char *bytes = mem_alloc(size + 1);
    struct dd_element element = { .kind = DD_OTHER, .serializer = 4 };

    for (size_t i = 0; i < size; i++) /* must not compress */
        bytes[i] = (char)(letter * 31 + (char)(i * i * 7 + i / 3 * letter));
    element.text = slice_of(bytes, size);
    dd_orset_add(value, &writer, &element);
    dd_reset_delta(value);
    mem_free(bytes);
    return value;
}

/* The received value stays: the remains do not merge with it, and no other node has them. The
 * others' values together are too large for an entry. */
static void remains_that_do_not_fit_are_not_merged(void **state)
{
    const struct replicator_settings settings = { .gossip_off = true,
                                                  .entry_size_max = 1000 };
    struct envelope left = { .value = text_of_size(&former, 'a', 600) };
    struct buf bytes = { 0 };
    (void)state;

    envelope_encode(&bytes, &left, NULL, ENVELOPE_STORED);
    for (int of_three = 0; of_three < 2; of_three++) {
        struct lone *lone = lone_with(&settings, true);

        replicator_hold(lone->replicator, 0, KEY, buf_slice(&bytes));
        replicator_loaded(lone->replicator, 0, true, &lone->outbox);
        if (of_three)
            lone_tell(lone, &third, MEMBER_UP, true);
        receive_value(lone, MESSAGE_GOSSIP, &lone->peer,
                      text_of_size(&lone->peer, 'b', 600));
        if (!of_three) {
            (void)next_ticket(lone, REPLICATOR_NEWS_STORE);
            assert_int_equal(
                dd_set_count(replicator_look(lone->replicator, KEY)), 1);
        } else {
            receive_value(lone, MESSAGE_GOSSIP, &third,
                          text_of_size(&third, 'c', 600));
            assert_int_equal(lone_counters(lone)->too_large, 1);
            assert_held(lone);
            receive_value(lone, MESSAGE_GOSSIP, &third,
                          text_of_size(&lone->peer, 'b', 600));
            (void)next_ticket(lone, REPLICATOR_NEWS_STORE);
        }
        assert_false(replicator_is_held(lone->replicator, KEY));
        lone_free(lone);
    }
    buf_fini(&bytes);
    envelope_fini(&left);
}

static uint32_t reads_sent(struct lone *lone)
{
    uint32_t count = 0;
    enum message_kind kind;

    while ((kind = lone_next_kind(lone)) != MESSAGE_UNKNOWN)
        count += kind == MESSAGE_READ;
    return count;
}

static const struct consistency majority = { CONSISTENCY_MAJORITY, 0, 0,
                                             TIMEOUT_MS };

/* This replica cannot be one of the two. */
static void a_read_of_two_of_three_asks_both_others(void **state)
{
    (void)state;

    for (int i = 0; i < 4; i++) {
        bool is_lost = i % 2, is_found = i < 2;
        struct lone *lone = held(is_lost);

        lone_tell(lone, &third, MEMBER_UP, true);
        get(lone, &majority);
        assert_int_equal(reads_sent(lone), 2);
        receive(lone, MESSAGE_READ_RESULT, &lone->peer, slice_of(NULL, 0));
        assert_silent(lone);
        if (is_found)
            receive_set(lone, MESSAGE_READ_RESULT, &third);
        else
            receive(lone, MESSAGE_READ_RESULT, &third, slice_of(NULL, 0));
        if (is_found)
            assert_int_equal(next_ticket(lone, REPLICATOR_NEWS_STORE), 0);
        assert_answer(lone, is_found ? REPLICATOR_SUCCESS : REPLICATOR_HELD);
        if (is_found)
            assert_numbers(lone, !is_lost, true);
        lone_free(lone);
    }
}

static void a_read_without_enough_answers_says_held(void **state)
{
    struct lone *lone = held(false);
    (void)state;

    get(lone, &majority); /* of two */
    assert_answer(lone, REPLICATOR_HELD);
    lone_tell(lone, &third, MEMBER_UP, true);
    get(lone, &majority);
    assert_silent(lone);
    replicator_step(lone->replicator, TIMEOUT_MS * MS, &lone->outbox);
    assert_answer(lone, REPLICATOR_HELD);
    lone_free(lone);
}

static void a_deletion_wins_over_a_held_key(void **state)
{
    (void)state;

    for (int is_lost = 0; is_lost < 2; is_lost++) {
        struct lone *lone = held(is_lost);
        uint64_t ticket;

        replicator_delete(lone->replicator, 0, 1, KEY, &local, &lone->outbox);
        ticket = next_ticket(lone, REPLICATOR_NEWS_STORE);
        assert_silent(lone);
        replicator_stored(lone->replicator, 0, ticket, true, &lone->outbox);
        assert_answer(lone, REPLICATOR_SUCCESS);
        assert_false(replicator_is_held(lone->replicator, KEY));
        get(lone, &local);
        assert_answer(lone, REPLICATOR_DELETED);
        lone_free(lone);
    }
}

static void a_released_key_is_stored_and_served(void **state)
{
    (void)state;

    for (int is_good = 0; is_good < 2; is_good++) {
        struct lone *lone = held(false);
        uint64_t ticket;

        replicator_release(lone->replicator, 1, KEY);
        ticket = next_ticket(lone, REPLICATOR_NEWS_STORE);
        assert_int_not_equal(ticket, 0);
        assert_silent(lone);
        replicator_stored(lone->replicator, 0, ticket, is_good, &lone->outbox);
        assert_answer(lone, is_good ? REPLICATOR_SUCCESS
                                    : REPLICATOR_STORE_FAILURE);
        assert_numbers(lone, true, false);
        receive(lone, MESSAGE_READ, &lone->peer, slice_of(NULL, 0));
        assert_int_equal(lone_next_kind(lone), MESSAGE_READ_RESULT);
        replicator_release(lone->replicator, 1, KEY); /* again */
        assert_answer(lone, REPLICATOR_SUCCESS);
        lone_free(lone);
    }
}

static void a_released_lost_key_does_not_exist(void **state)
{
    struct lone *lone = held(true);
    const struct dd_value *current;
    (void)state;

    replicator_release(lone->replicator, 1, KEY);
    (void)next_ticket(lone, REPLICATOR_NEWS_FORGET); /* nothing is stored */
    assert_answer(lone, REPLICATOR_SUCCESS);
    get(lone, &local);
    assert_answer(lone, REPLICATOR_NOT_FOUND);
    assert_int_equal(replicator_update_begin(lone->replicator, 0, 1, KEY,
                                             &current, &lone->outbox),
                     REPLICATOR_MODIFY);
    assert_null(current);
    replicator_update_fail(lone->replicator, 0, 1, KEY, &lone->outbox);
    assert_answer(lone, REPLICATOR_MODIFY_FAILURE);
    lone_free(lone);
}

static void calls_wait_until_held_keys_are_known(void **state)
{
    struct lone *lone = lone_with(&quiet, true);
    struct replicator_news news;
    (void)state;

    get(lone, &local);
    replicator_release(lone->replicator, 2, KEY);
    get(lone, &local);
    assert_silent(lone);
    replicator_hold(lone->replicator, 0, KEY, slice_of(NULL, 0));
    replicator_loaded(lone->replicator, 0, true, &lone->outbox);
    assert_true(replicator_next_news(lone->replicator, &news));
    assert_int_equal(news.answer, REPLICATOR_HELD);
    (void)next_ticket(lone, REPLICATOR_NEWS_FORGET); /* nothing is stored */
    assert_true(replicator_next_news(lone->replicator, &news));
    assert_int_equal(news.token, 2);
    assert_int_equal(news.answer, REPLICATOR_SUCCESS);
    assert_answer(lone, REPLICATOR_NOT_FOUND);
    lone_free(lone);
}

/* It was stored like this. Keys held at the end are freed. */
static void an_unreadable_value_leaves_nothing(void **state)
{
    struct lone *lone = lone_with(&quiet, true);
    (void)state;

    replicator_hold(lone->replicator, 0, KEY, slice_text("strange"));
    replicator_hold(lone->replicator, 0, slice_text("durable-2"),
                    slice_text("strange"));
    replicator_loaded(lone->replicator, 0, true, &lone->outbox);
    replicator_release(lone->replicator, 1, KEY);
    (void)next_ticket(lone, REPLICATOR_NEWS_FORGET); /* nothing is stored */
    assert_answer(lone, REPLICATOR_SUCCESS);
    assert_int_equal(lone_counters(lone)->unloaded, 1);
    lone_free(lone);
}

/* Ticks at that time after loading. */
static void tick(struct lone *lone, int seconds)
{
    replicator_wall(lone->replicator, CLUSTER_WALL_MS + seconds * 1000);
    replicator_step(lone->replicator, (uint64_t)seconds * SECOND,
                    &lone->outbox);
}

/* The others have forgotten it and send nothing. */
static void an_unused_held_key_expires(void **state)
{
    static const struct replicator_expiry expiries[] = { { "dur*", 10000 } };
    struct message_entry digest = { .key = KEY,
                                    .bytes = slice_text("12345678901234567890"),
                                    .used_ms = CLUSTER_WALL_MS + 16 * 1000 };
    struct replicator_news news;
    (void)state;

    for (int use = 0; use < 3; use++) {
        struct lone *lone = lone_durable_expiring(expiries, 1);
        struct buf bytes = { 0 };
        const struct dd_value *current;

        put_set(&bytes, &former, 1);
        replicator_hold(lone->replicator, 0, KEY, buf_slice(&bytes));
        buf_fini(&bytes);
        replicator_loaded(lone->replicator, 0, true, &lone->outbox);
        tick(lone, 9);
        if (use == 1) {
            get(lone, &local);
            assert_answer(lone, REPLICATOR_HELD);
        } else if (use == 2) {
            (void)replicator_update_begin(lone->replicator, 0, 1, KEY,
                                          &current, &lone->outbox);
            assert_answer(lone, REPLICATOR_HELD);
        }
        tick(lone, 12);
        assert_int_equal(replicator_is_held(lone->replicator, KEY), use > 0);
        if (use == 1)
            lone_receive(lone, &(struct message){ .kind = MESSAGE_STATUS,
                                                  .entries = &digest,
                                                  .count = 1,
                                                  .chunks = 1 });
        tick(lone, 20);
        assert_int_equal(replicator_is_held(lone->replicator, KEY), use == 1);
        tick(lone, 30);
        assert_false(replicator_is_held(lone->replicator, KEY));
        assert_true(replicator_next_news(lone->replicator, &news));
        assert_int_equal(news.kind, REPLICATOR_NEWS_FORGET);
        assert_true(slice_equal(news.key, KEY));
        assert_silent(lone);
        get(lone, &local);
        assert_answer(lone, REPLICATOR_NOT_FOUND);
        lone_put(lone, KEY);
        lone_free(lone);
    }
}

/* The release is a use. */
static void a_released_key_expires(void **state)
{
    static const struct replicator_expiry expiries[] = { { "dur*", 10000 } };
    struct lone *lone = lone_durable_expiring(expiries, 1);
    struct buf bytes = { 0 };
    (void)state;

    put_set(&bytes, &former, 1);
    replicator_hold(lone->replicator, 0, KEY, buf_slice(&bytes));
    buf_fini(&bytes);
    replicator_loaded(lone->replicator, 0, true, &lone->outbox);
    tick(lone, 5);
    replicator_release(lone->replicator, 1, KEY);
    tick(lone, 12);
    assert_non_null(replicator_look(lone->replicator, KEY));
    tick(lone, 20);
    assert_null(replicator_look(lone->replicator, KEY));
    lone_free(lone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_held_key_is_not_shown),
        cmocka_unit_test(a_received_value_is_merged_with_the_remains),
        cmocka_unit_test(a_received_value_of_another_type_replaces_the_remains),
        cmocka_unit_test(a_written_part_does_not_end_the_hold),
        cmocka_unit_test(a_delta_does_not_end_the_hold),
        cmocka_unit_test(values_of_half_of_all_members_end_the_hold),
        cmocka_unit_test(only_members_that_count_for_writes_end_the_hold),
        cmocka_unit_test(a_read_of_few_replicas_gets_their_value),
        cmocka_unit_test(a_received_deletion_ends_the_hold_at_once),
        cmocka_unit_test(a_release_contains_received_values),
        cmocka_unit_test(remains_that_do_not_fit_are_not_merged),
        cmocka_unit_test(a_read_of_two_of_three_asks_both_others),
        cmocka_unit_test(a_read_without_enough_answers_says_held),
        cmocka_unit_test(a_deletion_wins_over_a_held_key),
        cmocka_unit_test(a_released_key_is_stored_and_served),
        cmocka_unit_test(a_released_lost_key_does_not_exist),
        cmocka_unit_test(calls_wait_until_held_keys_are_known),
        cmocka_unit_test(an_unreadable_value_leaves_nothing),
        cmocka_unit_test(an_unused_held_key_expires),
        cmocka_unit_test(a_released_key_expires),
    };

    return cmocka_run_group_tests_name("ddata_held", tests, NULL, NULL);
}
