/* Declares the figures that the machines of a node fill in for metrics. They are collected only when
 * somebody asks. */
#ifndef SHERD_BASE_FIGURES_H
#define SHERD_BASE_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/system.h>

#include "base/histogram.h"

/* The states of a shard on its node, in the order of enum owned_state without OWNED_ABSENT. */
#define FIGURES_SHARD_STATES(X) \
    X(FIGURES_RELEASING, "releasing") \
    X(FIGURES_LEASING, "leasing") \
    X(FIGURES_CLAIMING, "claiming") \
    X(FIGURES_STARTING, "starting") \
    X(FIGURES_RUNNING, "running") \
    X(FIGURES_DRAINING, "draining") \
    X(FIGURES_STOPPING, "stopping") \
    X(FIGURES_FENCED, "fenced")

enum figures_shard_state {
#define X(name, text) name,
    FIGURES_SHARD_STATES(X)
#undef X
    FIGURES_SHARD_STATE_COUNT
};

/* Causes of the end of an entity's incarnation. */
#define FIGURES_STOPS(X) \
    X(FIGURES_STOP_IDLE, "idle") /* also because of a limit */ \
    X(FIGURES_STOP_ASKED, "asked") /* by the entity itself */ \
    X(FIGURES_STOP_MOVED, "moved") /* with its shard */ \
    X(FIGURES_STOP_FAILED, "failed") \
    X(FIGURES_STOP_FENCED, "fenced") /* or its lease was lost */

enum figures_stop {
#define X(name, text) name,
    FIGURES_STOPS(X)
#undef X
    FIGURES_STOP_COUNT
};

/* Events of members. */
#define FIGURES_MEMBER_EVENTS(X) \
    X(FIGURES_EVENT_CHANGED, "changed") /* a new one, or a new status */ \
    X(FIGURES_EVENT_REMOVED, "removed") \
    X(FIGURES_EVENT_UNREACHABLE, "unreachable") \
    X(FIGURES_EVENT_REACHABLE, "reachable") \
    X(FIGURES_EVENT_LEADER, "leader")

enum figures_event {
#define X(name, text) name,
    FIGURES_MEMBER_EVENTS(X)
#undef X
    FIGURES_EVENT_COUNT
};

/* One entity type. The sum of two machines' parts is the node's. */
struct type_figures {
    uint64_t shards[FIGURES_SHARD_STATE_COUNT];
    uint64_t unplaced;       /* shards without a home, as the coordinator here knows */
    uint64_t handoffs;       /* open ones of the coordinator here */
    uint32_t registered;     /* 1: the region here is */
    uint32_t coordinates;    /* 1: the coordinator is here, and active */
    double buffer_ratio;     /* messages that wait, of those that may; of the fullest lane */
    uint64_t starts;         /* incarnations */
    uint64_t stops[FIGURES_STOP_COUNT];
    struct histogram handlers; /* sampled: once in about 64 messages */
};

/* One machine, or all machines of a node. */
struct machine_figures {
    struct type_figures *types; /* malloc'ed, by the type's index */
    uint32_t type_count;
    /* lanes: messages as in struct actors_status */
    uint64_t sent, arrived, left, waiting, buffered, held;
    uint64_t message_bytes, entity_bytes;
    uint64_t handlers_failed, asks;
    uint64_t looks_refused;
    uint64_t asks_late[SHERD_STAGE_COUNT]; /* timed out, by the stage that was known */
    struct histogram commits;              /* appends of the journal, from the request to its result */
    /* control */
    uint64_t is_leader; /* 1: of its data center */
    double phi;         /* the highest of the monitored members; 0: none */
    uint64_t events[FIGURES_EVENT_COUNT];
    uint64_t has_resolver;
    uint64_t decided, unstable, reversed; /* decisions of the resolver */
    struct histogram turns;
    uint64_t busy_ns; /* in turns of this machine */
};

/* A node, as far as its machines have answered. */
struct sherd_figures {
    struct sherd_status status; /* without lists of damaged parts */
    struct machine_figures sums;
    bool has_control; /* control has answered once; so figures of it are known */
    bool has_lanes;   /* likewise each lane */
    uint32_t thread_count;
    uint64_t *stalled_ms; /* by thread: the age of the turn that it is in; malloc'ed */
    uint32_t machine_count;
    uint64_t *busy_ns; /* by machine; malloc'ed */
    bool durable_fails;   /* the last write of a durable key failed */
    int64_t certificate_expires; /* TLS between nodes: seconds since 1970; 0: there is none */
};

#endif
