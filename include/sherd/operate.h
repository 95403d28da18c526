/* Acts on the cluster from any node: keeps a node from getting shards, and
 * moves shards.
 *
 * An operation is a goal. It has an id, and the same id again is the same
 * operation. A goal that is reached already is done at once. The node that
 * decides is the cordoned one, or the type's coordinator. This node asks it
 * until the operation has ended, also the next coordinator after a failure. If
 * this node ends, nothing goes on asking. A shard moves by the same steps as
 * in a rebalance, so an operation never loses a message that a rebalance
 * keeps. */
#ifndef SHERD_OPERATE_H
#define SHERD_OPERATE_H

#include <stdint.h>

#include <sherd/system.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The kinds of operations: name, text. */
#define SHERD_OPERATIONS(X)                                                    \
    /* The node gets no shards while another node takes them. Its own stay. */ \
    X(SHERD_CORDON, "cordon")                                                  \
    X(SHERD_UNCORDON, "uncordon")                                              \
    /* A shard moves to a node, and stays there for hold_ms. */                \
    X(SHERD_MOVE_SHARD, "move")                                                \
    /* A cordon, and its shards go to others. The node stays a member. */      \
    X(SHERD_DRAIN, "drain")                                                    \
    /* No rebalance moves shards of a type until it is resumed. */             \
    X(SHERD_PAUSE_REBALANCE, "rebalance-pause")                                \
    X(SHERD_RESUME_REBALANCE, "rebalance-resume")

#define X(name, text) name,
enum sherd_operation_kind { SHERD_OPERATIONS(X) SHERD_OPERATION_KIND_COUNT };
#undef X

/* The states of an operation: name, text. The last three are final. */
#define SHERD_OPERATION_STATES(X)                                              \
    X(SHERD_OPERATION_WAITING, "waiting")   /* for an answer, or for room */   \
    X(SHERD_OPERATION_HOLDING, "holding")   /* all nodes hold messages back */ \
    X(SHERD_OPERATION_STOPPING, "stopping") /* the entities stop */            \
    X(SHERD_OPERATION_PLACING, "placing")   /* the shard gets its home */      \
    X(SHERD_OPERATION_STARTING, "starting") /* the new home starts it */       \
    X(SHERD_OPERATION_DONE, "done")                                            \
    X(SHERD_OPERATION_FAILED, "failed")                                        \
    X(SHERD_OPERATION_CANCELLED, "cancelled")

#define X(name, text) name,
enum sherd_operation_state {
    SHERD_OPERATION_STATES(X) SHERD_OPERATION_STATE_COUNT
};
#undef X

/* Why an operation waits or has failed: name, text. */
#define SHERD_OPERATION_CODES(X)                                               \
    X(SHERD_OPERATION_OK, "ok")                                                \
    X(SHERD_OPERATION_NO_MEMBER, "no-member")   /* at the address */           \
    X(SHERD_OPERATION_NO_TYPE, "no-type")       /* on this node */             \
    X(SHERD_OPERATION_NO_HOME, "no-home")       /* the shard has none */       \
    X(SHERD_OPERATION_NO_COORDINATOR, "no-coordinator") /* none is known */    \
    X(SHERD_OPERATION_JVM, "jvm-coordinator")   /* a JVM node decides */       \
    X(SHERD_OPERATION_OLD, "old") /* the node that decides knows too little */ \
    X(SHERD_OPERATION_NOT_OPEN, "not-open") /* it does not know all nodes */   \
    X(SHERD_OPERATION_STATE, "state")           /* the cluster ends */         \
    X(SHERD_OPERATION_NOT_CANDIDATE, "not-candidate") /* takes no shards */    \
    X(SHERD_OPERATION_MOVING, "moving")         /* the shard moves already */  \
    X(SHERD_OPERATION_HANDOFF, "hand-off")  /* it failed; the shard stays */   \
    X(SHERD_OPERATION_ELSEWHERE, "elsewhere") /* it went to another node */    \
    X(SHERD_OPERATION_TIMEOUT, "timeout")                                      \
    X(SHERD_OPERATION_SAME_ID, "same-id") /* of another operation */           \
    X(SHERD_OPERATION_LAST_HOST, "last-host") /* no other node takes them */   \
    X(SHERD_OPERATION_FULL, "too-many")         /* operations are open */      \
    X(SHERD_OPERATION_STRANGE, "unknown")       /* a code of a newer node */

#define X(name, text) name,
enum sherd_operation_code {
    SHERD_OPERATION_CODES(X) SHERD_OPERATION_CODE_COUNT
};
#undef X

/* An operation as it ended. */
struct sherd_operation {
    const char *id;
    enum sherd_operation_kind kind;
    enum sherd_operation_state state;
    enum sherd_operation_code code;
    const char *text;     /* a sentence for people */
    const char *node;     /* the one that decided, "host:port"; "": none */
    uint64_t stall_us;    /* for so long messages to the shard waited */
    int is_dry_run;       /* 1: nothing was done */
};

#define SHERD_OPERATION_ID_MAX 64
#define SHERD_NO_HOLD UINT64_MAX

/* Zero is the default of each field. */
struct sherd_operation_options {
    /* 1 to 64 characters of A-Z a-z 0-9 _ . -; null: the library makes one */
    const char *id;
    /* "host:port". CORDON, UNCORDON, DRAIN: the node, null: this one.
     * MOVE_SHARD: the shard's next home, required. */
    const char *node;
    /* MOVE_SHARD, PAUSE_, RESUME_REBALANCE: the type, which this node has */
    const char *type;
    const char *shard;  /* MOVE_SHARD: its id */
    const char *by;     /* the person or tool, for logs; at most 128 bytes */
    const char *reason; /* why, for logs; at most 256 bytes */
    uint32_t timeout_ms; /* 100 to 600,000; 0: 30,000 */
    /* MOVE_SHARD: rebalances leave the shard alone for so long, until its
     * coordinator ends; at most a day; 0: 10 minutes; SHERD_NO_HOLD: not */
    uint64_t hold_ms;
    int dry_run; /* 1: only the checks; done says what would be done */
};

/* Starts an operation.
 *
 * options: copied; null: the defaults. done: called exactly once if the result
 * is 0: when the operation has ended, at the latest a second after its
 * time-out, or in sherd_close. result: 0; SHERD_ESTATE: the node ended, and
 * operation is null. Steps that have begun may go on after the time-out.
 * The operation is lent for the call. `done` runs on a thread of the library,
 * and must return within a millisecond. user: its argument.
 * Result: 0; SHERD_EINVAL: an option is wrong; SHERD_EFULL: 16 operations of
 * this node are open; SHERD_ESTATE.
 * Threads: any, from sherd_start on.
 * Limits: a coordinator has at most 64 open operations. It remembers the last
 * 256 that ended. */
typedef void sherd_operation_done(void *user, int result,
                                  const struct sherd_operation *operation);
SHERD_API SHERD_MUST_USE int
sherd_operate(struct sherd_system *system, enum sherd_operation_kind kind,
              const struct sherd_operation_options *options,
              sherd_operation_done *done, void *user);

/* Return a name. All are constants. Threads: any. */
SHERD_API const char *
sherd_operation_kind_text(enum sherd_operation_kind kind);
SHERD_API const char *
sherd_operation_state_text(enum sherd_operation_state state);
SHERD_API const char *
sherd_operation_code_text(enum sherd_operation_code code);

#ifdef __cplusplus
}
#endif

#endif
