/* Lists the kinds of looks and their columns: one table for nodes that answer, nodes that ask, and
 * programs (sherd_look_columns).
 *
 * A column's number in a row is its place in its list. New columns come at the end: an older node
 * skips them. */
#ifndef SHERD_LOOK_KINDS_H
#define SHERD_LOOK_KINDS_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/look.h>

/* X(id, name, type, role in a page: PLAIN, ORDER: rows can be ordered by it; KEY, SUM: rows of a node
 * with equal keys become one, with the sums) */
#define LOOK_NODES_COLUMNS(X) \
    X(NODES_UID, "uid", NUMBER, PLAIN) \
    X(NODES_CENTER, "dataCenter", TEXT, PLAIN) \
    X(NODES_ROLES, "roles", TEXT, PLAIN) /* with commas */ \
    X(NODES_VERSION, "appVersion", TEXT, PLAIN) \
    X(NODES_STATUS, "status", TEXT, PLAIN) \
    X(NODES_READY, "ready", FLAG, PLAIN) \
    X(NODES_LEAVING, "shuttingDown", FLAG, PLAIN) \
    X(NODES_UPTIME, "uptimeMs", MS, PLAIN) \
    X(NODES_LANES, "lanes", NUMBER, PLAIN) \
    X(NODES_TYPES, "types", NUMBER, PLAIN) \
    X(NODES_MEMBERS, "members", NUMBER, PLAIN) \
    X(NODES_UNREACHABLE, "unreachable", NUMBER, PLAIN) \
    X(NODES_LEADER, "leader", TEXT, PLAIN) \
    X(NODES_CONVERGED, "converged", FLAG, PLAIN) \
    X(NODES_MALFORMED, "malformed", NUMBER, PLAIN) \
    X(NODES_CORDON, "cordon", TEXT, PLAIN) /* unknown: none */ \
    X(NODES_STALLED_LANE, "stalledLane", NUMBER, PLAIN) /* its turn does not end; unknown: none */ \
    X(NODES_STALLED, "stalledMs", MS, PLAIN) /* for so long */

#define LOOK_LANES_COLUMNS(X) \
    X(LANES_LANE, "lane", NUMBER, PLAIN) \
    X(LANES_ENTITIES, "entities", NUMBER, PLAIN) \
    X(LANES_ACTORS, "actors", NUMBER, PLAIN) \
    X(LANES_RUNNABLE, "runnable", NUMBER, PLAIN) \
    X(LANES_SENT, "sent", NUMBER, PLAIN) \
    X(LANES_ARRIVED, "arrived", NUMBER, PLAIN) \
    X(LANES_DELIVERED, "delivered", NUMBER, PLAIN) \
    X(LANES_UNDELIVERED, "undelivered", NUMBER, PLAIN) \
    X(LANES_LEFT, "left", NUMBER, PLAIN) \
    X(LANES_WAITING, "waiting", NUMBER, PLAIN) /* in mailboxes, or for durability */ \
    X(LANES_BUFFERED, "buffered", NUMBER, PLAIN) /* in routes and starting shards */ \
    X(LANES_HELD, "held", NUMBER, PLAIN) /* effects */ \
    X(LANES_ASKS, "asks", NUMBER, PLAIN) \
    X(LANES_TIMERS, "timers", NUMBER, PLAIN) \
    X(LANES_JOBS, "jobs", NUMBER, PLAIN) \
    X(LANES_EVENTS, "events", NUMBER, PLAIN) /* stored */ \
    X(LANES_RECOVERING, "recovering", NUMBER, PLAIN) \
    X(LANES_SLOW, "slowHandlers", NUMBER, PLAIN) \
    X(LANES_MESSAGE_BYTES, "messageBytes", NUMBER, PLAIN) \
    X(LANES_MEMORY, "memory", NUMBER, PLAIN)

