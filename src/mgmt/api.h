/* Lists the native routes, their parameters and their schemas in one table. The router, the rights and the
 * OpenAPI document are made from it. */
#ifndef SHERD_MGMT_API_H
#define SHERD_MGMT_API_H

#include <sherd/look.h>
#include <sherd/manage.h>

#include "mgmt/route.h"

#define API_BASE "/api/v1"
#define API_METHODS_SIZE sizeof ((struct decision *)0)->methods

/* ---- parameters ---- */

/* X(id, name in a query, kind, least and most of a number, text of the document) */
#define API_PARAMS(X) \
    X(LIMIT, "limit", COUNT, 1, SHERD_LOOK_ROWS_MAX, "Rows of the page at most; 200 unless it is given.") \
    X(CURSOR, "cursor", WORD, 0, 0, "`next` of the page before.") \
    X(TIMEOUT, "timeout", COUNT, 100, 30000, "Milliseconds to wait for members; 5000 unless it is given.") \
    X(NODE, "node", WORD, 0, 0, "Only the member at host:port.") \
    X(ORDER, "order", WORD, 0, 0, "The column by which rows are ordered, the largest first.") \
    X(SINCE, "since", COUNT, 0, INT64_MAX, "Milliseconds since 1970; older rows are left out.") \
    X(TYPE, "type", WORD, 0, 0, "Only this entity type.") \
    X(SHARD, "shard", WORD, 0, 0, "Only this shard.") \
    X(VIEW, "view", WORD, 0, 0, "The membership as the member at host:port sees it; this node unless it is given.") \
    X(ID, "id", WORD, 0, 0, "The id of an entity or an operation.") \
    X(OF, "of", WORD, 0, 0, "The thing to explain: node, shard, entity, message, rebalance or ready.")

enum api_param {
#define X(id, name, ...) API_##id,
    API_PARAMS(X)
#undef X
    API_PARAM_COUNT
};

#define API_BIT(id) (UINT32_C(1) << API_##id)
#define API_ASKS API_BIT(TIMEOUT)
#define API_PAGE (API_BIT(LIMIT) | API_BIT(CURSOR) | API_BIT(TIMEOUT) | API_BIT(NODE))

/* ---- routes ---- */

#define API_NO_KIND SHERD_LOOK_KIND_COUNT

/* X(id, operation, method, path, action, right, parameters of the query, kind of a list's rows, schema of the
 * answer, schema of the body, command, text of the document). A list's schema is made from its columns.
 * Among paths that fit, the first one counts. */
