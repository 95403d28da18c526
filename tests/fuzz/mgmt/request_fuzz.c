/* Fuzzes what is read of a request without the HTTP library: its head, target, form, JSON, host, origin, token.
 *
 * Input: lines for authorization, host, origin, content type, a pattern of certificates and a tokens
 * file; an empty line; then the bytes of a request.
 * Oracle: a whole request stays whole, and a part of it never is; decoded texts keep within their
 * limits; nobody without a right changes anything. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "mgmt/body.h"
#include "mgmt/head.h"
#include "mgmt/route.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition)
        abort();
}

static struct slice take_line(struct slice *rest)
{
    const uint8_t *end = rest->size ? memchr(rest->data, '\n', rest->size) : NULL;
    size_t size = end ? (size_t)(end - rest->data) : rest->size;
    struct slice line = slice_of(rest->data, size);

    size += end != NULL;
    *rest = slice_of(rest->data + size, rest->size - size);
    return line;
}

static void look_at_head(struct slice bytes)
{
    struct head head = head_look(bytes);

    if (head.state != HEAD_WHOLE)
        return;
    require(head.size <= bytes.size && head.size <= MGMT_HEAD_MAX + MGMT_BODY_MAX);
    require(head_look(slice_of(bytes.data, head.size)).state == HEAD_WHOLE);
    require(head_look(slice_of(bytes.data, head.size - 1)).state == HEAD_MORE);
}

static void look_at_params(const struct params *params)
{
    for (uint32_t i = 0; i < params->count; i++) {
        require(params->items[i].name.size <= MGMT_PARAM_SIZE_MAX);
        require(params->items[i].value.size <= MGMT_PARAM_SIZE_MAX);
    }
}

static void decide(struct mgmt_request *request)
{
    static const struct mgmt_settings settings = { .base_path = "a", .startup = "startup", .ready = "ready",
                                                   .alive = "x/alive", .cluster = true, .bootstrap = true,
                                                   .health = true, .log_level = true };

    for (int right = RIGHT_OPEN; right <= RIGHT_ADMIN; right++) {
        struct decision decision = { .route = ROUTE_NONE };

        request->right = (enum right)right;
        mgmt_decide(&settings, request, &decision);
        if (decision.error == ERROR_NONE && !decision.status)
            require(decision.action == ACTION_LOOK || right >= RIGHT_OPERATE);
        look_at_params(&decision.target.query);
        look_at_params(&decision.form);
        decision_fini(&decision);
    }
}

static void look_at_body(struct slice text)
{
    struct body *body = body_new(text);
    uint64_t number;

    if (body && body_number(body, "forMs", &number))
        require(number <= INT64_MAX && !body_text(body, "forMs"));
    body_free(body);
}

static void look_at_caller(struct slice authorization, struct slice pattern, struct slice lines)
{
    struct buf token = { 0 };
    struct tokens tokens = { .items = { NULL, 0, 0 } };
    char text[2][256];
    enum right right;

    if (token_take(authorization, &token))
        require(token.size <= MGMT_TOKEN_SIZE_MAX);
    buf_fini(&token);
    (void)snprintf(text[0], sizeof text[0], "%.*s", (int)(pattern.size % 200), (const char *)pattern.data);
    (void)snprintf(text[1], sizeof text[1], "%.*s", (int)(lines.size % 200), (const char *)lines.data);
    if (client_right(text[0], text[1], &right))
        require(right >= RIGHT_READ && right <= RIGHT_ADMIN);
    (void)tokens_read(&tokens, lines);
    require(tokens.items.count <= MGMT_TOKENS_MAX);
    tokens_fini(&tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice rest = slice_of(data, size);
    struct slice authorization = take_line(&rest);
    struct mgmt_request request = { .host = take_line(&rest), .site = { .local = "127.0.0.1", .port = 80 } };
    struct slice pattern, line;

    request.origin = take_line(&rest);
    request.type = take_line(&rest);
    pattern = take_line(&rest);
    look_at_caller(authorization, pattern, rest);
    look_at_head(rest);
    line = take_line(&rest);
    request.method = (enum method)(size % (METHOD_PATCH + 1));
    request.target = line;
    request.body = rest;
    decide(&request);
    look_at_body(rest);
    return 0;
}
