/* Runs one outgoing connection: its states and its greeting. */
#include "artery/link_inside.h"

#include "artery/control.h"
#include "artery/envelope.h"
#include "base/check.h"
#include "base/mark.h"
#include "base/rng.h"
#include "base/timers.h"

enum { NEWS_MAX = 16 };

struct handshake_buffers *link_handshake_buffers(struct link *link)
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

void link_greeting_end(struct link *link)
{
    if (!link->handshake)
        return;
    buf_fini(&link->handshake->greeting);
    link->handshake->greeted = 0;
    if (!link->urgent_count)
        handshake_buffers_free(link);
}

/* ---- ends of frames ---- */

void link_frame_ended(const struct link *link, enum sherd_reason reason,
                        struct slice frame)
{
    struct probe probe = { .kind = PROBE_FRAME_ENDED,
                           .type = PROBE_TYPE_NONE,
                           .reason = (uint8_t)reason,
                           .bytes = frame };

    if (link->sender->probes && !link_is_control(link))
        probes_put(link->sender->probes, &probe);
}

struct frame_end {
    const struct link *link;
    enum sherd_reason reason;
};

static void end_frame(void *context, struct slice frame)
{
    const struct frame_end *frame_end = context;

    link_frame_ended(frame_end->link, frame_end->reason, frame);
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
    if (link->sender->lost && !link_is_control(link))
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
                !link_is_control(link) && options->sender->lane != 0);
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

void link_say(const struct link *link, enum trace_level level,
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

void link_start_connecting(struct link *link, uint64_t now)
{
    link->state = LINK_CONNECTING;
    link->until = now + LINK_CONNECT_MS * MS;
    link->connect_due = true;
    link->is_wanted = false;
}

void link_wake(struct link *link, uint64_t now)
{
    if (link->state == LINK_IDLE &&
        (link->chunks.frames || link->urgent_count || link->is_wanted))
        link_start_connecting(link, now);
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
    link->is_doubted = false;
    link->until = now + delay;
    link->request_at = now;
    link_greeting_end(link);
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

void link_append_request(struct link *link, uint64_t now, struct buf *buf)
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
    handshake = link_handshake_buffers(link);
    buf_clear(&handshake->greeting);
    handshake->greeted = 0;
    buf_put_text(&handshake->greeting, link->sender->magic);
    buf_put_u8(&handshake->greeting, link->stream);
    link_append_request(link, now, &handshake->greeting);
    buf_put_slice(&handshake->greeting, buf_slice(&handshake->urgent));
    buf_fini(&handshake->urgent);
    link->urgent_count = 0;
    link_say(link, TRACE_DEBUG, LINK_CONNECTED, NULL);
}

void link_failed(struct link *link, uint64_t now, const char *reason)
{
    if (link->state != LINK_CONNECTING)
        return;
    link_say(link, link->failed ? TRACE_DEBUG : TRACE_WARNING,
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
    link_say(link, loss_level(link),
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
    if (link->state == LINK_HANDSHAKING && renewed) {
        /* The answer came before the new incarnation was known, and did not count. */
        REACHED("a link repeats its handshake at once: its peer has started");
        link->request_at = now > LINK_REQUEST_MS * MS ? now - LINK_REQUEST_MS * MS : 0;
    }
}

/* A claim alone closes no connection: a stranger could claim any address. If the peer has restarted
 * or moved to another host, it does not answer on this one. */
static void doubt(struct link *link, uint64_t now)
{
    if (link->is_doubted)
        return;
    link->is_doubted = true;
    link->until = now + LINK_DOUBT_MS * MS;
    buf_clear(link->sender->scratch);
    link_append_request(link, now, link->sender->scratch);
    link_append_frame(link, buf_slice(link->sender->scratch));
}

void link_verify(struct link *link, uint64_t now)
{
    switch (link->state) {
    case LINK_OPEN:
        doubt(link, now);
        break;
    case LINK_IDLE:
        link_start_connecting(link, now);
        break;
    case LINK_BACKING_OFF:
        if (link->until > link->request_at + LINK_HURRY_MS * MS)
            link->until = link->request_at + LINK_HURRY_MS * MS;
        link->is_wanted = true;
        break;
    case LINK_CONNECTING:
    case LINK_HANDSHAKING:
        break;
    }
}

void link_answered(struct link *link, uint64_t now, uint64_t uid, uint32_t lane,
                   uint64_t generation)
{
    if (!uid || (generation && (lane != link->sender->lane ||
                                generation != link->generation)))
        return;
    link_expect(link, now, uid);
    link->is_doubted = false;
    if (link->state == LINK_HANDSHAKING) {
        link->is_named = generation != 0;
        link->state = LINK_OPEN;
        link->failed = 0;
        link->overflowed = false;
        tell(link, LINK_NEWS_OPEN, 0);
        link_say(link, TRACE_INFO, LINK_OPENED, NULL);
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
        link_say(link, TRACE_INFO, LINK_DROPPED, NULL);
    link->state = LINK_IDLE;
    link->is_doubted = link->is_wanted = false;
    link->uid = 0;
    link->failed = 0;
    if (link->handshake)
        buf_fini(&link->handshake->urgent);
    link->urgent_count = 0;
    link_greeting_end(link);
}

void link_tick(struct link *link, uint64_t now)
{
    switch (link->state) {
    case LINK_IDLE:
        link_wake(link, now);
        break;
    case LINK_CONNECTING:
        if (now < link->until)
            break;
        ask_to_close(link);
        link_failed(link, now, "time-out");
        break;
    case LINK_HANDSHAKING:
        if (now >= link->until) {
            link_say(link, loss_level(link), LINK_UNANSWERED, "time-out");
            ask_to_close(link);
            back_off(link, now);
        } else if (now >= link->request_at + LINK_REQUEST_MS * MS) {
            /* Not while one waits to be written: the peer is slow, it has not forgotten. */
            if (!link_ungreeted(link))
                link_append_request(link, now, &link_handshake_buffers(link)->greeting);
            else
                link->request_at = now;
        }
        break;
    case LINK_BACKING_OFF:
        if (now < link->until)
            break;
        link->state = LINK_IDLE;
        link_wake(link, now);
        break;
    case LINK_OPEN:
        if (!link->is_doubted || now < link->until)
            break;
        link_say(link, TRACE_WARNING, LINK_DOUBTED,
                 "another node claims its address");
        ask_to_close(link);
        back_off(link, now);
        link_start_connecting(link, now);
        break;
    }
}

uint64_t link_deadline(const struct link *link)
{
    uint64_t request = link->request_at + LINK_REQUEST_MS * MS;

    switch (link->state) {
    case LINK_IDLE:
        break;
    case LINK_OPEN:
        return link->is_doubted ? link->until : NEVER;
    case LINK_HANDSHAKING:
        return request < link->until ? request : link->until;
    case LINK_CONNECTING:
    case LINK_BACKING_OFF:
        return link->until;
    }
    return NEVER;
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
