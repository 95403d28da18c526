/* Checks that work without room in one step is done in the next ones, in order, and completely,
 * once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "ddata/replicator_inside.h"
#include "lone.h"

#define MANY 600 /* replicas: more than a step writes to */
#define LARGE 100000 /* bytes */
#define ELEMENTS 300 /* of a set: its digest takes much of a step's room */
#define KEYS 40
#define LARGE_ELEMENTS 2500 /* of a set whose digest takes a whole step */
#define LARGE_KEYS 80
#define NAMED 300 /* keys of a received status */

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

        lone_tell(lone, &node, MEMBER_UP, true);
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

/* Takes the sent messages; counts them by node in `sent`. */
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

/* No replica gets the second write before the first. */
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

static void an_ended_write_is_not_sent_further(void **state)
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

/* At the limit a step becomes longer. */
static void waiting_messages_have_a_limit(void **state)
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
        assert_int_equal(sent[i], 1); /* the first write's, once */
    lone_free(lone);
}

static void an_ended_replicator_sends_nothing(void **state)
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

static void put_elements(struct lone *lone, uint32_t number, uint32_t from,
                         uint32_t count)
{
    struct dd_value *value = dd_new(DD_ORSET);
    char key[8];

    snprintf(key, sizeof key, "s%u", (unsigned)number);
    for (uint32_t i = 0; i < count; i++) {
        struct dd_element element = dd_long(from + (int64_t)i * 7919);

        dd_orset_add(value, &lone->writer, &element);
    }
    lone_update(lone, slice_text(key), value, &local);
}

static void put_set(struct lone *lone, uint32_t number, uint32_t from)
{
    put_elements(lone, number, from, ELEMENTS);
}

/* The log names each value at its first digest. */
static struct lone *with_many(uint32_t keys, uint32_t elements)
{
    struct replicator_settings settings = { .deltas_off = true,
                                            .logged_size = 1 };
    struct lone *lone = lone_new(&settings);

    for (uint32_t i = 0; i < keys; i++)
        put_elements(lone, i, i, elements);
    return lone;
}

static struct lone *with_sets(void)
{
    return with_many(KEYS, ELEMENTS);
}

/* First digests since the last call. */
static uint32_t made(struct lone *lone)
{
    struct trace_line line;
    uint32_t count = 0;

    while (trace_next(lone->trace, &line))
        count += strstr(line.text, "value is large") != NULL;
    return count;
}

/* How many values like this a step may encode: deflated bytes count 16 times. */
static uint32_t packed_max(const struct lone *lone, const char *key)
{
    struct buf bytes = { 0 };
    uint32_t count;

    assert_true(replicator_bytes(lone->replicator, slice_text(key), &bytes));
    count = REPLICATOR_STEP_DIGESTED / (16 * (uint32_t)bytes.size) + 2;
    buf_fini(&bytes);
    return count;
}

/* The digests of the sent status; 0: none was sent. */
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
    /* The next round has them, except the changed one. */
    put_set(lone, 1, 100);
    replicator_step(lone->replicator, 4 * SECOND, &lone->outbox);
    assert_int_equal(digests(lone), KEYS);
    assert_false(is_busy(lone));
    lone_free(lone);
}

/* Encoding a value has a basic cost. */
static void small_values_are_encoded_in_several_steps(void **state)
{
    struct replicator_settings settings = { .deltas_off = true };
    struct lone *lone = lone_new(&settings);
    uint32_t count = 0, before = 0;
    (void)state;

    for (uint32_t i = 0; i < NAMED; i++)
        put_elements(lone, i, i, 1);
    for (uint32_t steps = 0; steps < NAMED && count < NAMED; steps++) {
        struct map_entry item;
        uint32_t at = 0;

        replicator_step(lone->replicator, 2 * SECOND, &lone->outbox);
        for (count = 0; map_next(&lone->replicator->entries, &at, &item);)
            count += ((const struct entry *)item.value)->has_digest;
        assert_in_range(count - before, 1, 20);
        before = count;
    }
    assert_int_equal(count, NAMED);
    lone_free(lone);
}

