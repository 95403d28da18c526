/* Fuzzes the reliable delivery of system messages between two nodes. Messages may be lost, repeated
 * or delayed. Each arrives at most once and in order, and none is missing at the end.
 *
 * Input: one byte for each event. */
#include <stdlib.h>

#include "artery/sequence.h"
#include "base/check.h"
#include "base/timers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct identity left = {"akka", "S", {{"h", 1}, 100}};
static const struct identity right = {"akka", "S", {{"h", 2}, 200}};

/* Messages underway. Only their numbers matter; other targets fuzz the bytes. */
struct way {
    uint64_t numbers[512];
    bool nack[512];
    uint32_t count;
};

static uint64_t varint_behind(struct slice bytes, uint8_t key)
{
    struct cursor cursor = cursor_of(bytes);

    while (cursor_left(&cursor)) {
        uint8_t field = cursor_u8(&cursor);
        uint64_t value = cursor_varint(&cursor);

        check(!cursor.failed);
        if (field == key)
            return value;
        if ((field & 7) == 2)
            (void)cursor_slice(&cursor, (size_t)value);
    }
    check(false);
    return 0;
}

static void collect(struct outbox *outbox, struct way *way, bool acks)
{
    struct outbound message;

    while (outbox_next(outbox, &message)) {
        if (way->count == 512)
            continue; /* lost */
        way->nack[way->count] = message.manifest.data[0] == 'l';
        way->numbers[way->count++] =
            varint_behind(message.payload, acks ? 8 : 32);
    }
}

static uint64_t take(struct way *way, uint32_t at)
{
    uint64_t number = way->numbers[at];

    way->count--;
    for (uint32_t i = at; i < way->count; i++) {
        way->numbers[i] = way->numbers[i + 1];
        way->nack[i] = way->nack[i + 1];
    }
    return number;
}

struct ends {
    struct sequence sender;
    struct sequence receiver;
    struct way there;
    struct way back;
    uint64_t sent;
    uint64_t delivered;
    uint64_t now;
    struct outbox outbox;
};

static void arrive(struct ends *ends, uint32_t at)
{
    uint64_t number = take(&ends->there, at);

    if (sequence_receive(&ends->receiver, &right, &left.node, number,
                         &ends->outbox)) {
        check(number == ends->delivered + 1);
        ends->delivered = number;
    }
    collect(&ends->outbox, &ends->back, true);
}

static void acknowledge(struct ends *ends, uint32_t at)
{
    uint64_t number = take(&ends->back, at);

    check(number <= ends->delivered);
    check(sequence_acknowledge(&ends->sender, ends->now, number));
    check(sequence_waiting(&ends->sender) >= ends->sent - ends->delivered);
}

static void resend(struct ends *ends)
{
    ends->now += SECOND;
    (void)sequence_resend(&ends->sender, ends->now, &left, &right.node,
                          &ends->outbox);
    collect(&ends->outbox, &ends->there, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ends *ends = calloc(1, sizeof *ends);

    for (size_t i = 0; i < size && i < 2000; i++) {
        uint32_t choice = data[i] >> 3;
        struct way *way = data[i] & 4 ? &ends->there : &ends->back;

        switch (data[i] & 3) {
        case 0:
            check(sequence_send(&ends->sender, ends->now, &left, &right.node,
                                slice_text("/user/x"), slice_text("m"),
                                &ends->outbox));
            ends->sent++;
            collect(&ends->outbox, &ends->there, false);
            break;
        case 1:
            if (!way->count)
                break;
            if (way == &ends->there)
                arrive(ends, choice % way->count);
            else
                acknowledge(ends, choice % way->count);
            break;
        case 2:
            if (way->count) /* a message is lost or repeated */
                (void)(data[i] & 8 ? take(way, choice % way->count)
                                   : way->count);
            break;
        default:
            resend(ends);
        }
        check(!sequence_acknowledge(&ends->sender, ends->now, ends->sent + 1));
    }
    /* From here on no message is lost. */
    for (int round = 0; round < 20 && sequence_waiting(&ends->sender);
         round++) {
        ends->there.count = ends->back.count = 0;
        resend(ends);
        while (ends->there.count)
            arrive(ends, 0);
        while (ends->back.count)
            acknowledge(ends, 0);
    }
    check(ends->delivered == ends->sent);
    check(sequence_waiting(&ends->sender) == 0);
    sequence_fini(&ends->sender);
    sequence_fini(&ends->receiver);
    outbox_fini(&ends->outbox);
    free(ends);
    return 0;
}
