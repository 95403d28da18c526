/* Fuzzes sharding envelopes. Any bytes are read safely. An envelope that was read or written stays
 * the same after another round. */
#include "artery/envelope.h"
#include "base/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void round_trip(const struct sharding_envelope *message,
                       struct slice sender)
{
    static const struct identity self = {"akka", "S", {{"h", 1}, 7}};
    static struct envelope_head head;
    struct buf frame = {0};
    struct envelope envelope;
    struct sharding_envelope got;

    if (!head.bytes.size)
        check(envelope_head_init(&head, &self, NULL,
                                 slice_text("akka://S@h:2/system/sharding/T"),
                                 slice_text("a"), 25));
    sharding_envelope_put(&frame, &head, sender, message);
    check(frame.size <=
          envelope_size_max(&head, sender,
                            message->id.size + message->manifest.size +
                                message->body.size +
                                SHARDING_ENVELOPE_OVERHEAD));
    check(envelope_read(slice_of(frame.data + 4, frame.size - 4), NULL,
                        &envelope) == ENVELOPE_OK);
    check(slice_equal(envelope.sender, sender));
    check(sharding_envelope_read(envelope.payload, &got));
    check(slice_equal(got.id, message->id));
    check(slice_equal(got.manifest, message->manifest));
    check(slice_equal(got.body, message->body));
    check(got.serializer == message->serializer);
    buf_fini(&frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sharding_envelope message;
    struct sharding_envelope any;
    struct cursor cursor = cursor_of(slice_of(data, size));
    struct slice sender;

    if (sharding_envelope_read_usual(slice_of(data, size), &message)) {
        check(sharding_envelope_read_any(slice_of(data, size), &any));
        check(slice_equal(any.id, message.id));
        check(slice_equal(any.manifest, message.manifest));
        check(slice_equal(any.body, message.body));
        check(any.serializer == message.serializer);
    }
    if (sharding_envelope_read(slice_of(data, size), &message))
        round_trip(&message, slice_text(""));
    message.id = cursor_slice(&cursor, cursor_u8(&cursor));
    message.manifest = cursor_slice(&cursor, cursor_u8(&cursor));
    sender = cursor_slice(&cursor, cursor_u8(&cursor));
    message.serializer = (int32_t)cursor_u32(&cursor);
    if (cursor.failed)
        return 0;
    message.body = slice_of(cursor.at, cursor_left(&cursor));
    round_trip(&message, sender);
    return 0;
}
