/* Checks messages between replicators as bytes: Akka's fields and numbers, written by hand, and
 * malformed messages. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/gzip.h"
#include "base/limits.h"
#include "base/rng.h"
#include "ddata/message.h"

/* both halves of the uid have a fixed width */
static const struct node_id node = { { "h", 2551 }, 0x0807060504030201 };
#define NODE_BYTES                                                              \
    "\x0a\x06\x0a\x01h\x10\xf7\x13\x15\x01\x02\x03\x04\x1d\x05\x06\x07\x08"
#define NODE_SIZE "\x12"
/* an envelope with a flag that is on: serializer 11, manifest D */
#define FLAG_BYTES "\x0a\x09\x0a\x02\x08\x01\x10\x0b\x22\x01" "D"
#define FLAG_SIZE "\x0b"

#define BYTES(text) slice_of(text, sizeof(text) - 1)

static void assert_bytes(const struct buf *buf, struct slice bytes)
{
    assert_int_equal(buf->size, bytes.size);
    assert_memory_equal(buf->data, bytes.data, bytes.size);
}

/* Encoded it is these bytes, and decoded the same message. */
static void assert_written(const struct message *message, struct slice bytes)
{
    struct buf once = { 0 };
    struct buf twice = { 0 };
    struct message again;

    message_put(&once, message);
    assert_bytes(&once, bytes);
    assert_true(message_get(message->kind, buf_slice(&once), &again));
    message_put(&twice, &again);
    assert_bytes(&twice, bytes);
    message_fini(&again);
    buf_fini(&once);
    buf_fini(&twice);
}

static void fields_and_numbers_are_akkas(void **state)
{
    struct message_entry entry = { BYTES("k"), BYTES(FLAG_BYTES), 3, 5, 0 };
    struct message message = { .kind = MESSAGE_WRITE,
                               .entries = &entry,
                               .count = 1,
                               .from = node };
    (void)state;

    assert_written(&message,
                   BYTES("\x0a\x01k\x12" FLAG_SIZE FLAG_BYTES
                         "\x1a" NODE_SIZE NODE_BYTES));
    message.kind = MESSAGE_READ;
    assert_written(&message, BYTES("\x0a\x01k\x12" NODE_SIZE NODE_BYTES));
    message.kind = MESSAGE_READ_RESULT;
    assert_written(&message, BYTES("\x0a" FLAG_SIZE FLAG_BYTES));
    message.count = 0;
    assert_written(&message, slice_of(NULL, 0));
    message.count = 1;
    message.kind = MESSAGE_DELTAS;
    assert_written(&message,
                   BYTES("\x0a" NODE_SIZE NODE_BYTES
                         "\x12\x14\x0a\x01k\x12" FLAG_SIZE FLAG_BYTES
                         "\x18\x03\x20\x05"));
    entry.to = 3;
    message.reply = true;
    assert_written(&message,
                   BYTES("\x0a" NODE_SIZE NODE_BYTES
                         "\x12\x12\x0a\x01k\x12" FLAG_SIZE FLAG_BYTES
                         "\x18\x03\x18\x01"));
    message.kind = MESSAGE_WRITE_ACK;
    assert_written(&message, slice_of(NULL, 0));
}

static void statuses_name_both_incarnations(void **state)
{
    struct message_entry entries[] = { { BYTES("a"), BYTES("\xff"), 0, 0, 0 },
                                       { BYTES("b"), BYTES(""), 0, 0, 5 } };
    struct message message = { .kind = MESSAGE_STATUS,
                               .entries = entries,
                               .count = 2,
                               .chunk = 1,
                               .chunks = 300,
                               .has_to_uid = true,
                               .to_uid = 0x0807060504030201,
                               .has_from_uid = true,
                               .from_uid = 2 };
    (void)state;

    assert_written(&message,
                   BYTES("\x08\x01\x10\xac\x02\x1a\x06\x0a\x01"
                         "a\x12\x01\xff\x1a\x07\x0a\x01"
                         "b\x12\x00\x18\x0a\x21\x01\x02\x03\x04\x05\x06\x07\x08"
                         "\x29\x02\x00\x00\x00\x00\x00\x00\x00"));
}

static void gossips_are_compressed(void **state)
{
    struct message_entry entry = { BYTES("k"), BYTES(FLAG_BYTES), 0, 0, 0 };
    struct message message = { .kind = MESSAGE_GOSSIP,
                               .entries = &entry,
                               .count = 1,
                               .send_back = true,
                               .has_to_uid = true,
                               .to_uid = 1 };
    struct buf packed = { 0 };
    struct buf plain = { 0 };
    struct message again;
    (void)state;

    message_put(&packed, &message);
    assert_true(gzip_inflate(&plain, buf_slice(&packed), 1000, NULL));
    assert_bytes(&plain, BYTES("\x08\x01\x12\x10\x0a\x01k\x12" FLAG_SIZE
                                   FLAG_BYTES
                               "\x19\x01\x00\x00\x00\x00\x00\x00\x00"));
    assert_true(message_get(MESSAGE_GOSSIP, buf_slice(&packed), &again));
    assert_true(again.send_back);
    assert_int_equal(again.count, 1);
    assert_true(slice_equal(again.entries[0].key, BYTES("k")));
    assert_true(again.has_to_uid && !again.has_from_uid);
    message_fini(&again);
    buf_fini(&packed);
    buf_fini(&plain);
}

