/* Fuzzes messages between replicators. Input: 1 byte kind, then the payload, for a gossip before
 * compression. A message that was read, and each envelope in it, is the same after it is written
 * and read again. */
#include "base/check.h"
#include "base/gzip.h"
#include "ddata/message.h"
#include "ddata/opaque.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_performed(const struct pruning *pruning)
{
    for (uint32_t i = 0; i < pruning->marks.count; i++)
        if (pruning->marks.items[i].is_performed)
            return true;
    return false;
}

/* A replicator names the origin of each state. */
static void name_origin(struct envelope *envelope)
{
    static const struct node_id node = { { "a", 2552 }, 1 };

    if (!envelope->origin)
        envelope->origin = origin_new(&node, ORIGIN_STATE);
}

/* As a durable file contains it, with siblings. */
static void check_stored(struct slice bytes)
{
    struct envelope envelope = { 0 };
    struct envelope again = { 0 };
    struct buf once = { 0 };
    struct buf twice = { 0 };

    if (!envelope_decode_stored(bytes, &envelope)) {
        check(!envelope.value && !envelope.siblings.count);
        return;
    }
    envelope_encode(&once, &envelope, NULL, ENVELOPE_STORED);
    check(envelope_decode_stored(buf_slice(&once), &again));
    check(opaque_count(&envelope) == opaque_count(&again));
    envelope_encode(&twice, &again, NULL, ENVELOPE_STORED);
    check(slice_equal(buf_slice(&once), buf_slice(&twice)));
    envelope_fini(&envelope);
    envelope_fini(&again);
    buf_fini(&once);
    buf_fini(&twice);
}

static void check_envelope(struct slice bytes)
{
    struct envelope envelope = { 0 };
    struct envelope again = { 0 };
    struct buf once = { 0 };
    struct buf twice = { 0 };

    check_stored(bytes);
    if (!envelope_decode(bytes, &envelope)) {
        check(!envelope.value);
        return;
    }
    envelope_encode(&once, &envelope, NULL, ENVELOPE_WHOLE);
    check(envelope_decode(buf_slice(&once), &again));
    check(pruning_equal(&envelope.pruning, &again.pruning));
    envelope_encode(&twice, &again, NULL, ENVELOPE_WHOLE);
    check(slice_equal(buf_slice(&once), buf_slice(&twice)));
    if (!dd_is_delta(envelope.value) &&
        dd_kind_of(envelope.value) != DD_DELETED) {
        /* A merge with itself changes nothing, or nothing the second time if the envelope has
         * entries of a pruned member. The merge uses up the other envelope. */
        /* a mark that ends at INT64_MIN is dropped */
        bool may_change = is_performed(&envelope.pruning);

        if (opaque_is_needed(&envelope, &again)) {
            name_origin(&envelope);
            name_origin(&again);
        }
        if (envelope_merge(&envelope, &again, INT64_MIN) != ENVELOPE_SAME)
            check(may_change);
        envelope_fini(&again);
        check(envelope_decode(buf_slice(&once), &again));
        if (opaque_is_needed(&envelope, &again))
            name_origin(&again);
        check(envelope_merge(&envelope, &again, INT64_MIN) == ENVELOPE_SAME);
    }
    envelope_fini(&envelope);
    envelope_fini(&again);
    buf_fini(&once);
    buf_fini(&twice);
}

static void check_again(const struct message *message)
{
    struct buf once = { 0 };
    struct buf twice = { 0 };
    struct message again;

    message_put(&once, message);
    check(message_get(message->kind, buf_slice(&once), &again));
    check(again.count == message->count);
    message_put(&twice, &again);
    check(slice_equal(buf_slice(&once), buf_slice(&twice)));
    message_fini(&again);
    buf_fini(&once);
    buf_fini(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf packed = { 0 };
    struct message message;
    struct slice payload;
    enum message_kind kind;

    if (!size)
        return 0;
    kind = (enum message_kind)(data[0] % MESSAGE_CLIENT);
    payload = slice_of(data + 1, size - 1);
    if (kind == MESSAGE_GOSSIP) {
        gzip_deflate(&packed, payload);
        payload = buf_slice(&packed);
    }
    if (message_get(kind, payload, &message)) {
        if (message.from.uid || (kind != MESSAGE_WRITE && kind != MESSAGE_READ))
            check_again(&message);
        for (uint32_t i = 0; i < message.count; i++)
            check(text_is_valid(message.entries[i].key));
        for (uint32_t i = 0; kind != MESSAGE_STATUS && i < message.count; i++)
            check_envelope(message.entries[i].bytes);
    }
    message_fini(&message);
    buf_fini(&packed);
    return 0;
}