#define LOOK_MEMBERS_COLUMNS(X) \
    X(MEMBERS_ADDRESS, "address", TEXT, PLAIN) \
    X(MEMBERS_UID, "uid", NUMBER, PLAIN) \
    X(MEMBERS_CENTER, "dataCenter", TEXT, PLAIN) \
    X(MEMBERS_ROLES, "roles", TEXT, PLAIN) \
    X(MEMBERS_VERSION, "appVersion", TEXT, PLAIN) \
    X(MEMBERS_STATUS, "status", TEXT, PLAIN) \
    X(MEMBERS_REACHABLE, "reachable", FLAG, PLAIN) \
    X(MEMBERS_SEEN, "seen", FLAG, PLAIN) \
    X(MEMBERS_JVM, "jvm", FLAG, PLAIN)

#define LOOK_TYPES_COLUMNS(X) \
    X(TYPES_TYPE, "type", TEXT, KEY) \
    X(TYPES_SHARDS, "numberOfShards", NUMBER, PLAIN) \
    X(TYPES_PROXY, "proxy", FLAG, PLAIN) \
    X(TYPES_PERSISTS, "persists", FLAG, PLAIN) \
    X(TYPES_REMEMBERS, "remembers", FLAG, PLAIN) \
    X(TYPES_REGISTERED, "registered", FLAG, PLAIN) \
    X(TYPES_COORDINATOR, "coordinator", TEXT, PLAIN) \
    X(TYPES_TERM, "term", NUMBER, PLAIN) \
    X(TYPES_HOSTED, "hosted", NUMBER, PLAIN) \
    X(TYPES_WANTED, "wanted", NUMBER, PLAIN) /* homes that are asked for */ \
    X(TYPES_ENTITIES, "entities", NUMBER, SUM) \
    X(TYPES_WAITING, "waiting", NUMBER, SUM)

#define LOOK_COORDINATORS_COLUMNS(X) \
    X(COORDINATORS_TYPE, "type", TEXT, PLAIN) \
    X(COORDINATORS_ACTIVE, "active", FLAG, PLAIN) \
    X(COORDINATORS_TERM, "term", NUMBER, PLAIN) \
    X(COORDINATORS_AWAITED, "awaited", NUMBER, PLAIN) /* members */ \
    X(COORDINATORS_BEGINNING, "handoffsBeginning", NUMBER, PLAIN) \
    X(COORDINATORS_STOPPING, "handoffsStopping", NUMBER, PLAIN) \
    X(COORDINATORS_REGIONS, "regions", NUMBER, PLAIN) \
    X(COORDINATORS_UNPLACED, "unplaced", NUMBER, PLAIN) /* wanted shards without a home */ \
    X(COORDINATORS_PAUSED, "paused", TEXT, PLAIN) /* the words of the operator who paused rebalances; unknown: they go on */

#define LOOK_REGIONS_COLUMNS(X) \
    X(REGIONS_TYPE, "type", TEXT, PLAIN) \
    X(REGIONS_ADDRESS, "address", TEXT, PLAIN) \
    X(REGIONS_SHARDS, "shards", NUMBER, PLAIN) \
    X(REGIONS_LANES, "lanes", NUMBER, PLAIN) /* 0: a JVM node */ \
    X(REGIONS_PROXY, "proxy", FLAG, PLAIN) \
    X(REGIONS_LEAVING, "shuttingDown", FLAG, PLAIN) \
    X(REGIONS_CORDON, "cordon", TEXT, PLAIN)

#define LOOK_HOMES_COLUMNS(X) \
    X(HOMES_TYPE, "type", TEXT, PLAIN) \
    X(HOMES_SHARD, "shard", TEXT, PLAIN) \
    X(HOMES_HOME, "home", TEXT, PLAIN) \
    X(HOMES_TERM, "term", NUMBER, PLAIN) \
    X(HOMES_EPOCH, "epoch", NUMBER, PLAIN) \
    X(HOMES_STARTED, "started", FLAG, PLAIN) \
    X(HOMES_MOVING, "moving", FLAG, PLAIN)

#define LOOK_SHARDS_COLUMNS(X) \
    X(SHARDS_TYPE, "type", TEXT, PLAIN) \
    X(SHARDS_SHARD, "shard", TEXT, PLAIN) \
    X(SHARDS_LANE, "lane", NUMBER, PLAIN) \
    X(SHARDS_STATE, "state", TEXT, PLAIN) \
    X(SHARDS_TERM, "term", NUMBER, PLAIN) \
    X(SHARDS_EPOCH, "epoch", NUMBER, PLAIN) \
    X(SHARDS_ENTITIES, "entities", NUMBER, ORDER) \
    X(SHARDS_OWED, "markersOwed", NUMBER, PLAIN)

