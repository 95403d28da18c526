/* Decides what a request asks for, and whether it is refused. Akka's paths get Akka's answers. */
#ifndef SHERD_MGMT_ROUTE_H
#define SHERD_MGMT_ROUTE_H

#include "mgmt/errors.h"
#include "mgmt/params.h"
#include "mgmt/rights.h"
#include "mgmt/sites.h"

/* The routes: name, audit name, methods as Akka lists them. */
#define MGMT_ROUTES(X) \
    X(ROUTE_NONE, "none", "") \
    X(ROUTE_STARTUP, "startup", "GET") \
    X(ROUTE_READY, "ready", "GET") \
    X(ROUTE_ALIVE, "alive", "GET") \
    X(ROUTE_SEED_NODES, "seed-nodes", "GET") \
    X(ROUTE_CLUSTER, "cluster", "PUT") \
    X(ROUTE_MEMBERS, "members", "GET, POST") \
    X(ROUTE_MEMBER, "member", "GET, DELETE, PUT") \
    X(ROUTE_SHARD_TYPES, "types", "GET") \
    X(ROUTE_SHARDS, "shards", "GET") \
    X(ROUTE_SHARD_STATS, "shard-stats", "GET") \
    X(ROUTE_EVENTS, "events", "GET") \
    X(ROUTE_LOG_LEVEL, "log-level", "GET, PUT") \
    X(ROUTE_METRICS, "metrics", "GET") \
    X(ROUTE_PAGE, "page", "GET") /* a file of the dashboard */ \
    X(ROUTE_API, "native", "") /* api.h lists them */

enum route {
#define X(name, audit, methods) name,
    MGMT_ROUTES(X)
#undef X
    ROUTE_COUNT
};

enum method { METHOD_GET, METHOD_HEAD, METHOD_POST, METHOD_PUT, METHOD_DELETE, METHOD_OPTIONS, METHOD_PATCH };

/* The effect of a request. The log has an audit line for each that may change something. */
enum action {
    ACTION_LOOK,
    ACTION_JOIN,
    ACTION_LEAVE,
    ACTION_DOWN,
    ACTION_PREPARE,
    ACTION_LOG_LEVEL,
    ACTION_CORDON,
    ACTION_UNCORDON,
    ACTION_DRAIN,
    ACTION_MOVE,
    ACTION_PAUSE,
    ACTION_RESUME
};
const char *action_text(enum action action);

struct mgmt_settings {
    const char *base_path; /* without slashes around it */
    const char *startup, *ready, *alive;
    bool cluster, bootstrap, health, log_level, dashboard; /* routes that are on */
    bool read_only; /* of TCP */
};

struct mgmt_request {
    enum method method;
    struct slice target, host, origin, fetch_site, type, body; /* null data: no such header */
    struct site site;
    enum right right;
    bool has_credentials; /* a token or a certificate with a right */
};

struct decision {
    enum route route;
    enum action action;
    enum mgmt_error error; /* not ERROR_NONE: the answer */
    unsigned status;       /* not 0: the answer, with this text, or with none */
    const char *text;
    const char *allow;     /* for the header Allow; or null */
    struct target target;  /* the request's target must stay valid */
    struct params form;
    struct buf name;       /* of the member, the type, the level or the page; ends with a zero byte */
    uint32_t native;       /* of ROUTE_API: enum api_route */
    uint32_t first;        /* of ROUTE_API: the segment behind its base */
    char methods[40];      /* likewise: for `allow` */
};

void decision_fini(struct decision *decision);
/* decision: zero. */
void mgmt_decide(const struct mgmt_settings *settings, const struct mgmt_request *request,
                 struct decision *decision);
const char *route_text(enum route route);
/* The operation of a form, with Akka's words: "down", "leave". */
bool is_word(struct slice text, const char *lower_case);

#endif
