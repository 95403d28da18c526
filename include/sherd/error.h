/* Errors and reasons of Sherd.
 *
 * Functions that can fail return 0 or a negative SHERD_E... code; details go to the log. A message that is not delivered
 * ends under exactly one reason of one closed list, counted for each, and told to whoever waits for an answer. */
#ifndef SHERD_ERROR_H
#define SHERD_ERROR_H

#include <sherd/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* name, code, text */
#define SHERD_ERRORS(X)                                                        \
    X(SHERD_EINVAL, -1, "an argument or option is not valid; see the log")     \
    X(SHERD_ECONFIG, -2, "the configuration has an error; see the log")        \
    X(SHERD_EFULL, -3, "a queue is at its limit; try again later")             \
    X(SHERD_ESTATE, -4, "not in this state of the system")                     \
    X(SHERD_EEXIST, -5, "a type or name is registered already")                \
    X(SHERD_ENOTYPE, -6, "no such entity type on this node")                   \
    X(SHERD_EADDRESS, -7, "the address cannot be used or is in use")           \
    X(SHERD_ESTORE, -8, "a store on disk cannot be used; see the log")         \
    X(SHERD_EJOIN, -9, "the cluster refused this node; see the log")           \
    X(SHERD_EDOWN, -10, "this node was downed or removed by the cluster")      \
    X(SHERD_ESYSTEM, -11, "the operating system refused; see the log")         \
    X(SHERD_ETIME, -12, "the time ran out")                                    \
    X(SHERD_ESTALLED, -13, "a handler blocks one of the node's lanes")

#define X(name, code, text) name = (code),
enum sherd_error { SHERD_ERRORS(X) };
#undef X

/* Why a message was not delivered, or an ask has no answer: name, text */
#define SHERD_REASONS(X)                                                       \
    X(SHERD_REASON_NONE, "none")                                               \
    X(SHERD_REASON_TIMEOUT, "no answer in time")                               \
    X(SHERD_REASON_NO_SUCH_ACTOR, "the actor does not exist or has stopped")   \
    X(SHERD_REASON_NO_SUCH_TYPE, "no entity type of that name on the node")    \
    X(SHERD_REASON_EMPTY_ID, "the entity id is empty or too long")             \
    X(SHERD_REASON_BUFFER_FULL, "the region's buffer is full")                 \
    X(SHERD_REASON_MAILBOX_FULL, "the mailbox is full")                        \
    X(SHERD_REASON_LINK_FULL, "the link's queue to the node is full")          \
    X(SHERD_REASON_LINK_LOST, "the connection broke with the message on it")   \
    X(SHERD_REASON_NODE_GONE, "the node left the cluster or is unknown")       \
    X(SHERD_REASON_TOO_LARGE, "the message is larger than a frame may be")     \
    X(SHERD_REASON_ASKER_GONE, "the asker has ended or its ask is closed")     \
    X(SHERD_REASON_NOT_STORED, "the event could not be stored")                \
    X(SHERD_REASON_FENCED, "the shard has a newer owner")                      \
    X(SHERD_REASON_RECOVERY_FAILED, "the entity could not be recovered")       \
    X(SHERD_REASON_HANDLER_FAILED, "the handler failed on the message")        \
    X(SHERD_REASON_STOPPED, "the receiver stopped before it read the message") \
    X(SHERD_REASON_NO_HANDLER, "no serializer or handler knows the message")   \
    X(SHERD_REASON_SHUTTING_DOWN, "the node is shutting down")                 \
    X(SHERD_REASON_HANDED_OFF, "the shard moved while the message waited")

#define X(name, text) name,
enum sherd_reason { SHERD_REASONS(X) SHERD_REASON_COUNT };
#undef X

/* How far a message had come when its ask ran out of time: name, text. Stages on another node are known as far as that
 * node reported them; otherwise the stage is SHERD_STAGE_SENT. */
#define SHERD_STAGES(X)                                                        \
    X(SHERD_STAGE_NONE, "not sent")                                            \
    X(SHERD_STAGE_NO_COORDINATOR, "no coordinator")                            \
    X(SHERD_STAGE_HOME_UNKNOWN, "the home of the shard is unknown")            \
    X(SHERD_STAGE_HANDING_OFF, "the shard is handing off")                     \
    X(SHERD_STAGE_RECOVERING, "the entity is recovering")                      \
    X(SHERD_STAGE_QUEUED, "queued in the entity's mailbox")                    \
    X(SHERD_STAGE_SENT, "sent to the node, no answer")                         \
    X(SHERD_STAGE_DELIVERED, "delivered, not answered")

#define X(name, text) name,
enum sherd_stage { SHERD_STAGES(X) SHERD_STAGE_COUNT };
#undef X

/* The text of a code, a reason, a stage: a constant string; unknown values give "unknown". Any thread. */
SHERD_API const char *sherd_strerror(int code);
SHERD_API const char *sherd_reason_text(enum sherd_reason reason);
SHERD_API const char *sherd_stage_text(enum sherd_stage stage);

#ifdef __cplusplus
}
#endif

#endif