#define LOOK_ENTITIES_COLUMNS(X) \
    X(ENTITIES_TYPE, "type", TEXT, PLAIN) \
    X(ENTITIES_SHARD, "shard", TEXT, PLAIN) \
    X(ENTITIES_ID, "id", BYTES, PLAIN) \
    X(ENTITIES_LANE, "lane", NUMBER, PLAIN) \
    X(ENTITIES_STATUS, "status", TEXT, PLAIN) \
    X(ENTITIES_MAILBOX, "mailbox", NUMBER, ORDER) \
    X(ENTITIES_IDLE, "idleMs", MS, ORDER) \
    X(ENTITIES_IDLE_STEP, "idleResolutionMs", MS, PLAIN) \
    X(ENTITIES_SEQUENCE, "sequence", NUMBER, PLAIN) /* of its last event */ \
    X(ENTITIES_UNDURABLE, "notDurable", NUMBER, ORDER) /* events */

/* as above, and more */
#define LOOK_ENTITY_COLUMNS(X) \
    X(ENTITY_TYPE, "type", TEXT, PLAIN) \
    X(ENTITY_SHARD, "shard", TEXT, PLAIN) \
    X(ENTITY_ID, "id", BYTES, PLAIN) \
    X(ENTITY_LANE, "lane", NUMBER, PLAIN) \
    X(ENTITY_STATUS, "status", TEXT, PLAIN) \
    X(ENTITY_MAILBOX, "mailbox", NUMBER, PLAIN) \
    X(ENTITY_IDLE, "idleMs", MS, PLAIN) \
    X(ENTITY_IDLE_STEP, "idleResolutionMs", MS, PLAIN) \
    X(ENTITY_SEQUENCE, "sequence", NUMBER, PLAIN) \
    X(ENTITY_UNDURABLE, "notDurable", NUMBER, PLAIN) \
    X(ENTITY_HELD, "held", NUMBER, PLAIN) /* effects that wait for durability */ \
    X(ENTITY_ASKS, "asks", NUMBER, PLAIN) /* and jobs */ \
    X(ENTITY_TIMERS, "timers", NUMBER, PLAIN) \
    X(ENTITY_ATTEMPTS, "failedStarts", NUMBER, PLAIN) \
    X(ENTITY_FAULT, "fault", TEXT, PLAIN) \
    X(ENTITY_STATE_BYTES, "stateBytes", NUMBER, PLAIN) \
    X(ENTITY_OWN_BYTES, "ownBytes", NUMBER, PLAIN) /* by sherd_entity_bytes */ \
    X(ENTITY_TERM, "term", NUMBER, PLAIN) \
    X(ENTITY_EPOCH, "epoch", NUMBER, PLAIN)

#define LOOK_HOT_COLUMNS(X) \
    X(HOT_TYPE, "type", TEXT, PLAIN) \
    X(HOT_SHARD, "shard", TEXT, PLAIN) \
    X(HOT_ID, "id", BYTES, PLAIN) \
    X(HOT_LANE, "lane", NUMBER, PLAIN) \
    X(HOT_MESSAGES, "messages", NUMBER, ORDER) /* at most; estimated from samples */ \
    X(HOT_ERROR, "error", NUMBER, PLAIN) /* of these, perhaps another's */ \
    X(HOT_OF, "of", NUMBER, PLAIN) /* all messages of the lane in the window */ \
    X(HOT_WINDOW, "windowMs", MS, PLAIN)

#define LOOK_UNDELIVERED_COLUMNS(X) \
    X(UNDELIVERED_TIME, "time", TIME, ORDER) \
    X(UNDELIVERED_LANE, "lane", NUMBER, PLAIN) \
    X(UNDELIVERED_REASON, "reason", TEXT, PLAIN) \
    X(UNDELIVERED_TYPE, "type", TEXT, PLAIN) /* unknown: it was not for an entity */ \
    X(UNDELIVERED_SIZE, "size", NUMBER, PLAIN) \
    X(UNDELIVERED_NUMBER, "number", NUMBER, PLAIN) /* of the lane's samples */