/* A gossip contains compressed entries unchanged; others are compressed. */
static void compressed_entries_are_not_compressed_again(void **state)
{
    struct buf bytes = { 0 };
    struct buf inner = { 0 };
    struct buf envelope_bytes = { 0 };
    struct buf packed = { 0 };
    struct buf plain = { 0 };
    (void)state;

    for (uint32_t i = 0; i < 1000; i++)
        buf_put_u32(&bytes, i);
    gzip_deflate(&inner, buf_slice(&bytes));
    for (int is_packed = 0; is_packed < 2; is_packed++) {
        struct dd_other state_of = {
            4, { 0 }, is_packed ? buf_slice(&inner) : buf_slice(&bytes)
        };
        struct envelope envelope = {
            .value = dd_register_new(&node, state_of, 1, DD_CLOCK_LAST)
        };
        struct message_entry entry = { .key = BYTES("k") };
        struct message message = {
            .kind = MESSAGE_GOSSIP,
            .entries = &entry,
            .count = 1,
            .is_packed = dd_is_packed(envelope.value),
        };
        struct message again;

        assert_int_equal(message.is_packed, is_packed);
        buf_clear(&envelope_bytes);
        buf_clear(&packed);
        buf_clear(&plain);
        envelope_encode(&envelope_bytes, &envelope, NULL, ENVELOPE_WHOLE);
        entry.bytes = buf_slice(&envelope_bytes);
        message_put(&packed, &message);
        assert_true(gzip_inflate(&plain, buf_slice(&packed), 10000, NULL));
        assert_int_equal(memmem(packed.data, packed.size, envelope_bytes.data,
                                envelope_bytes.size) != NULL,
                         is_packed);
        assert_true(
            message_get(MESSAGE_GOSSIP, buf_slice(&packed), &again));
        assert_true(slice_equal(again.entries[0].bytes, entry.bytes));
        message_fini(&again);
        envelope_fini(&envelope);
    }
    buf_fini(&bytes);
    buf_fini(&inner);
    buf_fini(&envelope_bytes);
    buf_fini(&packed);
    buf_fini(&plain);
}

static void assert_envelope(const struct envelope *envelope,
                            enum envelope_form form, struct slice bytes)
{
    struct buf buf = { 0 };

    envelope_encode(&buf, envelope, NULL, form);
    assert_bytes(&buf, bytes);
    buf_fini(&buf);
}

static void envelopes_have_three_forms(void **state)
{
    struct envelope envelope = { .value = dd_new(DD_FLAG) };
    struct envelope again = { 0 };
    struct node_id removed = { { "r", 1 }, 9 };
    struct node_id other = { { "s", 1 }, 9 };
    struct address seen = { "t", 2 };
    struct buf bytes = { 0 };
    (void)state;

    dd_flag_switch_on(envelope.value);
    assert_envelope(&envelope, ENVELOPE_WHOLE, BYTES(FLAG_BYTES));
    versions_set(&envelope.versions, &node, 7);
    assert_envelope(&envelope, ENVELOPE_PLAIN, BYTES(FLAG_BYTES));
    assert_envelope(&envelope, ENVELOPE_WHOLE,
                    BYTES(FLAG_BYTES "\x1a\x18\x0a\x16\x0a" NODE_SIZE NODE_BYTES
                                     "\x10\x07"));
    pruning_put(&envelope.pruning, &other)->owner = node;
    pruning_see(pruning_find(&envelope.pruning, &other), &seen);
    pruning_perform(pruning_put(&envelope.pruning, &removed), 150);
    /* The required owner is the one that Akka writes where it means none. */
    assert_envelope(
        &envelope, ENVELOPE_STORED,
        BYTES(FLAG_BYTES
              "\x12\x2c\x0a\x11\x0a\x05\x0a\x01r\x10\x01\x15\x09\x00\x00\x00"
              "\x1d\x00\x00\x00\x00"
              "\x12\x12\x0a\x06\x0a\x01"
              "c\x10\xf8\x13\x15\x01\x00\x00\x00\x1d\x00\x00\x00\x00"
              "\x18\x01\x28\xac\x02"));
    /* Pekko writes another one, which is written again unchanged, or digests would differ. */
    pruning_find(&envelope.pruning, &removed)->is_pekko = true;
    envelope_encode(&bytes, &envelope, NULL, ENVELOPE_STORED);
    assert_memory_equal(bytes.data + sizeof FLAG_BYTES - 1 + 27,
                        "c\x10\xbb\x39\x15", 5);
    assert_true(envelope_decode(buf_slice(&bytes), &again));
    assert_envelope(&again, ENVELOPE_STORED, buf_slice(&bytes));
    envelope_fini(&again);
    again = (struct envelope){ 0 };
    buf_clear(&bytes);
    envelope_encode(&bytes, &envelope, NULL, ENVELOPE_WHOLE);
    assert_true(envelope_decode(buf_slice(&bytes), &again));
    assert_true(dd_equal(again.value, envelope.value));
    assert_true(pruning_equal(&again.pruning, &envelope.pruning));
    assert_int_equal(versions_get(&again.versions, &node), 7);
    buf_fini(&bytes);
    envelope_fini(&envelope);
    envelope_fini(&again);
}