#define API_ROUTES(X) \
    X(ROOT, "about", GET, "", LOOK, READ, 0, API_NO_KIND, "About", NULL, "version", \
      "This node, its versions, and the rights of the caller.") \
    X(OPENAPI, "openapi", GET, "/openapi.json", LOOK, READ, 0, API_NO_KIND, "Document", NULL, NULL, \
      "This document.") \
    X(STATUS, "status", GET, "/status", LOOK, READ, API_ASKS, API_NO_KIND, "Status", NULL, "status", \
      "The cluster in one answer, collected at most once a second.") \
    X(MEMBER_LIST, "members", GET, "/members", LOOK, READ, API_ASKS | API_BIT(VIEW), API_NO_KIND, "Members", NULL, \
      "node ls", "Every member, and what it says of itself.") \
    X(MEMBER_JOIN, "join", POST, "/members/join", JOIN, ADMIN, 0, API_NO_KIND, "Accepted", "Join", "node join", \
      "This node joins the cluster of the address.") \
    X(MEMBER_SHOW, "member", GET, "/members/{node}", LOOK, READ, API_ASKS | API_BIT(VIEW), API_NO_KIND, "Member", NULL, \
      "node show", "One member.") \
    X(MEMBER_LEAVE, "leave", POST, "/members/{node}/leave", LEAVE, OPERATE, 0, API_NO_KIND, "Accepted", NULL, \
      "node leave", "The member leaves.") \
    X(MEMBER_DOWN, "down", POST, "/members/{node}/down", DOWN, ADMIN, 0, API_NO_KIND, "Accepted", NULL, "node down", \
      "The member counts as failed.") \
    X(PREPARE, "prepareShutdown", POST, "/cluster/prepare-shutdown", PREPARE, ADMIN, 0, API_NO_KIND, "Accepted", NULL, \
      NULL, "The whole cluster prepares for its end.") \
    X(LANE_LIST, "lanes", GET, "/lanes", LOOK, READ, API_PAGE, SHERD_LOOK_LANES, NULL, NULL, NULL, \
      "The lanes of each member, with the sums of their messages.") \
    X(TYPE_LIST, "types", GET, "/types", LOOK, READ, API_ASKS, API_NO_KIND, "Types", NULL, "type ls", \
      "Entity types, summed, and by member.") \
    X(TYPE_SHOW, "type", GET, "/types/{type}", LOOK, READ, API_ASKS, API_NO_KIND, "Type", NULL, "type show", \
      "One entity type.") \
    X(SHARD_LIST, "shards", GET, "/types/{type}/shards", LOOK, READ, API_PAGE | API_BIT(ORDER), SHERD_LOOK_SHARDS, NULL, \
      NULL, "shard ls", "Shards as their members run them.") \
    X(SHARD_SHOW, "shard", GET, "/types/{type}/shards/{shard}", LOOK, READ, API_ASKS, API_NO_KIND, "Shard", NULL, \
      "shard show", "A shard as the coordinator knows it, and as members run it.") \
    X(HOME_LIST, "homes", GET, "/types/{type}/homes", LOOK, READ, API_PAGE, SHERD_LOOK_HOMES, NULL, NULL, NULL, \
      "Homes of shards as the coordinator knows them.") \
    X(REGION_LIST, "regions", GET, "/types/{type}/regions", LOOK, READ, API_PAGE, SHERD_LOOK_REGIONS, NULL, NULL, NULL, \
      "Regions as the coordinator knows them.") \
    X(ENTITY_LIST, "entities", GET, "/types/{type}/entities", LOOK, READ, API_PAGE | API_BIT(ORDER) | API_BIT(SHARD), \
      SHERD_LOOK_ENTITIES, NULL, NULL, "entity ls", "Entities that run.") \
    X(ENTITY_WHERE, "where", GET, "/types/{type}/entities/{id}/where", LOOK, READ, API_ASKS, API_NO_KIND, "Where", NULL, \
      "entity where", "Where an entity is or would be. Starts nothing, and gives no shard a home.") \
    X(ENTITY_SHOW, "entity", GET, "/types/{type}/entities/{id}", LOOK, READ, API_ASKS, API_NO_KIND, "Entity", NULL, \
      "entity show", "One entity. Starts nothing.") \
    X(HOT_LIST, "hot", GET, "/hot", LOOK, READ, API_PAGE | API_BIT(TYPE), SHERD_LOOK_HOT, NULL, NULL, "hot", \
      "Entities with the most messages.") \
    X(UNDELIVERED_LIST, "undelivered", GET, "/undelivered", LOOK, READ, API_PAGE | API_BIT(SINCE), \
      SHERD_LOOK_UNDELIVERED, NULL, NULL, "undelivered", "The last messages that were not delivered.") \
    X(TIMELINE_LIST, "timeline", GET, "/timeline", LOOK, READ, API_PAGE | API_BIT(SINCE) | API_BIT(TYPE), \
      SHERD_LOOK_TIMELINE, NULL, NULL, "events", "Decisions of all members, the newest first.") \
    X(CONFIG_LIST, "config", GET, "/config", LOOK, READ, API_PAGE, SHERD_LOOK_CONFIG, NULL, NULL, "config show", \
      "The settings of each member. Secrets are hidden.") \
    X(CONFIG_DIFF, "configDiff", GET, "/config/diff", LOOK, READ, API_ASKS, API_NO_KIND, "ConfigDiff", NULL, \
      "config diff", "Keys whose values differ between members.") \
    X(LOG_SHOW, "log", GET, "/log", LOOK, READ, 0, API_NO_KIND, "Log", NULL, "log level", "The level of this node's log.") \
    X(LOG_SET, "setLog", PUT, "/log", LOG_LEVEL, OPERATE, 0, API_NO_KIND, "Log", "LogLevel", "log level", \
      "Sets the level of this node's log, which falls back after `forMs`.") \
    X(HEALTH_STARTUP, "startup", GET, "/health/startup", LOOK, OPEN, 0, API_NO_KIND, "Health", NULL, "health", \
      "Whether the node was ready once.") \
    X(HEALTH_READY, "ready", GET, "/health/ready", LOOK, OPEN, 0, API_NO_KIND, "Health", NULL, "health", \
      "Whether the node is ready.") \
    X(HEALTH_LIVE, "live", GET, "/health/live", LOOK, OPEN, 0, API_NO_KIND, "Health", NULL, "health", \
      "Whether the node runs.") \
    X(EXPLAIN, "explain", GET, "/explain", LOOK, READ, \
      API_ASKS | API_BIT(OF) | API_BIT(NODE) | API_BIT(TYPE) | API_BIT(SHARD) | API_BIT(ID), API_NO_KIND, "Explanation", \
      NULL, "explain", "Why a thing is as it is, and what to do.") \
    X(NODE_CORDON, "cordon", POST, "/members/{node}/cordon", CORDON, OPERATE, 0, API_NO_KIND, "Operation", "Operate", \
      "node cordon", "The member gets no more shards while others take them.") \
    X(NODE_UNCORDON, "uncordon", POST, "/members/{node}/uncordon", UNCORDON, OPERATE, 0, API_NO_KIND, "Operation", \
      "Operate", "node uncordon", "The member gets shards again.") \
    X(NODE_DRAIN, "drain", POST, "/members/{node}/drain", DRAIN, OPERATE, 0, API_NO_KIND, "Operation", "Operate", \
      "node drain", "The member's shards go to others. It stays a member.") \
    X(SHARD_MOVE, "moveShard", POST, "/types/{type}/shards/{shard}/move", MOVE, OPERATE, 0, API_NO_KIND, "Operation", \
      "Move", "shard move", "The shard moves to a member, and stays there for a while.") \
    X(REBALANCE_PAUSE, "pauseRebalance", POST, "/types/{type}/rebalance/pause", PAUSE, OPERATE, 0, API_NO_KIND, \
      "Operation", "Operate", "rebalance pause", "No rebalance moves shards of the type.") \
    X(REBALANCE_RESUME, "resumeRebalance", POST, "/types/{type}/rebalance/resume", RESUME, OPERATE, 0, API_NO_KIND, \
      "Operation", "Operate", "rebalance resume", "Rebalances move shards of the type again.") \
    X(OPERATION_LIST, "operations", GET, "/operations", LOOK, READ, 0, API_NO_KIND, "Operations", NULL, "op ls", \
      "Operations that this node began: open ones, and the last that ended.") \
    X(OPERATION_SHOW, "operation", GET, "/operations/{id}", LOOK, READ, 0, API_NO_KIND, "Operation", NULL, "op show", \
      "One operation that this node began.")

