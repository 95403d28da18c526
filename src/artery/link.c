/* Runs one outgoing connection: states, greeting, and the limits of its queue of frames. */
#include "artery/link.h"

#include <sherd/error.h>

#include "artery/chunks.h"
#include "artery/control.h"
#include "artery/envelope.h"
#include "base/bound.h"
#include "base/check.h"
#include "base/mark.h"
#include "base/rng.h"
#include "base/timers.h"
#include "base/vec.h"

enum { NEWS_MAX = 16 };

/* Parts that a link needs while it connects, or rarely. */
struct handshake_buffers {
    struct buf greeting; /* preamble, requests, responses: before the chunks */
    size_t greeted;      /* bytes of it written */
    struct buf urgent;   /* responses that wait for a connection */
    struct buf returned; /* for link_take_back */
};

/* A node has thousands of links: rare parts are made when needed. */
struct link {
    uint64_t uid;        /* last confirmed; 0 = none */
    uint64_t generation; /* of the connection */
    uint64_t until;      /* end of connecting, handshaking or backing off */
    uint64_t request_at; /* when the last handshake request was made */
    uint8_t state;       /* enum link_state */
    uint8_t stream;      /* enum stream */
    uint8_t urgent_count;
    uint8_t refusal;     /* enum sherd_reason; as the counts below: see struct link_counts */
    bool connect_due : 1;
    bool close_due : 1;
    bool overflowed : 1; /* refused control frames were logged */
    bool is_named : 1;   /* the peer's answer named this connection */
    bool begun : 1;
    bool has_rng : 1;    /* it failed once */
    /* waiting frames up to the last of each repeating kind, at most UINT16_MAX; 0: none waits */
    uint16_t behind[REPEATS_COUNT - 1];
    uint32_t mark;        /* size of the tail at link_begin */
    struct chunks chunks; /* the queue */
    const struct link_sender *sender;
    VEC(struct link_news) news; /* at most NEWS_MAX */
    uint64_t frames, bytes;
    uint32_t refused, too_large, stale, dropped;
    uint32_t connects, failures, failed;
    const struct kept_address *peer;
    struct handshake_buffers *handshake; /* null: none of it is needed */
    union {
        uint64_t seed; /* until it fails */
        struct rng *rng;
    };
    const bool *leaves;
};

_Static_assert(sizeof(struct link) <= 3 * 64, "three cache lines");

static struct handshake_buffers *handshake_buffers_of(struct link *link)
{
    if (!link->handshake)
        link->handshake = mem_alloc(sizeof *link->handshake);
    return link->handshake;
}

static void handshake_buffers_free(struct link *link)
{
    struct handshake_buffers *handshake = link->handshake;

    if (!handshake)
        return;
    buf_fini(&handshake->greeting);
    buf_fini(&handshake->urgent);
    buf_fini(&handshake->returned);
    mem_free(handshake);
    link->handshake = NULL;
}

/* Releases the greeting once it is written. */
static void greeting_end(struct link *link)
{
    if (!link->handshake)
        return;
    buf_fini(&link->handshake->greeting);
    link->handshake->greeted = 0;
    if (!link->urgent_count)
        handshake_buffers_free(link);
}

/* Unwritten bytes of the greeting. */
static size_t ungreeted(const struct link *link)
{
    return link->handshake ? link->handshake->greeting.size - link->handshake->greeted : 0;
}

static bool is_control(const struct link *link)
{
    return link->stream == STREAM_CONTROL;
}

/* ---- ends of frames ---- */

static void frame_ended(const struct link *link, enum sherd_reason reason,
                        struct slice frame)
{
    struct probe probe = { .kind = PROBE_FRAME_ENDED,
                           .type = PROBE_TYPE_NONE,
                           .reason = (uint8_t)reason,
                           .bytes = frame };

    if (link->sender->probes && !is_control(link))
        probes_put(link->sender->probes, &probe);
}

struct frame_end {
    const struct link *link;
    enum sherd_reason reason;
};

static void end_frame(void *context, struct slice frame)
{
    const struct frame_end *frame_end = context;

    frame_ended(frame_end->link, frame_end->reason, frame);
}

/* Drops every frame that was not written whole. */
static uint32_t drop_queue(struct link *link, enum sherd_reason reason)
{
    struct frame_end frame_end = { link, reason };
    uint32_t dropped;

    if (link->sender->probes)
        chunks_each(&link->chunks, end_frame, &frame_end);
    dropped = chunks_clear(&link->chunks);
    memset(link->behind, 0, sizeof link->behind);
    link->stale += dropped;
    link->dropped += dropped;
    if (link->sender->lost && !is_control(link))
        *link->sender->lost += dropped;
    return dropped;
}

/* ---- create and free ---- */

