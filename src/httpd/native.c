/* Carries out requests of native routes. Looks answer most of them (native_looks.c). */
#define _GNU_SOURCE
#include <string.h>

#include "httpd/inside.h"
#include "mgmt/body.h"
#include "mgmt/fields.h"

#define LEVEL_MS 600000 /* then the level of the log falls back */
#define LEVEL_MS_MOST 86400000

static void send_body(struct connection *connection, unsigned status, struct buf *body)
{
    answer_send(connection, status, BODY_JSON, body);
    buf_fini(body);
}

static void put_about(struct connection *connection)
{
    const struct sherd_node_access *access = connection->door->httpd->access;
    struct buf body = { 0 };

    buf_put_u8(&body, '{');
    field_text(&body, "version", sherd_version());
    field_text(&body, "api", "v1");
    field_text(&body, "cluster", access->system_name);
    field_text(&body, "protocol", access->protocol);
    field_text(&body, "self", connection->door->httpd->self);
    field_text(&body, "dataCenter", access->data_center);
    field_text(&body, "right", right_text(connection->right));
    field_text(&body, "caller", connection->caller);
    field_flag(&body, "readOnly", connection->door->httpd->settings.mgmt.read_only && !connection->door->is_socket);
    buf_put_u8(&body, '}');
    send_body(connection, 200, &body);
}

static void put_document(struct connection *connection)
{
    struct buf body = { 0 };

    api_document(&body, sherd_version(), connection->door->httpd->settings.mgmt.base_path);
    send_body(connection, 200, &body);
}

/* The body of a request with only these fields; null: it was refused. */
struct body *native_take_body(struct connection *connection, const char *fields)
{
    struct evbuffer *bytes = evhttp_request_get_input_buffer(connection->request);
    struct body *body = body_new(slice_of(evbuffer_pullup(bytes, -1), evbuffer_get_length(bytes)));

    if (body && body_has_only(body, fields))
        return body;
    body_free(body);
    audit(connection, "refused", 400);
    answer_error(connection, ERROR_BAD_BODY);
    return NULL;
}

/* ---- the log ---- */

static void put_level(struct connection *connection)
{
    struct httpd *httpd = connection->door->httpd;
    uint64_t now = httpd_now();
    struct buf body = { 0 };

    buf_put_u8(&body, '{');
    field_text(&body, "level", level_text(httpd->access->level(httpd->access->node)));
    if (httpd->level_until) {
        field_text(&body, "fallsBackTo", level_text(httpd->level_before));
        field_count(&body, "inMs", httpd->level_until > now ? httpd->level_until - now : 0);
    } else {
        field_null(&body, "fallsBackTo");
        field_null(&body, "inMs");
    }
    buf_put_u8(&body, '}');
    send_body(connection, 200, &body);
}

static void set_level(struct connection *connection)
{
    struct body *body = native_take_body(connection, "level forMs");
    uint64_t ms = LEVEL_MS;
    const char *name;
    bool is_good;
    int level;

    if (!body)
        return;
    name = body_text(body, "level");
    level = name ? level_named(slice_text(name)) : -1;
    is_good = level >= 0 && (body_has_only(body, "level") || body_number(body, "forMs", &ms)) && ms <= LEVEL_MS_MOST;
    body_free(body);
    if (!is_good) {
        audit(connection, "refused", 400);
        answer_hint(connection, ERROR_BAD_BODY, "level: off, error, warning, info, debug; forMs: at most a day, 0: it stays");
        return;
    }
    act_level(connection, level, ms);
    put_level(connection);
}

/* ---- members ---- */

/* before: the member's state, or null. */
static void put_accepted(struct connection *connection, int result, const char *address,
                         const struct sherd_cluster_member *before)
{
    struct buf body = { 0 };

    if (result) {
        answer_error(connection, result == SHERD_EINVAL ? ERROR_BAD_REQUEST : ERROR_BUSY);
        return;
    }
    buf_put_u8(&body, '{');
    field_text(&body, "action", action_text(connection->decision.action));
    field_text(&body, "node", address);
    if (before) {
        field_name(&body, "before");
        buf_put_u8(&body, '{');
        field_text(&body, "node", before->address);
        field_decimal(&body, "uid", before->uid);
        field_text(&body, "status", akka_status(before->status));
        field_flag(&body, "reachable", before->reachable != 0);
        buf_put_u8(&body, '}');
    } else {
        field_null(&body, "before");
    }
    buf_put_u8(&body, '}');
    send_body(connection, 202, &body);
}

static void set_name(struct connection *connection, const char *name)
{
    buf_clear(&connection->decision.name);
    buf_put_text(&connection->decision.name, name);
    buf_put_u8(&connection->decision.name, 0);
}

static void join(struct connection *connection)
{
    struct body *body = native_take_body(connection, "address");
    const char *address;

    if (!body)
        return;
    address = body_text(body, "address");
    if (address) {
        set_name(connection, address);
        put_accepted(connection, act(connection, address, 202), address, NULL);
    } else {
        audit(connection, "refused", 400);
        answer_hint(connection, ERROR_BAD_BODY, "address: of a member, as host:port");
    }
    body_free(body);
}

void native_go_on(struct connection *connection)
{
    struct sherd_cluster_view *view = &connection->door->httpd->view;
    const char *address = api_node((const char *)connection->decision.name.data);

    for (uint32_t i = 0; i < view->member_count; i++)
        if (strcmp(view->members[i].address, address) == 0) {
            put_accepted(connection, act(connection, address, 202), address, &view->members[i]);
            return;
        }
    audit(connection, "refused", 404);
    answer_error(connection, ERROR_NO_MEMBER);
}

/* ---- all of them ---- */

bool native_carry_out(struct connection *connection)
{
    switch ((enum api_route)connection->decision.native) {
    case API_ROOT_ROUTE:
        put_about(connection);
        break;
    case API_OPENAPI_ROUTE:
        put_document(connection);
        break;
    case API_HEALTH_STARTUP_ROUTE:
    case API_HEALTH_READY_ROUTE:
    case API_HEALTH_LIVE_ROUTE:
        health_answer_native(connection);
        break;
    case API_LOG_SHOW_ROUTE:
        put_level(connection);
        break;
    case API_LOG_SET_ROUTE:
        set_level(connection);
        break;
    case API_MEMBER_JOIN_ROUTE:
        join(connection);
        break;
    case API_MEMBER_LEAVE_ROUTE:
    case API_MEMBER_DOWN_ROUTE:
        return false;
    case API_PREPARE_ROUTE:
        put_accepted(connection, act(connection, "", 202), NULL, NULL);
        break;
    case API_NODE_CORDON_ROUTE:
    case API_NODE_UNCORDON_ROUTE:
    case API_NODE_DRAIN_ROUTE:
    case API_SHARD_MOVE_ROUTE:
    case API_REBALANCE_PAUSE_ROUTE:
    case API_REBALANCE_RESUME_ROUTE:
        operate_carry_out(connection);
        break;
    case API_OPERATION_LIST_ROUTE:
    case API_OPERATION_SHOW_ROUTE:
        operate_show(connection);
        break;
    default:
        if (!native_looks_ask(connection))
            answer_error(connection, ERROR_BUSY);
    }
    return true;
}
