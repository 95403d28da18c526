/* Fuzzes the decoder of envelopes. An envelope that was read, written and read again is the
 * same. */
#include "artery/control.h"
#include "artery/envelope.h"
#include "artery/table.h"
#include "base/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void again(const struct envelope *first)
{
    struct identity self = {"akka", "S", {{"h", 1}, first->origin}};
    struct outbound message = {
        .recipient = first->recipient,
        .sender = first->sender,
        .manifest = first->manifest,
        .payload = first->payload,
        .serializer = first->serializer,
        .stream = STREAM_ORDINARY,
    };
    struct envelope_head head = {0};
    struct envelope second;
    struct buf frame = {0};

    address_set(&message.to.address, "h", 1, 2);
    /* A text that begins with a slash is a path, to which the writer would add an address. */
    if ((first->recipient.size && first->recipient.data[0] == '/') ||
        (first->sender.size && first->sender.data[0] == '/'))
        return;
    check(envelope_put(&frame, &self, NULL, &message));
    check(envelope_read(slice_of(frame.data + 4, frame.size - 4), NULL,
                        &second) == ENVELOPE_OK);
    check(second.origin == first->origin);
    check(second.serializer == first->serializer);
    check(slice_equal(second.sender, first->sender));
    check(slice_equal(second.recipient, first->recipient));
    check(slice_equal(second.manifest, first->manifest));
    check(slice_equal(second.payload, first->payload));
    /* The lane's writer makes the same bytes. */
    check(envelope_head_init(&head, &self, NULL, first->recipient,
                             first->manifest, first->serializer));
    {
        struct buf other = {0};

        envelope_head_put(&other, &head, first->sender, first->payload);
        check(slice_equal(buf_slice(&other), buf_slice(&frame)));
        buf_fini(&other);
    }
    envelope_head_fini(&head);
    buf_fini(&frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct own_tables own;
    static const struct identity self = {"akka", "S", {{"h", 1}, 7}};
    static const struct node_id from = {{"h", 2}, 8};
    struct slice texts[] = {slice_text(""), slice_text("akka://S@h:1/u")};
    struct envelope envelope;
    struct selection selection;
    struct inbound inbound;

    if (!own.kept[0][0]) {
        own_tables_set(&own, TABLE_REFS, texts, 2);
        own_tables_set(&own, TABLE_MANIFESTS, texts, 2);
    }
    if (size > FRAME_SIZE_MAX - 1000)
        return 0;
    if (envelope_read(slice_of(data, size), &own, &envelope) == ENVELOPE_OK) {
        struct envelope *kept = envelope_keep(&envelope);

        again(&envelope);
        check(kept->origin == envelope.origin);
        check(kept->recipient_index == envelope.recipient_index);
        check(slice_equal(kept->sender, envelope.sender));
        check(slice_equal(kept->recipient, envelope.recipient));
        check(slice_equal(kept->manifest, envelope.manifest));
        check(slice_equal(kept->payload, envelope.payload));
        mem_free(kept);
        if (envelope_inbound(&self, &from, &envelope, &selection, &inbound))
            check(inbound.recipient.size <= REF_SIZE_MAX);
    }
    if (envelope_read(slice_of(data, size), NULL, &envelope) == ENVELOPE_OK)
        check(envelope.recipient_index == -1);
    if (envelope_unwrap_selection(slice_of(data, size), &selection))
        check(selection.path.size > 1 && selection.path.data[0] == '/');
    return 0;
}