struct link *link_new(const struct link_options *options)
{
    struct link *link = mem_alloc(sizeof *link);

    check(strlen(options->sender->magic) == 4);
    check(options->sender->lane < PEER_LANES_MAX);
    link->sender = options->sender;
    link->peer = options->peer;
    link->stream = (uint8_t)options->stream;
    link->seed = options->seed;
    link->leaves = options->leaves;
    chunks_init(&link->chunks,
                !is_control(link) && options->sender->lane != 0);
    return link;
}

void link_free(struct link *link)
{
    if (!link)
        return;
    chunks_fini(&link->chunks);
    handshake_buffers_free(link);
    if (link->has_rng)
        mem_free(link->rng);
    vec_fini(&link->news);
    mem_free(link);
}

void link_end_waiting(struct link *link)
{
    (void)drop_queue(link, SHERD_REASON_SHUTTING_DOWN); /* counted */
}

static void tell(struct link *link, enum link_news_kind kind, uint32_t frames)
{
    /* The node drains news each turn; otherwise the newest matter. */
    if (link->news.count == NEWS_MAX)
        vec_remove(&link->news, 0);
    vec_push(&link->news, ((struct link_news){ kind, link->uid, frames }));
}

static void say(const struct link *link, enum trace_level level,
                enum link_event event, const char *reason)
{
    link_log(link->sender, level,
             &(struct link_line){ .event = event,
                                  .peer = link->peer,
                                  .stream = (int)link->stream,
                                  .waiting = link->chunks.frames,
                                  .reason = reason });
}

/* Once for each time that it is away; the retries would fill the log. */
static enum trace_level loss_level(const struct link *link)
{
    return link->failed || (link->leaves && *link->leaves) ? TRACE_DEBUG
                                                           : TRACE_WARNING;
}


/* ---- states ---- */

static struct rng *rng_of(struct link *link)
{
    uint64_t seed = link->seed;

    if (!link->has_rng) {
        link->rng = mem_alloc(sizeof *link->rng);
        link->has_rng = true;
        rng_init(link->rng, seed);
    }
    return link->rng;
}

static void start_connecting(struct link *link, uint64_t now)
{
    link->state = LINK_CONNECTING;
    link->until = now + LINK_CONNECT_MS * MS;
    link->connect_due = true;
}

static void wake(struct link *link, uint64_t now)
{
    if (link->state == LINK_IDLE && (link->chunks.frames || link->urgent_count))
        start_connecting(link, now);
}

/* The connection is gone: a frame written in part starts again on the next one. */
static void back_off(struct link *link, uint64_t now)
{
    uint64_t delay = LINK_BACKOFF_MIN_MS;

    for (uint32_t i = 0;
         i < link->failed && delay < LINK_BACKOFF_MAX_MS; i++)
        delay *= 2;
    if (delay > LINK_BACKOFF_MAX_MS)
        delay = LINK_BACKOFF_MAX_MS;
    delay = delay * MS + rng_below(rng_of(link), delay * MS / 10);
    link->failed++;
    link->failures++;
    link->state = LINK_BACKING_OFF;
    link->until = now + delay;
    greeting_end(link);
    SOMETIMES("a connection breaks inside a frame",
              chunks_is_inside(&link->chunks));
    chunks_rewind(&link->chunks);
    tell(link, LINK_NEWS_LOST, 0);
}

static void ask_to_close(struct link *link)
{
    if (link->connect_due)
        link->connect_due = false; /* the driver does not know of it yet */
    else
        link->close_due = true;
}

static void append_request(struct link *link, uint64_t now, struct buf *buf)
{
    struct handshake handshake = {
        .capabilities = link->sender->capabilities,
        .lane = link->sender->lane,
        .lanes = link->sender->lanes,
        .generation = link->sender->capabilities ? link->generation : 0,
    };
    struct address peer = address_again(link->peer);
    struct buf payload = {0};
    struct outbound message = {
        .manifest = slice_text(ARTERY_HANDSHAKE_REQUEST),
        .serializer = SERIALIZER_ARTERY,
        .stream = (enum stream)link->stream,
    };

    handshake_request_put(&payload, link->sender->self, &peer, &handshake);
    message.payload = buf_slice(&payload);
    check(envelope_put(buf, link->sender->self, NULL, &message));
    buf_fini(&payload);
    link->request_at = now;
}