static void assert_refused(enum message_kind kind, struct slice payload)
{
    struct message message;

    assert_false(message_get(kind, payload, &message));
    message_fini(&message);
}

static void malformed_messages_are_refused(void **state)
{
    struct envelope envelope = { 0 };
    struct buf packed = { 0 };
    (void)state;

    assert_refused(MESSAGE_WRITE, BYTES("\x0a\x01k")); /* no envelope */
    assert_refused(MESSAGE_WRITE, BYTES("\x0a\x7fk"));
    assert_refused(MESSAGE_STATUS, BYTES("\x08\x00\x10\x00")); /* no chunks */
    assert_refused(MESSAGE_STATUS,
                   BYTES("\x08\x00\x10\xff\xff\xff\xff\x0f"));
    assert_refused(MESSAGE_GOSSIP, BYTES("\x08\x01")); /* not compressed */
    /* A sender without uid, with port 0, and with a zero byte in the host. */
    assert_refused(MESSAGE_READ,
                   BYTES("\x0a\x01k\x12\x0d\x0a\x06\x0a\x01h\x10\xf7\x13\x15"
                         "\x00\x00\x00\x00"));
    assert_refused(MESSAGE_READ,
                   BYTES("\x0a\x01k\x12\x0c\x0a\x05\x0a\x01h\x10\x00\x15"
                         "\x01\x00\x00\x00"));
    assert_refused(MESSAGE_READ,
                   BYTES("\x0a\x01k\x12\x0c\x0a\x05\x0a\x01\x00\x10\x05\x15"
                         "\x01\x00\x00\x00"));
    /* A key that is not UTF-8, in every kind with a key. */
    assert_refused(MESSAGE_READ, BYTES("\x0a\x02\xfek"));
    assert_refused(MESSAGE_WRITE, BYTES("\x0a\x02\xfek\x12" FLAG_SIZE FLAG_BYTES));
    assert_refused(MESSAGE_STATUS,
                   BYTES("\x08\x00\x10\x01\x1a\x05\x0a\x01\xff\x12\x00"));
    gzip_deflate(&packed, BYTES("\x08\x01\x12\x10\x0a\x01\xfe\x12" FLAG_SIZE FLAG_BYTES));
    assert_refused(MESSAGE_GOSSIP, buf_slice(&packed));
    buf_fini(&packed);
    assert_refused(MESSAGE_DELTAS,
                   BYTES("\x0a" NODE_SIZE NODE_BYTES
                         "\x12\x12\x0a\x01\xfe\x12" FLAG_SIZE FLAG_BYTES
                         "\x18\x01"));
    /* Versions that start at 0, or fall. */
    assert_refused(MESSAGE_DELTAS,
                   BYTES("\x0a" NODE_SIZE NODE_BYTES
                         "\x12\x12\x0a\x01k\x12" FLAG_SIZE FLAG_BYTES
                         "\x18\x00"));
    assert_refused(MESSAGE_DELTAS,
                   BYTES("\x0a" NODE_SIZE NODE_BYTES
                         "\x12\x14\x0a\x01k\x12" FLAG_SIZE FLAG_BYTES
                         "\x18\x05\x20\x03"));
    assert_false(envelope_decode(BYTES(""), &envelope));
    assert_false(envelope_decode(BYTES("\x0a\x09\x0a\x02\x08\xff\x10\x0b\x22\x01"
                                     "D"),
                               &envelope));
    assert_null(envelope.value);
}