enum api_route {
#define X(id, ...) API_##id##_ROUTE,
    API_ROUTES(X)
#undef X
    API_ROUTE_COUNT
};

struct api_row {
    const char *operation, *path; /* the path behind API_BASE */
    enum method method;
    enum action action;
    enum right right;
    uint32_t params;          /* bits of enum api_param */
    enum sherd_look_kind kind; /* of a list's rows, or API_NO_KIND */
    const char *schema, *body, *command, *text; /* the first three: null: none */
};

const struct api_row *api_row(enum api_route route);

/* The values of a request: those of a path's `{name}` and of a query. Data is null for one that is missing. */
struct api_args {
    struct slice words[API_PARAM_COUNT];
    uint64_t numbers[API_PARAM_COUNT];
};

/* Finds the route of a path, whose first segment after API_BASE has the index `from`. API_ROUTE_COUNT:
 * none; then *methods: "", or those that the path has. */
enum api_route api_find(const struct target *target, uint32_t from, enum method method,
                        char methods[API_METHODS_SIZE]);
/* Reads the values of a request for the route. Lent by the target. The name of a wrong parameter, or an empty
 * slice. */
struct slice api_read(enum api_route route, const struct target *target, uint32_t from, struct api_args *args);

/* ---- answers ---- */

struct facts;

/* A request of a native route, with all that its answer needs. */
struct api_request {
    enum api_route route;
    char *words[API_PARAM_COUNT]; /* null: not given */
    uint64_t numbers[API_PARAM_COUNT];
    struct buf cursor;
    bool is_lines; /* a list without a limit, one row a line */
    uint64_t wall_ms;
    struct sherd_health health; /* of this node */
    const char *self, *system; /* "host:port", and the cluster's name; lent */
};

/* A look that an answer needs. Texts are lent by the request, or by the facts. */
struct api_ask {
    enum sherd_look_kind kind;
    struct sherd_look_options options;
    char shard[16]; /* for options.shard */
    bool is_whole;  /* all pages, up to MGMT_FACTS_MAX rows */
};

#define API_ASKS_ROOM 12

/* Takes the values over. False: the cursor is malformed. request: zero but for the route. */
bool api_request_set(struct api_request *request, const struct api_args *args);
void api_request_fini(struct api_request *request);
/* Returns the number of looks that the answer needs beyond the `had` ones, whose facts are there. It is called
 * until it returns 0. asks: room for API_ASKS_ROOM - had; they must stay where they are. */
uint32_t api_plan(const struct api_request *request, const struct facts *facts, uint32_t had,
                  struct api_ask *asks);