void link_connected(struct link *link, uint64_t now)
{
    struct handshake_buffers *handshake;

    if (link->state != LINK_CONNECTING)
        return; /* a late report of a connection that was given up */
    link->connect_due = false; /* done, even if it was not drained */
    link->connects++;
    link->generation = now > link->generation ? now : link->generation + 1;
    link->is_named = false;
    link->state = LINK_HANDSHAKING;
    link->until = now + LINK_HANDSHAKE_MS * MS;
    handshake = handshake_buffers_of(link);
    buf_clear(&handshake->greeting);
    handshake->greeted = 0;
    buf_put_text(&handshake->greeting, link->sender->magic);
    buf_put_u8(&handshake->greeting, link->stream);
    append_request(link, now, &handshake->greeting);
    buf_put_slice(&handshake->greeting, buf_slice(&handshake->urgent));
    buf_fini(&handshake->urgent);
    link->urgent_count = 0;
    say(link, TRACE_DEBUG, LINK_CONNECTED, NULL);
}

void link_failed(struct link *link, uint64_t now, const char *reason)
{
    if (link->state != LINK_CONNECTING)
        return;
    say(link, link->failed ? TRACE_DEBUG : TRACE_WARNING,
        LINK_CANNOT_CONNECT, reason);
    back_off(link, now);
}

void link_closed(struct link *link, uint64_t now, const char *reason)
{
    if (link->state == LINK_CONNECTING) {
        link_failed(link, now, reason);
        return;
    }
    if (link->state != LINK_HANDSHAKING && link->state != LINK_OPEN)
        return;
    say(link, loss_level(link),
        link->state == LINK_HANDSHAKING ? LINK_UNANSWERED : LINK_LOST, reason);
    back_off(link, now);
}

static void set_uid(struct link *link, uint64_t uid)
{
    uint64_t before = link->uid;

    if (before == uid)
        return;
    link->uid = uid;
    if (before) /* the queue is meant, and perhaps compressed, for the previous one */
        tell(link, LINK_NEWS_RENEWED, drop_queue(link, SHERD_REASON_LINK_LOST));
}

void link_expect(struct link *link, uint64_t now, uint64_t uid)
{
    bool renewed = link->uid && uid != link->uid;
    bool is_new = uid != link->uid;

    set_uid(link, uid);
    if (link->state == LINK_OPEN && renewed) {
        /* The connection leads to the previous incarnation. */
        ask_to_close(link);
        back_off(link, now);
    }
    if (link->state == LINK_BACKING_OFF && is_new) {
        REACHED("a link connects without a pause: its peer has started");
        link->failed = 0;
        link->until = now;
    }
}

void link_answered(struct link *link, uint64_t now, uint64_t uid, uint32_t lane,
                   uint64_t generation)
{
    if (!uid || (generation && (lane != link->sender->lane ||
                                generation != link->generation)))
        return;
    link_expect(link, now, uid);
    if (link->state == LINK_HANDSHAKING) {
        link->is_named = generation != 0;
        link->state = LINK_OPEN;
        link->failed = 0;
        link->overflowed = false;
        tell(link, LINK_NEWS_OPEN, 0);
        say(link, TRACE_INFO, LINK_OPENED, NULL);
    }
}

void link_drop(struct link *link, uint64_t now)
{
    uint32_t dropped = drop_queue(link, SHERD_REASON_LINK_LOST);

    (void)now; /* all inputs carry the time */
    if (link->state == LINK_CONNECTING || link->state == LINK_HANDSHAKING ||
        link->state == LINK_OPEN)
        ask_to_close(link);
    if (dropped)
        say(link, TRACE_INFO, LINK_DROPPED, NULL);
    link->state = LINK_IDLE;
    link->uid = 0;
    link->failed = 0;
    if (link->handshake)
        buf_fini(&link->handshake->urgent);
    link->urgent_count = 0;
    greeting_end(link);
}

void link_tick(struct link *link, uint64_t now)
{
    switch (link->state) {
    case LINK_IDLE:
        wake(link, now);
        break;
    case LINK_CONNECTING:
        if (now < link->until)
            break;
        ask_to_close(link);
        link_failed(link, now, "time-out");
        break;
    case LINK_HANDSHAKING:
        if (now >= link->until) {
            say(link, loss_level(link), LINK_UNANSWERED, "time-out");
            ask_to_close(link);
            back_off(link, now);
        } else if (now >= link->request_at + LINK_REQUEST_MS * MS) {
            /* Not while one waits to be written: the peer is slow, it has not forgotten. */
            if (!ungreeted(link))
                append_request(link, now, &handshake_buffers_of(link)->greeting);
            else
                link->request_at = now;
        }
        break;
    case LINK_BACKING_OFF:
        if (now < link->until)
            break;
        link->state = LINK_IDLE;
        wake(link, now);
        break;
    case LINK_OPEN:
        break;
    }
}

uint64_t link_deadline(const struct link *link)
{
    uint64_t request = link->request_at + LINK_REQUEST_MS * MS;

    switch (link->state) {
    case LINK_IDLE:
    case LINK_OPEN:
        break;
    case LINK_HANDSHAKING:
        return request < link->until ? request : link->until;
    case LINK_CONNECTING:
    case LINK_BACKING_OFF:
        return link->until;
    }
    return NEVER;
}