/* Changes come before each step. */
static void a_status_is_sent_despite_constant_changes(void **state)
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
    assert_in_range(steps, 2, KEYS);
    assert_false(is_busy(lone));
    lone_free(lone);
}

/* However many steps remain. */
static void no_step_makes_all_remaining_digests(void **state)
{
    struct lone *lone = with_many(LARGE_KEYS, LARGE_ELEMENTS);
    uint32_t most = packed_max(lone, "s1");
    uint32_t steps = 0, found = 0, sum = 0;
    (void)state;

    assert_in_range(most, 2, 3);
    (void)made(lone);
    replicator_step(lone->replicator, 2 * SECOND, &lone->outbox);
    for (; is_busy(lone); steps++) {
        uint32_t count = made(lone);

        assert_in_range(count, 0, most);
        sum += count;
        /* The next tick does not start again. */
        replicator_step(lone->replicator, (steps < 5 ? 2 : 4) * SECOND,
                        &lone->outbox);
        found += digests(lone);
    }
    assert_int_equal(sum + made(lone), LARGE_KEYS);
    assert_int_equal(found, LARGE_KEYS);
    assert_in_range(steps, LARGE_KEYS / most, LARGE_KEYS);
    lone_free(lone);
}

/* ---- received statuses ---- */

static const struct message status_of_all = { .kind = MESSAGE_STATUS,
                                              .has_to_uid = true,
                                              .to_uid = 5,
                                              .has_from_uid = true,
                                              .from_uid = 77,
                                              .chunks = 1 };

/* The peer has other values of so many keys, and one that is missing here. Without keys it reports
 * a chunk that is empty here. */
static void receive_status(struct lone *lone, uint32_t count,
                           const char *missing)
{
    struct message status = status_of_all;
    struct message_entry *entries =
        mem_alloc((count + 1) * sizeof *entries);
    char(*keys)[8] = mem_alloc((count + 1) * sizeof *keys);

    for (uint32_t i = 0; i < count; i++) {
        snprintf(keys[i], sizeof keys[i], "s%u", (unsigned)i);
        entries[i].key = slice_text(keys[i]);
        entries[i].bytes = slice_text("01234567890123456789");
    }
    entries[count].key = slice_text(missing);
    entries[count].bytes = slice_text("01234567890123456789");
    status.entries = entries;
    status.count = count + 1;
    if (!count) {
        status.chunks = 1000000;
        status.chunk = 1;
    }
    lone_receive(lone, &status);
    mem_free(keys);
    mem_free(entries);
}

/* Sent values by number of the key, and keys that were asked for. */
struct answers {
    uint8_t values[NAMED];
    uint32_t asked;
    char last[8]; /* asked for */
};

static void take_answers(struct lone *lone, struct answers *answers)
{
    struct message message;

    while (lone_next(lone, &message)) {
        assert_int_equal(message.to_uid, 77);
        for (uint32_t i = 0; i < message.count; i++) {
            struct slice key = message.entries[i].key;
            char text[8] = "";
            unsigned number;

            assert_in_range(key.size, 1, sizeof text - 1);
            memcpy(text, key.data, key.size);
            if (message.kind == MESSAGE_STATUS) {
                assert_int_equal(message.entries[i].bytes.size, 1);
                answers->asked++;
                memcpy(answers->last, text, sizeof text);
                continue;
            }
            assert_int_equal(message.kind, MESSAGE_GOSSIP);
            assert_true(message.send_back);
            assert_int_equal(sscanf(text, "s%u", &number), 1);
            answers->values[number]++;
        }
        message_fini(&message);
    }
}