#define LOOK_TIMELINE_COLUMNS(X) \
    X(TIMELINE_TIME, "time", TIME, ORDER) \
    X(TIMELINE_NUMBER, "number", NUMBER, PLAIN) /* of the node's decisions */ \
    X(TIMELINE_EVENT, "event", TEXT, PLAIN) \
    X(TIMELINE_TYPE, "type", TEXT, PLAIN) \
    X(TIMELINE_SHARD, "shard", TEXT, PLAIN) \
    X(TIMELINE_MEMBER, "member", TEXT, PLAIN) \
    X(TIMELINE_TEXT, "text", TEXT, PLAIN)

#define LOOK_CONFIG_COLUMNS(X) \
    X(CONFIG_KEY, "key", TEXT, PLAIN) \
    X(CONFIG_VALUE, "value", TEXT, PLAIN) \
    X(CONFIG_SOURCE, "source", TEXT, PLAIN)

/* X(kind, columns, which machines answer, by which column an order is unless one is asked) */
#define LOOK_KINDS(X) \
    X(NODES, LOOK_NODES_COLUMNS, CONTROL) \
    X(LANES, LOOK_LANES_COLUMNS, LANES) \
    X(MEMBERS, LOOK_MEMBERS_COLUMNS, CONTROL) \
    X(TYPES, LOOK_TYPES_COLUMNS, BOTH) \
    X(COORDINATORS, LOOK_COORDINATORS_COLUMNS, CONTROL) \
    X(REGIONS, LOOK_REGIONS_COLUMNS, CONTROL) \
    X(HOMES, LOOK_HOMES_COLUMNS, CONTROL) \
    X(SHARDS, LOOK_SHARDS_COLUMNS, LANES) \
    X(ENTITIES, LOOK_ENTITIES_COLUMNS, LANES) \
    X(ENTITY, LOOK_ENTITY_COLUMNS, LANES) \
    X(HOT, LOOK_HOT_COLUMNS, LANES) \
    X(UNDELIVERED, LOOK_UNDELIVERED_COLUMNS, LANES) \
    X(TIMELINE, LOOK_TIMELINE_COLUMNS, CONTROL) \
    X(CONFIG, LOOK_CONFIG_COLUMNS, CONTROL)

#define LOOK_COLUMN_ID(id, ...) LOOK_##id,
#define LOOK_COLUMN_IDS(kind, columns, ...) \
    enum look_##kind##_column { columns(LOOK_COLUMN_ID) LOOK_##kind##_COUNT };
LOOK_KINDS(LOOK_COLUMN_IDS)
#undef LOOK_COLUMN_IDS
#undef LOOK_COLUMN_ID

enum look_place_of { LOOK_PLACE_CONTROL, LOOK_PLACE_LANES, LOOK_PLACE_BOTH };
enum look_role { LOOK_PLAIN, LOOK_ORDER, LOOK_KEY, LOOK_SUM };

#define LOOK_NO_ORDER UINT32_MAX

bool look_kind_is(uint64_t kind); /* a number from another node */
enum look_place_of look_kind_place(enum sherd_look_kind kind);
uint32_t look_column_count(enum sherd_look_kind kind);
enum look_role look_column_role(enum sherd_look_kind kind, uint32_t column);
/* Whether values of the column are texts or ids. */
bool look_column_is_bytes(enum sherd_look_kind kind, uint32_t column);
/* Rows of one node with the same key are summed; LOOK_NO_ORDER: the kind has no key. */
uint32_t look_kind_key(enum sherd_look_kind kind);
/* The column by which rows of the kind are ordered if none is asked, or LOOK_NO_ORDER. */
uint32_t look_kind_order(enum sherd_look_kind kind);
/* The column of that name, if rows can be ordered by it; else LOOK_NO_ORDER. */
uint32_t look_order_of(enum sherd_look_kind kind, const char *name);
bool look_order_is(enum sherd_look_kind kind, uint64_t order); /* a number from another node */
/* Nodes that are asked at a time, with at most a part each that waits for its turn. */
uint32_t look_kind_window(enum sherd_look_kind kind);

#endif
