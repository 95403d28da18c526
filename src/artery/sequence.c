/* Numbers, acknowledges and resends reliable messages. */
#include "artery/sequence.h"

#include "artery/control.h"
#include "artery/unique_address.h"
#include "base/bound.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/timers.h"
#include "base/vec.h"

struct unacknowledged {
    uint64_t seq;
    uint8_t *bytes; /* recipient, then message */
    uint32_t recipient_size;
    uint32_t message_size;
};

struct numbered {
    VEC(struct unacknowledged) sent; /* in order of seq; those from `head` on wait */
    uint32_t head;
    size_t bytes;         /* of those that wait */
    uint64_t last_seq;    /* number of the newest sent; the first is 1 */
    uint64_t progress_at; /* of the last acknowledgement, or when the first began to wait */
    uint64_t resend_at;
    uint64_t received; /* the last one delivered */
};

static struct numbered *numbered_of(struct sequence *sequence)
{
    if (!sequence->numbered)
        sequence->numbered = mem_alloc(sizeof *sequence->numbered);
    return sequence->numbered;
}

void sequence_give_up(struct sequence *sequence)
{
    struct numbered *numbered = sequence->numbered;

    if (!numbered)
        return;
    for (uint32_t i = numbered->head; i < numbered->sent.count; i++)
        mem_free(numbered->sent.items[i].bytes);
    vec_fini(&numbered->sent);
    numbered->head = 0;
    numbered->bytes = 0;
}

void sequence_fini(struct sequence *sequence)
{
    sequence_give_up(sequence);
    mem_free(sequence->numbered);
    *sequence = (struct sequence){0};
}

static uint32_t waiting(const struct numbered *numbered)
{
    return numbered ? numbered->sent.count - numbered->head : 0;
}

uint32_t sequence_waiting(const struct sequence *sequence)
{
    return waiting(sequence->numbered);
}

size_t sequence_size(const struct sequence *sequence)
{
    return sequence->numbered ? sequence->numbered->bytes : 0;
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
    unique_address_put(&payload, 5, self, &self->node);
    outbound.payload = buf_slice(&payload);
    outbox_put(outbox, &outbound);
    buf_fini(&payload);
}

bool sequence_send(struct sequence *sequence, uint64_t now,
                   const struct identity *self, const struct node_id *to,
                   struct slice recipient, struct slice message,
                   struct outbox *outbox)
{
    struct numbered *numbered = numbered_of(sequence);
    struct unacknowledged kept = {
        .seq = numbered->last_seq + 1,
        .recipient_size = (uint32_t)recipient.size,
        .message_size = (uint32_t)message.size,
    };
    size_t size = recipient.size + message.size;

    check(recipient.size <= REF_SIZE_MAX && message.size <= FRAME_SIZE_MAX);
    if (waiting(numbered) >= SYSTEM_MESSAGES_MAX ||
        size > SYSTEM_MESSAGES_SIZE_MAX - numbered->bytes)
        return false;
    kept.bytes = mem_alloc(size);
    memcpy(kept.bytes, recipient.data, recipient.size);
    memcpy(kept.bytes + recipient.size, message.data, message.size);
    if (!waiting(numbered)) {
        numbered->progress_at = now;
        numbered->resend_at = now + SYSTEM_RESEND_MS * MS;
    }
    numbered->last_seq++;
    numbered->bytes += size;
    vec_push(&numbered->sent, kept);
    BOUNDED("system messages that are not acknowledged", waiting(numbered),
            SYSTEM_MESSAGES_MAX);
    BOUNDED("bytes of system messages that are not acknowledged",
            numbered->bytes, SYSTEM_MESSAGES_SIZE_MAX);
    transmit(&kept, self, to, outbox);
    return true;
}

bool sequence_acknowledge(struct sequence *sequence, uint64_t now, uint64_t seq)
{
    struct numbered *numbered = sequence->numbered;
    uint32_t before;

    if (!numbered || seq > numbered->last_seq)
        return seq == 0;
    before = numbered->head;
    while (numbered->head < numbered->sent.count) {
        struct unacknowledged *oldest = &numbered->sent.items[numbered->head];

        if (oldest->seq > seq)
            break;
        numbered->bytes -= oldest->recipient_size + oldest->message_size;
        mem_free(oldest->bytes);
        numbered->head++;
    }
    if (numbered->head != before)
        numbered->progress_at = now;
    /* Removes the front in large pieces, so that a long queue is not moved for each. */
    if (numbered->head == numbered->sent.count) {
        numbered->head = numbered->sent.count = 0;
    } else if (numbered->head >= 1024 &&
               numbered->head >= numbered->sent.count / 2) {
        numbered->sent.count -= numbered->head;
        memmove(numbered->sent.items, numbered->sent.items + numbered->head,
                numbered->sent.count * sizeof *numbered->sent.items);
        numbered->head = 0;
    }
    return true;
}

uint32_t sequence_resend(struct sequence *sequence, uint64_t now,
                         const struct identity *self, const struct node_id *to,
                         struct outbox *outbox)
{
    struct numbered *numbered = sequence->numbered;
    uint32_t count = waiting(numbered);

    if (!count)
        return 0;
    if (count > SYSTEM_RESEND_MAX)
        count = SYSTEM_RESEND_MAX;
    for (uint32_t i = 0; i < count; i++)
        transmit(&numbered->sent.items[numbered->head + i], self, to, outbox);
    numbered->resend_at = now + SYSTEM_RESEND_MS * MS;
    return count;
}

uint64_t sequence_deadline(const struct sequence *sequence)
{
    return sequence_waiting(sequence) ? sequence->numbered->resend_at : NEVER;
}

void sequence_postpone(struct sequence *sequence, uint64_t now)
{
    if (sequence->numbered)
        sequence->numbered->resend_at = now + SYSTEM_RESEND_MS * MS;
}

bool sequence_hopeless(const struct sequence *sequence, uint64_t now)
{
    return sequence_waiting(sequence) &&
           now >= sequence->numbered->progress_at + SYSTEM_GIVE_UP_MS * MS;
}

bool sequence_receive(struct sequence *sequence, const struct identity *self,
                      const struct node_id *from, uint64_t seq,
                      struct outbox *outbox)
{
    struct numbered *numbered = numbered_of(sequence);
    bool next = seq == numbered->received + 1;
    bool gap = seq > numbered->received + 1;
    struct buf payload = {0};
    struct outbound answer = {
        .to = *from,
        .manifest = slice_text(gap ? ARTERY_NACK : ARTERY_ACK),
        .serializer = SERIALIZER_ARTERY,
        .stream = STREAM_CONTROL,
    };

    if (next)
        numbered->received = seq;
    put_number(&payload, 1, numbered->received);
    unique_address_put(&payload, 2, self, &self->node);
    answer.payload = buf_slice(&payload);
    outbox_put(outbox, &answer);
    buf_fini(&payload);
    return next;
}