static void kinds_of_messages_are_distinguished(void **state)
{
    (void)state;
    assert_int_equal(message_kind_of(BYTES("I")), MESSAGE_WRITE);
    assert_int_equal(message_kind_of(BYTES("R")), MESSAGE_DELTA_NACK);
    assert_int_equal(message_kind_of(BYTES("A")), MESSAGE_CLIENT);
    assert_int_equal(message_kind_of(BYTES("G")), MESSAGE_CLIENT);
    assert_int_equal(message_kind_of(BYTES("H")), MESSAGE_UNKNOWN);
    assert_int_equal(message_kind_of(BYTES("")), MESSAGE_UNKNOWN);
    assert_int_equal(message_kind_of(BYTES("NN")), MESSAGE_UNKNOWN);
}

/* The memory for decoding is limited before it is allocated. */
static void the_memory_of_a_message_has_a_limit(void **state)
{
    struct buf payload = { 0 };
    struct buf packed = { 0 };
    struct message message;
    (void)state;

    buf_put_text(&payload, "\x08\x01\x10\x01");
    /* Five bytes each, and a hundred in memory. */
    while (payload.size < REPLICATOR_MESSAGE_MEMORY_MAX / 100 * 6)
        buf_put(&payload, "\x1a\x04\x0a\x00\x12\x00", 6);
    assert_refused(MESSAGE_STATUS, buf_slice(&payload));
    payload.size = 4 + 600;
    assert_true(message_get(MESSAGE_STATUS, buf_slice(&payload), &message));
    assert_int_equal(message.count, 100);
    message_fini(&message);
    buf_clear(&payload);
    memset(buf_reserve(&payload, REPLICATOR_INFLATE_SIZE_MAX + 1), 0x78,
           REPLICATOR_INFLATE_SIZE_MAX + 1);
    payload.size = REPLICATOR_INFLATE_SIZE_MAX + 1;
    gzip_deflate(&packed, buf_slice(&payload));
    assert_refused(MESSAGE_GOSSIP, buf_slice(&packed));
    buf_fini(&payload);
    buf_fini(&packed);
}

/* More than a cluster can have. */
static void markers_and_versions_have_limits(void **state)
{
    struct envelope envelope = { .value = dd_new(DD_FLAG) };
    struct envelope again = { 0 };
    struct buf bytes = { 0 };
    (void)state;

    for (uint32_t n = 0; n <= REPLICATOR_PRUNING_MAX; n++) {
        struct node_id removed = { { "r", 1 }, 1 + n };

        if (n == REPLICATOR_PRUNING_MAX) {
            envelope_encode(&bytes, &envelope, NULL, ENVELOPE_WHOLE);
            assert_true(envelope_decode(buf_slice(&bytes), &again));
            assert_int_equal(again.pruning.marks.count, n);
            envelope_fini(&again);
            buf_clear(&bytes);
        }
        pruning_perform(pruning_put(&envelope.pruning, &removed), 1);
    }
    envelope_encode(&bytes, &envelope, NULL, ENVELOPE_WHOLE);
    assert_false(envelope_decode(buf_slice(&bytes), &again));
    envelope_fini(&envelope);
    buf_fini(&bytes);
}

/* Random bytes, and messages with changed bytes, neither crash nor leak. */
static void hostile_bytes_do_no_harm(void **state)
{
    struct message_entry entry = { BYTES("k"), BYTES(FLAG_BYTES), 3, 5, 0 };
    struct rng rng;
    (void)state;

    rng_init(&rng, 7);
    for (uint32_t round = 0; round < 20000; round++) {
        struct message message = {
            .kind = (enum message_kind)rng_below(&rng, MESSAGE_CLIENT),
            .entries = &entry,
            .count = 1,
            .chunks = 1,
            .from = node,
        };
        struct envelope envelope = { 0 };
        struct buf payload = { 0 };

        message_put(&payload, &message);
        for (uint64_t i = rng_below(&rng, 4); payload.size && i > 0; i--)
            payload.data[rng_below(&rng, payload.size)] =
                (uint8_t)rng_next(&rng);
        if (payload.size && rng_below(&rng, 4) == 0)
            payload.size = rng_below(&rng, payload.size);
        if (message_get(message.kind, buf_slice(&payload), &message) &&
            message.count && envelope_decode(message.entries[0].bytes, &envelope))
            envelope_fini(&envelope);
        message_fini(&message);
        buf_fini(&payload);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_and_numbers_are_akkas),
        cmocka_unit_test(statuses_name_both_incarnations),
        cmocka_unit_test(gossips_are_compressed),
        cmocka_unit_test(compressed_entries_are_not_compressed_again),
        cmocka_unit_test(envelopes_have_three_forms),
        cmocka_unit_test(malformed_messages_are_refused),
        cmocka_unit_test(kinds_of_messages_are_distinguished),
        cmocka_unit_test(the_memory_of_a_message_has_a_limit),
        cmocka_unit_test(markers_and_versions_have_limits),
        cmocka_unit_test(hostile_bytes_do_no_harm),
    };

    return cmocka_run_group_tests_name("ddata_message", tests, NULL, NULL);
}
