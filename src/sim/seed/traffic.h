/* Names the traffic of a workload for the options that choose it: kinds of messages, entity types
 * and durable keys. */
#ifndef SHERD_SIM_SEED_TRAFFIC_H
#define SHERD_SIM_SEED_TRAFFIC_H

#define WORKLOAD_OPS(X)                                                        \
    X(WORKLOAD_TELL, "tell")           /* a message to an entity, in the order of its stream */ \
    X(WORKLOAD_ECHO, "echo")           /* an ask; the entity replies with its identity */ \
    X(WORKLOAD_COUNT, "count")         /* an ask; the entity stores an event, then acknowledges */ \
    X(WORKLOAD_PASSIVATE, "passivate") /* an ask; the entity passivates itself */ \
    X(WORKLOAD_FAIL, "fail")           /* a message on which the handler fails */ \
    X(WORKLOAD_STOP, "stop")           /* a message on which the entity ends */ \
    /* a message; the entity sets, replaces and cancels timers */ \
    X(WORKLOAD_TIMER, "timer") \
    X(WORKLOAD_WATCH, "watch")         /* an ask for the entity's ref, to be watched */ \
    X(WORKLOAD_TALK, "talk")           /* a message; the entity tells and asks another one */ \
    X(WORKLOAD_STORM, "storm")         /* messages to many entities of unknown shards */ \
    X(WORKLOAD_NARROW, "narrow")       /* for a time all clients send to one shard */ \
    X(WORKLOAD_JOB, "job") /* an ask; the entity may store an event, runs a job, replies */

#define X(name, text) name,
enum workload_op { WORKLOAD_OPS(X) WORKLOAD_OP_COUNT };
#undef X

/* The entity types: name, name in the cluster, persists, has a stop message (obeyed late), is
 * remembered. */
#define WORKLOAD_TYPES(X)                                                      \
    X(WORKLOAD_STREAM, "stream", false, false, false)                          \
    X(WORKLOAD_COUNTER, "counter", true, false, false)                         \
    X(WORKLOAD_RESTLESS, "restless", false, true, false)                       \
    X(WORKLOAD_VAULT, "vault", true, true, false)                              \
    X(WORKLOAD_KEEPER, "keeper", false, false, true)                           \
    X(WORKLOAD_LEDGER, "ledger", true, true, true)

#define X(name, text, persists, stops, remembers) name,
enum workload_type { WORKLOAD_TYPES(X) WORKLOAD_TYPE_COUNT };
#undef X

/* Patterns of durable keys. A key has the number of its slot, and so of its type. */
#define TRAFFIC_DURABLE_KEYS 4
extern const char *const traffic_durable_keys[TRAFFIC_DURABLE_KEYS];

#endif
