/* Sends answers. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "base/gzip.h"
#include "httpd/inside.h"

#define GZIP_FROM 1024 /* bytes; smaller ones hardly shrink */

static void add(struct evhttp_request *request, const char *name, const char *value)
{
    check(evhttp_add_header(evhttp_request_get_output_headers(request), name, value) == 0);
}

void answer_header(struct connection *connection, const char *name, const char *value)
{
    add(connection->request, name, value);
}

void answer_headers(struct connection *connection, const char *cache)
{
    add(connection->request, "X-Content-Type-Options", "nosniff");
    add(connection->request, "Referrer-Policy", "no-referrer");
    add(connection->request, "Cross-Origin-Resource-Policy", "same-origin");
    add(connection->request, "Cache-Control", cache);
}

/* Puts the body, compressed if that was asked for. */
static void put_body(struct connection *connection, struct evbuffer *to, const struct buf *body)
{
    struct evhttp_request *request = connection->request;
    struct buf packed = { 0 };
    char length[24];

    if (connection->takes_gzip && body->size > GZIP_FROM) {
        gzip_deflate(&packed, buf_slice(body));
        add(request, "Content-Encoding", "gzip");
        body = &packed;
    }
    (void)snprintf(length, sizeof length, "%zu", body->size);
    add(request, "Content-Length", length);
    if (!connection->is_head && body->size)
        check(evbuffer_add(to, body->data, body->size) == 0);
    buf_fini(&packed);
}

static const char *content_type(const struct connection *connection, enum body_kind kind)
{
    switch (kind) {
    case BODY_JSON:
        return "application/json";
    case BODY_METRICS:
        return metrics_content_type(connection->metrics);
    case BODY_PAGE:
        return page_content_type(connection);
    case BODY_TEXT:
        break;
    }
    return "text/plain; charset=UTF-8";
}

void answer_send(struct connection *connection, unsigned status, enum body_kind kind, const struct buf *body)
{
    struct evhttp_request *request = connection->request;
    struct evbuffer *bytes = evbuffer_new();

    check(bytes != NULL);
    answer_headers(connection, kind == BODY_PAGE ? "no-cache" : "no-store");
    connection->door->httpd->answers[status / 100 % METRICS_CODES]++;
    if (connection->decision.allow)
        add(request, "Allow", connection->decision.allow);
    if (status == 401)
        add(request, "WWW-Authenticate", "Bearer");
    if (status == 503)
        add(request, "Retry-After", "1");
    if (status != 204 && status != 304) {
        add(request, "Content-Type", content_type(connection, kind));
        add(request, "Vary", kind == BODY_METRICS ? "Accept, Accept-Encoding" : "Accept-Encoding");
        put_body(connection, bytes, body);
    }
    connection->request = NULL; /* the library frees it */
    evhttp_send_reply(request, (int)status, status_phrase(status), bytes);
    evbuffer_free(bytes);
}

void answer_text(struct connection *connection, unsigned status, const char *text)
{
    struct buf body = { 0 };

    buf_put_text(&body, text);
    answer_send(connection, status, BODY_TEXT, &body);
    buf_fini(&body);
}

void answer_error(struct connection *connection, enum mgmt_error error)
{
    answer_hint(connection, error, NULL);
}

void answer_hint(struct connection *connection, enum mgmt_error error, const char *hint)
{
    struct buf body = { 0 };

    error_put_hint(&body, error, hint);
    answer_send(connection, error_status(error), BODY_JSON, &body);
    buf_fini(&body);
}
