/* Keeps the queue of an outgoing connection within its limits, and hands it to the driver. */
#include "artery/link_inside.h"

#include <sherd/error.h>

#include "artery/control.h"
#include "artery/envelope.h"
#include "base/bound.h"
#include "base/check.h"
#include "base/mark.h"
#include "base/timers.h"

static uint32_t frames_max(const struct link *link)
{
    uint32_t large = link->sender->large_frames_max;

    if (link_is_control(link))
        return LINK_CONTROL_FRAMES_MAX;
    if (link->stream != STREAM_LARGE)
        return LINK_FRAMES_MAX;
    return large ? large : LINK_LARGE_FRAMES;
}

static size_t bytes_max(const struct link *link)
{
    if (link_is_control(link))
        return LINK_CONTROL_BYTES_MAX;
    return link->stream == STREAM_LARGE ? LINK_LARGE_BYTES_MAX : LINK_BYTES_MAX;
}

/* Without its length. */
static size_t frame_size_max(const struct link *link)
{
    uint32_t large = link->sender->large_size_max;

    if (link->stream != STREAM_LARGE)
        return FRAME_SIZE_MAX;
    return large ? large : FRAME_LARGE_SIZE;
}

uint32_t link_room(const struct link *link)
{
    if (link->chunks.frames >= frames_max(link) ||
        link->chunks.size + frame_size_max(link) > bytes_max(link))
        return 0;
    return frames_max(link) - link->chunks.frames;
}

/* For the line after each frame that is not the link's own. */
static void is_bounded(const struct link *link)
{
    BOUNDED("frames that wait for a peer", link->chunks.frames,
            frames_max(link));
    BOUNDED("bytes that wait for a peer", link->chunks.size, bytes_max(link));
    (void)link;
}

static void refuse(struct link *link)
{
    link->refused++;
    link->refusal = SHERD_REASON_LINK_FULL;
    if (!link_is_control(link) || link->overflowed)
        return;
    link->overflowed = true;
    link_say(link, TRACE_WARNING, LINK_CONTROL_FULL, NULL);
}

void link_refuse_stale(struct link *link)
{
    link->stale++;
    link->refusal = SHERD_REASON_NODE_GONE;
}

struct buf *link_begin(struct link *link, size_t size_max)
{
    struct buf *tail;

    check(!link->begun);
    if (link->chunks.frames >= frames_max(link) ||
        size_max > bytes_max(link) - link->chunks.size) {
        refuse(link);
        return NULL;
    }
    tail = chunks_room(&link->chunks, size_max);
    link->mark = (uint32_t)tail->size;
    link->begun = true;
    return tail;
}

void link_end(struct link *link, uint64_t now)
{
    struct buf *tail = &link->chunks.tail->bytes;
    size_t size = tail->size - link->mark;

    check(link->begun);
    check(size > FRAME_LENGTH_SIZE);
    check(frame_length(tail->data + link->mark) == size - FRAME_LENGTH_SIZE);
    link->begun = false;
    if (size - FRAME_LENGTH_SIZE > frame_size_max(link)) {
        link_frame_ended(link, SHERD_REASON_TOO_LARGE,
                    slice_of(tail->data + link->mark, size));
        tail->size = link->mark;
        link->too_large++;
        return;
    }
    chunks_put(&link->chunks, size);
    is_bounded(link);
    if (link->state == LINK_IDLE)
        link_start_connecting(link, now);
}

void link_append_frame(struct link *link, struct slice frame)
{
    buf_put_slice(chunks_room(&link->chunks, frame.size), frame);
    chunks_put(&link->chunks, frame.size);
}

/* A response must not wait for the peer's: two starting nodes would wait for each other. */
static void send_urgent(struct link *link, uint64_t now, struct slice frame)
{
    if (link->state == LINK_HANDSHAKING) {
        if (link_ungreeted(link) < LINK_URGENT_MAX * (size_t)1024)
            buf_put_slice(&link_handshake_buffers(link)->greeting, frame);
        else
            link->refused++;
        return;
    }
    if (link->urgent_count >= LINK_URGENT_MAX) {
        link->refused += link->urgent_count; /* only the newest response matters */
        buf_clear(&link_handshake_buffers(link)->urgent);
        link->urgent_count = 0;
    }
    buf_put_slice(&link_handshake_buffers(link)->urgent, frame);
    link->urgent_count++;
    BOUNDED("handshake responses that wait for a peer", link->urgent_count,
            LINK_URGENT_MAX);
    link_wake(link, now);
}

static bool comes_again(const struct outbound *message)
{
    return message->serializer == SERIALIZER_ARTERY &&
           slice_is(message->manifest, ARTERY_SYSTEM_MESSAGE);
}

/* It would arrive late, and the next one says more. One of each kind is always kept, otherwise a
 * busy link would carry none. */