static void a_status_is_compared_in_several_steps(void **state)
{
    struct lone *lone = with_many(NAMED, ELEMENTS);
    uint32_t most = packed_max(lone, "s1");
    struct answers answers = { .asked = 0 };
    uint32_t steps = 0, sum, count;
    (void)state;

    assert_in_range(most, 2, NAMED / 20);
    (void)made(lone);
    receive_status(lone, NAMED, "theirs");
    for (sum = made(lone); is_busy(lone); sum += count, steps++) {
        assert_in_range(sum, 1, NAMED);
        replicator_step(lone->replicator, 0, &lone->outbox);
        count = made(lone);
        assert_in_range(count, 0, most);
        take_answers(lone, &answers);
    }
    assert_int_equal(sum, NAMED);
    /* Digests and answers. */
    assert_in_range(steps, 2 * NAMED / most - 2, 2 * NAMED);
    for (uint32_t i = 0; i < NAMED; i++)
        assert_int_equal(answers.values[i], 1);
    assert_int_equal(answers.asked, 1);
    assert_string_equal(answers.last, "theirs");
    /* Digests exist now, but different values are again encoded in steps. */
    receive_status(lone, NAMED, "theirs");
    for (steps = 0; is_busy(lone); steps++)
        replicator_step(lone->replicator, 0, &lone->outbox);
    take_answers(lone, &answers);
    assert_in_range(steps, NAMED / most - 2, NAMED);
    for (uint32_t i = 0; i < NAMED; i++)
        assert_int_equal(answers.values[i], 2);
    lone_free(lone);
}

static void run_out(struct lone *lone, struct answers *answers)
{
    while (is_busy(lone))
        replicator_step(lone->replicator, 0, &lone->outbox);
    take_answers(lone, answers);
}

/* Later ones are compared afterwards; above the limit the oldest are dropped. */
static void waiting_statuses_have_a_limit(void **state)
{
    const uint32_t extra = 3;
    struct lone *lone = with_sets();
    struct answers answers = { .asked = 0 };
    char key[8];
    (void)state;

    receive_status(lone, KEYS, "first");
    for (uint32_t i = 0; i < REPLICATOR_ARRIVALS_MAX + extra; i++) {
        assert_int_equal(lone_counters(lone)->gossip_dropped, 0);
        if (i == REPLICATOR_ARRIVALS_MAX)
            break;
        snprintf(key, sizeof key, "m%u", (unsigned)i);
        receive_status(lone, 0, key);
    }
    for (uint32_t i = 1; i <= extra; i++) {
        receive_status(lone, 0, "late");
        assert_int_equal(lone_counters(lone)->gossip_dropped, i);
    }
    assert_int_equal(lone_counters(lone)->statuses,
                     1 + REPLICATOR_ARRIVALS_MAX + extra);
    run_out(lone, &answers);
    assert_int_equal(answers.asked, 1 + REPLICATOR_ARRIVALS_MAX);
    assert_string_equal(answers.last, "late");
    lone_free(lone);
}

static void the_bytes_of_waiting_statuses_have_a_limit(void **state)
{
    const uint32_t count = 3 * REPLICATOR_ARRIVAL_BYTES_MAX /
                           REPLICATOR_ARRIVALS_MAX /
                           REPLICATOR_KEY_SIZE_MAX;
    struct lone *lone = with_sets();
    struct message status = status_of_all;
    struct message_entry *entries = mem_alloc(count * sizeof *entries);
    uint8_t key[REPLICATOR_KEY_SIZE_MAX];
    (void)state;

    memset(key, 'k', sizeof key);
    for (uint32_t i = 0; i < count; i++) {
        entries[i].key = slice_of(key, sizeof key);
        entries[i].bytes = slice_text("\xff");
    }
    status.entries = entries;
    status.count = count;
    receive_status(lone, KEYS, "first");
    for (uint32_t i = 0; i < REPLICATOR_ARRIVALS_MAX; i++)
        lone_receive(lone, &status);
    /* Three times the limit of bytes. */
    assert_in_range(lone_counters(lone)->gossip_dropped,
                    REPLICATOR_ARRIVALS_MAX * 6 / 10,
                    REPLICATOR_ARRIVALS_MAX * 7 / 10);
    while (is_busy(lone))
        replicator_step(lone->replicator, 0, &lone->outbox);
    mem_free(entries);
    lone_free(lone);
}