/* Appends the answer. An error: nothing is appended. */
enum mgmt_error api_answer(const struct api_request *request, const struct facts *facts, uint32_t count,
                           struct buf *body);
/* Appends the rows of a list, each with a line end. */
void api_lines(const struct facts *facts, struct buf *lines);
/* Appends the last line. */
void api_last_line(const struct facts *facts, struct buf *lines);
/* The member that a path names: "host:port" of `akka://System@host:port`. */
const char *api_node(const char *name);

/* ---- the document ---- */

/* X(name, fields). A field is NAME:TYPE. Types: text, decimal (a number as text), count, real, flag, time,
 * ms, words (a list of texts), counts (numbers by name), object, `row.KIND` (of a look), or another schema; `*`
 * before: a list; `?` behind: or null; `~` behind the name: may be missing. */
#define API_SCHEMAS(X) \
    X("About", "version:text api:text cluster:text protocol:text self:text dataCenter:text right:text caller:text readOnly:flag") \
    X("Document", "openapi:text info:object paths:object components:object") \
    X("Part", "node:text state:text asOf:time?") \
    X("Accepted", "action:text node:text? before:MemberState?") \
    X("MemberState", "node:text uid:decimal status:text reachable:flag") \
    X("Join", "address:text") \
    X("LogLevel", "level:text forMs~:ms") \
    X("Log", "level:text fallsBackTo:text? inMs:ms?") \
    X("Check", "name:text ok:flag why:text?") \
    X("Health", "ok:flag status:text checks:*Check") \
    X("Members", "items:*Member seenBy:text? leader:text? partial:flag nodes:*Part") \
    X("Member", "node:text uid:decimal dataCenter:text? roles:words status:text? reachable:flag? seen:flag? jvm:flag? " \
      "appVersion:text? state:text asOf:time? says:row.nodes? lanes~:*row.lanes") \
    X("Types", "items:*Type partial:flag nodes:*Part") \
    X("Type", "type:text numberOfShards:count? coordinator:text? term:decimal? hosted:count entities:count waiting:count " \
      "wanted:count byNode:*row.types coordinators:*row.coordinators partial:flag nodes:*Part") \
    X("Shard", "type:text shard:text home:row.homes? running:*row.shards partial:flag nodes:*Part") \
    X("Entity", "type:text id:text entity:row.entity? partial:flag nodes:*Part") \
    X("Fence", "term:decimal epoch:decimal") \
    X("Where", "type:text id:text shard:text? node:text? fence:Fence? shardState:text? entity:row.entity? partial:flag " \
      "nodes:*Part") \
    X("Setting", "node:text value:text? source:text?") \
    X("Difference", "key:text values:*Setting") \
    X("ConfigDiff", "items:*Difference partial:flag nodes:*Part") \
    X("StatusMembers", "up:count joining:count leaving:count down:count unreachable:count agree:flag") \
    X("StatusTotals", "delivered:count undelivered:count waiting:count entities:count shards:count") \
    X("StatusType", "type:text coordinator:text? term:decimal? numberOfShards:count? hosted:count entities:count " \
      "waiting:count wanted:count moving:count?") \
    X("StatusNode", "node:text state:text asOf:time? status:text? reachable:flag? ready:flag? appVersion:text? " \
      "lanes:count? shards:count? entities:count? delivered:count? undelivered:count? waiting:count? uptimeMs:ms? cordon:text?") \
    X("Problem", "rule:text severity:text of:text node:text? type:text? text:text cause:text remedy:text") \
    X("Status", "cluster:text health:text self:text leader:text? partial:flag asOf:time members:StatusMembers " \
      "problems:*Problem versions:counts totals:StatusTotals types:*StatusType nodes:*StatusNode") \
    X("Operate", "reason~:text id~:text timeoutMs~:ms dryRun~:flag") \
    X("Move", "to:text holdMs~:ms reason~:text id~:text timeoutMs~:ms dryRun~:flag") \
    X("Operation", "id:text kind:text ended:flag state:text code:text text:text? type:text? shard:text? node:text? " \
      "decider:text? dryRun:flag by:text reason:text? since:time until:time? stallUs:count") \
    X("Operations", "items:*Operation") \
    X("Finding", "rule:text severity:text text:text cause:text remedy:text") \
    X("Explanation", "of:text text:text findings:*Finding notKnown:words partial:flag nodes:*Part") \
    X("ErrorText", "code:text message:text hint~:text doc~:text") \
    X("Error", "error:ErrorText")

/* Appends the OpenAPI 3.1 document. */
void api_document(struct buf *buf, const char *version, const char *base_path);

#endif