/* ---- sending ---- */

static uint32_t frames_max(const struct link *link)
{
    uint32_t large = link->sender->large_frames_max;

    if (is_control(link))
        return LINK_CONTROL_FRAMES_MAX;
    if (link->stream != STREAM_LARGE)
        return LINK_FRAMES_MAX;
    return large ? large : LINK_LARGE_FRAMES;
}

static size_t bytes_max(const struct link *link)
{
    if (is_control(link))
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
    if (!is_control(link) || link->overflowed)
        return;
    link->overflowed = true;
    say(link, TRACE_WARNING, LINK_CONTROL_FULL, NULL);
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
        frame_ended(link, SHERD_REASON_TOO_LARGE,
                    slice_of(tail->data + link->mark, size));
        tail->size = link->mark;
        link->too_large++;
        return;
    }
    chunks_put(&link->chunks, size);
    is_bounded(link);
    if (link->state == LINK_IDLE)
        start_connecting(link, now);
}

/* Appends an own or encoded frame; the caller has checked the limits. */
static void append_frame(struct link *link, struct slice frame)
{
    buf_put_slice(chunks_room(&link->chunks, frame.size), frame);
    chunks_put(&link->chunks, frame.size);
}

/* A response must not wait for the peer's: two starting nodes would wait for each other. */
static void send_urgent(struct link *link, uint64_t now, struct slice frame)
{
    if (link->state == LINK_HANDSHAKING) {
        if (ungreeted(link) < LINK_URGENT_MAX * (size_t)1024)
            buf_put_slice(&handshake_buffers_of(link)->greeting, frame);
        else
            link->refused++;
        return;
    }
    if (link->urgent_count >= LINK_URGENT_MAX) {
        link->refused += link->urgent_count; /* only the newest response matters */
        buf_clear(&handshake_buffers_of(link)->urgent);
        link->urgent_count = 0;
    }
    buf_put_slice(&handshake_buffers_of(link)->urgent, frame);
    link->urgent_count++;
    BOUNDED("handshake responses that wait for a peer", link->urgent_count,
            LINK_URGENT_MAX);
    wake(link, now);
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
            start_connecting(link, now);
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
    append_frame(link, buf_slice(sender->scratch));
    if (message->repeats)
        link->behind[message->repeats - 1] =
            (uint16_t)(link->chunks.frames < UINT16_MAX ? link->chunks.frames
                                                        : UINT16_MAX);
    is_bounded(link);
    wake(link, now);
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
    chunks_take(&link->chunks, &handshake_buffers_of(link)->returned);
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
    if (ungreeted(link)) {
        *bytes = slice_of(link->handshake->greeting.data + link->handshake->greeted,
                          ungreeted(link));
        return true;
    }
    if (link->state != LINK_OPEN || !link->chunks.frames)
        return false;
    if (now >= link->request_at + request_interval(link)) {
        buf_clear(link->sender->scratch);
        append_request(link, now, link->sender->scratch);
        append_frame(link, buf_slice(link->sender->scratch));
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
    if (ungreeted(link)) {
        check(size <= ungreeted(link));
        link->handshake->greeted += size;
        if (!ungreeted(link))
            greeting_end(link);
        return;
    }
    size = chunks_wrote(&link->chunks, size);
    link->frames += size;
    pass(link, (uint32_t)size);
}

enum link_request link_next_request(struct link *link)
{
    if (link->close_due) {
        link->close_due = false;
        return LINK_REQUEST_CLOSE;
    }
    if (link->connect_due) {
        link->connect_due = false;
        return LINK_REQUEST_CONNECT;
    }
    return LINK_REQUEST_NOTHING;
}

bool link_next_news(struct link *link, struct link_news *news)
{
    if (!link->news.count)
        return false;
    *news = link->news.items[0];
    vec_remove(&link->news, 0);
    if (!link->news.count)
        vec_fini(&link->news);
    return true;
}

/* ---- status ---- */

enum link_state link_state(const struct link *link)
{
    return (enum link_state)link->state;
}

uint64_t link_uid(const struct link *link)
{
    return link->uid;
}

uint64_t link_generation(const struct link *link)
{
    return link->generation;
}

uint32_t link_waiting(const struct link *link)
{
    return link->chunks.frames;
}

struct link_counts link_counts(const struct link *link)
{
    return (struct link_counts){
        .frames = link->frames,
        .bytes = link->bytes,
        .refused = link->refused,
        .too_large = link->too_large,
        .stale = link->stale,
        .refusal = (enum sherd_reason)link->refusal,
        .dropped = link->dropped,
        .connects = link->connects,
        .failures = link->failures,
        .failed = link->failed,
    };
}