/* Changes before each step are compared once, and both kinds of digests proceed. */
static void a_status_is_answered_despite_constant_changes(void **state)
{
    struct lone *lone = with_sets();
    struct answers answers = { .asked = 0 };
    uint32_t steps = 0, found = 0;
    struct message message;
    (void)state;

    replicator_step(lone->replicator, 2 * SECOND, &lone->outbox);
    receive_status(lone, KEYS, "theirs");
    for (; is_busy(lone); steps++) {
        for (uint32_t i = 0; i < KEYS; i++)
            put_set(lone, i, steps * 1000 + i);
        replicator_step(lone->replicator, 2 * SECOND, &lone->outbox);
        assert_in_range(steps, 0, 4 * KEYS);
        while (lone_next(lone, &message)) {
            if (message.kind == MESSAGE_GOSSIP)
                answers.asked += message.count;
            else
                found += message.count;
            message_fini(&message);
        }
    }
    assert_int_equal(answers.asked, KEYS);
    assert_int_equal(found, KEYS + 1); /* the own status, and the missing key */
    lone_free(lone);
}

/* ---- received gossips ---- */

/* A gossip of everything that a node with the same keys has. */
static void gossip_of(struct lone *source, bool send_back,
                      struct buf *payload)
{
    struct message gossip = { .kind = MESSAGE_GOSSIP,
                              .has_to_uid = true,
                              .to_uid = 5,
                              .has_from_uid = true,
                              .from_uid = 77,
                              .send_back = send_back,
                              .is_packed = true,
                              .count = KEYS };
    struct message_entry entries[KEYS] = { { .used_ms = 0 } };
    struct buf bytes[KEYS] = { 0 };
    char keys[KEYS][8];

    for (uint32_t i = 0; i < KEYS; i++) {
        const struct envelope *envelope;

        snprintf(keys[i], sizeof keys[i], "s%u", (unsigned)i);
        entries[i].key = slice_text(keys[i]);
        envelope = &entry_find(source->replicator, entries[i].key)->envelope;
        envelope_encode(&bytes[i], envelope, NULL, ENVELOPE_WHOLE);
        entries[i].bytes = buf_slice(&bytes[i]);
    }
    gossip.entries = entries;
    message_put(payload, &gossip);
    for (uint32_t i = 0; i < KEYS; i++)
        buf_fini(&bytes[i]);
}

static void receive_bytes(struct lone *lone, enum message_kind kind,
                          struct slice payload)
{
    replicator_receive(lone->replicator, 0,
                       &(struct inbound){
                           .from = lone->peer,
                           .recipient = slice_text(CLUSTER_PATH),
                           .sender = slice_text("/system/ddataReplicator#9"),
                           .manifest = slice_text(message_manifest(kind)),
                           .payload = payload },
                       &lone->outbox);
}

static void a_gossip_is_merged_in_several_steps(void **state)
{
    struct lone *source = with_sets();
    struct buf payload = { 0 };
    (void)state;

    source->writer.node.uid = 9;
    for (uint32_t i = 0; i < KEYS; i++)
        put_set(source, i, 1000000);
    gossip_of(source, true, &payload);
    for (int is_known = 0; is_known < 2; is_known++) {
        struct lone *lone = is_known ? with_sets() : with_many(0, 0);
        uint32_t most = packed_max(source, "s1");
        struct message message;
        uint32_t answered = 0;

        receive_bytes(lone, MESSAGE_GOSSIP, buf_slice(&payload));
        for (uint64_t last = 0; is_busy(lone);) {
            uint64_t merges = lone_counters(lone)->merges;

            assert_in_range(merges - last, 1, most);
            last = merges;
            replicator_step(lone->replicator, 0, &lone->outbox);
        }
        assert_int_equal(lone_counters(lone)->merges, KEYS);
        while (lone_next(lone, &message)) {
            assert_int_equal(message.kind, MESSAGE_GOSSIP);
            assert_false(message.send_back);
            answered += message.count;
            message_fini(&message);
        }
        assert_int_equal(answered, is_known ? KEYS : 0);
        lone_free(lone);
    }
    buf_fini(&payload);
    lone_free(source);
}

