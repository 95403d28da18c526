/* Carries out what changes something at the node, and writes the audit. */
#define _GNU_SOURCE
#include <string.h>

#include "httpd/inside.h"

void audit(struct connection *connection, const char *result, unsigned status)
{
    const struct decision *decision = &connection->decision;

    if (decision->action == ACTION_LOOK)
        return;
    httpd_log(connection->door->httpd, SHERD_LOG_INFO,
              "audit action=%s caller=\"%s\" role=%s from=%s target=\"%.200s\" result=%s code=%u",
              action_text(decision->action), connection->caller, right_text(connection->right),
              connection->door->is_socket ? "socket" : connection->peer,
              decision->name.size ? (const char *)decision->name.data : "", result, status);
}

int act(struct connection *connection, const char *address, unsigned accepted)
{
    struct sherd_system *system = connection->door->httpd->access->system;
    int result = SHERD_EINVAL;

    switch (connection->decision.action) {
    case ACTION_JOIN:
        result = sherd_join(system, address);
        break;
    case ACTION_LEAVE:
        result = sherd_leave_member(system, address);
        break;
    case ACTION_DOWN:
        result = sherd_down(system, address);
        break;
    case ACTION_PREPARE:
        result = sherd_prepare_shutdown(system);
        break;
    default:
        break;
    }
    audit(connection, result ? "refused" : "accepted", result == SHERD_EINVAL ? 400 : result ? 503 : accepted);
    return result;
}

/* ---- the log's level ---- */

static const char *const levels[] = { "OFF", "ERROR", "WARNING", "INFO", "DEBUG" };

const char *level_text(int level)
{
    return levels[level];
}

int level_named(struct slice name)
{
    char lower_case[8];

    for (int i = 0; i < 5; i++) {
        size_t size = strlen(levels[i]);

        for (size_t j = 0; j <= size; j++)
            lower_case[j] = levels[i][j] ? (char)(levels[i][j] | 32) : '\0';
        if (is_word(name, lower_case))
            return i;
    }
    return -1;
}

static void fall_back(evutil_socket_t none, short what, void *of)
{
    struct httpd *httpd = of;

    (void)none;
    (void)what;
    httpd->level_until = 0;
    httpd->access->set_level(httpd->access->node, httpd->level_before);
    httpd_log(httpd, SHERD_LOG_INFO, "the level of the log falls back level=%s", levels[httpd->level_before]);
}

void act_level(struct connection *connection, int level, uint64_t ms)
{
    struct httpd *httpd = connection->door->httpd;
    const struct sherd_node_access *access = httpd->access;
    struct timeval most = { (time_t)(ms / 1000), (suseconds_t)(ms % 1000 * 1000) };

    if (!httpd->level_timer)
        httpd->level_timer = evtimer_new(httpd->base, fall_back, httpd);
    check(httpd->level_timer != NULL);
    if (!httpd->level_until)
        httpd->level_before = access->level(access->node);
    httpd->level_until = ms ? httpd_now() + ms : 0;
    access->set_level(access->node, level);
    if (ms)
        check(event_add(httpd->level_timer, &most) == 0);
    else
        check(event_del(httpd->level_timer) == 0);
    audit(connection, "accepted", 200);
}