static bool is_said_again(const struct link *link, enum repeats repeats)
{
    bool again = repeats && link->behind[repeats - 1] &&
                 (repeats != REPEATS_VALUES ||
                  link->chunks.size > LINK_REPEATED_BYTES);

    SOMETIMES("a peer is slow: the previous gossip to it is still unsent", again);
    return again;
}

bool link_send(struct link *link, uint64_t now,
               const struct peer_tables *tables, const struct outbound *message)
{
    const struct link_sender *sender = link->sender;
    /* Quarantined goes to an incarnation whose answers are no longer accepted. */
    bool urgent = message->serializer == SERIALIZER_ARTERY &&
                  (slice_is(message->manifest, ARTERY_HANDSHAKE_RESPONSE) ||
                   slice_is(message->manifest, ARTERY_QUARANTINED));
    struct outbound here;

    if (message->stream != link->stream) {
        here = *message;
        here.stream = (enum stream)link->stream;
        message = &here;
    }
    /* Before the peer's answer on a connection, the message may know the incarnation better than
     * the link. */
    if (link->state == LINK_OPEN && message->to.uid &&
        message->to.uid != link->uid) {
        link_refuse_stale(link);
        return false;
    }
    if (tables && (!tables->uid || tables->uid != link->uid))
        tables = NULL; /* another incarnation's numbers would name other actors */
    if (is_said_again(link, message->repeats)) {
        if (sender->left_out)
            sender->left_out[message->repeats]++;
        return true;
    }
    if (comes_again(message) &&
        (link->state != LINK_OPEN || link->chunks.frames >= frames_max(link) / 2)) {
        if (link->state == LINK_IDLE)
            link_start_connecting(link, now);
        return true;
    }
    buf_clear(sender->scratch);
    if (!envelope_put(sender->scratch, sender->self, tables, message) ||
        sender->scratch->size - FRAME_LENGTH_SIZE > frame_size_max(link)) {
        link->too_large++;
        link->refusal = SHERD_REASON_TOO_LARGE;
        return false;
    }
    if (urgent && link->state != LINK_OPEN) {
        send_urgent(link, now, buf_slice(sender->scratch));
        return true;
    }
    if (link->chunks.frames >= frames_max(link) ||
        sender->scratch->size > bytes_max(link) - link->chunks.size) {
        refuse(link);
        return false;
    }
    link_append_frame(link, buf_slice(sender->scratch));
    if (message->repeats)
        link->behind[message->repeats - 1] =
            (uint16_t)(link->chunks.frames < UINT16_MAX ? link->chunks.frames
                                                        : UINT16_MAX);
    is_bounded(link);
    link_wake(link, now);
    return true;
}

/* Notes that `frames` left the queue at its front. */
static void pass(struct link *link, uint32_t frames)
{
    for (int i = 0; i < REPEATS_COUNT - 1; i++)
        link->behind[i] = link->behind[i] > frames ? (uint16_t)(link->behind[i] - frames) : 0;
}

bool link_take_back(struct link *link, struct slice *frame)
{
    if (link->state == LINK_HANDSHAKING || link->state == LINK_OPEN ||
        !link->chunks.frames)
        return false;
    chunks_take(&link->chunks, &link_handshake_buffers(link)->returned);
    pass(link, 1);
    *frame = buf_slice(&link->handshake->returned);
    return true;
}

/* ---- the driver's side ---- */

/* About once a second while in use, because a JVM may have lost the association behind an open
 * connection. A peer that names connections would close this one instead. */
static uint64_t request_interval(const struct link *link)
{
    return (link->is_named ? LINK_REQUEST_NAMED_MS : LINK_REQUEST_MS) * MS;
}

bool link_pending(struct link *link, uint64_t now, struct slice *bytes)
{
    if (link->state != LINK_HANDSHAKING && link->state != LINK_OPEN)
        return false;
    if (link_ungreeted(link)) {
        *bytes = slice_of(link->handshake->greeting.data + link->handshake->greeted,
                          link_ungreeted(link));
        return true;
    }
    if (link->state != LINK_OPEN || !link->chunks.frames)
        return false;
    if (now >= link->request_at + request_interval(link)) {
        buf_clear(link->sender->scratch);
        link_append_request(link, now, link->sender->scratch);
        link_append_frame(link, buf_slice(link->sender->scratch));
    }
    *bytes = chunks_pending(&link->chunks);
    return true;
}

void link_wrote(struct link *link, uint64_t now, size_t size)
{
    (void)now; /* all inputs carry the time */
    if (link->state != LINK_HANDSHAKING && link->state != LINK_OPEN)
        return;
    link->bytes += size;
    if (link_ungreeted(link)) {
        check(size <= link_ungreeted(link));
        link->handshake->greeted += size;
        if (!link_ungreeted(link))
            link_greeting_end(link);
        return;
    }
    size = chunks_wrote(&link->chunks, size);
    link->frames += size;
    pass(link, (uint32_t)size);
}