/* Values, and then digests of the same: nothing differs. */
static void statuses_and_gossips_are_processed_in_order(void **state)
{
    struct lone *source = with_sets();
    struct lone *lone = with_many(0, 0);
    struct buf gossip = { 0 }, status = { 0 };
    struct message message;
    (void)state;

    gossip_of(source, false, &gossip);
    replicator_step(source->replicator, 2 * SECOND, &source->outbox);
    while (is_busy(source))
        replicator_step(source->replicator, 2 * SECOND, &source->outbox);
    assert_true(lone_next(source, &message));
    assert_int_equal(message.kind, MESSAGE_STATUS);
    assert_int_equal(message.count, KEYS);
    message.to_uid = 5;
    message.from_uid = 77;
    message_put(&status, &message);
    message_fini(&message);
    receive_bytes(lone, MESSAGE_GOSSIP, buf_slice(&gossip));
    receive_bytes(lone, MESSAGE_STATUS, buf_slice(&status));
    assert_true(is_busy(lone));
    assert_in_range(lone_counters(lone)->merges, 1, KEYS - 1);
    while (is_busy(lone))
        replicator_step(lone->replicator, 0, &lone->outbox);
    assert_int_equal(lone_counters(lone)->merges, KEYS);
    assert_int_equal(lone_counters(lone)->gossips, 1);
    assert_int_equal(lone_counters(lone)->statuses, 1);
    assert_int_equal(lone_next_kind(lone), MESSAGE_UNKNOWN);
    buf_fini(&gossip);
    buf_fini(&status);
    lone_free(lone);
    lone_free(source);
}

static void gossip_of_removed_members_is_dropped(void **state)
{
    struct lone *source = with_sets();
    struct lone *lone = with_many(0, 0);
    struct buf gossip = { 0 };
    uint64_t merges;
    (void)state;

    gossip_of(source, true, &gossip);
    receive_bytes(lone, MESSAGE_GOSSIP, buf_slice(&gossip));
    receive_bytes(lone, MESSAGE_GOSSIP, buf_slice(&gossip));
    merges = lone_counters(lone)->merges;
    assert_in_range(merges, 1, KEYS - 1);
    replicator_peer_removed(lone->replicator, 0, &lone->peer);
    assert_false(is_busy(lone));
    assert_int_equal(lone_counters(lone)->merges, merges);
    buf_fini(&gossip);
    lone_free(lone);
    lone_free(source);
}

/* A removed member needs no answer. */
static void statuses_of_removed_members_are_dropped(void **state)
{
    struct lone *lone = with_sets();
    struct message message;
    (void)state;

    replicator_step(lone->replicator, 2 * SECOND, &lone->outbox);
    receive_status(lone, KEYS, "first");
    receive_status(lone, KEYS, "second");
    assert_true(is_busy(lone));
    replicator_peer_removed(lone->replicator, 2 * SECOND, &lone->peer);
    assert_false(is_busy(lone));
    replicator_step(lone->replicator, 2 * SECOND, &lone->outbox);
    assert_false(lone_next(lone, &message));
    lone_free(lone);
}

static void a_key_that_expires_between_steps_is_not_sent(void **state)
{
    static const struct replicator_expiry expiries[] = { { "s*", 10000 } };
    struct lone *lone = lone_expiring(expiries, 1);
    struct message message;
    (void)state;

    lone_tell(lone, &lone->peer, MEMBER_UP, true);
    for (uint32_t i = 0; i < KEYS; i++)
        put_set(lone, i, i);
    receive_status(lone, KEYS, "theirs");
    while (lone_next(lone, &message))
        message_fini(&message);
    assert_true(is_busy(lone));
    replicator_wall(lone->replicator, CLUSTER_WALL_MS + 20000);
    replicator_step(lone->replicator, 2 * SECOND, &lone->outbox);
    assert_int_equal(lone_counters(lone)->expired, KEYS);
    while (is_busy(lone))
        replicator_step(lone->replicator, 2 * SECOND, &lone->outbox);
    while (lone_next(lone, &message)) {
        assert_int_equal(message.kind == MESSAGE_GOSSIP ? message.count : 0,
                         0);
        message_fini(&message);
    }
    lone_free(lone);
}

