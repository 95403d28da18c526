/* Answers the health checks, which read atomic values of the node only. */
#define _GNU_SOURCE
#include <stdio.h>

#include "httpd/inside.h"
#include "mgmt/fields.h"

static const struct {
    uint32_t bit;
    const char *name, *why;
} checks[] = {
    { SHERD_UNREADY_ENDED, "running", "the system does not run" },
    { SHERD_UNREADY_MEMBER, "cluster-membership", "the node's status is none of the wanted ones" },
    { SHERD_UNREADY_LEAVING, "leaving", "the node leaves, or the cluster ends" },
    { SHERD_UNREADY_LANES, "lanes", "a thread has not ended a turn for 5 s" },
    { SHERD_UNREADY_STORAGE, "durable", "the journal, durable keys or leases fail" },
    { SHERD_UNREADY_TLS, "tls", "the files of TLS cannot be used" },
    { SHERD_UNREADY_SHARDING, "sharding", "a type that is checked has not registered" },
};

static struct sherd_health read_health(struct connection *connection)
{
    struct httpd *httpd = connection->door->httpd;
    struct sherd_health health;

    httpd->access->health(httpd->access->node, httpd->settings.ready_statuses, &health);
    health.unready &= httpd->settings.checks;
    return health;
}

void health_answer(struct connection *connection)
{
    struct sherd_health health = read_health(connection);
    const char *failed = NULL;
    char text[128];

    if (connection->decision.route == ROUTE_ALIVE)
        failed = health.alive ? NULL : "running";
    else if (connection->decision.route == ROUTE_STARTUP)
        failed = health.started ? NULL : "startup";
    else
        for (size_t i = 0; i < sizeof checks / sizeof checks[0] && !failed; i++)
            if (health.unready & checks[i].bit)
                failed = checks[i].name;
    if (!failed) {
        answer_text(connection, 200, "OK");
        return;
    }
    (void)snprintf(text, sizeof text, "Not Healthy: Check [%s] not ok", failed);
    answer_text(connection, 500, text);
}

static void put_check(struct buf *body, const char *name, bool ok, const char *why)
{
    buf_put_text(body, body->data[body->size - 1] == '[' ? "{" : ",{");
    field_text(body, "name", name);
    field_flag(body, "ok", ok);
    field_text(body, "why", ok ? NULL : why);
    buf_put_u8(body, '}');
}

void health_answer_native(struct connection *connection)
{
    struct sherd_health health = read_health(connection);
    struct buf body = { 0 }, rows = { 0 };
    bool ok = true;

    buf_put_u8(&rows, '[');
    if (connection->decision.native == API_HEALTH_LIVE_ROUTE) {
        ok = health.alive != 0;
        put_check(&rows, "running", ok, "the system does not run, or a thread is blocked for too long");
    } else if (connection->decision.native == API_HEALTH_STARTUP_ROUTE) {
        ok = health.started != 0;
        put_check(&rows, "startup", ok, "the node was never ready");
    } else {
        ok = !health.unready;
        for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
            if (connection->door->httpd->settings.checks & checks[i].bit)
                put_check(&rows, checks[i].name, !(health.unready & checks[i].bit), checks[i].why);
    }
    buf_put_u8(&rows, ']');
    buf_put_u8(&body, '{');
    field_flag(&body, "ok", ok);
    field_text(&body, "status", akka_status(health.status));
    field_name(&body, "checks");
    buf_put_slice(&body, buf_slice(&rows));
    buf_put_u8(&body, '}');
    answer_send(connection, ok ? 200 : 503, BODY_JSON, &body);
    buf_fini(&rows);
    buf_fini(&body);
}
