/* Streams the cluster's events: an actor for each stream subscribes, writes the events as text, and the
 * HTTP thread sends them.
 *
 * A stream is freed when both the connection and the actor are gone. */
#define _GNU_SOURCE
#include <string.h>

#include "httpd/inside.h"

#define MESSAGE_STOP 1

struct stream {
    struct stream *next;
    struct httpd *httpd;
    struct connection *connection; /* null: it is gone */
    struct sherd_ref actor;
    uint32_t kinds;
    uint64_t beat_at; /* of the next empty event */
    /* under the mutex */
    struct events events; /* not yet sent */
    bool has_actor;
};

/* ---- the actor, on a lane ---- */

struct streamer {
    struct stream *stream;
};

static enum sherd_next events_came(struct stream *stream, const struct sherd_msg *msg)
{
    struct httpd *httpd = stream->httpd;
    struct sherd_cluster_event event;
    struct buf text = { 0 };
    size_t at = 0;
    bool goes_on;

    while (sherd_cluster_next(msg, &at, &event))
        akka_stream_event(&text, &httpd->names, stream->kinds, &event);
    check(pthread_mutex_lock(&httpd->mutex) == 0);
    goes_on = event_queue_add(&stream->events, buf_slice(&text));
    check(pthread_mutex_unlock(&httpd->mutex) == 0);
    buf_fini(&text);
    httpd_wake(httpd);
    return goes_on ? SHERD_CONTINUE : SHERD_STOP;
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    struct streamer *streamer = self;

    switch (msg->kind) {
    case SHERD_STARTED:
        check(msg->body.size == sizeof streamer->stream);
        memcpy(&streamer->stream, msg->body.data, sizeof streamer->stream);
        return sherd_cluster_subscribe(ctx, akka_subscription(streamer->stream->kinds), SHERD_EVENTS_FIRST) == 0
                   ? SHERD_CONTINUE
                   : SHERD_STOP;
    case SHERD_CLUSTER:
        return events_came(streamer->stream, msg);
    case SHERD_MESSAGE:
    case SHERD_STOPPING:
        return SHERD_STOP;
    default:
        return SHERD_CONTINUE;
    }
}

static void released(void *self)
{
    struct streamer *streamer = self;
    struct httpd *httpd;

    if (!streamer->stream)
        return;
    httpd = streamer->stream->httpd;
    check(pthread_mutex_lock(&httpd->mutex) == 0);
    streamer->stream->has_actor = false;
    check(pthread_mutex_unlock(&httpd->mutex) == 0);
    httpd_wake(httpd);
}

/* ---- the HTTP thread ---- */

static uint32_t kinds_of(const struct params *query)
{
    uint32_t kinds = 0;
    bool has_type = false;

    for (uint32_t i = 0; i < query->count; i++) {
        if (!slice_is(query->items[i].name, "type"))
            continue;
        has_type = true;
        kinds |= akka_events(query->items[i].value);
    }
    return has_type ? kinds : akka_events(slice_text("ClusterDomainEvent"));
}

static bool spawn(struct stream *stream)
{
    static const struct sherd_behavior behavior = {
        .name = "management-events",
        .state_size = sizeof(struct streamer),
        .receive = receive,
        .release = released,
    };

    if (!stream->kinds)
        return true; /* empty events alone */
    stream->has_actor = true;
    return sherd_system_spawn(stream->httpd->access->system, &behavior,
                              (struct sherd_bytes){ &stream, sizeof stream }, &stream->actor) == 0;
}

static void answer(struct connection *connection)
{
    struct evkeyvalq *headers = evhttp_request_get_output_headers(connection->request);

    answer_headers(connection, "no-store");
    check(evhttp_add_header(headers, "Content-Type", "text/event-stream") == 0);
    evhttp_send_reply_start(connection->request, 200, "OK");
}

bool stream_open(struct connection *connection)
{
    struct httpd *httpd = connection->door->httpd;
    struct stream *stream;

    if (httpd->stream_count >= httpd->settings.streams) {
        httpd_count(httpd, SHERD_HTTP_STREAMS_REFUSED);
        return false;
    }
    stream = mem_alloc(sizeof *stream);
    stream->httpd = httpd;
    stream->kinds = kinds_of(&connection->decision.target.query);
    stream->beat_at = httpd_now() + HTTPD_BEAT_MS;
    if (!spawn(stream)) {
        mem_free(stream);
        httpd_count(httpd, SHERD_HTTP_STREAMS_REFUSED);
        return false;
    }
    stream->connection = connection;
    stream->next = httpd->streams;
    httpd->streams = stream;
    httpd->stream_count++;
    connection->stream = stream;
    answer(connection);
    return true;
}

void stream_close(struct stream *stream)
{
    struct sherd_bytes none = { NULL, 0 };
    struct httpd *httpd = stream->httpd;

    stream->connection = NULL;
    check(pthread_mutex_lock(&httpd->mutex) == 0);
    stream->events.is_over = true; /* its actor stops with the next event, even if it misses the message */
    check(pthread_mutex_unlock(&httpd->mutex) == 0);
    if (stream->kinds)
        (void)!sherd_system_tell(httpd->access->system, stream->actor, MESSAGE_STOP, none);
    httpd_wake(httpd); /* it may be free already */
}

static void send_events(struct stream *stream, struct buf *events)
{
    struct evbuffer *bytes = evbuffer_new();

    check(bytes && evbuffer_add(bytes, events->data, events->size) == 0);
    evhttp_send_reply_chunk(stream->connection->request, bytes);
    evbuffer_free(bytes);
}

/* Sends what came. False: the stream is over. */
static bool step(struct stream *stream, uint64_t now)
{
    static const char beat[] = "data:\n\n";
    struct httpd *httpd = stream->httpd;
    size_t waiting = evbuffer_get_length(bufferevent_get_output(stream->connection->bev));
    struct buf text = { 0 };
    bool is_over;

    check(pthread_mutex_lock(&httpd->mutex) == 0);
    if (waiting < HTTPD_STREAM_BYTES)
        text = event_queue_take(&stream->events);
    is_over = stream->events.is_over;
    check(pthread_mutex_unlock(&httpd->mutex) == 0);
    if (!text.size && now >= stream->beat_at && !waiting)
        buf_put_text(&text, beat);
    if (text.size) {
        stream->beat_at = now + HTTPD_BEAT_MS;
        send_events(stream, &text);
    }
    buf_fini(&text);
    if (is_over)
        httpd_count(httpd, SHERD_HTTP_OVERFLOWED);
    return !is_over;
}

void streams_step(struct httpd *httpd, uint64_t now)
{
    struct stream **at = &httpd->streams;

    while (*at) {
        struct stream *stream = *at;
        bool has_actor;

        if (stream->connection && !step(stream, now))
            gate_end(stream->connection); /* which closes the stream */
        check(pthread_mutex_lock(&httpd->mutex) == 0);
        has_actor = stream->has_actor;
        check(pthread_mutex_unlock(&httpd->mutex) == 0);
        if (stream->connection || has_actor) {
            at = &stream->next;
            continue;
        }
        *at = stream->next;
        httpd->stream_count--;
        event_queue_fini(&stream->events);
        mem_free(stream);
    }
}

void streams_fini(struct httpd *httpd)
{
    while (httpd->streams) {
        struct stream *stream = httpd->streams;

        httpd->streams = stream->next;
        event_queue_fini(&stream->events);
        mem_free(stream);
    }
}