/* One that uses up the shared room leaves the others one value in each step. */
static void a_spent_room_stops_no_replicator(void **state)
{
    struct lone *lone = with_sets();
    struct replicator_room room = { 0 };
    struct outbox outbox = { 0 };
    struct outbound out;
    uint32_t steps = 0;
    struct replicator *other = replicator_new(
        &(struct replicator_options){ .identity = &lone->identity,
                                      .path = CLUSTER_PATH,
                                      .settings = { .deltas_off = true },
                                      .writer = &lone->writer,
                                      .seed = 3,
                                      .room = &room },
        0);
    (void)state;

    replicator_peer(other, 0,
                    &(struct member_info){ .node = lone->peer,
                                    .up_number = 1,
                                    .status = MEMBER_UP,
                                    .reachable = true,
                                    .has_role = true });
    for (uint32_t i = 0; i < KEYS; i++) {
        struct replicator *own = lone->replicator;

        lone->replicator = other;
        put_set(lone, i, i);
        lone->replicator = own;
    }
    replicator_step(other, 2 * SECOND, &outbox);
    for (; replicator_deadline(other) == 0; steps++)
        replicator_step(other, 2 * SECOND, &outbox);
    assert_in_range(steps, KEYS - 2, KEYS);
    assert_true(outbox_next(&outbox, &out));
    assert_true(slice_is(out.manifest, message_manifest(MESSAGE_STATUS)));
    replicator_free(other);
    outbox_fini(&outbox);
    lone_free(lone);
}

/* Two with different values of many keys become equal by gossip alone. */
static void replicas_converge_in_several_steps(void **state)
{
    struct cluster *c = cluster_new(41);
    (void)state;

    c->settings.deltas_off = true;
    for (uint32_t n = 0; n < 3; n++)
        (void)cluster_add(c);
    for (uint32_t i = 0; i < NAMED; i++) {
        char key[8];

        snprintf(key, sizeof key, "s%u", (unsigned)i);
        for (uint32_t n = 0; n < 3; n++) {
            struct dd_value *value = dd_new(DD_ORSET);

            for (uint32_t e = 0; e < 40; e++) {
                struct dd_element element = dd_long(n * 1000 + e * 7);

                dd_orset_add(value, &c->nodes[n].writer, &element);
            }
            (void)do_put(c, n, key, value, local);
        }
    }
    assert_true(cluster_converge(c, 60 * SECOND));
    for (uint32_t n = 0; n < 3; n++)
        assert_int_equal(size_at(c, n, "s299"), 120);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_goes_to_many_in_several_steps),
        cmocka_unit_test(large_values_are_copied_in_several_steps),
        cmocka_unit_test(writes_stay_in_order),
        cmocka_unit_test(an_ended_write_is_not_sent_further),
        cmocka_unit_test(waiting_messages_have_a_limit),
        cmocka_unit_test(an_ended_replicator_sends_nothing),
        cmocka_unit_test(digests_are_made_in_several_steps),
        cmocka_unit_test(small_values_are_encoded_in_several_steps),
        cmocka_unit_test(a_status_is_sent_despite_constant_changes),
        cmocka_unit_test(no_step_makes_all_remaining_digests),
        cmocka_unit_test(a_status_is_compared_in_several_steps),
        cmocka_unit_test(waiting_statuses_have_a_limit),
        cmocka_unit_test(the_bytes_of_waiting_statuses_have_a_limit),
        cmocka_unit_test(a_status_is_answered_despite_constant_changes),
        cmocka_unit_test(statuses_of_removed_members_are_dropped),
        cmocka_unit_test(a_key_that_expires_between_steps_is_not_sent),
        cmocka_unit_test(a_gossip_is_merged_in_several_steps),
        cmocka_unit_test(statuses_and_gossips_are_processed_in_order),
        cmocka_unit_test(gossip_of_removed_members_is_dropped),
        cmocka_unit_test(a_spent_room_stops_no_replicator),
        cmocka_unit_test(replicas_converge_in_several_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
