/* Answers /metrics with the last figures of the node and of its process. */
#define _GNU_SOURCE
#include "httpd/inside.h"

void answer_metrics(struct connection *connection)
{
    struct httpd *httpd = connection->door->httpd;
    struct metrics_of of = {
        .version = sherd_version(),
        .process = &httpd->process,
        .figures = httpd->figures,
    };
    struct sherd_health health;
    struct buf body = { 0 };

    httpd->access->health(httpd->access->node, httpd->settings.ready_statuses, &health);
    of.is_up = health.status == SHERD_UP;
    of.is_ready = !(health.unready & httpd->settings.checks);
    memcpy(of.answers, httpd->answers, sizeof of.answers);
    metrics_put(&body, connection->metrics, &of);
    answer_send(connection, 200, BODY_METRICS, &body);
    buf_fini(&body);
}
