/* Numbers, acknowledgements and resending of reliable messages (wire 3.4). */
#include "artery/sequence.h"

#include "artery/control.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/timers.h"

void sequence_give_up(struct sequence *sequence)
{
    for (uint32_t i = sequence->head; i < sequence->sent.count; i++)
        mem_free(sequence->sent.items[i].bytes);
    vec_fini(&sequence->sent);
    sequence->head = 0;
    sequence->bytes = 0;
}

void sequence_fini(struct sequence *sequence)
{
    sequence_give_up(sequence);
    *sequence = (struct sequence){0};
}

uint32_t sequence_waiting(const struct sequence *sequence)
{
    return sequence->sent.count - sequence->head;
}

static void put_bytes(struct buf *buf, unsigned field, struct slice bytes)
{
    buf_put_u8(buf, (uint8_t)(field << 3 | 2));
    buf_put_varint(buf, bytes.size);
    buf_put_slice(buf, bytes);
}

static void put_number(struct buf *buf, unsigned field, uint64_t value)
{
    buf_put_u8(buf, (uint8_t)(field << 3));
    buf_put_varint(buf, value);
}

/* A UniqueAddress message's payload is the field 1 that holds it; here it is
 * wanted under another number. */
static void put_self(struct buf *buf, unsigned field,
                     const struct identity *self)
{
    size_t at = buf->size;

    unique_address_put(buf, self, &self->node);
    buf->data[at] = (uint8_t)(field << 3 | 2);
}

static void transmit(const struct unacknowledged *message,
                     const struct identity *self, const struct node_id *to,
                     struct outbox *outbox)
{
    struct buf payload = {0};
    struct outbound outbound = {
        .to = *to,
        .recipient = slice_of(message->bytes, message->recipient_size),
        .manifest = slice_text(ARTERY_SYSTEM_MESSAGE),
        .serializer = SERIALIZER_ARTERY,
        .stream = STREAM_CONTROL,
    };

    put_bytes(&payload, 1,
              slice_of(message->bytes + message->recipient_size,
                       message->message_size));
    put_number(&payload, 2, SERIALIZER_SYSTEM);
    put_number(&payload, 4, message->seq);
    put_self(&payload, 5, self);
    outbound.payload = buf_slice(&payload);
    outbox_put(outbox, &outbound);
    buf_fini(&payload);
}

bool sequence_send(struct sequence *sequence, uint64_t now,
                   const struct identity *self, const struct node_id *to,
                   struct slice recipient, struct slice message,
                   struct outbox *outbox)
{
    struct unacknowledged kept = {
        .seq = sequence->last_seq + 1,
        .recipient_size = (uint32_t)recipient.size,
        .message_size = (uint32_t)message.size,
    };
    size_t size = recipient.size + message.size;

    check(recipient.size <= REF_SIZE_MAX && message.size <= FRAME_SIZE_MAX);
    if (sequence_waiting(sequence) >= SYSTEM_MESSAGES_MAX ||
        size > SYSTEM_MESSAGES_SIZE_MAX - sequence->bytes)
        return false;
    kept.bytes = mem_alloc(size);
    memcpy(kept.bytes, recipient.data, recipient.size);
    memcpy(kept.bytes + recipient.size, message.data, message.size);
    if (!sequence_waiting(sequence)) {
        sequence->progress_at = now;
        sequence->resend_at = now + SYSTEM_RESEND_MS * MS;
    }
    sequence->last_seq++;
    sequence->bytes += size;
    vec_push(&sequence->sent, kept);
    transmit(&kept, self, to, outbox);
    return true;
}

bool sequence_acknowledge(struct sequence *sequence, uint64_t now, uint64_t seq)
{
    uint32_t before = sequence->head;

    if (seq > sequence->last_seq)
        return false;
    while (sequence->head < sequence->sent.count) {
        struct unacknowledged *oldest = &sequence->sent.items[sequence->head];

        if (oldest->seq > seq)
            break;
        sequence->bytes -= oldest->recipient_size + oldest->message_size;
        mem_free(oldest->bytes);
        sequence->head++;
    }
    if (sequence->head != before)
        sequence->progress_at = now;
    /* The front is taken away in large pieces, so that a long queue is not
     * moved for each. */
    if (sequence->head == sequence->sent.count) {
        sequence->head = sequence->sent.count = 0;
    } else if (sequence->head >= 1024 &&
               sequence->head >= sequence->sent.count / 2) {
        sequence->sent.count -= sequence->head;
        memmove(sequence->sent.items, sequence->sent.items + sequence->head,
                sequence->sent.count * sizeof *sequence->sent.items);
        sequence->head = 0;
    }
    return true;
}

uint32_t sequence_resend(struct sequence *sequence, uint64_t now,
                         const struct identity *self, const struct node_id *to,
                         struct outbox *outbox)
{
    uint32_t count = sequence_waiting(sequence);

    if (count > SYSTEM_RESEND_MAX)
        count = SYSTEM_RESEND_MAX;
    for (uint32_t i = 0; i < count; i++)
        transmit(&sequence->sent.items[sequence->head + i], self, to, outbox);
    sequence->resend_at = now + SYSTEM_RESEND_MS * MS;
    return count;
}

uint64_t sequence_deadline(const struct sequence *sequence)
{
    return sequence_waiting(sequence) ? sequence->resend_at : NEVER;
}

bool sequence_hopeless(const struct sequence *sequence, uint64_t now)
{
    return sequence_waiting(sequence) &&
           now >= sequence->progress_at + SYSTEM_GIVE_UP_MS * MS;
}

bool sequence_receive(struct sequence *sequence, const struct identity *self,
                      const struct node_id *from, uint64_t seq,
                      struct outbox *outbox)
{
    bool next = seq == sequence->received + 1;
    bool gap = seq > sequence->received + 1;
    struct buf payload = {0};
    struct outbound answer = {
        .to = *from,
        .manifest = slice_text(gap ? ARTERY_NACK : ARTERY_ACK),
        .serializer = SERIALIZER_ARTERY,
        .stream = STREAM_CONTROL,
    };

    if (next)
        sequence->received = seq;
    put_number(&payload, 1, sequence->received);
    put_self(&payload, 2, self);
    answer.payload = buf_slice(&payload);
    outbox_put(outbox, &answer);
    buf_fini(&payload);
    return next;
}
